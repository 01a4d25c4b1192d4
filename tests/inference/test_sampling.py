"""Truths under the names that judges use."""

import numpy as np

from adjudge.inference.chains import Draws
from adjudge.inference.sampling import aligned_to

MATRICES = np.array(
    [[[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]], [[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]]
)


def drawn(orders):
    """Return draws of one chain, each with its truths in another order, and a prevalence that tells them apart."""
    confusion = np.array([[MATRICES[:, order] for order in orders]])
    prevalence = np.array([[[np.array([0.5, 0.3, 0.2])[order]] for order in orders]])
    nothing = np.empty((1, len(orders), 0))
    return Draws(prevalence, confusion, nothing[..., None], nothing, np.empty((1, 0, 3)), True)


def test_each_draw_is_named_as_the_matrices_are():
    """Whatever it had swapped on its way, prevalence with it."""
    draws = aligned_to(drawn([[0, 1, 2], [1, 0, 2], [2, 0, 1]]), MATRICES)
    assert (draws.confusion == MATRICES).all()
    assert (draws.prevalence == [0.5, 0.3, 0.2]).all()


def test_draws_that_are_named_so_are_left_alone():
    """Nothing is copied."""
    draws = drawn([[0, 1, 2], [0, 1, 2]])
    assert aligned_to(draws, MATRICES) is draws
