"""Figures: well-formed, with every method's name; and nothing is drawn with before it is needed."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from adjudge.errors import MissingExtra
from studies import figures
from studies.figures import ALIKE, APART, MEANS, marks, svg
from studies.studies import STUDIES, run


@pytest.fixture(scope="module")
def found(crowds):
    """Return both studies, each of two small crowds."""
    sets = {"ordinal": ["c", "d"], "vote": ["a", "b"]}
    return {name: run(STUDIES[name], crowds, sets[name], draws=20) for name in sets}


def words(text):
    """Return the words of an SVG, refusing what is not well-formed."""
    return {element.text for element in ElementTree.fromstring(text).iter() if element.text}


@pytest.mark.parametrize("name", list(STUDIES))
def test_a_figure_names_methods_sets_and_axes(found, name):
    """Everything a reader needs stands in the picture."""
    shown = words(svg(found[name]))
    assert set(found[name].methods) <= shown
    assert set(found[name].by_set()) <= shown
    assert {panel.axis for panel in found[name].study.panels} <= shown
    assert figures.NOTE in shown


def test_the_legend_says_what_colours_stand_for(found):
    """What a value is of, or whether a method is told apart from the best."""
    assert {"most likely label", "expected value", "expected value, rounded"} <= words(svg(found["ordinal"]))
    assert {ALIKE, MEANS} <= words(svg(found["vote"]))


def test_marks_are_the_results(found):
    """A dot for each set, method and measure, with its interval; who is told apart from the best is marked so."""
    study = found["ordinal"]
    drawn = marks(study, study.study.panels[1])
    assert len(drawn) == 3 * len(study.results)
    first, span = study.results[0], study.results[0].span("mae")
    (mark,) = [m for m in drawn if (m.set, m.method, m.kind) == (first.set, first.method, "expected value")]
    assert mark[3:] == (first.values["mae"], span.low, span.high)
    vote = found["vote"]
    for mark, result in zip(marks(vote, vote.study.panels[0]), vote.results, strict=True):
        worse = result.p.get("accuracy", 1.0) < 0.05
        assert mark.kind == (MEANS if result.scored is None else APART if worse else ALIKE)


def test_a_missing_extra_says_what_to_type(found, monkeypatch):
    """The line to type."""
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra) as error:
        svg(found["vote"])
    assert str(error.value).endswith("pip install 'adjudge[report]'")


def test_nothing_is_loaded_before_a_figure_is_drawn():
    """Importing the room does not import what draws."""
    program = (
        "import sys, studies.figures, studies.__main__;"
        "print([name for name in ('altair', 'vl_convert') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
