"""Tests that see questions and runs."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from adjudge.errors import UsageError
from adjudge.learn.study_paired import held, pigeonholes, two_way


def crossed(rng, runs, questions, of_runs, of_questions, shift=0.0):
    """Return differences (R, Q) with effects of their own."""
    return (
        shift
        + of_runs * rng.normal(size=(runs, 1))
        + of_questions * rng.normal(size=(1, questions))
        + 0.1 * rng.normal(size=(runs, questions))
    )


def test_one_run_leaves_students_t():
    """Over questions alone, as scipy has it."""
    difference = np.random.default_rng(0).normal(0.2, 1, (1, 30))
    error, p = two_way(difference, np.ones((1, 30), bool))
    assert p == pytest.approx(ttest_1samp(difference[0], 0).pvalue)
    assert error == pytest.approx(difference[0].std(ddof=1) / 30**0.5)


def test_nothing_differs_where_nothing_does():
    """And what always differs by the same does."""
    every = np.ones((2, 4), bool)
    assert two_way(np.zeros((2, 4)), every) == (0.0, 1.0)
    assert two_way(np.ones((2, 4)), every) == (0.0, 0.0)
    assert pigeonholes(np.zeros((1, 2, 4)), every, draws=10).tolist() == [1.0]


@pytest.mark.parametrize(("of_runs", "of_questions"), [(1.0, 0.1), (0.1, 1.0), (0.5, 1.5)])
def test_both_tests_hold_their_level(of_runs, of_questions):
    """Whether crowds or questions vary most: no more than one false alarm in twenty, and some room for chance."""
    rng, false = np.random.default_rng(3), np.zeros(2)
    for _ in range(200):
        difference = crossed(rng, 10, 60, of_runs, of_questions)
        every = np.ones(difference.shape, bool)
        p = two_way(difference, every)[1], pigeonholes(difference[None], every, draws=200)[0]
        false += np.array(p) < 0.05
    assert (false / 200 <= 0.09).all()


def test_the_variance_of_crowds_counts():
    """A test over questions alone would be sure of what one more crowd may turn round."""
    difference = crossed(np.random.default_rng(5), 10, 500, 1.0, 0.1, shift=0.4)
    (one,) = held(difference[None], np.zeros(difference.shape), np.ones(difference.shape, bool), draws=500)
    assert ttest_1samp(difference.mean(axis=0), 0).pvalue < 1e-6
    assert min(one.t, one.drawn, one.p) > 0.05


def test_what_is_sure_is_found():
    """By both, after the correction; p is never below either."""
    rng = np.random.default_rng(6)
    values = np.stack([crossed(rng, 10, 300, 0.2, 0.5, shift) for shift in (0.0, 1.0)])
    none, some = held(values, np.zeros(values.shape[1:]), np.ones(values.shape[1:], bool), draws=1_000)
    assert some.p < 0.05 < none.p
    assert some.p >= max(some.t, some.drawn)
    assert some.difference == pytest.approx(values[1].mean())


def test_runs_may_lack_questions():
    """What is not there has no part in anything."""
    rng = np.random.default_rng(7)
    difference, present = rng.normal(size=(4, 20)), rng.random((4, 20)) < 0.8
    other = np.where(present, difference, 99.0)
    assert two_way(other, present) == two_way(difference, present)
    both = [pigeonholes(d[None], present, draws=50).tolist() for d in (difference, other)]
    assert both[0] == both[1]


def test_draws_there_must_be():
    """One or more."""
    with pytest.raises(UsageError, match="draws 0 is not 1 or more"):
        pigeonholes(np.zeros((1, 2, 2)), np.ones((2, 2), bool), draws=0)
