"""Many tests at once."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control, norm

from adjudge.diagnostics.discoveries import adjusted, against_crowd


@pytest.mark.parametrize("control", ["bh", "by"])
def test_rates_are_those_of_scipy(control):
    """Both rules."""
    p = np.random.default_rng(0).random(50) ** 3
    np.testing.assert_allclose(adjusted(p, control), false_discovery_control(p, method=control))
    assert adjusted(np.empty(0)).size == 0


def test_a_crowd_that_is_off_is_what_tests_stand_out_from():
    """Where all lie too high and too widely; never the other way round, and not where there are few."""
    z = np.random.default_rng(1).normal(size=20_000)
    p, centre, spread = against_crowd(norm.sf(0.5 + 1.5 * z))
    assert (centre, spread) == pytest.approx((0.5, 1.5), abs=0.1)
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.01)
    narrow = norm.sf(0.5 * z - 1)
    p, centre, spread = against_crowd(narrow)
    assert (centre, spread) == (0, 1)
    np.testing.assert_allclose(p, narrow)
    assert against_crowd(np.zeros(5))[1:] == (0, 1)
    assert against_crowd(norm.sf(1.3 * z[:25]))[2] < 1.2  # of few, what may be chance is not believed
    assert np.isfinite(against_crowd(np.r_[np.zeros(30), np.ones(30)])[0]).all()
