"""A table from anywhere: the columns of a file, of standard input, or of a frame of any library.

A source knows the names of its columns at once and returns a column on request, so that a large Parquet file is never
in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from adjudge.errors import InputError, quote

# what pyarrow raises for values of several types, for numbers that it cannot hold, and when it is not installed
NOT_IN_ARROW = (TypeError, ValueError, NotImplementedError, OverflowError, ImportError)


def position_itself(position: int) -> int:
    """Return the position: the rows of frames and Parquet files are numbered from 0."""
    return position


def no_order(column: str) -> list[Any] | None:
    """Return None: the values of the column have no order of their own."""
    return None


@dataclass(frozen=True)
class Source:
    """Named columns that are read on request, and the row number that messages use for each position."""

    name: str
    columns: tuple[str, ...]
    column: Callable[[str], pl.Series]
    row: Callable[[int], int] = position_itself  # the number under which people find the row at a position
    kind: str = "polars"  # the library of the frame
    text: bool = False  # values are text as typed: blanks around them mean nothing
    order: Callable[[str], list[Any] | None] = no_order  # the ordered categories of a column that has them
    format: str = "frame"
    encoding: str | None = None
    compression: str | None = None

    def wrong(self, problem: str, position: int | None = None) -> InputError:
        """Return the error that says where and what."""
        return InputError(problem, self.name, None if position is None else self.row(position))


def from_frame(frame: Any, name: str = "table") -> Source:
    """Return a frame of any library as a source; rows are numbered from 0.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table, or one of another library that narwhals knows. A lazy frame of polars is
        collected.
    name
        What messages call the table.

    Examples
    --------
    >>> source = from_frame(pl.DataFrame({"item": ["a", "b"], "label": [0, 1]}))
    >>> source.columns, source.column("label").to_list()
    (('item', 'label'), [0, 1])
    >>> str(source.wrong("this is not right", 1))
    'table, row 1: this is not right'
    """
    try:
        table = nw.from_native(frame.collect() if isinstance(frame, pl.LazyFrame) else frame, eager_only=True)
        native = {str(column): column for column in table.columns}
    except TypeError as error:
        problem = f"{type(frame).__name__} is not a table: give a path, or a pandas, polars or pyarrow frame"
        raise InputError(problem) from error
    except nw.exceptions.DuplicateError as error:
        raise InputError("two columns have the same name: rename one", name) from error

    def order(column: str) -> list[Any] | None:
        dtype = table.get_column(native[column]).dtype
        return list(dtype.categories) if isinstance(dtype, nw.Enum) else None

    return Source(
        name,
        tuple(native),
        lambda column: _series(table.get_column(native[column]), name, column),
        kind=str(table.implementation),
        order=order,
    )


def from_lines(name: str, frame: pl.DataFrame, first_row: int) -> Source:
    """Return lines of text that were read as columns; lines without any value are skipped.

    Parameters
    ----------
    name
        What messages call the file.
    frame
        The values as text, with null for a value that is missing.
    first_row
        The number of the first line in the file. A value may contain line breaks, which count.
    """
    rows, table = None, frame
    if frame.get_column(frame.columns[0]).null_count():
        rows = (~frame.select(pl.all_horizontal(pl.all().is_null())).to_series()).arg_true()
        table = frame[rows]
    if not table.height:
        raise InputError("the file has a header but no rows", name)

    def row(position: int) -> int:
        line = position if rows is None else int(rows[position])
        breaks = frame.head(line).select(pl.all().str.count_matches("\n", literal=True).sum())
        return first_row + line + int(sum(breaks.row(0)))

    return Source(name, tuple(table.columns), table.get_column, row, text=True)


def _series(column: nw.Series[Any], source: str, name: str) -> pl.Series:
    """Return a column of any library as a polars series; missing values become null."""
    native = column.to_native()
    if isinstance(native, pl.Series):
        return native
    arrow = column.implementation.is_pyarrow()
    if column.dtype.is_numeric() and not arrow and not column.null_count():
        return pl.Series(name, column.to_numpy())
    try:
        return pl.Series(name, native if arrow else column.to_arrow())
    except NOT_IN_ARROW:
        return _series_from_values(column, source, name)


def _series_from_values(column: nw.Series[Any], source: str, name: str) -> pl.Series:
    """Return a column as a polars series, value by value."""
    pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
    values = [None if missing else value for value, missing in pairs]
    try:
        return pl.Series(name, values, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"column {quote(name)} holds values that are neither text nor numbers", source) from error
