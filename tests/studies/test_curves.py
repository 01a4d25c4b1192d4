"""Curves: means and intervals of runs, tables, and what Ctrl-C leaves."""

from xml.etree import ElementTree

import numpy as np
import pytest

from studies.curves import NOTE, Axes, Point, Stop, marks, seeds, svg, trace
from studies.outcome import StudyOptions, Table

AXES = Axes("test", "a test", "items", "number of items", {"accuracy": "accuracy of labels"})


def once(seed):
    """Return values that depend on the seed alone."""
    return {"one": {"accuracy": seed % 10 / 10, "more": 1.0}, "two": {"accuracy": 0.5}}


def curves(**options):
    """Return curves at two places."""
    return trace(
        AXES, [Stop("", 5, once), Stop("", 50, once)], StudyOptions(runs=4, **options), [Table("note", ("a",), [(1,)])]
    )


def test_a_point_is_the_mean_of_its_runs():
    """With 1.96 standard errors on either side; of one run there is no spread."""
    point = Point("", 5, "one", {"accuracy": np.array([0.2, 0.4, 0.6])})
    assert point.mean("accuracy") == pytest.approx(0.4)
    assert point.span("accuracy") == pytest.approx((0.4 - 1.96 * 0.2 / 3**0.5, 0.4 + 1.96 * 0.2 / 3**0.5))
    assert Point("", 5, "one", {"accuracy": np.array([0.2])}).span("accuracy") == pytest.approx((0.2, 0.2))
    assert point.mean("other") is point.span("other") is None


def test_runs_have_seeds_of_their_own():
    """That depend on the place and the number of the run, and on nothing else."""
    assert len({*seeds(0, 5, 50), *seeds(0, 10, 50), *seeds(1, 5, 50)}) == 150
    assert seeds(0, 5, 50)[:10] == seeds(0, 5, 10)


def test_values_are_those_of_the_runs():
    """In the order of the seeds."""
    result = curves()
    assert result.at(5, "one").values["accuracy"].tolist() == [seed % 10 / 10 for seed in seeds(0, 5, 4)]
    assert result.methods == ("one", "two")
    assert result.positions() == [("", 5), ("", 50)]
    assert repr(result) == "Curves(test: 2 methods at 2 places x 4 runs)"


def test_columns_have_a_row_for_each_point():
    """A measure that a method has not is empty."""
    columns = curves().columns()
    assert list(columns)[:6] == ["items", "method", "runs", "accuracy", "accuracy_low", "accuracy_high"]
    assert columns["items"] == [5, 5, 50, 50]
    assert columns["more"] == [1.0, None, 1.0, None]


def test_tables_are_notes_and_a_pivot_of_each_measure():
    """A row a place, a column a method."""
    note, accuracy = curves().tables()
    assert note.title == "note"
    assert accuracy.title == "accuracy of labels, mean of 4 runs"
    assert accuracy.head == ["items", "one", "two"]
    assert [row[0] for row in accuracy.rows] == [5, 50]
    assert [row[2] for row in accuracy.rows] == [0.5, 0.5]


def test_progress_says_which_run():
    """And of how many."""
    messages = []
    curves(say=messages.append)
    assert (messages[0], messages[-1]) == ("1 of 2: 5 items, run 1 of 4", "2 of 2: 50 items, run 4 of 4")


def test_ctrl_c_leaves_the_places_that_are_finished():
    """Without one there is nothing to show."""
    calls = []

    def interrupted(seed):
        calls.append(seed)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return once(seed)

    result = trace(AXES, [Stop("a", 5, once), Stop("a", 50, interrupted)], StudyOptions(runs=3))
    assert result.interrupted
    assert result.positions() == [("a", 5)]
    assert result.warnings() == ["interrupted; finished: items a 5"]
    with pytest.raises(KeyboardInterrupt):
        trace(AXES, [Stop("a", 50, interrupted)], StudyOptions(runs=3))


def words(text):
    """Return the words of an SVG, refusing what is not well-formed."""
    return {element.text for element in ElementTree.fromstring(text).iter() if element.text}


def test_a_figure_names_methods_measures_and_sizes(spectrum_curves):
    """Everything a reader needs stands in the picture."""
    displayed = words(svg(spectrum_curves))
    assert set(spectrum_curves.methods) <= displayed
    assert set(spectrum_curves.axes.measures.values()) <= displayed
    assert {"5", "40", spectrum_curves.axes.axis, NOTE.format(runs=3)} <= displayed


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
