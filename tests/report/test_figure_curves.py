"""The figure of curves."""

from xml.etree import ElementTree

from adjudge.report.figure_curves import NOTE, marks, svg


def words(text):
    """Return the words of an SVG, refusing what is not well-formed."""
    return {element.text for element in ElementTree.fromstring(text).iter() if element.text}


def test_a_figure_names_methods_measures_and_sizes(spectrum_curves):
    """Everything a reader needs stands in the picture."""
    shown = words(svg(spectrum_curves))
    assert set(spectrum_curves.methods) <= shown
    assert set(spectrum_curves.axes.measures.values()) <= shown
    assert {"5", "40", spectrum_curves.axes.axis, NOTE.format(runs=3)} <= shown


def test_a_row_of_panels_for_each_set(memory_curves):
    """With its name above."""
    assert {"c", "d"} <= words(svg(memory_curves))


def test_marks_are_the_points(spectrum_curves):
    """With their intervals; a method without the measure has none."""
    drawn = marks(spectrum_curves, "", "mae")
    assert len(drawn) == 2 * 5
    point = spectrum_curves.at(5, "majority")
    assert drawn[0] == {
        "x": 5,
        "method": "majority",
        "value": point.mean("mae"),
        "low": point.span("mae")[0],
        "high": point.span("mae")[1],
    }
