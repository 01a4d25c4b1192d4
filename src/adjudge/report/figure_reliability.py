"""The figure of calibration: what models say of their likeliest labels beside how often these are right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.report.calibrating_cells import JUDGMENTS, OWN
from adjudge.report.drawing import COLOURS, INK, drawing, plotted, rendered

if TYPE_CHECKING:
    from adjudge.report.calibrating import Found

SHOWN = ("majority", "dawid-skene", "hybrid-confusion", "minimax-entropy")
WAYS = {OWN: "own", JUDGMENTS: "by judgments"}
SIDE, ACROSS = 165, 4  # pixels of a panel, and panels in a row
LEAST = 0.003  # share of items below which a dot is chance
NOTE = "Items of {sets} sets together, each set with equal weight. Areas of dots: shares of items."


def svg(found: Found) -> str:
    """Return the figure, as an SVG."""
    alt, convert = drawing()
    shown = [model for model in SHOWN if model in found.models]
    panels = [_panel(alt, found, model, way) for model in shown for way in WAYS]
    rows = [alt.hconcat(*panels[n : n + ACROSS], spacing=18) for n in range(0, len(panels), ACROSS)]
    return rendered(alt.vconcat(*rows, spacing=18, title=NOTE.format(sets=len(found.sets))), convert)


def pooled(found: Found, model: str, way: str) -> Floats:
    """Return shares of items, and of these the mean probability and the share right (3, B); every set weighs 1."""
    cells = found.of(model)
    sums = np.mean([cell.ways[way].bins / cell.items for cell in cells], axis=0)  # (3, B)
    share = sums[0]
    return np.vstack([share, np.divide(sums[1:], share, out=np.zeros_like(sums[1:]), where=share > 0)])


def _panel(alt: Any, found: Found, model: str, way: str) -> Any:
    """Return one reliability diagram."""
    share, says, right = pooled(found, model, way)
    points = [
        {"says": float(p), "right": float(r), "share": float(s)}
        for s, p, r in zip(share, says, right, strict=True)
        if s >= LEAST
    ]
    unit = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], grid=False, format=".2~f")
    x = alt.X("says:Q", scale=unit, axis=axis, title="probability of the likeliest label")
    y = alt.Y("right:Q", scale=unit, axis=axis, title="share of these that are right")
    area = alt.Size("share:Q", scale=alt.Scale(domain=[0, 1], range=[6, 500]), legend=None)
    colour = COLOURS[list(WAYS).index(way)]
    line = plotted(alt, points).mark_line(color=colour, strokeWidth=1.2).encode(x=x, y=y)
    dots = plotted(alt, points).mark_circle(color=colour, opacity=0.8).encode(x=x, y=y, size=area)
    ends = plotted(alt, [{"says": 0, "right": 0}, {"says": 1, "right": 1}])
    even = ends.mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1).encode(x=x, y=y)
    mean, hit = share @ says, share @ right
    title = [f"{model}, {WAYS[way]}", f"says {mean:.0%}, right in {hit:.0%}"]
    return alt.layer(even, line, dots).properties(width=SIDE, height=SIDE, title=title)
