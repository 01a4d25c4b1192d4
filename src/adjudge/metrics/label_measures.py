"""Measures of labels, computed from the confusion matrix of truths (rows) and answers (columns).

A measure that divides by 0 is ``None``, which is neither 0 nor NaN. Measures of ordered labels also take the value of
each label (K), and depend on how far an answer is from the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats

Matrix: TypeAlias = Codes | Floats
LabelMeasure: TypeAlias = Callable[[Matrix, int], float | None]


def counts(truth: Codes, answer: Codes, K: int) -> Codes:
    """Return how many items of each truth got each answer (K, K), from their codes (I)."""
    cell = truth.astype(np.intp) * K + answer  # wide codes: a small integer times K does not fit
    return np.bincount(cell, minlength=K * K).reshape(K, K)


def fractional(truth: Floats, answer: Floats) -> Floats:
    """Return the expected counts (K, K) when truths and answers (I, K) are probabilities (paper 000, section 9.3).

    An answer of .72 counts as .72 of a 1 and .28 of a 0; a known truth has a single 1 in its row.
    """
    return truth.T @ answer


def indicator(code: Codes, K: int) -> Floats:
    """Return labels as probabilities: 1 for each item's label and 0 elsewhere (I, K)."""
    return np.eye(K)[code]


def ratio(part: float, total: float) -> float | None:
    """Return part / total, ``None`` if the total is 0."""
    return float(part / total) if total else None


def accuracy(confusion: Matrix) -> float | None:
    """Return the share of items whose answer is their truth."""
    return ratio(np.trace(confusion), confusion.sum())


def precision(confusion: Matrix, label: int) -> float | None:
    """Return TP / (TP + FP): of the items answered with the label, the share that have it."""
    return ratio(confusion[label, label], confusion[:, label].sum())


def recall(confusion: Matrix, label: int) -> float | None:
    """Return TP / (TP + FN), also called sensitivity: of the items that have the label, the share answered so."""
    return ratio(confusion[label, label], confusion[label].sum())


def specificity(confusion: Matrix, label: int) -> float | None:
    """Return TN / (TN + FP): of the items that do not have the label, the share not answered so."""
    others = np.delete(confusion, label, axis=0)  # (K - 1, K)
    return ratio(np.delete(others, label, axis=1).sum(), others.sum())


def f1(confusion: Matrix, label: int) -> float | None:
    """Return 2 TP / (2 TP + FP + FN).

    This is the harmonic mean of precision and recall if both exist, and 0 if a label was never found.
    """
    return ratio(2 * confusion[label, label], confusion[label].sum() + confusion[:, label].sum())


def occurring(confusion: Matrix) -> Codes:
    """Return the labels that are the truth or the answer of some item."""
    return np.flatnonzero(confusion.sum(axis=0) + confusion.sum(axis=1))


def macro(confusion: Matrix, measure: LabelMeasure) -> float | None:
    """Return the plain mean of a measure over the labels that occur, ``None`` if one of them has no value.

    Leaving such a label out would reward never answering with a difficult one.
    """
    values = [measure(confusion, int(label)) for label in occurring(confusion)]
    defined = [value for value in values if value is not None]
    return ratio(sum(defined), len(defined)) if len(defined) == len(values) else None


def mcc(confusion: Matrix) -> float | None:
    """Return the correlation of truth and answer: Matthews' for two labels, Gorodkin's R_K for more."""
    truths, answers = confusion.sum(axis=1), confusion.sum(axis=0)  # (K)
    if np.count_nonzero(truths) < 2 or np.count_nonzero(answers) < 2:
        return None
    total = confusion.sum()
    covariance = total * np.trace(confusion) - truths @ answers
    return float(covariance / np.sqrt(total**2 - truths @ truths) / np.sqrt(total**2 - answers @ answers))


def mean_absolute_error(confusion: Matrix, value: Floats) -> float | None:
    """Return MAE, the mean of |value of the answer - value of the truth|."""
    return ratio(float((confusion * np.abs(_steps(value))).sum()), float(confusion.sum()))


def root_mean_squared_error(confusion: Matrix, value: Floats) -> float | None:
    """Return RMSE, the root of the mean squared distance, in which large errors count most."""
    mean = ratio(float((confusion * _steps(value) ** 2).sum()), float(confusion.sum()))
    return None if mean is None else mean**0.5


def quadratic_kappa(confusion: Matrix, value: Floats) -> float | None:
    """Return Cohen's kappa with squared distances as weights (Cohen 1968).

    It is 1 - the mean squared distance / its value if truths and answers were paired at random: 1 is perfect, 0 is
    chance. It is not defined if all truths and answers are one label.
    """
    distance, truths, answers = _steps(value) ** 2, confusion.sum(axis=1), confusion.sum(axis=0)  # (K, K), (K), (K)
    by_chance = float(truths @ distance @ answers)
    disagreement = ratio(float((confusion * distance).sum()) * float(confusion.sum()), by_chance)
    return None if disagreement is None else 1 - disagreement


def _steps(value: Floats) -> Floats:
    """Return how far each answer is above each truth (K, K)."""
    return value[None, :] - value[:, None]
