"""Pictures of numbers: well-formed, without scripts and styles, with the same numbers as a table."""

import re
from xml.etree import ElementTree

import pytest

from adjudge.studio.charts import Moment, OverTime, Pair, second_bars
from adjudge.studio.desk.pictures import (
    INTERVALS,
    JudgePoint,
    judges_picture,
    nice_step,
    pairs_picture,
    seconds_picture,
    tag,
    time_picture,
)

HOSTILE = "<script>alert(1)</script>\"'&"
NAMES = {1: HOSTILE, 2: "Bruno", 3: "Chidi"}


def judges(count, guessing=0):
    """Return points of judges, some of whom may be guessing."""
    good, bad = (0.9, 0.8, 0.95), (0.5, 0.3, 0.7)
    return [
        JudgePoint(f"{HOSTILE} {n}", bad if n < guessing else good, bad if n < guessing else good, n < guessing)
        for n in range(count)
    ]


PICTURES = {
    "time": time_picture(
        OverTime(7_200.0, 3_600, (4, 0, 9)), [Moment(9_000.0, 4, 0.2), Moment(17_000.0, 13, 0.5)], 0.95
    ),
    "judges": judges_picture(judges(5, 2)),
    "seconds": seconds_picture(second_bars({3: 5, 20: 30, 300: 1}), 6.0),
    "matrix": pairs_picture([Pair(1, 2, 10, 9, 8.0, 0.7), Pair(1, 3, 4, 1, 3.0, -2.0)], 3, NAMES),
    "pairs": pairs_picture([Pair(1, 2, 10, 9, 8.0, 0.7)], 40, NAMES),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_safe_and_says_what_it_shows(name):
    """Well-formed XML, one image with a label, nothing that a strict policy refuses, names as text."""
    picture = PICTURES[name]
    root = ElementTree.fromstring(picture.svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == picture.says
    for element in root.iter():
        assert element.tag in {"svg", "g", "text", "title", "line", "rect", "circle", "polygon", "polyline"}
        assert not [key for key in element.attrib if key == "style" or key.startswith("on")]
    numbers = [
        float(value) for element in root.iter() for key, value in element.items() if key in ("x", "y", "cx", "cy")
    ]
    assert all(-1 <= value <= 700 for value in numbers)
    assert all(len(row) == len(picture.head) for row in picture.rows)
    assert picture.rows


def shapes(picture, kind):
    """Return how many elements have a class."""
    return len(re.findall(rf'class="{kind}"', picture.svg))


def test_judgments_over_time_are_bars_and_certainty_is_a_line():
    """One bar per span; a point of the history outside is left out; without judgments there is no picture."""
    assert shapes(PICTURES["time"], "bar") == 3 + 1  # and the legend
    assert PICTURES["time"].rows == [
        ("01 Jan 02:00", "4", "20 %"),
        ("01 Jan 03:00", "0", "\N{EN DASH}"),
        ("01 Jan 04:00", "9", "50 %"),
    ]
    assert PICTURES["time"].says == (
        "13 judgments since 01 Jan 02:00 UTC, with those that check judges; 50 % of the labels are certain."
    )
    assert time_picture(OverTime(0.0, 60, (2,)), [], 0.95).says == (
        "2 judgments since 01 Jan 00:00 UTC, with those that check judges."
    )
    assert time_picture(None, [], 0.95) is None


def test_judges_who_may_be_guessing_have_another_shape():
    """Triangles beside circles; of many judges, only they have intervals."""
    assert PICTURES["judges"].svg.count("<polygon") == 2 + 1
    assert shapes(PICTURES["judges"], "interval") == 2 * 3
    many = judges_picture(judges(INTERVALS + 1, 1))
    assert (shapes(many, "interval"), shapes(many, "interval guess")) == (0, 2)
    assert many.says == "41 judges; 1 of them may be guessing."
    assert PICTURES["judges"].rows[0][1:] == ("50 % (30 % to 70 %)", "50 % (30 % to 70 %)", "yes")
    assert judges_picture([]) is None


def test_names_of_judges_cover_no_other_name():
    """Of five judges at the same place, four have room for their names; the fifth is in the table."""
    same = [JudgePoint(f"Judge {n}", (0.9, 0.8, 0.95), (0.9, 0.8, 0.95), False) for n in range(5)]
    picture = judges_picture(same)
    places = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="end" class="name">', picture.svg)
    assert len(set(places)) == len(places) == 4
    assert len(picture.rows) == 5


def test_seconds_show_the_gate():
    """Bars below it have another colour and are counted; without a gate there is no line."""
    picture = PICTURES["seconds"]
    assert shapes(picture, "bar below") == 5
    assert (
        picture.says == "Half of 36 documents took at least 16 seconds; 14 % took less than the 6 seconds of the gate."
    )
    assert "gate: 6 s" in picture.svg
    assert "gate" not in seconds_picture(second_bars({20: 1}), 0.0).svg
    assert seconds_picture(second_bars({}), 6.0) is None


def test_few_judges_are_a_matrix_and_many_a_list():
    """The matrix has a cell per pair; the list has what is expected beside what is."""
    assert PICTURES["matrix"].svg.count('class="cell') == 2
    assert PICTURES["matrix"].says.startswith("Pairs of judges give the same label to 25 % to 90 %")
    assert 'class="dot hollow"' in PICTURES["pairs"].svg
    assert PICTURES["pairs"].rows == [(f"{HOSTILE} and Bruno", "10", "90 %", "80 %", "0.7")]
    assert pairs_picture([], 3, NAMES) is None


def test_attributes_and_texts_are_escaped():
    """Whatever they contain."""
    assert str(tag("text", "<b>", title='"x"')) == '<text title="&#34;x&#34;">&lt;b&gt;</text>'


@pytest.mark.parametrize("largest", [1, 3, 7, 24, 99, 1_080, 123_456])
def test_steps_are_round_and_reach_the_largest_value(largest):
    """In four steps or fewer."""
    step = nice_step(largest)
    assert step * 4 >= largest
    assert int(str(step).rstrip("0")) in (1, 2, 25, 5)
