"""Pareto smoothing against ArviZ, against tails of known shape, and against exact answers that a wrong sign misses."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.special import logsumexp
from scipy.stats import norm

from adjudge.kernels.pareto import smoothed, tail_length


@pytest.mark.parametrize("efficiency", [1.0, 0.6, 0.1])
@pytest.mark.parametrize("draws", [25, 100, 226, 1_000, 3_000])
@pytest.mark.parametrize("scale", [0.01, 0.5, 2.0, 30.0])
def test_weights_and_shapes_are_those_of_arviz(scale, draws, efficiency):
    """To nine digits, for tails from light to hopeless; ArviZ takes the log likelihood and turns its sign itself."""
    logs = np.random.default_rng(0).normal(-50, scale, (5, draws))
    weight, k = smoothed(-logs, efficiency)
    expected_weight, expected_k = array_stats.psislw(logs, r_eff=efficiency, axis=-1)
    np.testing.assert_allclose(weight, expected_weight, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(k, expected_k, rtol=1e-9, atol=1e-9)


def test_draws_that_come_twice_are_those_of_arviz():
    """A chain that stands still for a while gives equal ratios; which of them is smoothed first does not matter."""
    logs = np.repeat(np.random.default_rng(1).normal(size=(3, 500)), 2, axis=1)
    weight, k = smoothed(-logs)
    expected_weight, expected_k = array_stats.psislw(logs, axis=-1)
    np.testing.assert_allclose(k, expected_k, rtol=1e-9)
    np.testing.assert_allclose(np.sort(weight), np.sort(expected_weight), rtol=1e-9)


def test_leaving_out_is_exact_where_it_can_be_written_down():
    """Normal y of unknown mean: p(y_i | others) is normal. With the sign turned, the outlier would look likely."""
    rng = np.random.default_rng(2)
    y = np.r_[rng.normal(size=14), 2.5]
    mean, variance = y.sum() / (15 + 0.01), 1 / (15 + 0.01)  # of mu, given y ~ N(mu, 1) and mu ~ N(0, 100)
    mu = rng.normal(mean, np.sqrt(variance), 40_000)
    logs = norm.logpdf(y[:, None], mu)  # (I, S)
    weight, k = smoothed(-logs)
    elpd = logsumexp(weight + logs, axis=1)
    without = (y.sum() - y) / (14 + 0.01)
    exact = norm.logpdf(y, without, np.sqrt(1 + 1 / (14 + 0.01)))
    np.testing.assert_allclose(elpd, exact, atol=0.004)
    wrong = logsumexp(smoothed(logs).weight + logs, axis=1)
    assert k.max() < 0.5
    assert wrong[-1] - exact[-1] > 0.2  # and k of the wrong sign is fine:
    assert smoothed(logs).k.max() < 0.5


@pytest.mark.parametrize("shape", [0.2, 0.5, 0.9])
def test_known_tails_are_recognised(shape):
    """Ratios u^-k have a tail of shape k, whatever constant the logs lack."""
    u = np.random.default_rng(3).random((20, 20_000))
    k = smoothed(123.4 - shape * np.log(u)).k
    assert k.mean() == pytest.approx(shape, abs=0.05)


def test_weights_sum_to_one_and_the_largest_is_none_larger():
    """Smoothing keeps the order of draws and never goes beyond the largest ratio."""
    ratio = np.random.default_rng(4).normal(size=(4, 800)) * 3
    weight, _ = smoothed(ratio)
    np.testing.assert_allclose(np.exp(weight).sum(axis=1), 1)
    order = np.argsort(ratio, axis=1)
    assert (np.diff(np.take_along_axis(weight, order, axis=1)) >= -1e-12).all()
    below = ratio - np.sort(ratio, axis=1)[:, [-tail_length(800) - 1]] <= 0
    shift = (weight - ratio)[below].reshape(4, -1)
    np.testing.assert_allclose(shift, shift[:, :1] + np.zeros_like(shift))


def test_where_there_is_no_tail_nothing_is_smoothed():
    """Equal ratios, or ratios equal up to rounding: an item nobody judged weighs no draw more than another."""
    ratio = np.zeros((2, 400))
    ratio[1, ::3] = 2e-16
    weight, k = smoothed(ratio)
    assert (k == -np.inf).all()
    np.testing.assert_allclose(weight, -np.log(400))


def test_with_few_draws_nothing_is_trusted():
    """Below 25 draws a tail has less than five; weights are the ratios, and k is infinite."""
    ratio = np.random.default_rng(5).normal(size=(1, 24))
    weight, k = smoothed(ratio)
    assert k[0] == np.inf
    np.testing.assert_allclose(weight, ratio - logsumexp(ratio))
    assert np.isfinite(smoothed(np.random.default_rng(5).normal(size=(1, 25))).k[0])


def test_ratios_too_far_apart_to_fit_are_not_trusted():
    """All but one ratio vanish beside the largest: k is infinite, weights are finite and sum to one."""
    weight, k = smoothed(np.random.default_rng(6).normal(size=(1, 1_000)) * 1e5)
    assert k[0] == np.inf
    assert np.exp(weight).sum() == pytest.approx(1)


def test_what_is_given_is_not_changed():
    """Ratios come back as they were; rows do not know each other."""
    ratio = np.random.default_rng(7).normal(size=(6, 300))
    before = ratio.copy()
    weight, k = smoothed(ratio)
    np.testing.assert_array_equal(ratio, before)
    alone = smoothed(ratio[3:4])
    np.testing.assert_array_equal(weight[3], alone.weight[0])
    assert k[3] == alone.k[0]
