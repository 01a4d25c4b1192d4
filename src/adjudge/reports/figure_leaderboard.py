"""The picture of a leaderboard: the value of every run with its interval, and the page with its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjudge.data.write import frame
from adjudge.errors import UsageError, not_one_of
from adjudge.metrics.leaderboard import Place, place_rows
from adjudge.reports.drawing import COLOURS, FILES, INK, data_chart, load_altair
from adjudge.reports.page import drawn_figure, element, table_block, whole_page

FORMATS = ("html", *FILES)
WIDTH = 260  # pixels of the panel of a measure
ROW, FEW_ROW, FEW = 15, 24, 12  # pixels of a run, those of each of a few, and how many are few
CAPTION = "Points are values, lines 90 % intervals. On the right are 90 % intervals of the rank."


def leaderboard_chart(places: Sequence[Place], title: str, baseline: str | None = None) -> Any:
    """Return one panel per measure with all runs, the best by the first measure on top.

    Parameters
    ----------
    places
        The leaderboard of an evaluation or of a certificate.
    title
        What the values are.
    baseline
        A run whose value is drawn as a vertical line.
    """
    alt, _ = load_altair()
    measures = list(dict.fromkeys(place.measure for place in places))
    order = [place.run for place in places if place.measure == measures[0]]
    panels = [
        _panel(alt, [place for place in places if place.measure == measure], order, n == 0, baseline)
        for n, measure in enumerate(measures)
    ]
    return alt.hconcat(*panels, spacing=12).properties(title=title)


def _panel(alt: Any, places: Sequence[Place], order: Sequence[str], names: bool, baseline: str | None) -> Any:
    """Return the panel of one measure; only the first has the names of runs."""
    rows = [
        {
            "run": place.run,
            "value": place.value,
            "low": place.value if place.low is None else place.low,
            "high": place.value if place.high is None else place.high,
            "ranks": place.ranks,
        }
        for place in places
    ]
    axis = alt.Axis(labelLimit=220, labelOverlap=False, ticks=False) if names else None
    base = data_chart(alt, rows).encode(y=alt.Y("run:N", sort=list(order), title=None, axis=axis))
    scale = alt.Scale(zero=False, nice=True)
    line = base.mark_rule(color=COLOURS[0], strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale, title=places[0].measure, axis=alt.Axis(tickCount=5, labelFlush=False)),
        x2="high:Q",
    )
    point = base.mark_point(color=COLOURS[0], filled=True, size=38, opacity=1).encode(x="value:Q")
    text = base.mark_text(align="left", dx=6, fontSize=10, color=INK).encode(
        x=alt.value(WIDTH), text=alt.Text("ranks:N")
    )
    layers = [line, point, text]
    level = next((place.value for place in places if place.run == baseline), None)
    if level is not None:
        rule = data_chart(alt, [{"value": level}]).mark_rule(color=COLOURS[1], strokeDash=[4, 3])
        layers.insert(0, rule.encode(x="value:Q"))
    heading = alt.TitleParams("ranks", anchor="end", dx=0, fontSize=10, color=INK, offset=2)
    height = len(order) * (FEW_ROW if len(order) <= FEW else ROW)
    return alt.layer(*layers).properties(width=WIDTH, height=height, title=heading)


def leaderboard_file(
    places: Sequence[Place], ending: str, title: str, baseline: str | None = None, notes: Sequence[str] = ()
) -> bytes:
    """Return the picture of a leaderboard (``svg``, ``png``), or a page with the picture and its table (``html``)."""
    if ending not in FORMATS:
        raise UsageError(not_one_of("format", ending, FORMATS))
    chart = leaderboard_chart(places, title, baseline)
    if ending == "html":
        figure = drawn_figure(chart, "leaderboard", "Runs in order", CAPTION)
        remarks = [element("p", note, class_="soft") for note in notes]
        main = element("main", figure, table_block("", frame(place_rows(places)), "leaderboard-table"), *remarks)
        return whole_page(title, element("header", element("h1", "Leaderboard")), main).encode()
    content = FILES[ending](chart, load_altair()[1])
    return content if isinstance(content, bytes) else content.encode()
