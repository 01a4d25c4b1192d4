"""The page about a panel: what each part says, its tables, and a heat map of the families."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjudge.data.write import frame
from adjudge.diagnostics.effective_judges import GOLD, FamilyCorrelations
from adjudge.diagnostics.panel import PARTS, PanelAnalysis
from adjudge.errors import UsageError, not_one_of
from adjudge.reports.drawing import COLOURS, FILES, data_chart, load_altair
from adjudge.reports.page import drawn_figure, element, join, table_block, whole_page

FORMATS = ("html", *FILES)
HEADINGS = {
    "effective": "Effective number of judges",
    "families": "Families",
    "values": "The value of each judge",
    "prompts": "Prompts",
    "positions": "Positions",
    "stand_in": "May a machine stand in for a person?",
}
CELL, LEAST, MOST = 44, 160, 640  # pixels of a cell, and of the side of the figure
WRITTEN = 15  # families up to which the cells have numbers
CAPTION = "Darker cells are families whose errors go together. The diagonal is of two judges of one family."


def family_chart(families: FamilyCorrelations) -> Any:
    """Return a heat map of the correlations of families, those with similar rows beside each other.

    An empty cell has no item with such a pair of judges.
    """
    alt, _ = load_altair()
    order = _similar_first(families.matrix)
    names = [families.families[f] for f in order]
    cells = [
        {
            "family": families.families[f],
            "other": families.families[g],
            "value": float(families.matrix[f, g]),
            "text": f"{families.matrix[f, g]:.2f}",
        }
        for f in order
        for g in order
        if not np.isnan(families.matrix[f, g])
    ]
    title = f"{families.measure[0].upper()}{families.measure[1:]}: "
    parts = {"within a family": families.within, "between families": families.between}
    title += ", ".join(f"{each.value:.2f} {where}" for where, each in parts.items() if each is not None)
    base = data_chart(alt, cells).encode(
        x=alt.X("other:N", sort=names, title=None, axis=alt.Axis(orient="top", labelAngle=-45)),
        y=alt.Y("family:N", sort=names, title=None),
    )
    highest = max(0.5, float(np.nanmax(families.matrix)))
    scale = alt.Scale(domain=[0, highest], range=["#ffffff", COLOURS[0]], clamp=True, interpolate="rgb")
    chart = base.mark_rect().encode(color=alt.Color("value:Q", scale=scale, title=families.measure))
    if len(names) <= WRITTEN:
        light = alt.condition("datum.value > 0.35", alt.value("white"), alt.value("#1c1c1c"))
        chart = alt.layer(chart, base.mark_text(fontSize=11).encode(text="text:N", color=light))
    side = int(np.clip(CELL * len(names), LEAST, MOST))
    return chart.properties(width=side, height=side, title=title)


def panel_file(analysis: PanelAnalysis, ending: str, title: str = "Panel") -> bytes:
    """Return the page of a panel (``html``), or the heat map of its families (``svg``, ``png``)."""
    if ending not in FORMATS:
        raise UsageError(not_one_of("format", ending, FORMATS))
    if ending == "html":
        return _page(analysis, title).encode()
    if analysis.families is None:
        raise UsageError(f"the families cannot be drawn because {analysis.reasons['families']}")
    content = FILES[ending](family_chart(analysis.families), load_altair()[1])
    return content if isinstance(content, bytes) else content.encode()


def _page(analysis: PanelAnalysis, title: str) -> str:
    """Return the HTML page of a panel, which loads nothing from elsewhere."""
    notes = [element("p", text, class_="warn") for text in (analysis.level, analysis.sampled) if text]
    sections = []
    for part in PARTS:
        content = [element("p", analysis.sentences[part], class_="soft" if part in analysis.reasons else None)]
        if part == "families" and analysis.families is not None:
            note = "" if analysis.families.source == GOLD else " Without gold, shared errors look like the truth."
            content.append(
                drawn_figure(family_chart(analysis.families), part, "Which families err together", CAPTION + note)
            )
        elif part not in analysis.reasons:
            content.append(table_block("", frame(analysis.columns(part)), part))
        sections.append(element("section", element("h2", HEADINGS[part]), *content, id=f"part-{part}"))
    header = element("header", element("h1", title), *notes)
    return whole_page(f"{title}: panel of judges", header, element("main", join(*sections)))


def _similar_first(matrix: np.ndarray[Any, Any]) -> list[int]:
    """Return the families in an order in which each is followed by the one with which it correlates most."""
    values = np.where(np.isnan(matrix), -np.inf, matrix)
    order = [int(np.nanargmax(np.where(np.isnan(matrix), -2, matrix).sum(axis=1)))]
    rest = set(range(len(matrix))) - {*order}
    while rest:
        order.append(max(sorted(rest), key=lambda f: (values[order[-1], f], -f)))
        rest -= {order[-1]}
    return order
