"""Likelihoods of items under draws, against sums over truths written out."""

import numpy as np
import pytest
from scipy.special import logsumexp

from adjudge.kernels.block import Block
from adjudge.kernels.pointwise import log_likelihoods
from adjudge.kernels.truth import FLOOR, truth_posterior

ITEMS, J, K, T, S = 7, 4, 3, 2, 11


def table(rng, weighted=False, gold=False, topics=T):
    """Return a block with a repeat, an item nobody judged, and items of none to five judgments."""
    size = np.array([0, 5, 1, 3, 2, 4, 5])
    judge, label = rng.integers(J, size=size.sum()), rng.integers(K, size=size.sum()).astype(np.uint8)
    judge[0] = judge[1]
    return Block(
        np.r_[0, size.cumsum()],
        (judge * K + label).astype(np.uint32),
        label,
        rng.integers(topics, size=ITEMS).astype(np.int32),
        np.where(gold & (np.arange(ITEMS) % 3 == 0), rng.integers(K, size=ITEMS), -1).astype(np.int32),
        rng.uniform(0, 3, judge.size) if weighted else np.empty(0),
        J,
        K,
        np.arange(float(K)),
    )


def draws(rng, topics=T):
    """Return draws of prevalence and confusion."""
    return rng.dirichlet(np.ones(K), (S, topics)), rng.dirichlet(np.ones(K), (S, J, K))


def written_out(block, prevalence, confusion, gold_informs=True):
    """Return the logs one by one, all in logs."""
    logs = np.empty((block.topic.size, len(prevalence)))
    judge, prevalence, confusion = block.cell // K, np.maximum(prevalence, FLOOR), np.maximum(confusion, FLOOR)
    for i, s in np.ndindex(logs.shape):
        own = range(block.start[i], block.start[i + 1])
        joint = []
        for z in range(K) if block.gold[i] < 0 else [block.gold[i]]:
            factors = [np.log(confusion[s, judge[n], z, block.label[n]]) for n in own]
            times = [block.weight[n] if block.weight.size else 1.0 for n in own]
            prior = np.log(prevalence[s, block.topic[i] if prevalence.shape[1] > 1 else 0, z])
            joint.append((prior if gold_informs or block.gold[i] < 0 else 0) + np.dot(factors, times))
        logs[i, s] = logsumexp(joint)
    return logs


@pytest.mark.parametrize("topics", [1, T])
@pytest.mark.parametrize("gold", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_truths_are_summed_out(weighted, gold, topics):
    """With and without weights, gold and topics; an item nobody judged is certain, unless its truth is gold."""
    rng = np.random.default_rng(0)
    block, (prevalence, confusion) = table(rng, weighted, gold), draws(rng, topics)
    found = log_likelihoods(block, prevalence, confusion, 0, ITEMS)
    np.testing.assert_allclose(found, written_out(block, prevalence, confusion), rtol=1e-12, atol=1e-14)
    assert gold or np.abs(found[0]).max() < 1e-15
    told = log_likelihoods(block, prevalence, confusion, 0, ITEMS, gold_informs=False)
    np.testing.assert_allclose(told, written_out(block, prevalence, confusion, False), rtol=1e-12, atol=1e-14)


def test_all_items_together_are_the_evidence():
    """The sum over items is the log evidence of the pass that every model runs, gold included."""
    rng = np.random.default_rng(1)
    block, (prevalence, confusion) = table(rng, gold=True), draws(rng)
    evidence = [truth_posterior(block, p, c)[1] for p, c in zip(prevalence, confusion, strict=True)]
    np.testing.assert_allclose(
        log_likelihoods(block, prevalence, confusion, 0, ITEMS).sum(axis=0), evidence, rtol=1e-12
    )


def test_runs_are_parts_of_the_whole():
    """Items two to five are those of all."""
    rng = np.random.default_rng(2)
    block, (prevalence, confusion) = table(rng, weighted=True, gold=True), draws(rng)
    whole = log_likelihoods(block, prevalence, confusion, 0, ITEMS)
    np.testing.assert_array_equal(log_likelihoods(block, prevalence, confusion, 2, 5), whole[2:5])


@pytest.mark.parametrize("gold", [-1, 1])
def test_thousands_of_judgments_do_not_underflow(gold):
    """An item of 3,000 judgments has a likelihood far below the smallest float, and the log of it is right."""
    rng = np.random.default_rng(3)
    prevalence, confusion = draws(rng)
    judge, label = rng.integers(J, size=3_000), rng.integers(K, size=3_000).astype(np.uint8)
    block = table(rng)._replace(
        start=np.array([0, 3_000]),
        cell=(judge * K + label).astype(np.uint32),
        label=label,
        topic=np.zeros(1, np.int32),
        gold=np.array([gold], np.int32),
    )
    found = log_likelihoods(block, prevalence, confusion, 0, 1)
    np.testing.assert_allclose(found, written_out(block, prevalence, confusion), rtol=1e-11)
    assert found.max() < -2_000


def test_what_is_impossible_stays_comparable():
    """A draw in which a label has probability zero gives a log that is low, not one of minus infinity."""
    rng = np.random.default_rng(4)
    block, (prevalence, confusion) = table(rng), draws(rng)
    confusion[:5] = np.eye(K)
    found = log_likelihoods(block, prevalence, confusion, 0, ITEMS)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, written_out(block, prevalence, confusion), rtol=1e-12, atol=1e-14)
