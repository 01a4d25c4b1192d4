"""Judges who do not exist."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.collect.gate.gates import problems, work_verdict
from adjudge.collect.settings import Gate
from adjudge.collect.work.simulated import CROWD, KINDS, SHARES, SimulatedJudge, demo_judges, grade_of
from adjudge.errors import UsageError


def judge(kind, accuracy=0.9, seed=0):
    """Return a judge."""
    return SimulatedJudge("ann", accuracy, kind, np.random.default_rng(seed))


def share_right(judge, grade, sets=400):
    """Return how often a judge is right about documents of a grade."""
    said = [answer.relevance == (grade >= 1) for _ in range(sets) for answer in judge.answers([grade] * 5)]
    return sum(said) / len(said)


@given(st.sampled_from(list(KINDS)), st.lists(st.integers(0, 2), min_size=1, max_size=8), st.integers(0, 99))
def test_every_judge_answers_compatibly(kind, grades, seed):
    """Whatever the set."""
    answers = judge(kind, seed=seed).answers(grades)
    assert problems(answers) == []
    assert all(answer.seconds >= KINDS[kind].least for answer in answers)


def test_good_judges_are_right_as_often_as_they_should():
    """About both kinds of documents."""
    assert share_right(judge("good"), 0) == pytest.approx(0.9, abs=0.03)
    assert share_right(judge("good"), 2) == pytest.approx(0.9, abs=0.03)


def test_lenient_judges_err_one_way_and_spammers_both():
    """As their names say."""
    assert share_right(judge("lenient"), 0) == pytest.approx(0.6, abs=0.04)
    assert share_right(judge("lenient"), 1) == pytest.approx(0.9, abs=0.03)
    assert share_right(judge("spammer"), 0) == pytest.approx(0.5, abs=0.04)


def test_drifting_judges_get_worse():
    """From set to set, down to a coin."""
    found = judge("drifting")
    first = share_right(found, 1, sets=5)
    assert found.chance(1) < 0.9
    share_right(found, 1, sets=60)
    assert found.chance(1) == 0.5 < first


def test_the_gate_tells_good_judges_from_spammers():
    """On a set that discriminates, most of the time."""
    grades = [0, 0, 1, 1, 2]

    def passing(kind, accuracy):
        found = judge(kind, accuracy)
        sets = [found.answers(grades) for _ in range(200)]
        return np.mean([work_verdict([(said, grades)], [a.seconds for a in said], Gate()).passed for said in sets])

    assert passing("good", 0.95) > 0.9
    assert passing("spammer", 0.5) < 0.2


def test_good_judges_rank_by_relevance_and_careless_ones_do_not():
    """Among what they call relevant, the better document comes first more often than not."""

    def first(kind):
        found = judge(kind, accuracy=1.0)
        return np.mean([found.answers([1, 2])[1].rank == 1 for _ in range(300)])

    assert first("good") > 0.8
    assert 0.4 < first("careless") < 0.6


def test_another_kind_is_refused():
    """With those there are."""
    with pytest.raises(UsageError, match="kind 'lazy' of a simulated judge is not one of 'good', 'careless'"):
        judge("lazy")


def test_the_demo_has_all_kinds_and_each_judge_a_stream_of_her_own():
    """The same for the same rng."""
    made = demo_judges(np.random.default_rng(1))
    assert {found.kind for found in made} == set(KINDS)
    assert len({found.name for found in made}) == len(CROWD)
    again = demo_judges(np.random.default_rng(1))
    assert [one.answers([0, 1, 2, 0, 1]) for one in made] == [one.answers([0, 1, 2, 0, 1]) for one in again]


def test_a_pair_without_truth_has_a_grade_by_its_name():
    """Always the same, and grades in their shares; a given truth counts."""
    pairs = [("t", f"d{n}") for n in range(3_000)]
    found = [grade_of(pair, {}) for pair in pairs]
    assert found == [grade_of(pair, {}) for pair in pairs]
    shares = Counter(found)
    assert [shares[grade] / 3_000 for grade in (0, 1, 2)] == pytest.approx(SHARES, abs=0.04)
    assert grade_of(("t", "d"), {("t", "d"): 2}) == 2
