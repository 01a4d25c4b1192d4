"""Log loss and squared errors, against scikit-learn and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from adjudge.arrays import Codes, Floats
from adjudge.score.probabilities import (
    BOUND,
    brier,
    log_loss,
    mean_squared_error,
    root_mean_squared_error,
    squared_error,
)


def random_answers(seed: int, K: int) -> tuple[Codes, Floats]:
    """Return truths and probabilities of 50 items, of which every label has some."""
    rng = np.random.default_rng(seed)
    return np.r_[np.arange(K), rng.integers(K, size=50 - K)], rng.dirichlet(np.ones(K), 50)


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_log_loss_and_brier_equal_those_of_scikit_learn(seed: int, K: int) -> None:
    """With a bound too small to matter both are the peer's, Brier as the sum over labels."""
    truth, p = random_answers(seed, K)
    assert log_loss(truth, p, 1e-12) == pytest.approx(metrics.log_loss(truth, p))
    assert brier(truth, p) == pytest.approx(metrics.brier_score_loss(truth, p, scale_by_half=False, labels=range(K)))


@pytest.mark.parametrize("seed", range(4))
def test_squared_errors_equal_those_of_scikit_learn(seed: int) -> None:
    """MSE of one column is the peer's binary Brier score, and half of ours over both labels."""
    truth, p = random_answers(seed, 2)
    mse = metrics.brier_score_loss(truth, p[:, 1])
    assert mean_squared_error(truth, p[:, 1]) == pytest.approx(mse)
    assert squared_error(truth, p[:, 1]) == pytest.approx(50 * mse)
    assert root_mean_squared_error(truth, p[:, 1]) == pytest.approx(metrics.root_mean_squared_error(truth, p[:, 1]))
    assert brier(truth, p) == pytest.approx(2 * mse)


def test_bound_keeps_a_confident_mistake_finite() -> None:
    """A probability of 0 for the truth costs -log of the bound, .001 unless said otherwise."""
    truth, p = np.array([1]), np.array([[1.0, 0.0]])
    assert pytest.approx(np.log(1000)) == log_loss(truth, p)
    assert log_loss(truth, p, 0.1) == pytest.approx(np.log(10))


def test_bound_takes_from_certainty_too() -> None:
    """A probability of 1 for the truth costs -log(1 - bound), not 0."""
    assert log_loss(np.array([0]), np.array([[1.0, 0.0]])) == pytest.approx(-np.log(1 - BOUND))


def test_squared_errors_by_hand() -> None:
    """Responses .5, 0 and 1 to outcomes 1, 0 and 0 miss by .5, 0 and 1."""
    outcome, response = np.array([1, 0, 0]), np.array([0.5, 0, 1])
    assert squared_error(outcome, response) == 1.25
    assert mean_squared_error(outcome, response) == pytest.approx(1.25 / 3)
    assert root_mean_squared_error(outcome, response) == pytest.approx((1.25 / 3) ** 0.5)


def test_outcomes_may_be_flags() -> None:
    """True counts as 1."""
    assert squared_error(np.array([True, False]), np.array([0.5, 0.5])) == 0.5


def test_nothing_answered_is_no_mean() -> None:
    """Over no items every mean is None and no warning is given."""
    none, p = np.empty(0, np.int64), np.empty((0, 2))
    assert [log_loss(none, p), brier(none, p), mean_squared_error(none, p[:, 0])] == [None] * 3
    assert root_mean_squared_error(none, p[:, 0]) is None


@given(st.integers(0, 99), st.permutations(range(50)), st.permutations(range(3)))
def test_order_of_items_and_names_of_labels_change_nothing(seed: int, items: list[int], labels: list[int]) -> None:
    """Losses are the same of permuted items, and of labels that are renamed."""
    truth, p = random_answers(seed, 3)
    place = np.argsort(labels)  # where each label has gone
    for loss in (log_loss, brier):
        assert loss(truth[items], p[items]) == pytest.approx(loss(truth, p))
        assert loss(place[truth], p[:, labels]) == pytest.approx(loss(truth, p))
