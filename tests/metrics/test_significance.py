"""Intervals: equal to the slow way, right as often as they say, and open about what is not defined.

Paired tests against their closed forms: scipy's binomial, every sign flip there is, Holm by hand.

Many tests at once.
"""

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control, norm

from adjudge.data.scale import Scale
from adjudge.errors import UsageError
from adjudge.metrics.labels import Scored, Scores, scores
from adjudge.metrics.significance import (
    Interval,
    Paired,
    against,
    empirical_null,
    holm,
    intervals,
    item_losses,
    mcnemar,
    measures,
    q_values,
    resamples,
    sign_flips,
)


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
    position = np.repeat(np.arange(scored.truth.size), np.asarray(times, int))
    names = np.array(scored.scale.names)
    columns: dict[str, Any] = {"item": np.arange(position.size), "label": names[scored.answer[position]]}
    if scored.probability is not None:
        columns |= {f"p_{name}": scored.probability[position, k] for k, name in enumerate(names)}
    return scores(
        pl.DataFrame(columns), pl.DataFrame({"item": columns["item"], "label": names[scored.truth[position]]})
    )


@pytest.mark.parametrize("K", [2, 4])
def test_every_measure_of_the_scores_has_its_interval(K: int) -> None:
    """The names are those of ``Scores.values``, and with every item once the values are, too."""
    scored = crowd(80, K)
    reference = slowly(scored, np.ones(80)).values
    assert measures(scored)(np.ones(80)) == pytest.approx(reference)
    assert set(intervals([scored], draws=20)[0]) == set(reference)


def test_labels_in_an_order_have_intervals_of_their_distances() -> None:
    """Every item once gives the measures themselves, and draws go to both sides of them."""
    scored = crowd(80, 4)._replace(scale=Scale((0, 1, 2, 3), ordinal=True))
    complete, result = measures(scored)(np.ones(80)), intervals([scored], draws=200)[0]
    distance = np.abs(scored.truth - scored.answer)
    assert complete["mae"] == pytest.approx(distance.mean())
    assert complete["label_rmse"] == pytest.approx((distance**2).mean() ** 0.5)
    for measure in ("mae", "label_rmse", "quadratic_kappa"):
        assert result[measure].low < (complete[measure] or 0) < result[measure].high


@pytest.mark.parametrize("K", [2, 3])
def test_intervals_equal_those_of_a_slow_loop(K: int) -> None:
    """Given the same draws, tables that are really drawn and scored have the same percentiles."""
    scored = crowd(60, K, seed=1)
    tables = [slowly(scored, times).values for times in resamples(60, 30, seed=5)]
    for measure, result in intervals([scored], draws=30, level=0.8, seed=5)[0].items():
        drawn = np.array([table[measure] for table in tables], float)
        expected = np.nanquantile(drawn, [0.1, 0.9])
        assert (result.low, result.high) == pytest.approx(expected), measure
        assert result.undefined == np.isnan(drawn).sum()


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
        result = intervals([plain(truth.tolist(), answer.tolist())], draws=150, seed=seed)[0]["accuracy"]
        covered += result.low <= 0.8 <= result.high
    assert 0.90 <= covered / 200 <= 0.985


def test_the_interval_is_as_wide_as_theory_has_it() -> None:
    """Of many items it is nearly the normal one, 1.96 standard errors to each side."""
    right = np.arange(2_000) < 1_600
    result = intervals([plain([1] * 2_000, right.astype(int).tolist())], draws=2_000)[0]["accuracy"]
    error = 1.96 * (0.8 * 0.2 / 2_000) ** 0.5
    assert (result.low, result.high) == pytest.approx((0.8 - error, 0.8 + error), abs=0.003)


def test_draws_without_a_value_are_left_out_and_said() -> None:
    """Precision needs the one item answered 'b', which about a third of the draws miss."""
    result = intervals([plain([1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0])], draws=500)[0]
    missed = result["precision"].undefined
    assert missed == sum(times[0] == 0 for times in resamples(6, 500, seed=0))
    assert 0.2 < missed / 500 < 0.5
    assert (result["precision"].low, result["precision"].high) == (1, 1)
    assert result["precision"].note == f"not defined in {missed} of 500 draws, which are left out"
    assert result["accuracy"] == Interval(result["accuracy"].low, result["accuracy"].high, 500)
    assert result["accuracy"].note == ""


def test_a_measure_without_a_value_has_no_interval() -> None:
    """Recall of a label no item has is not defined; of probabilities nothing is said where there are none."""
    result = intervals([plain([0, 0, 0, 0], [0, 1, 0, 0])], draws=50)[0]
    assert set(result) == {"accuracy", "precision", "specificity", "f1", "macro_f1"}


def test_a_mean_that_only_some_draws_have_has_no_interval() -> None:
    """Mean recall fails on 'c', answered and never true; draws without that item would have one."""
    assert "macro_recall" not in intervals([plain([0, 0, 1, 1], [0, 2, 1, 1], K=3)], draws=50)[0]


def test_models_are_scored_on_the_same_draws() -> None:
    """Alone or beside others, a model has the same intervals; two that err on other items differ in them."""
    first, other = crowd(100, 2, seed=2), crowd(100, 2, seed=3)
    together = intervals([first, other], draws=50)
    assert together == [*intervals([first], draws=50), *intervals([other], draws=50)]
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


SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def flags(both: int, only_first: int, only_second: int) -> tuple[np.ndarray, np.ndarray]:
    """Return right answers of two models, by how many items both or one of them have right, and five neither."""
    first = np.repeat([True, True, False, False], [both, only_first, only_second, 5])
    return first, np.repeat([True, False, True, False], [both, only_first, only_second, 5])


def answers(off: list[int], p: list[float] | None = None, ordinal: bool = False) -> Scored:
    """Return answers to items that are all 2 of 0, 1 and 2: how far off each is, and the chance it gave to 2."""
    truth = np.full(len(off), 2)
    chance = None if p is None else np.column_stack([1 - np.array(p), np.zeros(len(p)), p])
    return Scored(truth, truth - np.array(off), chance, Scale((0, 1, 2), ordinal), None, 1e-3, 0)


@given(st.integers(0, 9), st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(both: int, b: int, c: int) -> None:
    """Items that both or neither have right say nothing; the others are coins."""
    expected = binomtest(b, b + c).pvalue if b + c else 1
    assert mcnemar(*flags(both, b, c)) == pytest.approx(expected)
    assert mcnemar(*flags(both, c, b)) == mcnemar(*flags(both, b, c))


@pytest.mark.parametrize(("b", "c"), [(9_800, 10_200), (0, 30_000), (100_000, 100_000)])
def test_mcnemar_of_many_items(b: int, c: int) -> None:
    """Neither overflows nor loses digits."""
    assert mcnemar(*flags(0, b, c)) == pytest.approx(binomtest(b, b + c).pvalue, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("seed", range(3))
def test_sign_flips_come_near_all_there_are(seed: int) -> None:
    """For ten items every pattern of signs can be tried; draws differ from that by chance alone."""
    difference = np.random.default_rng(seed).normal(0.3, 1, 10)
    patterns = np.array(list(product((-1, 1), repeat=10))) @ difference
    exact = (np.abs(patterns) >= abs(difference.sum()) - 1e-12).mean()
    result = float(sign_flips(difference[:, None], draws=20_000, seed=seed)[0])
    assert result == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 20_000) ** 0.5 + 1e-4)


def test_equal_sums_count_however_they_are_rounded() -> None:
    """Where all differences are of one size the flips are McNemar's coins, though tenths do not add up exactly."""
    for b, c in ((7, 2), (12, 5), (9, 3)):
        difference = np.r_[np.full(b, 0.1), np.full(c, -0.1)]
        result = sign_flips(difference[:, None], draws=20_000)
        assert result == pytest.approx([mcnemar(*flags(0, b, c))], abs=0.012)


def test_p_is_never_zero_and_never_above_one() -> None:
    """The largest difference there is has p = 1 / (1 + draws), none at all has 1."""
    assert sign_flips(np.column_stack([np.ones(60), np.zeros(60)]), draws=99).tolist() == [0.01, 1]


def test_sign_flips_are_right_as_often_as_they_say() -> None:
    """Of 1,000 pairs that are as good, 5 in 100 have p up to .05, and half up to .5."""
    difference = np.random.default_rng(3).standard_t(3, (40, 1_000))
    p = sign_flips(difference, draws=399)
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.03)
    assert (p <= 0.5).mean() == pytest.approx(0.5, abs=0.07)


def test_the_seed_decides_the_draws_and_the_order_of_models_nothing() -> None:
    """Swapping the two models of a pair turns every sign: p stays."""
    difference = np.random.default_rng(0).normal(0.1, 1, (50, 1))
    assert sign_flips(difference, seed=1) == sign_flips(-difference, seed=1) == sign_flips(difference, seed=1)
    assert sign_flips(difference, seed=1) != sign_flips(difference, seed=2)


def test_holm_by_hand() -> None:
    """The smallest of three counts three times, the next twice but not less than the one before."""
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.5, 0.9])).tolist() == [1, 1]
    assert holm(np.array([])).size == 0


@given(SHARES)
def test_holm_rejects_what_the_step_down_procedure_rejects(p: list[float]) -> None:
    """Going up from the smallest p, each is held against alpha / those left; the first that fails ends it."""
    adjusted = holm(np.array(p))
    for alpha in (0.01, 0.05, 0.3):
        rejected: set[int] = set()
        for left, n in zip(range(len(p), 0, -1), np.argsort(p, kind="stable"), strict=True):
            if p[n] * left > alpha:
                break
            rejected.add(int(n))
        assert set(np.flatnonzero(adjusted <= alpha)) == rejected


def test_others_are_held_against_the_best() -> None:
    """Accuracy by McNemar, losses by flips, each corrected for the two models it was asked of."""
    best = answers([0] * 10, [0.9] * 10)
    worse = answers([1] * 8 + [0] * 2, [0.2] * 8 + [0.9] * 2)
    first, second = against(best, [worse, best], draws=999)
    p = binomtest(0, 8).pvalue
    assert first["accuracy"] == pytest.approx((-0.8, p, 2 * p))
    assert second["accuracy"] == Paired(0, 1, 1)
    assert first["log_loss"].difference == pytest.approx(0.8 * np.log(0.9 / 0.2))
    assert first["brier"].difference == pytest.approx(0.8 * 2 * (0.8**2 - 0.1**2))
    assert first["brier"].p == pytest.approx(2 / 2**8, abs=0.01)
    assert first["brier"].adjusted == 2 * first["brier"].p
    assert list(first) == ["accuracy", "log_loss", "brier"]


def test_labels_in_an_order_have_an_absolute_error() -> None:
    """Two steps off is worse than one, though both are wrong."""
    best, worse = answers([1] * 9, ordinal=True), answers([2] * 9, ordinal=True)
    (result,) = against(best, [worse], draws=9_999)
    assert list(result) == ["accuracy", "absolute_error"]
    assert result["accuracy"] == Paired(0, 1, 1)
    assert result["absolute_error"].difference == 1
    assert result["absolute_error"].p == pytest.approx(2 / 2**9, abs=0.002)
    assert list(against(answers([1]), [answers([2])])[0]) == ["accuracy"]


def test_the_best_alone_has_no_tests() -> None:
    """Nothing to hold against it."""
    assert against(answers([0, 1], [0.5, 0.5]), []) == []


def test_no_draws_are_refused() -> None:
    """With the number."""
    with pytest.raises(UsageError, match=r"^draws 0 is not 1 or more$"):
        sign_flips(np.ones((3, 1)), draws=0)


@pytest.mark.parametrize("control", ["bh", "by"])
def test_rates_are_those_of_scipy(control):
    """Both rules."""
    p = np.random.default_rng(0).random(50) ** 3
    np.testing.assert_allclose(q_values(p, control), false_discovery_control(p, method=control))
    assert q_values(np.empty(0)).size == 0


def test_a_crowd_that_is_off_is_what_tests_stand_out_from():
    """Where all lie too high and too widely; never the other way round, and not where there are few."""
    z = np.random.default_rng(1).normal(size=20_000)
    p, centre, spread = empirical_null(norm.sf(0.5 + 1.5 * z))
    assert (centre, spread) == pytest.approx((0.5, 1.5), abs=0.1)
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.01)
    narrow = norm.sf(0.5 * z - 1)
    p, centre, spread = empirical_null(narrow)
    assert (centre, spread) == (0, 1)
    np.testing.assert_allclose(p, narrow)
    assert empirical_null(np.zeros(5))[1:] == (0, 1)
    assert empirical_null(norm.sf(1.3 * z[:25]))[2] < 1.2  # of few, what may be chance is not believed
    assert np.isfinite(empirical_null(np.r_[np.zeros(30), np.ones(30)])[0]).all()
