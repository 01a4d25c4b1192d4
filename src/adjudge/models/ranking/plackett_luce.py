"""The log likelihood of rankings under Plackett and Luce, and where it rises.

A judge ranks as if she drew, again and again, the best of what is left, item i with a probability in proportion
to its weight w_i = exp(gamma theta_i), where theta_i is the item's log worth and gamma her reliability (Luce, 1959,
Individual Choice Behavior; Plackett, 1975, Applied Statistics 24(2), 193-202; reliability after Raman and Joachims,
2014, KDD, 1037-1046):

    p(1 > 2 > ... > m) = prod_k  w_k / (w_k + ... + w_m)

A tie means that she did not say which comes first: its probability is the sum over all orders of the tied. The
same order comes from a race in which item i arrives after a time drawn from an exponential of rate w_i. That a
tied group comes before a rest of total weight R is then that all of them arrive before the first of the rest
(DeLong, Guirguis and So, 1994, Biometrika 81(3), 607-611, for ties of survival times):

    p(group before rest) = integral over t > 0 of  exp(-t) prod_i (1 - exp(-t w_i / R))

which is one sum over a grid, whatever the size of the group; for one item it is w / (w + R). The integrand is
log-concave in log t and analytic, so that the trapezoid rule on log t is exact to about 12 digits. The last
group of a ranking has no rest and contributes 1.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.rankings import Rankings
from adjudge.kernels.compiled import compiled
from adjudge.models.ranking.borda import borda
from adjudge.models.ranking.worth import Consensus, Wishes, Worths, climb, errors

NEGLIGIBLE = 32.0  # below the top of the log integrand by this, nothing is worth adding
TINY, LARGE = 1e-16, 40.0  # where 1 - exp(-z) is z, and where it is 1
SMALL = 1e-200  # where a product is put away
HALVINGS = 4  # to come near the top of the integrand
STEP = 0.5  # of the grid, times the width of the peak


def log_likelihood(
    start: Codes, judge: Codes, item: Codes, level: Codes, theta: Floats, log_gamma: Floats
) -> tuple[float, Floats, Floats]:
    """Return the log likelihood, and its slope in log worths (I) and log reliabilities (J).

    Ranking r is by ``judge[r]`` and holds ``item[start[r]:start[r + 1]]``, best first; tied ones share a ``level``.
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
    """Add up over rankings, group by group from the best."""
    total = 0.0
    log_w, log_rest, share = room[0], room[1], room[2]  # of each entry: the last is d log p / d log w
    for r in range(judge.size):
        first, last = start[r], start[r + 1]
        _weigh(item[first:last], level[first:last], theta, gamma[judge[r]], log_w, log_rest)
        above = -np.inf  # log of the sum over groups above of (their shares / their rest)
        a = 0
        while a < last - first:
            b = a + 1
            while b < last - first and level[first + b] == level[first + a]:
                b += 1
            total += _group(log_w[a:b], log_rest[a], share[a:b])
            for k in range(a, b):
                slope = share[k] - np.exp(log_w[k] + above)
                d_theta[item[first + k]] += gamma[judge[r]] * slope
                d_judge[judge[r]] += log_w[k] * slope
            if b < last - first:
                above = np.logaddexp(above, np.log(share[a:b].sum()) - log_rest[a])
            a = b
    return total


@compiled
def _weigh(item: Codes, level: Codes, theta: Floats, gamma: float, log_w: Floats, log_rest: Floats) -> None:
    """Fill in the log weight of each entry of a ranking and that of all below its group together."""
    through = rest = -np.inf  # log weights of all from here on down, and of all below this group
    for k in range(item.size - 1, -1, -1):
        if k == item.size - 1 or level[k] != level[k + 1]:
            rest = through
        log_w[k], log_rest[k] = gamma * theta[item[k]], rest
        through = np.logaddexp(through, log_w[k])


@compiled
def _group(log_w: Floats, log_rest: float, share: Floats) -> float:
    """Return log p(group before rest), and fill in d log p / d log w of each in it."""
    if log_rest == -np.inf:
        share[:] = 0.0
        return 0.0
    if log_w.size == 1:
        share[0] = 1 / (1 + np.exp(log_w[0] - log_rest))
        return -float(np.logaddexp(0.0, log_rest - log_w[0]))
    return _tied(log_w - log_rest, share)


@compiled
def _tied(log_a: Floats, share: Floats) -> float:
    """Integrate over x = log t, from the top of the integrand outwards; a is w / R.

    The slope in log a_i is the mean under the integrand of z / (exp(z) - 1) with z = a_i t, which lies
    between 0 and 1; the top is where t = 1 + the sum of them, so log t is between 0 and log(1 + m).
    """
    here, top, high = np.empty(log_a.size), 0.0, np.log1p(log_a.size)
    for _ in range(HALVINGS):
        middle = (top + high) / 2
        _integrand(middle, log_a, here)
        top, high = (middle, high) if np.exp(middle) < 1 + here.sum() else (top, middle)
    most = _integrand(top, log_a, here)
    step = STEP / np.sqrt(1.0 + log_a.size)  # the peak narrows as the root of the group's size
    total, share[:] = 1.0, here
    for side in (-step, step):
        x, height = top + side, _integrand(top + side, log_a, here)
        while height > most - NEGLIGIBLE:
            weight = np.exp(height - most)
            total += weight
            for i in range(here.size):
                share[i] += weight * here[i]
            x += side
            height = _integrand(x, log_a, here)
    share /= total
    return most + float(np.log(total * step))


@compiled
def _integrand(x: float, log_a: Floats, here: Floats) -> float:
    """Return log of exp(x - t) prod (1 - exp(-a t)) at t = exp(x), and fill in each item's z / (exp(z) - 1)."""
    value, product = x - float(np.exp(x)), 1.0  # the log of the product is taken when it gets small
    for i in range(log_a.size):
        z = np.exp(log_a[i] + x)
        if z < TINY:
            value += log_a[i] + x
            here[i] = 1.0
        elif z > LARGE:
            here[i] = 0.0
        else:
            less_one = np.expm1(z)
            product *= less_one / (1 + less_one)
            here[i] = z / less_one
        if product < SMALL:
            value += np.log(product)
            product = 1.0
    return value + float(np.log(product))


# Plackett and Luce's model with judges of different reliability: see ``adjudge.models.ranking.plackett_luce`` for the
# maths.


def plackett_luce(rankings: Rankings, wishes: Wishes) -> Consensus:
    """Return the most likely log worths and reliabilities, climbing from Borda's count."""
    arrays = (rankings.start, rankings.judge, rankings.item, rankings.level)
    items, judges, nothing = len(rankings.items), len(rankings.judges), np.empty(0)

    def likelihood(at: Worths) -> tuple[float, Worths]:
        value, theta, log_gamma = log_likelihood(*arrays, at.theta, at.log_gamma)
        return value, Worths(theta, log_gamma, nothing)

    begin = Worths((2 * borda(rankings, wishes).score - 1) * wishes.spread, np.zeros(judges), nothing)
    spread = Worths(np.full(items, wishes.spread), np.full(judges, wishes.judge_spread * wishes.reliability), nothing)
    found, value, stopped = climb(likelihood, begin, spread)
    return Consensus(
        found.theta,
        errors(likelihood, found, rankings.topic, wishes.spread),
        stopped,
        np.exp(found.log_gamma) if wishes.reliability else None,
        value,
    )
