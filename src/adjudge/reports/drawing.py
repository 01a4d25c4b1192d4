"""How every figure is drawn: Altair, the theme, and files from charts.

Colours are those of Okabe and Ito, which colour-blind people can distinguish, and no meaning depends on colour alone.
Altair is loaded when the first figure is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from adjudge.errors import MissingExtra

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000")  # blue, vermilion, green, black
LABEL_COLOURS = (*COLOURS[:3], "#E69F00", "#56B4E9", "#CC79A7", "#F0E442", COLOURS[3])  # of labels, repeated for more
SHAPES = ("circle", "square", "triangle-up", "diamond")
INK, FAINT = "#1c1c1d", "#cfcfd1"  # of text and of lines; a page may replace them
CLEAR = "#ffffff00"  # the background of a figure on a page
SIDE, WIDE = 360, 600  # pixels of a square figure and of a wide one
LETTER = 7.0  # pixels of a letter of a title
LETTERS = 48  # of a line of a title, at least
SHARP = 2.0  # pixels of a PNG per pixel of a figure


def load_altair() -> tuple[Any, Any]:
    """Load Altair, and the library that converts its charts into files.

    Returns
    -------
    tuple
        The modules ``altair`` and ``vl_convert``. If one is not installed, ``MissingExtra`` is raised with the line to
        type.
    """
    try:
        import altair
        import vl_convert
    except ImportError as error:
        raise MissingExtra("'adjudge[report]'", "the figure") from error
    return altair, vl_convert


def apply_theme(chart: Any, background: str = "white") -> Any:
    """Return a chart in the theme of all figures.

    Parameters
    ----------
    chart
        An Altair chart. A title that is wider than the chart is wrapped; charts side by side have no width of their
        own, and count as wide ones.
    background
        The colour behind the chart; ``CLEAR`` for a figure on a page, which has its own.
    """
    if isinstance(chart.title, str):
        width = getattr(chart, "width", None)  # charts side by side have none
        wide = width if isinstance(width, int | float) else WIDE
        chart = chart.properties(title=wrap(chart.title, max(LETTERS, int(wide / LETTER))))
    chart = chart.configure(aria=False, background=background)  # aria would describe every dot in words
    chart = chart.configure_view(stroke=FAINT)
    lines = {"domainColor": FAINT, "tickColor": FAINT, "gridColor": FAINT, "gridOpacity": 0.6}
    chart = chart.configure_axis(labelFontSize=13, titleFontSize=13, labelLimit=200, **_text_colours(), **lines)
    chart = chart.configure_title(fontSize=14, fontWeight="normal", anchor="start", color=INK)
    chart = chart.configure_header(labelFontSize=13, labelColor=INK, titleColor=INK)
    return chart.configure_legend(
        orient="top", labelFontSize=13, labelLimit=400, title=None, symbolOpacity=1, **_text_colours()
    )


def render_svg(chart: Any, convert: Any, background: str = "white") -> str:
    """Return a chart as an SVG."""
    text: str = convert.vegalite_to_svg(apply_theme(chart, background).to_dict(validate=False))
    return text


def svg(chart: Any) -> str:
    """Return a chart as the text of an SVG file."""
    return render_svg(chart, load_altair()[1])


def render_png(chart: Any, convert: Any) -> bytes:
    """Return a chart as a PNG."""
    content: bytes = convert.vegalite_to_png(apply_theme(chart).to_dict(validate=False), scale=SHARP)
    return content


FILES: Mapping[str, Callable[[Any, Any], str | bytes]] = {"svg": render_svg, "png": render_png}


def data_chart(alt: Any, values: Sequence[Mapping[str, Any]]) -> Any:
    """Return a chart without marks, to which a figure adds its own.

    Parameters
    ----------
    alt
        The module ``altair``.
    values
        One mapping per point, from names to values. Numbers are rounded to what a picture can show, which keeps the
        page small.

    Examples
    --------
    >>> data_chart(load_altair()[0], [{"share": 0.123456}]).data.values
    ({'share': 0.1235},)
    """
    rounded = [{name: round(v, 4) if isinstance(v, float) else v for name, v in point.items()} for point in values]
    return alt.Chart(alt.Data(values=tuple(rounded)))  # Altair copies lists whenever it changes a chart


def _text_colours() -> dict[str, str]:
    """Return the colours of text."""
    return {"labelColor": INK, "titleColor": INK}
