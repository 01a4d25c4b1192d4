"""Borda's count, by hand."""

import polars as pl
import pytest

from adjudge.errors import AdjudgeWarning
from adjudge.models.ranking.rank import rank


def table(**orders: str) -> pl.DataFrame:
    """Return rankings by judge, each such as ``ab c``: one group of tied items after another, best first."""
    rows = [
        (item, judge, n)
        for judge, order in orders.items()
        for n, group in enumerate(order.split(), 1)
        for item in group
    ]
    return pl.DataFrame(rows, ["item", "judge", "rank"], orient="row")


def test_points_are_the_share_of_others_beaten() -> None:
    """Two rankings of three, one of them with a tie, and one of two."""
    result = rank(table(x="a b c", y="a bc", z="b a"), "borda")
    score = dict(zip(result.items["item"], result.items["score"], strict=True))
    assert score == pytest.approx({"a": 2 / 3, "b": (0.5 + 0.25 + 1) / 3, "c": 0.125})
    assert result.items["judges"].to_list() == [3, 3, 2]
    assert result.items["se"][2] == pytest.approx(0.125)


def test_items_compared_with_nothing_stand_in_the_middle() -> None:
    """A ranking of one says nothing."""
    with pytest.warns(AdjudgeWarning, match="^table: no chain of rankings links all items: there are 2 groups"):
        result = rank(table(x="a b", y="c"), "borda").items
    assert dict(zip(result["item"], result["score"], strict=True)) == {"a": 1, "c": 0.5, "b": 0}
    assert result["se"].to_list() == [None] * 3


def test_a_tie_of_all_is_a_tie() -> None:
    """Everybody shares the first place, and no judge tells anything apart."""
    result = rank(table(x="abc", y="abc"), "borda")
    assert result.items["rank"].to_list() == [1, 1, 1]
    assert result.judges["tau"].to_list() == [None, None]


def test_preferences_count_wins() -> None:
    """Of pairs, the score is the share of wins, a tie being half of one."""
    pairs = pl.DataFrame({"left": list("ppq"), "right": list("qqp"), "winner": ["p", "tie", "q"]})
    result = rank(pairs, "borda").items
    assert result["score"].to_list() == [0.5, 0.5]
    assert result["preferences"].to_list() == [3, 3]
