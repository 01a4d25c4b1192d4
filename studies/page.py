"""Pages of papers, in Markdown: what is written by hand, and tables of what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from studies.curves import WIDE

Page = Mapping[str, str]  # the texts of files by name: the page, and its figures


class Held(NamedTuple):
    """A sentence of a paper, what was found here, and whether it holds."""

    says: str
    here: str
    holds: str


class Difference(NamedTuple):
    """The mean of differences between two methods in the same runs, with its interval of 95 %."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def difference(first: Floats, second: Floats) -> Difference:
    """Return how much the first is above the second over the same runs (R)."""
    off = first - second
    error = WIDE * float(off.std(ddof=1)) / off.size**0.5 if off.size > 1 else 0.0
    return Difference(float(off.mean()), float(off.mean()) - error, float(off.mean()) + error)


def verdict(holds: bool | np.bool_, otherwise: str = "no") -> str:
    """Return whether something holds, in a word."""
    return "yes" if holds else otherwise


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def section(title: str, *parts: str) -> str:
    """Return a section: paragraphs, lists and tables below a title."""
    return "\n".join([f"## {title}\n", *(f"{part.strip()}\n" for part in parts)])


def against_the_paper(rows: Sequence[Held]) -> str:
    """Return what agrees with the paper and what does not, as a table."""
    return table(("the paper", "our result", "confirmed"), rows)


def where(rows: Sequence[tuple[str, str, str]]) -> str:
    """Return which module implements each part of a paper, and which test checks it."""
    text = "Which module implements each part of the paper, and which test checks it."
    coded = [(what, f"`{module}`", f"`{test}`") for what, module, test in rows]
    return section("Implementation", text, table(("part", "module", "test"), coded))


def _cell(value: Any) -> str:
    """Return a value as people read it."""
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
