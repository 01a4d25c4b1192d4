"""What models of log worths share: priors, the climb to the most likely worths, and how sure they are.

Log worths theta ~ N(0, spread^2) and log reliabilities ~ N(0, judge_spread^2) keep every answer finite: of items
that always win, of items never held against each other, and of judges who agree with nobody. A likelihood does
not change when all items of a topic gain alike, so the prior alone decides, and they sum to 0 in each topic. Nor
does it when worths shrink and reliabilities grow; reliabilities are held at a mean of 1, or the many worths
would shrink as far as their prior likes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats

LARGEST = 100  # items of a topic beyond which no standard errors are computed
NUDGE = 1e-4  # of a log worth, to see how the slope changes
STEPS = 2_000  # at most
FLAT = 1e-7  # the slope at which the climb ends


class Wishes(NamedTuple):
    """What may be chosen about a consensus ranking."""

    spread: float = 1.0  # standard deviation of log worths, and of what the left place and a tie are worth
    judge_spread: float = 1.0  # of log reliabilities
    reliability: bool = False  # whether judges differ in it
    position_bias: bool = False  # whether the left place is worth something


class Consensus(NamedTuple):
    """What a method says of items and judges."""

    score: Floats  # (I) higher is better
    se: Floats  # (I) its standard error, nan where it is not known
    stopped: str
    reliability: Floats | None = None  # (J), 1 on average
    log_likelihood: float | None = None
    position_bias: float | None = None  # log odds of left against right between equals
    tie: float | None = None  # Davidson's nu: between equals a tie has the odds nu against either


class Worths(NamedTuple):
    """The parameters of a likelihood, or its slopes in them, or their spreads."""

    theta: Floats  # (I) log worths
    log_gamma: Floats  # (J) log reliabilities
    more: Floats  # whatever else a model has


Likelihood: TypeAlias = Callable[[Worths], tuple[float, Worths]]


def climb(likelihood: Likelihood, begin: Worths, spread: Worths) -> tuple[Worths, float, str]:
    """Return the most likely parameters, the log likelihood there, and how the climb ended.

    What has the spread 0 stays where it begins.
    """
    from scipy.optimize import minimize  # on first use: it takes as long to load as a small fit to run

    whole, spreads = np.concatenate(begin), np.concatenate(spread)
    free = spreads > 0

    def loss(x: Floats) -> tuple[float, Floats]:
        at = _at(begin, whole, free, x)
        value, slope = likelihood(at)
        shared = np.exp(at.log_gamma) / at.log_gamma.size * slope.log_gamma.sum()  # of the mean that is held
        rise = np.concatenate(slope._replace(log_gamma=slope.log_gamma - shared))[free]
        z = x / spreads[free]
        return float(z @ z / 2 - value), z / spreads[free] - rise

    options = {"maxiter": STEPS, "maxfun": 2 * STEPS, "gtol": FLAT, "ftol": 1e-14, "maxcor": 20}
    end = minimize(loss, whole[free], jac=True, method="L-BFGS-B", options=options)
    found = _at(begin, whole, free, end.x)
    stopped = f"stopped at the cap of {STEPS:,} steps" if end.status == 1 else f"converged after {end.nit} steps"
    return found, likelihood(found)[0], stopped


def _at(begin: Worths, whole: Floats, free: Flags, x: Floats) -> Worths:
    """Return the parameters with the free ones at x, and reliabilities divided by their mean."""
    full = whole.copy()
    full[free] = x
    theta, log_gamma, more = np.split(full, np.cumsum([part.size for part in begin[:2]]))
    log_gamma = log_gamma - log_gamma.max()  # where exp cannot overflow
    return Worths(theta, log_gamma - np.log(np.exp(log_gamma).mean()), more)


def errors(likelihood: Likelihood, found: Worths, topic: Codes, spread: float) -> Floats:
    """Return the standard error of each log worth (I) against its topic's mean, given the judges (Laplace).

    The curvature of topics is apart once judges are given, so one nudge tries an item of every topic at once.
    Data say nothing of the mean itself, so it is held (by a prior of 1) and what that leaves of its variance,
    1 / (1 + 1 / spread^2) / n, is taken off. nan in topics above ``LARGEST``.
    """
    first = np.searchsorted(topic, topic)
    place, size = np.arange(topic.size) - first, np.bincount(topic)[topic]
    small = size <= LARGEST
    curvature = np.zeros((topic.size, int(size[small].max(initial=0))))  # (I, items of the largest topic)
    for k in range(curvature.shape[1]):
        nudge = NUDGE * (small & (place == k))
        up, down = (likelihood(found._replace(theta=found.theta + way))[1].theta for way in (nudge, -nudge))
        curvature[:, k] = (down - up) / (2 * NUDGE)
    se = np.full(topic.size, np.nan)
    for begin in np.flatnonzero(small & (place == 0)):
        n = size[begin]
        block = curvature[begin : begin + n, :n]
        inverse = np.linalg.inv((block + block.T) / 2 + np.eye(n) / spread**2 + np.full((n, n), 1 / n))
        se[begin : begin + n] = np.sqrt(np.maximum(np.diag(inverse) - 1 / (1 + 1 / spread**2) / n, 0))
    return se
