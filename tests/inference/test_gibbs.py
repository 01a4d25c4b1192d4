"""Gibbs sweeps against enumeration of every truth, and against what JAGS drew."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy.special import gammaln
from scipy.stats import chisquare

import adjudge
from adjudge.inference.chains import Draws, Run, sample
from adjudge.inference.gibbs import (
    Sizes,
    aligned_to,
    diffuse,
    modes,
    settle,
    voted_by_chance,
    with_difficulty,
    with_effects,
    with_populations,
    with_priors,
)
from adjudge.kernels.block import Block
from adjudge.kernels.conjugate import Pareto, Population, log_likelihood
from adjudge.kernels.difficulty import GRID, LARGEST, SHARES, state_rows
from adjudge.kernels.sweep import Sweep
from adjudge.kernels.truth import truth_posterior

ROWS = [("a", "x", 0), ("a", "y", 0), ("b", "x", 1), ("b", "y", 0), ("b", "z", 1), ("c", "x", 1), ("c", "z", 0)]


def drawn(table, step_of, run, topics=1, seed=0):
    """Return the draws of a table's chains."""
    block = table.block(by_topic=topics > 1)
    with ThreadPoolExecutor(2) as pool:
        starts = diffuse(partial(voted_by_chance, block, topics=topics), seed, run.chains)
        return sample(step_of(block), starts, len(table.items), run, seed, pool)


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
    result = drawn(table, lambda _: with_priors(Sweep(block), rows, topics), Run(4, 500, 15_000))
    np.testing.assert_allclose(result.probability.mean(axis=0)[:, 1], p @ np.array(mean), atol=0.006)
    np.testing.assert_allclose(result.prevalence.mean(axis=(0, 1))[0], p @ np.array(share), atol=0.006)


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
    result = drawn(table, lambda block: with_populations(Sweep(block), prior), Run(4, 500, 15_000))
    np.testing.assert_allclose(result.probability.mean(axis=0)[:, 1], p @ np.array(truths), atol=0.02)


def batch_error(draws):
    """Return the Monte Carlo error of the mean of chains (C, D, ...), by means of 20 batches of each."""
    C, D = draws.shape[:2]
    batches = draws[:, : D // 20 * 20].reshape(C * 20, D // 20, *draws.shape[2:]).mean(axis=1)
    return batches.std(axis=0, ddof=1) / np.sqrt(C * 20)


def test_hierarchical_agrees_with_jags(shared):
    """On data of paper 000's size, every phi and kappa is within four Monte Carlo errors of what JAGS found."""
    folder = shared("reference/jags_relevance")
    table = adjudge.read(str(folder / "labels.csv"), topic="topic")
    result = drawn(
        table, lambda block: with_populations(Sweep(block), Pareto(1.5, 1.0)), Run(3, 1_000, 1_000), topics=100
    )
    answer = {row["parameter"]: row for row in pl.read_csv(folder / "parameters.csv").iter_rows(named=True)}
    phi, kappa = result.phi.copy(), result.kappa
    phi[:, :, 0, 1] = result.phi[:, :, 0, 0]  # JAGS has specificity, we the row of truth 0
    for p, name in enumerate(("0", "1", "pi")):
        for draws, parameter in ((phi[:, :, p, 1], f"phi_{name}"), (kappa[:, :, p], f"kappa_{name}")):
            error = np.hypot(batch_error(draws), answer[parameter]["mcse"])
            assert abs(draws.mean() - answer[parameter]["mean"]) < 4 * error, parameter
    items = pl.read_csv(folder / "items.csv")
    expected = dict(zip(items["item"].cast(str), items["p_1"], strict=True))
    ours = result.probability.mean(axis=0)[:, 1]
    difference = ours - np.array([expected[str(name)] for name in table.items])
    assert np.sqrt(np.square(difference).mean()) < 0.01
    assert np.abs(difference).max() < 0.08


REPLICATIONS, KEPT = 300, 39  # ranks run from 0 to 39, in eight bins of five
SURE = 1e-3  # of all tests of a model together, fixed before anything was drawn


def simulated(rng, confusion, prevalence):
    """Return twelve items in two topics, labelled by four judges, and what gold tells of the first four."""
    truth = (rng.random(12) < prevalence[np.arange(12) % 2, 1]).astype(int)
    item, judge = np.repeat(np.arange(12), 4), np.tile(np.arange(4), 12)
    label = (rng.random(48) < confusion[judge, truth[item], 1]).astype(np.uint8)
    return Block(
        np.arange(13) * 4,
        (judge * 2 + label).astype(np.uint32),
        label,
        (np.arange(12) % 2).astype(np.int32),
        np.where(np.arange(12) < 4, truth, -1).astype(np.int32),
        np.empty(0),
        4,
        2,
        np.arange(2.0),
    )


def rank_of(value, draws):
    """Return how many draws lie below the true value, of each parameter."""
    return (draws < value).sum(axis=0)


def assert_uniform(ranks):
    """Assert that the ranks of every parameter (replications, parameters) are evenly spread, all tested together."""
    for p in range(ranks.shape[1]):
        observed = np.bincount(ranks[:, p] // 5, minlength=8)
        assert chisquare(observed).pvalue > SURE / ranks.shape[1], (p, observed)


def one_chain(step, block, seed):
    """Return the draws of one chain that began anywhere."""
    start = diffuse(partial(voted_by_chance, block, topics=2), seed, 1)
    with ThreadPoolExecutor(1) as pool:
        return sample(step, start, 12, Run(1, 150, KEPT, 8), seed, pool)


def test_hybrid_is_calibrated():
    """Params drawn from the prior rank evenly among draws from their posterior (Talts et al. 2018)."""
    rows, topics, ranks = np.ones((2, 2)) + 3 * np.eye(2), np.ones(2), []
    for seed in range(REPLICATIONS):
        rng = np.random.default_rng([1, seed])
        confusion = np.array([[rng.dirichlet(row) for row in rows] for _ in range(4)])
        prevalence = rng.dirichlet(topics, 2)
        block = simulated(rng, confusion, prevalence)
        result = one_chain(with_priors(Sweep(block), rows, topics), block, seed)
        true = [confusion[0, 0, 0], confusion[0, 1, 1], confusion[3, 1, 1], prevalence[0, 1]]
        drawn_ = np.column_stack(
            [*(result.confusion[0][:, j, k, k] for j, k in ((0, 0), (0, 1), (3, 1))), result.prevalence[0][:, 0, 1]]
        )
        ranks.append(rank_of(true, drawn_))
    assert_uniform(np.array(ranks))


def test_hierarchical_is_calibrated():
    """The same, with phi and kappa of all three populations drawn from their priors first."""
    ranks = []
    for seed in range(REPLICATIONS):
        rng = np.random.default_rng([2, seed])
        phi, kappa = rng.dirichlet([1, 1], 3), rng.random(3) ** (-1 / 1.5)  # Pareto(1.5), at least 1
        pseudo = np.maximum(phi * kappa[:, None], 1e-9)
        confusion = np.array([[rng.dirichlet(pseudo[k]) for k in range(2)] for _ in range(4)])
        prevalence = rng.dirichlet(pseudo[2], 2)
        block = simulated(rng, confusion, prevalence)
        result = one_chain(with_populations(Sweep(block), Pareto(1.5, 1.0)), block, seed)
        true = [*phi[:, 1], *kappa, confusion[0, 1, 1], prevalence[0, 1]]
        parts = [
            result.phi[0][:, :, 1],
            result.kappa[0],
            result.confusion[0][:, 0, 1, 1],
            result.prevalence[0][:, 0, 1],
        ]
        ranks.append(rank_of(true, np.column_stack(parts)))
    assert_uniform(np.array(ranks))


def uneven_crowd(rng, confusion, prevalence, spread, shared=1.0):
    """Return a crowd as ``simulated`` does, in which items have effects on the grid, and two families too."""
    block, rows = simulated(rng, confusion, prevalence), state_rows(confusion, spread).reshape(4, 2, GRID, 2)
    truth = (rng.random(12) < prevalence[np.arange(12) % 2, 1]).astype(int)
    effect, item, judge = rng.choice(GRID, 12, p=SHARES), np.repeat(np.arange(12), 4), np.tile(np.arange(4), 12)
    gold, family = np.where(np.arange(12) < 4, truth, -1).astype(np.int32), block.family
    effects = np.column_stack([effect, effect])  # (I, F)
    if shared < 1:
        own = rng.choice(GRID, (12, 2), p=SHARES)
        effects, family = np.where(rng.random((12, 2)) < shared, effects, own), np.array([0, 0, 1, 1], np.int32)
    label = (rng.random(48) < rows[judge, truth[item], effects[item, judge // 2], 1]).astype(np.uint8)
    return block._replace(cell=(judge * 2 + label).astype(np.uint32), label=label, gold=gold, family=family)


def drawn_spread(rng, families):
    """Return a spread from its prior, half-normal and cut off, and, with families, the share that they have of it."""
    while True:
        spread = [abs(rng.standard_normal()), *([rng.random()] if families else [])]
        if np.prod(spread) <= LARGEST:
            return spread


def one_chain_with_effects(step, block, seed):
    """Return the draws of one chain that began at some spread."""
    (start,) = diffuse(partial(voted_by_chance, block, topics=2), seed, 1)
    with ThreadPoolExecutor(1) as pool:
        start = with_effects(start, 0.7, block.family.size > 0)
        return sample(step, [start], 12, Run(1, 150, KEPT, 10), seed, pool)


FAMILIES = pytest.mark.parametrize("families", [False, True], ids=["items", "families"])


@FAMILIES
def test_hybrid_with_difficulty_is_calibrated(families):
    """The same with items of differing difficulty: their spread, matrices and prevalence rank evenly."""
    rows, topics, ranks = np.ones((2, 2)) + 3 * np.eye(2), np.ones(2), []
    for seed in range(REPLICATIONS // 2):
        rng = np.random.default_rng([3, seed])
        confusion = np.array([[rng.dirichlet(row) for row in rows] for _ in range(4)])
        prevalence, spread = rng.dirichlet(topics, 2), drawn_spread(rng, families)
        block = uneven_crowd(rng, confusion, prevalence, *spread)
        result = one_chain_with_effects(with_difficulty(Sweep(block), rows, topics), block, seed)
        true = [confusion[0, 0, 0], confusion[3, 1, 1], prevalence[0, 1], *spread]
        parts = [*(result.confusion[0][:, j, k, k] for j, k in ((0, 0), (3, 1))), result.prevalence[0][:, 0, 1]]
        ranks.append(rank_of(true, np.column_stack([*parts, result.spread[0]])))
    assert_uniform(np.array(ranks))


@FAMILIES
def test_hierarchical_with_difficulty_is_calibrated(families):
    """The same, with phi and kappa of all three populations drawn from their priors first."""
    ranks, prior = [], Pareto(1.5, 1.0)
    for seed in range(REPLICATIONS // 2):
        rng = np.random.default_rng([4, seed])
        phi, kappa = rng.dirichlet([1, 1], 3), rng.random(3) ** (-1 / 1.5)
        pseudo = np.maximum(phi * kappa[:, None], 1e-9)
        confusion = np.array([[rng.dirichlet(pseudo[k]) for k in range(2)] for _ in range(4)])
        prevalence, spread = rng.dirichlet(pseudo[2], 2), drawn_spread(rng, families)
        block = uneven_crowd(rng, confusion, prevalence, *spread)
        result = one_chain_with_effects(with_difficulty(Sweep(block), prior, prior), block, seed)
        true = [*phi[:, 1], *kappa, confusion[0, 1, 1], prevalence[0, 1], *spread]
        parts = [result.phi[0][:, :, 1], result.kappa[0], result.confusion[0][:, 0, 1, 1]]
        ranks.append(rank_of(true, np.column_stack([*parts, result.prevalence[0][:, 0, 1], result.spread[0]])))
    assert_uniform(np.array(ranks))


def test_hybrid_agrees_with_jags(shared):
    """On data of paper 003's size, posterior means of prevalence and of every judge's matrix are those JAGS found."""
    folder = shared("reference/jags_hybrid")
    table = adjudge.read(str(folder / "labels.csv"), label="rating", labels=[str(k) for k in range(5)])
    rows, topics = np.ones((5, 5)) + 3 * np.eye(5), np.ones(5)
    result = drawn(table, lambda block: with_priors(Sweep(block), rows, topics), Run(3, 1_000, 1_000))
    answer = {row["parameter"]: row["mean"] for row in pl.read_csv(folder / "means.csv").iter_rows(named=True)}
    judges = {int(name): j for j, name in enumerate(table.judges)}  # counted from 0, by JAGS from 1
    items = {int(name): i for i, name in enumerate(table.items)}
    ours, theirs = [], []
    for parameter, mean in answer.items():
        name, _, index = parameter.partition("[")
        position = [int(n) - 1 for n in index.rstrip("]").split(",")]
        if name == "p":
            ours.append(result.prevalence[:, :, 0, position[0]].mean())
        elif name == "t":  # the truth of an item, 1 to 5
            ours.append(result.probability.mean(axis=0)[items[position[0]]] @ np.arange(1, 6))
        else:
            ours.append(result.confusion[:, :, judges[position[0]], position[1], position[2]].mean())
        theirs.append(mean)
    difference = np.array(ours) - np.array(theirs)
    assert len(ours) == 5 + 48 + 148 * 25
    assert np.sqrt(np.square(difference).mean()) < 0.008
    assert np.abs(difference).max() < 0.05


def test_starts_are_diffuse_and_by_the_vote():
    """Truths begin where the vote is, gold fixed, by a coin where it ties; chains differ, and not by chance."""
    rows = [("a", "x", 1), ("a", "y", 1), ("b", "x", 0), ("b", "y", 0), ("c", "x", 1), ("c", "y", 0), ("d", "x", 0)]
    rows = [(f"{item}{n}", judge, label) for n in range(200) for item, judge, label in rows]
    table = adjudge.read(
        pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"), item="item", judge="judge"
    )
    gold = np.array([1 if name.startswith("d") else -1 for name in table.items], np.int32)
    block = table.block(gold)
    first, two = diffuse(partial(voted_by_chance, block), 3, 3), diffuse(partial(voted_by_chance, block), 3, 3)
    for start, again in zip(first, two, strict=True):
        for field, same in zip(start, again, strict=True):
            np.testing.assert_array_equal(field, same)
    assert len({float(start.kappa[0]) for start in first}) == 3
    for start in first[::2]:  # of 800 items 200 are voted 0, 200 voted 1, 200 known, and 200 tie
        assert abs(start.prevalence[0, 1] - 500 / 800) < 0.1
        says_one = start.confusion[:, :, 1]  # x: 100 of 500, then 300 of 300; y: none of 300, then 200 of 300
        x, y = (list(table.judges).index(name) for name in "xy")
        assert abs(says_one[x, 1] - 300 / 500) < 0.12
        assert abs(says_one[y, 0] - 0) < 0.12


def test_chains_start_apart():
    """The second chain starts at judges drawn from a population alone, the third at the vote with labels permuted."""
    crowd = adjudge.simulate("dawid-skene", 1, items=300, judges=10, labels=3, accuracy=0.9)
    begin = partial(voted_by_chance, crowd.judgments.block())
    vote, prior, permuted = diffuse(begin, 3, 3, permute=True)
    assert np.einsum("jkk->jk", vote.confusion).mean() > 0.8
    assert np.einsum("jkk->jk", permuted.confusion).mean() < 0.2
    rolled = permuted.confusion[:, np.roll(np.arange(3), -1)]
    assert np.einsum("jkk->jk", rolled).mean() > 0.7
    assert np.abs(prior.confusion - vote.confusion).mean() > 0.05
    named = diffuse(begin, 3, 3)[2]
    assert np.einsum("jkk->jk", named.confusion).mean() > 0.8


def test_settled_chains_have_the_judges_names():
    """A chain from permuted labels is renamed after its first sweeps; with gold, names stay."""
    block = adjudge.simulate("dawid-skene", 1, items=300, judges=10, labels=3, accuracy=0.9).judgments.block()
    begin, run = partial(voted_by_chance, block), Run(3, 100, 10)
    steps = [with_priors(Sweep(block), np.ones((3, 3)), np.ones(3))] * 3
    sizes = Sizes(300, 10, 3, 1, np.bincount(block.cell // 3, minlength=10), gold=False)
    with ThreadPoolExecutor(1) as pool:
        states = settle(steps, diffuse(begin, 3, 3, permute=True), sizes, run, 0, pool)
        kept = settle(steps, diffuse(begin, 3, 3, permute=True), sizes._replace(gold=True), run, 0, pool)
    for state in states:
        assert np.einsum("jkk->jk", state.confusion).mean() > 0.8
    assert np.einsum("jkk->jk", kept[2].confusion).mean() < 0.2


def two_modes(evidence):
    """Return a crowd and three chains of draws, of which the last has other truths: by swapped names, or by chance."""
    crowd = adjudge.simulate("dawid-skene", 2, items=100, judges=6, labels=2, accuracy=0.8)
    block = crowd.judgments.block()
    other = crowd.confusion[:, ::-1] if evidence == "same" else np.full_like(crowd.confusion, 0.5)
    confusion = np.stack([np.tile(matrix, (10, 1, 1, 1)) for matrix in (crowd.confusion, crowd.confusion, other)])
    truths = truth_posterior(block, np.full((1, 2), 0.5), crowd.confusion)[0]
    probability = np.stack([truths, truths, 1 - truths])
    empty = np.empty((3, 10, 0))
    draws = Draws(np.full((3, 10, 1, 2), 0.5), confusion, empty[..., None], empty, probability, True)
    return draws, block


def test_a_chain_in_a_lesser_mode_is_left_out():
    """With how many, and by how much its evidence is lower."""
    draws, block = two_modes("lower")
    kept, note = modes(draws, block)
    assert kept.confusion.shape[0] == kept.probability.shape[0] == 2
    assert note.startswith("1 of 3 chains ended in another mode of the posterior, with a mean log evidence of -")
    assert note.endswith(", and was left out")


def test_modes_of_the_same_evidence_are_kept():
    """Truths that are merely named otherwise have the same evidence: no chain is wrong, and it is said."""
    draws, block = two_modes("same")
    kept, note = modes(draws, block)
    assert kept is draws
    assert note.startswith("the posterior has several modes: chains differ by up to ")


def test_chains_that_agree_have_one_mode():
    """Nothing is left out, and nothing is said."""
    draws, block = two_modes("same")
    same = Draws(*(field[:2] for field in draws[:5]), True)
    assert modes(same, block) == (same, "")


MATRICES = np.array(
    [[[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]], [[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]]
)


def permuted_draws(orders):
    """Return draws of one chain, each with its truths in another order, and a prevalence that tells them apart."""
    confusion = np.array([[MATRICES[:, order] for order in orders]])
    prevalence = np.array([[[np.array([0.5, 0.3, 0.2])[order]] for order in orders]])
    nothing = np.empty((1, len(orders), 0))
    return Draws(prevalence, confusion, nothing[..., None], nothing, np.empty((1, 0, 3)), True)


def test_each_draw_is_named_as_the_matrices_are():
    """Whatever it had swapped on its way, prevalence with it."""
    draws = aligned_to(permuted_draws([[0, 1, 2], [1, 0, 2], [2, 0, 1]]), MATRICES)
    assert (draws.confusion == MATRICES).all()
    assert (draws.prevalence == [0.5, 0.3, 0.2]).all()


def test_draws_that_are_named_so_are_left_alone():
    """Nothing is copied."""
    draws = permuted_draws([[0, 1, 2], [0, 1, 2]])
    assert aligned_to(draws, MATRICES) is draws
