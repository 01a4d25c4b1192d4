"""The Plackett-Luce model of rankings, with ties and judges of different reliability.

A judge draws the items one by one, best first: among the remaining items, item i has a probability in proportion to
its weight w_i = exp(gamma theta_i), where theta_i is its log worth and gamma the judge's reliability (Luce, 1959,
Individual Choice Behavior; Plackett, 1975, Applied Statistics 24(2), 193-202; reliability after Raman and Joachims,
2014, KDD, 1037-1046):

    p(1 > 2 > ... > m) = prod_k  w_k / (w_k + ... + w_m)

A tie leaves the order open: its probability is the sum over all orders of the tied items. The same order comes from a
race in which item i arrives after an exponential time of rate w_i. The probability that a tied group comes before a
rest of total weight R is the probability that all of the group arrive before the first of the rest (DeLong, Guirguis
and So, 1994, Biometrika 81(3), 607-611, for ties of survival times):

    p(group before rest) = integral over t > 0 of  exp(-t) prod_i (1 - exp(-t w_i / R))

It is computed as one sum over a grid, whatever the size of the group; for one item it is w / (w + R). The integrand is
log-concave in log t and analytic, so that the trapezoid rule on log t is exact to about 12 digits. The last group of a
ranking has no rest and contributes 1.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.rankings import Rankings
from adjudge.kernels.compiled import compiled
from adjudge.models.ranking.borda import borda
from adjudge.models.ranking.worth import Consensus, RankOptions, Worths, maximise, standard_errors

NEGLIGIBLE = 32.0  # values further below the maximum of the log integrand are ignored
TINY, LARGE = 1e-16, 40.0  # where 1 - exp(-z) is z, and where it is 1
SMALL = 1e-200  # a product below this is replaced by its log
HALVINGS = 4  # bisection steps towards the maximum of the integrand
STEP = 0.5  # of the grid, times the width of the peak


def log_likelihood(
    start: Codes, judge: Codes, item: Codes, level: Codes, theta: Floats, log_gamma: Floats
) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood and its gradient in log worths (I) and log reliabilities (J).

    Ranking r is by ``judge[r]`` and holds ``item[start[r]:start[r + 1]]``, best first; tied items share a ``level``.
    """
    d_theta, d_judge = np.zeros_like(theta), np.zeros_like(log_gamma)
    room = np.empty((3, int(np.diff(start).max())))
    value = _log_likelihood(start, judge, item, level, theta, np.exp(log_gamma), d_theta, d_judge, room)
    return float(value), d_theta, d_judge


@compiled
def _log_likelihood(
    start: Codes,
    judge: Codes,
    item: Codes,
    level: Codes,
    theta: Floats,
    gamma: Floats,
    d_theta: Floats,
    d_judge: Floats,
    room: Floats,
) -> float:
    """Sum over rankings, group by group, best first."""
    total = 0.0
    log_w, log_rest, share = room[0], room[1], room[2]  # of each entry: the last is d log p / d log w
    for r in range(judge.size):
        first, last = start[r], start[r + 1]
        weigh(item[first:last], level[first:last], theta, gamma[judge[r]], log_w, log_rest)
        above = -np.inf  # log of the sum over groups above of (their shares / their rest)
        a = 0
        while a < last - first:
            b = a + 1
            while b < last - first and level[first + b] == level[first + a]:
                b += 1
            total += group_before_rest(log_w[a:b], log_rest[a], share[a:b])
            for k in range(a, b):
                slope = share[k] - np.exp(log_w[k] + above)
                d_theta[item[first + k]] += gamma[judge[r]] * slope
                d_judge[judge[r]] += log_w[k] * slope
            if b < last - first:
                above = np.logaddexp(above, np.log(share[a:b].sum()) - log_rest[a])
            a = b
    return total


@compiled
def weigh(item: Codes, level: Codes, theta: Floats, gamma: float, log_w: Floats, log_rest: Floats) -> None:
    """Fill in the log weight of each entry of a ranking, and the log of the total weight below its group."""
    through = rest = -np.inf  # log total weight from this entry down, and below this group
    for k in range(item.size - 1, -1, -1):
        if k == item.size - 1 or level[k] != level[k + 1]:
            rest = through
        log_w[k], log_rest[k] = gamma * theta[item[k]], rest
        through = np.logaddexp(through, log_w[k])


@compiled
def group_before_rest(log_w: Floats, log_rest: float, share: Floats) -> float:
    """Return log p(group before rest), and fill in d log p / d log w of each item of the group."""
    if log_rest == -np.inf:
        share[:] = 0.0
        return 0.0
    if log_w.size == 1:
        share[0] = 1 / (1 + np.exp(log_w[0] - log_rest))
        return -float(np.logaddexp(0.0, log_rest - log_w[0]))
    return _tied(log_w - log_rest, share)


@compiled
def _tied(log_a: Floats, share: Floats) -> float:
    """Integrate over x = log t, from the maximum of the integrand outwards; a is w / R.

    The slope in log a_i is the mean under the integrand of z / (exp(z) - 1) with z = a_i t, which lies
    between 0 and 1; the maximum is where t = 1 + the sum of them, so log t is between 0 and log(1 + m).
    """
    ratio, top, high = np.empty(log_a.size), 0.0, np.log1p(log_a.size)
    for _ in range(HALVINGS):
        middle = (top + high) / 2
        _integrand(middle, log_a, ratio)
        top, high = (middle, high) if np.exp(middle) < 1 + ratio.sum() else (top, middle)
    most = _integrand(top, log_a, ratio)
    step = STEP / np.sqrt(1.0 + log_a.size)  # the peak narrows as the root of the group's size
    total, share[:] = 1.0, ratio
    for side in (-step, step):
        x, height = top + side, _integrand(top + side, log_a, ratio)
        while height > most - NEGLIGIBLE:
            weight = np.exp(height - most)
            total += weight
            for i in range(ratio.size):
                share[i] += weight * ratio[i]
            x += side
            height = _integrand(x, log_a, ratio)
    share /= total
    return most + float(np.log(total * step))


@compiled
def _integrand(x: float, log_a: Floats, ratio: Floats) -> float:
    """Return log of exp(x - t) prod (1 - exp(-a t)) at t = exp(x), and fill in each item's z / (exp(z) - 1)."""
    value, product = x - float(np.exp(x)), 1.0  # the log of the product is taken when it gets small
    for i in range(log_a.size):
        z = np.exp(log_a[i] + x)
        if z < TINY:
            value += log_a[i] + x
            ratio[i] = 1.0
        elif z > LARGE:
            ratio[i] = 0.0
        else:
            less_one = np.expm1(z)
            product *= less_one / (1 + less_one)
            ratio[i] = z / less_one
        if product < SMALL:
            value += np.log(product)
            product = 1.0
    return value + float(np.log(product))


def plackett_luce(rankings: Rankings, options: RankOptions) -> Consensus:
    """Return log worths and reliabilities; the optimiser starts at the Borda count."""
    arrays = (rankings.start, rankings.judge, rankings.item, rankings.level)
    items, judges, empty = len(rankings.items), len(rankings.judges), np.empty(0)

    def likelihood(params: Worths) -> tuple[float, Worths]:
        value, theta, log_gamma = log_likelihood(*arrays, params.theta, params.log_gamma)
        return value, Worths(theta, log_gamma, empty)

    start = Worths((2 * borda(rankings, options).score - 1) * options.spread, np.zeros(judges), empty)
    spread = Worths(np.full(items, options.spread), np.full(judges, options.judge_spread * options.reliability), empty)
    best, value, stopped = maximise(likelihood, start, spread)
    return Consensus(
        best.theta,
        standard_errors(likelihood, best, rankings.topic, options.spread),
        stopped,
        np.exp(best.log_gamma) if options.reliability else None,
        value,
    )
