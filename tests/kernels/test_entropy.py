"""Tilts against a general optimiser, and what an item's pass leaves behind against differences."""

import numpy as np
import pytest
from scipy.optimize import minimize

from adjudge.kernels.block import Block, add, split
from adjudge.kernels.entropy import tilt, tilted_posterior, tilted_tally
from adjudge.kernels.truth import truth_posterior

ITEMS, JUDGES, LABELS = 6, 4, 3


def block(rows, gold=None, weight=None, items=ITEMS, judges=JUDGES, labels=LABELS):
    """Return judgments (item, judge, label), sorted by item, as a block."""
    rows = np.array(rows, np.int64).reshape(-1, 3)
    start = np.r_[0, np.cumsum(np.bincount(rows[:, 0], minlength=items))]
    return Block(
        start,
        (rows[:, 1] * labels + rows[:, 2]).astype(np.uint32),
        rows[:, 2].astype(np.uint8),
        np.zeros(items, np.int32),
        np.full(items, -1, np.int32) if gold is None else np.array(gold, np.int32),
        np.empty(0) if weight is None else np.array(weight, float),
        judges,
        labels,
        np.arange(float(labels)),
    )


def case(seed, **more):
    """Return a random block with random params."""
    rng = np.random.default_rng(seed)
    rows = [(i, rng.integers(JUDGES), rng.integers(LABELS)) for i in range(ITEMS) for _ in range(rng.integers(0, 6))]
    matrices = rng.dirichlet(np.ones(LABELS), (JUDGES, LABELS))
    return block(rows, **more), rng.dirichlet(np.ones(LABELS), 1), matrices


def loss(tau, b, i, matrix, beta):
    """Return the penalised loss of a tilt of item i, whose judges have these rows under a truth (J, K)."""
    logs = np.log(matrix) + tau
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    judged = range(b.start[i], b.start[i + 1])
    times = b.weight if b.weight.size else np.ones(b.cell.size)
    return beta / 2 * tau @ tau - sum(times[n] * logs[b.cell[n] // b.labels, b.label[n]] for n in judged)


def solved(b, i, k, matrices, beta):
    """Return phi and exp(tau) of an item under a truth, by our kernel."""
    odds, room = np.empty(b.labels), np.empty((3, b.labels))
    first, last = b.start[i], b.start[i + 1]
    phi = tilt(first, last, b.cell, b.label, b.weight, matrices.reshape(-1), k, beta, odds, room)
    return phi, odds


@pytest.mark.parametrize("beta", [0.1, 2.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_tilt_is_the_optimum(seed, beta):
    """A general optimiser finds the same tilt and the same likelihood, for every item and truth."""
    b, _, matrices = case(seed)
    for i in range(ITEMS):
        for k in range(LABELS):
            best = minimize(loss, np.zeros(LABELS), (b, i, matrices[:, k], beta), method="BFGS", options={"gtol": 1e-8})
            phi, odds = solved(b, i, k, matrices, beta)
            assert phi == pytest.approx(-best.fun, abs=1e-9)
            np.testing.assert_allclose(np.log(odds), best.x, atol=1e-4)


@pytest.mark.parametrize("beta", [0.01, 1.0])
def test_a_crowd_that_contradicts_its_matrices_is_met_by_a_tilt(beta):
    """Where the curvature at the start says nothing of the way ahead, steps are short enough and arrive."""
    b = block([(0, j % 4, 2) for j in range(400)], items=1)
    matrices = np.full((JUDGES, LABELS, LABELS), 1e-9) + np.eye(LABELS) * (1 - 3e-9)
    phi, odds = solved(b, 0, 0, matrices, beta)
    tau = np.log(odds)
    said = matrices[0, 0] * odds / (matrices[0, 0] @ odds)
    np.testing.assert_allclose(400 * (np.eye(LABELS)[2] - said), beta * tau, atol=1e-5)  # the gradient is zero
    assert phi == pytest.approx(400 * np.log(said[2]) - beta / 2 * tau @ tau)


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_said_less_expected_are_the_slope_of_the_evidence(weighted):
    """By differences in sigma: tau moves along and, being at its summit, adds nothing."""
    b, prevalence, matrices = case(3, gold=[-1, 2, -1, -1, -1, -1])
    b = b._replace(weight=np.random.default_rng(0).random(b.cell.size) * 3) if weighted else b
    said, expected = tilted_tally(b, prevalence, matrices, 2.0).label

    def evidence(j, k, y, change):
        moved = matrices.copy()
        moved[j, k, y] *= np.exp(change)
        moved[j, k] /= moved[j, k].sum()
        return tilted_tally(b, prevalence, moved, 2.0).evidence

    for j, k, y in np.ndindex(matrices.shape):
        slope = (evidence(j, k, y, 1e-5) - evidence(j, k, y, -1e-5)) / 2e-5
        assert (said - expected)[j, k, y] == pytest.approx(slope, abs=1e-5)


def test_items_that_cannot_tilt_are_those_of_dawid_and_skene():
    """With an infinite penalty, to rounding, posterior, evidence and difficulty are those of the matrices alone."""
    b, prevalence, matrices = case(4, gold=[-1, -1, 0, -1, -1, -1])
    told, evidence = tilted_posterior(b, prevalence, matrices, matrices[0], 1e14)
    posterior, plain = truth_posterior(b, prevalence, matrices)
    np.testing.assert_allclose(told[:, :LABELS], posterior, atol=1e-9)
    assert evidence == pytest.approx(plain, rel=1e-9)
    np.testing.assert_allclose(told[:, LABELS], posterior @ (1 - np.diag(matrices[0])), atol=1e-9)


def test_posterior_and_tally_tell_the_same():
    """Truths add up to the posterior's, labels expected are as many as those said, and the evidence is one."""
    b, prevalence, matrices = case(5)
    told, evidence = tilted_posterior(b, prevalence, matrices, matrices[0], 2.0)
    tally = tilted_tally(b, prevalence, matrices, 2.0)
    np.testing.assert_allclose(tally.truth[0], told[:, :LABELS].sum(axis=0))
    np.testing.assert_allclose(tally.label[0].sum(axis=2), tally.label[1].sum(axis=2))
    assert tally.label[0].sum() == pytest.approx(b.cell.size)
    assert tally.evidence == evidence


def test_blocks_add_up():
    """Tallies of blocks of items are those of the whole."""
    b, prevalence, matrices = case(6)
    whole = tilted_tally(b, prevalence, matrices, 2.0)
    parts = add(tilted_tally(part, prevalence, matrices, 2.0) for part in split(b, 3))
    np.testing.assert_allclose(parts.label, whole.label, atol=1e-12)
    assert parts.evidence == pytest.approx(whole.evidence)


def test_a_row_twice_is_a_row_of_weight_two():
    """A weight is how often a judgment counts."""
    _, prevalence, matrices = case(7)
    rows = [(0, 0, 1), (0, 1, 2), (3, 2, 0)]
    twice = tilted_tally(block([row for row in rows for _ in range(2)]), prevalence, matrices, 2.0)
    weighed = tilted_tally(block(rows, weight=[2, 2, 2]), prevalence, matrices, 2.0)
    np.testing.assert_allclose(twice.label, weighed.label, atol=1e-12)
    assert twice.evidence == pytest.approx(weighed.evidence)


def test_gold_and_nobodys_items():
    """A known truth has all the weight; an item nobody judged has the prevalence, and is as hard as items are."""
    b, prevalence, matrices = case(8, gold=[1, -1, -1, -1, -1, -1])
    b = b._replace(start=np.r_[b.start[:-1], b.start[-2]], cell=b.cell[: b.start[-2]], label=b.label[: b.start[-2]])
    told, _ = tilted_posterior(b, prevalence, matrices, matrices[0], 2.0)
    np.testing.assert_array_equal(told[0, :LABELS], [0, 1, 0])
    np.testing.assert_allclose(told[-1, :LABELS], prevalence[0])
    assert told[-1, LABELS] == pytest.approx(prevalence[0] @ (1 - np.diag(matrices[0])))


def test_every_topic_has_its_prevalence():
    """Items nobody judged show it."""
    b = block([], items=2)._replace(topic=np.array([1, 0], np.int32))
    prevalence = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    told, _ = tilted_posterior(b, prevalence, case(0)[2], np.eye(LABELS), 2.0)
    np.testing.assert_allclose(told[:, :LABELS], prevalence[::-1])
