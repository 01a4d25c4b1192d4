"""Streaks: how long one goes on saying the same."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.compiled import compiled


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
