"""The documents whose labels would decide between two runs, or on the order of many.

A document decides by what its label does to the difference of two runs. In draws of all other labels its own is set
to each label in turn, and the draws in which the first run is better are counted. Documents are ranked by how far
this chance moves, on average over the possible labels.

If there are too many documents for that, or more than two runs, the effect of each label on each run is the influence
of the label on the expected measure (``evaluation.expected_measures``), which is exact for independent labels, and the
chance follows from a normal approximation. For many runs, the moves of several chances are added up: those that each
run is better than the next, or better than the baseline. A measure without a closed form is evaluated with each label
in a few draws instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import UsageError
from adjudge.evaluation.expected_measures import expected_runs
from adjudge.evaluation.uncertain_labels import SAME, LabelledTopic
from adjudge.metrics.ranking import Measure, values

CERTAIN = 1 - 1e-4  # chance of a label from which the document is not asked about
MOST_WORK = 1_000_000_000  # labels that are evaluated, at most, in draws
MOST_KEPT = 20_000_000  # drawn labels that are kept for that
FEW = 8  # draws that replace a closed form


class Deciding(NamedTuple):
    """A document whose label would move the chance that the first run is better."""

    topic: str
    document: str
    judged: bool
    chance: float  # that it is relevant
    first_rank: int | None  # in the first run
    second_rank: int | None
    effect: float  # of the highest grade instead of the lowest on the difference of the means
    moves: float  # mean change of the chance that the first is better, over the possible labels


class DecidingOrder(NamedTuple):
    """A document whose label would move the order of many runs."""

    topic: str
    document: str
    judged: bool
    chance: float  # that it is relevant
    runs: int  # that return it
    best_rank: int | None  # in any run
    effect: float  # of the highest grade instead of the lowest on the mean of the run that it changes most
    moves: float  # mean changes of the chances that each run is better than the next, added up


class _Scored(NamedTuple):
    """The documents with uncertain labels, of all topics (Q)."""

    topic: Codes
    document: Codes
    chance: Floats
    effect: Floats
    moves: Floats


def kept_draws(topic: LabelledTopic, stored: int, pair: bool) -> LabelledTopic:
    """Return a topic with the draws that are needed later: all if two runs are compared and few are stored."""
    if pair and stored + topic.code.size <= MOST_KEPT:
        return topic
    return topic._replace(code=topic.code[:, :FEW].copy())


def deciding_documents(
    topics: Sequence[LabelledTopic],
    worth: Floats,
    measure: Measure,
    level: float,
    pairs: Sequence[tuple[int, int]],
    drawn: Floats,
    unjudged: str,
    budget: int,
) -> list[Deciding] | list[DecidingOrder]:
    """Return the documents with uncertain labels that would move the chances of some pairs of runs most.

    Parameters
    ----------
    topics
        The documents with draws of their labels, as ``kept_draws`` returns them.
    worth, level
        The grade of every label, and that from which a document is relevant.
    measure
        The measure.
    pairs
        The pairs of runs: one, or several whose moves are added up.
    drawn
        The mean of the measure over topics, by run and draw (R, S).
    unjudged
        How documents that nobody judged are treated.
    budget
        How many documents to return.
    """
    between = np.array(pairs)  # (P, 2)
    uncertain = [_uncertain_documents(topic, np.unique(between)) for topic in topics]
    work = sum(which.size * topic.code.size for which, topic in zip(uncertain, topics, strict=True)) * worth.size * 3
    complete = all(topic.code.shape[1] == drawn.shape[1] for topic in topics)
    difference = drawn[between[:, 0]] - drawn[between[:, 1]]  # (P, S)
    now = difference.mean(axis=1), difference.var(axis=1)
    parts = []
    for t, (topic, which) in enumerate(zip(topics, uncertain, strict=True)):
        assumed = (which >= topic.pool.judged) & (unjudged == "zero")
        task = (topic, which, assumed, worth, measure, level, between, len(topics))
        if len(pairs) == 1 and complete and work <= MOST_WORK:
            effect, moves = _in_draws(*task, difference[0])
        else:
            effect, moves = _by_influence(*task, *now)
        relevance = topic.chance[which] @ (worth[:-1] >= level)
        parts.append(_Scored(np.full(which.size, t), which, relevance, effect, moves))
    every = _Scored(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    swing = abs(every.effect) * every.chance * (1 - every.chance)
    first = np.lexsort((-swing, -every.moves))[:budget].tolist()
    if len(pairs) == 1:
        return [_pair_record(topics[every.topic[q]], every, q, pairs[0]) for q in first]
    return [_order_record(topics[every.topic[q]], every, q) for q in first]


def _pair_record(topic: LabelledTopic, every: _Scored, q: int, pair: tuple[int, int]) -> Deciding:
    """Return a document that decides between two runs."""
    d = int(every.document[q])
    first, second = (_rank(topic.pool.orders[r], d) for r in pair)
    numbers = float(every.chance[q]), first, second, float(every.effect[q]), float(every.moves[q])
    return Deciding(topic.pool.topic, topic.pool.documents[d], d < topic.pool.judged, *numbers)


def _order_record(topic: LabelledTopic, every: _Scored, q: int) -> DecidingOrder:
    """Return a document that decides on the order of many runs."""
    d = int(every.document[q])
    ranks = [rank for order in topic.pool.orders if (rank := _rank(order, d)) is not None]
    numbers = (
        float(every.chance[q]),
        len(ranks),
        min(ranks, default=None),
        float(every.effect[q]),
        float(every.moves[q]),
    )
    return DecidingOrder(topic.pool.topic, topic.pool.documents[d], d < topic.pool.judged, *numbers)


def _rank(order: Codes, document: int) -> int | None:
    """Return the rank of a document in a run, None if the run does not return it."""
    at = np.flatnonzero(order == document)
    return int(at[0]) + 1 if at.size else None


def _uncertain_documents(topic: LabelledTopic, runs: Codes) -> Codes:
    """Return the documents of a topic with uncertain labels; unjudged ones only if one of the runs returns them."""
    uncertain = topic.chance.max(axis=1) < CERTAIN
    returned = np.zeros(uncertain.size, bool)
    for r in runs:
        returned[topic.pool.orders[r]] = True
    returned[: topic.pool.judged] = True
    return np.flatnonzero(uncertain & returned)


def _in_draws(
    topic: LabelledTopic,
    which: Codes,
    assumed: Flags,
    worth: Floats,
    measure: Measure,
    level: float,
    between: Codes,
    topics: int,
    difference: Floats,
) -> tuple[Floats, Floats]:
    """Return the effects and moves of documents (Q) on the difference of two runs, from all draws of it (S)."""
    orders = [topic.pool.orders[r] for r in between[0]]
    now = values(orders, topic.code, worth, [measure], level, unjudged=True)[:, 0]
    shift = (_fixed_labels(which, topic, orders, worth, measure, level) - (now[0] - now[1])) / topics  # (Q, K + 1, S)
    better = (difference + shift[:, :-1] > SAME).mean(axis=2)  # (Q, K)
    moves = _moves(better, np.array((difference > SAME).mean()), topic.chance[which], assumed)
    return _swing(shift.mean(axis=2), worth), moves


def _fixed_labels(
    which: Codes, topic: LabelledTopic, orders: Sequence[Codes], worth: Floats, measure: Measure, level: float
) -> Floats:
    """Return the difference of two runs in a topic if each of these documents has each label (Q, K + 1, S).

    The last label is grade 0 of a document that nobody judged, and only for these.
    """
    fixed, difference = topic.code.copy(), np.zeros((which.size, worth.size, topic.code.shape[1]))
    for q, d in enumerate(which):
        for k in range(worth.size if d >= topic.pool.judged else worth.size - 1):
            fixed[d] = k
            first, second = values(orders, fixed, worth, [measure], level, unjudged=True)[:, 0]
            difference[q, k] = first - second
        fixed[d] = topic.code[d]
    return difference


def _by_influence(
    topic: LabelledTopic,
    which: Codes,
    assumed: Flags,
    worth: Floats,
    measure: Measure,
    level: float,
    between: Codes,
    topics: int,
    mean: Floats,
    variance: Floats,
) -> tuple[Floats, Floats]:
    """Return the effects of documents (Q) on the difference of one pair, or on a run, and their moves of all pairs.

    ``mean`` and ``variance`` (P) are those of the differences.
    """
    runs, position = np.unique(between, return_inverse=True)
    influence = _influence(topic, which, runs, worth, measure, level) / topics  # (R, Q, K + 1)
    first, second = position.reshape(between.shape).T
    apart, chance = influence[first] - influence[second], topic.chance[which]  # (P, Q, K + 1), (Q, K)
    base = np.where(assumed, apart[:, :, -1], (chance * apart[:, :, :-1]).sum(axis=2))  # what the draws contain
    shift = apart[:, :, :-1] - base[:, :, None]
    part = np.where(assumed, 0.0, (chance * shift**2).sum(axis=2))  # of the variance
    left = np.maximum(variance[:, None] - part, 0.0)[:, :, None]
    moves = _moves(above(mean[:, None, None] + shift, left), above(mean, variance)[:, None], chance, assumed)
    if len(between) == 1:
        return _swing(apart[0], worth), moves[0]
    swings = _swing(influence, worth)  # (R, Q)
    return np.take_along_axis(swings, abs(swings).argmax(axis=0)[None], axis=0)[0], moves.sum(axis=0)


def _influence(
    topic: LabelledTopic, which: Codes, runs: Codes, worth: Floats, measure: Measure, level: float
) -> Floats:
    """Return the expected measure of some runs if each of these documents has each label (R, Q, K + 1)."""
    orders, K = [topic.pool.orders[run] for run in runs], worth.size - 1
    zero = (topic.code == K).all(axis=1)  # grade 0 of documents that nobody judged
    chance = np.concatenate([np.where(zero[:, None], 0.0, topic.chance), zero[:, None]], axis=1)
    try:
        return expected_runs(orders, chance, worth, measure, level, which).influence
    except UsageError:  # there is no closed form, or nDCG without a cutoff has too many cases
        pass
    fixed, expected = topic.code[:, :FEW].copy(), np.zeros((runs.size, which.size, K + 1))
    for q, d in enumerate(which):
        for k in range(K + 1):
            fixed[d] = k
            expected[:, q, k] = values(orders, fixed, worth, [measure], level, unjudged=True)[:, 0].mean(axis=1)
        fixed[d] = topic.code[d, :FEW]
    return expected


def _swing(effect: Floats, worth: Floats) -> Floats:
    """Return the effect of the highest grade instead of the lowest (Q), from the effects of all labels (Q, K + 1)."""
    swing: Floats = effect[..., np.argmax(worth[:-1])] - effect[..., np.argmin(worth[:-1])]
    return swing


def _moves(better: Floats, now: Floats, chance: Floats, assumed: Flags) -> Floats:
    """Return how far a chance moves on average (Q), from the chance with each label (Q, K) and that before.

    If the label of a document was assumed, and not drawn, the chance before is that of the draws.
    """
    before = np.where(assumed, now, (chance * better).sum(axis=-1))
    moves: Floats = (chance * abs(better - before[..., None])).sum(axis=-1)
    return np.where(moves < SAME, 0.0, moves)


def above(mean: Floats, variance: Floats) -> Floats:
    """Return the chance that a normal variable is above 0; without variance 0 or 1, or one half if the mean is 0."""
    spread = np.sqrt(np.broadcast_to(variance, mean.shape))
    certain = np.where(mean > SAME, 1.0, np.where(mean < -SAME, 0.0, 0.5))
    chance: Floats = np.where(spread > SAME, ndtr(mean / np.maximum(spread, SAME)), certain)
    return chance
