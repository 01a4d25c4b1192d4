"""MACE: a judge knows the truth, or spams (Hovy, Berg-Kirkpatrick, Vaswani & Hovy 2013).

With probability 1 - s_j judge j gives the true label, otherwise one from a distribution xi_j of their own:

    theta[j, k, l] = (1 - s_j) 1(k = l) + s_j xi_j[l].

The paper estimates s and xi by EM over whether each single label was spam; given the tally of an E-step their maximum
has a closed form up to one root, which is used instead (see ``knowing``). Its restarts from random points are one start
at the vote, and its smoothing (a hundredth of a label spread over all) keeps probabilities above zero. The paper takes
all truths to be equally common; where they are not this costs accuracy, so their prevalence is learned here.
``variational`` is the paper's variational Bayes, with equally common truths.

>>> import adjudge
>>> adjudge.fit(adjudge.dataset("anesthesia"), "mace").judges.columns[3:5]
['p_spam', 'spam_1']
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.components import EQUAL, LEARNED, SOFT, Confusion, JudgeParams
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


STRATEGY = 10.0  # pseudo-counts of each label in the prior of xi
ROUNDS = 500  # of the inner loop at most
CALM = 1e-12  # the largest change of a pseudo-count, beside its size, that ends it


def variational(alpha: float = 0.5, beta: float = 0.5) -> Model:
    """Return MACE by variational Bayes: s_j is Beta(alpha, beta), and xi_j is Dirichlet(10, ..., 10).

    The approximation is q(truth, spam) q(s) q(xi) (section 3.2 of the paper). The skill of a judge is the logs of the
    pseudo-counts of q(s) and q(xi): spams, knows, and each label (J, 2 + K). The E-step takes exp E log s for s, and
    exp E log xi for xi; the objective is the evidence lower bound.
    """

    def prior(K: int) -> Floats:
        return np.concatenate([[alpha, beta], np.full(K, STRATEGY)])

    def estimate(tally: Tally, start: Params) -> JudgeParams:
        J, K = tally.label.shape[0], tally.label.shape[2]
        counts = np.concatenate([tally.label, tally.label.sum(axis=0)[None] / J])
        pseudo = _pseudo_counts(counts, prior(K))  # (J + 1, 2 + K)
        know, spam = pseudo[:, 1] / pseudo[:, :2].sum(axis=1), pseudo[:, 2:] / pseudo[:, 2:].sum(axis=1, keepdims=True)
        rows = know[:, None, None] * np.eye(K) + ((1 - know)[:, None] * spam)[:, None]
        skill = np.log(pseudo)
        return JudgeParams(rows[:-1], rows[-1], skill[:-1], skill[-1])

    def rows(params: Params) -> Floats:
        if not params.skill.size:
            return params.confusion
        states, labels = expected_chances(params.skill)
        mixed: Floats = states[:, 1, None, None] * np.eye(labels.shape[1]) + (states[:, :1] * labels)[:, None]
        return mixed

    def divergence(params: Params) -> float:
        if not params.skill.size:
            return 0.0
        pseudo, before = np.exp(params.skill), prior(params.skill.shape[1] - 2)
        parts = (_divergence(pseudo[:, each], before[each]) for each in (slice(0, 2), slice(2, None)))
        return -float(sum(part.sum() for part in parts))

    return Model(
        "mace",
        "a judge knows the truth or spams, with a distribution of labels of their own, by variational Bayes",
        "Hovy et al. 2013",
        prevalence=EQUAL,
        confusion=Confusion(estimate, rows, divergence),
        assignment=SOFT,
    )


def expected_chances(skill: Floats) -> tuple[Floats, Floats]:
    """Return exp E log of (spams, knows) (J, 2) and of the labels of spam (J, K) under q."""
    from scipy.special import digamma  # imported here because it takes long to load

    pseudo = np.exp(skill)
    states, labels = pseudo[:, :2], pseudo[:, 2:]
    return (
        np.exp(digamma(states) - digamma(states.sum(axis=1, keepdims=True))),
        np.exp(digamma(labels) - digamma(labels.sum(axis=1, keepdims=True))),
    )


def _pseudo_counts(counts: Floats, prior: Floats) -> Floats:
    """Return the pseudo-counts of q(s) and q(xi) (J, 2 + K) that fit the labels by truth (J, K, K).

    A wrong label is spam; a right one is spam with probability u / (u + d), where u = exp E log s xi and d is the
    exp E log of knowing. This and the pseudo-counts are computed in turn until nothing changes.
    """
    right = np.diagonal(counts, axis1=1, axis2=2)
    wrong = counts.sum(axis=1) - right

    def update(share: Floats) -> Floats:  # of right labels that are spam (J, K)
        not_spam, spam = (right * (1 - share)).sum(axis=1), wrong + right * share
        return np.asarray(prior + np.column_stack([spam.sum(axis=1), not_spam, spam]))

    pseudo = update(np.full(right.shape, 0.5))
    for _ in range(ROUNDS):
        states, labels = expected_chances(np.log(pseudo))
        chance = states[:, :1] * labels
        before, pseudo = pseudo, update(chance / (chance + states[:, 1:]))
        if np.abs(pseudo / before - 1).max() < CALM:
            break
    return pseudo


def _divergence(pseudo: Floats, prior: Floats) -> Floats:
    """Return the Kullback-Leibler divergence of Dirichlet(pseudo) from Dirichlet(prior) (J)."""
    from scipy.special import digamma, gammaln

    total = pseudo.sum(axis=1)
    log_norm = gammaln(total) - gammaln(pseudo).sum(axis=1) - gammaln(prior.sum()) + gammaln(prior).sum()
    drift = ((pseudo - prior) * (digamma(pseudo) - digamma(total)[:, None])).sum(axis=1)
    divergence: Floats = log_norm + drift
    return divergence


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
