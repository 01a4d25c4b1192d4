"""Sums in log space against scipy's, and where exponentials overflow."""

import numpy as np
from scipy.special import logsumexp

from adjudge.kernels.logspace import log_sums


def test_sums_are_those_of_scipy():
    """Of numbers of any size, far beyond what an exponential holds."""
    rows = np.random.default_rng(0).normal(size=(6, 40)) * np.array([[0.1], [1], [30], [900], [1], [1]])
    rows[4] += 5_000
    rows[5] -= 5_000
    np.testing.assert_allclose(log_sums(rows), logsumexp(rows, axis=1), rtol=1e-13)


def test_what_cannot_be_adds_nothing():
    """Minus infinity is the log of zero."""
    assert log_sums(np.array([[0.0, -np.inf, 0.0]]))[0] == np.log(2)
