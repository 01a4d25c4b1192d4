"""``gold_accuracy``: how often judges are right on items whose truth is known, in all and period by period.

A monitoring set of items with known truth is mixed into the work of judges. A judge's share of right labels on it has a
Beta posterior in each period (paper 003).

A fit gives each label a probability of being right. On items with a known truth, the mean of these probabilities stands
beside the share of labels that are right. Gold that the fit used is left out of the probabilities of its own items:
these follow from the judgments alone, with the matrices that were learned with gold, calibrated as the fit is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments, places
from adjudge.data.read import read
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.evidence import Evidence
from adjudge.diagnostics.leave_out import item_logs, softmax
from adjudge.diagnostics.times import DAY, NO_TIMES, Times, judgment_times
from adjudge.errors import UsageError
from adjudge.inference.calibration import mixed
from adjudge.inference.people import weighed_block
from adjudge.inference.result import INTERVAL, Fit
from adjudge.kernels.block import Block

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


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
    if fit.calibration is not None and fit.definition.by_kind:
        bare = as_weighed(fit, bare)
        without = mixed(fit.calibration, fit.definition.posterior(bare, fit.params)[0], bare)
        return np.where(has_gold[:, None], without, p)
    without = softmax(item_logs(bare, evidence.prior, evidence.matrix).item)
    if fit.calibration is not None:
        without = mixed(fit.calibration, without, bare)
    return np.where(has_gold[:, None], without, p)


def as_weighed(fit: Fit, block: Block) -> Block:
    """Return the judgments of a consensus as they counted in its fit, by the kind and the family of their judges."""
    learned = None if fit.calibration is None else fit.calibration.gold_map
    if fit.panel is None:
        return block
    all_fitted = np.zeros(len(fit.judge_names), np.int64)
    return weighed_block(block, fit.panel, all_fitted if learned is None or not learned.tier.size else learned.tier)


def _sentence(chance: float, right: float, judgments: int, items: int, gold_used: bool) -> str:
    """Return expected and observed shares of right labels in words."""
    note = " (optimistic: these gold items were also used to fit the model)" if gold_used else ""
    return (
        f"on {items:,} items whose truth is known, {right:.0%} of {judgments:,} judgments are right, and the fit "
        f"expects {chance:.0%}{note}"
    )


PERIODS = 4  # by default


@dataclass(frozen=True, eq=False)
class GoldAccuracy(NotebookView):
    """How often judges are right on gold items, period by period; one row per judge and period."""

    judges: Names  # (J)
    judge: Codes  # (R)
    period: Codes  # (R) from 0
    since: tuple[str, ...]  # (R) when the period begins; without times "all"
    judged: Codes  # (R) judgments of gold items
    right: Codes  # (R)
    mean: Floats  # (R) of the Beta posterior, with a flat prior
    low: Floats  # (R) ends of its 90 % interval
    high: Floats
    items: int  # gold items that were judged
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        judges, total = np.unique(self.judge).size, max(int(self.judged.sum()), 1)
        return f"GoldAccuracy({judges:,} judges on {self.items:,} gold items, {self.right.sum() / total:.1%} right)"

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        total, right = int(self.judged.sum()), int(self.right.sum())
        share = f"right on {right / total:.1%} of {total:,} judgments" if total else "without any judgment"
        return f"Gold set of {self.items:,} items: {np.unique(self.judge).size:,} judges, {share}."

    @property
    def table(self) -> Any:
        """A table with one row per judge and period."""
        return frame(
            {
                "judge": self.judges.gather(self.judge),
                "period": self.period,
                "since": list(self.since),
                "judgments": self.judged,
                "right": self.right,
                "quality": self.mean,
                "low": self.low,
                "high": self.high,
            },
            self.kind,
        )


def gold_accuracy(judgments: Any, gold: Any, *, periods: int | str = PERIODS, order: Any = None) -> GoldAccuracy:
    """Return each judge's accuracy on items whose truth is known, in periods of equal length or by day.

    Parameters
    ----------
    judgments : frame, path or Judgments
        The judgments. Without times there is a single period.
    gold : frame, path or mapping
        The items whose truth is known, with their labels.
    periods : int or "day"
        The number of periods of equal length, or one period per day.
    order : array, optional
        The order of the judgments (N), instead of their times.

    Returns
    -------
    GoldAccuracy

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> gold_accuracy(judgments, {judgments.items[0]: 1, judgments.items[1]: 2})
    GoldAccuracy(5 judges on 2 gold items, 50.0% right)

    """
    if (isinstance(periods, str) and periods != "day") or (not isinstance(periods, str) and periods < 1):
        raise UsageError(f"periods {periods!r} is neither a whole number of at least 1 nor 'day'")
    judgments = read(judgments)
    _, truth = read_gold(gold, judgments)
    item, (number, since) = judgments.item(), _split_periods(judgments, judgment_times(judgments, order), periods)
    rows = np.flatnonzero(truth[item] >= 0)
    right = truth[item[rows]] == judgments.label[rows]
    key, index = np.unique(judgments.judge[rows].astype(np.int64) * len(since) + number[rows], return_inverse=True)
    count = np.bincount(index, minlength=key.size)
    hits = np.bincount(index, weights=right, minlength=key.size).astype(np.int64)
    low, high = (betaincinv(hits + 1, count - hits + 1, end) for end in INTERVAL)
    judge, period = np.divmod(key, len(since))
    return GoldAccuracy(
        judgments.judges,
        judge,
        period,
        tuple(since[n] for n in period.tolist()),
        count,
        hits,
        (hits + 1) / (count + 2),
        low,
        high,
        int(np.unique(item[rows]).size),
        judgments.kind,
    )


def _split_periods(judgments: Judgments, times: Times | None, periods: int | str) -> tuple[Codes, list[str]]:
    """Return the period of each judgment (N), and when each period begins."""
    if periods == "day" and (times is None or not times.dates):
        reason = NO_TIMES if times is None else "the times are not dates"
        raise UsageError(f"periods of a day are not defined because {reason}")
    if times is None:
        return np.zeros(len(judgments), np.int64), ["all"]
    number = _period_numbers(times, periods)
    return number, _period_starts(times, number, int(number.max(initial=0)) + 1)


def _period_numbers(times: Times, periods: int | str) -> Codes:
    """Return the period of each judgment (N)."""
    if not times.value.size:
        return np.zeros(0, np.int64)
    began = times.value.min()
    if isinstance(periods, str):
        return np.asarray(np.floor(times.value / DAY).astype(np.int64) - int(np.floor(began / DAY)))
    length = max(float(times.value.max() - began), 1e-300)
    return np.asarray(np.minimum(((times.value - began) / length * periods).astype(np.int64), periods - 1))


def _period_starts(times: Times, number: Codes, width: int) -> list[str]:
    """Return the time of the first judgment of each period, an empty text if there is none."""
    rows = [np.flatnonzero(number == period) for period in range(width)]
    return [times.text(int(of[np.argmin(times.value[of])])) if of.size else "" for of in rows]
