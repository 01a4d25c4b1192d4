"""Rows of probabilities."""

import numpy as np
import pytest

from adjudge.kernels.simplex import normal, normal_matrices


@pytest.mark.parametrize("normal", [normal, normal_matrices])
def test_rows_are_divided_by_their_sums(normal):
    """Whatever the layout in memory."""
    counts = np.random.default_rng(0).random((4, 3, 2)).transpose(0, 2, 1)
    np.testing.assert_allclose(normal(counts, counts), counts / counts.sum(axis=-1, keepdims=True))


def test_a_judge_who_never_met_a_truth_keeps_that_row():
    """Of all matrices only the empty row is taken from elsewhere."""
    counts, start = np.ones((2, 2, 2)), np.full((2, 2, 2), [0.9, 0.1])
    counts[1, 0] = 0
    np.testing.assert_allclose(normal_matrices(counts, start), [[[0.5, 0.5]] * 2, [[0.9, 0.1], [0.5, 0.5]]])


def test_rows_nobody_met_keep_the_start():
    """A row of zeros becomes the other row, and no warning is raised."""
    start = np.array([[0.9, 0.1], [0.2, 0.8]])
    np.testing.assert_allclose(normal(np.array([[0.0, 0.0], [1.0, 3.0]]), start), [[0.9, 0.1], [0.25, 0.75]])
