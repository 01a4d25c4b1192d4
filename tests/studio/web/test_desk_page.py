"""The frame of every page of the desk."""

import pytest

from adjudge.studio.identity.access import ACTIONS
from adjudge.studio.web import numbers as f
from adjudge.studio.web.desk_page import DONE, NAVIGATION, back


def test_every_way_asks_for_an_action_that_there_is():
    """A lead may go everywhere, a judge nowhere."""
    for _, _, action in NAVIGATION:
        assert action in ACTIONS["lead"]
        assert action not in ACTIONS["judge"]


def test_the_way_back_says_what_was_done():
    """By a word that the page knows; it is seen by GET."""
    answer = back("/desk/gold", "rejected")
    assert (answer.status_code, answer.headers["location"]) == (303, "/desk/gold?done=rejected")
    assert "rejected" in DONE
    assert all(sentence.endswith(".") for sentence in DONE.values())


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s"), (45, "45 s"), (200, "3 min"), (9_000, "2.5 h"), (86_400 * 12, "12 d"), (None, f.NONE)],
)
def test_spans_are_in_their_largest_unit(seconds, told):
    """With a digit more only where hours or days are few."""
    assert f.span(seconds) == told


def test_times():
    """How long ago, when, and as programs read it."""
    assert f.ago(None, 10) == "never"
    assert f.ago(8, 10) == "just now"
    assert f.ago(0, 600) == "10 min ago"
    assert f.moment(0) == "1970-01-01 00:00"
    assert f.precise(61) == "1970-01-01T00:01:01Z"
    assert f.moment(None) == f.NONE


def test_shares_and_numbers():
    """A dash where there is none, also where it is no number."""
    assert f.percent(0.125) == "12 %"
    assert f.percent(0.125, 1) == "12.5 %"
    assert f.percent(float("nan")) == f.percent(None) == f.number(None) == f.count(None) == f.NONE
    assert f.number(1234.5) == "1,234.50"
    assert f.count(1234) == "1,234"


def test_words():
    """Labels, grades, and the labels of an item counted."""
    assert [f.relevance(value) for value in (1, 0, None)] == ["relevant", "irrelevant", "cannot tell"]
    assert [f.grade(value) for value in (0, 1, 2)] == ["irrelevant", "relevant", "highly relevant"]
    assert f.given("relevant, irrelevant, relevant") == "2 relevant, 1 irrelevant"
    assert f.given("irrelevant") == "1 irrelevant"
    assert f.given("12 relevant, 3 irrelevant") == "12 relevant, 3 irrelevant"
