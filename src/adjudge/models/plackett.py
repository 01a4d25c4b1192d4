"""Plackett and Luce's model with judges of different reliability: see ``adjudge.kernels.plackett`` for the maths."""

from __future__ import annotations

import numpy as np

from adjudge.judgments.rankings import Rankings
from adjudge.kernels.plackett import log_likelihood
from adjudge.models.borda import borda
from adjudge.models.worth import Consensus, Wishes, Worths, climb, errors


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
