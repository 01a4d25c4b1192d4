"""What two texts share."""

import difflib
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.kernels.overlap import first, inner, subsequence, substring, window

TEXT = st.lists(st.integers(0, 4), max_size=8)
ONE = np.zeros(1, np.int64)


def sides(*texts):
    """Return texts as starts and codes, one each."""
    return [array for text in texts for array in (np.array([0, len(text)]), np.array(text, np.int64))]


@given(TEXT, TEXT)
def test_the_longest_common_subsequence(a, b):
    """Held against the recursion that defines it."""

    @lru_cache(None)
    def longest(i, j):
        if i == len(a) or j == len(b):
            return 0
        return 1 + longest(i + 1, j + 1) if a[i] == b[j] else max(longest(i + 1, j), longest(i, j + 1))

    assert subsequence(*sides(a, b), ONE, ONE)[0] == longest(0, 0)


@given(TEXT, TEXT)
def test_the_longest_common_run(a, b):
    """Held against the standard library's matcher."""
    wanted = difflib.SequenceMatcher(None, a, b, autojunk=False).find_longest_match().size
    assert substring(*sides(a, b), ONE, ONE)[0] == wanted


@given(TEXT, TEXT)
def test_the_least_stretch(a, b):
    """Held against all stretches there are; and where the first term of the set stands."""
    a = sorted(set(a))
    held, least = window(*sides(a, b), ONE, ONE)
    both = set(a) & set(b)
    spans = [j - i for i in range(len(b)) for j in range(i + 1, len(b) + 1) if both <= set(b[i:j])]
    assert (held[0], least[0]) == (len(both), min(spans) if both else 0)
    assert first(*sides(a, b), ONE, ONE)[0] == next((j for j, term in enumerate(b) if term in a), len(b))


@given(st.dictionaries(st.integers(0, 6), st.floats(0, 2)), st.dictionaries(st.integers(0, 6), st.floats(0, 2)))
def test_the_inner_product(a, b):
    """Terms of both, weight times weight."""
    left, right = (
        (np.array([0, len(side)]), np.array(sorted(side), np.int64), np.array([side[k] for k in sorted(side)], float))
        for side in (a, b)
    )
    assert inner(*left, *right, ONE, ONE)[0] == pytest.approx(sum(a[key] * b[key] for key in a.keys() & b.keys()))


def test_many_pairs_at_once():
    """Each pair names its texts."""
    start, code = np.array([0, 2, 3]), np.array([1, 2, 9])
    left, right = np.array([0, 1, 0]), np.array([0, 1, 1])
    assert subsequence(start, code, start, code, left, right).tolist() == [2, 1, 0]
