"""The printed tables of a comparison, one per set with the most accurate method first, and its warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adjudge.inference.result import UNSETTLED
from studies.outcome import Table

if TYPE_CHECKING:
    from studies.studies import Comparison, Result

TINY = 0.0005  # smaller p values are printed as <.001


def set_table(comparison: Comparison, name: str, results: Sequence[Result]) -> Table:
    """Return a table of the methods on a set, the most accurate first."""
    measures = comparison.study.shown_measures
    tested = [measure for measure in comparison.tested if results[0].scored is not None]  # no tests of means
    ranked = sorted(results, key=lambda result: -(result.values["accuracy"] or 0))
    rows = [
        [r.method, *(spanned(r, measure) for measure in measures), *(_p(r, measure) for measure in tested)]
        for r in ranked
    ]
    title = f"{name}: {results[0].items:,} items with gold, most accurate first; intervals of 95 %"
    return Table(title, ["method", *measures, *(f"p {measure}" for measure in tested)], rows)


def study_warnings(comparison: Comparison) -> list[str]:
    """Return warnings for the reader of the tables."""
    messages = [
        f"{result.method} has not converged on {result.set}: {result.stopped}"
        for result in comparison.results
        if result.stopped.startswith(UNSETTLED)
    ]
    messages += [f"left out: {subject}: {reason}" for subject, reason in comparison.left_out.items()]
    if comparison.interrupted:
        sets = [name for name, results in comparison.by_set().items() if results[0].scored is not None]
        messages.append(f"interrupted; finished: {', '.join(sets)}")
    return messages


def spanned(result: Result, measure: str) -> str | None:
    """Return a value with its interval, such as 0.933 .923-.945."""
    value, span = result.values[measure], result.span(measure)
    if value is None or span is None:
        return None
    return " ".join([f"{value:.3f}", "-".join(f"{end:.3f}".removeprefix("0") for end in span[:2])])


def _p(result: Result, measure: str) -> float | str | None:
    """Return a p value for a table; the best method has none."""
    p = result.p.get(measure)
    return "<.001" if p is not None and p < TINY else p
