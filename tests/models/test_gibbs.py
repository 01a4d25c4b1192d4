"""Gibbs sweeps against enumeration of every truth, and against what JAGS drew."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import polars as pl
from scipy.special import gammaln

import adjudge
from adjudge.kernels.population import Pareto, Population, log_likelihood
from adjudge.models.chains import Run, sample
from adjudge.models.gibbs import diffuse, with_populations, with_priors

ROWS = [("a", "x", 0), ("a", "y", 0), ("b", "x", 1), ("b", "y", 0), ("b", "z", 1), ("c", "x", 1), ("c", "z", 0)]


def drawn(table, step_of, run, topics=1, seed=0):
    """Return the draws of a table's chains."""
    block = table.block(by_topic=topics > 1)
    with ThreadPoolExecutor(2) as pool:
        return sample(step_of(block), diffuse(block, topics, seed, run.chains), len(table.items), run, seed, pool)


def test_hybrid_is_the_exact_posterior():
    """E[z] and E[pi] of a tiny table by summing over all truths, theta and pi integrated out."""
    table = adjudge.read(
        pl.DataFrame(ROWS, schema=["item", "judge", "label"], orient="row"), item="item", judge="judge"
    )
    block, rows, topics = table.block(), np.ones((2, 2)) + 3 * np.eye(2), np.ones(2)
    item = table.item()
    weight, mean, share = [], [], []
    for truth in product(range(2), repeat=3):
        z = np.array(truth)
        label = np.zeros((3, 2, 2))
        np.add.at(label, (table.judge, z[item], table.label), 1)
        common = np.bincount(z, minlength=2)
        a, b = rows + label, topics + common
        logs = (gammaln(a).sum() - gammaln(a.sum(axis=2)).sum()) + gammaln(b).sum() - gammaln(b.sum())
        weight.append(logs)
        mean.append(z)
        share.append(b / b.sum())
    p = np.exp(np.array(weight) - max(weight))
    p /= p.sum()
    found = drawn(table, lambda _: with_priors(block, rows, topics), Run(4, 500, 15_000))
    np.testing.assert_allclose(found.probability.mean(axis=0)[:, 1], p @ np.array(mean), atol=0.006)
    np.testing.assert_allclose(found.prevalence.mean(axis=(0, 1))[0], p @ np.array(share), atol=0.006)


def test_hierarchical_is_the_exact_posterior():
    """E[z] of a tiny table by summing over truths and integrating phi and kappa of all three populations on grids."""
    table = adjudge.read(
        pl.DataFrame(ROWS, schema=["item", "judge", "label"], orient="row"), item="item", judge="judge"
    )
    item, prior = table.item(), Pareto(1.5, 0.5)
    phi = (np.arange(60) + 0.5) / 60
    kappa = 0.5 * ((np.arange(60) + 0.5) / 60) ** (-1 / 1.5)  # equal steps of the Pareto's own distribution

    def marginal(counts):
        logs = [log_likelihood(counts, Population(np.array([1 - p, p]), k)) for p in phi for k in kappa]
        return np.log(np.mean(np.exp(logs)))

    weight, truths = [], []
    for truth in product(range(2), repeat=3):
        z = np.array(truth)
        label = np.zeros((2, 3, 2))
        np.add.at(label, (z[item], table.judge, table.label), 1)
        weight.append(
            sum(marginal(label[k]) for k in range(2)) + marginal(np.bincount(z, minlength=2)[None].astype(float))
        )
        truths.append(z)
    p = np.exp(np.array(weight) - max(weight))
    p /= p.sum()
    found = drawn(table, lambda block: with_populations(block, prior), Run(4, 500, 15_000))
    np.testing.assert_allclose(found.probability.mean(axis=0)[:, 1], p @ np.array(truths), atol=0.02)


def batch_error(draws):
    """Return the Monte Carlo error of the mean of chains (C, D, ...), by means of 20 batches of each."""
    C, D = draws.shape[:2]
    batches = draws[:, : D // 20 * 20].reshape(C * 20, D // 20, *draws.shape[2:]).mean(axis=1)
    return batches.std(axis=0, ddof=1) / np.sqrt(C * 20)


def test_hierarchical_agrees_with_jags(shared):
    """On data of paper 000's size, every phi and kappa is within four Monte Carlo errors of what JAGS found."""
    folder = shared("reference/jags_relevance")
    table = adjudge.read(str(folder / "labels.csv"), topic="topic")
    found = drawn(table, lambda block: with_populations(block, Pareto(1.5, 1.0)), Run(3, 1_000, 1_000), topics=100)
    told = {row["parameter"]: row for row in pl.read_csv(folder / "parameters.csv").iter_rows(named=True)}
    phi, kappa = found.phi.copy(), found.kappa
    phi[:, :, 0, 1] = found.phi[:, :, 0, 0]  # JAGS has specificity, we the row of truth 0
    for p, name in enumerate(("0", "1", "pi")):
        for draws, parameter in ((phi[:, :, p, 1], f"phi_{name}"), (kappa[:, :, p], f"kappa_{name}")):
            error = np.hypot(batch_error(draws), told[parameter]["mcse"])
            assert abs(draws.mean() - told[parameter]["mean"]) < 4 * error, parameter
    items = pl.read_csv(folder / "items.csv")
    expected = dict(zip(items["item"].cast(str), items["p_1"], strict=True))
    ours = found.probability.mean(axis=0)[:, 1]
    difference = ours - np.array([expected[str(name)] for name in table.items])
    assert np.sqrt(np.square(difference).mean()) < 0.01
    assert np.abs(difference).max() < 0.08
