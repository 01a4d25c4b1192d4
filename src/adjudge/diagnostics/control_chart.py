"""Control charts: each judge's share of right labels, batch by batch, and the limits that chance sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta, norm

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.others import right_by, seen_by
from adjudge.diagnostics.times import DAY, WITHOUT, Times, at_once, series, steps, times_of
from adjudge.errors import UsageError, quote
from adjudge.inference.result import Fit

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


BATCH = 25  # judgments in a batch
SLACK = 1e-5  # shares that differ by less are the same: of judges who are certain nothing else is left
ROW = 8  # batches in a row on one side of the level that are no accident


@dataclass(frozen=True, eq=False)
class ControlChart(NotebookView):
    """The share of right labels of each judge, batch by batch, with the limits that chance sets; a row a batch."""

    judges: Names  # (J)
    judge: Codes  # (B)
    batch: Codes  # (B) of the judge, from 0
    since: tuple[str, ...]  # (B) the time of the batch's first judgment
    size: Codes  # (B) judgments
    right: Floats  # (B) expected share of right labels, as the other judges tell
    level: Floats  # (B) what is compared with: the share expected on these items of the judge herself, or of the crowd
    limits: Floats  # (B, 4) -3, -2, +2 and +3 standard errors from the level
    flags: tuple[str, ...]  # (B) which rule the batch breaks, nothing where it breaks none
    at_once: int = 0  # judges of several judgments, all of one time
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        broken = sum(bool(flag) for flag in self.flags)
        return f"ControlChart({len(self.flags):,} batches of {np.unique(self.judge).size:,} judges, {broken:,} flagged)"

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        broken = np.array([bool(flag) for flag in self.flags], bool)
        names = [str(self.judges[int(j)]) for j in np.unique(self.judge[broken])]
        many = np.unique(self.judge).size
        whole = f"{len(self.flags):,} batches of {many:,} judges"
        once = f"; {self.at_once:,} have judgments of one time only, so whether they changed cannot be told"
        unsaid = once * (self.at_once > 0)
        if not names and self.at_once == many:
            return "Whether judges changed cannot be told: all judgments of each have one time."
        if not names:
            return f"All of {whole} are within their limits{unsaid}."
        shown = ", ".join(map(quote, names[:5])) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
        return f"{broken.sum():,} of {whole} are out of control, of {len(names):,} judges: {shown}{unsaid}."

    @property
    def table(self) -> Any:
        """Return a frame with a row a batch."""
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
    fit: Fit,
    judgments: Judgments,
    *,
    batch: int | str = BATCH,
    against: str = "judge",
    order: Any = None,
) -> ControlChart:
    """Hold each judge's batches, of so many judgments or of a ``"day"``, against her own level or the ``"crowd"``'s.

    What is right is not seen: it is the chance of her label as the other judges tell. On each item that has a mean and
    a variance under her matrix (or an average judge's), so a batch has a level of its own, higher on items of which the
    others are sure, and limits that go with it: those of the Beta distribution with that mean and variance, beyond
    which it goes as seldom as a normal one beyond 2 and 3 standard errors. Levels are moved by as much as all of a
    judge's work (or the crowd's) is off.

    A batch is flagged if it is beyond 3 standard errors ("beyond 3"), if it is the second of three beyond 2 on one side
    ("two beyond 2"), and if it is the eighth in a row, or later, on one side ("eight in a row"). Of 100 batches of a
    judge who is as ever, expect one or two. A last batch of less than half the size joins the one before. Judgments of
    the same time have no order, so they are in one batch, however many.
    """
    times = times_of(judgments, order)
    if times is None:
        raise UsageError(f"a control chart is not defined because {WITHOUT}: name their column or give an order")
    if against not in ("judge", "crowd"):
        raise UsageError(f"against {against!r} is not one of 'judge', 'crowd'")
    seen = seen_by(fit, judgments)
    others, J = seen.others(), len(fit.judge_names)
    own = seen.confusion if against == "judge" else np.broadcast_to(seen.usual, seen.confusion.shape)
    right, mean, variance, _ = right_by(others, seen.block.label, own[seen.judge])
    group = seen.judge if against == "judge" else np.zeros_like(seen.judge)
    off = np.bincount(group, weights=right - mean, minlength=J) / np.maximum(np.bincount(group, minlength=J), 1)
    row, start = series(seen.judge, times, J)
    number = _batches(times, row, start, batch)
    key = np.flatnonzero(np.r_[True, (np.diff(number) != 0) | (np.diff(seen.judge[row]) != 0)])
    judge, size = seen.judge[row[key]], np.diff(np.r_[key, row.size])
    share, level, spread = (np.add.reduceat(each[row], key) / size for each in (right, mean + off[group], variance))
    limits = _limits(level, spread / size)
    first = np.r_[0, np.flatnonzero(np.diff(judge)) + 1]
    count = np.diff(np.r_[first, judge.size]).astype(np.int64)
    place = np.arange(judge.size) - np.repeat(first, count)
    flags = _flags(share, level, limits, place)
    since = tuple(times.shown(int(n)) for n in row[key])
    once = at_once(times.value[row], start)
    return ControlChart(fit.judge_names, judge, place, since, size, share, level, limits, flags, once, judgments.kind)


def _limits(level: Floats, variance: Floats) -> Floats:
    """Return the limits (B, 4) of Beta distributions with these means and variances."""
    mean = np.clip(level, 1e-6, 1 - 1e-6)
    count = np.clip(mean * (1 - mean) / np.maximum(variance, 1e-12) - 1, 1e-3, 1e9)  # 0 of one certain toss
    tails = norm.cdf((-3.0, -2.0, 2.0, 3.0))
    return np.asarray(beta.ppf(tails[None, :], (mean * count)[:, None], ((1 - mean) * count)[:, None]))


def _batches(times: Times, row: Codes, start: Codes, batch: int | str) -> Codes:
    """Return the number of the batch of each judgment, judge after judge (N)."""
    if batch == "day":
        if not times.dates:
            raise UsageError(
                "batches by day are not defined because the times are no dates: give a number of judgments"
            )
        return np.asarray(np.floor(times.value[row] / DAY), np.int64)
    if isinstance(batch, str) or batch < 1:
        raise UsageError(f"batch {batch!r} is neither a whole number of at least 1 nor 'day'")
    begins = np.zeros(row.size, np.int64)
    for first, end in pairwise(start.tolist()):
        begins[[first + place for place in _edges(times.value[row[first:end]], batch)[1:]]] = 1
    return begins.cumsum()


def _edges(time: Floats, batch: int) -> list[int]:
    """Return where the batches of a series begin: of so many judgments, or more until time goes on."""
    place, edges = steps(time), [0]
    while (at := int(np.searchsorted(place, edges[-1] + batch))) < place.size:
        edges.append(int(place[at]))
    short = time.size - edges[-1] < batch - batch // 2  # such a rest joins the batch before
    return edges[:-1] if short and len(edges) > 1 else edges


def _flags(right: Floats, level: Floats, limits: Floats, place: Codes) -> tuple[str, ...]:
    """Return which rule each batch breaks, the strictest of them."""
    side = np.sign(np.where(np.abs(right - level) <= SLACK, 0.0, right - level)).astype(int)
    low_3, low_2, high_2, high_3 = (limits + SLACK * np.array([-1, -1, 1, 1])).T
    far = np.where(right < low_2, -1, np.where(right > high_2, 1, 0))
    flags = []
    for b, (alike, at) in enumerate(zip(side.tolist(), place.tolist(), strict=True)):
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
