"""Truths with votes left out, against Bayes' rule on the judgments that remain."""

import numpy as np
import pytest

from adjudge.kernels.block import Block
from adjudge.kernels.others import softmax, votes, without_her

J, K = 4, 3


def crowd(rng, items=30, weighted=False):
    """Return judgments of none to six by item, judges drawn with repeats, some items with gold."""
    size = rng.integers(0, 7, items)
    judge, label = rng.integers(J, size=size.sum()), rng.integers(K, size=size.sum()).astype(np.uint8)
    return Block(
        np.r_[0, size.cumsum()],
        (judge * K + label).astype(np.uint32),
        label,
        rng.integers(2, size=items).astype(np.int32),
        np.where(rng.random(items) < 0.2, rng.integers(K, size=items), -1).astype(np.int32),
        rng.uniform(0.5, 2, judge.size) if weighted else np.empty(0),
        J,
        K,
        np.arange(float(K)),
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_her_votes_are_left_out(weighted):
    """All of them, where she judged an item twice; gold stays what it is."""
    rng = np.random.default_rng(0)
    block = crowd(rng, weighted=weighted)
    prevalence, confusion = rng.dirichlet(np.ones(K), 2), rng.dirichlet(np.ones(K), (J, K))
    found = without_her(block, votes(block, prevalence, confusion))
    judge, weight = block.cell // K, block.weight if weighted else np.ones(block.label.size)
    for i in range(block.topic.size):
        for n in range(block.start[i], block.start[i + 1]):
            chance = prevalence[block.topic[i]].copy()
            for m in range(block.start[i], block.start[i + 1]):
                if judge[m] != judge[n]:
                    chance *= confusion[judge[m], :, block.label[m]] ** weight[m]
            if block.gold[i] >= 0:
                chance = np.eye(K)[block.gold[i]]
            np.testing.assert_allclose(found[n], chance / chance.sum(), rtol=1e-10)


def test_an_impossible_label_is_left_out_again():
    """A matrix with zeros leaves no mark once the vote is gone."""
    block = Block(
        np.array([0, 2]),
        np.array([0, K], np.uint32),
        np.zeros(2, np.uint8),
        np.zeros(1, np.int32),
        np.full(1, -1, np.int32),
        np.empty(0),
        2,
        K,
        np.arange(3.0),
    )
    sure = np.stack([np.roll(np.eye(K), 1, axis=1), np.full((K, K), 1 / K)])
    found = without_her(block, votes(block, np.array([[0.2, 0.3, 0.5]]), sure))
    np.testing.assert_allclose(found[0], [0.2, 0.3, 0.5], rtol=1e-9)


def test_softmax_takes_any_logs():
    """However far below zero."""
    np.testing.assert_allclose(softmax(np.array([[-1e6, -1e6 + np.log(3)]])), [[0.25, 0.75]])
