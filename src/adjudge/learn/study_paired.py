"""Whether one method is better than another, for other questions and for other crowds.

What a study has seen are some questions and some runs, each with a crowd and folds of its own: both are draws, and a
difference is sure only if neither's chance explains it. Two tests see both: Student's t with the variance of a mean
over crossed questions and runs, and a bootstrap that draws questions and runs at once (Owen's pigeonholes, 2007). Both
count what questions and runs share twice, and so err to the side of doubt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from adjudge.arrays import Flags, Floats
from adjudge.errors import UsageError
from adjudge.score.paired import holm

CHUNK = 250  # draws at once
ROUNDING = 1e-12


class Held(NamedTuple):
    """A method held against another."""

    difference: float
    error: float  # its standard error, over questions and runs
    t: float  # p of Student's t
    drawn: float  # p of the bootstrap
    p: float  # the larger of both, corrected for the number of methods


def held(values: Floats, other: Floats, present: Flags, *, draws: int, seed: int = 0) -> list[Held]:
    """Return methods (M, R, Q) held against another (R, Q), on the questions that each run has (R, Q)."""
    difference = values - other
    error, t = zip(*(two_way(one, present) for one in difference), strict=True)
    drawn = pigeonholes(difference, present, draws=draws, seed=seed)
    p = holm(np.maximum(t, drawn))
    rows = zip(_mean(difference, present).tolist(), error, t, drawn.tolist(), p.tolist(), strict=True)
    return [Held(*row) for row in rows]


def two_way(difference: Floats, present: Flags) -> tuple[float, float]:
    """Return the standard error of a mean over runs and questions (R, Q), and the p of its being 0.

    The variance is that of the questions' means over their number and that of the runs' means over theirs; a single run
    has none. Degrees of freedom are Satterthwaite's.
    """
    seen = np.where(present, difference, 0.0)
    parts = []
    for axis in (0, 1):  # questions' means, then runs'
        count = present.sum(axis=axis)
        mean = seen.sum(axis=axis)[count > 0] / count[count > 0]
        if mean.size > 1:
            parts.append((float(mean.var(ddof=1)) / mean.size, mean.size - 1))
    total = sum(part for part, _ in parts)
    centre = float(_mean(difference[None], present)[0])
    if total <= 0:
        return 0.0, 1.0 if abs(centre) <= ROUNDING else 0.0
    freedom = total**2 / sum(part**2 / free for part, free in parts)
    return float(total**0.5), float(2 * stdtr(freedom, -abs(centre) / total**0.5))


def pigeonholes(difference: Floats, present: Flags, *, draws: int, seed: int = 0) -> Floats:
    """Return the two-sided p (M) of mean differences (M, R, Q) when runs and questions are drawn anew, together."""
    if draws < 1:
        raise UsageError(f"draws {draws} is not 1 or more")
    M, R, Q = difference.shape
    rng, centre = np.random.default_rng(seed), _mean(difference, present)
    seen = np.where(present, difference, 0.0).reshape(M * R, Q).T  # (Q, M * R)
    several = [size for size in (R, Q) if size > 1]
    stretch = (min(several) / (min(several) - 1)) ** 0.5 if several else 1.0  # n draws of n spread by (n - 1) / n
    reached = np.zeros(M)
    for begin in range(0, draws, CHUNK):
        size = min(CHUNK, draws - begin)
        u, v = (rng.multinomial(n, np.full(n, 1 / n), size).astype(float) for n in (R, Q))  # (B, R) and (B, Q)
        count = (v @ present.T.astype(float) * u).sum(axis=1)  # (B)
        total = ((v @ seen).reshape(size, M, R) * u[:, None, :]).sum(axis=2)  # (B, M)
        mean = total / np.maximum(count, 1)[:, None]
        far = np.abs(mean - centre) * stretch >= np.abs(centre) - ROUNDING
        reached += (far | (count == 0)[:, None]).sum(axis=0)
    p: Floats = (1 + reached) / (1 + draws)
    return p


def _mean(difference: Floats, present: Flags) -> Floats:
    """Return the mean of each method (M) over what is there."""
    mean: Floats = np.where(present, difference, 0.0).sum(axis=(1, 2)) / max(int(present.sum()), 1)
    return mean
