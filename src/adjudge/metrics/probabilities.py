"""Measures of probabilities: log loss, squared errors (paper 000, sections 9.1 and 9.2), and calibration.

Items are put into bins by their probability; a bin's mean probability stands beside the share of its items with the
outcome. The expected calibration error is their distance, averaged over items: ECE = sum_b n_b / n |observed_b -
predicted_b| (Naeini, Cooper & Hauskrecht 2015). With two labels the probability is that of the second, with more that
of the most likely one, so that observed is the share of right answers (Guo et al. 2017).

The sentence says that probabilities are calibrated only if there are enough items to show the contrary, and if neither
the mean nor a bin of a tenth is further off than chance allows with 90 % probability, for all bins together
(Bonferroni). Means over no items are ``None``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import bdtr, ndtr

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.errors import UsageError, not_one_of

Outcomes: TypeAlias = Codes | Flags | Floats

BOUND = 1e-3  # 1,000 draws cannot distinguish less from 0, and a confident mistake has a finite loss
BINS = 10
Z = 1.6448536269514722  # a standard normal variable is within this of 0 with 90 % probability
NARROW = 0.05  # half width of an interval within which a share is known well enough
NEAR = 0.01  # a difference that needs no action, however many items show it
EMPTY = "no item has both a truth and a probability"


class Prediction(NamedTuple):
    """The predicted probability of an outcome for each item, and the outcome."""

    outcome: Outcomes  # (I) 0 or 1
    probability: Floats  # (I) of a 1


@dataclass(frozen=True, eq=False)
class Calibration:
    """A calibration curve with one point per bin that holds items, lowest probability first, and its error."""

    predicted: Floats  # (B) mean probability
    observed: Floats  # (B) share of items with the outcome
    low: Floats  # (B) 90 % interval of that share (Wilson 1927)
    high: Floats  # (B)
    count: Codes  # (B) items
    ece: float | None  # None without items
    confidence: float | None  # mean probability of the more likely label
    right: float | None  # share of items whose more likely label is the truth; half for even chances
    sentence: str

    def __repr__(self) -> str:
        error = "" if self.ece is None else f", ECE {self.ece:.4f}"
        return f"Calibration({self.count.sum():,} items in {self.count.size} bins{error})"


def calibration(truth: Outcomes, probability: Floats, bins: int = BINS, how: str = "width") -> Calibration:
    """Return the calibration curve of probabilities (I) of an outcome, or (I, K) of all labels.

    ``truth`` (I) holds outcomes 0 and 1, or codes of labels. Bins have the same width, or with ``how="count"`` as
    nearly the same number of items as ties allow: items of equal probability are in one bin. Empty bins are left out.
    """
    if bins < 1:
        raise UsageError(f"bins {bins} is not 1 or more")
    if how not in BINNINGS:
        raise UsageError(not_one_of("how", how, BINNINGS))
    wrong = probability[~((probability >= 0) & (probability <= 1))]
    if wrong.size:
        raise UsageError(f"probability {wrong.flat[0]:g} is not a number from 0 to 1")
    prediction = predictions(truth, probability)
    index = BINNINGS[how](prediction.probability, bins)  # (I)
    count = np.bincount(index, minlength=bins)
    filled = count > 0
    parts = (prediction.probability, prediction.outcome)
    share = [np.bincount(index, part, bins)[filled] / count[filled] for part in parts]
    low, high = wilson(share[1], count[filled])
    confidence, right = _sureness(_more_likely(prediction) if _is_binary(probability) else prediction)
    return Calibration(
        predicted=frozen(share[0]),
        observed=frozen(share[1]),
        low=frozen(low),
        high=frozen(high),
        count=frozen(count[filled]),
        ece=expected_error(prediction, index),
        confidence=confidence,
        right=right,
        sentence=_sentence(confidence, right, prediction),
    )


def predictions(truth: Outcomes, probability: Floats) -> Prediction:
    """Return outcomes and probabilities: as they are (I), of the second of two labels, or of the most likely one."""
    if _is_binary(probability):
        return Prediction(truth, probability) if probability.ndim == 1 else Prediction(truth == 1, probability[:, 1])
    if not probability.shape[0]:
        return Prediction(np.zeros(0), np.zeros(0))
    return Prediction(probability.argmax(axis=1) == truth, probability.max(axis=1))


def by_width(probability: Floats, bins: int) -> Codes:
    """Return each item's bin (I) of [0, 1/B), [1/B, 2/B), ..., the last with its upper end."""
    edge = np.arange(1, bins) / bins  # (B - 1)
    index: Codes = np.searchsorted(edge, probability, side="right")
    return index


def by_count(probability: Floats, bins: int) -> Codes:
    """Return each item's bin (I) by how many items have a lower probability."""
    lower = np.searchsorted(np.sort(probability), probability)  # (I)
    index: Codes = lower * bins // max(probability.size, 1)
    return index


BINNINGS: Mapping[str, Callable[[Floats, int], Codes]] = {"width": by_width, "count": by_count}


def expected_error(prediction: Prediction, index: Codes, weight: Floats | None = None) -> float | None:
    """Return the ECE of items in bins (I), with weights (I); None without items."""
    times = np.ones(index.size) if weight is None else weight
    total = float(times.sum())
    gap = np.bincount(
        index, times * (prediction.probability - prediction.outcome)
    )  # (B) n_b (predicted_b - observed_b)
    return float(np.abs(gap).sum() / total) if total else None


def wilson(share: Floats, count: Codes | Floats) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's 90 % interval of a share among ``count`` items, which stays within 0 and 1."""
    slack = Z**2 / count
    centre = (share + slack / 2) / (1 + slack)
    reach = Z * np.sqrt(share * (1 - share) / count + slack / (4 * count)) / (1 + slack)
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)


def _is_binary(probability: Floats) -> bool:
    """Whether probabilities are those of one outcome and its opposite."""
    return probability.ndim == 1 or probability.shape[1] == 2


def _more_likely(prediction: Prediction) -> Prediction:
    """Return the more likely of an outcome and its opposite; even chances are half right."""
    p, outcome = prediction.probability, prediction.outcome
    right = np.where(p > 0.5, outcome, np.where(p < 0.5, 1.0 - outcome, 0.5))
    return Prediction(right, np.maximum(p, 1 - p))


def _sureness(prediction: Prediction) -> tuple[float | None, float | None]:
    """Return the mean probability of the more likely label, and how often it is the truth."""
    if not prediction.probability.size:
        return None, None
    return float(prediction.probability.mean()), float(np.mean(prediction.outcome))


def _sentence(confidence: float | None, right: float | None, prediction: Prediction) -> str:
    """Return the mean confidence, the share of right answers, and the verdict in words."""
    if confidence is None or right is None:
        return f"not defined because {EMPTY}"
    items = prediction.probability.size
    verdict = _verdict(confidence, right, prediction)
    return f"predicts {100 * confidence:.0f} % and is right in {100 * right:.0f} % of {items:,} items: {verdict}"


def _verdict(confidence: float, right: float, prediction: Prediction) -> str:
    """Return what the items show: about all of them, about a bin, or nothing yet."""
    low, high = wilson(np.array(right), np.array(prediction.probability.size))
    if abs(confidence - right) > NEAR and not low <= confidence <= high:
        return "over-confident" if confidence > right else "under-confident"
    narrow, off = high - low < 2 * NARROW, _furthest_off(prediction)
    if off is not None:
        return f"calibrated on average, but {off}" if narrow else off
    return "calibrated" if narrow else "too few items to say whether it is calibrated"


def _furthest_off(prediction: Prediction) -> str | None:
    """Return the worst bin among those that chance does not explain, None if it explains all.

    A bin's count is taken as binomial with its mean probability, which varies a little more than the count does.
    """
    index = by_width(prediction.probability, BINS)
    count = np.bincount(index)
    filled = count > 0
    count = count[filled]
    predicted, observed = (np.bincount(index, part)[filled] / count for part in prediction[::-1])
    times = np.rint(observed * count)
    fewer, more = bdtr(times, count, predicted), bdtr(count - times, count, 1 - predicted)
    chance = 2 * np.minimum(fewer, more)  # of a count as far off
    gap = abs(predicted - observed)
    off = (chance < 2 * ndtr(-Z) / count.size) & (gap > NEAR)
    if not off.any():
        return None
    b = int(np.argmax(np.where(off, count * gap, 0.0)))
    sure = (predicted[b] > observed[b]) == (predicted[b] > 0.5)
    how = "over-confident" if sure else "under-confident"
    return f"{how} at {100 * predicted[b]:.0f} %, where {100 * observed[b]:.0f} % have the outcome"


def log_loss(truth: Codes, probability: Floats, bound: float = BOUND) -> float | None:
    """Return the mean of -log p(truth) in nats, with p limited to ``bound`` and ``1 - bound``.

    ``truth`` holds codes (I), ``probability`` one row per item (I, K).
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
    """Return the mean over items, None without items."""
    return float(loss.mean()) if loss.size else None
