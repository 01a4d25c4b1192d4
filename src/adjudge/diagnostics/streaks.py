"""Judges who say the same for too long: their longest streak of one label, against what their items would make one say.

Each label is expected with chance sum_z q_n(z) theta[z, k], where q_n is what the other judges say of the item. Theta
is first that of an average judge, then her own: a streak that only the first finds too long shows that she leans to a
label; one that the second finds too long as well is beyond her habits, as of someone who stopped looking.

In which order judgments of the same time were made is not known. A streak goes through them only if they are all alike:
it is at least so long, whatever the order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.discoveries import adjusted
from adjudge.diagnostics.others import seen_by
from adjudge.diagnostics.times import WITHOUT, at_once, series, steps, times_of
from adjudge.errors import UsageError, quote
from adjudge.inference.result import Fit
from adjudge.kernels.compiled import compiled

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


# Streaks: how long one goes on saying the same.


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
    """Return p(some streak of one label is at least so long) of independent labels with these chances (n, K).

    State r, k is a streak of length r of label k that is going on; a streak that has become long enough stays so.
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


LEVEL = 0.05  # expected share of judges named wrongly
FEWEST = 5  # judgments below which there are no streaks to speak of


@dataclass(frozen=True, eq=False)
class Streaks(NotebookView):
    """The longest streak of one label of each judge."""

    judges: Names  # (J)
    judged: Codes  # (J)
    label: tuple[Any, ...]  # (J) of the streak
    length: Codes  # (J)
    since: tuple[str, ...]  # (J) when it began
    p: Floats  # (J) the chance of one as long, of an average judge on her items
    p_own: Floats  # (J) and of herself
    flagged: Flags  # (J)
    beyond: Flags  # (J) flagged, and longer than how she usually judges explains
    at_once: int = 0  # judges of several judgments, all of one time
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        longest = self.length.max(initial=0)
        return f"Streaks({self.judged.size:,} judges, {self.flagged.sum():,} flagged; longest streak {longest:,})"

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        once = (
            f"; {self.at_once:,} have judgments of one time only, in which no streak is seen unless they are all alike"
        )
        unsaid = once * (self.at_once > 0)
        if not self.flagged.any():
            return f"No judge said the same for longer than her items explain{unsaid}."
        worst = int(np.argmin(np.where(self.flagged, self.p_own, 2.0)))
        return (
            f"{self.flagged.sum():,} of {self.judged.size:,} judges said the same for longer than their items explain, "
            f"{self.beyond.sum():,} of them for longer than their own habits do; such as {quote(self.judges[worst])}, "
            f"{self.length[worst]:,} times {quote(self.label[worst])}{unsaid}."
        )

    @property
    def table(self) -> Any:
        """Return a frame with a row a judge, the most surprising first."""
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


def streaks(fit: Fit, judgments: Judgments, *, level: float = LEVEL, order: Any = None) -> Streaks:
    """Find judges whose longest streak of one label is too long, in order of time or in an ``order`` (N) given."""
    times = times_of(judgments, order)
    if times is None:
        raise UsageError(f"streaks are not defined because {WITHOUT}: name their column (time=...) or give an order")
    if not 0 < level < 1:
        raise UsageError(f"level {level!r} is not between 0 and 1")
    seen = seen_by(fit, judgments)
    others, J = seen.others(), len(fit.judge_names)
    tie = np.column_stack([seen.block.label, others.round(9)])  # like beside like, where streaks are likeliest
    row, start = series(seen.judge, times, J, tie)
    length, p, p_own = np.zeros(J, np.int64), np.ones(J), np.ones(J)
    labels: list[Any] = []
    since: list[str] = []
    for j in range(J):
        own = row[start[j] : start[j + 1]]
        said = seen.block.label[own].astype(np.int64)
        length[j], first = longest(_certain(said, times.value[own]))
        labels.append(fit.scale.labels[int(said[first])] if own.size else None)
        since.append(times.shown(int(own[first])) if own.size else "")
        if own.size >= FEWEST:
            p[j] = streak_tail(others[own] @ seen.usual, int(length[j]))
            p_own[j] = streak_tail(others[own] @ seen.confusion[j], int(length[j]))
    flagged, beyond = adjusted(p) <= level, adjusted(p_own) <= level
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
        at_once(times.value[row], start),
        judgments.kind,
    )


def _certain(label: Codes, time: Floats) -> Codes:
    """Return labels (n), all different where those of one time are not all alike: which follows which is not known."""
    if not label.size:
        return label
    first = np.r_[0, steps(time)]
    alike = np.minimum.reduceat(label, first) == np.maximum.reduceat(label, first)
    return np.where(np.repeat(alike, np.diff(np.r_[first, label.size])), label, -1 - np.arange(label.size))
