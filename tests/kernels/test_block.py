"""Blocks split at items; tallies add up to what the whole gives."""

import numpy as np
import pytest

from adjudge.kernels.block import Block, add, split, take_items
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


def test_items_are_taken_in_any_order(whole):
    """Each has its own judgments, weights, topic and gold, whether it is taken once, twice or has no judgments."""
    gold = np.arange(200, dtype=np.int32) % 3
    index = np.r_[7, 199, 0, 7, np.flatnonzero(np.diff(whole.start) == 0)[:2]]
    taken = take_items(whole._replace(gold=gold, topic=gold[::-1].copy()), index)
    np.testing.assert_array_equal(taken.gold, gold[index])
    np.testing.assert_array_equal(taken.topic, gold[::-1][index])
    assert taken.start[0] == 0
    assert taken.start[-1] == taken.cell.size == taken.label.size == taken.weight.size
    for position, item in enumerate(index):
        own, new = slice(*whole.start[item : item + 2]), slice(*taken.start[position : position + 2])
        np.testing.assert_array_equal(taken.cell[new], whole.cell[own])
        np.testing.assert_array_equal(taken.label[new], whole.label[own])
        np.testing.assert_array_equal(taken.weight[new], whole.weight[own])


def test_items_without_weights_and_no_items_are_taken(whole):
    """Judgments that all count the same stay so, and no items are an empty block."""
    plain = whole._replace(weight=np.empty(0))
    assert take_items(plain, np.array([3, 4])).weight.size == 0
    none = take_items(whole, np.empty(0, np.int64))
    assert (none.topic.size, none.cell.size, none.start.tolist()) == (0, 0, [0])
