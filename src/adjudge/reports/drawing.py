"""How every figure is drawn: the library, the dress, and files out of charts.

Colours are Okabe and Ito's, which colour-blind people tell apart, and no meaning is told by colour alone. Altair is
loaded when a figure is drawn, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from adjudge.errors import MissingExtra

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000")  # blue, vermilion, green, black
SHAPES = ("circle", "square", "triangle-up", "diamond")
INK, FAINT = "#1c1c1d", "#cfcfd1"  # of words, and of lines: a page may put its own in their places
CLEAR = "#ffffff00"  # the background of a figure that lies on a page
WIDE, LETTER = 560, 6.0  # pixels of a chart that does not say, and of a letter of a title
LETTERS = 48  # of a line of a title, at least
SHARP = 2.0  # pixels of a PNG to one of a figure


def drawing() -> tuple[Any, Any]:
    """Return the library that draws, and the one that turns its drawings into files."""
    try:
        import altair
        import vl_convert
    except ImportError as error:
        raise MissingExtra("'adjudge[report]'", "the figure") from error
    return altair, vl_convert


def dressed(chart: Any, background: str = "white") -> Any:
    """Return a chart in the dress of all figures; a title that is wider than its chart goes over several lines."""
    if isinstance(chart.title, str):
        said = getattr(chart, "width", None)  # several charts side by side have none
        wide = said if isinstance(said, int | float) else WIDE
        chart = chart.properties(title=wrap(chart.title, max(LETTERS, int(wide / LETTER))))
    chart = chart.configure(aria=False, background=background)  # aria would say every dot in words
    chart = chart.configure_view(stroke=FAINT)
    lines = {"domainColor": FAINT, "tickColor": FAINT, "gridColor": FAINT, "gridOpacity": 0.6}
    chart = chart.configure_axis(labelFontSize=11, titleFontSize=11, labelLimit=200, **_inked(), **lines)
    chart = chart.configure_title(fontSize=12, fontWeight="normal", anchor="start", color=INK)
    chart = chart.configure_header(labelColor=INK, titleColor=INK)
    return chart.configure_legend(orient="top", labelLimit=400, title=None, symbolOpacity=1, **_inked())


def rendered(chart: Any, convert: Any, background: str = "white") -> str:
    """Return a chart as an SVG."""
    text: str = convert.vegalite_to_svg(dressed(chart, background).to_dict())
    return text


def svg(chart: Any) -> str:
    """Return a chart as the text of an SVG file."""
    return rendered(chart, drawing()[1])


def pixels(chart: Any, convert: Any) -> bytes:
    """Return a chart as a PNG."""
    content: bytes = convert.vegalite_to_png(dressed(chart).to_dict(), scale=SHARP)
    return content


FILES: Mapping[str, Callable[[Any, Any], str | bytes]] = {"svg": rendered, "png": pixels}


def plotted(alt: Any, values: Sequence[Mapping[str, Any]]) -> Any:
    """Return a chart of some points, numbers rounded to what a picture can show."""
    rounded = [{name: round(v, 4) if isinstance(v, float) else v for name, v in point.items()} for point in values]
    return alt.Chart(alt.Data(values=rounded))


def _inked() -> dict[str, str]:
    """Return the colours of words."""
    return {"labelColor": INK, "titleColor": INK}
