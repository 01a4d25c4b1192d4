"""Where a table comes from: one shape for files, standard input and frames of any library.

A source knows its column names at once and gives a column when asked, so that a large Parquet file is
never held whole.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import polars as pl

from adjudge.errors import InputError, quote

Place: TypeAlias = str | os.PathLike[str]

# what pyarrow answers to values of several types, to numbers it cannot hold, and when it is not installed
NOT_IN_ARROW = (TypeError, ValueError, NotImplementedError, OverflowError, ImportError)


def same(position: int) -> int:
    """Return the position itself: the rows of frames and Parquet files count from 0."""
    return position


def unordered(column: str) -> list[Any] | None:
    """Say that a column has no order of its own."""
    return None


@dataclass(frozen=True)
class Source:
    """Named columns with a place to point at when something is wrong in them."""

    name: str
    columns: tuple[str, ...]
    column: Callable[[str], pl.Series]
    row: Callable[[int], int] = same  # the number under which people find the row at a position
    kind: str = "polars"
    text: bool = False  # columns are text as typed: outer blanks mean nothing
    order: Callable[[str], list[Any] | None] = unordered  # the categories of a column that has them in order

    def wrong(self, what: str, position: int | None = None) -> InputError:
        """Return the error that says where and what."""
        return InputError(what, self.name, None if position is None else self.row(position))


def from_frame(frame: Any, name: str = "table") -> Source:
    """Return a pandas, polars, pyarrow or other eager frame as a source; rows count from 0."""
    try:
        table = nw.from_native(frame.collect() if isinstance(frame, pl.LazyFrame) else frame, eager_only=True)
        native = {str(column): column for column in table.columns}
    except TypeError as error:
        what = f"{type(frame).__name__} is not a table: give a path, or a pandas, polars or pyarrow frame"
        raise InputError(what) from error
    except nw.exceptions.DuplicateError as error:
        raise InputError("two columns are called the same: rename one", name) from error
    kind = str(table.implementation)

    def order(column: str) -> list[Any] | None:
        dtype = table.get_column(native[column]).dtype
        return list(dtype.categories) if isinstance(dtype, nw.Enum) else None

    return Source(
        name,
        tuple(native),
        lambda column: _series(table.get_column(native[column]), name, column),
        kind=kind,
        order=order,
    )


def of_lines(name: str, frame: pl.DataFrame, first_row: int) -> Source:
    """Return lines of text, read as columns, as a source; lines without any value are passed over."""
    kept, table = None, frame
    if frame.get_column(frame.columns[0]).null_count():
        kept = (~frame.select(pl.all_horizontal(pl.all().is_null())).to_series()).arg_true()
        table = frame[kept]
    if not table.height:
        raise InputError("the file holds a header and no rows", name)

    def row(position: int) -> int:
        line = position if kept is None else int(kept[position])
        breaks = frame.head(line).select(pl.all().str.count_matches("\n", literal=True).sum())
        return first_row + line + int(sum(breaks.row(0)))

    return Source(name, tuple(table.columns), table.get_column, row, text=True)


def display_name(path: Place) -> str:
    """Return what people call the place a table is read from."""
    return "standard input" if str(path) == "-" else str(path)


def bytes_of(path: Place, most: int = -1) -> bytes:
    """Return the bytes of a file or of standard input, only the first ``most`` if that is given."""
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("is closed", "standard input")
        return sys.stdin.buffer.read(most)
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except (FileNotFoundError, ValueError) as error:
        raise InputError("there is no such file", str(path)) from error
    except IsADirectoryError as error:
        raise InputError("is a folder, not a file", str(path)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(path)) from error


def text_of(content: bytes, name: str) -> str:
    """Return bytes as text, refusing the first that is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{content[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise InputError(what, name, row) from error


def _series(column: nw.Series[Any], source: str, name: str) -> pl.Series:
    """Return a column of any library as a polars one; what is missing there is null here."""
    native = column.to_native()
    if isinstance(native, pl.Series):
        return native
    arrow = column.implementation.is_pyarrow()
    if column.dtype.is_numeric() and not arrow and not column.null_count():
        return pl.Series(name, column.to_numpy())
    try:
        return pl.Series(name, native if arrow else column.to_arrow())
    except NOT_IN_ARROW:
        return _listed(column, source, name)


def _listed(column: nw.Series[Any], source: str, name: str) -> pl.Series:
    """Return a column as a polars one, value by value."""
    missing = column.is_null().to_list()
    values = [None if gone else value for value, gone in zip(column.to_list(), missing, strict=True)]
    try:
        return pl.Series(name, values, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"column {quote(name)} holds values that are neither text nor numbers", source) from error
