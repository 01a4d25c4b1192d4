"""Replicated judgments against the probabilities they come from, and counts against pairs counted one by one."""

from itertools import permutations

import numpy as np
import pytest

from adjudge.kernels.block import Block
from adjudge.kernels.replicate import count_agreement, replicate, replicate_with_truth

J, K = 5, 3


def crowd(rng, items=40, weighted=False):
    """Return judgments of none to six by item, judges drawn with repeats."""
    size = rng.integers(0, 7, items)
    judge, label = rng.integers(J, size=size.sum()), rng.integers(K, size=size.sum()).astype(np.uint8)
    return Block(
        np.r_[0, size.cumsum()],
        (judge * K + label).astype(np.uint32),
        label,
        rng.integers(2, size=items).astype(np.int32),
        np.full(items, -1, np.int32),
        rng.uniform(0.5, 2, judge.size) if weighted else np.empty(0),
        J,
        K,
        np.arange(float(K)),
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_those_of_all_pairs(weighted):
    """Pairs of judgments of one item by two judges, a judge's own repeats left out."""
    block = crowd(np.random.default_rng(0), weighted=weighted)
    judge, label = block.cell // K, block.label
    weight = block.weight if weighted else np.ones(label.size)
    result, agreed, paired, unanimous, shared = np.zeros((J, K)), np.zeros(J), np.zeros(J), 0, 0
    np.add.at(result, (judge, label), weight)
    for i in range(block.topic.size):
        own = range(block.start[i], block.start[i + 1])
        pairs = [(n, m) for n, m in permutations(own, 2) if judge[n] != judge[m]]
        for n, m in pairs:
            paired[judge[n]] += weight[n] * weight[m]
            agreed[judge[n]] += weight[n] * weight[m] * (label[n] == label[m])
        shared += bool(pairs)
        unanimous += bool(pairs) and len({int(label[n]) for n in own}) == 1
    outcome = count_agreement(block)
    np.testing.assert_allclose(outcome.labels, result)
    np.testing.assert_allclose(outcome.agreed, agreed, atol=1e-12)
    np.testing.assert_allclose(outcome.paired, paired, atol=1e-12)
    assert (outcome.unanimous, outcome.shared) == (unanimous, shared)
    assert 0 < unanimous < shared < 40


def test_labels_are_drawn_from_the_model():
    """Two judges' labels of a topic's items occur together as sum_z pi_z theta_z theta_z says; gold keeps its truth."""
    rng, items = np.random.default_rng(1), 60_000
    prevalence, confusion = rng.dirichlet(np.ones(K), 2), rng.dirichlet(np.ones(K), (2, K))
    cell, label = np.tile(np.array([0, K], np.uint32), items), np.zeros(2 * items, np.uint8)
    topic = (np.arange(items) % 2).astype(np.int32)
    gold = np.where(np.arange(items) < items // 3, 2, -1).astype(np.int32)
    block = Block(np.arange(items + 1) * 2, cell, label, topic, gold, np.empty(0), 2, K, np.arange(3.0))
    drawn = replicate(block, prevalence, confusion, rng)
    pair = drawn.label.reshape(items, 2)
    groups = [((gold < 0) & (topic == t), prevalence[t]) for t in (0, 1)]
    for stored, truth in (*groups, (gold == 2, np.eye(K)[2])):
        observed = np.zeros((K, K))
        np.add.at(observed, (pair[stored, 0], pair[stored, 1]), 1 / stored.sum())
        np.testing.assert_allclose(observed, np.einsum("z,zk,zl->kl", truth, *confusion), atol=0.01)
    np.testing.assert_array_equal(drawn.cell, np.tile([0, K], items) + drawn.label)


def test_replicates_follow_the_stream():
    """The same stream gives the same labels, another others; what is given is not changed."""
    rng = np.random.default_rng(2)
    block = crowd(rng)
    before = block.label.copy()
    prevalence, confusion = rng.dirichlet(np.ones(K), 2), rng.dirichlet(np.ones(K), (J, K))
    first, same, other = (replicate(block, prevalence, confusion, np.random.default_rng(s)).label for s in (5, 5, 6))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()
    np.testing.assert_array_equal(block.label, before)


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.5])
def test_effects_of_items_leave_judges_as_good_as_they_are(strength):
    """With any correlation of errors, each judge is right about as often as their matrix says, and wrong alike."""
    rng = np.random.default_rng(3)
    items, judges, K = 20_000, 4, 3
    start = np.arange(0, items * judges + 1, judges)
    cell = np.tile(np.arange(judges, dtype=np.uint32) * K, items)
    block = Block(
        start,
        cell,
        np.zeros(cell.size, np.int32),
        np.zeros(items, np.int32),
        np.full(items, -1, np.int32),
        np.empty(0),
        judges,
        K,
        np.arange(K, dtype=float),
    )
    confusion = np.array([np.full((K, K), (1 - a) / 2) + (a - (1 - a) / 2) * np.eye(K) for a in (0.55, 0.7, 0.8, 0.9)])
    confusion[1] = [[0.7, 0.3, 0.0], [0.1, 0.7, 0.2], [0.0, 0.3, 0.7]]
    drawn, truth = replicate_with_truth(block, np.full((1, K), 1 / K), confusion, rng, strength)
    label = drawn.label.reshape(items, judges)
    for j in range(judges):
        observed = np.array([np.bincount(label[truth == z, j], minlength=K) / (truth == z).sum() for z in range(K)])
        np.testing.assert_allclose(observed, confusion[j], atol=0.03)
    right = label == truth[:, None]
    together = np.corrcoef(right[:, 0], right[:, 1])[0, 1]
    assert together < 0.03 if strength == 0 else together > 0.02 * strength
