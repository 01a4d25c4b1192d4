"""How charts become files."""

from adjudge.reports.drawing import CLEAR, FAINT, INK, data_chart, load_altair, render_png, render_svg, svg


def chart():
    """Return a chart of two points."""
    alt, _ = load_altair()
    return data_chart(alt, [{"x": 1 / 3, "y": "a"}, {"x": 2, "y": "b"}]).mark_circle().encode(x="x:Q", y="y:N")


def test_numbers_are_rounded_and_texts_left():
    """What a picture cannot show only makes a file larger."""
    assert [point["x"] for point in chart().to_dict()["data"]["values"]] == [0.3333, 2]


def test_files_are_of_their_kind():
    """An SVG of known ink, on white or on nothing; a PNG."""
    _, convert = load_altair()
    text = svg(chart())
    assert text.startswith("<svg")
    assert INK in text
    assert FAINT in text
    assert CLEAR in render_svg(chart(), convert, CLEAR)
    assert render_png(chart(), convert)[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_title_that_is_wider_than_its_chart_goes_over_several_lines():
    """So that a narrow figure stays narrow."""
    words = "as many words as it takes to be wider than the chart that they stand above, and some more"
    text = svg(chart().properties(width=200, title=words))
    assert f">{words}<" not in text
    assert "and some more<" in text
    assert f">{words}<" in svg(chart().properties(width=700, title=words))
