"""Measures of labels in an order, equal to the peer's and to what is counted by hand."""

import numpy as np
import pytest
from sklearn import metrics

from adjudge.score.confusion import counts
from adjudge.score.ordinal import mean_absolute_error, quadratic_kappa, root_mean_squared_error

PLACES = np.arange(4.0)


@pytest.mark.parametrize("seed", range(5))
def test_measures_equal_those_of_scikit_learn(seed: int) -> None:
    """On random answers to 60 items with four labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=60)
    answer = np.clip(truth + rng.integers(-1, 2, size=60), 0, 3)
    confusion = counts(truth, answer, 4)
    assert mean_absolute_error(confusion, PLACES) == pytest.approx(metrics.mean_absolute_error(truth, answer))
    rmse = metrics.root_mean_squared_error(truth, answer)
    assert root_mean_squared_error(confusion, PLACES) == pytest.approx(rmse)
    kappa = metrics.cohen_kappa_score(truth, answer, weights="quadratic")
    assert quadratic_kappa(confusion, PLACES) == pytest.approx(kappa)


def test_values_are_what_labels_are_worth() -> None:
    """From 1 to 10 is nine steps, whatever lies between."""
    confusion, value = counts(np.array([0, 0, 2]), np.array([0, 2, 2]), 3), np.array([1.0, 2.0, 10.0])
    assert mean_absolute_error(confusion, value) == 3
    assert root_mean_squared_error(confusion, value) == pytest.approx(27**0.5)
    assert quadratic_kappa(confusion, value) == pytest.approx(1 - 81 * 3 / (2 * 2 * 81 + 1 * 1 * 81))


def test_kappa_does_not_mind_units() -> None:
    """Values that are moved and stretched have the same kappa; errors stretch with them."""
    confusion = counts(np.array([0, 1, 2, 3, 3]), np.array([1, 1, 3, 3, 0]), 4)
    assert quadratic_kappa(confusion, 5 * PLACES - 2) == pytest.approx(quadratic_kappa(confusion, PLACES))
    assert mean_absolute_error(confusion, 5 * PLACES - 2) == pytest.approx(5 * mean_absolute_error(confusion, PLACES))


def test_all_right_is_one_and_knowing_nothing_is_zero() -> None:
    """The diagonal, and answers that do not depend on the truth."""
    assert quadratic_kappa(np.diag([3, 1, 2, 4]), PLACES) == 1
    assert quadratic_kappa(np.outer([1, 2, 3, 4], [2, 2, 1, 5]), PLACES) == pytest.approx(0)
    assert quadratic_kappa(counts(np.array([0, 0]), np.array([2, 2]), 4), PLACES) == 0


def test_one_label_has_no_kappa() -> None:
    """Truths and answers are all the same: no distance by chance, and no errors either."""
    confusion = counts(np.array([2, 2]), np.array([2, 2]), 4)
    assert quadratic_kappa(confusion, PLACES) is None
    assert (mean_absolute_error(confusion, PLACES), root_mean_squared_error(confusion, PLACES)) == (0, 0)


def test_no_items_have_no_measure() -> None:
    """Means over nothing are None."""
    nothing = np.zeros((4, 4), int)
    for measure in (mean_absolute_error, root_mean_squared_error, quadratic_kappa):
        assert measure(nothing, PLACES) is None
