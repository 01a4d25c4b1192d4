"""Long tables of the desk: a page of the rows, sorted by a column, with an address that can be shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, TypeVar
from urllib.parse import urlencode

T = TypeVar("T")
ROWS = 50  # on one page


@dataclass(frozen=True)
class Listing:
    """A page of a long table.

    ``query`` are the filters of its address, without blank ones; ``sort`` is the name of a column, with a minus in
    front of it if the largest values are first.
    """

    rows: Sequence[Any]
    total: int  # rows on all pages
    page: int = 1
    size: int = ROWS
    sort: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    paged: str = "page"  # the name of the page in the address

    @property
    def pages(self) -> int:
        """Return the number of pages."""
        return max(ceil(self.total / self.size), 1)

    @property
    def first(self) -> int:
        """Return the number of the first row of this page, from 1."""
        return (self.page - 1) * self.size + 1

    @property
    def last(self) -> int:
        """Return the number of the last row of this page."""
        return self.first + len(self.rows) - 1

    def address(self, **changes: object) -> str:
        """Return the address of this table with other values, without blank ones.

        Examples
        --------
        >>> Listing([], 0, sort="-seconds", query={"find": "a b"}).address(page=2)
        '?find=a+b&sort=-seconds&page=2'
        """
        values = {**self.query, "sort": self.sort, **changes}
        return "?" + urlencode({name: value for name, value in values.items() if value not in ("", None)})

    def sorted_by(self, column: str) -> str:
        """Return how the table is sorted by a column: ``ascending``, ``descending``, or nothing if by another one."""
        return {column: "ascending", f"-{column}": "descending"}.get(self.sort, "")

    def resort(self, column: str, largest_first: bool) -> str:
        """Return the address of this table sorted by a column; if it is already, the other way round."""
        first, second = (f"-{column}", column) if largest_first else (column, f"-{column}")
        return self.address(sort=second if self.sort == first else first)


def page_of(total: int, page: int, size: int = ROWS) -> tuple[int, slice]:
    """Return the number of a page that exists, and its rows.

    Examples
    --------
    >>> page_of(120, 9)
    (3, slice(100, 150, None))
    """
    number = min(max(page, 1), max(ceil(total / size), 1))
    return number, slice((number - 1) * size, number * size)


def list_rows(
    rows: Sequence[T],
    columns: Mapping[str, Callable[[T], Any]],
    sort: str,
    page: int = 1,
    query: Mapping[str, str] | None = None,
    paged: str = "page",
    size: int = ROWS,
) -> Listing:
    """Return a page of rows that are in memory, sorted by a column; rows without a value in it are last.

    Parameters
    ----------
    rows
        All rows that are wanted, in the order that decides between equal values.
    columns
        The value of a row by the name of a column; None if it has none.
    sort
        As in ``Listing``; an unknown column leaves the order as it is.
    page, paged
        The number of the page, from 1, and its name in the address.
    query
        The filters of the address.
    size
        The number of rows on a page.
    """
    key = columns.get(sort.removeprefix("-"))
    ordered = list(rows)
    if key is not None:
        valued = [row for row in rows if key(row) is not None]
        valued.sort(key=key, reverse=sort.startswith("-"))
        ordered = [*valued, *(row for row in rows if key(row) is None)]
    number, part = page_of(len(ordered), page, size)
    chosen = {name: value for name, value in (query or {}).items() if value}
    return Listing(ordered[part], len(ordered), number, size, sort if key else "", chosen, paged)
