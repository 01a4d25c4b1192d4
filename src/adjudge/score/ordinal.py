"""Scores of labels in an order: how far an answer is from the truth, not only whether it is another label.

Read off the matrix of counts, truths in its rows and answers in its columns, with what each label is worth (K). A
measure that divides by 0 is ``None``.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.score.confusion import Matrix, ratio


def mean_absolute_error(confusion: Matrix, value: Floats) -> float | None:
    """Return MAE, the mean of |value of the answer - value of the truth|."""
    return ratio(float((confusion * np.abs(_steps(value))).sum()), float(confusion.sum()))


def root_mean_squared_error(confusion: Matrix, value: Floats) -> float | None:
    """Return RMSE, the root of the mean squared distance: one that is far off weighs more than many that are near."""
    mean = ratio(float((confusion * _steps(value) ** 2).sum()), float(confusion.sum()))
    return None if mean is None else mean**0.5


def quadratic_kappa(confusion: Matrix, value: Floats) -> float | None:
    """Return Cohen's kappa with squared distances as weights (Cohen 1968).

    It is 1 - the mean squared distance / the same if truths and answers were paired at random: 1 for answers that are
    all right, 0 for those that know nothing. Where all truths and answers are one label, there is nothing to divide by.
    """
    distance, truths, answers = _steps(value) ** 2, confusion.sum(axis=1), confusion.sum(axis=0)  # (K, K), (K), (K)
    at_random = float(truths @ distance @ answers)
    disagreement = ratio(float((confusion * distance).sum()) * float(confusion.sum()), at_random)
    return None if disagreement is None else 1 - disagreement


def _steps(value: Floats) -> Floats:
    """Return how far each answer is above each truth (K, K)."""
    return value[None, :] - value[:, None]
