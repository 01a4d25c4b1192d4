"""What is asked for, and whether it is there."""

import math

import pytest

from adjudge.learn.features import FEATURES, pair_features
from adjudge.learn.questions import KINDS, focus, kind, means, names, numbers, places, reasons, times


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Who had a lamb?", "person"),
        ("To whom did it belong?", "person"),
        ("Which player scored?", "person"),
        ("How many sacks did he have?", "number"),
        ("What percentage voted?", "number"),
        ("What was the population of Rome?", "number"),
        ("When did it end?", "time"),
        ("In what year did it end?", "time"),
        ("Where is it?", "place"),
        ("Which city is it in?", "place"),
        ("Why did it end?", "reason"),
        ("What caused the fire?", "reason"),
        ("How is cheese made?", "means"),
        ("What is cheese?", "other"),
        ("", "other"),
    ],
)
def test_what_is_asked_for(question, asked):
    """By the question word and the noun after it."""
    assert kind(question) == asked


def test_signs_of_an_answer():
    """As a passage has them."""
    text = "In May 1998, Mary Ann met five lambs in New York. She paid $1,050 by cheque because of the 3.5 sheep."
    assert names(text) == {"mary", "ann", "new", "york"}
    assert numbers(text) == {"five", "1050", "3.5"}
    assert times(text) == {"1998", "may"}
    assert places(text) == {"new"}
    assert reasons(text) == {"because"}
    assert means(text) == {"by"}
    assert names("Bo Peep slept. Then Jack's cow came.") == {"bo", "peep", "jack"}


@pytest.mark.parametrize(
    ("question", "passage", "wanted"),
    [
        ("Who had a lamb?", "It was Mary who had one.", 1),
        ("Who is Mary?", "It was Mary who had one.", 0),  # Mary is in the question already
        ("When was it?", "It was in 1998.", 1),
        ("How many were there?", "There were 12 in 1998.", 1),
        ("How many were there?", "There were some in 1998.", 0),  # a year is no number of things
        ("Where was it?", "It was near Rome.", 1),
        ("Why?", "Due to rain.", 1),
        ("How?", "Through rain.", 1),
        ("What is it?", "It is 12.", 0.5),
    ],
)
def test_a_match(question, passage, wanted):
    """1 where the kind asked for is there and new."""
    result = pair_features([(question, passage)], "answer")
    assert result["answer_match"][0] == wanted
    requested = kind(question)
    assert {name: result[f"{name}_match"][0] for name in KINDS} == {
        name: float(name == requested and wanted == 1) for name in KINDS
    }


def test_what_is_new_and_what_is_kept():
    """Names, numbers and times of the passage and of the question."""
    result = pair_features([("Did Mary Ann see 5 in 1998?", "Mary saw 7 and 8 in 1998, and Jack.")], "answer")
    assert result["new_names"][0] == math.log(2)  # Jack
    assert result["new_numbers"][0] == pytest.approx(math.log(3), rel=1e-15)  # the last bit is the processor's
    assert result["new_times"][0] == 0
    assert result["names_kept"][0] == 1 / 2
    assert result["numbers_kept"][0] == 0
    assert result["times_kept"][0] == 1


def test_every_kind_has_a_feature():
    """By its name."""
    assert {f"{name}_match" for name in KINDS} <= FEATURES.keys()


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
    assert pair_features([(question, passage)], "question").X[0].tolist() == wanted
