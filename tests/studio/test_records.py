"""Records that the whole studio shares."""

from adjudge.studio.records import Refused, Unsaved


def test_a_refusal_has_a_status_a_code_and_a_sentence():
    """And values for the catalogue of other languages."""
    refused = Refused(409, "name_taken", "The name ann is taken.", name="ann")
    assert (refused.status, refused.code, str(refused)) == (409, "name_taken", "The name ann is taken.")
    assert refused.more == {"name": "ann"}


def test_an_unsaved_change_can_be_tried_again():
    """It is a refusal with status 503."""
    unsaved = Unsaved("the disk is full")
    assert (unsaved.status, unsaved.code) == (503, "unsaved")
    assert str(unsaved) == "Nothing was saved: the disk is full. Please try again."
