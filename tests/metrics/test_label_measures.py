"""The matrix of counts and its measures, against scikit-learn and against what must hold of them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn import metrics

from adjudge.arrays import Codes, Floats
from adjudge.metrics.label_measures import (
    accuracy,
    counts,
    f1,
    fractional,
    indicator,
    macro,
    mcc,
    occurring,
    precision,
    ratio,
    recall,
    specificity,
)

matrices = st.integers(1, 5).flatmap(lambda K: arrays.arrays(np.int64, (K, K), elements=st.integers(0, 4)))


def random_codes(seed: int, K: int) -> tuple[Codes, Codes]:
    """Return truths and answers of 60 items, of which every label has some of both."""
    rng = np.random.default_rng(seed)
    truth = np.r_[np.arange(K), rng.integers(K, size=60 - K)]
    return truth, np.where(rng.random(60) < 0.6, truth, rng.integers(K, size=60))


def peer(measure: Callable[..., Any], truth: Codes, answer: Codes, **options: Any) -> Any:
    """Return what scikit-learn says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return measure(truth, answer, **options)


def test_counts_has_truths_in_rows_and_answers_in_columns() -> None:
    """One item of truth 0 answered 2 is counted in row 0, column 2."""
    expected = [[0, 0, 1], [0, 2, 0], [0, 0, 0]]
    assert counts(np.array([0, 1, 1]), np.array([2, 1, 1]), 3).tolist() == expected


def test_counts_of_many_labels_survives_small_integers() -> None:
    """Codes of one byte are not multiplied as one byte."""
    last = np.array([199], np.uint8)
    matrix = counts(last, last, 200)
    assert matrix[199, 199] == 1
    assert matrix.sum() == 1


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_measures_equal_those_of_scikit_learn(seed: int, K: int) -> None:
    """Accuracy, precision, recall, F1, their means and MCC are the peer's on random tables."""
    truth, answer = random_codes(seed, K)
    matrix = counts(truth, answer, K)
    assert matrix.tolist() == metrics.confusion_matrix(truth, answer).tolist()
    assert accuracy(matrix) == pytest.approx(metrics.accuracy_score(truth, answer))
    assert mcc(matrix) == pytest.approx(metrics.matthews_corrcoef(truth, answer))
    for ours, theirs in (
        (precision, metrics.precision_score),
        (recall, metrics.recall_score),
        (f1, metrics.f1_score),
    ):
        assert [ours(matrix, k) for k in range(K)] == pytest.approx(theirs(truth, answer, average=None).tolist())
        assert macro(matrix, ours) == pytest.approx(theirs(truth, answer, average="macro"))


@pytest.mark.parametrize("seed", range(3))
def test_specificity_is_the_recall_of_everything_else(seed: int) -> None:
    """TN / (TN + FP) of a label is scikit-learn's recall of "not this label"."""
    truth, answer = random_codes(seed, 4)
    matrix = counts(truth, answer, 4)
    expected = [metrics.recall_score(truth != k, answer != k) for k in range(4)]
    assert [specificity(matrix, k) for k in range(4)] == pytest.approx(expected)


@given(matrices)
def test_a_value_is_a_number_or_none_and_none_only_where_the_peer_divides_by_zero(matrix: Codes) -> None:
    """Measures never are NaN and never warn, and are None exactly where scikit-learn would say 0/0."""
    K = len(matrix)
    truth, answer = (np.repeat(side.ravel(), matrix.ravel()) for side in np.indices((K, K)))
    nothing = {"labels": range(K), "average": None, "zero_division": np.nan}
    for ours, theirs in (
        (precision, metrics.precision_score),
        (recall, metrics.recall_score),
        (f1, metrics.f1_score),
    ):
        values = [ours(matrix, k) for k in range(K)]
        expected = peer(theirs, truth, answer, **nothing) if truth.size else np.full(K, np.nan)
        assert [value is None for value in values] == np.isnan(expected).tolist()
        assert [value or 0 for value in values] == pytest.approx(np.nan_to_num(expected).tolist())


@given(matrices)
def test_measures_lie_within_their_ranges(matrix: Codes) -> None:
    """Shares are from 0 to 1 and the correlation is from -1 to 1."""
    shares = [m(matrix, k) for m in (precision, recall, specificity, f1) for k in range(len(matrix))]
    shares += [accuracy(matrix), macro(matrix, f1)]
    assert all(0 <= value <= 1 for value in shares if value is not None)
    assert abs(mcc(matrix) or 0) <= 1 + 1e-12


@given(matrices)
def test_exchanging_truth_and_answer_exchanges_precision_and_recall(matrix: Codes) -> None:
    """The transposed matrix has precision for recall and the same F1, accuracy and MCC."""
    for k in range(len(matrix)):
        assert precision(matrix, k) == recall(matrix.T, k)
        assert f1(matrix, k) == f1(matrix.T, k)
    assert accuracy(matrix) == accuracy(matrix.T)
    assert mcc(matrix) == pytest.approx(mcc(matrix.T))


@given(matrices, st.randoms(use_true_random=False))
def test_renaming_labels_renames_their_measures(matrix: Codes, random: Any) -> None:
    """Labels in another order have the same measures in that order, and the same means."""
    order = list(range(len(matrix)))
    random.shuffle(order)
    renamed = matrix[np.ix_(order, order)]
    for measure in (precision, recall, specificity, f1):
        assert [measure(renamed, k) for k in range(len(order))] == [measure(matrix, k) for k in order]
    assert macro(renamed, f1) == pytest.approx(macro(matrix, f1))
    assert mcc(renamed) == pytest.approx(mcc(matrix))


def test_mcc_is_not_defined_when_one_side_shows_one_label() -> None:
    """Nothing correlates with a constant, on either side."""
    assert mcc(np.array([[3, 2], [0, 0]])) is None
    assert mcc(np.array([[3, 0], [2, 0]])) is None
    assert mcc(np.array([[0, 2], [3, 0]])) == pytest.approx(-1)


def test_f1_of_a_label_that_was_never_found_is_zero() -> None:
    """Precision is not defined there, but misses were counted: F1 is 0 and no silence."""
    matrix = np.array([[3, 0], [2, 0]])
    assert precision(matrix, 1) is None
    assert f1(matrix, 1) == 0


def test_macro_passes_over_labels_that_do_not_occur_and_over_no_others() -> None:
    """A label nobody used changes no mean; a label never answered leaves mean precision undefined."""
    assert macro(np.array([[1, 1, 0], [0, 2, 0], [0, 0, 0]]), precision) == pytest.approx((1 + 2 / 3) / 2)
    assert macro(np.array([[1, 1, 0], [0, 2, 0], [1, 0, 0]]), precision) is None


def test_nothing_counted_is_nothing_said() -> None:
    """An empty matrix has no measures."""
    empty = np.zeros((2, 2), int)
    assert [accuracy(empty), mcc(empty), macro(empty, f1), specificity(empty, 0)] == [None] * 4
    assert ratio(0, 0) is None
    assert occurring(empty).size == 0


@given(
    arrays.arrays(float, (7, 3), elements=st.floats(0.01, 1)), arrays.arrays(np.int64, 7, elements=st.integers(0, 2))
)
def test_fractional_counts_keep_every_item_and_its_truth(weights: Floats, truth: Codes) -> None:
    """Rows sum to the items of each truth, however the answers are spread."""
    answer = weights / weights.sum(axis=1, keepdims=True)
    matrix = fractional(indicator(truth, 3), answer)
    assert matrix.sum(axis=1) == pytest.approx(np.bincount(truth, minlength=3))


@pytest.mark.parametrize("seed", range(3))
def test_fractional_counts_of_certain_answers_are_the_counts(seed: int) -> None:
    """Answers of 0 and 1 are counted whole."""
    truth, answer = random_codes(seed, 3)
    expected = counts(truth, answer, 3).tolist()
    assert fractional(indicator(truth, 3), indicator(answer, 3)).tolist() == expected
