"""Dirichlet draws, and populations: likelihood against gamma functions, draws against integration on a grid."""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import beta, kstest

from adjudge.kernels import conjugate
from adjudge.kernels.block import Tally
from adjudge.kernels.conjugate import (
    Pareto,
    Population,
    dirichlet_rows,
    draw_population,
    log_likelihood,
    mirrored_rows,
    redraw,
)


def test_means_and_spread_are_those_of_the_distribution():
    """Twenty thousand rows: mean a / s, variance mean (1 - mean) / (s + 1)."""
    pseudo = np.array([0.5, 2.0, 7.5])
    rows = dirichlet_rows(np.tile(pseudo, (20_000, 1)), np.random.default_rng(0))
    mean = pseudo / 10
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    np.testing.assert_allclose(rows.mean(axis=0), mean, atol=0.005)
    np.testing.assert_allclose(rows.var(axis=0), mean * (1 - mean) / 11, rtol=0.05)


def test_tiny_pseudo_counts_give_no_nan():
    """Where every gamma draw underflows, one label has it all, as often as its share says."""
    rows = dirichlet_rows(np.tile([1e-4, 3e-4], (4_000, 1)), np.random.default_rng(1))
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert abs(rows[:, 1].mean() - 0.75) < 0.03


def test_any_shape_and_the_same_seed():
    """Matrices of judges come back in their shape, and the same from the same seed."""
    pseudo = np.random.default_rng(2).random((4, 3, 2)) + 0.5
    first, two = (dirichlet_rows(pseudo, np.random.default_rng(5)) for _ in range(2))
    assert first.shape == (4, 3, 2)
    np.testing.assert_array_equal(first, two)


SHAPES = [[0.5, 2.0, 7.5], [0.7, 0.9], [60.0, 2.0], [3.0, 0.1], [0.3, 0.4], [1.0, 1.0, 1.0]]


@pytest.mark.parametrize("pseudo", SHAPES, ids=str)
@pytest.mark.parametrize("mirrored", [False, True])
def test_rows_have_their_distribution(pseudo, mirrored):
    """Drawn, or drawn and then mirrored twice: every cell is Beta(a, s - a)."""
    rng, all_rows = np.random.default_rng(3), np.tile(pseudo, (50_000, 1))
    rows = dirichlet_rows(all_rows, rng)
    if mirrored:
        rows = mirrored_rows(all_rows, mirrored_rows(all_rows, rows, rng), rng)
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    for k in range(len(pseudo)) if len(pseudo) > 2 else [int(np.argmin(pseudo))]:  # of two, one tells it all
        assert kstest(rows[:, k], beta(pseudo[k], sum(pseudo) - pseudo[k]).cdf).pvalue > 1e-4, k


@pytest.mark.parametrize("pseudo", [[3.0, 5.0], [40.0, 4.0], [2.0, 3.0, 4.0]], ids=str)
def test_mirrored_rows_are_on_the_other_side(pseudo):
    """What was high is low: ranks before and after are nearly reversed."""
    rng, all_rows = np.random.default_rng(4), np.tile(pseudo, (20_000, 1))
    before = dirichlet_rows(all_rows, rng)
    after = mirrored_rows(all_rows, before, rng)
    assert np.corrcoef(before[:, 0], after[:, 0])[0, 1] < -0.6


def test_mirrored_rows_keep_shape_and_seed():
    """Matrices of judges come back in their shape, the same from the same seed, and tiny pseudo-counts give no NaN."""
    pseudo = np.random.default_rng(2).random((4, 3, 2)) * np.array([1e-5, 0.5, 50.0])[:, None]
    rows = dirichlet_rows(pseudo, np.random.default_rng(5))
    first, two = (mirrored_rows(pseudo, rows, np.random.default_rng(6)) for _ in range(2))
    assert first.shape == (4, 3, 2)
    np.testing.assert_allclose(first.sum(axis=2), 1)
    np.testing.assert_array_equal(first, two)


def test_it_is_what_draws_one_by_one_are():
    """From one stream: the populations in their order, then judges' rows, then topics'."""
    rng = np.random.default_rng(0)
    tally = Tally(rng.integers(0, 40, (5, 3)) * 1.0, rng.integers(0, 9, (7, 3, 3)) * 1.0, 0.0)
    phi, kappa, prior = rng.dirichlet([2, 2, 2], 4), rng.uniform(1, 9, 4), Pareto(1.5, 0.1)
    result = redraw(tally, phi, kappa, prior, np.random.default_rng(1))
    again = np.random.default_rng(1)
    tables = [*tally.label.transpose(1, 0, 2), tally.truth]
    alone = [
        draw_population(np.ascontiguousarray(table), Population(phi[p], float(kappa[p])), prior, again)
        for p, table in enumerate(tables)
    ]
    np.testing.assert_allclose(result.phi, [entry.phi for entry in alone])
    np.testing.assert_allclose(result.kappa, [entry.kappa for entry in alone])
    pseudo = result.kappa[:, None] * result.phi
    np.testing.assert_allclose(result.confusion, dirichlet_rows(pseudo[:-1] + tally.label, again))
    np.testing.assert_allclose(result.prevalence, dirichlet_rows(pseudo[-1] + tally.truth, again))


def polya(counts, phi, kappa):
    """Return the log likelihood of rows of counts, written out."""
    a = kappa * np.asarray(phi)
    rows = gammaln(kappa) - gammaln(kappa + counts.sum(axis=1)) + (gammaln(a + counts) - gammaln(a)).sum(axis=1)
    return rows.sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kappa", [0.1, 3.3, 900.0])
def test_likelihood_is_polyas(kappa, weighted):
    """Small counts, large ones, none, and with weights such as are no whole numbers."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 300, (40, 3)) * (rng.random((40, 3)) < 0.6) * (0.37 if weighted else 1.0)
    phi = np.array([0.2, 0.5, 0.3])
    assert log_likelihood(counts, Population(phi, kappa)) == pytest.approx(polya(counts, phi, kappa), rel=1e-11)


def test_draws_have_the_moments_of_their_posterior():
    """Two labels, twelve judges: mean of phi and of log kappa are those of integration over a grid."""
    rng = np.random.default_rng(2)
    theta = rng.beta(8, 2, 12)
    counts = np.array([[n := rng.binomial(30, t), 30 - n] for t in theta], float)
    prior = Pareto(1.5, 0.1)
    phi, log_kappa = np.linspace(0.002, 0.998, 499), np.linspace(np.log(0.1), np.log(2_000), 600)
    logs = np.array([[polya(counts, [p, 1 - p], np.exp(k)) - 1.5 * k for k in log_kappa] for p in phi])
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    expected = mass.sum(axis=1) @ phi, mass.sum(axis=0) @ log_kappa
    spread = (
        np.sqrt(mass.sum(axis=1) @ phi**2 - expected[0] ** 2),
        np.sqrt(mass.sum(axis=0) @ log_kappa**2 - expected[1] ** 2),
    )
    current, draws = Population(np.array([0.5, 0.5]), 1.0), []
    for _ in range(6_000):
        current = draw_population(counts, current, prior, rng)
        draws.append((current.phi[0], np.log(current.kappa)))
    result = np.array(draws[500:])
    for f in range(2):
        blocks = result[:, f].reshape(50, -1).mean(axis=1)
        error = blocks.std(ddof=1) / np.sqrt(50)
        assert abs(result[:, f].mean() - expected[f]) < 4 * error
        assert result[:, f].std() == pytest.approx(spread[f], rel=0.1)


def test_kappa_stays_above_its_bound():
    """Rows as different as can be push kappa down to the least there is, and not below."""
    counts, rng = np.eye(2)[np.arange(40) % 2] * 50, np.random.default_rng(3)
    current, calls = Population(np.array([0.5, 0.5]), 5.0), []
    for _ in range(300):
        current = draw_population(counts, current, Pareto(1.5, 0.3), rng)
        calls.append(current.kappa)
    assert 0.3 <= min(calls) < 0.35


@pytest.mark.parametrize("kappa", [0.5, 3.0, 40.0])
def test_the_series_of_large_counts_is_exact_near_and_left_far(kappa):
    """About where it was made, a twentieth of the least count away, and beyond: always scipy's sum of log gammas."""
    rng = np.random.default_rng(0)
    counts, phi = rng.integers(0, 400, (300, 2)).astype(float), np.array([0.3, 0.7])
    counts[:100] //= 40
    table = conjugate.expand(conjugate.tabulate(counts), np.log(kappa), np.log(phi))
    parts = ((kappa * phi[0], counts[:, 0]), (kappa * phi[1], counts[:, 1]), (kappa, counts.sum(axis=1)))
    for times in (0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0, 30.0):
        for k, (a, n) in enumerate(parts):
            exact = (gammaln(times * a + n) - gammaln(times * a)).sum()
            assert conjugate.rising(times * a, k, table) == pytest.approx(exact, rel=1e-12)
