"""Minimax entropy (Zhou, Platt, Basu & Mao 2012), regularised as in Zhou, Liu, Platt, Meek & Shah (2015).

Of all distributions of labels, take the one with most entropy whose labels, per judge and truth and per item and truth,
are as frequent as those observed:

    p(judge j says y on item i of truth k) ~ exp(sigma_j[k, y] + tau_i[k, y]).

Of all truths, take those that make this entropy least: that is maximum likelihood, with the penalties
alpha / 2 |sigma|^2 and beta / 2 |tau|^2 for constraints that need to hold only nearly.

Truths are soft, and an item's tilt tau is penalised under the truth that it belongs to: p(labels | truth k) is at its
best tilt. Where truths are certain, this is the papers' sum. Where they are not, it weighs an item that misleads
everybody against an item that is what everybody says; started at the votes, the papers' own sums never compare the two.

A matrix holds sigma as its logarithms (confusion = softmax of sigma: the judge's labels on an item without a tilt), and
the sigma that is penalised has rows of sum zero, which every optimum has.

>>> import adjudge
>>> adjudge.fit(adjudge.dataset("anesthesia"), "minimax-entropy").labels.columns[-1]
'difficulty'
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.components import (
    LEARNED,
    Assignment,
    Confusion,
    ItemEffects,
    JudgeParams,
    Predictive,
    confusion_columns,
)
from adjudge.inference.model import Model
from adjudge.inference.params import Assign, LogPrior, Params, Posterior
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.probability import normalise
from adjudge.kernels.truth import FLOOR

# Labels tilted by their item: the passes of minimax entropy.
#
# Judge j labels item i of truth k with y with probability p(y) proportional to confusion[j, k, y] exp(tau_i[k, y]), the
# judge's matrix on an item without a tilt. tau maximises the item's penalised log-likelihood under each truth alone,
#
#     phi_ik = max over tau of  sum_n log p(y_n | k, tau)  -  beta / 2 |tau|^2,
#
# which is strictly concave: one optimum, and no state of an item to keep. It is found by Newton's method with a
# curvature that is never too small, S and n being the expected labels and their number,
#
#     sum_n (diag p_n - p_n p_n')  <=  diag S - S S' / n        (Jensen; equal where all judges are alike),
#
# so that solving for the step takes K operations and not K^3. A log-sum-exp has a third derivative of at most the range
# r of the direction times its second (Bach 2010), so the step times log(1 + r) / r never falls: nothing to try out.

ENOUGH = 1e-13  # what another step within an item would add to its log likelihood, below which none is taken
MOST = 100  # steps within an item; five are usual, and twenty where its judges differ much


def tilted_posterior(
    block: Block, prevalence: Floats, confusion: Floats, average: Floats, beta: float
) -> tuple[Floats, float]:
    """Return p(truth | labels) and how often the average judge (K, K) errs on the item (I, K + 1), and the evidence."""
    values, uncounted = np.empty((block.topic.size, block.labels + 1)), np.empty((2, 0))
    return values, _run(block, prevalence, confusion, average, beta, values, uncounted, uncounted)


def tilted_tally(block: Block, prevalence: Floats, confusion: Floats, beta: float) -> Tally:
    """Return truths, and per judge and truth the observed and the expected labels on these items (2, J, K, K)."""
    truth, label = np.zeros(prevalence.shape), np.zeros((2, block.judges, block.labels, block.labels))
    nothing = np.empty((0, 0))
    return Tally(truth, label, _run(block, prevalence, confusion, nothing, beta, nothing, truth, label))


def _run(
    block: Block,
    prevalence: Floats,
    confusion: Floats,
    average: Floats,
    beta: float,
    values: Floats,
    truth: Floats,
    label: Floats,
) -> float:
    """Run over the items once, filling the tally or, when it has no room, ``values``."""
    judgments = (block.start, block.cell, block.label, block.topic, block.gold, block.weight)
    matrix = np.ascontiguousarray(np.maximum(confusion, FLOOR)).reshape(-1)  # (J K K), to find a row by one number
    params = (np.maximum(prevalence, FLOOR), matrix, average, float(beta))
    return float(_pass(*judgments, *params, values, truth, label[0].reshape(-1), label[1].reshape(-1)))


@compiled
def _pass(
    start: Codes,
    cell: Codes,
    label: Codes,
    topic: Codes,
    gold: Codes,
    weight: Floats,
    prevalence: Floats,
    matrix: Floats,
    average: Floats,
    beta: float,
    values: Floats,
    truth: Floats,
    observed: Floats,
    expected: Floats,
) -> float:
    """Return the evidence: each item's truths, each at its best tilt, and what follows from them."""
    K, topics, tallying = prevalence.shape[1], prevalence.shape[0] > 1, truth.size > 0
    p, odds, room = np.empty(K), np.empty((K, K)), np.empty((3, K))
    evidence = 0.0
    for i in range(topic.size):
        first, last, t = start[i], start[i + 1], topic[i] if topics else 0
        for k in range(K):
            p[k] = -np.inf
            if gold[i] < 0 or gold[i] == k:
                phi = tilt(first, last, cell, label, weight, matrix, k, beta, odds[k], room)
                p[k] = np.log(prevalence[t, k]) + phi
        evidence += normalise(p)
        if tallying:
            for k in range(K):
                truth[t, k] += p[k]
                if p[k] > 0:
                    _count(first, last, cell, label, weight, matrix, k, odds[k], p[k], observed, expected)
        else:
            values[i, :K] = p
            values[i, K] = _errors(average, odds, p)
    return evidence


def tilted_chances(block: Block, prevalence: Floats, confusion: Floats, beta: float, test: Block) -> Floats:
    """Return p(label | item, judge) of held judgments (N), items tilted as the block's judgments say."""
    matrix = np.ascontiguousarray(np.maximum(confusion, FLOOR)).reshape(-1)
    chance, prior = np.empty(test.cell.size), np.maximum(prevalence, FLOOR)
    training = (block.start, block.cell, block.label, block.topic, block.weight)
    _chances(*training, prior, matrix, float(beta), test.start, test.cell, test.label, chance)
    return chance


@compiled
def _chances(
    start: Codes,
    cell: Codes,
    label: Codes,
    topic: Codes,
    weight: Floats,
    prevalence: Floats,
    matrix: Floats,
    beta: float,
    held_start: Codes,
    held_cell: Codes,
    held_label: Codes,
    chance: Floats,
) -> None:
    """Fill in the chances of an item's held judgments under each truth at its best tilt."""
    K, topics = prevalence.shape[1], prevalence.shape[0] > 1
    p, odds, room = np.empty(K), np.empty((K, K)), np.empty((3, K))
    for i in range(start.size - 1):
        if held_start[i] == held_start[i + 1]:
            continue
        prior = prevalence[topic[i] if topics else 0]
        for k in range(K):
            p[k] = np.log(prior[k]) + tilt(start[i], start[i + 1], cell, label, weight, matrix, k, beta, odds[k], room)
        normalise(p)
        for n in range(held_start[i], held_start[i + 1]):
            chance[n] = 0.0
            for k in range(K):
                row, total = _row(held_cell[n], held_label[n], k, K), 0.0
                for y in range(K):
                    total += matrix[row + y] * odds[k, y]
                chance[n] += p[k] * matrix[row + held_label[n]] * odds[k, held_label[n]] / total


@compiled
def _row(cell: int, label: int, k: int, K: int) -> np.int64:
    """Return where the row of truth k of a judge begins: without the division that tells the judge."""
    return (np.int64(cell) - label + k) * K


@compiled
def tilt(
    first: int,
    last: int,
    cell: Codes,
    label: Codes,
    weight: Floats,
    matrix: Floats,
    k: int,
    beta: float,
    odds: Floats,
    room: Floats,
) -> float:
    """Return phi of an item under truth k, and exp(tau) in ``odds`` (K); ``room`` (3, K) is overwritten."""
    K = odds.size
    tau, expected, step = room[0], room[1], room[2]
    tau[:], odds[:] = 0.0, 1.0
    for _ in range(MOST):
        _expect(first, last, cell, label, weight, matrix, k, odds, expected, step)  # step: what is said in excess
        if _newton(tau, expected, step, beta) < ENOUGH:
            break
        length = _safe(step)
        for y in range(K):
            tau[y] += length * step[y]
            odds[y] = np.exp(tau[y])
    phi = 0.0
    for n in range(first, last):
        row, total = _row(cell[n], label[n], k, K), 0.0
        for y in range(K):
            total += matrix[row + y] * odds[y]
        phi += (weight[n] if weight.size else 1.0) * np.log(matrix[row + label[n]] * odds[label[n]] / total)
    for y in range(K):
        phi -= beta / 2 * tau[y] ** 2
    return phi


@compiled
def _expect(
    first: int,
    last: int,
    cell: Codes,
    label: Codes,
    weight: Floats,
    matrix: Floats,
    k: int,
    odds: Floats,
    expected: Floats,
    excess: Floats,
) -> None:
    """Fill in the labels expected of an item's judges, and how many more of each were said."""
    K = odds.size
    expected[:], excess[:] = 0.0, 0.0
    for n in range(first, last):
        row, times, total = _row(cell[n], label[n], k, K), weight[n] if weight.size else 1.0, 0.0
        for y in range(K):
            total += matrix[row + y] * odds[y]
        share = times / total
        for y in range(K):
            expected[y] += matrix[row + y] * odds[y] * share
        excess[label[n]] += times
    for y in range(K):
        excess[y] -= expected[y]


@compiled
def _newton(tau: Floats, expected: Floats, step: Floats, beta: float) -> float:
    """Turn the excess in ``step`` into d = (diag S - S S' / n + beta)^-1 (excess - beta tau); return its promise g'd.

    Sherman and Morrison: d = g / (S + beta) + u (S' g / (S + beta)) / (n - S'u), with u = S / (S + beta).
    """
    across, left = 0.0, 0.0
    for y in range(tau.size):
        g = step[y] - beta * tau[y]
        across += expected[y] * g / (expected[y] + beta)
        left += expected[y] * beta / (expected[y] + beta)  # n - S'u without a difference
    share = across / left if left > 0 else 0.0
    promise = 0.0
    for y in range(tau.size):
        g = step[y] - beta * tau[y]
        step[y] = (g + expected[y] * share) / (expected[y] + beta)
        promise += g * step[y]
    return promise


@compiled
def _safe(step: Floats) -> float:
    """Return how much of a step may be gone without falling: log(1 + r) / r, r its range."""
    r = step.max() - step.min()
    return float(np.log1p(r) / r) if r > 0 else 1.0


@compiled
def _count(
    first: int,
    last: int,
    cell: Codes,
    label: Codes,
    weight: Floats,
    matrix: Floats,
    k: int,
    odds: Floats,
    share: float,
    observed: Floats,
    expected: Floats,
) -> None:
    """Add an item's labels, said and expected, to its judges, as far as its truth is k."""
    K = odds.size
    for n in range(first, last):
        row, times, total = _row(cell[n], label[n], k, K), share * (weight[n] if weight.size else 1.0), 0.0
        for y in range(K):
            total += matrix[row + y] * odds[y]
        observed[row + label[n]] += times
        for y in range(K):
            expected[row + y] += matrix[row + y] * odds[y] * (times / total)


@compiled
def _errors(average: Floats, odds: Floats, p: Floats) -> float:
    """Return how often the average judge errs on an item with these tilts."""
    wrong = 0.0
    for k in range(p.size):
        if p[k] > 0:
            total = 0.0
            for y in range(p.size):
                total += average[k, y] * odds[k, y]
            wrong += p[k] * (1 - average[k, k] * odds[k, k] / total)
    return wrong


# Penalties, times K^2. The papers choose theirs by cross-validation; these are the best of a grid (alpha .004 to .25,
# beta .08 to 250) on thirteen sets with gold, among those under which three judges who always agree are believed.
# All but one set stay within a standard error from beta = .5 to 2; ducks needs items that tilt easily, beta <= .5.
# Prevalence is learned: flat, as in the papers, it costs much where one truth is rare, as in product.
ALPHA = 0.01  # of a judge's sigma
BETA = 0.5  # of an item's tau


def judge_terms(confusion: Floats) -> Floats:
    """Return sigma, the logarithms of matrices less their mean over labels."""
    logs = np.log(np.maximum(confusion, FLOOR))
    sigma: Floats = logs - logs.mean(axis=-1, keepdims=True)
    return sigma


def softmax(sigma: Floats) -> Floats:
    """Return the matrices of sigma."""
    powers = np.exp(sigma - sigma.max(axis=-1, keepdims=True))
    matrices: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return matrices


def tilting(beta: float) -> Assign:
    """Return the E-step, each item at its best tilt under each truth."""

    def assign(block: Block, params: Params) -> Tally:
        tally = tilted_tally(block, params.prevalence, params.confusion, _scaled(beta, block.labels))
        observed, expected = tally.label
        stood = expected.sum(axis=-1, keepdims=True) * judge_terms(params.confusion)  # n sigma: what adds up
        return tally._replace(label=np.stack([observed, expected, stood]))  # (3, J, K, K)

    return assign


def truths_and_difficulty(beta: float) -> Posterior:
    """Return p(truth | labels), and how often the average judge would err on the item."""

    def posterior(block: Block, params: Params) -> tuple[Floats, float]:
        beliefs = (params.prevalence, params.confusion, params.population)
        return tilted_posterior(block, *beliefs, _scaled(beta, block.labels))

    return posterior


def tilted(beta: float) -> Predictive:
    """Return how held-out judgments are predicted; a judge without other judgments is an average one."""

    def predictive(block: Block, params: Params, test: Block) -> Floats:
        met = np.bincount(block.cell // block.labels, minlength=block.judges) > 0
        confusion = np.where(met[:, None, None], params.confusion, params.population)
        return tilted_chances(block, params.prevalence, confusion, _scaled(beta, block.labels), test)

    return predictive


def matching(alpha: float) -> Callable[[Tally, Params], JudgeParams]:
    """Return the M-step, which moves sigma so that the labels expected match those said, by one step of Newton.

    The curvature is bounded and the step shortened as in ``kernels.entropy``, so that it never falls. Votes, which are
    plain counts (J, K, K), begin at their frequencies.
    """

    def estimate(tally: Tally, start: Params) -> JudgeParams:
        penalty = _scaled(alpha, tally.truth.shape[1])
        if tally.label.ndim == 3:
            total, sigma = tally.label.sum(axis=-1, keepdims=True), judge_terms(tally.label + penalty)
        else:
            observed, expected, stood = tally.label
            total, sigma = _stepped(observed, expected, stood, penalty)
        average = (total * sigma).sum(axis=0) / np.maximum(total.sum(axis=0), FLOOR)
        return JudgeParams(softmax(sigma), softmax(average))

    return estimate


def _stepped(observed: Floats, expected: Floats, stood: Floats, penalty: float) -> tuple[Floats, Floats]:
    """Return how many labels each judge gave each truth (J, K, 1), and sigma (J, K, K) after one step."""
    total = expected.sum(axis=-1, keepdims=True)
    sigma = stood / np.maximum(total, FLOOR)  # zero for a judge without items of a truth, which is the optimum
    g, curve = observed - expected - penalty * sigma, expected + penalty
    left = (expected * penalty / curve).sum(axis=-1, keepdims=True)
    share = (expected * g / curve).sum(axis=-1, keepdims=True) / np.maximum(left, FLOOR)
    step = (g + expected * share) / curve  # (diag S - S S' / n + alpha)^-1 g
    r = np.ptp(step, axis=-1, keepdims=True)
    return total, sigma + step * np.divide(np.log1p(r), r, out=np.ones_like(r), where=r > 0)


def small_terms(alpha: float) -> LogPrior:
    """Return the log prior of sigma: - alpha / 2 |sigma|^2."""

    def log_prior(params: Params) -> float:
        size = float(np.square(judge_terms(params.confusion)).sum())
        return -_scaled(alpha, params.confusion.shape[2]) / 2 * size

    return log_prior


def _scaled(penalty: float, labels: int) -> float:
    """Return a penalty times K^2, as the paper of 2015 scales its own."""
    return penalty * labels * labels


def minimax(alpha: float, beta: float) -> Model:
    """Return the model with these penalties, each times K^2."""
    return Model(
        "minimax-entropy",
        "judges and items both shift the labels, no more than the judgments require",
        "Zhou et al. 2012; Zhou et al. 2015",
        prevalence=LEARNED,
        confusion=Confusion(matching(alpha), log_prior=small_terms(alpha), columns=confusion_columns),
        assignment=Assignment(assign=tilting(beta), posterior=truths_and_difficulty(beta)),
        items=ItemEffects(("difficulty",), predictive=tilted(beta)),
        auto_rank=120,
    )


MODELS = (minimax(ALPHA, BETA),)
