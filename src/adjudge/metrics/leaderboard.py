"""Many runs in order: values, the chance to be best, intervals of ranks, and groups that cannot be distinguished.

A draw holds the mean of every run over topics, with its errors: those of labels and of topics are shared by all runs.
Two runs are distinguished if their difference is larger than c standard errors of the difference, where c is the 90 %
quantile of the largest standardised error in a draw. For groups the largest is taken over all pairs of runs, so that
what all groups say holds together with 90 % probability (Westfall & Young 1993). For the rank of a run it is taken
over the pairs with this run: the rank is at least one plus the number of runs that are better beyond doubt, and at
most the number of runs less those that are worse, with 90 % probability for each run (Mogstad, Romano, Shaikh &
Wilhelm 2024). Estimates with an audit have no draws, but parts of errors: there, p-values with Holm's correction for
the same pairs take the place of c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.metrics.significance import holm

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
    rank_low: int  # the ends of the 90 % interval of the rank
    rank_high: int
    first_group: int  # runs that have a group in common cannot be distinguished
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


class Compared(NamedTuple):
    """Which runs are distinguished."""

    better: Flags  # (R, R) whether each run is better than each other, all together with 90 % probability
    rank_low: Codes  # (R) the ends of the 90 % interval of each rank
    rank_high: Codes


def places(
    measure: str,
    runs: Sequence[str],
    value: Floats,
    ends: Sequence[tuple[float | None, float | None]],
    compared: Compared,
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
    compared
        Which runs are distinguished.
    best
        The chance of every run to be best (R), if it is known.

    Examples
    --------
    >>> better = np.array([[False, False, True], [False, False, False], [False, False, False]])
    >>> compared = Compared(better, np.array([1, 1, 2]), np.array([2, 3, 3]))
    >>> for place in places("MAP", ["a", "b", "c"], np.array([0.5, 0.4, 0.3]), [(None, None)] * 3, compared):
    ...     print(place.run, place.rank, place.ranks, place.groups)
    a 1 1 to 2 1
    b 2 1 to 3 1 to 2
    c 3 2 to 3 2
    """
    order = np.argsort(-value, kind="stable")
    first, last = _groups(compared.better[np.ix_(order, order)])
    result = []
    for n, r in enumerate(order.tolist()):
        rank = int(1 + (value > value[r] + SAME).sum()), int(compared.rank_low[r]), int(compared.rank_high[r])
        chance = None if best is None else float(best[r])
        numbers = (*ends[r], chance, *rank, int(first[n]), int(last[n]))
        result.append(Place(measure, runs[r], float(value[r]), *numbers))
    return result


def best_chances(drawn: Floats) -> Floats:
    """Return the chance of every run to be best (R), from draws of all runs (R, S); runs that tie share it.

    >>> best_chances(np.array([[1.0, 1.0], [0.0, 1.0]])).tolist()
    [0.75, 0.25]
    """
    first = drawn >= drawn.max(axis=0) - SAME
    chance: Floats = (first / first.sum(axis=0)).mean(axis=1)
    return chance


def compare_draws(value: Floats, drawn: Floats) -> Compared:
    """Return which runs are distinguished, from the value of every run (R) and draws of all values (R, S)."""
    R, S = drawn.shape
    spread, largest, limit = np.zeros((R, R)), np.zeros(S), np.zeros(R)
    error = drawn - drawn.mean(axis=1, keepdims=True)
    for a in range(R):
        apart = error[a] - error  # (R, S)
        spread[a] = apart.std(axis=1)
        varies = spread[a] > SAME
        if varies.any():
            size = (np.abs(apart[varies]) / spread[a, varies, None]).max(axis=0)
            limit[a], largest = np.quantile(size, TOGETHER), np.maximum(largest, size)
    apart = value[:, None] - value
    better: Flags = apart > np.maximum(np.quantile(largest, TOGETHER) * spread, SAME)
    reach = np.maximum(limit[:, None] * spread, SAME)
    return Compared(better, 1 + (apart < -reach).sum(axis=1), R - (apart > reach).sum(axis=1))


def compare_tests(value: Floats, p: Floats) -> Compared:
    """Return which runs are distinguished, from the values of runs (R) and the p-values of all differences (R, R)."""
    R, level = value.size, 1 - TOGETHER
    apart = value[:, None] - value
    first, second = np.triu_indices(R, 1)
    decided = np.zeros((R, R), bool)
    decided[first, second] = holm(p[first, second]) <= level
    better = (decided | decided.T) & (apart > SAME)
    low, high = np.ones(R, np.int64), np.full(R, R)
    for a in range(R):
        others = np.arange(R) != a
        significant = holm(p[a, others]) <= level
        low[a] += (significant & (apart[a, others] < -SAME)).sum()
        high[a] -= (significant & (apart[a, others] > SAME)).sum()
    return Compared(better, low, high)


def simultaneous_reach(drawn: Floats) -> Floats:
    """Return how far each of several quantities reaches from its mean (C), all together with 90 % probability.

    ``drawn`` (C, S) are draws of all of them.
    """
    error = drawn - drawn.mean(axis=1, keepdims=True)
    spread = error.std(axis=1)
    varies: Flags = spread > SAME
    if not varies.any():
        return np.zeros(spread.size)
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


def better_pairs(runs: Sequence[str], compared: Compared) -> set[tuple[str, str]]:
    """Return the names of the pairs of runs of which the first is better, all together with 90 % probability."""
    return {(runs[a], runs[b]) for a, b in np.argwhere(compared.better).tolist()}


def place_rows(listed: Sequence[Place]) -> dict[str, list[Any]]:
    """Return places as columns."""
    return {name: [getattr(place, name) for place in listed] for name in Place._fields}
