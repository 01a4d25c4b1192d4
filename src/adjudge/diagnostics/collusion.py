"""Judges who agree more than the model allows: pairs of whom one may copy from the other.

Judges who err on their own agree because they see the same truth. The test of ``kernels.pairs`` asks for each pair what
agreement is left over, with both judges' votes taken out of the consensus they are held against. p-values hold under
the model. Where that is only nearly right (items that are hard for all, say), all pairs agree a little too much, so a
pair must stand out from the others (``discoveries``).

Pairs are named by Benjamini and Hochberg's rule. Tests of pairs that share a judge are not independent, but what makes
one of them large (her matrix taken too well) makes the others large, the case the rule allows for; in simulated crowds
the share of wrong discoveries stays below its level. ``control="by"`` holds under any dependence, with less power.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.discoveries import CONTROLS, adjusted, against_crowd
from adjudge.diagnostics.others import seen_by
from adjudge.diagnostics.pairs import Agreement, Met, agreement, met
from adjudge.diagnostics.times import Times, times_if_any
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.result import Fit

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


LEAST = 8  # shared items below which a pair is not looked at
COPYING = 0.7  # the share of copied labels that the test is best against; it has power against others
LEVEL = 0.05  # expected share of pairs named wrongly


@dataclass(frozen=True, eq=False)
class Collusion(NotebookView):
    """What pairs of judges share, those first who stand out most; a row a pair."""

    judges: Names  # (J)
    one: Codes  # (P)
    other: Codes  # (P)
    shared: Codes  # (P) items that both judged
    found: Agreement  # what the test says of each pair, under the model
    p: Floats  # (P) against the crowd
    rate: Floats  # (P) the least false discovery rate at which the pair is named
    flagged: Flags  # (P)
    centre: float  # where the crowd's pairs lie by themselves, in standard deviations, 0 under the model
    spread: float  # and how widely, 1 under the model
    same_order: Floats | None  # (P) share of steps from shared item to shared item that both took in the same
    # direction, nan if there is none
    least: int
    level: float
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        flagged = int(self.flagged.sum())
        return f"Collusion({self.one.size:,} pairs of judges, {flagged:,} agree more than the model allows)"

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        if not self.one.size:
            return f"Whether judges copy cannot be told: no two of them share {self.least} items."
        looked = f"of {self.one.size:,} pairs with {self.least} shared items or more"
        named = np.flatnonzero(self.flagged)
        if not named.size:
            return f"No pair of judges agreed more than the model allows, {looked}."
        pairs = [f"{quote(self.judges[int(self.one[p])])} and {quote(self.judges[int(self.other[p])])}" for p in named]
        shown = "; ".join(pairs[:3]) + (f"; and {len(pairs) - 3:,} more" if len(pairs) > 3 else "")
        return (
            f"{named.size:,} {looked} agreed more than the model allows: {shown} (at most {self.level:.0%} of those "
            "named are expected to be named wrongly)."
        )

    @property
    def table(self) -> Any:
        """Return a frame with a row a pair."""
        columns: dict[str, Any] = {
            "judge": self.judges.gather(self.one),
            "other": self.judges.gather(self.other),
            "shared": self.shared,
            "agreed": self.found.agreed,
            "expected": self.found.expected,
            "wrong": self.found.wrong,
            "expected_wrong": self.found.expected_wrong,
            "copied": self.found.copied,
            "identical": self.found.agreed == self.shared,
            "p_model": self.found.p,
            "p": self.p,
            "rate": self.rate,
            "flagged": self.flagged,
        }
        if self.same_order is not None:
            columns["same_order"] = [None if np.isnan(share) else share for share in self.same_order.tolist()]
        return frame(columns, self.kind)


def collusion(
    fit: Fit,
    judgments: Judgments,
    *,
    least: int = LEAST,
    level: float = LEVEL,
    control: str = "bh",
    order: Any = None,
) -> Collusion:
    """Find pairs of judges, of ``least`` shared items or more, who agree more than the model allows."""
    if least < 1:
        raise UsageError(f"least {least!r} is not a whole number of at least 1")
    if not 0 < level < 1:
        raise UsageError(f"level {level!r} is not between 0 and 1")
    if control not in CONTROLS:
        raise UsageError(f"control {control!r} is not one of {quoted(CONTROLS)}")
    times, seen = times_if_any(judgments, order), seen_by(fit, judgments)
    pairs = met(seen.block, least)
    found = agreement(seen.block, seen.votes, pairs, seen.prior, COPYING)
    p, centre, spread = against_crowd(found.p)
    rate = adjusted(p, control)
    first = np.lexsort((-found.copied, p))
    steps = None if times is None else _same_order(pairs, times)
    return Collusion(
        fit.judge_names,
        pairs.one[first],
        pairs.other[first],
        np.diff(pairs.start)[first],
        Agreement(*(column[first] for column in found)),
        p[first],
        rate[first],
        rate[first] <= level,
        centre,
        spread,
        None if steps is None else steps[first],
        least,
        level,
        judgments.kind,
    )


def _same_order(pairs: Met, times: Times) -> Floats:
    """Return the share of steps between shared items that both judges took in the same direction, .5 by chance.

    The steps are those of the one and those of the other. Steps between equal times do not count; where several items
    have one time, a step to the next time is one from each of them to each of those, in equal parts.
    """
    left, right = times.value[pairs.left], times.value[pairs.right]
    pair = np.repeat(np.arange(pairs.one.size), np.diff(pairs.start))
    same, taken = (one + two for one, two in zip(_taken(pair, left, right), _taken(pair, right, left), strict=True))
    return np.asarray(np.divide(same, taken, out=np.full(pairs.one.size, np.nan), where=taken > 0))


def _taken(pair: Codes, own: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return how many steps of one judge's the other took in the same direction, and how many in any (P)."""
    P, rank = int(pair.max(initial=-1)) + 1, np.unique(other, return_inverse=True)[1]
    order = np.lexsort((rank, own, pair))
    pair, own, rank = pair[order], own[order], rank[order]
    first = np.r_[True, (np.diff(pair) != 0) | (np.diff(own) != 0)][: pair.size]
    group, start = first.cumsum() - 1, np.flatnonzero(first)  # judgments of one time, and where they begin
    size = np.diff(np.r_[start, pair.size])
    wide = int(rank.max(initial=0)) + 1
    key = group * wide + rank
    to = np.flatnonzero((group > 0) & (pair[start[group] - 1] == pair))  # those with a time before
    before = group[to] - 1
    below = np.searchsorted(key, key[to] - wide) - start[before]
    above = start[group[to]] - np.searchsorted(key, key[to] - wide, side="right")
    weight = 1 / (size[before] * size[group[to]])
    same: Floats = np.bincount(pair[to], weights=weight * below, minlength=P).astype(float)
    taken: Floats = np.bincount(pair[to], weights=weight * (below + above), minlength=P).astype(float)
    return same, taken
