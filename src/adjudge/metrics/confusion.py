"""Truth against answer: the matrix of counts, and the measures that are read off it.

A matrix has truths in its rows and answers in its columns. A measure that divides by 0 is ``None``: nothing
can be said, which is neither 0 nor NaN.
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

    An answer of .72 counts as .72 of a 1 and .28 of a 0; where the truth is known its row holds a single 1.
    """
    return truth.T @ answer


def indicator(code: Codes, K: int) -> Floats:
    """Return known labels as probabilities: a 1 at each item's label and 0 elsewhere (I, K)."""
    return np.eye(K)[code]


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole, and ``None`` for a part of nothing."""
    return float(part / whole) if whole else None


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

    Where precision and recall have a harmonic mean this is it, and it says 0 where a label was never found.
    """
    return ratio(2 * confusion[label, label], confusion[label].sum() + confusion[:, label].sum())


def occurring(confusion: Matrix) -> Codes:
    """Return the labels that are some item's truth or answer."""
    return np.flatnonzero(confusion.sum(axis=0) + confusion.sum(axis=1))


def macro(confusion: Matrix, measure: LabelMeasure) -> float | None:
    """Return the plain mean of a measure over the labels that occur, ``None`` if one of them has no value.

    To leave such a label out would reward whoever never answers with a difficult one.
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
