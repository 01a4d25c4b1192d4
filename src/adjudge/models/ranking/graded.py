"""Graded relevance from labels and ranks: one posterior of all that judges say in a set.

A judge labels the items of a set and ranks them. Labels say which items are relevant; ranks also say how relevant. Item
i has a grade z_i from 0 to G: 0, 1 or 2 if there are two labels (the higher one stands for 1 and 2), else the label.

    P(z_i = g)      = p_i(label of g) share_i(g)
    share_i(g)      proportional to exp(a_g + b g s_i), among the grades with the same label
    P(order | y, z) = prod over labels of Plackett-Luce among the items to which the judge gave this label,
                      with log worths beta_j v(z_i),  0 = v(0) <= v(1) <= ... <= v(G)

p_i is the calibrated consensus of the labels (``models.consensus``) and s_i its log odds of the highest label: an item
that is surely relevant may be so to a higher degree. beta_j is the reliability of the judge's ranks. The order is taken
given the labels: relevant items are ranked above the others, so that the order between both repeats the labels.

Priors: log beta_j is N(0, judge_spread^2), the steps of v are half-Cauchy with the scale ``spread``, a and b normal.

Judges share errors, in ranks as in labels. So the log-likelihood of orders is multiplied by the effective share of
judgments, w = 1 / (1 + (n - 1) r), with n judgments per item and the correlation r of errors that the consensus has
estimated. How often all judges of an item are wrong cannot be seen in what they say; the calibration of the consensus
knows it from other crowds. So what ranks say about the label itself, the change of its log odds, counts by w^2 only,
and no item becomes more certain by it than nine in ten are by their labels (``tempered``). This caution is for the
probabilities: items are ranked by their expected gain, 2^z - 1, without it, because it blurs the order.

Grades are drawn item by item (Gibbs sampling), the other parameters by Metropolis steps. The probability of a grade is
the mean over draws of its probability given everything else. The interval of a rank is that of the rank by grade, with
items of the same grade in random order, over draws from the probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.rankings import Rankings
from adjudge.errors import UsageError, quoted
from adjudge.inference.convergence import r_hat
from adjudge.inference.correlation import effective_judges
from adjudge.inference.fit import fit
from adjudge.kernels.compiled import compiled
from adjudge.models.ranking.plackett_luce import group_before_rest, weigh
from adjudge.models.ranking.worth import Consensus, RankOptions

CHAINS, WARM_UP, DRAWS = 2, 200, 300
RANKINGS = 200  # draws for the intervals of ranks
ENDS = (0.05, 0.95)  # of these intervals
LEAST = 1e-6  # probability of a label
CERTAIN = 4.0  # log odds s beyond which no difference is made
OFFSET, SLOPE = 2.0, 1.0  # prior standard deviations of a and b
LARGEST = 30.0  # log weight of an item at most
HUGE = 1e200  # a product beyond this is replaced by its log
TARGET = 0.4  # share of Metropolis steps that are accepted
MIXED = 1.1  # R-hat up to which chains agree
USUAL = 0.9  # share of items whose certainty by labels bounds what ranks can add
SHRINK = 5.0  # pseudo-counts of the crowd's confusion, for every judge and grade


class Orders(NamedTuple):
    """Orders of items to which one judge gave the same label: order c has the entries start[c] <= m < start[c + 1]."""

    start: Codes  # (C + 1)
    judge: Codes  # (C)
    item: Codes  # (M) best first
    level: Codes  # (M) equal for tied items
    tied: Flags  # (C) whether there are ties


class Slots(NamedTuple):
    """Where each item is: at ``entry[n]`` of ``order[n]`` for start[i] <= n < start[i + 1]."""

    start: Codes  # (I + 1)
    order: Codes  # (M)
    entry: Codes  # (M)


class GradePrior(NamedTuple):
    """What labels say about grades."""

    log_label: Floats  # (I, Z) log probability of the label of each grade
    sure: Floats  # (I) log odds of the highest label
    label: Codes  # (Z) of each grade
    gold: Codes  # (I) known grades, -1 if unknown


class Sampled(NamedTuple):
    """Means over the draws, and the log-likelihood of each."""

    chance: Floats  # (I, Z) probabilities of grades
    worth: Floats  # (Z) log worths v
    reliability: Floats  # (J)
    likelihood: Floats  # (chains, draws) log-likelihood of the orders


def graded(rankings: Rankings, options: RankOptions) -> Consensus:
    """Return the expected gain, the probabilities of grades and the interval of the rank of each item."""
    judgments, label = rankings.judgments, rankings.label
    if judgments is None or label is None:
        raise UsageError("method 'graded' needs labels beside ranks, and preferences have none")
    if len(judgments.scale) < 2:
        raise UsageError(
            f"method 'graded' needs two labels or more, and all labels are {quoted(judgments.scale.names)}: "
            "give all labels, lowest first, with --labels"
        )
    label_of_grade = np.array([0, 1, 1]) if len(judgments.scale) == 2 else np.arange(len(judgments.scale))
    gold = np.full(len(rankings.items), -1) if rankings.gold is None else rankings.gold
    base, weight = label_consensus(judgments, np.where(gold >= 0, label_of_grade[gold], -1).astype(np.int32))
    prior = grade_prior(base, label_of_grade, gold)
    drawn = sample(split_by_label(rankings, label), prior, len(rankings.judges), weight, options)
    chance = tempered(drawn.chance, prior, base, weight**2)
    gains = 2.0 ** np.arange(label_of_grade.size) - 1
    gain = drawn.chance @ gains
    mixed = float(r_hat(drawn.likelihood[:, :, None])[0]) if np.ptp(drawn.likelihood) > 0 else 1.0
    how = f"{CHAINS} chains of {DRAWS} draws"
    return Consensus(
        gain,
        np.sqrt(np.maximum(drawn.chance @ gains**2 - gain**2, 0)),
        f"sampled {how}" if mixed <= MIXED else f"stopped after {how} that do not agree (R-hat {mixed:.2f})",
        drawn.reliability / drawn.reliability.mean(),
        float(drawn.likelihood.mean()),
        grades=chance,
        interval=rank_intervals(chance, rankings.topic, options.seed),
        confusion=label_confusion(judgments, chance),
    )


def label_consensus(judgments: Judgments, gold: Codes) -> tuple[Floats, float]:
    """Return the calibrated probabilities of labels (I, K), and the effective share of judgments."""
    base = fit(judgments, "consensus", gold if (gold >= 0).any() else None)
    calibration = base.calibration
    if calibration is None or calibration.judgments <= 1:
        return base.posterior, 1.0
    n = calibration.judgments
    return base.posterior, float(effective_judges(np.array(n), min(calibration.correlation, 1.0))) / n


def grade_prior(base: Floats, label_of_grade: Codes, gold: Codes) -> GradePrior:
    """Return what the probabilities of labels (I, K) say about grades."""
    probability = np.clip(base, LEAST, 1 - LEAST)
    sure = np.log(probability[:, -1]) - np.log1p(-probability[:, -1])
    return GradePrior(np.log(probability)[:, label_of_grade], sure.clip(-CERTAIN, CERTAIN), label_of_grade, gold)


def split_by_label(rankings: Rankings, label: Codes) -> Orders:
    """Return the order of the items to which a judge gave the same label (N), or none, for each ranking and label."""
    ranking = np.repeat(np.arange(rankings.judge.size), np.diff(rankings.start))
    order = np.lexsort((rankings.level, label, ranking))
    new = np.r_[True, (np.diff(ranking[order]) != 0) | (np.diff(label[order]) != 0)]
    size = np.diff(np.r_[np.flatnonzero(new), order.size])
    compared = size > 1
    order = order[np.repeat(compared, size)]
    start = np.r_[0, np.cumsum(size[compared])]
    level = rankings.level[order]
    equal = np.r_[False, np.diff(level) == 0]
    equal[start[:-1]] = False
    tied = np.zeros(start.size - 1, bool)
    tied[np.repeat(np.arange(start.size - 1), size[compared])[equal]] = True
    return Orders(start, rankings.judge[ranking[order[start[:-1]]]], rankings.item[order], level, tied)


def tempered(chance: Floats, prior: GradePrior, base: Floats, weight: float) -> Floats:
    """Return the probabilities of grades (I, Z) with the label's log probability changed by ``weight`` of the change.

    The log probability of a label, relative to the others, stays within that of nine in ten items by their labels
    alone; an item that was beyond it does not go further. Grades with the same label keep their proportions.
    """
    K = base.shape[1]
    of_label = np.stack([chance[:, prior.label == k].sum(axis=1) for k in range(K)], axis=1)
    before, after = (_log_odds(each) for each in (base, of_label))  # (I, K)
    high = np.maximum(np.quantile(before, USUAL, axis=0), before)
    low = np.minimum(np.quantile(before, 1 - USUAL, axis=0), before)
    odds = np.clip(before + weight * (after - before), low, high)
    label = 1 / (1 + np.exp(-odds))
    label /= label.sum(axis=1, keepdims=True)
    result: Floats = chance * (label / np.maximum(of_label, LEAST))[:, prior.label]
    result /= result.sum(axis=1, keepdims=True)
    has_gold = prior.gold >= 0
    result[has_gold] = np.eye(chance.shape[1])[prior.gold[has_gold]]
    return result


def _log_odds(probability: Floats) -> Floats:
    """Return log odds of probabilities that are kept away from 0 and 1."""
    p = np.clip(probability, LEAST, 1 - LEAST)
    odds: Floats = np.log(p) - np.log1p(-p)
    return odds


def rank_intervals(chance: Floats, topic: Codes, seed: int) -> Codes:
    """Return the interval (I, 2) of the rank of each item in its topic, from the probabilities of grades (I, Z).

    In each draw, items are ranked by grade, and items of the same grade are in random order.
    """
    rng, ranks = np.random.default_rng(seed), np.empty((RANKINGS, topic.size), np.int32)
    below, first = np.cumsum(chance, axis=1)[:, :-1], np.searchsorted(topic, topic)
    for rank in ranks:
        grade = (rng.random(topic.size)[:, None] > below).sum(axis=1)
        rank[np.lexsort((rng.random(topic.size), -grade, topic))] = np.arange(topic.size) - first + 1
    return np.quantile(ranks, ENDS, axis=0, method="nearest").T.astype(np.int64)


def label_confusion(judgments: Judgments, chance: Floats) -> Floats:
    """Return p(label | grade) of each judge (J, Z, K), shrunk to that of the crowd."""
    J, Z, K = len(judgments.judges), chance.shape[1], len(judgments.scale)
    cell, expected = judgments.judge * np.int64(K) + judgments.label, chance[judgments.item()]
    counts = np.stack([np.bincount(cell, expected[:, g], J * K).reshape(J, K) for g in range(Z)], axis=1)
    crowd = counts.sum(axis=0) + 1 / K
    rows = counts + SHRINK * crowd / crowd.sum(axis=1, keepdims=True)
    confusion: Floats = rows / rows.sum(axis=2, keepdims=True)
    return confusion


class Problem(NamedTuple):
    """All that stays the same over the draws."""

    orders: Orders
    slots: Slots
    prior: GradePrior
    judges: int
    weight: float  # of the log-likelihood of orders
    options: RankOptions
    room: Floats  # for one order with ties


class State(NamedTuple):
    """One draw, and the widths of the next Metropolis steps."""

    z: Codes  # (I) grades
    chance: Floats  # (I, Z) their probabilities, given everything else
    beta: Floats  # (J) log reliabilities
    steps: Floats  # (G) logs of the steps of v
    shares: Floats  # a of each further grade of a label, then b
    widths: tuple[Floats, Floats, Floats]  # of beta, steps and shares


def sample(orders: Orders, prior: GradePrior, judges: int, weight: float, options: RankOptions) -> Sampled:
    """Draw grades and parameters in several chains, given the weight of the log-likelihood of orders."""
    room = np.empty((3, int(np.diff(orders.start).max(initial=1))))
    problem = Problem(orders, item_slots(orders, prior.sure.size), prior, judges, weight, options, room)
    chains = [_chain(problem, rng) for rng in np.random.default_rng(options.seed).spawn(CHAINS)]
    chance, worth, reliability, likelihood = zip(*chains, strict=True)
    mean_chance, mean_worth, mean_reliability = (np.mean(each, axis=0) for each in (chance, worth, reliability))
    return Sampled(mean_chance, mean_worth, mean_reliability, np.stack(likelihood))


def _chain(problem: Problem, rng: np.random.Generator) -> Sampled:
    """Draw one chain."""
    state = _start(problem, rng)
    for sweep in range(WARM_UP):
        state = _sweep(problem, state, rng, 1 / np.sqrt(1 + sweep))
    chance, worth, reliability = (
        np.zeros_like(state.chance),
        np.zeros(problem.prior.label.size),
        np.zeros(problem.judges),
    )
    likelihood = []
    for _ in range(DRAWS):
        state = _sweep(problem, state, rng, 0.0)
        v, beta = worths(state.steps), np.exp(state.beta)
        chance += state.chance
        worth += v
        reliability += beta
        likelihood.append(judge_likelihood(*problem.orders, state.z, v, beta, problem.room).sum())
    return Sampled(chance / DRAWS, worth / DRAWS, reliability / DRAWS, np.array(likelihood))


def _start(problem: Problem, rng: np.random.Generator) -> State:
    """Return a first state, with grades drawn from what labels say."""
    prior = problem.prior
    items, Z = prior.log_label.shape
    steps, beta, shares = np.zeros(Z - 1), np.zeros(problem.judges), np.zeros(_further_grades(prior).size + 1)
    chance = np.exp(prior.log_label + log_shares(prior, shares))
    chance /= chance.sum(axis=1, keepdims=True)
    z = (rng.random((items, 1)) > np.cumsum(chance, axis=1)).sum(axis=1).clip(0, Z - 1)
    widths = (np.full(beta.size, 0.3), np.full(steps.size, 0.3), np.full(shares.size, 0.3))
    return State(np.where(prior.gold >= 0, prior.gold, z), chance, beta, steps, shares, widths)


def _sweep(problem: Problem, state: State, rng: np.random.Generator, adapt: float) -> State:
    """Return the next draw; the widths of Metropolis steps change by ``adapt``."""
    prior, (z, chance, beta, steps, shares, widths) = problem.prior, state
    z, chance = z.copy(), chance.copy()
    log_prior, uniform = prior.log_label + log_shares(prior, shares), rng.random(z.size)
    arguments = (*problem.slots, *problem.orders, log_prior, prior.gold, worths(steps), np.exp(beta))
    draw_grades(*arguments, problem.weight, uniform, z, chance, problem.room)

    def of_beta(beta: Floats) -> Floats:
        value = judge_likelihood(*problem.orders, z, worths(steps), np.exp(beta), problem.room)
        return problem.weight * value - (beta / problem.options.judge_spread) ** 2 / 2

    def of_steps(steps: Floats) -> Floats:  # with the half-Cauchy prior of exp(steps)
        value = judge_likelihood(*problem.orders, z, worths(steps), np.exp(beta), problem.room).sum()
        log_prior = (steps - np.log1p(np.exp(2 * steps) / problem.options.spread**2)).sum()
        return np.atleast_1d(problem.weight * value + log_prior)

    def of_shares(shares: Floats) -> Floats:
        value = log_shares(prior, shares)[np.arange(z.size), z].sum()
        return np.atleast_1d(value - (shares[:-1] ** 2).sum() / (2 * OFFSET**2) - shares[-1] ** 2 / (2 * SLOPE**2))

    beta, beta_width = _metropolis(beta, of_beta, widths[0], adapt, rng, [slice(None)])  # judges are independent
    steps, steps_width = _metropolis(steps, of_steps, widths[1], adapt, rng, _one_by_one(steps))
    further = _one_by_one(shares) if shares.size > 1 else []
    shares, shares_width = _metropolis(shares, of_shares, widths[2], adapt, rng, further)
    return State(z, chance, beta, steps, shares, (beta_width, steps_width, shares_width))


def _one_by_one(x: Floats) -> list[slice]:
    """Return the positions of x, each as a slice."""
    return [slice(k, k + 1) for k in range(x.size)]


def _metropolis(
    x: Floats,
    log_density: Callable[[Floats], Floats],
    width: Floats,
    adapt: float,
    rng: np.random.Generator,
    parts: Sequence[slice],
) -> tuple[Floats, Floats]:
    """Return x after one Metropolis step of each part, and the adapted widths of the steps.

    The log density is one number in an array or, if all values of x are independent, one for each of them.
    """
    width, value = width.copy(), log_density(x) if parts else np.empty(0)
    for part in parts:
        proposal = x.copy()
        proposal[part] += width[part] * rng.normal(size=x[part].size)
        new = log_density(proposal)
        rate = np.exp(np.minimum(new - value, 0.0))
        width[part] *= np.exp(adapt * (rate - TARGET))
        accepted = rng.random(rate.size) < rate
        x, value = np.where(accepted, proposal, x), np.where(accepted, new, value)
    return x, width


def worths(steps: Floats) -> Floats:
    """Return the log worths v of the grades (Z), from the logs of their steps (G)."""
    v: Floats = np.r_[0.0, np.cumsum(np.exp(steps))]
    return v


def _further_grades(prior: GradePrior) -> Codes:
    """Return the grades that have the label of a lower grade: each has an offset a."""
    return 1 + np.flatnonzero(np.diff(prior.label) == 0)


def log_shares(prior: GradePrior, shares: Floats) -> Floats:
    """Return the log probability of each grade (I, Z) given its label; ``shares`` are offsets a, then the slope b."""
    offset = np.zeros(prior.label.size)
    offset[_further_grades(prior)] = shares[:-1]
    score = offset + shares[-1] * np.arange(offset.size) * prior.sure[:, None]
    result: Floats = np.zeros_like(score)
    for label in np.unique(prior.label[_further_grades(prior)]):
        part = score[:, prior.label == label]
        part = part - part.max(axis=1, keepdims=True)
        result[:, prior.label == label] = part - np.log(np.exp(part).sum(axis=1, keepdims=True))
    return result


def item_slots(orders: Orders, items: int) -> Slots:
    """Return where each item is."""
    order = np.repeat(np.arange(orders.judge.size), np.diff(orders.start))
    by_item = np.argsort(orders.item, kind="stable")
    start = np.searchsorted(orders.item[by_item], np.arange(items + 1))
    return Slots(start, order[by_item], by_item)


def judge_likelihood(
    start: Codes, judge: Codes, item: Codes, level: Codes, tied: Flags, z: Codes, v: Floats, beta: Floats, room: Floats
) -> Floats:
    """Return the log-likelihood of the orders of each judge (J), given the grades of items (I)."""
    value = np.zeros(beta.size)
    _judge_likelihood(start, judge, item, level, tied, z, v, beta, value, room)
    return value


@compiled
def draw_grades(
    slot_start: Codes,
    slot_order: Codes,
    slot_entry: Codes,
    start: Codes,
    judge: Codes,
    item: Codes,
    level: Codes,
    tied: Flags,
    log_prior: Floats,
    gold: Codes,
    v: Floats,
    beta: Floats,
    weight: float,
    uniform: Floats,
    z: Codes,
    chance: Floats,
    room: Floats,
) -> None:
    """Replace the grade of each item (I) by a draw given all others, and fill in its probabilities (I, Z).

    The log-likelihood of an order as a function of one item's weight w is log w less the logs of the total weights from
    each entry down to the last, for the entries up to the item's own.
    """
    Z = v.size
    weights = _weights(beta, v)
    theta = v[z]
    for i in range(z.size):
        if gold[i] >= 0:
            chance[i, :] = 0.0
            chance[i, gold[i]] = 1.0
            continue
        chance[i, :] = log_prior[i]
        for n in range(slot_start[i], slot_start[i + 1]):
            c, entry = slot_order[n], slot_entry[n]
            first, last, j = start[c], start[c + 1], judge[c]
            for g in range(Z):
                if tied[c]:
                    theta[i] = v[g]
                    chance[i, g] += weight * _order_likelihood(
                        item[first:last], level[first:last], theta, beta[j], room
                    )
                    continue
                total, value = weights[j, g], np.log(weights[j, g])
                for m in range(entry + 1, last):
                    total += weights[j, z[item[m]]]
                product = total
                for m in range(entry - 1, first - 1, -1):
                    total += weights[j, z[item[m]]]
                    product *= total
                    if product > HUGE:
                        value -= np.log(product)
                        product = 1.0
                chance[i, g] += weight * (value - np.log(product))
        chance[i] = np.exp(chance[i] - chance[i].max())
        chance[i] /= chance[i].sum()
        z[i], so_far = 0, chance[i, 0]
        while z[i] < Z - 1 and uniform[i] > so_far:
            z[i] += 1
            so_far += chance[i, z[i]]
        theta[i] = v[z[i]]


@compiled
def _weights(beta: Floats, v: Floats) -> Floats:
    """Return the weight of an item of each grade for each judge (J, Z)."""
    return np.exp(np.minimum(np.outer(beta, v), LARGEST))


@compiled
def _judge_likelihood(
    start: Codes,
    judge: Codes,
    item: Codes,
    level: Codes,
    tied: Flags,
    z: Codes,
    v: Floats,
    beta: Floats,
    value: Floats,
    room: Floats,
) -> None:
    """Add the log-likelihood of each order to that of its judge (J)."""
    weights, theta = _weights(beta, v), v[z]
    for c in range(judge.size):
        first, last, j = start[c], start[c + 1], judge[c]
        if tied[c]:
            value[j] += _order_likelihood(item[first:last], level[first:last], theta, beta[j], room)
            continue
        total, ratio = 0.0, 1.0
        for m in range(last - 1, first - 1, -1):
            weight = weights[j, z[item[m]]]
            total += weight
            ratio *= weight / total
            if ratio < 1 / HUGE:
                value[j] += np.log(ratio)
                ratio = 1.0
        value[j] += np.log(ratio)


@compiled
def _order_likelihood(item: Codes, level: Codes, theta: Floats, beta: float, room: Floats) -> float:
    """Return the log-likelihood of one order with ties, as that of ``plackett_luce``."""
    log_w, log_rest, share = room[0], room[1], room[2]
    weigh(item, level, theta, beta, log_w, log_rest)
    total, a = 0.0, 0
    while a < item.size:
        b = a + 1
        while b < item.size and level[b] == level[a]:
            b += 1
        total += group_before_rest(log_w[a:b], log_rest[a], share[a:b])
        a = b
    return total
