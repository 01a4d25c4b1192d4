"""The likelihood of rankings: against all orders written out, and against its own differences."""

from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from adjudge.arrays import Codes, Floats
from adjudge.errors import AdjudgeWarning
from adjudge.models.ranking.plackett_luce import log_likelihood
from adjudge.models.ranking.rank import Ranking, rank


def of_one(level: Codes, log_w: Floats) -> float:
    """Return the log likelihood of one ranking of all items."""
    start, nobody = np.array([0, level.size]), np.zeros(1, np.int32)
    return log_likelihood(start, nobody, np.arange(level.size, dtype=np.int32), level, log_w, np.zeros(1))[0]


def over_all_orders(level: Codes, log_w: Floats) -> float:
    """Return log of the sum, over all orders that agree with the levels, of the product of choices."""
    w, total = np.exp(log_w), 0.0
    for order in map(list, permutations(range(level.size))):
        if (np.diff(level[order]) >= 0).all():
            total += np.prod(w[order] / np.cumsum(w[order][::-1])[::-1])
    return float(np.log(total))


def crowd(rng: np.random.Generator, ties: int) -> tuple[Codes, ...]:
    """Return partial rankings of seven items by three judges."""
    size = rng.integers(1, 8, 12)
    item = np.concatenate([rng.permutation(7)[:m] for m in size]).astype(np.int32)
    level = np.concatenate([np.sort(rng.integers(0, ties, m)) for m in size]).astype(np.int32)
    return np.r_[0, np.cumsum(size)], rng.integers(0, 3, 12).astype(np.int32), item, level


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-6, 6)), min_size=1, max_size=6))
def test_ties_are_the_sum_over_orders(entries: list[tuple[int, float]]) -> None:
    """Whatever is tied: first, middle, last, all or nothing."""
    level, log_w = zip(*sorted(entries), strict=True)
    arrays = np.array(level, np.int32), np.array(log_w)
    assert of_one(*arrays) == pytest.approx(over_all_orders(*arrays), rel=1e-10, abs=1e-10)


def test_three_items_by_hand() -> None:
    """Worths 3, 2, 1 in this order: 3/6 times 2/3; the first two tied: plus 2/6 times 3/4."""
    log_w = np.log([3.0, 2.0, 1.0])
    assert np.exp(of_one(np.array([0, 1, 2]), log_w)) == pytest.approx(1 / 3)
    assert np.exp(of_one(np.array([0, 0, 1]), log_w)) == pytest.approx(1 / 3 + 1 / 4)
    assert np.exp(of_one(np.array([0, 1, 1]), log_w)) == pytest.approx(1 / 2)
    assert of_one(np.array([0, 0, 0]), log_w) == 0


@pytest.mark.parametrize("tied", [11, 100, 1_000])
def test_large_ties_of_equals(tied: int) -> None:
    """Equally worthy items: a group of m of n comes first with probability 1 / (n choose m)."""
    level = np.r_[np.zeros(tied, np.int32), np.ones(3, np.int32)]
    n = tied + 3
    assert of_one(level, np.zeros(n)) == pytest.approx(-np.log(n * (n - 1) * (n - 2) / 6), rel=1e-12)


@pytest.mark.parametrize("ties", [2, 4, 100])
@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_differences(seed: int, ties: int) -> None:
    """In log worths and log reliabilities, with ties and partial rankings."""
    rng = np.random.default_rng(seed)
    arrays, x = crowd(rng, ties), rng.normal(size=10)

    def value(x: Floats) -> float:
        return log_likelihood(*arrays, x[:7], x[7:])[0]

    slope = np.concatenate(log_likelihood(*arrays, x[:7], x[7:])[1:])
    nudges = 1e-5 * np.eye(10)
    differences = [(value(x + nudge) - value(x - nudge)) / 2e-5 for nudge in nudges]
    assert slope == pytest.approx(differences, abs=1e-7)


def test_judges_scale_worths() -> None:
    """A judge of reliability 2 sees twice the log worths; one near 0 finds all orders alike."""
    start, item = np.array([0, 3]), np.arange(3, dtype=np.int32)
    theta, judge = np.array([0.3, -1.0, 0.5]), np.zeros(1, np.int32)
    twice = log_likelihood(start, judge, item, item, theta, np.log([2.0]))[0]
    assert twice == pytest.approx(of_one(item, 2 * theta))
    assert log_likelihood(start, judge, item, item, theta, np.array([-40.0]))[0] == pytest.approx(-np.log(6))


@pytest.mark.parametrize("level", [[0, 1, 2, 2], [0, 0, 1, 1], [0, 0, 0, 1]])
def test_far_worths_stay_finite(level: list[int]) -> None:
    """Weights of exp(+-800) neither overflow nor vanish."""
    start, item = np.array([0, 4]), np.arange(4, dtype=np.int32)
    theta, code = np.array([800.0, -800.0, 0.0, 3.0]), np.array(level, np.int32)
    value, d_theta, d_judge = log_likelihood(start, np.zeros(1, np.int32), item, code, theta, np.zeros(1))
    assert -1605 < value < -795
    assert np.isfinite(d_theta).all()
    assert np.isfinite(d_judge).all()
    assert d_theta.sum() == pytest.approx(0, abs=1e-9)


def _plackett_crowd(seed: int, ties: bool = False) -> tuple[pl.DataFrame, dict[tuple[int, int], float]]:
    """Return rankings of 6 of 10 items in 20 topics by 16 judges, the even ones random, and the log worths."""
    rng, rows, truth = np.random.default_rng(seed), [], {}
    for topic in range(20):
        worth = 2 * rng.normal(size=10)
        truth |= {(topic, item): float(worth[item]) for item in range(10)}
        for judge in range(16):
            item = rng.permutation(10)[:6]
            observed = worth[item] * (judge % 2) + rng.gumbel(size=6)
            folder = np.argsort(np.argsort(-observed)) // (2 if ties else 1) + 1
            rows += [(topic, int(i), judge, int(p)) for i, p in zip(item, folder, strict=True)]
    return pl.DataFrame(rows, ["topic", "item", "judge", "rank"], orient="row"), truth


def accuracy(found: Ranking, truth: dict[tuple[int, int], float]) -> float:
    """Return the mean of Kendall's tau with the truth over topics."""
    taus = []
    for _, topic in found.items.group_by("topic", maintain_order=True):
        worth = [truth[t, i] for t, i in zip(topic["topic"], topic["item"], strict=True)]
        taus.append(kendalltau(worth, -topic["rank"].to_numpy()).statistic)
    return float(np.mean(taus))


@pytest.mark.parametrize("ties", [False, True])
def test_random_judges_are_found_and_count_less(ties: bool) -> None:
    """With half of the judges random the consensus is better than Borda's, and reliabilities separate."""
    table, truth = _plackett_crowd(1, ties)
    result = rank(table, ties=ties)
    reliability = result.judges.sort("judge")["reliability"].to_numpy()
    assert result.converged
    assert reliability.mean() == pytest.approx(1)
    assert reliability[::2].max() < 0.5 < reliability[1::2].min()
    assert accuracy(result, truth) > accuracy(rank(table, "borda", ties=ties), truth) + 0.05
    assert accuracy(result, truth) > accuracy(rank(table, reliability=False, ties=ties), truth) + 0.05


def test_errors_are_as_large_as_they_say() -> None:
    """Where judges are alike and worths are drawn from the prior, 95 % lie within two standard errors or so."""
    rng, rows, truth = np.random.default_rng(3), [], []
    for topic in range(60):
        worth = rng.normal(size=6)
        truth.append(worth - worth.mean())
        for judge in range(5):
            order = np.argsort(-(worth + rng.gumbel(size=6)))
            rows += [(topic, int(i), judge, position) for position, i in enumerate(order, 1)]
    result = rank(pl.DataFrame(rows, ["topic", "item", "judge", "rank"], orient="row"), reliability=False)
    table = result.items.sort("topic", "item")
    z = (table["score"].to_numpy() - np.concatenate(truth)) / table["se"].to_numpy()
    assert 0.92 < np.mean(np.abs(z) < 1.96) < 0.98


def test_topics_sum_to_zero() -> None:
    """Only differences within a topic mean anything."""
    result = rank(_plackett_crowd(2)[0]).items
    assert result.group_by("topic").agg(pl.col("score").sum())["score"].to_numpy() == pytest.approx(0, abs=1e-5)


def test_perfect_and_disconnected_rankings_have_an_answer() -> None:
    """One judge who ranks two items, another who ranks two others."""
    table = pl.DataFrame({"item": list("abcd"), "judge": list("xxyy"), "rank": [1, 2, 1, 2]})
    with pytest.warns(AdjudgeWarning, match="^table: no chain of rankings links all items: there are 2 groups"):
        result = rank(table, spread=1.0)
    assert np.isfinite(result.score).all()
    assert result.items["rank"].to_list() == [1, 1, 3, 3]
    assert result.items["item"].to_list() == ["a", "c", "b", "d"]


def test_the_order_of_rows_changes_nothing() -> None:
    """The same table shuffled has the same consensus."""
    table, _ = _plackett_crowd(4)
    before = rank(table).items.sort("topic", "item")
    after = rank(table.sample(fraction=1, shuffle=True, seed=1)).items.sort("topic", "item")
    assert after["score"].to_numpy() == pytest.approx(before["score"].to_numpy(), abs=1e-5)
