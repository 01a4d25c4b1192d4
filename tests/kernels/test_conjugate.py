"""Dirichlet draws."""

import numpy as np

from adjudge.kernels.conjugate import dirichlet_rows


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
