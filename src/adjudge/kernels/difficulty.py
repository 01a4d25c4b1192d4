"""Items that are harder or easier for all judges: states of an item, a sweep over them, and draws of judges' rows.

An item has a truth k and an effect u, nearly standard normal, on a grid of ``GRID`` points. A judge is right with
probability logistic(c logit(theta_kk) + spread u), and their wrong labels have the shares of theta. The factor
c = sqrt(1 + .346 spread^2) keeps their accuracy, averaged over the items, at theta_kk (``kernels.replicate``). So a
matrix means the same as without difficulty, and with a spread of 0 the model is the same.

A row of theta is Dirichlet(a) if its diagonal is Beta(a_k, rest of a) and the shares of its wrong labels are a
Dirichlet of their own. Given truths and effects, the shares are conjugate. The log odds of the diagonal have a
log-concave density that depends on how often the judge was right and wrong at each point of the grid, and are drawn by
slice sampling (Neal 2003). Truth and effect of an item are drawn together, because they depend on each other; the
spread is drawn before, with both integrated out.

If judges are a population, its diagonals are Beta(kappa m, kappa (1 - m)), m uniform, and its shares of wrong labels
Dirichlet(kappa' p), p uniform. With one kappa for both, judges who agree in which wrong label they give would seem to
agree in how often they are right, and their intervals would be too narrow (``studies/benchmarks/difficulty.py``). With
two labels there is one wrong label, and this is the hierarchical model's population.

The prior of the spread is half-normal, up to 2 (in crowds with gold it is from .35 to 1.7). With a larger spread an
effect could take the place of the truth: all items would have the same truth, and half of them would be easy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.conjugate import Pareto, draw_logs, expand, gamma_draw, tabulate
from adjudge.kernels.probability import log, normalise
from adjudge.kernels.replicate import FLATTER
from adjudge.kernels.sweep import NO_DRAWS, ULP, Key, new_key

GRID = 8  # points of the effect: with two labels, 16 states of an item are a few vector registers
STEP = 0.8  # between two of them, before they are scaled to a variance of 1
SCALE, LARGEST = 1.0, 2.0  # of the half-normal prior of the spread, and where it is cut off
SHORTEST, LONGEST = 1.0, 8.0  # steps of the spread, times the root of the number of items
FURTHEST = 30.0  # bound of the log odds of being right
FACTOR = 1e-20  # the smallest probability of a label
TINY = 1e-150  # a product of probabilities below this is computed again, divided by its largest entry at every step
OFTEN = 0.4  # share of sweeps in which the spread is drawn
WIDE = 3.0  # of a slice's first interval, in standard deviations
NEWTON = 40  # steps of Newton's method, at most
SECTIONS = 40  # of the search for the mode of the spread
TURNS, SETTLED = 60, 1e-7  # of the search for rows and spread, and the step at which it ends
MOST = 60  # times an interval is widened or narrowed


def _grid() -> tuple[Floats, Floats]:
    """Return the points of the effect, of variance 1, and their probabilities."""
    point = STEP * (np.arange(GRID, dtype=float) - (GRID - 1) / 2)
    density = np.exp(-(point**2) / 2)
    share: Floats = density / density.sum()
    point /= math.sqrt(float(share @ np.square(point)))
    return point, share


POINTS, SHARES = _grid()


def stretch(spread: float) -> float:
    """Return the factor of log odds that keeps the accuracy of judges under effects of this spread."""
    return math.sqrt(1 + FLATTER * spread**2)


def state_labels(labels: int) -> Codes:
    """Return the label of every state (K * G)."""
    return np.repeat(np.arange(labels, dtype=np.int32), GRID)


def state_prior(prevalence: Floats) -> Floats:
    """Return p(state) (..., K * G) from the prevalence of truths (..., K)."""
    prior: Floats = prevalence[..., None] * SHARES
    return prior.reshape(*prevalence.shape[:-1], -1)


def state_rows(confusion: Floats, spread: float) -> Floats:
    """Return p(label | state) (J, K * G, K) from matrices (J, K, K)."""
    J, K, _ = confusion.shape
    rows = np.empty((J * K, K * GRID))
    fill_likelihood(np.ascontiguousarray(confusion), spread, stretch(spread), POINTS, rows)
    return np.ascontiguousarray(rows.reshape(J, K, K * GRID).transpose(0, 2, 1))


def sweep_states(
    block: Block,
    prevalence: Floats,
    confusion: Floats,
    spread: float,
    chance: Codes,
    probability: Floats,
    drawn: Codes = NO_DRAWS,
) -> Tally:
    """Draw truth and effect of every item together, and count them: labels by judge, label, truth and effect.

    ``chance`` (I) are random bits. If they are not empty, p(truth | rest) is added to ``probability`` (I, K), and the
    truths are written to ``drawn`` (I).
    """
    J, K = block.judges, block.labels
    likelihood, counts, truth = np.empty((J * K, K * GRID)), np.zeros(J * K * K * GRID), np.zeros(prevalence.shape)
    fill_likelihood(confusion, spread, stretch(spread), POINTS, likelihood)
    arrays = (block.start, block.cell, block.topic, block.gold, block.weight)
    prior = np.maximum(state_prior(prevalence), TINY)
    loop = _sweep_loop(K * GRID)
    evidence = loop(*arrays, prior, likelihood.reshape(-1), chance, probability, drawn, truth, counts)
    return Tally(truth, counts.reshape(J, K, K, GRID), evidence)


@compiled
def fill_likelihood(confusion: Floats, spread: float, factor: float, points: Floats, likelihood: Floats) -> None:
    """Fill in p(label | state): a row for each label of each judge (J * K, K * G)."""
    J, K, _ = confusion.shape
    G = points.size
    shift = np.exp(-spread * points)
    for j in range(J):
        for z in range(K):
            right = confusion[j, z, z]
            rest = 0.0
            for k in range(K):
                rest += confusion[j, z, k] if k != z else 0.0
            odds = right / max(rest, math.exp(-FURTHEST))
            inverse = math.exp(-factor * min(max(math.log(max(odds, 1e-300)), -FURTHEST), FURTHEST))
            for g in range(G):
                wrong_odds = inverse * shift[g]
                p = 1 / (1 + wrong_odds)
                for k in range(K):
                    if k == z:
                        value = p
                    else:
                        share = confusion[j, z, k] / rest if rest > 0 else 1 / (K - 1)
                        value = wrong_odds * p * share
                    likelihood[j * K + k, z * G + g] = max(value, FACTOR)


@cache
def _sweep_loop(S: int) -> Callable[..., Any]:
    """Return a compiled loop over items with S states, which returns the log evidence."""
    G, K = GRID, S // GRID

    @compiled
    def run(start, cell, topic, gold, weight, prior, flat, chance, probability, drawn, truth, counts):  # type: ignore[no-untyped-def]
        p, of_label, evidence, product, topics = np.empty(S), np.empty(K), 0.0, 1.0, prior.shape[0] > 1
        for i in range(topic.size):
            t = topic[i] if topics else 0
            first, last, total = start[i], start[i + 1], 0.0
            for s in range(S):
                p[s] = prior[t, s]
            if gold[i] >= 0:
                for s in range(S):
                    p[s] = p[s] if s // G == gold[i] else 0.0
            if not weight.size:
                for n in range(first + 3, last, 4):  # four at once save loads and stores
                    a, b, c, d = cell[n - 3] * S, cell[n - 2] * S, cell[n - 1] * S, cell[n] * S
                    for s in range(S):
                        p[s] *= flat[a + s] * flat[b + s] * (flat[c + s] * flat[d + s])
                for n in range(last - (last - first) % 4, last):
                    a = cell[n] * S
                    for s in range(S):
                        p[s] *= flat[a + s]
                total = sum_labels(p, of_label)
            if total < TINY:
                for s in range(S):
                    p[s] = prior[t, s] if gold[i] < 0 or s // G == gold[i] else 0.0
                evidence += multiply(p, first, last, cell, weight, flat)
                total = sum_labels(p, of_label)
            product *= total
            if product < TINY:  # a logarithm for several items
                evidence += math.log(product)
                product = 1.0
            target, below, k, g = (chance[i] + 0.5) * ULP * total, 0.0, 0, 0
            for z in range(K - 1):  # counting, not searching: a branch here would be mispredicted
                below += of_label[z]
                k += target >= below
            for z in range(k):
                target -= of_label[z]
            below = 0.0
            for s in range(k * G, k * G + G - 1):
                below += p[s]
                g += target >= below
            state = k * G + g
            truth[t, k] += 1.0
            if probability.size:
                share = 1 / total
                for z in range(K):
                    probability[i, z] += of_label[z] * share
            if drawn.size:
                drawn[i] = k
            for n in range(first, last):
                counts[cell[n] * S + state] += weight[n] if weight.size else 1.0
        return evidence + math.log(product)

    return run


@compiled
def sum_labels(p: Floats, of_label: Floats) -> float:
    """Fill in the sum over the effects of each label, and return the sum of all."""
    total = 0.0
    for z in range(of_label.size):
        s = z * 8  # GRID; sums of pairs need no waiting
        of_label[z] = ((p[s] + p[s + 1]) + (p[s + 2] + p[s + 3])) + ((p[s + 4] + p[s + 5]) + (p[s + 6] + p[s + 7]))
        total += of_label[z]
    return total


@compiled
def multiply(p: Floats, first: int, last: int, cell: Codes, weight: Floats, flat: Floats) -> float:
    """Multiply prior probabilities by those of labels, with weights; return the log of what they were divided by."""
    S, moved = p.size, 0.0
    for n in range(first, last):
        most = 0.0
        for s in range(S):
            chance = flat[cell[n] * S + s]
            p[s] *= chance ** weight[n] if weight.size else chance
            most = max(most, p[s])
        for s in range(S):
            p[s] /= most
        moved += math.log(most)
    return moved


class Swept(NamedTuple):
    """A sweep under one spread."""

    counts: Tally  # with labels by judge, label, truth and effect (J, K, K, G)
    probability: Floats  # (I, K) p(truth | rest), or empty
    drawn: Codes  # (I) the truths, or empty


SweepSpreads: TypeAlias = Callable[[list[Floats], Key], list[Swept]]


def draw_spread_and_states(
    sweep: SweepSpreads, spread: Floats, items: int, rng: np.random.Generator
) -> tuple[Floats, Swept]:
    """Draw the spread, then truth and effect of every item, and count them.

    The spread is drawn in every second sweep or so, by a Metropolis step with truths and effects integrated out. The
    pass over the items that computes the evidence of both spreads also draws truths and effects under both.

    Parameters
    ----------
    sweep
        A pass over the items under one spread or two, with the random bits of a key.
    spread
        The current spread and, with families, the probability that they share the effect of an item (1 or 2).
    items
        The number of items.
    rng
        The random stream.

    Returns
    -------
    spread, swept
        The new spread (1 or 2), and the sweep under it.
    """
    key, spreads, limit = new_key(rng), [spread], 0.0
    if rng.random() < OFTEN:
        size = math.exp(rng.uniform(math.log(SHORTEST), math.log(LONGEST))) / math.sqrt(items)
        proposal, limit = _proposal(spread, size, rng), -rng.standard_exponential()
        spreads += [proposal] if proposal.prod() <= LARGEST else []
    swept = sweep(spreads, key)
    gain = swept[-1].counts.evidence - swept[0].counts.evidence
    gain -= (spreads[-1][0] ** 2 - spread[0] ** 2) / (2 * SCALE**2)
    chosen = -1 if limit < gain else 0
    return spreads[chosen], swept[chosen]


def _proposal(spread: Floats, size: float, rng: np.random.Generator) -> Floats:
    """Return a spread nearby, reflected at 0, or a share of families nearby, reflected at 0 and at 1."""
    proposal, moved = spread.copy(), size * rng.standard_normal()
    if spread.size == 1 or rng.random() < 1 / 2:
        proposal[0] = abs(spread[0] + moved)
    else:
        proposal[1] = 1 - abs(1 - abs(spread[1] + moved) % 2)
    return proposal


def mode_rows(counts: Floats, pseudo: Floats, start: Floats, spread: float) -> Floats:
    """Return the matrices (J, K, K) with the largest density given expected counts (J, K, K, G); see ``draw_rows``."""
    confusion = np.empty(start.shape)
    _mode_rows(counts, pseudo, start, stretch(spread), np.exp(spread * POINTS), confusion)
    return confusion


def mode_rows_and_spread(counts: Floats, pseudo: Floats, start: Floats, spread: float) -> tuple[Floats, float]:
    """Return the matrices and the spread with the largest density given expected counts, one after the other in turns.

    ``start`` and ``spread`` are where the search begins.
    """
    rows = start
    for _ in range(TURNS):
        rows = mode_rows(counts, pseudo, rows, spread)
        after = float(_search_spread(counts, rows, 0.0, LARGEST, POINTS))
        moved, spread = abs(after - spread), after
        if moved < SETTLED:
            break
    return mode_rows(counts, pseudo, rows, spread), spread


@compiled
def _search_spread(counts: Floats, confusion: Floats, low: float, high: float, points: Floats) -> float:
    """Return where the density of the spread is largest between two bounds."""
    ratio = (math.sqrt(5.0) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = (
        _spread_density(counts, confusion, left, points),
        _spread_density(counts, confusion, right, points),
    )
    for _ in range(SECTIONS):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = _spread_density(counts, confusion, left, points)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = _spread_density(counts, confusion, right, points)
    return (low + high) / 2


@compiled
def _spread_density(counts: Floats, confusion: Floats, spread: float, points: Floats) -> float:
    """Return the expected log density of labels and of the spread."""
    J, K, _ = confusion.shape
    factor, density = math.sqrt(1 + FLATTER * spread * spread), -spread * spread / (2 * SCALE * SCALE)
    for j in range(J):
        for z in range(K):
            odds = factor * _log_odds(confusion[j, z], z)
            for g in range(points.size):
                total = 0.0
                for k in range(K):
                    total += counts[j, k, z, g]
                if total > 0:
                    x = odds + spread * points[g]
                    density += counts[j, z, z, g] * x - total * (max(x, 0.0) + math.log1p(math.exp(-abs(x))))
    return density


@compiled
def _mode_rows(counts: Floats, pseudo: Floats, start: Floats, factor: float, shift: Floats, confusion: Floats) -> None:
    """Fill in the mode of every row: Newton's method for the log odds of being right, whose density is concave."""
    J, K, _ = start.shape
    G = shift.size
    total = np.empty(G)
    for j in range(J):
        for z in range(K):
            a, b, right, wrong_sum = pseudo[z, z] - 1, 0.0, 0.0, 0.0
            for g in range(G):
                total[g] = 0.0
                right += counts[j, z, z, g]
                for k in range(K):
                    total[g] += counts[j, k, z, g]
            for k in range(K):
                if k != z:
                    wrong = pseudo[z, k] - 1
                    b += pseudo[z, k] - 1
                    for g in range(G):
                        wrong += counts[j, k, z, g]
                    confusion[j, z, k] = wrong
                    wrong_sum += wrong
            x = _mode(_log_odds(start[j, z], z), a, b, right, total, factor, shift)
            p, q = 1 / (1 + math.exp(-x)), 1 / (1 + math.exp(x))
            for k in range(K):
                if k == z:
                    confusion[j, z, k] = p
                else:
                    confusion[j, z, k] = q * (confusion[j, z, k] / wrong_sum if wrong_sum > 0 else 1 / (K - 1))


@compiled
def _mode(x: float, a: float, b: float, right: float, total: Floats, factor: float, shift: Floats) -> float:
    """Return the log odds of being right with the largest density, kept between bounds that close in."""
    low, high = -FURTHEST, FURTHEST
    if a + b + total.sum() <= 0:
        return x
    for _ in range(NEWTON):
        chance = 1 / (1 + math.exp(-x))
        slope, curve = a - (a + b) * chance + factor * right, (a + b) * chance * (1 - chance)
        for g in range(shift.size):
            p = 1 / (1 + math.exp(-factor * x) / shift[g])
            slope -= factor * total[g] * p
            curve += factor * factor * total[g] * p * (1 - p)
        if slope > 0:
            low = x
        else:
            high = x
        after = x + slope / curve if curve > 0 else (low + high) / 2
        if not low < after < high:
            after = (low + high) / 2
        moved, x = abs(after - x), after
        if moved < 1e-9:
            break
    return x


def draw_rows(counts: Floats, pseudo: Floats, old: Floats, spread: float, rng: np.random.Generator) -> Floats:
    """Return matrices (J, K, K) drawn given counts (J, K, K, G), pseudo-counts of rows (K, K), and the spread.

    ``old`` (J, K, K) are the current matrices, where slices begin.
    """
    confusion = np.empty(old.shape)
    _draw_rows(counts, pseudo, old, stretch(spread), np.exp(spread * POINTS), rng, confusion)
    return confusion


@compiled
def _draw_rows(
    counts: Floats,
    pseudo: Floats,
    old: Floats,
    factor: float,
    shift: Floats,
    rng: np.random.Generator,
    confusion: Floats,
) -> None:
    """Fill in the matrices."""
    J, K, _ = old.shape
    G = shift.size
    total, room = np.empty(G), np.empty(G)
    for j in range(J):
        for z in range(K):
            a, b, right, number = pseudo[z, z], 0.0, 0.0, 0.0
            for g in range(G):
                total[g] = 0.0
                right += counts[j, z, z, g]
                for k in range(K):
                    total[g] += counts[j, k, z, g]
                number += total[g]
            gamma = 0.0
            for k in range(K):
                if k != z:
                    wrong = pseudo[z, k]
                    b += pseudo[z, k]
                    for g in range(G):
                        wrong += counts[j, k, z, g]
                    confusion[j, z, k] = gamma_draw(wrong, rng)
                    gamma += confusion[j, z, k]
            log_odds = _log_odds(old[j, z], z)
            log_odds = _slice(log_odds, a, b, right, number, total, factor, shift, rng, room)
            p, q = 1 / (1 + math.exp(-log_odds)), 1 / (1 + math.exp(log_odds))
            for k in range(K):
                if k == z:
                    confusion[j, z, k] = p
                else:
                    confusion[j, z, k] = q * (confusion[j, z, k] / gamma if gamma > 0 else 1 / (K - 1))


@compiled
def _log_odds(row: Floats, z: int) -> float:
    """Return the bounded log odds of the label z."""
    rest = 0.0
    for k in range(row.size):
        rest += row[k] if k != z else 0.0
    odds = math.log(max(row[z], 1e-300)) - math.log(max(rest, 1e-300))
    return min(max(odds, -FURTHEST), FURTHEST)


@compiled
def _log_density(
    x: float, a: float, b: float, right: float, total: Floats, factor: float, shift: Floats, room: Floats
) -> float:
    """Return the log density of the log odds of being right; ``room`` (G) is overwritten."""
    if abs(x) > FURTHEST:
        return -np.inf
    odds, density = math.exp(factor * x), a * x - (a + b) * math.log(1 + math.exp(x)) + factor * x * right
    for g in range(shift.size):  # without a branch and a sum, several points are computed at once
        room[g] = total[g] * log(1 + odds * shift[g])
    for g in range(shift.size):
        density -= room[g]
    return density


@compiled
def _slice(
    x: float,
    a: float,
    b: float,
    right: float,
    number: float,
    total: Floats,
    factor: float,
    shift: Floats,
    rng: np.random.Generator,
    room: Floats,
) -> float:
    """Return new log odds, by stepping out and shrinking; ``room`` (G) is overwritten."""
    rate = (right + a) / (number + a + b)
    width = WIDE / math.sqrt((number * factor * factor + a + b) * rate * (1 - rate) + 1e-6)
    width = min(width, FURTHEST)
    floor = _log_density(x, a, b, right, total, factor, shift, room) - rng.standard_exponential()
    low = x - width * rng.random()
    high = low + width
    for _ in range(MOST):
        if _log_density(low, a, b, right, total, factor, shift, room) < floor:
            break
        low -= width
    for _ in range(MOST):
        if _log_density(high, a, b, right, total, factor, shift, room) < floor:
            break
        high += width
    for _ in range(MOST):
        after = low + (high - low) * rng.random()
        if _log_density(after, a, b, right, total, factor, shift, room) >= floor:
            return after
        if after < x:
            low = after
        else:
            high = after
    return x


class Populations(NamedTuple):
    """Judges' rows, and the populations that they come from."""

    confusion: Floats  # (J, K, K)
    phi: Floats  # (K, K) mean rows
    kappa: Floats  # (K) concentrations of the diagonals
    wrong: Floats  # (K) concentrations of the shares of wrong labels, or (0) with two labels


def draw_populations(
    counts: Floats, current: Populations, spread: float, prior: Pareto, rng: np.random.Generator
) -> Populations:
    """Return rows and their populations, drawn given counts (J, K, K, G) and the current ones.

    The population of diagonals is drawn given the diagonals. Then two Metropolis steps move this population and all
    diagonals together: they are shifted, or spread from the mean. Where judges have few judgments, the first kind of
    draw hardly moves, and where they have many, the second. The population of the shares of wrong labels is drawn with
    these shares integrated out.
    """
    drawn = Populations(*(field.copy() for field in current))
    alike = drawn.wrong if drawn.wrong.size else None  # without, half of the kernel need not be compiled
    effect = (stretch(spread), np.exp(spread * POINTS))
    _draw_populations(counts, drawn.confusion, drawn.phi, drawn.kappa, alike, *prior, *effect, rng)
    return drawn


@compiled
def _draw_populations(
    counts: Floats,
    confusion: Floats,
    phi: Floats,
    kappa: Floats,
    alike: Floats | None,
    shape: float,
    least: float,
    factor: float,
    shift: Floats,
    rng: np.random.Generator,
) -> None:
    """Draw populations, rows and diagonals in place, truth by truth.

    ``alike`` are the concentrations of wrong labels, None if there is only one.
    """
    J, K, _ = confusion.shape
    G = shift.size
    odds, right, total, wrong = np.empty(J), np.empty(J), np.empty((J, G)), np.empty((J, K - 1))
    share, moved, room = np.ones(K - 1), np.empty(J), np.empty(G)  # mean shares of wrong labels, and room
    for z in range(K):
        for j in range(J):
            odds[j] = _log_odds(confusion[j, z], z)
            right[j] = 0.0
            for g in range(G):
                right[j] += counts[j, z, z, g]
                total[j, g] = 0.0
                for k in range(K):
                    total[j, g] += counts[j, k, z, g]
            for k in range(K - 1):
                wrong[j, k] = 0.0
                for g in range(G):
                    wrong[j, k] += counts[j, k + (k >= z), z, g]
        mean, kappa[z] = _population(odds, phi[z, z], kappa[z], z, shape, least, rng)
        mean, kappa[z] = _move_together(
            odds, right, total, mean, kappa[z], shape, least, factor, shift, rng, moved, room
        )
        pseudo = kappa[z] * (1 - mean)  # no matter what it is with one wrong label
        if alike is not None:
            alike[z] = pseudo = _wrong_population(wrong, phi[z], alike[z], z, share, shape, least, rng)
        phi[z, z] = mean
        for k in range(K - 1):
            phi[z, k + (k >= z)] = (1 - mean) * share[k]
        a, b = kappa[z] * mean, kappa[z] * (1 - mean)
        for j in range(J):
            number = 0.0
            for g in range(G):
                number += total[j, g]
            odds[j] = _slice(odds[j], a, b, right[j], number, total[j], factor, shift, rng, room)
            p, q, gamma = 1 / (1 + math.exp(-odds[j])), 1 / (1 + math.exp(odds[j])), 0.0
            for k in range(K - 1):
                at = k + (k >= z)
                confusion[j, z, at] = gamma_draw(pseudo * share[k] + wrong[j, k], rng)
                gamma += confusion[j, z, at]
            for k in range(K):
                if k == z:
                    confusion[j, z, k] = p
                else:
                    confusion[j, z, k] = q * (confusion[j, z, k] / gamma if gamma > 0 else 1 / (K - 1))


@compiled
def _diagonal_sums(odds: Floats) -> tuple[float, float]:
    """Return the sums of log p and of log(1 - p) over judges."""
    right, wrong = 0.0, 0.0
    for j in range(odds.size):
        softplus = math.log1p(math.exp(-abs(odds[j])))
        right += min(odds[j], 0.0) - softplus
        wrong -= max(odds[j], 0.0) + softplus
    return right, wrong


@compiled
def _population_density(
    log_kappa: float, logit: float, first: bool, J: int, right: float, wrong: float, shape: float, least: float
) -> float:
    """Return the log density of log kappa and a logit of the mean, given the sums of ``_diagonal_sums``.

    The logit is that of being right (``first``), or of being wrong.
    """
    if log_kappa < math.log(least) or log_kappa > 50:
        return -np.inf
    kappa, softplus = math.exp(log_kappa), max(logit, 0.0) + math.log1p(math.exp(-abs(logit)))
    log_mean, log_rest = (logit - softplus, -softplus) if first else (-softplus, logit - softplus)
    mean, rest = math.exp(log_mean), math.exp(log_rest)
    density = -shape * log_kappa + kappa * mean * right + kappa * rest * wrong + log_mean + log_rest
    return density + J * (math.lgamma(kappa) - math.lgamma(kappa * mean) - math.lgamma(kappa * rest))


@compiled
def _wrong_population(
    wrong: Floats,
    phi: Floats,
    kappa: float,
    z: int,
    share: Floats,
    shape: float,
    least: float,
    rng: np.random.Generator,
) -> float:
    """Draw the mean shares of wrong labels into ``share``, and return their concentration."""
    logit, total = np.empty(share.size), 0.0
    for k in range(share.size):
        share[k] = math.log(max(phi[k + (k >= z)], 1e-300))
        total += math.exp(share[k])
    for k in range(share.size):
        share[k] -= math.log(total)
        logit[k] = share[k]
    for k in range(share.size):
        logit[k] -= share[share.size - 1]
    table = expand(tabulate(wrong), math.log(kappa), share)
    log_kappa = draw_logs(table, math.log(kappa), logit, shape, least, rng)
    for k in range(share.size):
        share[k] = logit[k]
    normalise(share)
    return math.exp(log_kappa)


@compiled
def _population(
    odds: Floats, mean: float, kappa: float, z: int, shape: float, least: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the mean and the concentration of diagonals, drawn by slice sampling given the diagonals."""
    J, first = odds.size, z == 0
    right, wrong = _diagonal_sums(odds)
    logit, log_kappa = math.log(max(mean, 1e-300)) - math.log(max(1 - mean, 1e-300)), math.log(kappa)
    logit = logit if first else -logit
    width = max(0.05, 5.0 / math.sqrt(J))
    for which in range(2):
        start = logit if which else log_kappa
        floor = _population_density(log_kappa, logit, first, J, right, wrong, shape, least)
        floor -= rng.standard_exponential()
        low = start - width * rng.random()
        high = low + width
        for side in range(2):
            for _ in range(MOST):
                value = high if side else low
                at = (log_kappa, value) if which else (value, logit)
                if _population_density(*at, first, J, right, wrong, shape, least) < floor:
                    break
                if side:
                    high += width
                else:
                    low -= width
        after = start
        for _ in range(MOST):
            after = low + (high - low) * rng.random()
            at = (log_kappa, after) if which else (after, logit)
            if _population_density(*at, first, J, right, wrong, shape, least) >= floor:
                break
            if after < start:
                low = after
            else:
                high = after
            after = start
        log_kappa, logit = (log_kappa, after) if which else (after, logit)
    logit = logit if first else -logit
    return 1 / (1 + math.exp(-logit)), math.exp(log_kappa)


@compiled
def _judges_density(
    odds: Floats, right: Floats, total: Floats, a: float, b: float, factor: float, shift: Floats, room: Floats
) -> float:
    """Return the log density of all diagonals, normalised, in the coordinates of log odds; ``room`` is overwritten."""
    density = odds.size * (math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    for j in range(odds.size):
        density += _log_density(odds[j], a, b, right[j], total[j], factor, shift, room)
    return density


@compiled
def _move_together(
    odds: Floats,
    right: Floats,
    total: Floats,
    mean: float,
    kappa: float,
    shape: float,
    least: float,
    factor: float,
    shift: Floats,
    rng: np.random.Generator,
    moved: Floats,
    room: Floats,
) -> tuple[float, float]:
    """Shift, then spread, the diagonals together with their population; return its mean and concentration.

    ``moved`` (J) and ``room`` (G) are overwritten.
    """
    J = odds.size
    now = _judges_density(odds, right, total, kappa * mean, kappa * (1 - mean), factor, shift, room)
    for move in range(2):
        step = math.exp(rng.uniform(math.log(0.01), math.log(0.5))) * rng.standard_normal()
        new_mean, new_kappa, jacobian = mean, kappa, 0.0
        middle = math.log(mean) - math.log1p(-mean)
        if move == 0:
            new_mean = 1 / (1 + math.exp(-(middle + step)))
            for j in range(J):
                moved[j] = odds[j] + step
        else:
            new_kappa = kappa * math.exp(-2 * step)
            for j in range(J):
                moved[j] = middle + math.exp(step) * (odds[j] - middle)
            jacobian = J * step
        if new_kappa < least or new_mean <= 0 or new_mean >= 1:
            continue
        a, b = new_kappa * new_mean, new_kappa * (1 - new_mean)
        after = _judges_density(moved, right, total, a, b, factor, shift, room)
        gain = after - now + jacobian - shape * (math.log(new_kappa) - math.log(kappa))
        gain += math.log(new_mean) - math.log(mean) + math.log1p(-new_mean) - math.log1p(-mean)
        if math.log(max(rng.random(), 1e-300)) < gain:
            now, mean, kappa = after, new_mean, new_kappa
            for j in range(J):
                odds[j] = moved[j]
    return mean, kappa
