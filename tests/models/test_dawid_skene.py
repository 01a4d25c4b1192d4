"""Dawid-Skene recovers what generated the judgments."""

import numpy as np
import polars as pl

import adjudge


def test_dawid_skene_finds_the_matrices():
    """With many items, estimated matrices are the true ones."""
    rng = np.random.default_rng(3)
    theta = np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.6, 0.4], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]]])
    truth = (rng.random(20_000) < 0.3).astype(int)
    result = [(rng.random(truth.size) < theta[j, truth, 1]).astype(int) for j in range(3)]
    items = np.tile(np.arange(truth.size), 3)
    table = pl.DataFrame(
        {"item": items, "judge": np.repeat(["a", "b", "c"], truth.size), "label": np.concatenate(result)}
    )
    fit = adjudge.fit(adjudge.read(table, item="item", judge="judge"), "dawid-skene")
    np.testing.assert_allclose(fit.params.confusion, theta, atol=0.03)
    np.testing.assert_allclose(fit.params.prevalence[0], [0.7, 0.3], atol=0.03)


def test_a_judge_at_chance_changes_nothing():
    """A judge whose labels do not depend on the truth leaves every posterior as it was (paper 000, section 8)."""
    judgments = adjudge.read(
        pl.DataFrame({"item": ["a", "a", "b"], "judge": ["x", "s", "x"], "label": ["0", "1", "1"]})
    )
    fit = adjudge.fit(judgments, "dawid-skene", iterations=1)
    chance = np.array(
        [[[0.8, 0.2], [0.3, 0.7]], [[0.4, 0.6], [0.4, 0.6]]]
    )  # s says 1 six times in ten, whatever is true
    block, params = judgments.block(), fit.params._replace(prevalence=np.array([[0.5, 0.5]]), confusion=chance)
    posterior, _ = fit.definition.posterior(block, params)
    np.testing.assert_allclose(posterior[0], [0.8 / 1.1, 0.3 / 1.1])
