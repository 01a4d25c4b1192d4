"""Grades from labels and ranks: against enumeration, against data of the model itself, and against labels alone."""

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.arrays import Codes, Floats
from adjudge.data.formats import open_source
from adjudge.data.rankings import Rankings, read_labelled_rankings
from adjudge.errors import InputError, UsageError
from adjudge.inference.fit import fit
from adjudge.models.ranking.graded import (
    GradePrior,
    Orders,
    draw_grades,
    grade_prior,
    graded,
    item_slots,
    judge_likelihood,
    label_confusion,
    log_shares,
    rank_intervals,
    sample,
    split_by_label,
    tempered,
    worths,
)
from adjudge.models.ranking.plackett_luce import log_likelihood
from adjudge.models.ranking.rank import Ranking, rank
from adjudge.models.ranking.worth import RankOptions

COLUMNS = ("topic", "item", "judge", "label", "rank", "set")
LABEL = np.array([0, 1, 1])


def orders_of(*orders: tuple[int, str, str]) -> Orders:
    """Return orders such as ``(judge, "021", "001")``: items best first, and their levels."""
    size = [len(items) for _, items, _ in orders]
    item = np.array([int(i) for _, items, _ in orders for i in items])
    level = np.array([int(i) for *_, levels in orders for i in levels])
    tied = np.array([len(set(levels)) < len(levels) for *_, levels in orders])
    return Orders(np.r_[0, np.cumsum(size)], np.array([judge for judge, *_ in orders]), item, level, tied)


def likelihood_by_hand(orders: Orders, theta: Floats, beta: Floats) -> float:
    """Return the log-likelihood of all orders, by the likelihood of rankings."""
    arrays = (orders.start, orders.judge, orders.item.astype(np.int32), orders.level.astype(np.int32))
    return log_likelihood(*arrays, theta, np.log(beta))[0]


TINY = orders_of((0, "013", "012"), (1, "20", "01"), (0, "213", "011"), (1, "132", "000"))
PRIOR = GradePrior(
    np.log([[0.5, 0.5, 0.5], [0.7, 0.3, 0.3], [0.1, 0.9, 0.9], [0.6, 0.4, 0.4]]),
    np.array([0.0, -0.8, 2.2, -0.4]),
    LABEL,
    np.array([-1, -1, -1, 1]),
)


@pytest.mark.parametrize("weight", [1.0, 0.6])
def test_draws_agree_with_enumeration(weight: float) -> None:
    """The mean conditional probability of each grade is its exact posterior, with ties, gold and a weight."""
    v, beta, shares = np.array([0.0, 1.0, 2.5]), np.array([0.5, 1.5]), np.array([0.3, 0.4])
    log_prior = PRIOR.log_label + log_shares(PRIOR, shares)
    exact = np.zeros((4, 3))
    for grades in product(range(3), repeat=4):
        if grades[3] == 1:
            z = np.array(grades)
            value = log_prior[np.arange(3), z[:3]].sum() + weight * likelihood_by_hand(TINY, v[z], beta)
            exact[np.arange(4), z] += np.exp(value)
    exact /= exact.sum(axis=1, keepdims=True)
    rng, z, chance, total = np.random.default_rng(1), np.array([0, 0, 0, 1]), np.empty((4, 3)), np.zeros((4, 3))
    for _ in range(20_000):
        arrays = (log_prior, PRIOR.gold, v, beta, weight, rng.random(4), z, chance, np.empty((3, 4)))
        draw_grades(*item_slots(TINY, 4), *TINY, *arrays)
        total += chance
    assert total / 20_000 == pytest.approx(exact, abs=0.006)


def test_the_likelihood_of_each_judge() -> None:
    """The sum over the judge's orders of the log-likelihood of Plackett-Luce, with and without ties."""
    v, beta, z = np.array([0.0, 1.0, 2.5]), np.array([0.5, 1.5]), np.array([0, 2, 1, 1])
    values = judge_likelihood(*TINY, z, v, beta, np.empty((3, 4)))
    assert values.sum() == pytest.approx(likelihood_by_hand(TINY, v[z], beta))
    alone = orders_of((0, "013", "012"), (0, "213", "011"))
    assert values[0] == pytest.approx(likelihood_by_hand(alone, v[z], beta))


def test_a_long_order_does_not_overflow() -> None:
    """Products of weights are replaced by their logs before they overflow."""
    items = 400
    orders = Orders(np.array([0, items]), np.zeros(1, int), np.arange(items), np.arange(items), np.zeros(1, bool))
    z, v, beta = np.full(items, 2), np.array([0.0, 5.0, 29.0]), np.ones(1)
    value = judge_likelihood(*orders, z, v, beta, np.empty((3, items)))
    assert value[0] == pytest.approx(-np.log(np.arange(1, items + 1)).sum())
    log_prior, chance = np.log(np.full((items, 3), 1 / 3)), np.empty((items, 3))
    gold, uniform = np.where(np.arange(items) == items - 1, -1, 2), np.full(items, 0.5)
    params = (log_prior, gold, v, beta, 1.0, uniform, z, chance, np.empty((3, items)))
    draw_grades(*item_slots(orders, items), *orders, *params)
    theta = np.full((3, items), v[2])
    theta[:, -1] = v
    expected = np.array([likelihood_by_hand(orders, each, beta) for each in theta])
    expected = np.exp(expected - expected.max())
    assert chance[-1] == pytest.approx(expected / expected.sum(), abs=1e-9)


def test_shares_sum_to_one_within_a_label() -> None:
    """A label of one grade has no shares; the slope raises higher grades of items that are surely relevant."""
    shares = np.exp(log_shares(PRIOR, np.array([0.3, 0.4])))
    assert shares[:, 0].tolist() == [1.0] * 4
    assert shares[:, 1:].sum(axis=1) == pytest.approx(np.ones(4))
    assert shares[:, 2] / shares[:, 1] == pytest.approx(np.exp(0.3 + 0.4 * PRIOR.sure))
    by_label = PRIOR._replace(label=np.arange(3))
    assert np.exp(log_shares(by_label, np.array([0.4]))).tolist() == [[1.0] * 3] * 4


def test_worths_ascend() -> None:
    """From 0, by steps that are given in logs."""
    assert worths(np.log([0.5, 2.0])).tolist() == [0.0, 0.5, 2.5]


def labelled(*rows: str) -> Rankings:
    """Return the rankings of rows such as ``t a x 1 2 s``: topic, item, judge, label, rank and set."""
    cells = [[None if cell == "-" else cell for cell in row.split()] for row in rows]
    return read_labelled_rankings(open_source(pl.DataFrame(cells, COLUMNS, orient="row")), {})


def test_orders_are_those_within_a_label() -> None:
    """Items that a judge gave different labels are not compared, and a single item is no order; ties stay."""
    data = labelled(
        "t a x 1 1 s", "t b x 1 2 s", "t c x 0 3 s", "t d x 0 3 s", "t e x - 4 s", "t a y 1 1 s", "t c y 0 2 s"
    )
    assert data.label is not None
    orders = split_by_label(data, data.label)
    names = data.items.gather(orders.item).to_list()
    assert sorted(zip(names, orders.level.tolist(), strict=True)) == [("a", 0), ("b", 1), ("c", 2), ("d", 2)]
    assert orders.start.tolist() == [0, 2, 4]
    assert dict(zip([names[0], names[2]], orders.tied.tolist(), strict=True)) == {"a": False, "c": True}
    assert orders.judge.tolist() == [0, 0]


def model_data(seed: int, sets: int = 240) -> tuple[Rankings, Floats, Codes, Floats]:
    """Return sets drawn from the model, P(relevant) of items, their grades, and the judges' reliabilities."""
    rng, items, judges = np.random.default_rng(seed), 160, 8
    topic, v = np.repeat(np.arange(16), 10), np.array([0.0, 1.5, 3.0])
    p = 1 / (1 + np.exp(-rng.normal(0, 2, items)))
    z = np.where(rng.random(items) < p, 1 + (rng.random(items) < 0.4), 0)
    beta = np.r_[np.full(judges // 2, 0.05), np.full(judges // 2, 1.5)]
    rows: list[tuple[int, ...]] = []
    for s in range(sets):
        chosen = rng.choice(np.flatnonzero(topic == rng.integers(16)), 5, replace=False)
        order = chosen[np.argsort(-(beta[s % judges] * v[z[chosen]] + rng.gumbel(size=5)))]
        rows += [(int(topic[i]), int(i), s % judges, 0, n, s) for n, i in enumerate(order, 1)]
    data = read_labelled_rankings(open_source(pl.DataFrame(rows, COLUMNS, orient="row")), {})
    order = data.items.to_numpy()
    return data, p[order], z[order], beta[data.judges.to_numpy()]


def test_the_model_recovers_its_own_data() -> None:
    """Reliable judges are found, probabilities of grades are as often true as they say, and intervals of ranks hold."""
    chances, hits, within = [], [], []
    for seed in range(6):
        data, p, z, beta = model_data(seed)
        assert data.label is not None
        prior = grade_prior(np.stack([1 - p, p], axis=1), LABEL, np.full(z.size, -1))
        drawn = sample(split_by_label(data, data.label), prior, beta.size, 1.0, RankOptions(seed=seed))
        assert drawn.reliability[beta > 1].min() > 2 * drawn.reliability[beta < 1].max()
        interval = rank_intervals(drawn.chance, data.topic, seed)
        order = np.lexsort((np.random.default_rng(seed).random(z.size), -z, data.topic))
        rank_of = np.empty(z.size, int)
        rank_of[order] = np.arange(z.size) - np.searchsorted(data.topic, data.topic) + 1
        within.append((interval[:, 0] <= rank_of) & (rank_of <= interval[:, 1]))
        chances.append(drawn.chance)
        hits.append(np.eye(3)[z])
    chance, hit = np.concatenate(chances).ravel(), np.concatenate(hits).ravel()
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        inside = (chance >= low) & (chance <= high)
        error = 3.5 * np.sqrt(hit[inside].var() / inside.sum())
        assert abs(chance[inside].mean() - hit[inside].mean()) < error + 0.02
    assert 0.88 < np.mean(within) < 0.99
    loss = [-np.log(each[hits[n] == 1]).mean() for n, each in enumerate(chances)]
    assert np.mean(loss) < 0.65  # P(relevant) and the shares of grades alone would give .75


def test_caution_moves_log_odds_by_a_part() -> None:
    """With weight 0 labels stay, with weight 1 nothing changes within bounds; proportions of grades of a label stay."""
    base = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.2, 0.8]])
    chance = np.array([[0.8, 0.1, 0.1], [0.3, 0.3, 0.4], [0.3, 0.2, 0.5], [0.2, 0.4, 0.4]])
    prior = grade_prior(base, LABEL, np.array([-1, -1, -1, 2]))
    kept, moved = tempered(chance, prior, base, 0.0), tempered(chance, prior, base, 1.0)
    assert kept[:3, 0] == pytest.approx(base[:3, 0])
    assert moved[:3] == pytest.approx(chance[:3])
    assert kept[:3, 2] / kept[:3, 1] == pytest.approx(chance[:3, 2] / chance[:3, 1])
    assert kept[3].tolist() == moved[3].tolist() == [0, 0, 1]


def test_caution_bounds_certainty() -> None:
    """Ranks do not make an item more certain than nine in ten are by their labels."""
    base = np.tile([[0.4, 0.6]], (10, 1))
    chance = np.tile([[0.01, 0.5, 0.49]], (10, 1))
    prior = grade_prior(base, LABEL, np.full(10, -1))
    assert tempered(chance, prior, base, 1.0)[:, 0] == pytest.approx(np.full(10, 0.4))


def test_intervals_of_certain_grades() -> None:
    """An item that is surely the best is first; those of one grade share all of their ranks."""
    chance = np.eye(3)[[2, 0, 0, 0, 0, 1, 2]]
    interval = rank_intervals(chance, np.array([0, 0, 0, 0, 0, 1, 1]), 0)
    assert interval[[0, 5, 6]].tolist() == [[1, 1], [2, 2], [1, 1]]
    assert interval[1:5].tolist() == [[2, 5]] * 4


def test_confusions_are_counted_and_shrunk() -> None:
    """Labels by grade; a judge with few judgments is near the crowd."""
    data = labelled("t a x 1 1 s", "t b x 0 2 s", "t a y 1 1 s", "t b y 0 2 s", "t c y 0 3 s")
    assert data.judgments is not None
    confusion = label_confusion(data.judgments, np.eye(3)[[2, 0, 0]])
    crowd = np.array([[3.5, 0.5], [0.5, 0.5], [0.5, 2.5]])
    crowd /= crowd.sum(axis=1, keepdims=True)
    assert confusion[0] == pytest.approx((np.array([[1, 0], [0, 0], [0, 1]]) + 5 * crowd) / [[6], [5], [6]])
    assert confusion.sum(axis=2) == pytest.approx(np.ones((2, 3)))


def campaign(seed: int, topics: int = 12, noise: float = 0.6) -> tuple[pl.DataFrame, Codes]:
    """Return sets of five of ten documents a topic by six judges, who rank by grade with noise, and the true grades."""
    rng = np.random.default_rng(seed)
    truth, rows, s = rng.choice(3, (topics, 10), p=[0.5, 0.3, 0.2]), [], 0
    for topic in range(topics):
        for judge in range(6):
            chosen = rng.choice(10, 5, replace=False)
            grade = truth[topic, chosen]
            label = np.where(rng.random(5) < 0.88, grade > 0, grade == 0).astype(int)
            order = np.lexsort((-(grade + rng.normal(0, noise, 5)), -label))
            rows += [(topic, int(chosen[k]), judge, int(label[k]), n, s) for n, k in enumerate(order, 1)]
            s += 1
    return pl.DataFrame(rows, COLUMNS, orient="row"), truth


def ndcg(score: Floats, truth: Codes) -> float:
    """Return nDCG with the gain 2^grade - 1."""
    gain, discount = 2.0**truth - 1, 1 / np.log2(np.arange(truth.size) + 2)
    return float(gain[np.argsort(-score, kind="stable")] @ discount / (np.sort(gain)[::-1] @ discount))


def test_ranks_improve_on_labels() -> None:
    """On simulated campaigns nDCG is higher by .02 or more, and the log loss of relevance no higher."""
    gains, losses = [], []
    for seed in range(4):
        table, truth = campaign(seed)
        result = rank(table, "graded")
        data, chance = result.rankings, result.grades
        assert data.judgments is not None
        assert chance is not None
        y = truth[data.topic, data.items.to_numpy()]
        base = fit(data.judgments, "consensus").posterior
        topics = [data.topic == t for t in range(12) if (y[data.topic == t] > 0).any()]
        gains.append(np.mean([ndcg(result.score[t], y[t]) - ndcg(base[t, 1], y[t]) for t in topics]))
        both = (np.where(y > 0, p, 1 - p) for p in (1 - chance[:, 0], base[:, 1]))
        losses.append(np.subtract(*(-np.log(np.maximum(p, 1e-6)).mean() for p in both)))
    assert np.mean(gains) > 0.02
    assert np.mean(losses) <= 0


@pytest.fixture(scope="module")
def result() -> Ranking:
    """Return the grades of a small campaign."""
    return rank(campaign(0, topics=3)[0], "graded")


def test_tables_have_grades_and_intervals(result: Ranking) -> None:
    """Probabilities sum to one, ranks are within the topic, and judges have a confusion per grade."""
    items = result.items
    chance = ["p_0", "p_1", "p_2"]
    names = ["topic", "item", "rank", "low", "high", "score", "se", "grade", "expected", "relevant", *chance, "judges"]
    assert items.columns == names
    assert items.select(pl.sum_horizontal(chance)).to_series().to_numpy() == pytest.approx(np.ones(items.height))
    assert (items["expected"] - items["p_1"] - 2 * items["p_2"]).abs().max() < 1e-12
    assert (items["low"] >= 1).all()
    assert (items["low"] <= items["high"]).all()
    assert items["score"].is_between(0, 3).all()
    assert result.judges.columns == [
        *("judge", "rankings", "reliability", "tau"),
        *("p_0_if_0", "p_1_if_0", "p_0_if_1", "p_1_if_1", "p_0_if_2", "p_1_if_2"),
    ]
    assert repr(result).startswith(
        "Ranking(graded: 30 items, 6 judges, 18 rankings, sampled 2 chains of 300 draws, log-"
    )


def test_the_same_seed_gives_the_same_result(result: Ranking) -> None:
    """Another seed gives another sample, which is close."""
    table = campaign(0, topics=3)[0]
    again, other = rank(table, "graded"), rank(table, "graded", seed=1)
    assert again.items.equals(result.items)
    assert result.grades is not None
    assert other.grades is not None
    assert 0 < np.abs(other.grades - result.grades).max() < 0.15


def test_gold_fixes_grades() -> None:
    """A known grade is certain, whatever judges say."""
    result = rank(
        campaign(0, topics=3)[0], "graded", gold=pl.DataFrame({"topic": [0, 1], "item": [3, 3], "grade": [2, 0]})
    )
    rows = result.items.filter(pl.col("item") == 3).sort("topic")
    assert rows["p_2"].to_list()[:2] == [1, 0]
    assert rows["p_0"].to_list()[:2] == [0, 1]


def test_more_labels_are_the_grades() -> None:
    """With three labels, the grades are these."""
    table, truth = campaign(1, topics=4)
    grade = [int(truth[t, i]) for t, i in table.select("topic", "item").iter_rows()]
    table = table.with_columns(label=pl.Series(grade))
    items = rank(table, "graded").items
    assert items["grade"].to_list() == [int(truth[t, i]) for t, i in items.select("topic", "item").iter_rows()]


def test_labels_without_ranks_count() -> None:
    """A row without a rank still has its label, and one without a label its rank."""
    table = campaign(0, topics=3)[0].with_columns(pl.col("label").cast(pl.String))
    more = pl.DataFrame([(0, 99, 0, "1", None, None), (0, 99, 1, "1", None, None)], table.schema, orient="row")
    item = rank(pl.concat([table, more.with_columns(set=pl.lit(900, pl.Int64))]), "graded").items.filter(
        pl.col("item") == 99
    )
    assert item["judges"].to_list() == [2]
    assert item["relevant"][0] > 0.5


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        (
            {"item": ["a", "b"], "judge": ["x", "x"], "rank": [1, 2]},
            {},
            InputError,
            "table: no column for the label (columns: 'item', 'judge', 'rank'); usual names are label, rating, answer, "
            "vote, grade, relevance, rel, judgment, judgement, verdict, or name it with label=",
        ),
        (
            {"item": ["a", "b"], "judge": ["x", "x"], "rank": [1, 2], "label": ["1", "1"]},
            {},
            UsageError,
            "method 'graded' needs two labels or more, and all labels are '1': give all labels, lowest first, with "
            "labels=",
        ),
        (
            {"item": ["a", "b"], "judge": ["x", "x"], "rank": [1, 2], "label": ["good", "bad"]},
            {},
            UsageError,
            "the order of the labels 'bad', 'good' is not known: give it, lowest first, with labels=",
        ),
        (
            {"item": ["a", "b"], "judge": ["x", "x"], "rank": [1, 2], "label": ["1", "0"]},
            {"reliability": False},
            UsageError,
            "method 'graded' always estimates the reliability of judges",
        ),
    ],
)
def test_what_cannot_be_graded(
    table: dict[str, Any], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Tables without labels, or with labels of unknown order."""
    with pytest.raises(error) as caught:
        rank(pl.DataFrame(table), "graded", **options)
    assert str(caught.value) == message


def test_rankings_without_labels_are_refused() -> None:
    """The method itself says so too."""
    data = labelled("t a x 1 1 s", "t b x 0 2 s")
    with pytest.raises(UsageError) as caught:
        graded(
            Rankings(
                *(
                    getattr(data, name)
                    for name in ("items", "topic", "topics", "judges", "start", "judge", "item", "level")
                )
            ),
            RankOptions(),
        )
    assert str(caught.value) == "method 'graded' needs labels beside ranks, and preferences have none"


def test_chains_that_disagree_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result then says that it has not converged."""
    monkeypatch.setattr("adjudge.models.ranking.graded.MIXED", 0.5)
    result = rank(campaign(0, topics=2)[0], "graded")
    assert not result.converged
    assert result.stopped.startswith("stopped after 2 chains of 300 draws that do not agree (R-hat ")
