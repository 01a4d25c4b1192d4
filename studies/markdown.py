"""Helpers for the pages about papers, in Markdown: sections, tables and comparisons with the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from studies.curves import WIDE

Page = Mapping[str, str]  # the texts of files by name: the page, and its figures


class PaperClaim(NamedTuple):
    """A claim of a paper, our result, and whether it confirms the claim."""

    says: str
    ours: str
    holds: str


class Reproduction(NamedTuple):
    """A claim, a table or a figure of a paper, whether we reproduce it, our result, and the design behind it."""

    place: str  # in the paper
    says: str
    reproduced: str  # yes, in shape, no, or not tested
    ours: str  # the result, or the reason
    design: str  # the data and how they are used


class Difference(NamedTuple):
    """The mean of differences between two methods in the same runs, with its interval of 95 %."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def difference(first: Floats, second: Floats) -> Difference:
    """Return the difference of the first and the second over the same runs (R)."""
    off = first - second
    error = WIDE * float(off.std(ddof=1)) / off.size**0.5 if off.size > 1 else 0.0
    return Difference(float(off.mean()), float(off.mean()) - error, float(off.mean()) + error)


def verdict(holds: bool | np.bool_, otherwise: str = "no") -> str:
    """Return 'yes' if a claim holds, or another word."""
    return "yes" if holds else otherwise


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def section(title: str, *parts: str) -> str:
    """Return a section: paragraphs, lists and tables below a title."""
    return "\n".join([f"## {title}\n", *(f"{part.strip()}\n" for part in parts)])


def against_the_paper(rows: Sequence[PaperClaim]) -> str:
    """Return a table of the claims of a paper, with our results."""
    return table(("the paper", "our result", "confirmed"), rows)


def reproductions(rows: Sequence[Reproduction]) -> str:
    """Return a section with a row for every claim, table and figure of a paper."""
    text = """Every claim, table and figure of the paper has a row. *Reproduced* is *yes*, *in shape* (the direction or
the order holds, the numbers differ), *no*, or *not tested*, with the reason. The last column says which data are used:
where they are not those of the paper, the row is about these data and not about the paper's."""
    head = ("where", "the paper", "reproduced", "our result, or the reason", "design")
    return section("Claims, tables and figures", " ".join(text.split()), table(head, rows))


def implementation_section(rows: Sequence[tuple[str, str, str]]) -> str:
    """Return which module implements each part of a paper, and which test checks it."""
    text = "Which module implements each part of the paper, and which test checks it."
    coded = [(part, f"`{module}`", f"`{test}`") for part, module, test in rows]
    return section("Implementation", text, table(("part", "module", "test"), coded))


def _cell(value: Any) -> str:
    """Return a value as text for a table."""
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
