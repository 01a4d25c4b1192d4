"""Intervals: equal to the slow way, right as often as they say, and open about what is not defined."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.data.scale import Scale
from adjudge.errors import UsageError
from adjudge.metrics.bootstrap import Interval, intervals, item_losses, measures, resamples
from adjudge.metrics.labels import Scored, Scores, scores


def crowd(items: int, K: int, seed: int = 0, right: float = 0.3) -> Scored:
    """Return truths and probable answers to items, in which every label occurs."""
    rng = np.random.default_rng(seed)
    truth = np.r_[np.arange(K), rng.integers(K, size=items - K)]
    p = (1 - right) * rng.dirichlet(np.ones(K), items) + right * np.eye(K)[truth]
    return Scored(truth, p.argmax(axis=1), p, Scale(("a", "b", "c", "d")[:K]), 1 if K == 2 else None, 1e-3, 0)


def plain(truth: list[int], answer: list[int], K: int = 2) -> Scored:
    """Return truths and answers without probabilities."""
    scale = Scale(("a", "b", "c", "d")[:K])
    return Scored(np.array(truth), np.array(answer), None, scale, 1 if K == 2 else None, 1e-3, 0)


def slowly(scored: Scored, times: Any) -> Scores:
    """Return the scores of a table in which each item stands as often as it counts."""
    place = np.repeat(np.arange(scored.truth.size), np.asarray(times, int))
    names = np.array(scored.scale.names)
    columns: dict[str, Any] = {"item": np.arange(place.size), "label": names[scored.answer[place]]}
    if scored.probability is not None:
        columns |= {f"p_{name}": scored.probability[place, k] for k, name in enumerate(names)}
    return scores(pl.DataFrame(columns), pl.DataFrame({"item": columns["item"], "label": names[scored.truth[place]]}))


@pytest.mark.parametrize("K", [2, 4])
def test_every_measure_of_the_scores_has_its_interval(K: int) -> None:
    """The names are those of ``Scores.values``, and with every item once the values are, too."""
    scored = crowd(80, K)
    known = slowly(scored, np.ones(80)).values
    assert measures(scored)(np.ones(80)) == pytest.approx(known)
    assert set(intervals([scored], draws=20)[0]) == set(known)


def test_labels_in_an_order_have_intervals_of_their_distances() -> None:
    """Every item once gives the measures themselves, and draws go to both sides of them."""
    scored = crowd(80, 4)._replace(scale=Scale((0, 1, 2, 3), ordinal=True))
    whole, found = measures(scored)(np.ones(80)), intervals([scored], draws=200)[0]
    distance = np.abs(scored.truth - scored.answer)
    assert whole["mae"] == pytest.approx(distance.mean())
    assert whole["label_rmse"] == pytest.approx((distance**2).mean() ** 0.5)
    for measure in ("mae", "label_rmse", "quadratic_kappa"):
        assert found[measure].low < (whole[measure] or 0) < found[measure].high


@pytest.mark.parametrize("K", [2, 3])
def test_intervals_equal_those_of_a_slow_loop(K: int) -> None:
    """Given the same draws, tables that are really drawn and scored have the same percentiles."""
    scored = crowd(60, K, seed=1)
    tables = [slowly(scored, times).values for times in resamples(60, 30, seed=5)]
    for measure, found in intervals([scored], draws=30, level=0.8, seed=5)[0].items():
        drawn = np.array([table[measure] for table in tables], float)
        expected = np.nanquantile(drawn, [0.1, 0.9])
        assert (found.low, found.high) == pytest.approx(expected), measure
        assert found.undefined == np.isnan(drawn).sum()


def test_a_draw_counts_as_many_items_as_there_are() -> None:
    """Each item is drawn once on average, the rest as a binomial has it, and the seed decides which."""
    drawn = np.array(list(resamples(50, 400, seed=0)))  # (R, I)
    assert set(drawn.sum(axis=1)) == {50}
    assert drawn.mean(axis=0) == pytest.approx(np.ones(50), abs=0.25)
    assert drawn.var() == pytest.approx(1 - 1 / 50, abs=0.03)
    assert (drawn == np.array(list(resamples(50, 400, seed=0)))).all()
    assert (drawn != np.array(list(resamples(50, 400, seed=1)))).any()


def test_the_interval_of_accuracy_covers_as_often_as_it_says() -> None:
    """Of 200 crowds of 150 items, 95 in 100 intervals hold the accuracy they were drawn with."""
    rng = np.random.default_rng(7)
    covered = 0
    for seed in range(200):
        truth = rng.integers(2, size=150)
        answer = np.where(rng.random(150) < 0.8, truth, 1 - truth)
        found = intervals([plain(truth.tolist(), answer.tolist())], draws=150, seed=seed)[0]["accuracy"]
        covered += found.low <= 0.8 <= found.high
    assert 0.90 <= covered / 200 <= 0.985


def test_the_interval_is_as_wide_as_theory_has_it() -> None:
    """Of many items it is nearly the normal one, 1.96 standard errors to each side."""
    right = np.arange(2_000) < 1_600
    found = intervals([plain([1] * 2_000, right.astype(int).tolist())], draws=2_000)[0]["accuracy"]
    error = 1.96 * (0.8 * 0.2 / 2_000) ** 0.5
    assert (found.low, found.high) == pytest.approx((0.8 - error, 0.8 + error), abs=0.003)


def test_draws_without_a_value_are_left_out_and_said() -> None:
    """Precision needs the one item answered 'b', which about a third of the draws miss."""
    found = intervals([plain([1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0])], draws=500)[0]
    missed = found["precision"].undefined
    assert missed == sum(times[0] == 0 for times in resamples(6, 500, seed=0))
    assert 0.2 < missed / 500 < 0.5
    assert (found["precision"].low, found["precision"].high) == (1, 1)
    assert found["precision"].note == f"not defined in {missed} of 500 draws, which are left out"
    assert found["accuracy"] == Interval(found["accuracy"].low, found["accuracy"].high, 500)
    assert found["accuracy"].note == ""


def test_a_measure_without_a_value_has_no_interval() -> None:
    """Recall of a label no item has is not defined; of probabilities nothing is said where there are none."""
    found = intervals([plain([0, 0, 0, 0], [0, 1, 0, 0])], draws=50)[0]
    assert set(found) == {"accuracy", "precision", "specificity", "f1", "macro_f1"}


def test_a_mean_that_only_some_draws_have_has_no_interval() -> None:
    """Mean recall fails on 'c', answered and never true; draws without that item would have one."""
    assert "macro_recall" not in intervals([plain([0, 0, 1, 1], [0, 2, 1, 1], K=3)], draws=50)[0]


def test_models_are_scored_on_the_same_draws() -> None:
    """Alone or beside others, a model has the same intervals; two that err on other items differ in them."""
    one, other = crowd(100, 2, seed=2), crowd(100, 2, seed=3)
    together = intervals([one, other], draws=50)
    assert together == [*intervals([one], draws=50), *intervals([other], draws=50)]
    assert together[0] != together[1]


def test_a_higher_level_is_wider() -> None:
    """All measures' intervals at .5 lie within those at .95."""
    scored = [crowd(100, 2)]
    narrow, wide = (intervals(scored, draws=100, level=level)[0] for level in (0.5, 0.95))
    assert all(wide[m].low <= narrow[m].low <= narrow[m].high <= wide[m].high for m in wide)
    assert wide["log_loss"].low < narrow["log_loss"].low


@pytest.mark.parametrize("K", [2, 3])
def test_losses_of_items_have_the_scores_as_means(K: int) -> None:
    """Log loss and Brier of the whole are means of the items' own."""
    scored = crowd(40, K)
    values = slowly(scored, np.ones(40)).values
    for measure in ("log_loss", "brier"):
        assert item_losses(scored)[measure].mean() == pytest.approx(values[measure])
    assert item_losses(scored)["mse"].mean() ** 0.5 == pytest.approx(values["rmse"])


def test_no_models_have_no_intervals() -> None:
    """Nothing in, nothing out."""
    assert intervals([]) == []


def test_what_cannot_be_drawn_is_refused() -> None:
    """No draws, a level that is none, and models scored on other items."""
    for draws, level in ((0, 0.95), (10, 1.0), (10, 0.0)):
        with pytest.raises(UsageError, match=rf"^{draws} draws at level {level}: give 1 draw or more and a level"):
            intervals([crowd(10, 2)], draws=draws, level=level)
    with pytest.raises(UsageError, match=r"^models are scored on 10 and 12 items: give all the same$"):
        intervals([crowd(12, 2), crowd(10, 2)])
