"""The figure of a comparison: a dot with its interval per method, a panel per set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from adjudge.reports.drawing import COLOURS, SHAPES, load_altair, render_svg
from studies.studies import SURE, Comparison, Panel, Result

ALIKE, APART, MEANS = (
    "best, or not significantly different",
    f"different from the best (p < {SURE:g})",
    "mean over sets",
)
WIDTH, STEP, INNER = 190, 14, 7  # pixels: width of a panel, height of a method, and of one of several measures
NOTE = "Dots: all items that have gold. Lines: 95 % of bootstrap draws of these items."
ACROSS = 4  # panels in a row if there is one measure


class Mark(NamedTuple):
    """A dot with its interval."""

    set: str
    method: str
    kind: str  # the legend of its colour and shape
    value: float
    low: float
    high: float


def svg(comparison: Comparison) -> str:
    """Return the figure of a study, as an SVG."""
    altair, convert = load_altair()
    panels = [_panel(altair, comparison, panel) for panel in comparison.study.panels]
    chart = altair.hconcat(*panels, spacing=30, title=NOTE).resolve_legend(color="shared", shape="shared")
    return render_svg(chart, convert)


def marks(comparison: Comparison, panel: Panel) -> list[Mark]:
    """Return the dots of a panel; with a single measure, their kind says whether they differ from the best."""
    drawn = []
    for result in comparison.results:
        for of, measure in panel.of.items():
            value, span = result.values[measure], result.span(measure)
            if value is not None and span is not None:
                drawn.append(Mark(result.set, result.method, of or _rank(result, measure), value, span.low, span.high))
    return drawn


def _rank(result: Result, measure: str) -> str:
    """Return whether a method differs significantly from the best of its set."""
    if result.scored is None:
        return MEANS
    return APART if result.p.get(measure, 1.0) < SURE else ALIKE


def _panel(alt: Any, comparison: Comparison, panel: Panel) -> Any:
    """Return the panels of one axis, one per set."""
    drawn = marks(comparison, panel)
    kinds = _kinds(comparison)
    most = max(len(panel.of) for panel in comparison.study.panels)
    several = most > 1
    height = (INNER * most + 4 if several else STEP) * len(comparison.methods)
    base = alt.Chart(alt.Data(values=[mark._asdict() for mark in drawn])).encode(
        y=alt.Y("method:N", sort=list(_order(comparison)), title=None, axis=alt.Axis(grid=True, gridColor="#eee")),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=list(COLOURS[: len(kinds)]))),
    )
    if several:
        base = base.encode(yOffset=alt.YOffset("kind:N", scale=alt.Scale(domain=list(panel.of), paddingOuter=0.4)))
    x = alt.X("low:Q", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5), title=panel.axis)
    line = base.mark_rule(strokeWidth=1.2).encode(x=x, x2="high:Q")
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=list(SHAPES[: len(kinds)])))
    dot = base.mark_point(filled=True, size=28, opacity=1).encode(x="value:Q", shape=shape)
    sets = list(comparison.by_set())
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight="bold")
    layers = alt.layer(line, dot).properties(width=WIDTH * (1.6 if several else 1), height=height)
    return layers.facet(
        facet=alt.Facet("set:N", sort=sets, header=header), columns=1 if len(comparison.study.panels) > 1 else ACROSS
    ).resolve_scale(x="independent")


def _kinds(comparison: Comparison) -> list[str]:
    """Return the kinds of dots of all panels, for a shared legend."""
    used = [mark.kind for panel in comparison.study.panels for mark in marks(comparison, panel)]
    return [kind for kind in dict.fromkeys((*_measure_kinds(comparison), ALIKE, APART, MEANS)) if kind in used]


def _measure_kinds(comparison: Comparison) -> Sequence[str]:
    """Return the kinds of measures of all panels."""
    return list(dict.fromkeys(of for panel in comparison.study.panels for of in panel.of))


def _order(comparison: Comparison) -> Sequence[str]:
    """Return the methods from top to bottom: in the order of the study or, with means over sets, best first."""
    means = {result.method: result.values["accuracy"] or 0.0 for result in comparison.results if result.scored is None}
    return sorted(means, key=lambda method: -means[method]) if means else comparison.methods
