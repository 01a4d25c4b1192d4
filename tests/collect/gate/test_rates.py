"""How often gates err, against plain enumeration."""

from itertools import permutations, product
from math import isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.collect.gate.gates import Answer, problems, work_verdict
from adjudge.collect.gate.rates import MOST, false_accepts, false_refuse, ways
from adjudge.collect.settings import Gate
from adjudge.errors import UsageError

GATE = st.builds(Gate, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["printed", "attainable"]), st.just(0.0))


def chance_to_pass(relevance, grades, gate):
    """Return how often somebody who says this and ranks at random, but compatibly, passes: by trying all rankings."""
    tried = passed = 0
    for ranks in permutations(range(1, len(grades) + 1)):
        answers = [Answer(said, True, rank, 9.0) for said, rank in zip(relevance, ranks, strict=True)]
        if not problems(answers):
            tried += 1
            passed += work_verdict([(answers, grades)], [], gate).passed
    return passed / tried


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=4), GATE, st.floats(0.01, 1))
def test_rates_are_those_of_trying_everything(grades, gate, accuracy):
    """Every relevance, every compatible ranking, through the gate that judges meet."""
    refused, by_coin = 1.0, 0.0
    for relevance in product((0, 1), repeat=len(grades)):
        passing = chance_to_pass(relevance, grades, gate)
        chance = 1.0
        for said, grade in zip(relevance, grades, strict=True):
            chance *= accuracy if said == (grade >= 1) else 1 - accuracy
        refused -= chance * passing
        by_coin += passing / 2 ** len(grades)
    taken = false_accepts(grades, gate)
    assert false_refuse(grades, gate, accuracy) == pytest.approx(refused, abs=1e-9)
    assert taken["random"] == pytest.approx(by_coin, abs=1e-9)
    assert taken["all-relevant"] == pytest.approx(chance_to_pass([1] * len(grades), grades, gate))
    assert taken["all-irrelevant"] == pytest.approx(chance_to_pass([0] * len(grades), grades, gate))


def test_the_order_of_documents_does_not_matter():
    """Only how many there are of each grade."""
    assert false_accepts([2, 0, 1, 0], Gate()) == false_accepts([0, 0, 1, 2], Gate())


def test_every_way_to_judge_is_there_once():
    """(n0 + 1)(n1 + 1)(n2 + 1) of them, each with the orders compatible with it."""
    found = ways((2, 1, 1), "printed")
    assert len({way.relevant for way in found}) == len(found) == 12
    assert {way.relevant: len(way.scores) for way in found}[0, 1, 1] == 2  # both orders above, one below
    assert all(isnan(score) for way in ways((3, 0, 0), "printed") for score in way.scores)


@pytest.mark.parametrize(
    ("grades", "what"),
    [
        ([0] * (MOST + 1), "a gold set of 11 documents cannot be worked out: from 1 to 10 can"),
        ([], "a gold set of 0 documents cannot be worked out"),
        ([0, 3], "gold grade 3 is none of 0, 1, 2"),
    ],
)
def test_what_cannot_be_worked_out_is_refused(grades, what):
    """With the reason."""
    with pytest.raises(UsageError, match=what):
        false_refuse(grades, Gate(), 0.9)
