"""A judge in a sentence, rule by rule."""

import string

import numpy as np
import pytest

from adjudge.diagnostics.evidence import Estimate
from adjudge.diagnostics.sentences import (
    RULES,
    WORDS,
    JudgeFacts,
    assess,
    first_rule,
    notable_confusions,
    share_of_items,
    share_of_total,
)

GOOD = np.full((3, 3), 0.05) + 0.85 * np.eye(3)


def about(cell, give=0.02):
    """Return the low ends of narrow intervals around a matrix."""
    return np.maximum(np.asarray(cell) - give, 0)


def seen(**other):
    """Return a judge of three labels who is good at it, or otherwise as said."""
    default = JudgeFacts(
        names=("Bad", "Fair", "Good"),
        judgments=300,
        checkable=300,
        labels=np.array([100.0, 100, 100]),
        truths=np.array([100.0, 100, 100]),
        right=Estimate(0.9, 0.87, 0.93),
        informedness=Estimate(0.85, 0.8, 0.9),
        p_chance=0.0,
        p_adversarial=0.0,
        cell=GOOD,
        low=about(GOOD),
        typical=GOOD,
        shift=None,
    )
    return default._replace(**other)


CALLED = GOOD.copy()
CALLED[1] = [0.05, 0.62, 0.33]
BOTH = CALLED.copy()
BOTH[0] = [0.5, 0.48, 0.02]
POOR = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
POOR[1] = [0.02, 0.65, 0.33]
POOR[0] = [0.7, 0.19, 0.11]
POOR[2] = [0.11, 0.19, 0.7]
TWO = {"names": ("0", "1"), "labels": np.array([50.0, 50]), "truths": np.array([50.0, 50]), "typical": np.eye(2)}

CASES = {
    "one label": (
        {"names": ("1",), "labels": np.ones(1), "truths": np.ones(1)},
        "There is only one label, so nothing can be said about the judge.",
    ),
    "few": ({"judgments": 3}, "Too few judgments (3) for an assessment."),
    "alone": ({"checkable": 0}, "Nobody else judged these items, so the labels cannot be checked."),
    "one answer": ({"labels": np.array([0.0, 0, 300])}, "Always gives the label 'Good'."),
    "opposite": (
        {**TWO, "p_adversarial": 0.99, "right": Estimate(0.2, 0.15, 0.25), "informedness": Estimate(-0.4, -0.5, -0.3)},
        "Gives the opposite of the truth more often than not; check whether the labels were swapped.",
    ),
    "worse": (
        {"p_adversarial": 0.99, "right": Estimate(0.6, 0.55, 0.65), "informedness": Estimate(-0.2, -0.3, -0.15)},
        "Wrong more often than a random guess; check whether labels were swapped.",
    ),
    "random": ({"informedness": Estimate(0.02, -0.05, 0.08)}, "Answers at random: the labels carry no information."),
    "weak": (
        {"informedness": Estimate(0.15, 0.05, 0.25)},
        "Hardly better than guessing: the labels carry little information.",
    ),
    "no better": (
        {"p_chance": 0.97, "informedness": Estimate(-0.3, -0.6, -0.02)},
        "No better than guessing, and perhaps worse.",
    ),
    "open": (
        {"informedness": Estimate(0.3, -0.1, 0.7), "judgments": 1_200},
        "Not yet distinguishable from guessing (1,200 judgments).",
    ),
    "leaning": ({"shift": Estimate(0.5, 0.4, 0.6)}, "Rates half a level too high on average."),
    "confusing": (
        {"cell": CALLED, "low": about(CALLED)},
        "Calls one in three 'Fair' items 'Good'; otherwise reliable.",
    ),
    "excellent": ({"right": Estimate(0.97, 0.96, 0.98)}, "Very reliable."),
    "reliable": ({}, "Reliable."),
    "promising": ({"right": Estimate(0.9, 0.75, 0.98), "judgments": 12}, "Reliable so far (12 judgments)."),
    "wide": ({"right": Estimate(0.7, 0.5, 0.9)}, "Better than guessing; more judgments are needed to say how much."),
    "even": (
        {"right": Estimate(0.75, 0.7, 0.79)},
        "Right on about three in four items; no single confusion stands out.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_rule_says_its_sentence(name):
    """What holds is the rule of this name, and it says this."""
    other, says = CASES[name]
    judge = seen(**other)
    assert first_rule(judge).name == name
    assert assess(judge)[0] == says


def test_every_rule_has_a_case_and_every_word_a_meaning():
    """No rule is without a test, and no word in braces without something to stand for."""
    assert [rule.name for rule in RULES] == list(CASES)
    used = {field for rule in RULES for _, field, _, _ in string.Formatter().parse(rule.sentence) if field}
    assert used == set(WORDS)


@pytest.mark.parametrize(
    ("shift", "says"),
    [
        (Estimate(-0.33, -0.4, -0.27), "Rates a third of a level too low on average."),
        (Estimate(1.4, 1.2, 1.6), "Rates 1.4 levels too high on average."),
        (Estimate(0.3, 0.2, 0.4), "Reliable."),
    ],
)
def test_a_judge_who_leans(shift, says):
    """Up or down, by more than a level, and not where the interval leaves it open."""
    assert assess(seen(shift=shift))[0] == says


def test_two_confusions_are_named_and_the_rest_is_not_praised_unless_it_is_good():
    """The costlier first; 'otherwise' is about the truths that are not named."""
    assert assess(seen(cell=BOTH, low=about(BOTH)))[0] == (
        "Calls half the 'Bad' items 'Fair' and one in three 'Fair' items 'Good'; otherwise reliable."
    )
    assert assess(seen(cell=POOR, low=about(POOR, 0.1)))[0] == "Calls one in three 'Fair' items 'Good'."
    worse = np.array([[0.6, 0.4], [0.4, 0.6]])
    message = assess(seen(**TWO, cell=worse, low=about(worse), informedness=Estimate(0.35, 0.3, 0.4)))[0]
    assert message == "Calls two in five '0' items '1' and two in five '1' items '0'."


def test_a_judge_of_one_label_on_items_that_all_have_it_is_not_accused():
    """Who met no other truth cannot have said another label rightly."""
    honest = seen(labels=np.array([0.0, 0, 300]), truths=np.array([1.0, 1, 298]))
    assert first_rule(honest).name != "one answer"


def test_three_labels_have_no_opposite():
    """Then the judge is only worse than a guess."""
    result = {name: value for name, value in CASES["opposite"][0].items() if name not in TWO}
    assert first_rule(seen(**result)).name == "worse"


@pytest.mark.parametrize("name", ["opposite", "worse", "no better"])
def test_nobody_is_accused_on_few_judgments(name):
    """However sure a model may be of them."""
    assert first_rule(seen(**{**CASES[name][0], "judgments": 9})).name == "open"


def test_only_what_the_interval_supports_is_notable():
    """The low end counts, the truth must have been met, and the typical judge must do it less or it must be plain."""
    met = np.array([100.0, 100, 100])
    assert notable_confusions(CALLED, about(CALLED), met, GOOD) == [(1, 2)]
    assert notable_confusions(CALLED, about(CALLED, 0.3), met, GOOD) == []  # the interval is too wide
    assert notable_confusions(CALLED, about(CALLED), np.array([100.0, 2, 100]), GOOD) == []  # hardly met
    milder = GOOD.copy()
    milder[1] = [0.05, 0.75, 0.2]
    assert notable_confusions(milder, about(milder), met, GOOD) == [(1, 2)]
    assert notable_confusions(milder, about(milder), met, milder) == []  # as everyone
    assert notable_confusions(CALLED, about(CALLED), met, CALLED) == [(1, 2)]  # as everyone, but plain
    assert notable_confusions(BOTH, about(BOTH), met, GOOD) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("share", "many", "whole"),
    [
        (0.0, "very few", "hardly any"),
        (0.05, "one in twenty", "a twentieth"),
        (0.21, "one in five", "a fifth"),
        (0.34, "one in three", "a third"),
        (0.41, "two in five", "two fifths"),
        (0.5, "half the", "half"),
        (0.66, "two in three", "two thirds"),
        (1.0, "nearly all", "nearly all"),
    ],
)
def test_shares_in_words(share, many, whole):
    """The nearest fraction that people say."""
    assert share_of_items(share) == many
    assert share_of_total(share) == whole


def test_names_are_quoted_on_one_line():
    """A label may hold anything."""
    strange = seen(names=("Bad", "Fair", "new\nline"), labels=np.array([0.0, 0, 9]))
    assert assess(strange)[0] == r"Always gives the label 'new\nline'."
