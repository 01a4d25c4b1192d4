"""The study of gold items: the prior of weights, and what more gold is worth."""

import numpy as np
import pytest

from studies.honesty import Score
from studies.honesty_gold import JITTER, SHRUNK, SIZES, GoldScore, GoldSet, gold_content, prior_of, rows_of_gold


def scores_of(kind="crowd", gain=0.02):
    """Return scores in which gold brings the same gain in accuracy at every size, and the gap falls with the size."""
    each = GoldSet("s", kind, "f", np.empty(0), np.empty(0), None, np.empty(0))
    scores = []
    for size in SIZES:
        scores += [
            GoldScore(each, size, Score(0.8 + gain, 0.4, 1 / size)),
            GoldScore(each, -size, Score(0.8, 0.5, 0.3)),
        ]
    return scores


def test_the_prior_is_the_mean_and_the_shrunk_spread_of_weights():
    """Of three sets, written out; people keep a prior of their own."""
    weights = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 2.0]])
    prior = prior_of(weights)
    spread = np.cov(weights.T, ddof=0)
    np.testing.assert_allclose(prior.mean[:2], [1.0, 1.0])
    np.testing.assert_allclose(np.diag(prior.covariance)[:2], np.diag(spread) + JITTER)
    assert prior.covariance[0, 1] == pytest.approx((1 - SHRUNK) * spread[0, 1])
    assert (prior.covariance[:2, 2:] == 0).all()


def test_what_gold_is_worth_is_a_mean_over_the_same_items():
    """Gains are with gold less without, and margins quantiles of the gap."""
    content = gold_content(scores_of(), prior_of([np.array([1.0, 0.0]), np.array([0.5, 0.5])]))
    assert content["mean"] == [0.75, 0.25]
    for size in SIZES:
        assert content["gains"][str(size)] == {"log_loss": 0.1, "accuracy": 0.02}
        assert content["margins"][str(size)] == pytest.approx(1 / size, abs=1e-3)


def test_rows_stand_beside_the_consensus_without_gold():
    """One row per kind and size, without gold first."""
    rows = [*rows_of_gold(scores_of() + scores_of("panel", 0.05))]
    assert len(rows) == 2 * len(SIZES)
    assert rows[0][:3] == ["crowds", str(SIZES[0]), "1"]
    assert rows[0][3].startswith(".800 / .500 / .300")
    assert rows[0][4].startswith(".820 / .400 / ")
    assert rows[-1][4].startswith(".850 / .400 / ")
