"""Each model is the limit of another: flat and infinitely strong priors, judges all alike, the betas of paper 000."""

import warnings
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy.special import betaln

import adjudge
from adjudge.errors import AdjudgeWarning
from adjudge.inference.convergence import mean_error


def fitted(*given, **named):
    """Return a fit by chains that are as long as the test needs them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(the chains have not converged|label switching)", AdjudgeWarning)
        return adjudge.fit(*given, **named)


def crowd(labels, items, seed=5):
    """Return a simulated crowd of eight judges."""
    return adjudge.simulate("dawid-skene", seed=seed, items=items, judges=8, labels=labels, per_item=5).judgments


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("start", ["vote", "accurate"])
def test_no_trust_is_maximum_likelihood(labels, start):
    """The mode under rows of ones is Dawid and Skene's estimate, from the same start."""
    table = crowd(labels, 300)
    flat = adjudge.fit(
        table, "hybrid-confusion", inference="map", prior=adjudge.Prior(trust=0), start=start, tolerance=1e-12
    )
    likely = adjudge.fit(table, "dawid-skene", start=start, tolerance=1e-12)
    np.testing.assert_allclose(flat.params.confusion, likely.params.confusion, atol=1e-6)
    np.testing.assert_allclose(flat.params.prevalence, likely.params.prevalence, atol=1e-6)
    np.testing.assert_allclose(flat.posterior, likely.posterior, atol=1e-6)
    assert flat.evidence[-1] == pytest.approx(likely.evidence[-1], abs=1e-6)


@pytest.mark.parametrize("labels", [2, 3])
def test_of_a_large_crowd_means_under_a_flat_prior_are_maximum_likelihood(labels):
    """With 20,000 items the prior is forgotten: posterior means are within .02 of Dawid and Skene's estimate."""
    table = crowd(labels, 20_000)
    flat = fitted(table, "hybrid-confusion", prior=adjudge.Prior(trust=0), run=adjudge.Run(2, 200, 1_000))
    likely = adjudge.fit(table, "dawid-skene")
    np.testing.assert_allclose(flat.params.confusion, likely.params.confusion, atol=0.02)
    np.testing.assert_allclose(flat.params.prevalence, likely.params.prevalence, atol=0.02)
    assert np.sqrt(np.square(flat.posterior - likely.posterior).mean()) < 0.005


@pytest.mark.parametrize("labels", [2, 3])
def test_an_infinitely_strong_prior_gives_all_judges_one_matrix(labels):
    """Under pseudo-counts of a billion times single-confusion's matrix, posteriors are single-confusion's."""
    table = crowd(labels, 2_000)
    single = adjudge.fit(table, "single-confusion", tolerance=1e-12)
    strong = adjudge.Prior(rows=tuple(map(tuple, 1e9 * single.params.population)))
    mode = adjudge.fit(table, "hybrid-confusion", inference="map", prior=strong, tolerance=1e-12)
    np.testing.assert_allclose(mode.params.confusion, single.params.confusion, atol=1e-5)
    np.testing.assert_allclose(mode.posterior, single.posterior, atol=1e-4)
    drawn = fitted(table, "hybrid-confusion", prior=strong, run=adjudge.Run(2, 50, 300))
    np.testing.assert_allclose(drawn.params.confusion, single.params.confusion, atol=1e-4)
    np.testing.assert_allclose(drawn.posterior, single.posterior, atol=0.01)  # where prevalence is drawn as well


def test_a_population_of_equals_is_one_judge():
    """With every kappa at least a million, all judges have one matrix, and posteriors are near single-confusion's."""
    table = crowd(3, 2_000)
    single = adjudge.fit(table, "single-confusion")
    alike = fitted(table, "hierarchical", prior=adjudge.Prior(least=1e6), run=adjudge.Run(2, 200, 400))
    assert (alike.draws.kappa >= 1e6).all()
    assert np.ptp(alike.draws.confusion, axis=2).max() < 0.01  # between judges, in any draw
    np.testing.assert_allclose(alike.params.confusion, single.params.confusion, atol=0.01)
    np.testing.assert_allclose(alike.posterior, single.posterior, atol=0.03)


ROWS = [  # item, topic, judge, label
    ("a", "s", "x", 1),
    ("a", "s", "y", 1),
    ("a", "s", "z", 0),
    ("b", "s", "x", 0),
    ("b", "s", "y", 0),
    ("b", "s", "z", 0),
    ("c", "t", "x", 1),
    ("c", "t", "y", 0),
    ("c", "t", "y", 1),  # this judge gave both labels
    ("d", "t", "x", 1),
    ("d", "t", "z", 1),
]
LEAST = 0.5
GRID = 150


def betas(hits, misses):
    """Return the evidence of rows of hits and misses, and means of what paper 000 says of their population.

    Rates ~ Beta(kappa phi, kappa (1 - phi)), integrated out; phi ~ Beta(1, 1) and kappa ~ Pareto(1.5, 0.5) on a grid.
    """
    phi = ((np.arange(GRID) + 0.5) / GRID)[:, None]
    kappa = LEAST * ((np.arange(GRID) + 0.5) / GRID) ** (-1 / 1.5)  # equal steps of Pareto's distribution
    a, b = kappa * phi, kappa * (1 - phi)
    logs = sum(betaln(a + h, b + m) - betaln(a, b) for h, m in zip(hits, misses, strict=True))
    weight = np.exp(logs)
    rates = [(weight * (a + h) / (a + b + h + m)).sum() for h, m in zip(hits, misses, strict=True)]
    means = np.array([(weight * phi).sum(), (weight * np.log(kappa)).sum(), *rates]) / weight.sum()
    return weight.mean(), means


@pytest.mark.parametrize("gold", [{"a": 1}, {"b": 0}, {"b": 0, "c": 0}])
@pytest.mark.parametrize("informs", [True, False])
def test_two_labels_are_the_betas_of_the_paper(gold, informs):
    """Every mean is that of the printed model: sensitivity and specificity, by a sum over all truths and a grid."""
    frame = pl.DataFrame(ROWS, schema=["item", "topic", "judge", "label"], orient="row")
    item, topic = [frame[name].to_numpy() for name in ("item", "topic")]
    judge, label = frame["judge"].to_numpy(), frame["label"].to_numpy()
    items, judges, topics = (np.unique(column) for column in (item, judge, topic))
    of_item = np.array([topic[item == name][0] for name in items])
    weights, means = [], []
    for truths in product(range(2), repeat=4):
        if any(truths[list(items).index(name)] != truth for name, truth in gold.items()):
            continue
        z = np.array(truths)
        result = z[np.searchsorted(items, item)]  # the truth of what each judgment is about
        counts = informs | ~np.isin(items, list(gold))
        tables = [
            ([((judge == j) & (result == k) & (label == k)).sum() for j in judges],
             [((judge == j) & (result == k) & (label != k)).sum() for j in judges])
            for k in range(2)
        ]  # fmt: skip
        tables.append([((of_item == t) & (z == k) & counts).sum() for t in topics] for k in (1, 0))
        outcome = [betas(*table) for table in tables]
        weights.append(np.prod([evidence for evidence, _ in outcome]))
        means.append(np.concatenate([z, *(mean for _, mean in outcome)]))
    expected = np.average(means, axis=0, weights=weights)

    fit = fitted(
        adjudge.read(frame, item="item", judge="judge", topic="topic"),
        "hierarchical",
        {name: str(truth) for name, truth in gold.items()},
        prior=adjudge.Prior(least=LEAST, gold_informs=informs),
        run=adjudge.Run(4, 200, 2_500),
        seed=3,
    )
    assert fit.items.to_list() == items.tolist()
    draws = fit.draws
    parts = [
        part
        for k in (0, 1)  # specificity, sensitivity
        for part in (draws.phi[..., k, k], np.log(draws.kappa[..., k]), draws.confusion[..., k, k])
    ]
    parts += [draws.phi[..., 2, 1], np.log(draws.kappa[..., 2]), draws.prevalence[..., 1]]
    ours = np.concatenate([part.reshape(*part.shape[:2], -1) for part in parts], axis=2)
    error = mean_error(ours)
    z = (ours.mean(axis=(0, 1)) - expected[4:]) / error
    assert np.abs(z).max() < 4.2, np.round(z, 1)  # 16 means of six settings, all of which pass 999 times of 1,000
    between = draws.probability[..., 1].std(axis=0, ddof=1) / 2  # the errors of the mean of four chains
    assert (np.abs(fit.posterior[:, 1] - expected[:4]) < 0.004 + 8 * between).all()
