"""Autocovariance and effective sample size against sums written out and a known closed form."""

import numpy as np
import pytest

from adjudge.kernels.geyer import autocovariance, effective


def test_autocovariance_is_the_sum_of_products():
    """At every distance, divided by the number of draws."""
    x = np.random.default_rng(0).normal(size=(2, 12, 3))
    away = x - x.mean(axis=1, keepdims=True)
    expected = np.stack([(away[:, : 12 - t] * away[:, t:]).sum(axis=1) / 12 for t in range(12)], axis=1)
    np.testing.assert_allclose(autocovariance(x), expected, atol=1e-12)


@pytest.mark.parametrize("memory", [0.0, 0.6, 0.9])
def test_autoregressions_have_their_known_size(memory):
    """A first-order autoregression of N draws is worth N (1 - r) / (1 + r)."""
    rng, draws = np.random.default_rng(1), 60_000
    x = np.zeros((4, draws, 1))
    x[:, 0] = rng.normal(size=(4, 1)) / np.sqrt(1 - memory**2)
    for t in range(1, draws):
        x[:, t] = memory * x[:, t - 1] + rng.normal(size=(4, 1))
    assert effective(x)[0] == pytest.approx(4 * draws * (1 - memory) / (1 + memory), rel=0.08)
