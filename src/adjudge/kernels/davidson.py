"""The log likelihood of preferences between two under Bradley and Terry, with ties and a favoured place.

With h = (gamma (theta_left - theta_right) + bias) / 2, where theta are log worths, gamma is the judge's reliability
and bias what the left place is worth to everybody, the three outcomes have probabilities in proportion to

    left : right : tie  =  exp(h) : exp(-h) : nu

Without ties nu is 0 and the model is that of Bradley and Terry (1952, Biometrika 39, 324-345); nu is Davidson's
(1970, JASA 65, 317-328), and the place that of Davidson and Beaver (1977, Biometrics 33, 693-702).
"""

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats


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
