"""A judge who sees an item's degree through normal noise: how likely she is to say yes.

She sees x ~ N(B, A) on [0, 1] and says 1 when x > T. The printed integrals of paper 002 stop at 0 and 1, so both are
divided by the mass between: they sum to one.
"""

from __future__ import annotations

import math

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.compiled import compiled

ROOT2 = math.sqrt(2.0)


def chances(log_variance: Floats, threshold: Floats, degree: Floats) -> Floats:
    """Return p(says 0) and p(says 1) of judges (J) for every degree (J, G, 2)."""
    chance = np.empty((log_variance.size, degree.size, 2))
    _chances(np.exp(log_variance / 2), threshold, degree, chance)
    return chance


@compiled
def _chances(deviation: Floats, threshold: Floats, degree: Floats, chance: Floats) -> None:
    """Fill in the two chances of every judge and degree."""
    for j in range(deviation.size):
        for g in range(degree.size):
            at = (threshold[j] - degree[g]) / deviation[j]
            below = _mass(-degree[g] / deviation[j], at)
            above = _mass(at, (1 - degree[g]) / deviation[j])
            chance[j, g, 0] = below / (below + above)
            chance[j, g, 1] = above / (below + above)


@compiled
def _mass(low: float, high: float) -> float:
    """Return the mass of a standard normal between two points, exact in both tails."""
    if low > 0:
        return 0.5 * (math.erfc(low / ROOT2) - math.erfc(high / ROOT2))
    if high < 0:
        return 0.5 * (math.erfc(-high / ROOT2) - math.erfc(-low / ROOT2))
    return 1 - 0.5 * (math.erfc(-low / ROOT2) + math.erfc(high / ROOT2))
