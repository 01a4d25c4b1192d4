"""The Bradley-Terry model of preferences between two items, with ties and position bias.

With h = (gamma (theta_left - theta_right) + bias) / 2, where theta are log worths, gamma is the judge's reliability
and bias the advantage of the left item, the three outcomes have probabilities in proportion to

    left : right : tie  =  exp(h) : exp(-h) : nu

Without ties nu is 0 and the model is that of Bradley and Terry (1952, Biometrika 39, 324-345); nu is due to
Davidson (1970, JASA 65, 317-328), and the position bias to Davidson and Beaver (1977, Biometrics 33, 693-702).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.rankings import Rankings
from adjudge.models.ranking.worth import Consensus, RankOptions, Worths, maximise, standard_errors


class Preferences(NamedTuple):
    """Preferences between two items as arrays."""

    better: Codes  # (N) the item that was preferred, or the first of two that are tied
    worse: Codes  # (N) the other
    side: Codes  # (N) 1 if ``better`` is left, -1 if it is right
    tie: Flags  # (N)
    judge: Codes  # (N)


class PairParams(NamedTuple):
    """The parameters of the log-likelihood, or its gradient in them."""

    theta: Floats  # (I) log worths
    log_gamma: Floats  # (J) log reliabilities
    bias: float  # log odds of left against right
    log_nu: float  # log odds of a tie


def log_likelihood(data: Preferences, at: PairParams) -> tuple[float, PairParams]:
    """Return the log-likelihood of preferences and its gradient.

    Parameters
    ----------
    data
        The preferences.
    at
        The parameters.

    Returns
    -------
    tuple
        The log-likelihood, and its derivative in every parameter.
    """
    better, worse, side, tie, judge = data
    theta, log_gamma, bias, log_nu = at
    lead = np.exp(log_gamma)[judge] * (theta[better] - theta[worse])
    h = (lead + side * bias) / 2
    total = np.logaddexp(np.logaddexp(h, -h), log_nu)
    value = np.where(tie, log_nu if tie.any() else 0.0, h) - total
    slope = (~tie - np.exp(h - total) + np.exp(-h - total)) / 2  # in 2 h
    pull = np.exp(log_gamma)[judge] * slope
    rise = np.zeros_like(theta) + np.bincount(better, pull, theta.size) - np.bincount(worse, pull, theta.size)
    d_gamma = np.zeros_like(log_gamma) + np.bincount(judge, lead * slope, log_gamma.size)
    d_nu = tie.sum() - np.exp(log_nu - total).sum()
    return float(value.sum()), PairParams(rise, d_gamma, float(side @ slope), float(d_nu))


def bradley_terry(rankings: Rankings, options: RankOptions) -> Consensus:
    """Return log worths; nu is estimated if there are ties, reliability and position bias if the options say so."""
    tie = rankings.level[1::2] == 0
    side = np.ones(tie.size) if rankings.side is None else rankings.side
    data = Preferences(rankings.item[::2], rankings.item[1::2], side, tie, rankings.judge)
    items, judges, tied = len(rankings.items), len(rankings.judges), bool(tie.any())

    def likelihood(params: Worths) -> tuple[float, Worths]:
        at = PairParams(params.theta, params.log_gamma, float(params.more[0]), float(params.more[1]))
        value, slope = log_likelihood(data, at)
        return value, Worths(slope.theta, slope.log_gamma, np.array([slope.bias, slope.log_nu]))

    start = Worths(np.zeros(items), np.zeros(judges), np.array([0.0, 0.0 if tied else -np.inf]))
    spread = Worths(
        np.full(items, options.spread),
        np.full(judges, options.judge_spread * options.reliability),
        options.spread * np.array([options.position_bias, tied]),
    )
    best, value, stopped = maximise(likelihood, start, spread)
    return Consensus(
        best.theta,
        standard_errors(likelihood, best, rankings.topic, options.spread),
        stopped,
        np.exp(best.log_gamma) if options.reliability else None,
        value,
        float(best.more[0]) if options.position_bias else None,
        float(np.exp(best.more[1])) if tied else None,
    )
