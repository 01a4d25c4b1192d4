"""Many tests at once."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control, norm

from adjudge.diagnostics.false_discovery import empirical_null, q_values


@pytest.mark.parametrize("control", ["bh", "by"])
def test_rates_are_those_of_scipy(control):
    """Both rules."""
    p = np.random.default_rng(0).random(50) ** 3
    np.testing.assert_allclose(q_values(p, control), false_discovery_control(p, method=control))
    assert q_values(np.empty(0)).size == 0


def test_a_crowd_that_is_off_is_what_tests_stand_out_from():
    """Where all lie too high and too widely; never the other way round, and not where there are few."""
    z = np.random.default_rng(1).normal(size=20_000)
    p, centre, spread = empirical_null(norm.sf(0.5 + 1.5 * z))
    assert (centre, spread) == pytest.approx((0.5, 1.5), abs=0.1)
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.01)
    narrow = norm.sf(0.5 * z - 1)
    p, centre, spread = empirical_null(narrow)
    assert (centre, spread) == (0, 1)
    np.testing.assert_allclose(p, narrow)
    assert empirical_null(np.zeros(5))[1:] == (0, 1)
    assert empirical_null(norm.sf(1.3 * z[:25]))[2] < 1.2  # of few, what may be chance is not believed
    assert np.isfinite(empirical_null(np.r_[np.zeros(30), np.ones(30)])[0]).all()
