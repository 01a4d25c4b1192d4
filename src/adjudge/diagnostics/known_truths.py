"""What a fit says of a judge's labels, held against truths that are known.

A fit gives each of her labels a probability of being right. On items whose truth is known, the mean of these stands
beside the share that is right. Truths that the fit was told are left out of the probabilities: those are of the
judgments alone, by the matrices that were learned with gold, and calibrated as the fit is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments, places
from adjudge.diagnostics.evidence import Evidence
from adjudge.diagnostics.others import softmax, votes
from adjudge.inference.answers import INTERVAL
from adjudge.inference.calibration import mixed
from adjudge.inference.result import Fit


class Held(NamedTuple):
    """The share of a judge's labels that are right where that is known, its 90 % interval, and what was expected."""

    value: float
    low: float
    high: float
    expected: float  # mean probability that the fit gives these labels
    judgments: int


class Reliability(NamedTuple):
    """How every judge's labels stand against known truths, and all of them together in words."""

    judges: list[Held | None]  # (J) None of one who has judged no item whose truth is known
    sentence: str  # empty where no truth is known


def reliability(fit: Fit, evidence: Evidence, truth: Codes | None = None) -> Reliability:
    """Return the labels of every judge held against gold, and against truths (I) that the fit was not told."""
    block, J = evidence.block, evidence.block.judges
    known = truths_known(evidence, truth)
    where = np.flatnonzero((known[evidence.item] >= 0) & (evidence.weight > 0))
    if not where.size:
        return Reliability([None] * J, "")
    item, label, weight = evidence.item[where], block.label[where], evidence.weight[where]
    chance, right = without_gold(fit, evidence)[item, label], known[item] == label
    total, same, said = (np.bincount(evidence.judge[where], weight * part, J) for part in (1.0, right, chance))
    count = np.bincount(evidence.judge[where], minlength=J)
    share, expected = (np.divide(part, total, out=np.zeros(J), where=total > 0) for part in (same, said))
    low, high = share_interval(same, total)
    rows = zip(*(part.tolist() for part in (share, low, high, expected, count)), strict=True)
    found = [Held(*row) if t > 0 else None for row, t in zip(rows, total, strict=True)]
    told = bool((block.gold >= 0).any())
    means = [float(np.average(part, weights=weight)) for part in (chance, right)]
    return Reliability(found, _sentence(means[0], means[1], where.size, np.unique(item).size, told))


def read_truth(fit: Fit, judgments: Judgments, truth: Any) -> Codes | None:
    """Return truths as codes (I) in the order of the fit's items, -1 if unknown; codes are returned as they are."""
    if truth is None or isinstance(truth, np.ndarray):
        return truth
    grown, code = read_gold(truth, judgments)
    index = places(fit.items, grown.items)
    return frozen(np.where(index >= 0, code[index], -1))


def share_interval(same: Codes | Floats, total: Codes | Floats) -> tuple[Floats, Floats]:
    """Return the ends of 90 % intervals of shares, by Jeffreys' prior; the share itself is always within."""
    share = np.divide(same, total, out=np.zeros(total.size), where=total > 0)
    low, high = (betaincinv(same + 0.5, total - same + 0.5, end) for end in INTERVAL)
    return np.minimum(low, share), np.maximum(high, share)


def truths_known(evidence: Evidence, truth: Codes | None = None) -> Codes:
    """Return the truths of judged items (I) that gold told the fit, or that are known besides; -1 of the others."""
    gold = evidence.block.gold
    return gold if truth is None else np.where(gold >= 0, gold, truth[evidence.place])


def without_gold(fit: Fit, evidence: Evidence) -> Floats:
    """Return what the fit says of truths (I, K) as if it had been told none of them."""
    block, p = evidence.block, fit.posterior[evidence.place]
    told = block.gold >= 0
    if not told.any():
        return p
    bare = block._replace(gold=np.full_like(block.gold, -1))
    untold = softmax(votes(bare, evidence.prior, evidence.matrix).whole)
    if fit.calibration is not None:
        untold = mixed(fit.calibration, untold, bare)
    return np.where(told[:, None], untold, p)


def _sentence(chance: float, right: float, judgments: int, items: int, told: bool) -> str:
    """Return how probabilities of labels stand against known truths, in words."""
    said = f"on {items:,} items whose truth is known, judges are held to be right in {chance:.0%}"
    seen = " (matrices have learned from gold, so that this is on the bright side)" if told else ""
    return f"{said} of {judgments:,} judgments, and are in {right:.0%}{seen}"
