"""Dirichlet draws."""

import numpy as np
import pytest
from scipy.stats import beta, kstest

from adjudge.kernels.block import Tally
from adjudge.kernels.conjugate import dirichlet_rows, mirrored_rows, redraw
from adjudge.kernels.population import Pareto, Population, draw_population


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
    one, two = (dirichlet_rows(pseudo, np.random.default_rng(5)) for _ in range(2))
    assert one.shape == (4, 3, 2)
    np.testing.assert_array_equal(one, two)


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
    one, two = (mirrored_rows(pseudo, rows, np.random.default_rng(6)) for _ in range(2))
    assert one.shape == (4, 3, 2)
    np.testing.assert_allclose(one.sum(axis=2), 1)
    np.testing.assert_array_equal(one, two)


def test_it_is_what_draws_one_by_one_are():
    """From one stream: the populations in their order, then judges' rows, then topics'."""
    rng = np.random.default_rng(0)
    tally = Tally(rng.integers(0, 40, (5, 3)) * 1.0, rng.integers(0, 9, (7, 3, 3)) * 1.0, 0.0)
    phi, kappa, prior = rng.dirichlet([2, 2, 2], 4), rng.uniform(1, 9, 4), Pareto(1.5, 0.1)
    found = redraw(tally, phi, kappa, prior, np.random.default_rng(1))
    again = np.random.default_rng(1)
    tables = [*tally.label.transpose(1, 0, 2), tally.truth]
    alone = [
        draw_population(np.ascontiguousarray(table), Population(phi[p], float(kappa[p])), prior, again)
        for p, table in enumerate(tables)
    ]
    np.testing.assert_allclose(found.phi, [one.phi for one in alone])
    np.testing.assert_allclose(found.kappa, [one.kappa for one in alone])
    pseudo = found.kappa[:, None] * found.phi
    np.testing.assert_allclose(found.confusion, dirichlet_rows(pseudo[:-1] + tally.label, again))
    np.testing.assert_allclose(found.prevalence, dirichlet_rows(pseudo[-1] + tally.truth, again))
