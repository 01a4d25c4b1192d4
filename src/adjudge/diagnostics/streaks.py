"""``streaks``: judges whose longest streak of one label is longer than their items explain.

Each label is expected with chance sum_z q_n(z) theta[z, k], where q_n is the posterior of the truth without this judge.
Theta is first that of an average judge, then the judge's own. A streak that is too long only for the first shows that
the judge prefers a label; one that is too long for both shows that the judge may have stopped looking at the items.

The order of judgments of the same time is unknown. A streak continues through them only if all are equal, so that it is
at least this long in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.leave_out import leave_out
from adjudge.diagnostics.times import NO_TIMES, count_single_time, judge_series, judgment_times, time_steps
from adjudge.errors import UsageError, quote
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fitted
from adjudge.kernels.compiled import compiled
from adjudge.metrics.significance import check_rate, q_values

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


LEVEL = 0.05  # expected share of false alarms
FEWEST = 5  # judgments below which streaks are not tested


@dataclass(frozen=True, eq=False)
class Streaks(NotebookView):
    """The longest streak of one label of each judge."""

    judges: Names  # (J)
    judged: Codes  # (J)
    label: tuple[Any, ...]  # (J) of the streak
    length: Codes  # (J)
    since: tuple[str, ...]  # (J) when it began
    p: Floats  # (J) the chance of a streak as long, for an average judge on these items
    p_own: Floats  # (J) and for this judge
    flagged: Flags  # (J)
    beyond: Flags  # (J) flagged, and longer than the judge's own matrix explains
    single_time: int = 0  # judges with several judgments, all of one time
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        longest = self.length.max(initial=0)
        return f"Streaks({self.judged.size:,} judges, {self.flagged.sum():,} flagged; longest streak {longest:,})"

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        single = (
            f"; {self.single_time:,} judges have judgments of one time only, which are a streak only if all are equal"
        )
        note = single if self.single_time else ""
        if not self.flagged.any():
            return f"No judge repeated a label for longer than their items explain{note}."
        worst = int(np.argmin(np.where(self.flagged, self.p_own, 2.0)))
        return (
            f"{self.flagged.sum():,} of {self.judged.size:,} judges repeated a label for longer than their items "
            f"explain, {self.beyond.sum():,} of them for longer than their usual labels explain; the most surprising "
            f"is {quote(self.judges[worst])} with {self.length[worst]:,} times {quote(self.label[worst])}{note}."
        )

    @property
    def table(self) -> Any:
        """A table with one row per judge, the most surprising first."""
        order = np.lexsort((self.p_own, self.p, ~self.flagged, ~self.beyond))
        columns = {
            "judge": self.judges.to_list(),
            "judgments": self.judged.tolist(),
            "label": list(self.label),
            "streak": self.length.tolist(),
            "since": list(self.since),
            "p": self.p.tolist(),
            "p_own": self.p_own.tolist(),
            "flagged": self.flagged.tolist(),
            "beyond_habit": self.beyond.tolist(),
        }
        return frame({name: [column[j] for j in order] for name, column in columns.items()}, self.kind)


def streaks(
    fit: Fit | str | PathLike[str], judgments: Any = None, *, level: float = LEVEL, order: Any = None
) -> Streaks:
    """Find judges whose longest streak of one label is too long.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from, with times. Default: those kept with the fit.
    level : float
        Expected share of false alarms among the flagged judges.
    order : array, optional
        The order of the judgments (N), instead of their times.

    Returns
    -------
    Streaks

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> fit = adjudge.fit(judgments, "dawid-skene")
    >>> streaks(fit, judgments, order=range(len(judgments)))
    Streaks(5 judges, 0 flagged; longest streak 17)

    """
    fit, judgments = read_fitted(fit, judgments)
    times = judgment_times(judgments, order)
    if times is None:
        raise UsageError(f"streaks are not defined because {NO_TIMES}: name their column (time=...) or give an order")
    check_rate(level)
    left, J = leave_out(fit, judgments), len(fit.judge_names)
    others = left.posterior()
    tie = np.column_stack([left.block.label, others.round(9)])  # equal labels together, where streaks are likeliest
    row, start = judge_series(left.judge, times, J, tie)
    length, p, p_own = np.zeros(J, np.int64), np.ones(J), np.ones(J)
    labels: list[Any] = []
    since: list[str] = []
    for j in range(J):
        rows = row[start[j] : start[j + 1]]
        label = left.block.label[rows].astype(np.int64)
        length[j], first = longest(_certain_streaks(label, times.value[rows]))
        labels.append(fit.scale.labels[int(label[first])] if rows.size else None)
        since.append(times.text(int(rows[first])) if rows.size else "")
        if rows.size >= FEWEST:
            p[j] = streak_tail(others[rows] @ left.average_confusion, int(length[j]))
            p_own[j] = streak_tail(others[rows] @ left.confusion[j], int(length[j]))
    flagged, beyond = q_values(p) <= level, q_values(p_own) <= level
    return Streaks(
        fit.judge_names,
        fit.judged,
        tuple(labels),
        length,
        tuple(since),
        p,
        p_own,
        flagged | beyond,
        beyond,
        count_single_time(times.value[row], start),
        judgments.kind,
    )


@compiled
def longest(label: Codes) -> tuple[int, int]:
    """Return the length of the longest streak of one label, and where it begins."""
    most, where, first = 0, 0, 0
    for n in range(label.size):
        if label[n] != label[first]:
            first = n
        if n - first + 1 > most:
            most, where = n - first + 1, first
    return most, where


@compiled
def streak_tail(chance: Floats, length: int) -> float:
    """Return the chance of a streak of at least this length in independent labels with these chances (n, K).

    State (r, k) is a current streak of length r of label k; a streak that has become long enough stays so.
    """
    n, K = chance.shape
    if length <= 1:
        return 1.0 if n else 0.0
    state, reached = np.zeros((length, K)), 0.0  # (r, k), row 0 not used
    for i in range(n):
        going = 1.0 - reached if i else 1.0
        for k in range(K):
            other = going
            for r in range(1, length):
                other -= state[r, k]
            reached += state[length - 1, k] * chance[i, k]
            for r in range(length - 1, 1, -1):
                state[r, k] = state[r - 1, k] * chance[i, k]
            state[1, k] = max(other, 0.0) * chance[i, k]
    return min(max(reached, 0.0), 1.0)


def _certain_streaks(label: Codes, time: Floats) -> Codes:
    """Return labels (n), replaced by distinct codes if judgments of one time differ, because their order is unknown."""
    if not label.size:
        return label
    first = np.r_[0, time_steps(time)]
    alike = np.minimum.reduceat(label, first) == np.maximum.reduceat(label, first)
    return np.where(np.repeat(alike, np.diff(np.r_[first, label.size])), label, -1 - np.arange(label.size))
