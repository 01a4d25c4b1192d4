"""What models of log worths share: priors, maximum a posteriori estimates, and their standard errors.

The priors N(0, spread^2) of log worths theta and N(0, judge_spread^2) of log reliabilities keep every estimate finite:
for items that always win, for items that were never compared, and for judges who agree with nobody. The likelihood does
not change if a constant is added to all items of a topic, so the prior decides, and log worths sum to 0 in each topic.
Nor does it change if worths shrink and reliabilities grow in proportion; the mean reliability is therefore fixed at 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats

LARGEST = 100  # items per topic up to which standard errors are computed
NUDGE = 1e-4  # step of a log worth for a numerical second derivative
STEPS = 2_000  # iterations of the optimiser at most
FLAT = 1e-7  # gradient at which the optimiser stops


class RankOptions(NamedTuple):
    """The options of a consensus ranking."""

    spread: float = 1.0  # prior standard deviation of log worths, position bias and log tie odds
    judge_spread: float = 1.0  # prior standard deviation of log reliabilities
    reliability: bool = False  # whether judges differ in reliability
    position_bias: bool = False  # whether the left item may have an advantage
    seed: int = 0  # of random numbers


class Consensus(NamedTuple):
    """The result of a method: scores of items, reliability of judges."""

    score: Floats  # (I) higher is better
    se: Floats  # (I) its standard error, nan if unknown
    stopped: str
    reliability: Floats | None = None  # (J), 1 on average
    log_likelihood: float | None = None
    position_bias: float | None = None  # log odds of left against right for equal items
    tie: float | None = None  # Davidson's nu: the odds of a tie against either winner for equal items
    grades: Floats | None = None  # (I, Z) probabilities of grades
    interval: Codes | None = None  # (I, 2) of the rank
    confusion: Floats | None = None  # (J, Z, K) p(label | grade)


class Worths(NamedTuple):
    """The parameters of a likelihood, its gradient, or prior standard deviations."""

    theta: Floats  # (I) log worths
    log_gamma: Floats  # (J) log reliabilities
    more: Floats  # other parameters of the model


Likelihood: TypeAlias = Callable[[Worths], tuple[float, Worths]]


def maximise(likelihood: Likelihood, start: Worths, spread: Worths) -> tuple[Worths, float, str]:
    """Return the maximum a posteriori parameters, their log-likelihood, and how the optimiser ended.

    Parameters with a prior standard deviation of 0 keep their start value.
    """
    from scipy.optimize import minimize  # imported here because it takes as long to load as a small fit to run

    values, spreads = np.concatenate(start), np.concatenate(spread)
    free = spreads > 0

    def loss(x: Floats) -> tuple[float, Floats]:
        params = _with_free(start, values, free, x)
        value, slope = likelihood(params)
        shared = np.exp(params.log_gamma) / params.log_gamma.size * slope.log_gamma.sum()  # of the fixed mean
        rise = np.concatenate(slope._replace(log_gamma=slope.log_gamma - shared))[free]
        z = x / spreads[free]
        return float(z @ z / 2 - value), z / spreads[free] - rise

    options = {"maxiter": STEPS, "maxfun": 2 * STEPS, "gtol": FLAT, "ftol": 1e-14, "maxcor": 20}
    end = minimize(loss, values[free], jac=True, method="L-BFGS-B", options=options)
    best = _with_free(start, values, free, end.x)
    stopped = f"stopped at the cap of {STEPS:,} steps" if end.status == 1 else f"converged after {end.nit} steps"
    return best, likelihood(best)[0], stopped


def _with_free(start: Worths, values: Floats, free: Flags, x: Floats) -> Worths:
    """Return the parameters with the free ones set to x, and reliabilities divided by their mean."""
    full = values.copy()
    full[free] = x
    theta, log_gamma, more = np.split(full, np.cumsum([part.size for part in start[:2]]))
    log_gamma = log_gamma - log_gamma.max()  # where exp cannot overflow
    return Worths(theta, log_gamma - np.log(np.exp(log_gamma).mean()), more)


def standard_errors(likelihood: Likelihood, best: Worths, topic: Codes, spread: float) -> Floats:
    """Return the standard error of each log worth (I) relative to the mean of its topic, given the judges (Laplace).

    Given the judges, topics are independent, so one numerical derivative serves one item of every topic at once. The
    data do not inform the mean of a topic, so it is fixed by a prior of variance 1, and its remaining variance,
    1 / (1 + 1 / spread^2) / n, is subtracted. The result is nan in topics with more than ``LARGEST`` items.
    """
    first = np.searchsorted(topic, topic)
    index, size = np.arange(topic.size) - first, np.bincount(topic)[topic]
    small = size <= LARGEST
    curvature = np.zeros((topic.size, int(size[small].max(initial=0))))  # (I, items of the largest topic)
    for k in range(curvature.shape[1]):
        nudge = NUDGE * (small & (index == k))
        up, down = (likelihood(best._replace(theta=best.theta + change))[1].theta for change in (nudge, -nudge))
        curvature[:, k] = (down - up) / (2 * NUDGE)
    se = np.full(topic.size, np.nan)
    for begin in np.flatnonzero(small & (index == 0)):
        n = size[begin]
        block = curvature[begin : begin + n, :n]
        inverse = np.linalg.inv((block + block.T) / 2 + np.eye(n) / spread**2 + np.full((n, n), 1 / n))
        se[begin : begin + n] = np.sqrt(np.maximum(np.diag(inverse) - 1 / (1 + 1 / spread**2) / n, 0))
    return se
