"""The population of rows: its likelihood against gamma functions, its draws against integration on a grid."""

import numpy as np
import pytest
from scipy.special import gammaln

from adjudge.kernels import population
from adjudge.kernels.population import Pareto, Population, draw_population, log_likelihood


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
    here, draws = Population(np.array([0.5, 0.5]), 1.0), []
    for _ in range(6_000):
        here = draw_population(counts, here, prior, rng)
        draws.append((here.phi[0], np.log(here.kappa)))
    found = np.array(draws[500:])
    for f in range(2):
        blocks = found[:, f].reshape(50, -1).mean(axis=1)
        error = blocks.std(ddof=1) / np.sqrt(50)
        assert abs(found[:, f].mean() - expected[f]) < 4 * error
        assert found[:, f].std() == pytest.approx(spread[f], rel=0.1)


def test_kappa_stays_above_its_bound():
    """Rows as different as can be push kappa down to the least there is, and not below."""
    counts, rng = np.eye(2)[np.arange(40) % 2] * 50, np.random.default_rng(3)
    here, seen = Population(np.array([0.5, 0.5]), 5.0), []
    for _ in range(300):
        here = draw_population(counts, here, Pareto(1.5, 0.3), rng)
        seen.append(here.kappa)
    assert 0.3 <= min(seen) < 0.35


@pytest.mark.parametrize("kappa", [0.5, 3.0, 40.0])
def test_the_series_of_large_counts_is_exact_near_and_left_far(kappa):
    """About where it was made, a twentieth of the least count away, and beyond: always scipy's sum of log gammas."""
    rng = np.random.default_rng(0)
    counts, phi = rng.integers(0, 400, (300, 2)).astype(float), np.array([0.3, 0.7])
    counts[:100] //= 40
    table = population.expand(population.tabulate(counts), np.log(kappa), np.log(phi))
    parts = ((kappa * phi[0], counts[:, 0]), (kappa * phi[1], counts[:, 1]), (kappa, counts.sum(axis=1)))
    for times in (0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0, 30.0):
        for k, (a, n) in enumerate(parts):
            exact = (gammaln(times * a + n) - gammaln(times * a)).sum()
            assert population._rising(times * a, k, table) == pytest.approx(exact, rel=1e-12)
