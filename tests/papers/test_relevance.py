"""Paper 000 on its own data: E[z] as its author submitted it, spam coders who change nothing, and JAGS's posteriors."""

import math
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import adjudge
from adjudge.errors import AdjudgeWarning
from adjudge.inference.chains import NOWHERE
from adjudge.inference.convergence import mean_error
from adjudge.inference.gibbs import of_gold
from adjudge.kernels.sweep import Sweep
from adjudge.kernels.truth import truth_posterior

DRAWS = 1_000  # of each of his three chains
OURS = adjudge.Run(4, 300, 1_000)


def fitted(*given, **named):
    """Return a fit whose chains may fall short of 400 effective draws."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(the chains|label switching)", AdjudgeWarning)
        return adjudge.fit(*given, **named)


def log_density(place, sums, rows):
    """Return that of (logit phi, log kappa) given rows of betas, by the sums of their logs."""
    if place[1] < math.log(0.1):
        return -math.inf
    phi, kappa = 1 / (1 + math.exp(-place[0])), math.exp(place[1])
    a, b = kappa * phi, kappa * (1 - phi)
    same = rows * (math.lgamma(kappa) - math.lgamma(a) - math.lgamma(b)) + a * sums[1] + b * sums[0]
    return same - 1.5 * place[1] + math.log(phi) + math.log1p(-phi)


def sliced(place, which, sums, rows, rng):
    """Return a place with one coordinate drawn, by stepping out and shrinking (Neal 2003)."""
    at = lambda value: log_density([value, place[1]] if which == 0 else [place[0], value], sums, rows)  # noqa: E731
    floor, low = at(place[which]) - rng.standard_exponential(), place[which] - 0.5 * rng.random()
    high = low + 0.5
    while at(low) > floor:
        low -= 0.5
    while at(high) > floor:
        high += 0.5
    while True:
        after = rng.uniform(low, high)
        if at(after) > floor:
            return [after, place[1]] if which == 0 else [place[0], after]
        low, high = (after, high) if after < place[which] else (low, after)


def as_jags(fit, judgments, chain):
    """Return what a plain chain has for E[z]: everything drawn in turn given all the rest, nothing integrated out."""
    block, rng = judgments.block(fit.gold, by_topic=True), np.random.default_rng([7, chain])
    prevalence, confusion = fit.draws.prevalence[chain, -1], fit.draws.confusion[chain, -1]
    phi, kappa = fit.draws.phi[chain, -1, :, 1], fit.draws.kappa[chain, -1]
    places = [[math.log(f / (1 - f)), math.log(k)] for f, k in zip(phi, kappa, strict=True)]
    reference, probability = of_gold(block, len(fit.topics)), np.zeros(fit.posterior.shape)
    for sweeps in range(50 + DRAWS):
        tally = Sweep(block)(prevalence, confusion, rng, probability if sweeps >= 50 else NOWHERE)
        rows = []
        for p, counts in enumerate((*tally.label.transpose(1, 0, 2), tally.truth - reference)):
            share = 1 / (1 + math.exp(-places[p][0]))
            gamma = rng.standard_gamma(math.exp(places[p][1]) * np.array([1 - share, share]) + counts)
            rows.append(np.maximum(gamma / gamma.sum(axis=1, keepdims=True), 1e-300))
            sums = np.log(rows[p]).sum(axis=0)
            for which in (0, 1):
                places[p] = sliced(places[p], which, sums, len(counts), rng)
        confusion, prevalence = np.stack(rows[:2], axis=1), rows[2]
    return probability[:, 1] / DRAWS


def expected_square(fit, judgments):
    """Return the mean square that each item's difference should have, by Monte Carlo error alone, least and most (I).

    Ours is a mean of p(truth | rest), its error seen in how chains differ. His is a mean of drawn truths z, in chains
    that mix as plain ones do. Where z and the params are drawn in turn, cov(z[m], z[m + l]) = cov(p[m], p[m + l - 1]),
    so that var(mean z) = var(mean p) + (var z + var p) / M. JAGS knows no conjugate draw of a rate in a mixture and
    slices (so says its list of samplers): at most, we take his chains to be worth half as much as plain ones.
    """
    posterior, chains = fit.posterior[:, 1], fit.draws.probability[:, :, 1]
    his = np.var([as_jags(fit, judgments, chain) for chain in range(3)], axis=0, ddof=1)  # of one chain
    block = judgments.block(fit.gold, by_topic=True)
    some = np.linspace(0, fit.draws.kappa.shape[1] - 1, 8).astype(int)
    drawn = [
        truth_posterior(block, fit.draws.prevalence[c, d], fit.draws.confusion[c, d])[0][:, 1]
        for c in range(chains.shape[0])
        for d in some
    ]
    var_p, var_z = np.var(drawn, axis=0), posterior * (1 - posterior)
    least = chains.var(axis=0, ddof=1) / chains.shape[0] + his / 3 + (var_z + var_p) / (3 * DRAWS)
    return least, least + his / 3


@pytest.mark.parametrize(("column", "semi"), [("unsup_p", False), ("semisup_p", True)])
def test_expected_truths_are_those_submitted(column, semi, shared):
    """E[z] of 19,033 pairs, unsupervised and with 2,275 truths known, differ by Monte Carlo error.

    He let gold fix truths, and not inform prevalence.
    """
    folder = shared("data/trec2011_task2")
    judgments = adjudge.read(str(folder / "labels.csv"), topic="topic")
    gold = str(folder / "gold.csv") if semi else None
    fit = fitted(judgments, "hierarchical", gold, run=OURS, prior=adjudge.Prior(gold_informs=False), seed=1)
    table = pl.read_csv(folder / "reference_lingpipe.csv")
    theirs = dict(zip(table["item"], table[column], strict=True))
    difference = fit.posterior[:, 1] - np.array([theirs[item] for item in fit.items])
    if semi:
        assert not difference[fit.gold >= 0].any()
    open_ = np.ones(len(fit.items), bool) if fit.gold is None else fit.gold < 0
    least, most = (expected[open_] for expected in expected_square(fit, judgments))
    observed = np.square(difference[open_]).mean()
    assert 0.85 * least.mean() < observed < 1.15 * most.mean(), (observed, least.mean(), most.mean())
    z = difference[open_] / np.sqrt(most + 1e-9)
    assert 0.85 < z.std() < 1.15, z.std()
    assert abs(difference.mean()) < 0.002


def test_gold_that_informs_is_not_what_was_submitted(shared):
    """The comparison can fail: let gold inform prevalence, and the difference is several times the error."""
    folder = shared("data/trec2011_task2")
    judgments = adjudge.read(str(folder / "labels.csv"), topic="topic")
    fit = fitted(judgments, "hierarchical", str(folder / "gold.csv"), run=adjudge.Run(3, 200, 300), seed=1)
    table = pl.read_csv(folder / "reference_lingpipe.csv")
    theirs = dict(zip(table["item"], table["semisup_p"], strict=True))
    difference = fit.posterior[:, 1] - np.array([theirs[item] for item in fit.items])
    assert np.sqrt(np.square(difference).mean()) > 0.02  # .007 where it does not


def with_spam(seed=0):
    """Return judgments of three judges, and the same with a fourth who says anything of everything."""
    rng = np.random.default_rng(seed)
    rows = [(f"i{i}", f"t{i % 2}", judge, int(rng.random() < 0.5)) for i in range(40) for judge in "abc"]
    spam = [(f"i{i}", f"t{i % 2}", "spam", int(rng.random() < 0.3)) for i in range(40)]
    tables = (
        pl.DataFrame(part, schema=["item", "topic", "judge", "label"], orient="row") for part in (rows, rows + spam)
    )
    return [adjudge.read(table, item="item", judge="judge", topic="topic", labels=[0, 1]) for table in tables]


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.5, 1.0])
def test_a_judge_at_chance_changes_no_posterior(rate):
    """Where sensitivity is one minus specificity, p(label | truth) is the same for both truths (section 8)."""
    alone, together = with_spam()
    fit = fitted(together, "hierarchical", run=adjudge.Run(2, 50, 50))
    position = together.judges.to_list().index("spam")
    confusion = fit.params.confusion.copy()
    confusion[position] = [1 - rate, rate]  # whatever is true
    reference = replace(fit, params=fit.params._replace(confusion=confusion))
    np.testing.assert_allclose(
        adjudge.predict(reference, alone).posterior, adjudge.predict(reference, together).posterior, atol=1e-12
    )


def test_a_judge_at_chance_changes_no_draw():
    """A sweep draws the same truths, and counts the same for all others, whatever the judge answers."""
    alone, together = with_spam()
    rng = np.random.default_rng(1)
    prevalence, confusion = rng.dirichlet([1, 1], 2), rng.dirichlet([1, 1], (4, 2))
    confusion[3] = [0.7, 0.3]
    assert together.judges.to_list() == ["a", "b", "c", "spam"]
    collected = []
    for table in (alone, together):
        probability = np.zeros((40, 2))
        judges = len(table.judges)
        tally = Sweep(table.block(by_topic=True))(prevalence, confusion[:judges], np.random.default_rng(5), probability)
        collected.append((probability, tally.truth, tally.label[:3]))
    for without, beside in zip(*collected, strict=True):
        np.testing.assert_allclose(without, beside, atol=1e-12)


def test_all_parameters_are_those_of_jags(shared):
    """Of 1,630 means of theta, pi, phi and kappa none is further from JAGS's than errors allow, all taken together."""
    folder = shared("reference/jags_relevance")
    judgments = adjudge.read(str(folder / "labels.csv"), topic="topic")
    fit = fitted(judgments, "hierarchical", prior=adjudge.Prior(least=1.0), run=adjudge.Run(3, 300, 700), seed=2)
    draws, table = fit.draws, pl.read_csv(folder / "parameters.csv")
    position = {f"judge {name}": j for j, name in enumerate(fit.judge_names.cast(str))}
    position |= {f"topic {name}": t for t, name in enumerate(fit.topics.cast(str))}
    population = {"0": (0, 0), "1": (1, 1), "pi": (2, 1)}  # specificity, sensitivity, prevalence

    def drawn(parameter):
        name, _, index = parameter.rstrip("]").partition("[")
        kind, _, which = name.partition("_")
        if kind == "theta":
            return draws.confusion[:, :, position[f"judge {int(index) - 1}"], int(which), int(which)]
        if kind == "pi":
            return draws.prevalence[:, :, position[f"topic {int(index) - 1}"], 1]
        p, k = population[which]
        return draws.phi[:, :, p, k] if kind == "phi" else draws.kappa[:, :, p]

    ours = np.stack([drawn(parameter) for parameter in table["parameter"]], axis=2)
    assert ours.shape[2] == 6 + 100 + 2 * 762
    error = np.hypot(mean_error(ours), table["mcse"].to_numpy())
    z = (ours.mean(axis=(0, 1)) - table["mean"].to_numpy()) / error
    assert np.abs(z).max() < 1.15 * norm.isf(1e-3 / (2 * z.size))  # errors by batch means are rough themselves
    assert 0.8 < z.std() < 1.2
    spread = ours.std(axis=(0, 1)) / table["sd"].to_numpy()
    assert np.abs(spread[:6] - 1).max() < 0.15
    assert np.abs(np.median(spread) - 1) < 0.01
