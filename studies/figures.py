"""Figures of studies: a dot with its interval for every method, a panel for every set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from adjudge.reports.drawing import COLOURS, SHAPES, load_altair, render_svg
from studies.studies import SURE, Found, Panel, Result

ALIKE, APART, MEANS = (
    "best, or not significantly different",
    f"different from the best (p < {SURE:g})",
    "mean over sets",
)
WIDTH, STEP, INNER = 190, 14, 7  # pixels: a panel, a method, and a measure of several of a method
NOTE = "Dots: all items that have gold. Lines: 95 % of bootstrap draws of these items."
ACROSS = 4  # panels side by side where there is one measure


class Mark(NamedTuple):
    """A dot with its interval."""

    set: str
    method: str
    kind: str  # what its colour and shape stand for
    value: float
    low: float
    high: float


def svg(found: Found) -> str:
    """Return the figure of a study, as an SVG."""
    altair, convert = load_altair()
    panels = [_panel(altair, found, panel) for panel in found.study.panels]
    chart = altair.hconcat(*panels, spacing=30, title=NOTE).resolve_legend(color="shared", shape="shared")
    return render_svg(chart, convert)


def marks(found: Found, panel: Panel) -> list[Mark]:
    """Return the dots of one measure or of several; of one, it is told which methods are as good as the best."""
    drawn = []
    for result in found.results:
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


def _panel(alt: Any, found: Found, panel: Panel) -> Any:
    """Return the panels of one axis: all sets, below or beside each other."""
    drawn = marks(found, panel)
    kinds = _kinds(found)
    most = max(len(panel.of) for panel in found.study.panels)
    several = most > 1
    height = (INNER * most + 4 if several else STEP) * len(found.methods)
    base = alt.Chart(alt.Data(values=[mark._asdict() for mark in drawn])).encode(
        y=alt.Y("method:N", sort=list(_order(found)), title=None, axis=alt.Axis(grid=True, gridColor="#eee")),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=list(COLOURS[: len(kinds)]))),
    )
    if several:
        base = base.encode(yOffset=alt.YOffset("kind:N", scale=alt.Scale(domain=list(panel.of), paddingOuter=0.4)))
    x = alt.X("low:Q", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5), title=panel.axis)
    line = base.mark_rule(strokeWidth=1.2).encode(x=x, x2="high:Q")
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=list(SHAPES[: len(kinds)])))
    dot = base.mark_point(filled=True, size=28, opacity=1).encode(x="value:Q", shape=shape)
    sets = list(found.by_set())
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight="bold")
    layers = alt.layer(line, dot).properties(width=WIDTH * (1.6 if several else 1), height=height)
    return layers.facet(
        facet=alt.Facet("set:N", sort=sets, header=header), columns=1 if len(found.study.panels) > 1 else ACROSS
    ).resolve_scale(x="independent")


def _kinds(found: Found) -> list[str]:
    """Return what colours and shapes stand for, in all panels alike."""
    told = [mark.kind for panel in found.study.panels for mark in marks(found, panel)]
    return [kind for kind in dict.fromkeys((*_of(found), ALIKE, APART, MEANS)) if kind in told]


def _of(found: Found) -> Sequence[str]:
    """Return what the measures of all panels are of."""
    return list(dict.fromkeys(of for panel in found.study.panels for of in panel.of))


def _order(found: Found) -> Sequence[str]:
    """Return the methods from top to bottom: as the study has them or, where there are means, best first."""
    means = {result.method: result.values["accuracy"] or 0.0 for result in found.results if result.scored is None}
    return sorted(means, key=lambda method: -means[method]) if means else found.methods
