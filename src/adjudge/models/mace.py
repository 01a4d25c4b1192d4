"""MACE: a judge knows the truth, or spams (Hovy, Berg-Kirkpatrick, Vaswani & Hovy 2013).

With probability 1 - s_j judge j gives the true label, otherwise one from a distribution xi_j of their own:

    theta[j, k, l] = (1 - s_j) 1(k = l) + s_j xi_j[l].

The paper estimates s and xi by EM over whether each single label was spam; given the tally of an E-step their maximum
has a closed form up to one root, which is used instead (see ``knowing``). Its restarts from random points are one start
at the vote, and its smoothing (a hundredth of a label spread over all) keeps probabilities above zero. The paper takes
all truths to be equally common; where they are not this costs accuracy, so their prevalence is learned here.

>>> import adjudge
>>> adjudge.fit(adjudge.dataset("anesthesia"), "mace").judges.columns[3:5]
['p_spam', 'spam_1']
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.components import LEARNED, SOFT, Confusion, JudgeParams
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Tally
from adjudge.kernels.truth import FLOOR

SMOOTHING = 0.01  # of a label, spread over all labels of each truth
STEPS = 60
LEAST = 1e-9  # smallest probability: below it is rounding, which extrapolating its logarithm would amplify


def knowing(counts: Floats) -> Floats:
    """Return each judge's most likely chance of knowing, D = 1 - s, and of spamming with each label (J, 1 + K).

    With u_l = s xi_l, off_l labels l that were wrong and on_l that were right, the maximum of
    sum_l off_l log u_l + on_l log(D + u_l) under D + sum_l u_l = 1 has n u^2 + (n D - m) u - off D = 0 for every l
    (m = off + on, n = sum m), and D is the largest root of D + sum_l u_l(D) = 1, which is convex in D: Newton's steps
    from 1 come down to it and never pass it.
    """
    counted = counts + SMOOTHING / counts.shape[2]
    total = counted.sum(axis=(1, 2))[:, None]  # (J, 1)
    share = counted.sum(axis=1) / total  # (J, K) m / n
    off = np.maximum(share - np.diagonal(counted, axis1=1, axis2=2) / total, 0)
    know = np.ones_like(total)
    for _ in range(STEPS):
        spam, slope = _spam(know, share, off)
        over = know + spam.sum(axis=1, keepdims=True) - 1
        know = np.clip(know - np.divide(over, slope, out=np.zeros_like(over), where=slope > 0), 0, 1)
    chances = np.column_stack([know, _spam(know, share, off)[0]])
    shares: Floats = chances / chances.sum(axis=1, keepdims=True)
    return shares


def know_or_spam(tally: Tally, start: Params) -> JudgeParams:
    """Return the judges' most likely chances of knowing and spamming."""
    everybody = tally.label.sum(axis=0)[None]
    skill = np.log(np.maximum(knowing(np.concatenate([tally.label, everybody])), LEAST))  # (J + 1, 1 + K)
    confusion = _mixed(skill)
    return JudgeParams(confusion[:-1], confusion[-1], skill[:-1], skill[-1])


def log_smoothing(params: Params) -> float:
    """Return the log of the smoothing as a prior, but for a constant: so many labels more in every cell."""
    matrices = spam_rows(params)
    return float(SMOOTHING / matrices.shape[2] * np.log(np.maximum(matrices, FLOOR)).sum())


def spam_columns(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return how often each judge spams, and the probability of each label if they do."""
    chance = np.exp(params.skill)
    spam = chance[:, 1:].sum(axis=1)
    return {"p_spam": spam, **{f"spam_{label}": chance[:, k + 1] / spam for k, label in enumerate(labels)}}


def _spam(know: Floats, share: Floats, off: Floats) -> tuple[Floats, Floats]:
    """Return u_l given D (J, K), and the slope of D + sum_l u_l in D (J, 1)."""
    gap = know - share
    root = np.sqrt(np.square(gap) + 4 * off * know)
    slope = 1 + np.divide(gap + 2 * off, root, out=np.zeros_like(root), where=root > 0).sum(axis=1, keepdims=True) / 2
    return (root - gap) / 2, slope - share.shape[1] / 2


def spam_rows(params: Params) -> Floats:
    """Return the judges' matrices (J, K, K); those to begin with have no skills yet."""
    return _mixed(params.skill) if params.skill.size else params.confusion


def _mixed(skill: Floats) -> Floats:
    """Return (1 - s) 1(k = l) + s xi_l from the logs of the chances (J, 1 + K), normalised: acceleration moves them."""
    chance = np.exp(skill - skill.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    mixed: Floats = chance[:, :1, None] * np.eye(skill.shape[1] - 1) + chance[:, None, 1:]
    return mixed


MODELS = (
    Model(
        "mace",
        "a judge knows the truth or spams, with a distribution of labels of their own",
        "Hovy et al. 2013",
        prevalence=LEARNED,
        confusion=Confusion(know_or_spam, spam_rows, log_smoothing, spam_columns),
        assignment=SOFT,
        auto_rank=90,
    ),
)
