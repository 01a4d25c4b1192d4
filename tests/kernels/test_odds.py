"""A sweep by odds is exact for items of any number of judgments, and counts what it draws."""

import numpy as np
import pytest

from adjudge.kernels.block import Block
from adjudge.kernels.odds import OddsSweep
from adjudge.kernels.truth import count, truth_posterior

J, K = 6, 2


def judged(lengths, cells=None, gold=None):
    """Return a block whose items have so many judgments, by chance or given."""
    rng, items = np.random.default_rng(len(lengths)), len(lengths)
    start = np.r_[0, np.cumsum(lengths)]
    cell = rng.integers(0, J * K, start[-1]).astype(np.uint32) if cells is None else np.asarray(cells, np.uint32)
    known = np.full(items, -1, np.int32) if gold is None else np.asarray(gold, np.int32)
    topic = rng.integers(0, 3, items).astype(np.int32)
    return Block(start, cell, (cell % K).astype(np.int32), topic, known, np.empty(0), J, K, np.arange(2.0))


def swept(block, seed=0):
    """Return what a sweep finds under some parameters, the truths it drew, and these parameters."""
    rng, items = np.random.default_rng(seed), block.topic.size
    prevalence, confusion = rng.dirichlet([2, 2], 3), rng.dirichlet([1, 1], (J, 2))
    probability, drawn = np.zeros((items, 2)), np.empty(items, np.int32)
    chance = rng.integers(0, 2**32, items, dtype=np.uint32)
    truth, label = OddsSweep(block)(prevalence, confusion, chance, probability, drawn)
    return truth, label, probability, drawn, (prevalence, confusion)


@pytest.mark.parametrize("common", [1, 2, 3, 5, 12, 13, 30])
def test_equal_to_the_posterior_whatever_the_commonest_length(common):
    """The loop compiled for the commonest length and the one for any other both give p(truth | labels)."""
    lengths = [common] * 40 + list(range(35))
    gold = np.where(np.arange(75) % 9 == 0, np.arange(75) % 2, -1)
    block = judged(np.random.default_rng(1).permutation(lengths), gold=gold)
    truth, label, probability, drawn, params = swept(block)
    np.testing.assert_allclose(probability, truth_posterior(block, *params)[0], rtol=1e-10)
    counted = count(block, np.eye(2)[drawn], topics=3)
    np.testing.assert_array_equal(truth, counted.truth)
    np.testing.assert_array_equal(label, counted.label)
    assert (drawn[gold >= 0] == gold[gold >= 0]).all()


def test_products_that_leave_the_range_of_numbers_on_their_way():
    """Ten thousand judgments for one truth and then as many against it leave what the others say."""
    one_way, other_way = [0] * 10_000, [1] * 10_000
    cells = [*one_way, *other_way, 2, *other_way, *one_way, 2, 2]
    block = judged([20_001, 20_001, 1], cells)._replace(topic=np.zeros(3, np.int32))
    prevalence, confusion = np.full((1, 2), 0.5), np.full((J, 2, 2), 0.5)
    confusion[0], confusion[1] = [[0.75, 0.25], [0.25, 0.75]], [[0.9, 0.1], [0.4, 0.6]]
    probability = np.zeros((3, 2))
    OddsSweep(block)(prevalence, confusion, np.zeros(3, np.uint32), probability, np.empty(0, np.int32))
    np.testing.assert_allclose(probability, [[0.9 / 1.3, 0.4 / 1.3]] * 3, rtol=1e-9)


def test_judgments_that_cannot_be_leave_no_nan():
    """Judges who never err and contradict each other cancel out."""
    confusion = np.repeat(np.eye(2)[None], J, axis=0)
    block = judged([4, 6], [0, 3, 5, 2, 1, 3, 5, 7, 9, 11])
    probability = np.zeros((2, 2))
    OddsSweep(block)(np.full((3, 2), 0.5), confusion, np.zeros(2, np.uint32), probability, np.empty(0, np.int32))
    np.testing.assert_allclose(probability, [[0.5, 0.5], [0, 1]], atol=1e-300)
