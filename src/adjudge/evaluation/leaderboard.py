"""Many runs in order: values with intervals, the chance to be best, rank intervals, and groups that cannot be told apart.

A draw holds the mean of every run over topics, with its errors: those of labels and of topics are shared by all runs.
Two runs are told apart if their difference is larger than c standard errors of the difference. c is the 90 % quantile
of the largest standardised error over all pairs in a draw, so all statements hold together with 90 % probability
(Westfall & Young 1993). With this, the rank of a run is at least one plus the number of runs that are better beyond
doubt, and at most the number of runs less those that are worse (Mogstad, Romano, Shaikh & Wilhelm 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats

MANY = 8  # runs above which a leaderboard takes the place of a table of all pairs
TOGETHER = 0.9  # the chance that all statements hold together
SAME = 1e-12  # differences below this are rounding


class Place(NamedTuple):
    """The place of a run by one measure."""

    measure: str
    run: str
    value: float
    low: float | None  # the ends of the 90 % interval of the value
    high: float | None
    best: float | None  # the chance that no run is better; ties share it
    rank: int  # by the value
    rank_low: int  # the ends of the rank interval; all of them hold together with 90 % probability
    rank_high: int
    first_group: int  # runs that have a group in common cannot be told apart
    last_group: int

    @property
    def ranks(self) -> str:
        """The rank interval as text, such as 2 to 5."""
        return _between(self.rank_low, self.rank_high)

    @property
    def groups(self) -> str:
        """The groups as text, such as 1 to 2."""
        return _between(self.first_group, self.last_group)


def _between(low: int, high: int) -> str:
    """Return the ends of a range of numbers as text, or the only one."""
    return f"{low}" if low == high else f"{low} to {high}"


def places(
    measure: str,
    runs: Sequence[str],
    value: Floats,
    ends: Sequence[tuple[float, float] | None],
    better: Flags,
    best: Floats | None = None,
) -> list[Place]:
    """Return the places of all runs by one measure, the best run first.

    Parameters
    ----------
    measure, runs
        Their names.
    value
        The value of every run (R).
    ends
        The intervals of the values (R).
    better
        Whether each run is better than each other beyond doubt (R, R).
    best
        The chance of every run to be best (R), if it is known.

    Examples
    --------
    >>> better = np.array([[False, False, True], [False, False, False], [False, False, False]])
    >>> for place in places("MAP", ["a", "b", "c"], np.array([0.5, 0.4, 0.3]), [None] * 3, better):
    ...     print(place.run, place.rank, place.ranks, place.groups)
    a 1 1 to 2 1
    b 2 1 to 3 1 to 2
    c 3 2 to 3 2
    """
    order = np.argsort(-value, kind="stable")
    first, last = _groups(better[np.ix_(order, order)])
    low, high = 1 + better.sum(axis=0), len(runs) - better.sum(axis=1)
    result = []
    for n, r in enumerate(order.tolist()):
        numbers = int(1 + (value > value[r] + SAME).sum()), int(low[r]), int(high[r]), int(first[n]), int(last[n])
        chance = None if best is None else float(best[r])
        result.append(Place(measure, runs[r], float(value[r]), *(ends[r] or (None, None)), chance, *numbers))
    return result


def best_chances(drawn: Floats) -> Floats:
    """Return the chance of every run to be best (R), from draws of all runs (R, S); runs that tie share it.

    >>> best_chances(np.array([[1.0, 1.0], [0.0, 1.0]])).tolist()
    [0.75, 0.25]
    """
    first = drawn >= drawn.max(axis=0) - SAME
    chance: Floats = (first / first.sum(axis=0)).mean(axis=1)
    return chance


def told_apart(value: Floats, drawn: Floats) -> Flags:
    """Return whether each run is better than each other (R, R), all together with 90 % probability.

    ``value`` (R) is the value of every run, and ``drawn`` (R, S) the draws of all values.
    """
    R = value.size
    spread, largest = np.zeros((R, R)), np.zeros(drawn.shape[1])
    error = drawn - drawn.mean(axis=1, keepdims=True)
    for a in range(R - 1):
        apart = error[a] - error[a + 1 :]  # (R - a - 1, S)
        spread[a, a + 1 :] = spread[a + 1 :, a] = apart.std(axis=1)
        varies = spread[a, a + 1 :] > SAME
        if varies.any():
            size = np.abs(apart[varies]) / spread[a, a + 1 :][varies, None]
            largest = np.maximum(largest, size.max(axis=0))
    better: Flags = value[:, None] - value > np.maximum(np.quantile(largest, TOGETHER) * spread, SAME)
    return better


def simultaneous_reach(drawn: Floats) -> Floats:
    """Return how far each of several quantities reaches from its mean (C), all together with 90 % probability.

    ``drawn`` (C, S) are draws of all of them.
    """
    error = drawn - drawn.mean(axis=1, keepdims=True)
    spread = error.std(axis=1)
    varies = spread > SAME
    if not varies.any():
        return spread
    limit = np.quantile((np.abs(error[varies]) / spread[varies, None]).max(axis=0), TOGETHER)
    reach: Floats = limit * spread
    return reach


def _groups(better: Flags) -> tuple[Codes, Codes]:
    """Return the first and the last group of every run (R), from runs in order: groups are as long as possible."""
    R = len(better)
    ends, end = [], 0
    for begin in range(R):
        end = max(end, begin)
        while end + 1 < R and not better[begin : end + 1, end + 1].any():
            end += 1
        ends.append(end)
    starts = [begin for begin in range(R) if begin == 0 or ends[begin] > ends[begin - 1]]
    first, last = np.zeros(R, np.int64), np.zeros(R, np.int64)
    for number, begin in enumerate(starts, 1):
        inside = slice(begin, ends[begin] + 1)
        last[inside] = number
        first[inside] = np.where(first[inside] == 0, number, first[inside])
    return first, last


def place_rows(listed: Sequence[Place]) -> dict[str, list[Any]]:
    """Return places as columns."""
    return {name: [getattr(place, name) for place in listed] for name in Place._fields}
