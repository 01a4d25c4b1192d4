"""Scores of answers that are probabilities: log loss and squared errors (paper 000, sections 9.1 and 9.2).

Means over no items at all are ``None``.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats

BOUND = 1e-3  # what 1,000 draws cannot tell from 0, and what keeps one confident mistake from being infinite

Outcomes: TypeAlias = Codes | Flags | Floats


def log_loss(truth: Codes, probability: Floats, bound: float = BOUND) -> float | None:
    """Return the mean of -log p(truth), in nats, with every p kept within ``bound`` and ``1 - bound``.

    ``truth`` holds codes (I), ``probability`` a row for each item (I, K).
    """
    of_truth = probability[np.arange(truth.size), truth]  # (I)
    return _mean(-np.log(np.clip(of_truth, bound, 1 - bound)))


def brier(truth: Codes, probability: Floats) -> float | None:
    """Return the mean over items of the squared error summed over all labels: from 0 to 2."""
    certain = np.eye(probability.shape[1])[truth]  # (I, K)
    return _mean(((certain - probability) ** 2).sum(axis=1))


def squared_error(outcome: Outcomes, response: Floats) -> float:
    """Return SE, the sum of (y - response)^2 over outcomes y of 0 or 1 (I)."""
    return float(((outcome - response) ** 2).sum())


def mean_squared_error(outcome: Outcomes, response: Floats) -> float | None:
    """Return MSE = SE / N."""
    return _mean((outcome - response) ** 2)


def root_mean_squared_error(outcome: Outcomes, response: Floats) -> float | None:
    """Return RMSE, the square root of MSE: an error on the scale of the responses."""
    mean = mean_squared_error(outcome, response)
    return None if mean is None else mean**0.5


def _mean(loss: Floats) -> float | None:
    """Return the mean over items, which none have."""
    return float(loss.mean()) if loss.size else None
