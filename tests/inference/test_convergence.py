"""R-hat, effective sample sizes and Monte Carlo errors, against ArviZ and against what they must see."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from adjudge.inference.convergence import (
    autocovariance,
    bulk_ess,
    convergence,
    effective,
    folded,
    mean_error,
    r_hat,
    split,
    tail_ess,
)


def walk(memory, chains=4, draws=1_000, seed=0):
    """Return draws of first-order autoregressions."""
    noise = np.random.default_rng(seed).normal(size=(chains, draws))
    draw = np.zeros((chains, draws))
    for t in range(1, draws):
        draw[:, t] = memory * draw[:, t - 1] + noise[:, t]
    return draw


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.95, -0.4])
@pytest.mark.parametrize("draws", [1_000, 101, 20])
def test_all_are_those_of_arviz(memory, draws):
    """To ten digits, for chains that hardly move and for those that swing."""
    x = walk(memory, draws=draws)
    x[0] += 0.2
    ours = [r_hat(x), bulk_ess(x), tail_ess(x), mean_error(x)]
    theirs = [
        array_stats.rhat(x),
        array_stats.ess(x, method="bulk"),
        array_stats.ess(x, method="tail", prob=(0.05, 0.95)),
        array_stats.mcse(x, method="mean"),
    ]
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_many_at_once_are_each_on_its_own():
    """An array of parameters gives the numbers of every one."""
    x = np.stack([walk(m) for m in (0.0, 0.3, 0.9, 0.5)], axis=2).reshape(4, 1_000, 2, 2)
    np.testing.assert_allclose(bulk_ess(x)[1, 0], bulk_ess(x[:, :, 1, 0]))
    assert r_hat(x).shape == tail_ess(x).shape == mean_error(x).shape == (2, 2)


def test_chains_in_other_places_or_of_other_spread_are_seen():
    """A chain off by one deviation, or three times as wide, has an R-hat well above 1.01."""
    x = walk(0.0)
    off, wide = x.copy(), x.copy()
    off[2] += 1
    wide[2] *= 3
    assert r_hat(x) < 1.01 < 1.05 < min(r_hat(off), r_hat(wide))


def test_a_chain_that_drifts_is_seen():
    """Halves of one chain differ, though its mean is as the others'."""
    x = walk(0.0)
    x += np.linspace(-1, 1, 1_000)
    assert r_hat(x) > 1.1


def test_what_never_moves_has_no_r_hat():
    """All draws the same: nothing to tell, and no warning."""
    x = np.ones((3, 50))
    assert np.isnan(r_hat(x))
    assert bulk_ess(x) == 150


def test_splitting_and_folding():
    """Halves of an odd chain leave the middle out; distances are from the median of all."""
    x = np.arange(10.0).reshape(2, 5)
    assert split(x).tolist() == [[0, 1], [5, 6], [3, 4], [8, 9]]
    assert folded(x)[0].tolist() == [4.5, 3.5, 2.5, 1.5, 0.5]


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_too_few_draws_say_nothing(draws):
    """Not a number, and no warning: Ctrl-C may leave as few."""
    few = np.random.default_rng(0).normal(size=(3, draws, 2))
    for measure in (r_hat, bulk_ess, tail_ess, mean_error):
        assert np.isnan(measure(few)).all()
    assert not convergence({"few": few}).good


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
