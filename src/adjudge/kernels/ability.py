"""The most likely ability of judges whose chance of being right is a logistic of ability times ease."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.compiled import compiled

STEPS = 100
CLOSE = 1e-12


def abilities(right: Floats, wrong: Floats, ease: Floats, mean: float, precision: float) -> Floats:
    """Return the abilities (J) that maximise sum_g right log s + wrong log(1 - s), s = logistic(ability * ease_g).

    ``right`` and ``wrong`` are (J, G); abilities have a normal prior with this mean and precision.
    """
    ability = np.empty(right.shape[0])
    _abilities(right, wrong, ease, mean, precision, ability)
    return ability


@compiled
def _abilities(right: Floats, wrong: Floats, ease: Floats, mean: float, precision: float, ability: Floats) -> None:
    """Find the root of each judge's slope by Newton's steps, halving the bracket where one leaves it or is no shorter.

    The log posterior is concave with a curvature of at least ``precision``, so a root lies within slope / precision.
    """
    for j in range(ability.size):
        here = mean
        slope, _ = _slope(right[j], wrong[j], ease, mean, precision, here)
        low, high = min(here, here + slope / precision), max(here, here + slope / precision)
        moved = high - low
        for _ in range(STEPS):
            slope, bend = _slope(right[j], wrong[j], ease, mean, precision, here)
            if slope > 0:
                low = here
            else:
                high = here
            after = here + slope / bend
            if not low <= after <= high or abs(after - here) > moved / 2:
                after = (low + high) / 2
            moved, here = abs(after - here), after
            if moved < CLOSE:
                break
        ability[j] = here


@compiled
def _slope(right: Floats, wrong: Floats, ease: Floats, mean: float, precision: float, at: float) -> tuple[float, float]:
    """Return the slope of a judge's log posterior, and its curvature turned positive."""
    slope, bend = precision * (mean - at), precision
    for g in range(ease.size):
        s = 1 / (1 + np.exp(-at * ease[g]))
        slope += ease[g] * (right[g] * (1 - s) - wrong[g] * s)
        bend += ease[g] * ease[g] * (right[g] + wrong[g]) * s * (1 - s)
    return slope, bend
