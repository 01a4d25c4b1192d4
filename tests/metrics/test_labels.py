"""Scores: answers of every shape, messages if a measure is undefined, and every error.

The matrix of counts and its measures are compared with those of scikit-learn.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from sklearn import metrics

from adjudge.arrays import Codes, Floats
from adjudge.data.read import read
from adjudge.errors import AdjudgeWarning, InputError, UsageError
from adjudge.inference.fit import fit
from adjudge.metrics.labels import (
    Scores,
    accuracy,
    counts,
    f1,
    fractional,
    indicator,
    macro,
    mcc,
    mean_absolute_error,
    occurring,
    precision,
    quadratic_kappa,
    rank_correlation,
    ratio,
    recall,
    root_mean_squared_error,
    scores,
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


GOLD = {"d1": "yes", "d2": "no", "d3": "yes", "d4": "no"}
ANSWERS = {"d1": "yes", "d2": "yes", "d3": "no", "d4": "no", "d9": "yes"}
JUDGMENTS = pl.DataFrame(
    {
        "item": ["d1", "d1", "d1", "d2", "d2", "d2", "d3", "d3", "d3"],
        "judge": ["ann", "bob", "cy"] * 3,
        "label": ["no", "no", "no", "yes", "yes", "yes", "yes", "yes", "no"],
    }
)
BINARY = [
    "accuracy", "precision", "recall", "specificity", "f1", "macro_f1", "mcc", "log_loss", "brier", "ece",
    "se", "mse", "rmse", "fractional_precision", "fractional_recall", "fractional_specificity",
]  # fmt: skip
SOME_LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=12)


def file(folder: Path, text: str, name: str = "answers.csv") -> Path:
    """Return the path of a file with this text."""
    path = folder / name
    path.write_text(text)
    return path


def probable(**columns: Any) -> pl.DataFrame:
    """Return answers to d1 and d2 with columns of probabilities."""
    return pl.DataFrame({"item": ["d1", "d2"], "label": ["yes", "no"], **columns})


def scored(pairs: list[tuple[str, str]]) -> Scores:
    """Return the scores of pairs of truth and answer."""
    truth, answer = zip(*pairs, strict=True)
    items = list(range(len(pairs)))
    return scores(pl.DataFrame({"item": items, "label": answer}), pl.DataFrame({"item": items, "label": truth}))


def test_binary_measures_by_hand() -> None:
    """One item in each cell: every share is a half, and the answer without gold is ignored."""
    result = scores(ANSWERS, GOLD)
    assert (result.items, result.missing, result.labels, result.positive) == (4, 0, ("no", "yes"), "yes")
    assert result.confusion.tolist() == [[1, 1], [1, 1]]
    assert list(result.values) == BINARY
    assert [result.values[name] for name in BINARY[:7]] == [0.5] * 6 + [0]


def test_positive_can_be_the_other_label() -> None:
    """Precision of 'no' and precision of 'yes' are two things, and the record says which it is."""
    answers = {**ANSWERS, "d2": "no"}
    of_no, of_yes = scores(answers, GOLD, positive="no"), scores(answers, GOLD)
    assert (of_no.positive, of_yes.positive) == ("no", "yes")
    assert of_no.values["precision"] == pytest.approx(2 / 3)
    assert of_yes.values["precision"] == 1
    assert (of_no.notes["precision"], of_yes.notes["precision"]) == ("of 'no'", "of 'yes'")


def test_positive_is_found_by_its_name() -> None:
    """A label 1 of a frame is chosen by 1 and by the text of the command line."""
    answers, gold = {"a": 0, "b": 1}, {"a": 0, "b": 1}
    assert scores(answers, gold, positive="0").positive == scores(answers, gold, positive=0).positive == 0


def test_numeric_labels_stand_in_numeric_order() -> None:
    """The last of 2 and 10 is 10, and is positive."""
    assert scores({"a": 2, "b": 10}, {"a": 2, "b": 2}).positive == 10


def test_probabilities_are_scored() -> None:
    """Log loss, Brier, squared errors and fractional counts of two items, by hand."""
    result = scores(probable(p_no=[0.2, 0.6], p_yes=[0.8, 0.4]), GOLD)
    expected = {
        "log_loss": -np.log(0.8 * 0.6) / 2,
        "brier": 2 * (0.04 + 0.16) / 2,
        "se": 0.04 + 0.16,
        "mse": 0.1,
        "rmse": 0.1**0.5,
        "fractional_precision": 0.8 / 1.2,
        "fractional_recall": 0.8,
        "fractional_specificity": 0.6,
    }
    assert {name: result.values[name] for name in expected} == pytest.approx(expected)
    assert result.fractional is not None
    assert result.fractional.ravel() == pytest.approx([0.6, 0.4, 0.2, 0.8])


def test_calibration_is_among_the_measures_of_probabilities() -> None:
    """Said .8 of a 'yes' and .4 of a 'no': distances .2 and .4 in two bins; of 'no' they are the same."""
    answers = probable(p_no=[0.2, 0.6], p_yes=[0.8, 0.4])
    result = scores(answers, GOLD)
    assert result.values["ece"] == pytest.approx(0.3)
    assert result.notes["ece"] == "of 'yes', 10 bins of equal width"
    assert scores(answers, GOLD, positive="no").values["ece"] == pytest.approx(0.3)


def test_calibration_of_more_labels_is_of_the_most_likely() -> None:
    """Said .5 and wrong, said .8 and right."""
    answers = pl.DataFrame({"item": ["x", "y"], "label": ["a", "b"], "p_a": [0.5, 0.1], "p_b": [0.3, 0.8]})
    result = scores(answers.with_columns(p_c=pl.Series([0.2, 0.1])), {"x": "b", "y": "b"})
    assert result.values["ece"] == pytest.approx((0.5 + 0.2) / 2)
    assert result.notes["ece"] == "of the most likely label, 10 bins of equal width"


def graded(labels: list[int], truth: list[int]) -> Scores:
    """Return the scores of a fit whose labels have an order; three judges agree on every item."""
    rows = [(f"d{n}", judge, label) for n, label in enumerate(labels) for judge in "abc"]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    gold = {f"d{n}": label for n, label in enumerate(truth)}
    return scores(fit(read(table, labels=[0, 1, 2, 4], ordinal=True), "majority"), gold)


def test_labels_in_an_order_have_distances() -> None:
    """Off by one, by two and not at all: every error counts by what the labels are worth."""
    result = graded([0, 1, 4], [0, 2, 2])
    assert list(result.values)[6:9] == ["mae", "label_rmse", "quadratic_kappa"]
    assert result.values["mae"] == pytest.approx(1)
    assert result.values["label_rmse"] == pytest.approx((5 / 3) ** 0.5)
    expected = 1 - 3 * 5 / sum((truth - answer) ** 2 for truth in (0, 2, 2) for answer in (0, 1, 4))
    assert result.values["quadratic_kappa"] == pytest.approx(expected)
    assert result.notes["mae"] == result.notes["label_rmse"] == "of the labels' values"
    assert result.notes["quadratic_kappa"] == "1 is perfect, 0 is chance"


def test_one_grade_has_no_quadratic_kappa() -> None:
    """Nothing differs from anything."""
    result = graded([2, 2], [2, 2])
    assert (result.values["mae"], result.values["quadratic_kappa"]) == (0, None)
    reason = "not defined because every scored item is '2' in the gold and was answered so"
    assert result.reasons["quadratic_kappa"] == reason


def test_bound_is_used_and_said() -> None:
    """A certain mistake costs -log of the bound, which the record and the note both name."""
    answers = probable(p_no=[1.0, 1.0], p_yes=[0.0, 0.0])
    result = scores(answers, {"d1": "yes"}, bound=0.01)
    assert result.bound == 0.01
    assert result.values["log_loss"] == pytest.approx(np.log(100))
    assert result.notes["log_loss"] == "probabilities kept 0.01 away from 0 and 1"
    assert scores(answers, {"d1": "yes"}).notes["log_loss"] == "probabilities kept 0.001 away from 0 and 1"


def test_gold_labels_without_a_column_have_no_probability() -> None:
    """A truth that the answers do not know of was given probability 0, kept from 0 by the bound."""
    result = scores(probable(p_no=[0.2, 0.6], p_yes=[0.8, 0.4]), {"d1": "maybe"})
    assert result.labels == ("maybe", "no", "yes")
    assert result.values["log_loss"] == pytest.approx(np.log(1000))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("K", [2, 4])
def test_scores_equal_those_of_scikit_learn(seed: int, K: int) -> None:
    """On random tables, through names, every measure is the peer's."""
    rng = np.random.default_rng(seed)
    names = np.array(["l0", "l1", "l2", "l3"][:K])
    p = rng.dirichlet(np.ones(K), 80)
    truth, answer = names[np.r_[np.arange(K), rng.integers(K, size=80 - K)]], names[p.argmax(axis=1)]
    items = [f"i{n}" for n in rng.permutation(80)]
    columns = {f"p_{name}": p[:, k] for k, name in enumerate(names)}
    answers = pl.DataFrame({"item": items, "label": answer, **columns})
    gold = pl.DataFrame({"item": items, "label": truth}).sample(fraction=1, shuffle=True, seed=seed)
    values = scores(answers, gold, bound=1e-12).values
    of_labels = np.array(metrics.precision_recall_fscore_support(truth, answer)[:3])  # (3, K)
    expected = {
        "accuracy": metrics.accuracy_score(truth, answer),
        "macro_f1": of_labels[2].mean(),
        "mcc": metrics.matthews_corrcoef(truth, answer),
        "log_loss": metrics.log_loss(truth, p),
        "brier": metrics.brier_score_loss(truth, p, scale_by_half=False, labels=names),
    }
    if K == 2:
        expected |= dict(zip(("precision", "recall", "f1"), of_labels[:, 1], strict=True))
        expected["mse"] = metrics.brier_score_loss(truth, p[:, 1], pos_label="l1")
    else:
        expected |= dict(zip(("macro_precision", "macro_recall"), of_labels.mean(axis=1), strict=False))
        expected["rmse"] = metrics.root_mean_squared_error((truth[:, None] == names).ravel().astype(float), p.ravel())
        for k, name in enumerate(names):
            measures = [f"{measure}_{name}" for measure in ("precision", "recall", "f1")]
            expected |= dict(zip(measures, of_labels[:, k], strict=True))
    assert {name: values[name] for name in expected} == pytest.approx(expected)


def test_more_labels_have_measures_each() -> None:
    """With three labels there is no positive one: means first, then each label by name."""
    result = scores({"x": "a", "y": "b", "z": "c"}, {"x": "a", "y": "b", "z": "b"})
    each = [f"{measure}_{label}" for label in "abc" for measure in ("precision", "recall", "specificity", "f1")]
    means = [f"macro_{measure}" for measure in ("precision", "recall", "specificity", "f1")]
    assert list(result.values) == ["accuracy", *means, "mcc", "log_loss", "brier", "ece", "rmse", *each]
    assert result.positive is None
    assert [result.values[f"{measure}_b"] for measure in ("precision", "recall", "specificity")] == [1, 0.5, 1]


def test_missing_answers_are_counted() -> None:
    """Gold without an answer changes no measure and is reported."""
    result = scores({"d1": "yes", "d2": "no"}, GOLD)
    assert (result.items, result.missing, result.values["accuracy"]) == (2, 2, 1)
    assert repr(result).startswith("Scores(2 items, 2 missing: accuracy 1.0000, precision 1.0000")


def test_truths_that_are_not_known_are_no_gold() -> None:
    """TREC writes -1 for an unknown truth, wherever it stands in the file."""
    gold = pl.DataFrame({"item": ["a", "b", "c", "d"], "gold": [-1, 0, -1, 1]})
    result = scores({"a": 1, "b": 0, "c": 1, "d": 1}, gold)
    assert (result.items, result.missing, result.labels, result.values["accuracy"]) == (2, 0, (0, 1), 1)


@pytest.mark.parametrize(
    ("truth", "answer", "undefined"),
    [
        (
            ["yes", "no"],
            ["no", "no"],
            {
                "precision": "not defined because nothing was answered 'yes'",
                "mcc": "not defined because every scored item was answered 'no'",
            },
        ),
        (
            ["no", "no"],
            ["no", "yes"],
            {
                "recall": "not defined because no scored item is 'yes' in the gold",
                "mcc": "not defined because every scored item is 'no' in the gold",
            },
        ),
        (
            ["yes", "yes"],
            ["yes", "yes"],
            {
                "specificity": "not defined because every scored item is 'yes' in the gold",
                "mcc": "not defined because every scored item is 'yes' in the gold",
            },
        ),
    ],
)
def test_undefined_measures_are_none_with_a_reason(truth: list[str], answer: list[str], undefined: Any) -> None:
    """What divides by 0 has no value, says why, and nothing else does."""
    result = scored(list(zip(truth, answer, strict=True)))
    without = "not defined because the answers have no probabilities (columns "
    reasons = {name: reason for name, reason in result.reasons.items() if not reason.startswith(without)}
    assert reasons == undefined
    assert all(result.values[name] is None for name in result.reasons)
    assert all(value is not None for name, value in result.values.items() if name not in result.reasons)


def test_a_label_without_gold_leaves_the_mean_recall_open() -> None:
    """The means over labels say which label they fail on, and leave out one that no scored item has."""
    result = scores({"x": "a", "y": "q"}, {"x": "a", "y": "a", "z": "s"})
    reason = "not defined because no scored item is 'q' in the gold"
    assert result.reasons["macro_recall"] == result.reasons["recall_q"] == reason
    assert result.reasons["f1_s"] == "not defined because 's' is neither truth nor answer of a scored item"
    assert result.notes["macro_f1"] == "without 's', neither truth nor answer of a scored item"
    assert result.values["macro_f1"] == pytest.approx((2 / 3 + 0) / 2)


def test_without_probabilities_their_measures_say_what_they_need() -> None:
    """Log loss and its kin are named, have no value, and tell the columns to add."""
    result = scores(ANSWERS, GOLD)
    reason = "not defined because the answers have no probabilities (columns 'p_no', 'p_yes')"
    assert {result.reasons[name] for name in BINARY[7:]} == {reason}
    assert result.fractional is None


def test_fractional_measures_are_undefined_like_the_others() -> None:
    """No fraction of an answer is 'yes': there is no fractional precision."""
    result = scores(probable(p_no=[1.0, 1.0], p_yes=[0.0, 0.0]), GOLD)
    assert result.reasons["fractional_precision"] == "not defined because nothing was answered 'yes'"


def test_table_has_a_row_for_each_measure() -> None:
    """Rows hold name, value and note, which is the reason where there is no value."""
    rows = scores({"d1": "no", "d2": "no"}, GOLD).rows
    assert [row.measure for row in rows] == BINARY
    assert rows[0] == ("accuracy", 0.5, "")
    assert rows[1] == ("precision", None, "not defined because nothing was answered 'yes'")
    assert rows[2] == ("recall", 0, "of 'yes'")


def test_scores_cannot_be_changed() -> None:
    """The record is frozen and so is its matrix."""
    result = scores(ANSWERS, GOLD)
    with pytest.raises(AttributeError):
        result.items = 5  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        result.confusion[0, 0] = 5


def test_a_fit_is_scored_by_its_posterior() -> None:
    """The consensus and its probabilities are held against gold, whatever it says of other items."""
    consensus = fit(JUDGMENTS, "majority")
    result = scores(consensus, {"d1": "no", "d3": "yes", "d7": "no"})
    assert (result.items, result.missing, result.labels) == (2, 1, ("no", "yes"))
    p = consensus.posterior[[0, 2], [0, 1]]
    assert result.values["log_loss"] == pytest.approx(-np.log(np.clip(p, 1e-3, 1 - 1e-3)).mean())


def test_truths_the_fit_was_told_are_counted() -> None:
    """Where scored gold was given to the fit, accuracy says for how many items."""
    gold = {"d1": "no", "d3": "yes"}
    fitted = fit(JUDGMENTS, "dawid-skene", {"d3": "yes"})
    result = scores(fitted, gold)
    assert result.used == 1
    assert result.notes["accuracy"] == "the fit used 1 of the 2 truths as gold"
    assert scores(fitted, {"d1": "no"}).used == scores(fit(JUDGMENTS, "dawid-skene"), gold).used == 0


def test_a_single_label_is_scored() -> None:
    """Where only one label exists it is positive, and what needs another is not defined."""
    result = scores({"a": "x"}, {"a": "x"})
    assert (result.labels, result.positive, result.values["f1"], result.values["mcc"]) == (("x",), "x", 1, None)


@given(SOME_LABELS, st.randoms(use_true_random=False))
def test_order_of_items_changes_nothing(pairs: list[tuple[str, str]], random: Any) -> None:
    """The same pairs in another order have the same scores, reasons and notes."""
    before = scored(pairs)
    random.shuffle(pairs)
    after = scored(pairs)
    assert after.rows == before.rows
    assert after.confusion.tolist() == before.confusion.tolist()


@given(SOME_LABELS)
def test_renaming_labels_renames_measures(pairs: list[tuple[str, str]]) -> None:
    """New names in the opposite order give the same values under the new names."""
    to = {"a": "z", "b": "y", "c": "x"}
    before, after = scored(pairs), scored([(to[truth], to[answer]) for truth, answer in pairs])
    for measure in ("accuracy", "macro_f1", "mcc"):
        assert after.values[measure] == pytest.approx(before.values[measure])
    for measure, value in before.values.items():
        name, _, label = measure.rpartition("_")
        if label in to:
            assert after.values[f"{name}_{to[label]}"] == value


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_perfect_answers_are_perfect(truth: list[str]) -> None:
    """Answers equal to the gold score 1 wherever a score is defined."""
    result = scored([(label, label) for label in truth])
    assert all(value == pytest.approx(1) for value in result.values.values() if value is not None)
    assert (result.values["mcc"] is None) == (len(set(truth)) == 1)


@pytest.mark.parametrize("bound", [0, 0.5, -1, 2, float("nan")])
def test_a_bound_is_above_zero_and_below_a_half(bound: float) -> None:
    """Other bounds are refused before anything is read."""
    with pytest.raises(UsageError) as refusal:
        scores("no such file", "no such file", bound=bound)
    assert str(refusal.value) == f"bound {bound} is not a number above 0 and below 0.5"


def test_positive_must_be_one_of_two_labels() -> None:
    """An unknown label is refused, and so is any where there are three."""
    with pytest.raises(UsageError, match=r"^positive 'maybe' is not one of 'no', 'yes'$"):
        scores(ANSWERS, GOLD, positive="maybe")
    with pytest.raises(
        UsageError,
        match=r"^positive needs exactly two labels, but there are 3 \('a', 'b', 'c'\); every label has its own scores",
    ):
        scores({"x": "a", "y": "b", "z": "c"}, {"x": "a"}, positive="a")


PLACES = np.arange(4.0)


@pytest.mark.parametrize("seed", range(5))
def test_ordered_measures_equal_those_of_scikit_learn(seed: int) -> None:
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


ORDERED = {
    "item": ["a", "b", "c", "d"],
    "label": ["bad", "good", "fair", "good"],
    "p_bad": [0.75, 0.0, 0.25, 0.0],
    "p_fair": [0.25, 0.0, 0.5, 0.5],
    "p_good": [0.0, 1.0, 0.25, 0.5],
}
TRUTH = {"a": "bad", "b": "good", "c": "good", "d": "fair"}
VALUES = {"bad": 0, "fair": 1, "good": 3}


def test_expected_values_are_scored() -> None:
    """Those of the probabilities, on the values of the labels: .25, 3, 1.25 and 2 for 0, 3, 3 and 1."""
    result = scores(pl.DataFrame(ORDERED), TRUTH, values=VALUES)
    off = np.array([0.25, 0.0, -1.75, 1.0])
    assert result.values["expected_mae"] == pytest.approx(np.abs(off).mean())
    assert result.values["expected_rmse"] == pytest.approx(np.sqrt((off**2).mean()))
    truth, expected = [0.0, 3.0, 3.0, 1.0], [0.25, 3.0, 1.25, 2.0]
    assert result.values["rank_correlation"] == pytest.approx(stats.spearmanr(truth, expected).statistic)
    assert result.values["mae"] == pytest.approx((0 + 0 + 2 + 2) / 4)
    assert result.notes["rank_correlation"] == "Spearman's, of the expected values"


def test_a_table_of_expected_values_needs_no_labels() -> None:
    """The nearest labels are scored, halves rounded up; numbers are ordered, text needs values or an order."""
    table = pl.DataFrame({"item": ["a", "b", "c"], "expected": [0.5, 1.25, 2.0]})
    result = scores(table, {"a": 0, "b": 1, "c": 2})
    assert result.confusion.tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert result.values["expected_mae"] == pytest.approx(0.25)
    words = scores(table, {"a": "bad", "b": "fair", "c": "good"}, values={"bad": 0, "fair": 1, "good": 2})
    assert words.confusion.tolist() == result.confusion.tolist()
    with pytest.raises(UsageError, match=r"^the order of the labels 'bad', 'fair' is not known: give it, lowest first"):
        scores(table, {"a": "bad", "b": "fair"})


def test_expected_values_beside_labels() -> None:
    """The column is used as it is, unless the user gives other values and there are probabilities."""
    table = pl.DataFrame({**ORDERED, "expected": [0.5, 1.5, 1.0, 1.0]})
    reason = "not defined because the labels have no order: give it with labels= and ordinal=True, or values="
    assert scores(table, TRUTH).reasons["expected_mae"] == reason
    in_order = scores(table, TRUTH, labels=["bad", "fair", "good"], ordinal=True)
    assert in_order.values["expected_mae"] == pytest.approx((0.5 + 0.5 + 1 + 0) / 4)
    assert scores(table, TRUTH, values=VALUES).values["expected_mae"] == pytest.approx(0.75)
    smaller = {"bad": 0, "fair": 0.25, "good": 0.5}  # the column is beyond these, and not used
    assert scores(table, TRUTH, values=smaller).values["expected_mae"] == pytest.approx(
        (1 / 16 + 0 + 1 / 4 + 1 / 8) / 4
    )
    plain = pl.DataFrame({"item": ["a", "b"], "label": [0, 1], "expected": [0.25, 1.0]})
    assert scores(plain, {"a": 0, "b": 1}).values["expected_mae"] == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (["1", "x"], "answers, row 1: expected 'x' is not a number"),
        (["1", None], "answers, row 1: expected is empty"),
    ],
)
def test_expected_values_must_be_numbers(expected: list[str | None], message: str) -> None:
    """With the row of the one that is not."""
    with pytest.raises(InputError) as error:
        scores(pl.DataFrame({"item": ["a", "b"], "expected": expected}), {"a": 0, "b": 1})
    assert str(error.value) == message


def test_expected_values_on_another_scale_are_refused() -> None:
    """3 is none of 0 to 2."""
    table = pl.DataFrame({"item": ["a", "b"], "label": ["bad", "good"], "expected": [0.0, 3.0]})
    with pytest.raises(UsageError) as error:
        scores(table, {"a": "bad", "b": "good"}, labels=["bad", "good"], ordinal=True)
    assert str(error.value) == (
        "the expected value 3 of item 'b' is not between 0 and 1, the values of the labels: name all labels with "
        "labels=, or give their values with values="
    )
    assert scores(table, {"a": "bad", "b": "good"}, values={"bad": 0, "good": 3}).values["expected_mae"] == 0


def test_a_fit_is_scored_on_the_values_of_its_labels() -> None:
    """Or on others that are given."""
    table = pl.DataFrame({"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": ["bad", "good", "good"]})
    consensus = fit(read(table, values={"bad": 0, "good": 4}), "majority")
    gold = {"a": "bad", "b": "good"}
    assert scores(consensus, gold).values["expected_mae"] == pytest.approx(1)
    assert scores(consensus, gold, values={"bad": 0, "good": 1}).values["expected_mae"] == pytest.approx(0.25)


@pytest.mark.parametrize("seed", range(5))
def test_rank_correlation_is_spearmans(seed: int) -> None:
    """With ties on both sides; one value for all items has none."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 4, (2, 20)).astype(float)
    assert rank_correlation(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert rank_correlation(first, np.ones(20)) is None
    assert rank_correlation(first[:1], second[:1]) is None


def test_items_are_ranked_in_their_topics() -> None:
    """By the odds of the positive label; a topic without a relevant item counts as 0."""
    table = pl.DataFrame(
        {
            "item": ["d1", "d2", "d3", "d4"],
            "topic": ["s", "s", "s", "t"],
            "label": ["yes", "no", "yes", "no"],
            "p_no": [0.1, 0.6, 0.2, 0.9],
            "p_yes": [0.9, 0.4, 0.8, 0.1],
        }
    )
    gold = {"d1": "no", "d2": "yes", "d3": "yes", "d4": "no"}
    result = scores(table, gold)
    assert result.values["map"] == pytest.approx((1 / 2 + 2 / 3) / 2 / 2)
    note = (
        "mean over 2 topics; only items with gold are ranked, as in trec_eval -J; 1 topics without a relevant one count"
    )
    assert result.notes["ndcg"] == f"{note} as 0"
    other = scores(table, gold, positive="no").values
    assert other["map"] == pytest.approx((1 / 3 + 1) / 2)
    assert "map" not in scores(table.drop("p_no", "p_yes"), gold).values
    assert "map" not in scores(table.drop("topic"), gold).values


def test_grades_are_ranked_by_expected_value() -> None:
    """A label is relevant from --level on, and its value is its gain; MAP needs a label that is not relevant."""
    table = pl.DataFrame({"item": ["a", "b", "c"], "topic": ["t"] * 3, "expected": [1.5, 2.0, 1.0]})
    gold = {"a": 3, "b": 1, "c": 2}
    best = 3 + 2 / np.log2(3) + 1 / 2
    result = scores(table, gold, level=2)
    assert result.values["ndcg"] == pytest.approx((1 + 3 / np.log2(3) + 2 / 2) / best)
    assert result.values["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    whole = scores(table, gold)
    assert whole.values["map"] is None
    assert whole.reasons["map"] == (
        "not defined because every label is worth 1 or more, so that everything is relevant: give level="
    )


def test_a_task2_run_has_labels_probabilities_and_ranks(tmp_path: Path) -> None:
    """All are scored, the ranks as they are written; grades 1 and 2 of qrels are relevant."""
    (tmp_path / "run.txt").write_text("t a 2 0.750000\nt b 1 0.500000\nt c 3 0.250000\n")
    (tmp_path / "x.qrels").write_text("t 0 a 2\nt 0 b 0\nt 0 c 1\n")
    with pytest.warns(AdjudgeWarning, match="grades 1 and 2 are read as label '1', grade 0 as '0'"):
        result = scores(tmp_path / "run.txt", tmp_path / "x.qrels")
    assert result.values["recall"] == 0.5
    assert result.values["rmse"] == pytest.approx(np.sqrt((0.25**2 + 0.5**2 + 0.75**2) / 3))
    assert result.values["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
