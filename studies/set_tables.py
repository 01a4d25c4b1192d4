"""What a study of sets tells people: a table of each set, the most accurate first, and what they must know of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adjudge.inference.result import UNSETTLED
from studies.outcome import Shown

if TYPE_CHECKING:
    from studies.studies import Found, Result

TINY = 0.0005  # p below which three digits show nothing


def set_table(found: Found, name: str, results: Sequence[Result]) -> Shown:
    """Return one set's methods, best first."""
    shown = found.study.shown
    tested = [measure for measure in found.tested if results[0].scored is not None]  # means are not
    ranked = sorted(results, key=lambda result: -(result.values["accuracy"] or 0))
    rows = [
        [r.method, *(spanned(r, measure) for measure in shown), *(_p(r, measure) for measure in tested)] for r in ranked
    ]
    title = f"{name}: {results[0].items:,} items with gold, most accurate first; intervals of 95 %"
    return Shown(title, ["method", *shown, *(f"p {measure}" for measure in tested)], rows)


def warnings_of(found: Found) -> list[str]:
    """Return what the reader of the tables must know."""
    said = [
        f"{result.method} has not converged on {result.set}: {result.stopped}"
        for result in found.results
        if result.stopped.startswith(UNSETTLED)
    ]
    said += [f"left out: {what}: {reason}" for what, reason in found.left_out.items()]
    if found.interrupted:
        sets = [name for name, results in found.by_set().items() if results[0].scored is not None]
        said.append(f"interrupted; finished: {', '.join(sets)}")
    return said


def spanned(result: Result, measure: str) -> str | None:
    """Return a value with its interval, such as 0.933 .923-.945."""
    value, span = result.values[measure], result.span(measure)
    if value is None or span is None:
        return None
    return " ".join([f"{value:.3f}", "-".join(f"{end:.3f}".removeprefix("0") for end in span[:2])])


def _p(result: Result, measure: str) -> float | str | None:
    """Return a p value as people read it; the best has none."""
    p = result.p.get(measure)
    return "<.001" if p is not None and p < TINY else p
