"""The figure of curves: a line for every method with the intervals of its means, a panel for every measure."""

from __future__ import annotations

from typing import Any

from adjudge.report.curves import Curves
from adjudge.report.drawing import COLOURS, SHAPES, drawing, rendered

MORE_COLOURS, MORE_SHAPES = (*COLOURS, "#CC79A7", "#E69F00"), (*SHAPES, "cross", "triangle-down")
WIDTH, HEIGHT = 300, 210  # pixels of a panel
MARGIN = 0.05  # of a measure's range, on either side
NOTE = "Points: means over {runs} runs. Lines through them: 95 % intervals of the means."


def svg(curves: Curves) -> str:
    """Return the figure, as an SVG."""
    altair, convert = drawing()
    rows = [
        altair.hconcat(*(_panel(altair, curves, panel, measure) for measure in curves.axes.measures), spacing=30)
        for panel in curves.panels
    ]
    return rendered(altair.vconcat(*rows, title=NOTE.format(runs=curves.runs)), convert)


def marks(curves: Curves, panel: str, measure: str) -> list[dict[str, Any]]:
    """Return the points of one panel."""
    found = []
    for point in curves.points:
        span = point.span(measure)
        if point.panel == panel and span is not None:
            low, high = span
            found.append({"x": point.x, "method": point.method, "value": point.mean(measure), "low": low, "high": high})
    return found


def _panel(alt: Any, curves: Curves, panel: str, measure: str) -> Any:
    """Return the curves of one measure."""
    drawn, axes, methods = marks(curves, panel, measure), curves.axes, list(curves.methods)
    both = [mark for each in axes.measures if axes.alike for mark in marks(curves, panel, each)] or drawn
    low, high = min(mark["low"] for mark in both), max(mark["high"] for mark in both)
    margin = MARGIN * (high - low)
    places = [x for _, x in curves.places(panel)]
    base = alt.Chart(alt.Data(values=drawn)).encode(
        x=alt.X(
            "x:Q",
            scale=alt.Scale(type="log" if axes.log else "linear", nice=False),
            axis=alt.Axis(values=places, labelOverlap=False, grid=False),
            title=axes.axis,
        ),
        color=alt.Color("method:N", sort=methods, scale=alt.Scale(domain=methods, range=list(MORE_COLOURS))),
    )
    y = alt.Y(
        "value:Q", scale=alt.Scale(domain=[low - margin, high + margin], nice=False), title=axes.measures[measure]
    )
    line = base.mark_line(strokeWidth=1.3).encode(y=y)
    bar = base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q"), y2="high:Q")
    shape = alt.Shape("method:N", sort=methods, scale=alt.Scale(domain=methods, range=list(MORE_SHAPES)))
    dot = base.mark_point(filled=True, size=34, opacity=1).encode(y=y, shape=shape)
    return alt.layer(line, bar, dot).properties(width=WIDTH, height=HEIGHT, title=panel)
