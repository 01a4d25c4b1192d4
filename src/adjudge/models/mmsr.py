"""Skills from agreement alone, robustly: M-MSR (Ma & Olshevsky 2020).

How often two judges agree, rescaled, is the product of their skills s_j s_l in expectation: a matrix of rank one, seen
where judges have items in common. It is completed by trimmed means, so that judges who collude or attack mislead it
only where they are many (``kernels.agreement``). A judge is then right with probability p_j = s_j (K - 1)/K + 1/K, and
her votes weigh log((K - 1) p_j / (1 - p_j)): Bayes' rule with one coin a judge and truths that are all as common.

The paper removes F extremes, the same F for all judges; here every judge has her own, one less than half of her
co-judges, which is the same where all judges meet. It starts at random, here at the agreements' row sums. Gold counts
as one more judge. Judges need items in common, some dozens better than a few: |C_jl| of a single one is always one.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import UsageError
from adjudge.kernels.agreement import agreements, completed, pairs_seen, signs
from adjudge.kernels.block import Block, Tally
from adjudge.models.base import Model, Params

MOST_JUDGES = 8_000  # 32 million pairs: half a gigabyte a block


def compare_judges(block: Block, params: Params) -> Tally:
    """Count for every two judges what they agree on, and what they have in common; truths are judged items."""
    if block.judges > MOST_JUDGES:
        raise UsageError(
            f"model 'm-msr' compares every two judges, of {MOST_JUDGES:,} at most, and there are {block.judges:,}: "
            "'one-coin' and 'vote-weight' learn one skill a judge of any number"
        )
    judged = np.count_nonzero(np.diff(block.start))
    return Tally(np.array([[float(judged)]]), agreements(block), 0.0)


def complete(tally: Tally, start: Params) -> Params:
    """Return one coin a judge, from the skills whose products are the agreements; whom nobody met is as the others."""
    J, K = start.confusion.shape[:2]
    if K == 1:
        return start
    margin = 1 / np.sqrt(max(tally.truth[0, 0], 1.0))
    pairs = pairs_seen(tally.label, J + 1, K)
    size = completed(pairs, margin)
    skill = (size * signs(pairs, size))[:J]
    met = np.diff(pairs.start)[:J] > 0
    typical = _within(skill[met], margin, K).mean() if met.any() else _skill(start.population[None])[0]
    skill = _within(np.append(np.where(met, skill, typical), typical), margin, K)
    coins = _coins(skill, K)
    return Params(np.full((1, K), 1 / K), coins[:-1], coins[-1])


def skill_column(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return each judge's skill s_j: 1 if always right, 0 if guessing, below if she answers the reverse."""
    return {"skill": _skill(params.confusion)}


def _skill(confusion: Floats) -> Floats:
    """Return (K p - 1)/(K - 1) (J); of one label there is nothing to know, and everybody knows it."""
    K = confusion.shape[2]
    return (K * confusion[:, 0, 0] - 1) / (K - 1) if K > 1 else np.ones(len(confusion))


def _within(skill: Floats, margin: float, K: int) -> Floats:
    """Return skills kept off their limits -1/(K - 1) and 1 by a margin, of half their distance at most."""
    margin = min(margin, K / (K - 1) / 2)
    return np.clip(skill, -1 / (K - 1) + margin, 1 - margin)


def _coins(skill: Floats, K: int) -> Floats:
    """Return the matrices (J, K, K) of judges who are right with p = s (K - 1)/K + 1/K, and err evenly."""
    right = (skill * (K - 1) / K + 1 / K)[:, None, None]
    coins: Floats = np.where(np.eye(K, dtype=bool), right, (1 - right) / (K - 1))
    return coins


MODELS = (
    Model(
        "m-msr",
        "one skill a judge from agreement of pairs alone, by trimmed means that withstand attacks",
        "Ma & Olshevsky 2020",
        assign=compare_judges,
        estimate=complete,
        judge_columns=skill_column,
        begins={"agreement": compare_judges},
        until="rounds",
    ),
)
