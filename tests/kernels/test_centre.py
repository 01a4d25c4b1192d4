"""Means, medians, outliers, and the shares of the labels around a point."""

import numpy as np
import polars as pl

import adjudge
from adjudge.kernels.centre import inliers, label_counts, mean, median, quantile, shares_between

PLACE = np.arange(5.0)


def counts_of(*items, labels=5):
    """Return label counts of items given as lists of labels."""
    return np.array([np.bincount(item, minlength=labels) for item in items], float)


def test_quantiles_are_those_of_numpy():
    """The middle between two labels where the share falls between them."""
    rng = np.random.default_rng(0)
    items = [rng.integers(0, 5, rng.integers(1, 12)) for _ in range(200)]
    for share in (0.25, 0.5, 0.75):
        expected = [np.quantile(item, share, method="averaged_inverted_cdf") for item in items]
        np.testing.assert_allclose(quantile(counts_of(*items), share, PLACE), expected)


def test_centres():
    """The mean, the middle, and the middle of the scale for nobody's item."""
    counts = counts_of([1, 2], [0, 0, 4], [0, 1], [])
    np.testing.assert_allclose(mean(counts, PLACE), [1.5, 4 / 3, 0.5, 2])
    np.testing.assert_allclose(median(counts, PLACE), [1.5, 0, 0.5, 2])


def test_centres_on_a_scale_of_the_users_own():
    """Labels worth 0, 1 and 10: the middle between 1 and 10 is 5.5."""
    counts, value = counts_of([1, 2], [0, 2], labels=3), np.array([0.0, 1.0, 10.0])
    np.testing.assert_allclose(mean(counts, value), [5.5, 5])
    np.testing.assert_allclose(median(counts, value), [5.5, 5])


def test_shares_between_two_values():
    """A point is the mean of its shares, of which at most two neighbours have any."""
    value, point = np.array([0.0, 1.0, 10.0]), np.array([0.0, 0.3, 1.0, 5.5, 10.0])
    shares = shares_between(point, value)
    np.testing.assert_allclose(shares @ value, point)
    np.testing.assert_allclose(shares[3], [0, 0.5, 0.5])
    assert (np.count_nonzero(shares, axis=1) == [1, 2, 1, 2, 1]).all()
    assert shares_between(np.zeros(2), np.zeros(1)).tolist() == [[1], [1]]


def test_outliers_are_dropped():
    """Of 2 2 2 2 0 the 0 lies outside the quartiles by more than 1.5 times their distance; of 0 1 2 3 4 none does."""
    kept = inliers(counts_of([2, 2, 2, 2, 0], [0, 1, 2, 3, 4]), PLACE)
    assert kept.tolist() == [[0, 0, 4, 0, 0], [1, 1, 1, 1, 1]]


def test_counts_know_weights_and_forget_gold():
    """A weight of 2 counts twice; a known truth changes nothing of what was said."""
    table = {"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": [0, 2, 1], "weight": [2.0, 1.0, 0.5]}
    block = adjudge.read(pl.DataFrame(table)).block(np.array([1, -1], np.int32))
    assert label_counts(block).tolist() == [[2, 0, 1], [0, 0.5, 0]]
