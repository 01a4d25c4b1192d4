"""The frame of every page of the desk."""

from adjudge.collect.entry.access import ACTIONS
from adjudge.collect.web.desk_page import DONE, NAVIGATION, back


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
