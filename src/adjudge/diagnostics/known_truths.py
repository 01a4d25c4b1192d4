"""The labels of judges on items whose truth is known, beside what the fit says of them.

A fit gives each label a probability of being right. On items with a known truth, the mean of these probabilities stands
beside the share of labels that are right. Gold that the fit used is left out of the probabilities of its own items:
these follow from the judgments alone, with the matrices that were learned with gold, calibrated as the fit is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments, places
from adjudge.diagnostics.evidence import Evidence
from adjudge.diagnostics.leave_out import item_logs, softmax
from adjudge.inference.answers import INTERVAL
from adjudge.inference.calibration import mixed
from adjudge.inference.result import Fit


class Verification(NamedTuple):
    """The share of a judge's labels that are right where the truth is known, its 90 % interval, and the fit's view."""

    value: float
    low: float
    high: float
    expected: float  # mean probability that the fit gives these labels
    judgments: int


class Reliability(NamedTuple):
    """The labels of every judge against known truths, and a sentence about all of them."""

    judges: list[Verification | None]  # (J) None for a judge without an item whose truth is known
    sentence: str  # empty if no truth is known


def reliability(fit: Fit, evidence: Evidence, truth: Codes | None = None) -> Reliability:
    """Return the labels of every judge against gold and against truths (I) that the fit did not use."""
    block, J = evidence.block, evidence.block.judges
    truths = known_truths(evidence, truth)
    rows = np.flatnonzero((truths[evidence.item] >= 0) & (evidence.weight > 0))
    if not rows.size:
        return Reliability([None] * J, "")
    item, label, weight = evidence.item[rows], block.label[rows], evidence.weight[rows]
    chance, right = posterior_without_gold(fit, evidence)[item, label], truths[item] == label
    total, same, claimed = (np.bincount(evidence.judge[rows], weight * part, J) for part in (1.0, right, chance))
    count = np.bincount(evidence.judge[rows], minlength=J)
    share, expected = (np.divide(part, total, out=np.zeros(J), where=total > 0) for part in (same, claimed))
    low, high = share_interval(same, total)
    columns = zip(*(part.tolist() for part in (share, low, high, expected, count)), strict=True)
    checks = [Verification(*row) if t > 0 else None for row, t in zip(columns, total, strict=True)]
    gold_used = bool((block.gold >= 0).any())
    means = [float(np.average(part, weights=weight)) for part in (chance, right)]
    return Reliability(checks, _sentence(means[0], means[1], rows.size, np.unique(item).size, gold_used))


def read_truth(fit: Fit, judgments: Judgments, truth: Any) -> Codes | None:
    """Return truths as codes (I) in the order of the fit's items, -1 if unknown; codes are returned as they are."""
    if truth is None or isinstance(truth, np.ndarray):
        return truth
    grown, code = read_gold(truth, judgments)
    index = places(fit.items, grown.items)
    return frozen(np.where(index >= 0, code[index], -1))


def share_interval(same: Codes | Floats, total: Codes | Floats) -> tuple[Floats, Floats]:
    """Return the ends of 90 % intervals of shares under Jeffreys' prior, widened to hold the share itself."""
    share = np.divide(same, total, out=np.zeros(total.size), where=total > 0)
    low, high = (betaincinv(same + 0.5, total - same + 0.5, end) for end in INTERVAL)
    return np.minimum(low, share), np.maximum(high, share)


def known_truths(evidence: Evidence, truth: Codes | None = None) -> Codes:
    """Return the truths of judged items (I), from the fit's gold or else from ``truth``; -1 if unknown."""
    gold = evidence.block.gold
    return gold if truth is None else np.where(gold >= 0, gold, truth[evidence.item_index])


def posterior_without_gold(fit: Fit, evidence: Evidence) -> Floats:
    """Return the posterior of judged items (I, K) as if the fit's gold were unknown."""
    block, p = evidence.block, fit.posterior[evidence.item_index]
    has_gold = block.gold >= 0
    if not has_gold.any():
        return p
    bare = block._replace(gold=np.full_like(block.gold, -1))
    without = softmax(item_logs(bare, evidence.prior, evidence.matrix).item)
    if fit.calibration is not None:
        without = mixed(fit.calibration, without, bare)
    return np.where(has_gold[:, None], without, p)


def _sentence(chance: float, right: float, judgments: int, items: int, gold_used: bool) -> str:
    """Return expected and observed shares of right labels in words."""
    note = " (optimistic: these gold items were also used to fit the model)" if gold_used else ""
    return (
        f"on {items:,} items whose truth is known, the fit expects {chance:.0%} of {judgments:,} judgments to be "
        f"right, and {right:.0%} are{note}"
    )
