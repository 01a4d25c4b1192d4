"""Streaks, against all sequences there are."""

from itertools import groupby, product

import numpy as np
import pytest

from adjudge.kernels.streaks import longest, streak_tail


def test_the_longest_streak_is_found():
    """The first of equal ones."""
    assert longest(np.array([0, 1, 1, 0, 0, 2])) == (2, 1)
    assert longest(np.array([3])) == (1, 0)
    assert longest(np.array([], int)) == (0, 0)


@pytest.mark.parametrize("length", range(1, 8))
def test_the_tail_is_that_of_all_sequences(length):
    """Every sequence of six labels, by its chance."""
    chance = np.random.default_rng(length).dirichlet(np.ones(3), 6)
    whole = 0.0
    for said in product(range(3), repeat=6):
        if max(len(list(group)) for _, group in groupby(said)) >= length:
            whole += np.prod(chance[range(6), said])
    assert streak_tail(chance, length) == pytest.approx(whole, abs=1e-12)


def test_nobody_who_says_nothing_has_a_streak():
    """Not even a short one."""
    assert streak_tail(np.empty((0, 2)), 1) == 0
