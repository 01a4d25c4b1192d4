"""Scores of answers that are probabilities: log loss and squared errors (paper 000, sections 9.1 and 9.2).

Means over no items at all are ``None``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import bdtr, ndtr

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.errors import UsageError, quoted

# Calibration: of what is given a chance of 90 %, nine in ten should happen.
#
# Items are put into bins by the probability they were given; a bin's mean probability stands beside the share of its
# items that turned out so. The expected calibration error is the distance of the two, averaged over items:
# ECE = sum_b n_b / n |observed_b - predicted_b| (Naeini, Cooper & Hauskrecht 2015). With two labels the probability is
# that of the second, with more that of the most likely one, so that observed is the share of right answers (Guo et al.
# 2017).
#
# The sentence says "as sure as it should be" only where items are enough to have shown otherwise, and where neither the
# mean nor a bin of a tenth is further off than chance goes nine times in ten, all bins taken together (Bonferroni).

BINS = 10
Z = 1.6448536269514722  # a normal deviate is within this of 0 nine times in ten
NARROW = 0.05  # half an interval, within which a share is known well enough to speak of it
NEAR = 0.01  # a difference nobody needs to act on, however many items show it
EMPTY = "no item has both a truth and a probability"


class Response(NamedTuple):
    """What was foretold of each item, and whether it came true."""

    outcome: Outcomes  # (I) 0 or 1
    probability: Floats  # (I) of a 1


@dataclass(frozen=True, eq=False)
class Calibration:
    """A calibration curve, a point a bin that holds items, lowest probability first; and its error."""

    predicted: Floats  # (B) mean probability
    observed: Floats  # (B) share of items that turned out so
    low: Floats  # (B) 90 % interval of that share (Wilson 1927)
    high: Floats  # (B)
    count: Codes  # (B) items
    ece: float | None  # None without items
    confidence: float | None  # mean probability of the likelier label
    right: float | None  # share of items whose likelier label is the truth; of even chances, half
    sentence: str  # the same in plain words

    def __repr__(self) -> str:
        error = "" if self.ece is None else f", ECE {self.ece:.4f}"
        return f"Calibration({self.count.sum():,} items in {self.count.size} bins{error})"


def calibration(truth: Outcomes, probability: Floats, bins: int = BINS, how: str = "width") -> Calibration:
    """Return the calibration curve of probabilities (I) of an outcome, or (I, K) of all labels.

    ``truth`` (I) holds outcomes 0 and 1, or codes of labels. Bins have the same width, or with ``how="count"`` as
    nearly the same number of items as ties allow: items of equal probability are never parted. Empty bins are left out.
    """
    if bins < 1:
        raise UsageError(f"bins {bins} is not 1 or more")
    if how not in PLACES:
        raise UsageError(f"how {how!r} is not one of {quoted(PLACES)}")
    wrong = probability[~((probability >= 0) & (probability <= 1))]
    if wrong.size:
        raise UsageError(f"probability {wrong.flat[0]:g} is not a number from 0 to 1")
    given = response(truth, probability)
    place = PLACES[how](given.probability, bins)  # (I)
    count = np.bincount(place, minlength=bins)
    filled = count > 0
    share = [np.bincount(place, part, bins)[filled] / count[filled] for part in (given.probability, given.outcome)]
    low, high = wilson(share[1], count[filled])
    confidence, right = _sureness(_likelier(given) if _is_of_one(probability) else given)
    return Calibration(
        predicted=frozen(share[0]),
        observed=frozen(share[1]),
        low=frozen(low),
        high=frozen(high),
        count=frozen(count[filled]),
        ece=expected_error(given, place),
        confidence=confidence,
        right=right,
        sentence=_sentence(confidence, right, given),
    )


def response(truth: Outcomes, probability: Floats) -> Response:
    """Return outcomes and their probabilities: as given (I), of the second of two labels, of the likeliest of more."""
    if _is_of_one(probability):
        return Response(truth, probability) if probability.ndim == 1 else Response(truth == 1, probability[:, 1])
    if not probability.shape[0]:
        return Response(np.zeros(0), np.zeros(0))
    return Response(probability.argmax(axis=1) == truth, probability.max(axis=1))


def by_width(probability: Floats, bins: int) -> Codes:
    """Return each item's bin (I) of [0, 1/B), [1/B, 2/B), ..., the last with its end."""
    edge = np.arange(1, bins) / bins  # (B - 1)
    place: Codes = np.searchsorted(edge, probability, side="right")
    return place


def by_count(probability: Floats, bins: int) -> Codes:
    """Return each item's bin (I) by how many items have a lower probability."""
    lower = np.searchsorted(np.sort(probability), probability)  # (I)
    place: Codes = lower * bins // max(probability.size, 1)
    return place


PLACES: Mapping[str, Callable[[Floats, int], Codes]] = {"width": by_width, "count": by_count}


def expected_error(given: Response, place: Codes, weight: Floats | None = None) -> float | None:
    """Return ECE of items in bins (I), each counted as often as its weight (I) says; None without items."""
    times = np.ones(place.size) if weight is None else weight
    total = float(times.sum())
    gap = np.bincount(place, times * (given.probability - given.outcome))  # (B) n_b (predicted_b - observed_b)
    return float(np.abs(gap).sum() / total) if total else None


def wilson(share: Floats, count: Codes | Floats) -> tuple[Floats, Floats]:
    """Return the ends of the 90 % interval of a share seen among so many: Wilson's, which stays within 0 and 1."""
    slack = Z**2 / count
    centre = (share + slack / 2) / (1 + slack)
    reach = Z * np.sqrt(share * (1 - share) / count + slack / (4 * count)) / (1 + slack)
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)


def _is_of_one(probability: Floats) -> bool:
    """Whether probabilities are of one outcome, and of its opposite what is left."""
    return probability.ndim == 1 or probability.shape[1] == 2


def _likelier(given: Response) -> Response:
    """Return the likelier of an outcome and its opposite; of even chances either, which is half right."""
    p = given.probability
    right = np.where(p > 0.5, given.outcome, np.where(p < 0.5, 1.0 - given.outcome, 0.5))
    return Response(right, np.maximum(p, 1 - p))


def _sureness(likelier: Response) -> tuple[float | None, float | None]:
    """Return the mean probability of the likelier label, and how often it is the truth."""
    if not likelier.probability.size:
        return None, None
    return float(likelier.probability.mean()), float(np.mean(likelier.outcome))


def _sentence(confidence: float | None, right: float | None, given: Response) -> str:
    """Return how sure the answers are beside how often they are right."""
    if confidence is None or right is None:
        return f"not defined because {EMPTY}"
    items = given.probability.size
    verdict = _verdict(confidence, right, given)
    return f"says {100 * confidence:.0f} % and is right in {100 * right:.0f} % of {items:,} items: {verdict}"


def _verdict(confidence: float, right: float, given: Response) -> str:
    """Return what has been shown: of all items, of those in a bin, or nothing yet."""
    low, high = wilson(np.array(right), np.array(given.probability.size))
    if abs(confidence - right) > NEAR and not low <= confidence <= high:
        return "too sure" if confidence > right else "not sure enough"
    narrow, off = high - low < 2 * NARROW, _furthest_off(given)
    if off is not None:
        return f"right on average, but {off}" if narrow else off
    return "as sure as it should be" if narrow else "too few to tell whether it is as sure as it should be"


def _furthest_off(given: Response) -> str | None:
    """Return the bin that costs most of those whose share chance does not explain, None where it explains all.

    A bin's count is taken as binomial at its mean probability, which varies a little more than it does.
    """
    place = by_width(given.probability, BINS)
    count = np.bincount(place)
    filled = count > 0
    count = count[filled]
    predicted, observed = (np.bincount(place, part)[filled] / count for part in given[::-1])
    times = np.rint(observed * count)
    fewer, more = bdtr(times, count, predicted), bdtr(count - times, count, 1 - predicted)
    chance = 2 * np.minimum(fewer, more)  # of a count as far off
    gap = abs(predicted - observed)
    off = (chance < 2 * ndtr(-Z) / count.size) & (gap > NEAR)
    if not off.any():
        return None
    b = int(np.argmax(np.where(off, count * gap, 0.0)))
    sure = (predicted[b] > observed[b]) == (predicted[b] > 0.5)
    how = "too sure" if sure else "not sure enough"
    return f"{how} at {100 * predicted[b]:.0f} %, of which {100 * observed[b]:.0f} % came true"


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
