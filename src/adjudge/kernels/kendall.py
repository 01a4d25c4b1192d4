"""Kendall's tau between each judge's rankings and one ranking of all items."""

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.compiled import compiled


def tau_b(start: Codes, judge: Codes, item: Codes, level: Codes, rank: Codes, judges: int) -> Floats:
    """Return tau-b of each judge (J) with the ``rank`` (I) of items; nan where nothing is told apart.

    With C pairs in the same order, D in the opposite, and X and Y pairs told apart by the judge and by the
    ranks, tau-b = (C - D) / sqrt(X Y) (Kendall, 1945, Biometrika 33, 239-251); pairs are of one ranking, and
    a judge's rankings are taken together.
    """
    tally = np.zeros((judges, 3))  # C - D, X, Y
    _count(start, judge, item, level, rank, tally)
    tau = np.full(judges, np.nan)
    apart = np.sqrt(tally[:, 1] * tally[:, 2])
    np.divide(tally[:, 0], apart, out=tau, where=apart > 0)
    return tau


@compiled
def _count(start: Codes, judge: Codes, item: Codes, level: Codes, rank: Codes, tally: Floats) -> None:
    """Add up the pairs of each ranking; entries stand best first."""
    for r in range(judge.size):
        for a in range(start[r], start[r + 1]):
            for b in range(a + 1, start[r + 1]):
                below, lead = level[b] > level[a], rank[item[b]] - rank[item[a]]
                tally[judge[r], 0] += below * np.sign(lead)
                tally[judge[r], 1] += below
                tally[judge[r], 2] += lead != 0
