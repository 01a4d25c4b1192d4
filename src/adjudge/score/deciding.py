"""Which documents decide between two search systems: whose label, once known, would move the chance that one is better.

A document decides by what its label does to the difference of two systems. In draws of all other labels its own is set
to each label in turn, and the draws in which the first system is better are counted. Documents are ranked by how far
this chance moves, on average over what the label may turn out to be. Where there are too many documents to do so in all
draws, a part of them gives the expected difference with each label, and the chance follows as if it were normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from adjudge.arrays import Codes, Flags, Floats
from adjudge.score.ranking import Measure, values
from adjudge.score.uncertain import Labelled

SAME = 1e-12  # differences below this are of rounding
CERTAIN = 1 - 1e-4  # chance of a label beyond which there is nothing to ask about
WORK = 1_000_000_000  # labels looked at, at most, to find the documents that decide
FEWEST = 8  # draws for that, at least


class Deciding(NamedTuple):
    """A document whose label would move the chance that the first run is better."""

    topic: str
    document: str
    judged: bool
    chance: float  # that it is relevant
    first_rank: int | None  # where the first run has it
    second_rank: int | None
    effect: float  # of the highest grade instead of the lowest, on the difference of the means
    moves: float  # the chance that the first is better, by so much, on average over what the label may be


def deciding_documents(
    topics: Sequence[Labelled],
    worth: Floats,
    measure: Measure,
    level: float,
    between: tuple[int, int],
    value: Floats,
    unjudged: str,
) -> list[Deciding]:
    """Return every document whose label is uncertain, with how far knowing it would move the decision."""
    asked = [_askable(one, between) for one in topics]
    K, T = worth.size - 1, len(topics)
    looked = sum(which.size * one.code.shape[0] for which, one in zip(asked, topics, strict=True)) * K * 3
    draws = int(np.clip(WORK // max(looked, 1), FEWEST, value.shape[3]))
    apart = value[between[0], 0] - value[between[1], 0]  # (T, S)
    found = []
    for t, (which, one) in enumerate(zip(asked, topics, strict=True)):
        orders = [one.pool.orders[r] for r in between]
        given = _given(which, one.pool.judged, orders, one.code[:, :draws], worth, measure, level)  # (Q, K + 1, S')
        shift = (given - apart[t, :draws]) / T
        effect = shift.mean(axis=2)
        assumed = (which >= one.pool.judged) & (unjudged == "zero")
        moves = _moves(shift, one.chance[which], assumed, apart.mean(axis=0))
        swing = effect[:, np.argmax(worth[:K])] - effect[:, np.argmin(worth[:K])]
        relevance = one.chance[which] @ (worth[:K] >= level)
        ranks = [{int(d): n for n, d in enumerate(order, 1)} for order in orders]
        for q, d in enumerate(which.tolist()):
            numbers = float(relevance[q]), ranks[0].get(d), ranks[1].get(d), float(swing[q]), float(moves[q])
            found.append(Deciding(one.pool.topic, one.pool.documents[d], d < one.pool.judged, *numbers))
    return found


def weight(one: Deciding) -> tuple[float, float]:
    """Return what documents are sorted by: how far they move the chance, then how far the difference."""
    return -one.moves, -abs(one.effect) * one.chance * (1 - one.chance)


def _askable(one: Labelled, between: tuple[int, int]) -> Codes:
    """Return the documents of a topic whose label is not certain; of those nobody judged, what the two runs return."""
    uncertain = one.chance.max(axis=1) < CERTAIN
    returned = np.zeros(uncertain.size, bool)
    for r in between:
        returned[one.pool.orders[r]] = True
    returned[: one.pool.judged] = True
    return np.flatnonzero(uncertain & returned)


def _given(
    which: Codes, judged: int, orders: Sequence[Codes], code: Codes, worth: Floats, measure: Measure, level: float
) -> Floats:
    """Return the difference of two runs in a topic with each of these documents given each label (Q, K + 1, S').

    The last label is grade 0 of a document that nobody judged, and is given to these only.
    """
    given, found = code.copy(), np.zeros((which.size, worth.size, code.shape[1]))
    for q, d in enumerate(which):
        for k in range(worth.size if d >= judged else worth.size - 1):
            given[d] = k
            first, second = values(orders, given, worth, [measure], level)[:, 0]
            found[q, k] = first - second
        given[d] = code[d]
    return found


def _moves(shift: Floats, chance: Floats, assumed: Flags, difference: Floats) -> Floats:
    """Return how far the chance that the difference (S) is above 0 moves, expected over each document's label (Q).

    ``shift`` (Q, K + 1, S') is what each label does to the difference, in all draws or in the first of them.
    """
    K, all_drawn = chance.shape[1], shift.shape[2] == difference.size
    if all_drawn:
        known = (difference + shift[:, :K] > SAME).mean(axis=2)  # (Q, K)
        now = float((difference > SAME).mean())
    else:
        effect = shift[:, :K].mean(axis=2)
        effect -= np.where(assumed, 0.0, (chance * effect).sum(axis=1))[:, None]  # what is drawn is in the mean already
        own = np.where(assumed, 0.0, (chance * effect**2).sum(axis=1))  # and in the variance
        mean, variance = difference.mean(), difference.var()
        known = _above(mean + effect, np.maximum(variance - own, 0.0)[:, None])
        now = float(_above(np.array(mean), np.array(variance)))
    before = np.where(assumed, now, (chance * known).sum(axis=1))
    moves: Floats = (chance * abs(known - before[:, None])).sum(axis=1)
    return np.where(moves < SAME, 0.0, moves)


def _above(mean: Floats, variance: Floats) -> Floats:
    """Return the chance that a normal variable is above 0; without variance it is or is not, or half where it is 0."""
    spread = np.sqrt(np.broadcast_to(variance, mean.shape))
    certain = np.where(mean > SAME, 1.0, np.where(mean < -SAME, 0.0, 0.5))
    chance: Floats = np.where(spread > SAME, ndtr(mean / np.maximum(spread, SAME)), certain)
    return chance
