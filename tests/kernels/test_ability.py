"""The most likely ability, against a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from adjudge.kernels.ability import abilities

EASE = np.exp(np.linspace(-3.5, 5.5, 9))


def loss(ability, right, wrong, mean, precision):
    """Return minus the log posterior of an ability."""
    odds = ability * EASE
    likelihood = -(right * np.logaddexp(0, -odds)).sum() - (wrong * np.logaddexp(0, odds)).sum()
    return -(likelihood - precision / 2 * (ability - mean) ** 2)


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_maximum(seed):
    """Few or many judgments, good or bad judges, easy or hard items: the optimiser finds nothing better."""
    rng = np.random.default_rng(seed)
    right, wrong = rng.gamma(0.3, 10 ** rng.uniform(-2, 3), (2, 9))
    right *= 10 ** rng.uniform(-3, 3)
    found = abilities(right[None], wrong[None], EASE, 1.0, 1.0)[0]
    best = minimize_scalar(
        loss, bounds=(-60, 60), args=(right, wrong, 1.0, 1.0), method="bounded", options={"xatol": 1e-9}
    )
    assert loss(found, right, wrong, 1.0, 1.0) <= best.fun + 1e-9 * abs(best.fun)


def test_newton_does_not_bounce_for_ever():
    """Counts on which plain Newton steps go to and fro between -3.5 and 1."""
    right = np.array([5.7e-6, 6.5e-4, 8.5e-3, 1.5e-2, 7.3e-4, 6.4e-9, 0, 0, 0])
    wrong = np.array([6.1e-6, 8.4e-4, 1.9e-2, 0.15, 0.42, 0.3, 0.077, 5.7e-3, 4.7e-5])
    assert abilities(right[None], wrong[None], EASE, 1.0, 1.0)[0] == pytest.approx(-0.15, abs=0.02)


def test_nothing_known_is_the_prior():
    """A judge without judgments has the prior's mean."""
    assert abilities(np.zeros((1, 9)), np.zeros((1, 9)), EASE, 1.0, 1.0).tolist() == [1.0]
