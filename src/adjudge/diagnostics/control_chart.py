"""``control_chart``: each judge's share of right labels, batch by batch, with the limits that chance sets.

Whether a label is right is not observed; its chance according to the other judges is. On each item this chance has a
mean and a variance under the judge's matrix (or an average judge's), so every batch has its own level, higher on items
of which the other judges are sure. The limits are quantiles of the Beta distribution with that mean and variance,
exceeded as rarely as a normal variable exceeds 2 and 3 standard errors. Levels are shifted so that they agree with the
mean of all of a judge's work (or the crowd's).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, ndtr

from adjudge.arrays import Codes, Floats
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.leave_out import correctness, leave_out
from adjudge.diagnostics.sentences import some_names
from adjudge.diagnostics.times import (
    DAY,
    NO_TIMES,
    Times,
    count_single_time,
    judge_series,
    judgment_times,
    time_steps,
)
from adjudge.errors import UsageError
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fitted

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


BATCH = 25  # judgments in a batch
SLACK = 1e-5  # shares that differ by less are equal: for judges who are certain only rounding is left
ROW = 8  # batches in a row on one side of the level that break a rule


@dataclass(frozen=True, eq=False)
class ControlChart(NotebookView):
    """The share of right labels of each judge, batch by batch, with its limits; one row per batch."""

    judges: Names  # (J)
    judge: Codes  # (B)
    batch: Codes  # (B) of the judge, from 0
    since: tuple[str, ...]  # (B) the time of the batch's first judgment
    size: Codes  # (B) judgments
    right: Floats  # (B) expected share of right labels according to the other judges
    level: Floats  # (B) the share expected on these items of the judge, or of the crowd
    limits: Floats  # (B, 4) -3, -2, +2 and +3 standard errors from the level
    flags: tuple[str, ...]  # (B) the rule that the batch breaks, or an empty text
    single_time: int = 0  # judges with several judgments, all of one time
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        broken = sum(bool(flag) for flag in self.flags)
        return f"ControlChart({len(self.flags):,} batches of {np.unique(self.judge).size:,} judges, {broken:,} flagged)"

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        broken = np.array([bool(flag) for flag in self.flags], bool)
        names = [str(self.judges[int(j)]) for j in np.unique(self.judge[broken])]
        judges = np.unique(self.judge).size
        batches = f"{len(self.flags):,} batches of {judges:,} judges"
        note = f"; {self.single_time:,} judges have judgments of one time only, so changes cannot be detected"
        note = note if self.single_time else ""
        if not names and self.single_time == judges:
            return "Changes cannot be detected: all judgments of each judge have the same time."
        if not names:
            return f"All of {batches} are within their limits{note}."
        return f"{broken.sum():,} of {batches} are out of control, of {len(names):,} judges: {some_names(names)}{note}."

    @property
    def table(self) -> Any:
        """A table with one row per batch."""
        limits = {name: self.limits[:, c] for c, name in enumerate(("low_3", "low_2", "high_2", "high_3"))}
        return frame(
            {
                "judge": self.judges.gather(self.judge),
                "batch": self.batch,
                "since": list(self.since),
                "judgments": self.size,
                "right": self.right,
                "level": self.level,
                **limits,
                "flag": list(self.flags),
            },
            self.kind,
        )


def control_chart(
    fit: Fit | str | PathLike[str],
    judgments: Any = None,
    *,
    batch: int | str = BATCH,
    against: str = "judge",
    order: Any = None,
) -> ControlChart:
    """Compare each judge's batches with the judge's own level, or with that of the crowd.

    A batch is flagged if it is beyond 3 standard errors ("beyond 3"), if it is the second of three beyond 2 on one side
    ("two beyond 2"), or if it is the eighth in a row, or later, on one side ("eight in a row"). Of 100 batches of a
    judge who does not change, expect one or two. A last batch of less than half the size joins the one before.
    Judgments of the same time have no order, so they are in one batch.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from, with times. Default: those kept with the fit.
    batch : int or "day"
        The number of judgments in a batch, or one batch per day.
    against : str
        ``"judge"`` or ``"crowd"``.
    order : array, optional
        The order of the judgments (N), instead of their times.

    Returns
    -------
    ControlChart

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> fit = adjudge.fit(judgments, "dawid-skene")
    >>> control_chart(fit, judgments, order=range(len(judgments)))
    ControlChart(13 batches of 5 judges, 0 flagged)

    """
    fit, judgments = read_fitted(fit, judgments)
    times = judgment_times(judgments, order)
    if times is None:
        raise UsageError(f"a control chart is not defined because {NO_TIMES}: name their column or give an order")
    if against not in ("judge", "crowd"):
        raise UsageError(f"against {against!r} is not one of 'judge', 'crowd'")
    left, J = leave_out(fit, judgments), len(fit.judge_names)
    by_judge = against == "judge"
    matrix = left.confusion if by_judge else np.broadcast_to(left.average_confusion, left.confusion.shape)
    right, mean, variance, _ = correctness(left.posterior(), left.block.label, matrix[left.judge])
    group = left.judge if by_judge else np.zeros_like(left.judge)
    off = np.bincount(group, weights=right - mean, minlength=J) / np.maximum(np.bincount(group, minlength=J), 1)
    row, start = judge_series(left.judge, times, J)
    number = _batch_numbers(times, row, start, batch)
    key = np.flatnonzero(np.r_[True, (np.diff(number) != 0) | (np.diff(left.judge[row]) != 0)])
    judge, size = left.judge[row[key]], np.diff(np.r_[key, row.size])
    share, level, spread = (np.add.reduceat(each[row], key) / size for each in (right, mean + off[group], variance))
    limits = _limits(level, spread / size)
    first = np.r_[0, np.flatnonzero(np.diff(judge)) + 1]
    count = np.diff(np.r_[first, judge.size]).astype(np.int64)
    index = np.arange(judge.size) - np.repeat(first, count)
    return ControlChart(
        fit.judge_names,
        judge,
        index,
        tuple(times.text(int(n)) for n in row[key]),
        size,
        share,
        level,
        limits,
        _flags(share, level, limits, index),
        count_single_time(times.value[row], start),
        judgments.kind,
    )


def _limits(level: Floats, variance: Floats) -> Floats:
    """Return the limits (B, 4), quantiles of Beta distributions with these means and variances."""
    mean = np.clip(level, 1e-6, 1 - 1e-6)
    count = np.clip(mean * (1 - mean) / np.maximum(variance, 1e-12) - 1, 1e-3, 1e9)  # 0 of one certain toss
    tails = ndtr((-3.0, -2.0, 2.0, 3.0))
    return np.asarray(betaincinv((mean * count)[:, None], ((1 - mean) * count)[:, None], tails[None, :]))


def _batch_numbers(times: Times, row: Codes, start: Codes, batch: int | str) -> Codes:
    """Return the batch number of each judgment, in the order of the series (N)."""
    if batch == "day":
        if not times.dates:
            raise UsageError(
                "batches by day are not defined because the times are not dates: give a number of judgments"
            )
        return np.asarray(np.floor(times.value[row] / DAY), np.int64)
    if isinstance(batch, str) or batch < 1:
        raise UsageError(f"batch {batch!r} is neither a whole number of at least 1 nor 'day'")
    begins = np.zeros(row.size, np.int64)
    for first, end in pairwise(start.tolist()):
        begins[[first + edge for edge in _edges(times.value[row[first:end]], batch)[1:]]] = 1
    return begins.cumsum()


def _edges(time: Floats, batch: int) -> list[int]:
    """Return where the batches of a series begin; a batch ends where the time increases."""
    steps, edges = time_steps(time), [0]
    while (at := int(np.searchsorted(steps, edges[-1] + batch))) < steps.size:
        edges.append(int(steps[at]))
    short = time.size - edges[-1] < batch - batch // 2  # such a remainder joins the batch before
    return edges[:-1] if short and len(edges) > 1 else edges


def _flags(right: Floats, level: Floats, limits: Floats, index: Codes) -> tuple[str, ...]:
    """Return the strictest rule that each batch breaks; ``index`` (B) counts the batches of a judge."""
    side = np.sign(np.where(np.abs(right - level) <= SLACK, 0.0, right - level)).astype(int)
    low_3, low_2, high_2, high_3 = (limits + SLACK * np.array([-1, -1, 1, 1])).T
    far = np.where(right < low_2, -1, np.where(right > high_2, 1, 0))
    flags = []
    for b, (alike, at) in enumerate(zip(side.tolist(), index.tolist(), strict=True)):
        recent = far[b - min(at, 2) : b + 1]
        run = side[b - min(at, ROW - 1) : b + 1]
        if right[b] < low_3[b] or right[b] > high_3[b]:
            flags.append("beyond 3")
        elif far[b] and (recent == far[b]).sum() >= 2:
            flags.append("two beyond 2")
        elif alike and run.size == ROW and (run == alike).all():
            flags.append("eight in a row")
        else:
            flags.append("")
    return tuple(flags)
