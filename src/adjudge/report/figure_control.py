"""The control chart of judges over time: batches, their level, and the limits that chance sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.errors import UsageError
from adjudge.report.drawing import COLOURS, drawing, plotted

if TYPE_CHECKING:
    from adjudge.judges.chart import ControlChart
    from adjudge.report.case import Case

MOST_JUDGES, ACROSS = 6, 3  # panels, and how many side by side
WIDTH, HEIGHT = 170, 110  # pixels of a panel


def controlled(case: Case) -> Any:
    """Return the charts of the judges who break most rules, or of the busiest where nobody does."""
    alt, _ = drawing()
    chart = case.chart
    if chart is None:
        raise UsageError(f"a control chart is not defined because {case.untimed}")
    broken = np.array([bool(flag) for flag in chart.flags], bool)
    breaks = np.bincount(chart.judge[broken], minlength=len(case.fit.judge_names))
    shown = np.lexsort((-np.asarray(case.fit.judged), -breaks))[:MOST_JUDGES].tolist()
    panels = [_panel(alt, chart, judge) for judge in shown if (chart.judge == judge).any()]
    return alt.concat(*panels, columns=ACROSS, spacing=14, title=chart.sentence)


def _panel(alt: Any, chart: ControlChart, judge: int) -> Any:
    """Return one judge's chart."""
    rows = np.flatnonzero(chart.judge == judge)
    points = [
        {
            "batch": int(chart.batch[b]) + 1,
            "right": float(chart.right[b]),
            "level": float(chart.level[b]),
            "low": float(chart.limits[b, 0]),
            "high": float(chart.limits[b, 3]),
            "kind": "breaks a rule" if chart.flags[b] else "within limits",
        }
        for b in rows
    ]
    x = alt.X("batch:Q", axis=alt.Axis(tickMinStep=1, tickCount=4, format="d"), title="batch")
    base = plotted(alt, points).encode(x=x)
    y = alt.Y("low:Q", scale=alt.Scale(domain=[0, 1]), title="share right")
    limits = base.mark_area(opacity=0.18, color=COLOURS[0]).encode(y=y, y2="high:Q")
    level = base.mark_line(color=COLOURS[0], strokeDash=[4, 3], strokeWidth=1).encode(y="level:Q")
    kinds = ["within limits", "breaks a rule"]
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(
        y="right:Q",
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=list(COLOURS[:2]))),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "diamond"])),
    )
    name = str(chart.judges[judge])
    return alt.layer(limits, level, dots).properties(width=WIDTH, height=HEIGHT, title=name)
