"""Sums in log space against scipy's, and where exponentials overflow."""

import numpy as np
import pytest
from scipy.special import logsumexp

from adjudge.kernels.probability import log, log_sums, normalise_matrices, normalise_rows


def test_the_logarithm_is_that_of_numpy():
    """For numbers of any size, and close to 1, where the logarithm is close to 0."""
    rng = np.random.default_rng(0)
    numbers = np.r_[
        np.exp(rng.uniform(-700, 700, 500)), 1 + rng.uniform(-1, 1, 500) * 10.0 ** -rng.integers(1, 15, 500)
    ]
    np.testing.assert_allclose([log(x) for x in numbers.tolist()], np.log(numbers), rtol=3e-15)
    assert log(1.0) == 0


def test_sums_are_those_of_scipy():
    """Of numbers of any size, far beyond what an exponential holds."""
    rows = np.random.default_rng(0).normal(size=(6, 40)) * np.array([[0.1], [1], [30], [900], [1], [1]])
    rows[4] += 5_000
    rows[5] -= 5_000
    np.testing.assert_allclose(log_sums(rows), logsumexp(rows, axis=1), rtol=1e-13)


def test_what_cannot_be_adds_nothing():
    """Minus infinity is the log of zero."""
    assert log_sums(np.array([[0.0, -np.inf, 0.0]]))[0] == np.log(2)


@pytest.mark.parametrize("normal", [normalise_rows, normalise_matrices])
def test_rows_are_divided_by_their_sums(normal):
    """Whatever the layout in memory."""
    counts = np.random.default_rng(0).random((4, 3, 2)).transpose(0, 2, 1)
    np.testing.assert_allclose(normal(counts, counts), counts / counts.sum(axis=-1, keepdims=True))


def test_a_judge_who_never_met_a_truth_keeps_that_row():
    """Of all matrices only the empty row is taken from elsewhere."""
    counts, start = np.ones((2, 2, 2)), np.full((2, 2, 2), [0.9, 0.1])
    counts[1, 0] = 0
    np.testing.assert_allclose(normalise_matrices(counts, start), [[[0.5, 0.5]] * 2, [[0.9, 0.1], [0.5, 0.5]]])


def test_rows_nobody_met_keep_the_start():
    """A row of zeros becomes the other row, and no warning is raised."""
    start = np.array([[0.9, 0.1], [0.2, 0.8]])
    np.testing.assert_allclose(normalise_rows(np.array([[0.0, 0.0], [1.0, 3.0]]), start), [[0.9, 0.1], [0.25, 0.75]])


@pytest.mark.parametrize("labels", [2, 5, 20])
def test_numpy_and_the_kernel_agree_to_the_last_bit(monkeypatch, labels):
    """The matrices of few judges are normalised in numpy, added from the first label to the last."""
    counts, results = np.random.default_rng(labels).random((7, labels, labels)), []
    for kernels in (False, True):
        monkeypatch.setattr("adjudge.kernels.probability.pays", lambda kernel, work, answer=kernels: answer)
        results.append(normalise_matrices(counts, counts))
    np.testing.assert_array_equal(*results)
