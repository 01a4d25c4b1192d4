"""``collusion``: pairs of judges who agree more than the model allows, so that one may copy from the other.

Judges who work independently agree because they see the same truth. The test of ``diagnostics.pair_test`` asks for each
pair how much agreement is left over, with the labels of both left out of the consensus they are compared with. The
p-values hold under a model in which some items are harder than others for all judges: how much they differ is learned
by a short run of Gibbs sampling that starts at the fit, or taken from a fit that has learned it. If that model is only
nearly right, all pairs agree a little too much, so a pair must stand out from the other pairs
(``metrics.significance``).

Pairs are flagged by the rule of Benjamini and Hochberg. Tests of pairs that share a judge are not independent, but they
are positively dependent, which the rule allows; in simulated crowds the share of false discoveries stays below its
level. ``control="by"`` holds under any dependence, with less power.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.evidence import difficulty_draws, gather_evidence
from adjudge.diagnostics.leave_out import LeaveOut, item_logs, leave_out
from adjudge.diagnostics.pair_test import Meetings, PairTest, find_meetings, pair_tests
from adjudge.diagnostics.times import Times, usable_times
from adjudge.errors import UsageError, not_one_of, quote
from adjudge.inference.chains import Run
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fitted
from adjudge.kernels.difficulty import state_labels, state_prior, state_rows
from adjudge.metrics.significance import CONTROLS, check_rate, empirical_null, q_values

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments, Names


FEWEST_SHARED = 8  # shared items below which a pair is not tested
COPYING = 0.7  # share of copied labels against which the test is most powerful
LEVEL = 0.05  # expected share of false discoveries
RUN = Run(chains=2, warmup=100, draws=100)  # from which the difficulty of items is learned


@dataclass(frozen=True, eq=False)
class Collusion(NotebookView):
    """Tests of pairs of judges, those that stand out most first; one row per pair."""

    judges: Names  # (J)
    first: Codes  # (P) one judge of the pair
    second: Codes  # (P) the other
    shared: Codes  # (P) items that both judged
    test: PairTest  # the test of each pair, under the model
    p: Floats  # (P) compared with the other pairs
    rate: Floats  # (P) smallest false discovery rate at which the pair is flagged
    flagged: Flags  # (P)
    centre: float  # centre of all pairs' tests, in standard deviations; 0 under the model
    spread: float  # their spread; 1 under the model
    same_order: Floats | None  # (P) share of steps between shared items that both took in the same direction, or nan
    least: int
    level: float
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        flagged = int(self.flagged.sum())
        return f"Collusion({self.first.size:,} pairs of judges, {flagged:,} agree more than the model allows)"

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if not self.first.size:
            return f"Copying cannot be detected: no two judges share {self.least} items."
        tested = f"of {self.first.size:,} pairs with at least {self.least} shared items"
        flagged = np.flatnonzero(self.flagged)
        if not flagged.size:
            return f"No pair of judges agreed more than the model allows, {tested}."
        judges = [(self.judges[int(self.first[p])], self.judges[int(self.second[p])]) for p in flagged]
        pairs = [f"{quote(first)} and {quote(second)}" for first, second in judges]
        names = "; ".join(pairs[:3]) + (f"; and {len(pairs) - 3:,} more" if len(pairs) > 3 else "")
        return (
            f"{flagged.size:,} {tested} agreed more than the model allows: {names} (at most {self.level:.0%} of these "
            "are expected to be false alarms)."
        )

    @property
    def table(self) -> Any:
        """A table with one row per pair."""
        columns: dict[str, Any] = {
            "judge": self.judges.gather(self.first),
            "other": self.judges.gather(self.second),
            "shared": self.shared,
            "agreed": self.test.agreed,
            "expected": self.test.expected,
            "wrong": self.test.wrong,
            "expected_wrong": self.test.expected_wrong,
            "copied": self.test.copied,
            "identical": self.test.agreed == self.shared,
            "p_model": self.test.p,
            "p": self.p,
            "rate": self.rate,
            "flagged": self.flagged,
        }
        if self.same_order is not None:
            columns["same_order"] = [None if np.isnan(share) else share for share in self.same_order.tolist()]
        return frame(columns, self.kind)


def collusion(
    fit: Fit | str | PathLike[str],
    judgments: Any = None,
    *,
    least: int = FEWEST_SHARED,
    level: float = LEVEL,
    control: str = "bh",
    order: Any = None,
) -> Collusion:
    """Find pairs of judges who agree more than the model allows.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit.
    least : int
        Pairs with fewer shared items are not tested.
    level : float
        Expected share of false alarms among the flagged pairs.
    control : str
        ``"bh"`` (Benjamini and Hochberg) or ``"by"`` (Benjamini and Yekutieli, under any dependence).
    order : array, optional
        The order of the judgments (N), instead of their times.

    Returns
    -------
    Collusion

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> collusion(adjudge.fit(judgments, "dawid-skene"), judgments)
    Collusion(10 pairs of judges, 0 agree more than the model allows)

    """
    if least < 1:
        raise UsageError(f"least {least!r} is not a whole number of at least 1")
    check_rate(level)
    if control not in CONTROLS:
        raise UsageError(not_one_of("control", control, CONTROLS))
    fit, judgments = read_fitted(fit, judgments)
    times, left = usable_times(judgments, order), leave_out(fit, judgments)
    pairs = find_meetings(left.block, least)
    test = _test_pairs(fit, judgments, left, pairs)
    p, centre, spread = empirical_null(test.p)
    rate = q_values(p, control)
    rank = np.lexsort((-test.copied, p))
    steps = None if times is None else _same_order(pairs, times)
    return Collusion(
        fit.judge_names,
        pairs.first[rank],
        pairs.second[rank],
        np.diff(pairs.start)[rank],
        PairTest(*(column[rank] for column in test)),
        p[rank],
        rate[rank],
        rate[rank] <= level,
        centre,
        spread,
        None if steps is None else steps[rank],
        least,
        level,
        judgments.kind,
    )


def _test_pairs(fit: Fit, judgments: Judgments, left: LeaveOut, pairs: Meetings) -> PairTest:
    """Return the test of each pair, under the difficulty of items that these judgments show.

    The matrices are those of the fit: with difficulty, two judges who always agree can pass for judges who are always
    right, on items that are hard for all others.
    """
    if not pairs.first.size:  # the run that learns the difficulty would be for nothing
        return PairTest(*np.empty((len(PairTest._fields), 0)))
    draws = fit.draws
    if draws is None or not draws.spread.size:
        draws = difficulty_draws(gather_evidence(fit, judgments)[1], RUN)
    spread, K = float(draws.spread[:, :, 0].mean()), left.block.labels
    rows = state_rows(left.confusion, spread)
    logs = item_logs(left.block, state_prior(left.prevalence), rows, state_labels(K))
    return pair_tests(left.block, logs, pairs, left.prior, COPYING, spread)


def _same_order(pairs: Meetings, times: Times) -> Floats:
    """Return the share of steps between shared items that both judges took in the same direction (P), .5 by chance.

    The steps are those of the first judge and those of the second. Steps between equal times do not count. If several
    items have one time, a step to the next time is one from each of them to each of the next, in equal parts.
    """
    left, right = times.value[pairs.left], times.value[pairs.right]
    pair = np.repeat(np.arange(pairs.first.size), np.diff(pairs.start))
    both = zip(_count_steps(pair, left, right), _count_steps(pair, right, left), strict=True)
    same, total = (first + second for first, second in both)
    return np.asarray(np.divide(same, total, out=np.full(pairs.first.size, np.nan), where=total > 0))


def _count_steps(pair: Codes, time: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return how many steps of one judge the other took in the same direction, and in any direction (P)."""
    P, rank = int(pair.max(initial=-1)) + 1, np.unique(other, return_inverse=True)[1]
    order = np.lexsort((rank, time, pair))
    pair, time, rank = pair[order], time[order], rank[order]
    first = np.r_[True, (np.diff(pair) != 0) | (np.diff(time) != 0)][: pair.size]
    group, start = first.cumsum() - 1, np.flatnonzero(first)  # judgments of one time, and where they begin
    size = np.diff(np.r_[start, pair.size])
    wide = int(rank.max(initial=0)) + 1
    key = group * wide + rank
    to = np.flatnonzero((group > 0) & (pair[start[group] - 1] == pair))  # judgments with an earlier time
    before = group[to] - 1
    below = np.searchsorted(key, key[to] - wide) - start[before]
    above = start[group[to]] - np.searchsorted(key, key[to] - wide, side="right")
    weight = 1 / (size[before] * size[group[to]])
    same: Floats = np.bincount(pair[to], weights=weight * below, minlength=P).astype(float)
    total: Floats = np.bincount(pair[to], weights=weight * (below + above), minlength=P).astype(float)
    return same, total
