"""Preferences: rankings of two that know which side the better stood on."""

from typing import Any

import polars as pl
import pytest

from adjudge.errors import InputError
from adjudge.judgments.pairs import WORDS, holds_pairs, read_pairs
from adjudge.judgments.rankings import Rankings
from adjudge.judgments.read import open_source


def preferred(rows: list[tuple[Any, ...]], items: Any = None) -> Rankings:
    """Return the preferences of rows of left, right, winner and, where there is one, judge."""
    columns = ["left", "right", "winner", "judge"][: len(rows[0])]
    return read_pairs(open_source(pl.DataFrame(rows, columns, orient="row", strict=False)), {}, items)


def refusal(rows: list[tuple[Any, ...]], **options: Any) -> str:
    """Return what is said against rows."""
    with pytest.raises(InputError) as caught:
        preferred(rows, **options)
    return str(caught.value)


def test_the_better_stands_first() -> None:
    """A winner named as an item or by its side; tied ones stay as they stood."""
    found = preferred([("p", "q", "q"), ("q", "s", "left"), ("s", "p", "tie")])
    assert found.items.gather(found.item).to_list() == ["q", "p", "q", "s", "s", "p"]
    assert found.level.tolist() == [0, 1, 0, 1, 0, 0]
    assert found.side is not None
    assert found.side.tolist() == [-1, 1, 1]
    assert found.judges.to_list() == [None]
    assert repr(found) == "Rankings(3 items, 1 judges, 3 preferences)"


def test_judges_and_numbers() -> None:
    """Items may be numbers; winners are found as text too."""
    found = preferred([(1, 2, "2", "ann"), (2, 3, "Right", "bob")])
    assert found.items.gather(found.item[::2]).to_list() == [2, 3]
    assert found.judges.gather(found.judge).to_list() == ["ann", "bob"]


@pytest.mark.parametrize("word", WORDS)
def test_every_word_is_understood(word: str) -> None:
    """In any case of letters."""
    found = preferred([("p", "q", word.upper())])
    assert found.side is not None
    assert (found.side[0] if found.level[1] else 0) == WORDS[word]


@pytest.mark.parametrize("winner", ["b", "B"])
def test_the_name_of_an_item_is_no_word(winner: str) -> None:
    """Where an item is called b, b is not the right one of two others."""
    assert refusal([("a", "b", "a"), ("a", "c", winner)]) == (
        f"table, row 1: the winner '{winner}' is neither 'a' nor 'c': give one of the two, or left, right or tie"
    )


def test_what_is_no_preference_is_refused() -> None:
    """An item against itself, a winner that is neither, one that is missing, an item that is not known."""
    assert refusal([("p", "q", "p"), ("p", "p", "p")]) == (
        "table, row 1: left and right are both 'p': a preference is between two items"
    )
    assert refusal([("p", "q", "z")]) == (
        "table, row 0: the winner 'z' is neither 'p' nor 'q': give one of the two, or left, right or tie"
    )
    assert refusal([("p", "q", "p"), ("p", "q", None)]) == "table, row 1: the winner (column 'winner') is empty"
    assert refusal([("p", None, "p")]) == "table, row 0: the right (column 'right') is empty"
    assert refusal([("p", "q", "p"), ("p", "s", "p")], items=["p", "q"]) == (
        "table, row 1: item 's' is not among the 2 items of table: correct it here, or add it there"
    )


def test_tables_of_pairs_are_told_by_their_columns() -> None:
    """By their names, or by one that the user names."""
    columns = {name: ["x"] for name in ("Left", "right", "winner")}
    source = open_source(pl.DataFrame(columns))
    assert holds_pairs(source, {})
    assert not holds_pairs(open_source(pl.DataFrame({"left": ["x"], "right": ["y"]})), {})
    assert holds_pairs(open_source(pl.DataFrame({"a": ["x"]})), {"left": "a"})
