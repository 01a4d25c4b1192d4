"""Where a table comes from: one shape for files, standard input and frames of any library.

A source knows its column names at once and gives a column when asked, so that a large Parquet file is
never held whole.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from adjudge.errors import InputError


@dataclass(frozen=True)
class Source:
    """Named columns with a place to point at when something is wrong in them."""

    name: str
    columns: tuple[str, ...]
    column: Callable[[str], pl.Series]
    first_row: int = 0  # what people call the first row of data: 2 below a header line
    rows: pl.Series | None = None  # row numbers, where blank lines were passed over
    kind: str = "polars"
    text: bool = False  # columns are text as typed: outer blanks mean nothing

    def row(self, position: int) -> int:
        """Return the number under which people find the row at a position."""
        return int(self.rows[position]) if self.rows is not None else position + self.first_row

    def wrong(self, what: str, position: int | None = None) -> InputError:
        """Return the error that says where and what."""
        return InputError(what, self.name, None if position is None else self.row(position))


def from_frame(frame: Any, name: str = "table") -> Source:
    """Return a pandas, polars, pyarrow or other eager frame as a source; rows count from 0."""
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise InputError(f"{type(frame).__name__} is not a table: give a path, or a pandas, polars or pyarrow frame") from error
    return Source(name, tuple(map(str, table.columns)), lambda column: _series(table[column]), kind=str(table.implementation))


def of_lines(name: str, frame: pl.DataFrame, first_row: int) -> Source:
    """Return lines of text, read as columns, as a source; lines without any value are passed over."""
    blank = pl.all_horizontal(pl.all().is_null())
    rows = None
    if frame.width and frame.get_column(frame.columns[0]).null_count():
        numbered = frame.with_row_index("row", first_row)
        rows = numbered.filter(~frame.select(blank).to_series()).get_column("row")
        frame = frame.filter(~blank)
    return Source(name, tuple(frame.columns), frame.get_column, first_row, rows, text=True)


def display_name(path: str | Path) -> str:
    """Return what people call the place a table is read from."""
    return "standard input" if str(path) == "-" else str(path)


def bytes_of(path: str | Path) -> bytes:
    """Return all bytes of a file or of standard input."""
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError("there is no such file", str(path)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(path)) from error


def _series(column: nw.Series[Any]) -> pl.Series:
    """Return a column of any library as a polars one, by the shortest way that needs no further package."""
    native = column.to_native()
    if isinstance(native, pl.Series):
        return native
    if column.implementation.is_pyarrow():
        return pl.Series(column.name, native)
    values = native.to_numpy()
    if values.dtype == object or column.null_count():
        values = column.to_list()
    return pl.Series(str(column.name), values, strict=False)
