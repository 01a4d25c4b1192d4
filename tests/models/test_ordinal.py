"""Starts, outliers, and the expected value on the scale."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.judgments.scale import Scale
from adjudge.models.ordinal import centre, expected_value, inliers, label_counts, quantile


def counts_of(*items, labels=5):
    """Return label counts of items given as lists of labels."""
    return np.array([np.bincount(item, minlength=labels) for item in items], float)


def test_quantiles_are_those_of_numpy():
    """The middle between two labels where the share falls between them."""
    rng = np.random.default_rng(0)
    items = [rng.integers(0, 5, rng.integers(1, 12)) for _ in range(200)]
    for share in (0.25, 0.5, 0.75):
        expected = [np.quantile(item, share, method="averaged_inverted_cdf") for item in items]
        np.testing.assert_allclose(quantile(counts_of(*items), share), expected)


def test_centres_round_half_up():
    """A mean of 1.5 is 2, a median between 0 and 1 is 1, and nobody's item is in the middle."""
    assert centre(counts_of([1, 2], [0, 0, 4], [0, 1], []), median=False).tolist() == [2, 1, 1, 2]
    assert centre(counts_of([1, 2], [0, 0, 4], [0, 1], []), median=True).tolist() == [2, 0, 1, 2]


def test_outliers_are_dropped():
    """Of 2 2 2 2 0 the 0 lies outside the quartiles by more than 1.5 times their distance; of 0 1 2 3 4 none does."""
    kept = inliers(counts_of([2, 2, 2, 2, 0], [0, 1, 2, 3, 4]))
    assert kept.tolist() == [[0, 0, 4, 0, 0], [1, 1, 1, 1, 1]]


def test_counts_know_weights_and_forget_gold():
    """A weight of 2 counts twice; a known truth changes nothing of what was said."""
    table = {"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": [0, 2, 1], "weight": [2.0, 1.0, 0.5]}
    block = adjudge.read(pl.DataFrame(table)).block(np.array([1, -1], np.int32))
    assert label_counts(block).tolist() == [[2, 0, 1], [0, 0.5, 0]]


def test_expected_values_stand_between_two_labels():
    """On 0 to K - 1 for words, on their own values for numbers."""
    posterior = np.array([[0.0, 0.7, 0.3], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    words = expected_value(posterior, Scale(("bad", "good", "very good"), ordinal=True))
    np.testing.assert_allclose(words["expected"], [1.3, 0, 1])
    assert words["between"] == ["0.7 good + 0.3 very good", "bad", "good"]
    numbers = expected_value(posterior, Scale((0, 10, 100), ordinal=True))
    np.testing.assert_allclose(numbers["expected"], [37, 0, 50])
    assert numbers["between"][2] == "0.6 10 + 0.4 100"


def test_one_label_is_its_own_value():
    """There is nothing between one label and none."""
    assert expected_value(np.ones((2, 1)), Scale(("x",), ordinal=True))["between"] == ["x", "x"]


def test_an_order_is_needed():
    """A nominal scale is refused with how to give the order."""
    table = pl.DataFrame({"item": ["a"], "judge": ["x"], "label": ["good"]})
    with pytest.raises(adjudge.UsageError) as caught:
        adjudge.fit(table, "ordinal")
    assert str(caught.value) == (
        "model 'ordinal' needs labels in an order, and 'good' have none: give it, lowest first, "
        "with --labels and --ordinal (labels= and ordinal=True of adjudge.read)"
    )


@pytest.mark.parametrize("start", ["mean", "median", "mean-trimmed", "median-trimmed"])
def test_every_start_is_there(start):
    """And each comes to rest on a crowd of ordinal judges."""
    fit = adjudge.fit(adjudge.simulate("ordinal", items=200, judges=10).judgments, "ordinal", start=start)
    assert fit.converged
    assert {"expected", "between"} < set(fit.labels.columns)


def test_accurate_is_no_start_of_a_hard_model():
    """Its choices are named."""
    crowd = adjudge.simulate("ordinal", items=50, judges=5).judgments
    with pytest.raises(adjudge.UsageError, match="start 'accurate' is not one of 'mean', 'median', 'mean-trimmed'"):
        adjudge.fit(crowd, "ordinal", start="accurate")
