"""A sweep draws from the posterior that ``truth_posterior`` computes, and counts what it drew."""

import numpy as np
import pytest

import adjudge
from adjudge.kernels.sweep import Sweep
from adjudge.kernels.truth import truth_posterior


@pytest.fixture
def case():
    """Return a crowd with gold and topics, and params for it."""
    crowd = adjudge.simulate("carpenter", seed=1, topics=3, items=60, judges=8, judgments=400, gold=6)
    judgments = crowd.judgments
    rng = np.random.default_rng(0)
    block = judgments.block(np.where(np.arange(60) < 6, 1, -1).astype(np.int32), by_topic=True)
    return block, rng.dirichlet([1, 1], 3), rng.dirichlet([3, 3], (8, 2))


def test_probabilities_are_the_posterior(case):
    """What is added up in a sweep is p(truth | rest), gold fixed."""
    block, prevalence, confusion = case
    probability = np.zeros((60, 2))
    Sweep(block)(prevalence, confusion, np.random.default_rng(1), probability)
    posterior, _ = truth_posterior(block, prevalence, confusion)
    np.testing.assert_allclose(probability, posterior)


def test_draws_follow_the_posterior(case):
    """Over many sweeps, truths by topic and labels by judge are counted as often as is expected of them."""
    from adjudge.kernels.truth import expect

    block, prevalence, confusion = case
    rng, none = np.random.default_rng(2), np.empty((0, 0))
    tallies = [Sweep(block)(prevalence, confusion, rng, none) for _ in range(3_000)]
    expected = expect(block, prevalence, confusion)
    truth = np.array([tally.truth for tally in tallies])
    error = truth.std(axis=0) / np.sqrt(3_000) + 1e-12
    assert (np.abs(truth.mean(axis=0) - expected.truth) < 4.5 * error).all()
    label = np.array([tally.label for tally in tallies])
    error = label.std(axis=0) / np.sqrt(3_000) + 1e-12
    assert (np.abs(label.mean(axis=0) - expected.label) < 4.5 * error).all()
    assert (truth.sum(axis=(1, 2)) == 60).all()
    assert (label.sum(axis=(1, 2, 3)) == block.cell.size).all()


def test_weights_and_long_items_do_not_underflow(case):
    """Ten thousand judgments on one item, and the same as weights, are drawn from without a NaN."""
    judged = {"item": ["a"] * 10_000, "judge": ["x"] * 10_000, "label": ["0"] * 6_000 + ["1"] * 4_000}
    import polars as pl

    block = adjudge.read(pl.DataFrame(judged)).block()
    theta, probability = np.array([[[0.7, 0.3], [0.3, 0.7]]]), np.zeros((1, 2))
    tally = Sweep(block)(np.array([[0.5, 0.5]]), theta, np.random.default_rng(0), probability)
    np.testing.assert_allclose(probability, [[1, 0]], atol=1e-300)
    assert tally.label[0, 0].tolist() == [6_000, 4_000]
    weighed = block._replace(weight=np.full(10_000, 0.5))
    again = Sweep(weighed)(np.array([[0.5, 0.5]]), theta, np.random.default_rng(0), np.zeros((1, 2)))
    assert again.label[0, 0].tolist() == [3_000, 2_000]
