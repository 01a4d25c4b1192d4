"""The start of paper 003, and what a model says of itself."""

import numpy as np

from adjudge.inference.components import no_columns
from adjudge.inference.params import accurate


def test_accurate_start_is_the_normalised_prior():
    """Diagonal (lambda + 1) / (lambda + K), off it 1 / (lambda + K), prevalence 1 / K."""
    start = accurate(2, 4, trust=3)
    np.testing.assert_allclose(np.diag(start.confusion[1]), 4 / 7)
    np.testing.assert_allclose(start.confusion[1][~np.eye(4, dtype=bool)], 1 / 7)
    np.testing.assert_allclose(start.prevalence, [[0.25] * 4])
    assert start.confusion.shape == (2, 4, 4)


def test_no_columns_is_no_columns():
    """A model may have nothing to say of judges."""
    assert no_columns(accurate(1, 2), ("a", "b")) == {}
