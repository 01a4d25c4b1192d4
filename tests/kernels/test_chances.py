import numpy as np
import pytest
from scipy.stats import kstest

from adjudge.kernels.chances import chances, new_key

KEY = np.array([7, 11], np.uint64)


@pytest.mark.parametrize("first", [0, 1, 7, 8, 9, 500, 899])
def test_any_part_of_the_stream_can_be_had_alone(first):
    """Wherever it begins, and without what is before."""
    whole = chances(KEY, 0, 1_000)
    assert (chances(KEY, first, 101) == chances(KEY, 0, 2_000)[first : first + 101]).all()
    assert (chances(KEY, 0, 1_000) == whole).all()


def test_chances_are_even_and_of_their_key():
    """Even, and unlike those of another key or of the next item."""
    one, other = chances(KEY, 0, 20_000), chances(new_key(np.random.default_rng(1)), 0, 20_000)
    assert kstest(one / 2**32, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 0.03


def test_nothing_is_asked_for():
    """A block may have no items."""
    assert chances(KEY, 5, 0).size == 0


def test_keys_follow_the_stream():
    """The same stream gives the same keys."""
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    assert (new_key(one) == new_key(other)).all()
    assert (new_key(one) != KEY).any()
