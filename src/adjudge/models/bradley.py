"""Bradley and Terry's model with Davidson's ties and a favoured place: see ``adjudge.kernels.davidson``."""

from __future__ import annotations

import numpy as np

from adjudge.judgments.rankings import Rankings
from adjudge.kernels.davidson import log_likelihood
from adjudge.models.worth import Consensus, Wishes, Worths, climb, errors


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
