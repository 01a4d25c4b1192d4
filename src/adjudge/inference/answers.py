"""What posterior draws say about judges, topics and items, with 90 % intervals.

For a judge with matrix theta, under prevalence pi: the probability of being right, sum_k pi_k theta_kk; Youden's J
(informedness), (sum_k theta_kk - 1) / (K - 1), which with two labels is sensitivity + specificity - 1 and is 1 for a
perfect judge and 0 at chance; and the information of a judgment, the mutual information of truth and label in bits. A
judge is no better than chance if Youden's J is at most 0, and adversarial if it is below -1/10: anything closer to
chance may as well be chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.chains import Draws

INTERVAL = (0.05, 0.95)
ADVERSARIAL = -0.1
TINY = 1e-300  # replaces zero in a logarithm


class Judged(NamedTuple):
    """Measures of every judge in each draw (S, J)."""

    p_right: Floats
    informedness: Floats
    bits: Floats


def judged(draws: Draws, items: Floats) -> Judged:
    """Return the measures of judges; ``items`` (T) is the number of items of each topic."""
    theta = _flat(draws.confusion)  # (S, J, K, K)
    pi = np.einsum("t,stk->sk", items / max(items.sum(), 1), _flat(draws.prevalence))  # (S, K) over all items
    right = np.diagonal(theta, axis1=2, axis2=3)
    K = theta.shape[3]
    informedness = (right.sum(axis=2) - 1) / max(K - 1, 1)
    return Judged(np.einsum("sk,sjk->sj", pi, right), informedness, _information(pi, theta))


def judge_answers(draws: Draws, items: Floats, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return the columns of judges: means, the ends of 90 % intervals, and probabilities."""
    measures = judged(draws, items)
    columns: dict[str, Floats] = {}
    named = measures._asdict()
    if len(labels) == 2:  # of the second label, such as relevant
        theta = _flat(draws.confusion)
        named = {"sensitivity": theta[:, :, 1, 1], "specificity": theta[:, :, 0, 0], **named}
    for name, drawn in named.items():
        columns |= {name: drawn.mean(axis=0)} | _ends(name, drawn)
    columns["no_better_than_chance"] = (measures.informedness <= 0).mean(axis=0)
    columns["adversarial"] = (measures.informedness < ADVERSARIAL).mean(axis=0)
    return columns


def cell_ends(draws: Draws) -> dict[str, Floats]:
    """Return the ends of the intervals of all matrix cells, judge by judge and row by row (J * K * K)."""
    theta = _flat(draws.confusion)
    return _ends("probability", theta.reshape(theta.shape[0], -1))


def topic_answers(draws: Draws) -> dict[str, Floats]:
    """Return the prevalence of every truth in every topic (T * K), with the ends of its interval."""
    pi = _flat(draws.prevalence).reshape(draws.prevalence.shape[0] * draws.prevalence.shape[1], -1)
    return {"prevalence": pi.mean(axis=0)} | _ends("prevalence", pi)


class Ranks(NamedTuple):
    """Ranks of items within their topics, the most relevant first: expected, and the ends of 90 % intervals."""

    expected: Floats  # (I)
    low: Floats
    high: Floats


def ranks(posterior: Floats, topic: Codes, seed: int = 0, draws: int = 200) -> Ranks:
    """Return ranks within topics, with truths drawn from their posteriors (I, K): higher labels first.

    Items with the same truth share their mean rank, because their order is unknown.
    """
    rng, K = np.random.default_rng(seed), posterior.shape[1]
    edges, topics = posterior.cumsum(axis=1)[:, :-1], int(topic.max(initial=0)) + 1
    drawn = np.empty((draws, topic.size))
    for s in range(draws):
        truth = (rng.random((topic.size, 1)) >= edges).sum(axis=1)
        counts = np.bincount(topic * K + truth, minlength=topics * K).reshape(topics, K)
        above = counts[:, ::-1].cumsum(axis=1)[:, ::-1] - counts  # of higher labels
        drawn[s] = (above + (counts + 1) / 2)[topic, truth]
    low, high = np.quantile(drawn, INTERVAL, axis=0)
    return Ranks(drawn.mean(axis=0), low, high)


def _flat(drawn: Floats) -> Floats:
    """Return the draws of all chains in one row (S, ...)."""
    return drawn.reshape(-1, *drawn.shape[2:])


def _ends(name: str, drawn: Floats) -> dict[str, Floats]:
    """Return the two ends of an interval as columns."""
    low, high = np.quantile(drawn, INTERVAL, axis=0)
    return {f"{name}_low": low, f"{name}_high": high}


def _information(pi: Floats, theta: Floats) -> Floats:
    """Return the mutual information of truth and label in bits (S, J), label by label to save memory."""
    bits = np.zeros(theta.shape[:2])
    for label in range(theta.shape[3]):
        chance = theta[..., label]  # (S, J, K) given each truth
        all_in_all = np.einsum("sk,sjk->sj", pi, chance)
        gain = np.log2(np.maximum(chance, TINY)) - np.log2(np.maximum(all_in_all, TINY))[..., None]
        bits += np.einsum("sk,sjk,sjk->sj", pi, chance, gain)
    return np.maximum(bits, 0)
