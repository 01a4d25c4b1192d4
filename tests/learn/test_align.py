"""Any sequence of items, in any library, finds its numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge.errors import InputError, UsageError
from adjudge.learn.align import aligned, named

ITEMS, VALUES = pl.Series(["7", "8", "9"]), np.array([0.7, 0.8, 0.9])


@pytest.mark.parametrize(
    "index",
    [
        ["9", "7"],
        [9, 7],
        (9, 7),
        np.array([9, 7]),
        np.array(["9", "7"]),
        np.array(["9", "7"], object),
        np.array([9.0, 7.0]),
        pd.Index([9, 7]),
        pd.Series(["9", "7"], index=[3, 4]),
        pd.DataFrame({"x": [1, 2]}, index=["9", "7"]).index,
        pl.Series(["9", "7"]),
        pl.Series([9, 7]),
    ],
)
def test_any_sequence_is_followed(index: object) -> None:
    """Lists, arrays, columns and indexes, of numbers or text."""
    assert aligned(index, ITEMS, VALUES).tolist() == [0.9, 0.7]
    assert aligned(index, ITEMS.cast(int), VALUES).tolist() == [0.9, 0.7]


def test_no_items_have_no_numbers() -> None:
    """An empty index gives an empty vector."""
    assert aligned([], ITEMS, VALUES).tolist() == []


def test_unknown_items_are_refused_or_filled() -> None:
    """The message says which, where, how many, and what items look like."""
    expected = r"index, row 1: item 'x' has no weight \(2 such of 3; items are such as '7'\): leave it out, or say"
    with pytest.raises(InputError, match=expected):
        aligned(["7", "x", None], ITEMS, VALUES)
    assert aligned(["7", "x", None], ITEMS, VALUES, fill=0).tolist() == [0.7, 0, 0]


def test_tables_and_texts_are_no_index() -> None:
    """A frame is not its index."""
    with pytest.raises(UsageError, match="the index is a table: give a sequence of items"):
        named(pd.DataFrame({"item": ["7"]}))
    with pytest.raises(UsageError, match="the index is one text"):
        named("789")
