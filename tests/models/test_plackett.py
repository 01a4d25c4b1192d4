"""Plackett and Luce with reliable and random judges."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

from adjudge.models.ranking import Ranking, rank


def crowd(seed: int, ties: bool = False) -> tuple[pl.DataFrame, dict[tuple[int, int], float]]:
    """Return rankings of 6 of 10 items in 20 topics by 16 judges, the even ones random, and the log worths."""
    rng, rows, truth = np.random.default_rng(seed), [], {}
    for topic in range(20):
        worth = 2 * rng.normal(size=10)
        truth |= {(topic, item): float(worth[item]) for item in range(10)}
        for judge in range(16):
            item = rng.permutation(10)[:6]
            seen = worth[item] * (judge % 2) + rng.gumbel(size=6)
            place = np.argsort(np.argsort(-seen)) // (2 if ties else 1) + 1
            rows += [(topic, int(i), judge, int(p)) for i, p in zip(item, place, strict=True)]
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
    table, truth = crowd(1, ties)
    found = rank(table)
    reliability = found.judges.sort("judge")["reliability"].to_numpy()
    assert found.converged
    assert reliability.mean() == pytest.approx(1)
    assert reliability[::2].max() < 0.5 < reliability[1::2].min()
    assert accuracy(found, truth) > accuracy(rank(table, "borda"), truth) + 0.05
    assert accuracy(found, truth) > accuracy(rank(table, reliability=False), truth) + 0.05


def test_errors_are_as_large_as_they_say() -> None:
    """Where judges are alike and worths are drawn from the prior, 95 % lie within two standard errors or so."""
    rng, rows, truth = np.random.default_rng(3), [], []
    for topic in range(60):
        worth = rng.normal(size=6)
        truth.append(worth - worth.mean())
        for judge in range(5):
            order = np.argsort(-(worth + rng.gumbel(size=6)))
            rows += [(topic, int(i), judge, place) for place, i in enumerate(order, 1)]
    found = rank(pl.DataFrame(rows, ["topic", "item", "judge", "rank"], orient="row"), reliability=False)
    table = found.items.sort("topic", "item")
    z = (table["score"].to_numpy() - np.concatenate(truth)) / table["se"].to_numpy()
    assert 0.92 < np.mean(np.abs(z) < 1.96) < 0.98


def test_topics_sum_to_zero() -> None:
    """Only differences within a topic mean anything."""
    found = rank(crowd(2)[0]).items
    assert found.group_by("topic").agg(pl.col("score").sum())["score"].to_numpy() == pytest.approx(0, abs=1e-5)


def test_perfect_and_disconnected_rankings_have_an_answer() -> None:
    """One judge who ranks two items, another who ranks two others."""
    table = pl.DataFrame({"item": list("abcd"), "judge": list("xxyy"), "rank": [1, 2, 1, 2]})
    found = rank(table, spread=1.0)
    assert np.isfinite(found.score).all()
    assert found.items["rank"].to_list() == [1, 1, 3, 3]
    assert found.items["item"].to_list() == ["a", "c", "b", "d"]


def test_the_order_of_rows_changes_nothing() -> None:
    """The same table shuffled has the same consensus."""
    table, _ = crowd(4)
    before = rank(table).items.sort("topic", "item")
    after = rank(table.sample(fraction=1, shuffle=True, seed=1)).items.sort("topic", "item")
    assert after["score"].to_numpy() == pytest.approx(before["score"].to_numpy(), abs=1e-5)
