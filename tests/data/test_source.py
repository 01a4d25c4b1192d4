"""Frames of every library, lines of text and bytes, in one shape."""

import datetime
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from adjudge.data.datasets import dataset
from adjudge.data.source import Source, from_frame, from_lines
from adjudge.errors import InputError

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def refusal(*arguments: Any) -> str:
    """Return what a call is refused with."""
    call, *rest = arguments
    with pytest.raises(InputError) as caught:
        call(*rest)
    return str(caught.value)


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_library(kind: str) -> None:
    """A frame gives its columns, remembers its kind, and counts rows from 0."""
    source = from_frame(FRAMES[kind]({"item": ["a", "b"], "n": [1, 2], "p": [0.5, 1.5], "yes": [True, False]}))
    assert source.columns == ("item", "n", "p", "yes")
    assert [source.column(name).to_list() for name in source.columns] == [["a", "b"], [1, 2], [0.5, 1.5], [True, False]]
    assert (source.kind, source.name, source.row(7), source.text) == (kind, "table", 7, False)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", None]),
        pd.Series(["a", np.nan], dtype=object),
        pd.Series(["a", None], dtype="string"),
        pd.Series(["a", pd.NA], dtype="string[pyarrow]"),
        pd.Series(["a", None], dtype="category"),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1, None]),
        pd.Series([True, None], dtype="boolean"),
        pd.Series([1.5, None], dtype=pd.ArrowDtype(pa.float64())),
        pd.Series([datetime.datetime(2020, 1, 1), None]),
        pd.Series([1, "a", None], dtype=object),
    ],
    ids=lambda column: f"{column.dtype}-{column.iloc[0]}",
)
def test_what_pandas_misses_is_null(column: pd.Series) -> None:
    """None, NaN, NaT and NA are null in every type of column, and never a text such as 'nan'."""
    result = from_frame(pd.DataFrame({"x": column})).column("x")
    assert result.is_null().to_list() == column.isna().tolist()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pd.Series([3, 1], dtype="Int64"), [3, 1]),
        (pd.Series([3, 1], dtype="uint8"), [3, 1]),
        (pd.Series(["b", "a"], dtype="category"), ["b", "a"]),
        (pd.Series(["b", "a"], dtype="string"), ["b", "a"]),
        (pd.Series(["b", "a"], dtype=object), ["b", "a"]),
        (pd.Series([3, "a"], dtype=object), ["3", "a"]),
        (pd.Series([10**30, 2], dtype=object), [10**30, 2]),
        (pd.Series([Decimal("1.5"), Decimal("2")], dtype=object), [Decimal("1.5"), Decimal("2.0")]),
        (pd.arrays.SparseArray([1, 0]), [1, 0]),
    ],
    ids=str,
)
def test_types_of_pandas(column: Any, values: list[object]) -> None:
    """Columns of every type of pandas come with their values."""
    assert from_frame(pd.DataFrame({"x": column})).column("x").to_list() == values


def test_pandas_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pyarrow is not installed, pandas is read value by value, and what is missing is null."""

    def missing(_: Any) -> None:
        raise ModuleNotFoundError("pyarrow")

    monkeypatch.setattr(nw.Series, "to_arrow", missing)
    source = from_frame(pd.DataFrame({"item": ["a", None, "c"], "n": pd.array([1, None, 2], dtype="Int64")}))
    assert source.column("item").to_list() == ["a", None, "c"]
    assert source.column("n").to_list() == [1, None, 2]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()),
        pa.array(["a", "b"], pa.string_view()),
        pa.chunked_array([["a"], ["b"]]),
    ],
    ids=lambda column: str(column.type),
)
def test_types_of_pyarrow(column: Any) -> None:
    """Text of every type of pyarrow is the same text."""
    assert from_frame(pa.table({"x": column})).column("x").cast(pl.String).to_list() == ["a", "b"]


def test_a_lazy_frame_is_collected() -> None:
    """A lazy polars frame is a frame."""
    source = from_frame(pl.LazyFrame({"x": [1]}).with_columns(y=pl.col("x") + 1))
    assert source.column("y").to_list() == [2]


def test_column_names_need_not_be_text() -> None:
    """Columns that pandas numbers are called by their numbers."""
    source = from_frame(pd.DataFrame([["a", 5]], columns=[1, 0]))
    assert source.columns == ("1", "0")
    assert source.column("0").to_list() == [5]


@pytest.mark.parametrize("thing", [None, 3, [1], {"item": ["a"]}, b"item", pl.Series([1]), np.zeros((2, 2))], ids=repr)
def test_what_is_no_table(thing: object) -> None:
    """Other things are refused with what to give instead."""
    name = type(thing).__name__
    assert refusal(from_frame, thing) == f"{name} is not a table: give a path, or a pandas, polars or pyarrow frame"


def test_a_record_is_no_table() -> None:
    """The message says which of its attributes is one."""
    assert refusal(from_frame, dataset("anesthesia")) == (
        "Judgments is not a table: give a path, or a pandas, polars or pyarrow frame; its table is .table"
    )


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["label", "label"]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["label", "label"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_two_columns_of_one_name(frame: Any) -> None:
    """A frame with two columns of one name is refused."""
    assert refusal(from_frame, frame) == "table: two columns have the same name: rename one"


def test_values_that_are_no_text() -> None:
    """Text that is not Unicode is refused with its column."""
    source = from_frame(pd.DataFrame({"item": pd.Series(["\ud800", "b"], dtype=object)}))
    assert refusal(source.column, "item") == "table: column 'item' holds values that are neither text nor numbers"


def test_wrong_says_where() -> None:
    """An error names the source and, where a position is known, its row."""
    source = Source("labels.csv", (), pl.Series, row=lambda position: position + 2)
    assert str(source.wrong("is odd", 3)) == "labels.csv, row 5: is odd"
    assert str(source.wrong("is odd")) == "labels.csv: is odd"


def test_lines_without_values_are_passed_over() -> None:
    """Blank lines are no rows, and rows after them keep their numbers."""
    frame = pl.DataFrame({"item": [None, "a", None, "b", None], "label": [None, "1", None, None, "2"]})
    source = from_lines("labels.csv", frame, 2)
    assert source.column("item").to_list() == ["a", "b", None]
    assert [source.row(position) for position in range(3)] == [3, 5, 6]
    assert source.text


def test_line_breaks_within_values_are_lines() -> None:
    """A row's number is that of the line where it begins."""
    frame = pl.DataFrame({"item": ["a\nb", "c", "d\n\n"], "label": ["1", "x\ny", "2"]})
    source = from_lines("labels.csv", frame, 2)
    assert [source.row(position) for position in range(3)] == [2, 4, 6]


def test_lines_without_any_value() -> None:
    """A file of blank lines below its header holds no rows."""
    frame = pl.DataFrame({"item": [None], "label": [None]}, schema_overrides={"item": pl.String, "label": pl.String})
    assert refusal(from_lines, "labels.csv", frame, 2) == "labels.csv: the file has a header but no rows"
