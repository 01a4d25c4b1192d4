"""Blocks split at items; tallies add up to what the whole gives."""

import numpy as np
import pytest

from adjudge.kernels.block import Block, add, split
from adjudge.kernels.truth import expect


@pytest.fixture
def whole():
    """Return 200 items with 0 to 9 judgments each."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(0, 10, 200)
    n = int(sizes.sum())
    label = rng.integers(0, 3, n).astype(np.uint8)
    return Block(
        np.r_[0, np.cumsum(sizes)],
        rng.integers(0, 7, n).astype(np.uint32) * np.uint32(3) + label,
        label,
        np.zeros(200, np.int32),
        np.full(200, -1, np.int32),
        rng.random(n),
        7,
        3,
        np.arange(3.0),
    )


@pytest.mark.parametrize("parts", [1, 2, 5, 1000])
def test_parts_hold_every_item_once(whole, parts):
    """Split blocks, put together, are the whole; each starts its judgments at zero."""
    blocks = split(whole, parts)
    np.testing.assert_array_equal(np.concatenate([b.cell for b in blocks]), whole.cell)
    np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), whole.weight)
    assert sum(b.topic.size for b in blocks) == 200
    assert all(b.start[0] == 0 and b.start[-1] == b.cell.size for b in blocks)


@pytest.mark.parametrize("parts", [2, 5])
def test_tallies_of_parts_add_up(whole, parts):
    """The tally of the whole is the sum of the tallies of its parts."""
    rng = np.random.default_rng(0)
    prevalence, confusion = rng.dirichlet(np.ones(3), 1), rng.dirichlet(np.ones(3), (7, 3))
    once = expect(whole, prevalence, confusion)
    summed = add(expect(b, prevalence, confusion) for b in split(whole, parts))
    np.testing.assert_allclose(summed.label, once.label)
    np.testing.assert_allclose(summed.truth, once.truth)
    assert summed.evidence == pytest.approx(once.evidence)


def test_parts_have_about_as_many_judgments(whole):
    """No part is far larger than its share."""
    sizes = [b.cell.size for b in split(whole, 4)]
    assert max(sizes) - min(sizes) <= 2 * 9
