"""How results are shown in notebooks: a one-line summary above the first rows of a table, with all text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, TypeVar, overload

import narwhals as nw

ROWS = 10  # rows of a table that are shown
Record = TypeVar("Record")


class NotebookView:
    """Gives a result its view in notebooks: its one-line ``repr`` above the first rows of its ``table``."""

    @property
    def table(self) -> Any:
        """The result as a table; every result has its own."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_view(repr(self), self.table)


class ListView(NotebookView, Sequence[Record]):
    """A result that is also a sequence of records."""

    @property
    def records(self) -> tuple[Record, ...]:
        """The records; every result has its own."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, index: int | slice) -> Record | tuple[Record, ...]:
        return self.records[index]


def html_view(summary: str, table: Any, rows: int = ROWS) -> str:
    """Return a summary and the first rows of a frame as HTML; names come from anybody, so everything is escaped.

    >>> import polars as pl
    >>> html_view("Two items", pl.DataFrame({"item": ["<b>", "c"], "share": [0.5, None]}), rows=1)[:64]
    '<div><p>Two items</p><table><thead><tr><th>item</th><th>share</t'
    """
    frame = nw.from_native(table, eager_only=True)
    head = _row("th", frame.columns)
    body = "".join(_row("td", map(_cell, row)) for row in frame.head(rows).iter_rows())
    height = frame.shape[0]
    rest = f"<p>The first {rows:,} of {height:,} rows.</p>" if height > rows else ""
    return f"<div><p>{escape(summary)}</p><table><thead>{head}</thead><tbody>{body}</tbody></table>{rest}</div>"


def _row(tag: str, cells: Any) -> str:
    """Return a table row whose cells have this tag."""
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


def _cell(value: Any) -> str:
    """Return the text of a cell: numbers with four digits, nothing for a missing value."""
    if value is None or value != value:  # NaN is the value that differs from itself
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
