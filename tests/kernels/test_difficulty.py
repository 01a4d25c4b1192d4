"""Items of differing difficulty: states, sweeps over them, and draws and modes of judges' rows."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import chisquare

import adjudge
from adjudge.kernels import difficulty
from adjudge.kernels.conjugate import Pareto
from adjudge.kernels.difficulty import GRID, POINTS, SHARES
from adjudge.kernels.family_effects import StateSweep
from adjudge.kernels.sweep import new_key, random_bits
from adjudge.kernels.truth import truth_posterior

NOWHERE = np.empty((0, 0))


def block_of(labels=3, seed=0, **sizes):
    """Return the block and the matrices of a simulated crowd."""
    crowd = adjudge.simulate("dawid-skene", seed, labels=labels, **{"items": 60, "judges": 8, "per_item": 5, **sizes})
    return crowd.judgments.block(), crowd.prevalence, np.ascontiguousarray(crowd.confusion)


def logistic_normal(u, middle, spread):
    """Return the logistic of a normal variable, times its density."""
    return expit(middle + spread * u) * np.exp(-u * u / 2) / np.sqrt(2 * np.pi)


def bits(block, seed=0):
    """Return random bits for every item."""
    return random_bits(new_key(np.random.default_rng(seed)), 0, block.topic.size)


def test_the_grid_is_nearly_a_standard_normal_distribution():
    """Its mean is 0, its variance 1, and the mean of a logistic is that of a normal variable."""
    assert SHARES.sum() == pytest.approx(1)
    assert pytest.approx(0) == SHARES @ POINTS
    assert pytest.approx(1) == SHARES @ POINTS**2
    for middle, spread in ((0.5, 1.0), (2.0, 1.7)):
        exact = quad(logistic_normal, -9, 9, args=(middle, spread))[0]
        assert expit(middle + spread * POINTS) @ SHARES == pytest.approx(exact, abs=3e-3)


@pytest.mark.parametrize("spread", [0.0, 0.6, 1.7])
def test_rows_keep_the_accuracy_of_judges(spread):
    """Averaged over items, a judge is as often right as without difficulty; wrong labels keep their shares."""
    _, _, confusion = block_of()
    rows = difficulty.state_rows(confusion, spread).reshape(8, 3, GRID, 3)
    np.testing.assert_allclose(rows.sum(axis=3), 1)
    mean = np.einsum("jkgl,g->jkl", rows, SHARES)
    np.testing.assert_allclose(np.einsum("jkk->jk", mean), np.einsum("jkk->jk", confusion), atol=0.012)
    for g in range(GRID):
        ratio, before = rows[:, 0, g, 1] / rows[:, 0, g, 2], confusion[:, 0, 1] / confusion[:, 0, 2]
        np.testing.assert_allclose(ratio, before)
    right = np.einsum("jkgk->jkg", rows)
    if spread:
        assert (np.diff(right, axis=2) > 0).all()
    shift = logit(right) - difficulty.stretch(spread) * logit(np.einsum("jkk->jk", confusion))[..., None]
    np.testing.assert_allclose(shift, np.broadcast_to(spread * POINTS, shift.shape), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [2, 3])
def test_a_sweep_has_the_posterior_of_the_states(labels, weighted):
    """p(truth | rest) and the evidence are those of Bayes' rule over all states; gold keeps its truth."""
    block, prevalence, confusion = block_of(labels)
    gold = np.where(np.arange(block.topic.size) < 10, 1, -1).astype(np.int32)
    block = block._replace(gold=gold)
    if weighted:
        block = block._replace(weight=np.tile([1.0, 2.0, 0.5], block.cell.size)[: block.cell.size])
    probability, drawn = np.zeros((block.topic.size, labels)), np.empty(block.topic.size, np.int32)
    counts = difficulty.sweep_states(block, prevalence, confusion, 0.8, bits(block), probability, drawn)
    rows, side = difficulty.state_rows(confusion, 0.8), difficulty.state_labels(labels)
    posterior, evidence = truth_posterior(block, difficulty.state_prior(prevalence), rows, side)
    np.testing.assert_allclose(probability, posterior.reshape(-1, labels, GRID).sum(axis=2), atol=1e-12)
    assert counts.evidence == pytest.approx(evidence)
    assert (drawn[:10] == 1).all()
    np.testing.assert_array_equal(counts.truth[0], np.bincount(drawn, minlength=labels))
    weight = block.weight if weighted else np.ones(block.cell.size)
    assert counts.label.sum() == pytest.approx(weight.sum())
    given = np.bincount(block.cell, weight, minlength=8 * labels).reshape(8, labels)
    np.testing.assert_allclose(counts.label.sum(axis=(2, 3)), given)


def test_many_judgments_of_an_item_do_not_underflow():
    """An item with 3,000 judgments has a posterior, and the evidence is finite."""
    block, prevalence, confusion = block_of(2, items=4, judges=3_000, per_item=3_000)
    probability = np.zeros((4, 2))
    counts = difficulty.sweep_states(block, prevalence, confusion, 1.0, bits(block), probability)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    rows = difficulty.state_rows(confusion, 1.0)
    evidence = truth_posterior(block, difficulty.state_prior(prevalence), rows, difficulty.state_labels(2))[1]
    assert counts.evidence == pytest.approx(evidence)


def test_draws_of_states_follow_their_posterior():
    """Over many keys, truths are drawn as often as their probability says."""
    block, prevalence, confusion = block_of(2, items=30)
    probability, times = np.zeros((30, 2)), np.zeros(30)
    for seed in range(400):
        drawn = np.empty(30, np.int32)
        difficulty.sweep_states(block, prevalence, confusion, 1.0, bits(block, seed), probability, drawn)
        times += drawn
    error = np.sqrt(probability[:, 1] * probability[:, 0]) / 400  # standard errors of the shares, times root 400
    assert (np.abs(times - probability[:, 1]) < 4.5 * np.sqrt(400) * error + 1).all()


def test_without_spread_rows_are_conjugate():
    """With a spread of 0, the diagonal is drawn from the beta distribution of its counts, and so are wrong labels."""
    rng, counts = np.random.default_rng(1), np.zeros((1, 3, 3, GRID))
    counts[0, :, 0] = np.array([12.0, 4.0, 2.0])[:, None] / GRID
    pseudo, drawn = np.full((3, 3), 1.5), []
    confusion = np.full((1, 3, 3), 1 / 3)
    for _ in range(4_000):
        confusion = difficulty.draw_rows(counts, pseudo, confusion, 0.0, rng)
        drawn.append(confusion[0, 0])
    a = np.array([13.5, 5.5, 3.5])
    np.testing.assert_allclose(np.mean(drawn, axis=0), a / a.sum(), atol=0.01)
    variance = a * (a.sum() - a) / (a.sum() ** 2 * (a.sum() + 1))
    np.testing.assert_allclose(np.var(drawn, axis=0), variance, rtol=0.15)


def test_log_odds_are_drawn_from_their_density():
    """With effects, the mean of the drawn diagonal is that of the density, integrated."""
    rng, counts = np.random.default_rng(2), np.zeros((1, 2, 2, GRID))
    counts[0, 0, 0] = np.arange(GRID)  # right more often on easy items
    counts[0, 1, 0] = GRID - np.arange(GRID)
    pseudo, spread, confusion, drawn = np.array([[4.0, 1], [1, 4]]), 1.2, np.full((1, 2, 2), 0.5), []
    for _ in range(4_000):
        confusion = difficulty.draw_rows(counts, pseudo, confusion, spread, rng)
        drawn.append(confusion[0, 0, 0])
    x = np.linspace(-8, 8, 4_001)
    p = expit(difficulty.stretch(spread) * x[:, None] + spread * POINTS)
    logs = (counts[0, 0, 0] * np.log(p) + counts[0, 1, 0] * np.log(1 - p)).sum(axis=1)
    density = np.exp(logs + 4 * np.log(expit(x)) + np.log(expit(-x)) - logs.max())
    assert np.mean(drawn) == pytest.approx(density @ expit(x) / density.sum(), abs=0.006)
    mode = difficulty.mode_rows(counts, pseudo, confusion, spread)[0, 0, 0]
    at_mode = logs + 3 * np.log(expit(x))  # the density of the probability, not of its log odds
    assert logit(mode) == pytest.approx(x[at_mode.argmax()], abs=0.005)


def test_the_spread_is_found():
    """From the expected counts of a crowd with a known spread, the mode is about that spread."""
    rng = np.random.default_rng(3)
    confusion = np.tile([[0.8, 0.2], [0.25, 0.75]], (40, 1, 1))
    rows = difficulty.state_rows(confusion, 1.1).reshape(40, 2, GRID, 2)
    counts = np.stack([rng.poisson(200 * SHARES * rows[..., k]) for k in range(2)], axis=1).astype(float)
    rows, spread = difficulty.mode_rows_and_spread(counts, np.ones((2, 2)), np.full_like(confusion, 0.5), 0.3)
    np.testing.assert_allclose(rows, confusion, atol=0.12)
    assert spread == pytest.approx(1.1, abs=0.05)


@pytest.mark.parametrize("labels", [2, 3])
def test_populations_are_drawn_around_the_rows(labels):
    """Of many judges with many judgments, phi is near the mean of their rows, and both kappas near their true values.

    Diagonals have a concentration of 9, and the shares of wrong labels one of 2.
    """
    rng = np.random.default_rng(4)
    phi = np.where(np.eye(labels, dtype=bool), 0.7, 0.3 / (labels - 1))
    right, share = rng.beta(9 * 0.7, 9 * 0.3, (300, labels)), rng.dirichlet(np.ones(labels - 1), (300, labels))
    wrong = share * (1 - right)[..., None]
    confusion = np.stack([np.insert(wrong[:, k], k, right[:, k], axis=1) for k in range(labels)], axis=1)
    rows = difficulty.state_rows(confusion, 0.7).reshape(300, labels, GRID, labels)
    counts = np.moveaxis(rng.poisson(300 * SHARES[:, None] * rows), 3, 1).astype(float)
    alike = np.ones(labels if labels > 2 else 0)
    start = rng.dirichlet(np.ones(labels), (300, labels)), np.full_like(phi, 1 / labels)
    state = difficulty.Populations(*start, np.ones(labels), alike)
    kept = []
    for sweep in range(120):
        state = difficulty.draw_populations(counts, state, 0.7, Pareto(), rng)
        if sweep >= 40:
            kept.append(state)
    np.testing.assert_allclose(np.mean([each.phi for each in kept], axis=0), phi, atol=0.04)
    np.testing.assert_allclose(np.mean([each.kappa for each in kept], axis=0), 9, rtol=0.3)
    np.testing.assert_allclose(np.mean([each.wrong for each in kept], axis=0), np.full(alike.size, 2.0), rtol=0.3)
    np.testing.assert_allclose(np.mean([each.confusion for each in kept], axis=0), confusion, atol=0.15)


def test_populations_of_wrong_labels_are_calibrated():
    """Ranks of a mean, both concentrations and a share among draws are even, if all came from the prior."""
    ranks, spread, judges = [], 0.8, 5
    for seed in range(150):
        rng = np.random.default_rng([7, seed])
        kappa, alike = rng.random(3) ** (-1 / 1.5), rng.random(3) ** (-1 / 1.5)
        own, share = rng.random(3), rng.dirichlet(np.ones(2), 3)
        right = rng.beta(kappa * own, kappa * (1 - own), (judges, 3))
        wrong = np.stack([rng.dirichlet(np.maximum(alike[k] * share[k], 1e-9), judges) for k in range(3)], axis=1)
        wrong *= (1 - right)[..., None]
        confusion = np.stack([np.insert(wrong[:, k], k, right[:, k], axis=1) for k in range(3)], axis=1)
        rows = difficulty.state_rows(confusion, spread).reshape(judges, 3, GRID, 3)
        counts = rng.multinomial(2, rows / rows.sum(axis=3, keepdims=True)).transpose(0, 3, 1, 2).astype(float)
        state = difficulty.Populations(rng.dirichlet(np.ones(3), (judges, 3)), np.full((3, 3), 1 / 3), *np.ones((2, 3)))
        drawn = []
        for sweep in range(100 + 39 * 10):
            state = difficulty.draw_populations(np.ascontiguousarray(counts), state, spread, Pareto(1.5, 1.0), rng)
            if sweep >= 100 and sweep % 10 == 0:
                drawn.append([state.phi[1, 1], state.kappa[1], state.wrong[1], state.confusion[0, 1, 0]])
        ranks.append((np.array(drawn) < [own[1], kappa[1], alike[1], confusion[0, 1, 0]]).sum(axis=0))
    for column in np.array(ranks).T:
        assert chisquare(np.bincount(column // 5, minlength=8)).pvalue > 1e-3 / 4


def test_the_spread_stays_below_its_bound():
    """However unlike items are, the effect never takes the place of the truth."""
    block, prevalence, confusion = block_of(2, items=40)
    rng, spread = np.random.default_rng(5), np.array([1.9])

    def sweep(spreads, key):
        return StateSweep(block).sweep_spreads(prevalence, confusion, spreads, key, NOWHERE)

    for _ in range(200):
        spread, _ = difficulty.draw_spread_and_states(sweep, spread, 40, rng)
        assert 0 <= spread[0] <= difficulty.LARGEST


def test_what_families_share_stays_below_the_bound_of_the_spread():
    """The spread may be larger with families, as long as the part that all families share is not."""
    block, prevalence, confusion = block_of(2, items=40)
    families = StateSweep(block._replace(family=np.array([0, 0, 0, 1, 1, 1, 2, 3], np.int32)))
    rng, spread, kept = np.random.default_rng(5), np.array([2.5, 0.6]), []

    def sweep(spreads, key):
        return families.sweep_spreads(prevalence, confusion, spreads, key, NOWHERE)

    for _ in range(400):
        spread, _ = difficulty.draw_spread_and_states(sweep, spread, 40, rng)
        assert spread[0] >= 0
        assert 0 <= spread[1] <= 1
        assert spread.prod() <= difficulty.LARGEST
        kept.append(spread)
    assert (np.std(kept, axis=0) > 0.05).all()
