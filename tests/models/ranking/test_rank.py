"""Kendall's tau, against scipy's."""

import doctest
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import kendalltau

from adjudge.data.formats import open_source
from adjudge.data.rankings import Rankings, read_rankings
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.models.ranking import rank as ranking
from adjudge.models.ranking.rank import METHODS, linked_groups, rank, tau_b


@pytest.mark.parametrize("seed", range(5))
def test_one_ranking_as_scipy_has_it(seed: int) -> None:
    """With ties on both sides."""
    rng = np.random.default_rng(seed)
    level, rank = np.sort(rng.integers(0, 5, 12)), rng.integers(0, 6, 12)
    result = tau_b(np.array([0, 12]), np.zeros(1, int), np.arange(12), level, rank, 1)
    assert result[0] == pytest.approx(kendalltau(level, rank).statistic)


def test_rankings_of_a_judge_are_taken_together() -> None:
    """Three pairs right and one wrong; a judge who tells nothing apart has none."""
    start, judge = np.array([0, 3, 5, 7]), np.array([0, 0, 1])
    item, level = np.array([0, 1, 2, 4, 3, 0, 1]), np.array([0, 1, 2, 0, 1, 0, 0])
    result = tau_b(start, judge, item, level, np.array([1, 2, 3, 1, 2]), 2)
    assert result[0] == 0.5
    assert np.isnan(result[1])


TABLE = {"topic": list("tttttt"), "item": list("abcabc"), "judge": list("xxxyyy"), "rank": [1, 2, 3, 1, 3, 2]}
PAIRS = {"left": list("pqs"), "right": list("qsp"), "winner": ["left", "left", "right"], "judge": list("xyx")}


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if not method.labels])
def test_every_method_ranks(method: str) -> None:
    """The winner of every comparison is first, tables have their columns, and the record says how it went."""
    result = rank(pl.DataFrame(PAIRS), method)
    assert result.items["item"][0] == "p"
    assert result.items.columns == ["item", "rank", "score", "se", "preferences"]
    assert result.judges.columns[:2] == ["judge", "preferences"]
    assert repr(result).startswith(f"Ranking({method}: 3 items, 2 judges, 3 preferences, ")
    assert (result.log_likelihood is None) == (method == "borda")
    assert METHODS[method].summary
    assert METHODS[method].paper


def test_the_method_follows_the_table() -> None:
    """Preferences are for Bradley and Terry, rankings for Plackett and Luce."""
    assert rank(pl.DataFrame(PAIRS)).method == "bradley-terry"
    result = rank(pl.DataFrame(TABLE))
    assert result.method == "plackett-luce"
    assert result.items.columns == ["topic", "item", "rank", "score", "se", "judges"]
    assert result.judges.columns == ["judge", "rankings", "reliability", "tau"]
    assert result.judges["tau"].to_list() == pytest.approx([2 / np.sqrt(6)] * 2)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_the_kind_of_frame_stays(make: Any) -> None:
    """What came in goes out."""
    result = rank(make(TABLE), "borda")
    assert type(result.items) is type(result.judges) is type(make(TABLE))
    assert pl.DataFrame(result.items)["rank"].to_list() == [1, 2, 2]


def test_sets_are_rankings_of_their_own() -> None:
    """Two sets of a judge are two rankings of one judge."""
    result = rank(pl.DataFrame({**TABLE, "judge": ["x"] * 6, "assignment": [1, 1, 1, 2, 2, 2]}))
    assert result.judges.rows() == [("x", 2, result.judges["tau"][0])]
    assert result.items["judges"].to_list() == [1, 1, 1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"topic": list("ttttuu"), "item": list("abcdab"), "judge": list("xxyyxx"), "rank": [1, 2] * 3},
            "table: in 1 of 2 topics no chain of rankings links all items, such as topic 't' with 2 groups of items; "
            "the data do not tell the order of items of different groups",
        ),
        (
            {"left": list("pqs"), "right": list("qpt"), "winner": ["left"] * 3},
            "table: no chain of rankings links all items: there are 2 groups of items; "
            "the data do not tell the order of items of different groups",
        ),
    ],
)
def test_unlinked_items_are_reported(table: dict[str, Any], message: str) -> None:
    """Nothing compares them, so that the prior alone decides their order."""
    with pytest.warns(AdjudgeWarning) as caught:
        rank(pl.DataFrame(table))
    assert [str(warning.message) for warning in caught] == [message]


def test_a_chain_of_rankings_links_items() -> None:
    """Items of a and c are compared through b, whoever ranked them; an item ranked alone is a group of its own."""
    chain = {"item": list("abbc"), "judge": list("xxyy"), "rank": [1, 2] * 2, "topic": ["t"] * 4}
    assert linked_groups(rankings_of(chain)).tolist() == [1]
    alone = {name: [*column, *more] for (name, column), more in zip(chain.items(), ("d", "z", [1], "t"), strict=True)}
    assert linked_groups(rankings_of(alone)).tolist() == [2]


def rankings_of(table: dict[str, Any]) -> Rankings:
    """Return the rankings of a table."""
    return read_rankings(open_source(pl.DataFrame(table)), {})


def test_ties_share_a_rank() -> None:
    """Items that nothing tells apart share a rank, and the next is as many lower."""
    more = {name: [*column, *column[:3]] for name, column in TABLE.items()} | {"judge": list("xxxyyyzzz")}
    result = rank(pl.DataFrame({**more, "rank": [1, 1, 2] * 3})).items
    assert result["item"].to_list() == ["a", "b", "c"]
    assert result["rank"].to_list() == [1, 1, 3]


def test_a_ranking_cannot_be_changed() -> None:
    """The record is frozen and so are its arrays."""
    result = rank(pl.DataFrame(TABLE))
    with pytest.raises(AttributeError):
        result.method = "x"  # type: ignore[misc]
    for array in (result.score, result.se, result.rank, result.tau, result.reliability):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5  # type: ignore[index]


@pytest.mark.parametrize("spread", [0.01, 1000])
@pytest.mark.parametrize("table", [TABLE, PAIRS])
def test_the_widest_and_narrowest_priors_work(table: dict[str, Any], spread: float) -> None:
    """No overflow and no nan at either end."""
    result = rank(pl.DataFrame(table), spread=spread, judge_spread=spread, reliability=True)
    assert np.isfinite(result.score).all()
    assert np.isfinite(result.se).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "mallows"}, "method 'mallows' is not one of 'borda', 'plackett-luce', 'bradley-terry', 'graded'"),
        ({"spread": 0}, "spread 0 is not a number from 0.01 to 1000"),
        ({"judge_spread": float("nan")}, "judge_spread nan is not a number from 0.01 to 1000"),
        (
            {"position_bias": True},
            "position_bias needs preferences and the method 'bradley-terry', not 'plackett-luce'",
        ),
        (
            {"method": "borda", "reliability": True},
            "method 'borda' does not estimate the reliability of judges; 'plackett-luce' does",
        ),
    ],
)
def test_calls_that_cannot_be_met(options: dict[str, Any], message: str) -> None:
    """In one sentence."""
    with pytest.raises(UsageError) as caught:
        rank(pl.DataFrame(TABLE), **options)
    assert str(caught.value) == message


def test_the_example_works() -> None:
    """Every >>> gives what it says."""
    failed, tried = doctest.testmod(ranking)
    assert (failed, tried) == (0, 6)
