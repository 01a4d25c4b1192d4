"""The chance of a yes through normal noise on [0, 1]."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from adjudge.kernels.degrees import chances


@pytest.mark.parametrize("variance", [1e-3, 0.03, 0.5, 10.0])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.8])
def test_chances_are_those_of_a_truncated_normal(variance, threshold):
    """The printed integrals, both divided by the mass on [0, 1], to ten digits in either tail."""
    degree = np.array([0.01, 0.3, 0.5, 0.77, 0.99])
    said = chances(np.log([variance]), np.array([threshold]), degree)[0]
    root = np.sqrt(variance)
    normal = truncnorm(-degree / root, (1 - degree) / root, loc=degree, scale=root)
    np.testing.assert_allclose(said[:, 0], normal.cdf(threshold), rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(said[:, 1], normal.sf(threshold), rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(said.sum(axis=1), 1)


def test_half_is_symmetric():
    """At the threshold of one half, a degree of B and one of 1 - B are mirror images."""
    degree = np.array([0.1, 0.4])
    one, other = (chances(np.log([0.07]), np.array([0.5]), d)[0] for d in (degree, 1 - degree))
    np.testing.assert_allclose(one[:, 0], other[:, 1])
