"""Truths as bits."""

import numpy as np
import pytest

from adjudge.kernels.bits import pack, unpack


@pytest.mark.parametrize(("labels", "planes"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (300, 9)])
def test_what_is_packed_comes_back(labels, planes):
    """For any number of labels, in as many planes as it takes, and any number of items."""
    for items in (1, 7, 8, 9, 100):
        truth = np.random.default_rng(items).integers(0, labels, items)
        bits = pack(truth, labels)
        assert bits.shape == (planes, -(-items // 8))
        np.testing.assert_array_equal(unpack(bits, items), truth)


def test_many_draws_at_once():
    """Chains and draws come first."""
    truth = np.random.default_rng(0).integers(0, 5, (2, 3, 21))
    bits = np.stack([[pack(draw, 5) for draw in chain] for chain in truth])
    np.testing.assert_array_equal(unpack(bits, 21), truth)
