"""Labels tilted by their item: the passes of minimax entropy.

Judge j labels item i of truth k with y with probability p(y) proportional to confusion[j, k, y] exp(tau_i[k, y]), her
matrix on an item that tilts nothing. tau maximises the item's penalised log likelihood under each truth on its own,

    phi_ik = max over tau of  sum_n log p(y_n | k, tau)  -  beta / 2 |tau|^2,

which is strictly concave: one summit, and no state of an item to keep. It is climbed by Newton's method with a
curvature that is never too small, S and n being the expected labels and their number,

    sum_n (diag p_n - p_n p_n')  <=  diag S - S S' / n        (Jensen; equal where all judges are alike),

so that solving for the step takes K operations and not K^3. A log-sum-exp has a third derivative of at most the range
r of the direction times its second (Bach 2010), so the step times log(1 + r) / r never falls: nothing to try out.
"""

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.logspace import normalise
from adjudge.kernels.truth import FLOOR

ENOUGH = 1e-13  # what another step within an item would add to its log likelihood, below which none is taken
MOST = 100  # steps within an item; five are usual, and twenty where its judges differ much


def tilted_posterior(
    block: Block, prevalence: Floats, confusion: Floats, average: Floats, beta: float
) -> tuple[Floats, float]:
    """Return p(truth | labels) and how often the average judge (K, K) errs on the item (I, K + 1), and the evidence."""
    told, uncounted = np.empty((block.topic.size, block.labels + 1)), np.empty((2, 0))
    return told, _run(block, prevalence, confusion, average, beta, told, uncounted, uncounted)


def tilted_tally(block: Block, prevalence: Floats, confusion: Floats, beta: float) -> Tally:
    """Return truths, and per judge and truth the labels said, and those expected of her on these items (2, J, K, K)."""
    truth, label = np.zeros(prevalence.shape), np.zeros((2, block.judges, block.labels, block.labels))
    untold = np.empty((0, 0))
    return Tally(truth, label, _run(block, prevalence, confusion, untold, beta, untold, truth, label))


def _run(
    block: Block,
    prevalence: Floats,
    confusion: Floats,
    average: Floats,
    beta: float,
    told: Floats,
    truth: Floats,
    label: Floats,
) -> float:
    """Run over the items once, filling the tally or, when it has no room, ``told``."""
    judgments = (block.start, block.cell, block.label, block.topic, block.gold, block.weight)
    matrix = np.ascontiguousarray(np.maximum(confusion, FLOOR)).reshape(-1)  # (J K K), to find a row by one number
    params = (np.maximum(prevalence, FLOOR), matrix, average, float(beta))
    return float(_pass(*judgments, *params, told, truth, label[0].reshape(-1), label[1].reshape(-1)))


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
    told: Floats,
    truth: Floats,
    said: Floats,
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
                    _count(first, last, cell, label, weight, matrix, k, odds[k], p[k], said, expected)
        else:
            told[i, :K] = p
            told[i, K] = _errors(average, odds, p)
    return evidence


def tilted_chances(block: Block, prevalence: Floats, confusion: Floats, beta: float, held: Block) -> Floats:
    """Return p(label | item, judge) of held judgments (N), items tilted as the block's judgments say."""
    matrix = np.ascontiguousarray(np.maximum(confusion, FLOOR)).reshape(-1)
    chance, prior = np.empty(held.cell.size), np.maximum(prevalence[0], FLOOR)
    shown = (block.start, block.cell, block.label, block.weight)
    _chances(*shown, prior, matrix, float(beta), held.start, held.cell, held.label, chance)
    return chance


@compiled
def _chances(
    start: Codes,
    cell: Codes,
    label: Codes,
    weight: Floats,
    prior: Floats,
    matrix: Floats,
    beta: float,
    held_start: Codes,
    held_cell: Codes,
    held_label: Codes,
    chance: Floats,
) -> None:
    """Fill in the chances of an item's held judgments under each truth at its best tilt."""
    K = prior.size
    p, odds, room = np.empty(K), np.empty((K, K)), np.empty((3, K))
    for i in range(start.size - 1):
        if held_start[i] == held_start[i + 1]:
            continue
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
    said: Floats,
    expected: Floats,
) -> None:
    """Add an item's labels, said and expected, to its judges, as far as its truth is k."""
    K = odds.size
    for n in range(first, last):
        row, times, total = _row(cell[n], label[n], k, K), share * (weight[n] if weight.size else 1.0), 0.0
        for y in range(K):
            total += matrix[row + y] * odds[y]
        said[row + label[n]] += times
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
