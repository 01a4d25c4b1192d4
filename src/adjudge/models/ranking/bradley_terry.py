"""The log likelihood of preferences between two under Bradley and Terry, with ties and a favoured place.

With h = (gamma (theta_left - theta_right) + bias) / 2, where theta are log worths, gamma is the judge's reliability
and bias what the left place is worth to everybody, the three outcomes have probabilities in proportion to

    left : right : tie  =  exp(h) : exp(-h) : nu

Without ties nu is 0 and the model is that of Bradley and Terry (1952, Biometrika 39, 324-345); nu is Davidson's
(1970, JASA 65, 317-328), and the place that of Davidson and Beaver (1977, Biometrics 33, 693-702).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.rankings import Rankings
from adjudge.models.ranking.worth import Consensus, Wishes, Worths, climb, errors


class Slopes(NamedTuple):
    """Where the log likelihood rises."""

    theta: Floats  # (I)
    log_gamma: Floats  # (J)
    bias: float
    log_nu: float


def log_likelihood(
    better: Codes,
    worse: Codes,
    side: Codes,
    tie: Flags,
    judge: Codes,
    theta: Floats,
    log_gamma: Floats,
    bias: float,
    log_nu: float,
) -> tuple[float, Slopes]:
    """Return the log likelihood and its slopes; side (N) is 1 where the better, or of tied ones the first, is left."""
    lead = np.exp(log_gamma)[judge] * (theta[better] - theta[worse])
    h = (lead + side * bias) / 2
    total = np.logaddexp(np.logaddexp(h, -h), log_nu)
    value = np.where(tie, log_nu if tie.any() else 0.0, h) - total
    slope = (~tie - np.exp(h - total) + np.exp(-h - total)) / 2  # in 2 h
    pull = np.exp(log_gamma)[judge] * slope
    rise = np.zeros_like(theta) + np.bincount(better, pull, theta.size) - np.bincount(worse, pull, theta.size)
    d_gamma = np.zeros_like(log_gamma) + np.bincount(judge, lead * slope, log_gamma.size)
    d_nu = tie.sum() - np.exp(log_nu - total).sum()
    return float(value.sum()), Slopes(rise, d_gamma, float(side @ slope), float(d_nu))


# Bradley and Terry's model with Davidson's ties and a favoured place: see ``adjudge.models.ranking.bradley_terry``.


def bradley_terry(rankings: Rankings, wishes: Wishes) -> Consensus:
    """Return the most likely log worths; nu is estimated where there are ties, the rest where it is wished for."""
    better, worse = rankings.item[::2], rankings.item[1::2]
    tie = rankings.level[1::2] == 0
    side = np.ones(tie.size) if rankings.side is None else rankings.side
    items, judges, tied = len(rankings.items), len(rankings.judges), bool(tie.any())

    def likelihood(at: Worths) -> tuple[float, Worths]:
        arrays = (better, worse, side, tie, rankings.judge)
        value, slope = log_likelihood(*arrays, at.theta, at.log_gamma, float(at.more[0]), float(at.more[1]))
        return value, Worths(slope.theta, slope.log_gamma, np.array([slope.bias, slope.log_nu]))

    begin = Worths(np.zeros(items), np.zeros(judges), np.array([0.0, 0.0 if tied else -np.inf]))
    spread = Worths(
        np.full(items, wishes.spread),
        np.full(judges, wishes.judge_spread * wishes.reliability),
        wishes.spread * np.array([wishes.position_bias, tied]),
    )
    found, value, stopped = climb(likelihood, begin, spread)
    return Consensus(
        found.theta,
        errors(likelihood, found, rankings.topic, wishes.spread),
        stopped,
        np.exp(found.log_gamma) if wishes.reliability else None,
        value,
        float(found.more[0]) if wishes.position_bias else None,
        float(np.exp(found.more[1])) if tied else None,
    )
