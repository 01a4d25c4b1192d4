"""What a question is after, and what is denied."""

import pytest

from adjudge.learn.asking import focus
from adjudge.learn.features import features


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("In what city did it end?", "city"),
        ("What was the name of it?", "name"),
        ("Which of the rivers is long?", "rivers"),
        ("Who came?", None),
        ("What is it?", None),
    ],
)
def test_what_a_question_is_after(question, word):
    """The first word after what or which that says something."""
    assert focus(question) == word


@pytest.mark.parametrize(
    ("question", "passage", "wanted"),
    [
        ("Which rivers are long?", "A long river.", [1, 0, 1]),
        ("Which rivers are long?", "It is not long.", [0, 1, 0]),
        ("Which rivers aren't long?", "There isn\u2019t a river.", [1, 1, 1]),
        ("Who never came?", "Notable knots.", [0, 0, 0]),
        ("", "", [0, 0, 1]),
    ],
)
def test_found_and_denied(question, passage, wanted):
    """focus_found, passage_negated, negation_agrees."""
    assert features([(question, passage)], "question").X[0].tolist() == wanted
