"""Which documents decide between two search systems: whose label, once known, would move the chance that one is better.

A document decides by what its label does to the difference of two systems. In draws of all other labels its own is set
to each label in turn, and the draws in which the first system is better are counted. Documents are ranked by how far
this chance moves, on average over what the label may turn out to be. Where there are too many documents to do so in all
draws, a part of them gives the expected difference with each label, and the chance follows as if it were normal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.runs import System
from adjudge.data.trec import document_of
from adjudge.errors import InputError, UsageError, quote, quoted
from adjudge.inference.result import Fit
from adjudge.metrics.ranking import Measure, Pool, pooled, values

# Labels that are not certain, as draws: what a fit holds likely of every document that runs return.
#
# Where a fit kept its truths (``adjudge fit --keep-truths``) these are joint draws from the posterior, in which
# documents hang together: if a judge is worse than thought, all her documents move. Otherwise every document's truth
# is drawn from its own posterior. A document that no judge saw has grade 0, as in trec_eval, or with ``prevalence`` a
# label drawn as common as it is expected to be among the topic's judged documents.

UNJUDGED = ("zero", "prevalence")


class Labelled(NamedTuple):
    """A topic's documents with draws of their labels."""

    pool: Pool
    code: Codes  # (D, S) labels; K stands for grade 0 of a document that nobody judged
    chance: Floats  # (D, K) of every label


def kept_draws(fit: Fit, draws: int) -> Codes | None:
    """Return which of the truths that a fit kept are used, evenly spread over its chains, None where it kept none.

    Truths that were kept are the model's own: of a fit that was calibrated, others are drawn from its probabilities.
    """
    calibrated = fit.calibration is not None and fit.calibration.changes
    if fit.draws is None or not fit.draws.truth.size or calibrated:
        return None
    kept = fit.draws.truth.shape[0] * fit.draws.truth.shape[1]
    return np.linspace(0, kept - 1, min(draws, kept)).round().astype(np.int64)


def worth_of(fit: Fit) -> Floats:
    """Return the grade of every label, and at the end that of a document that nobody judged (K + 1)."""
    return np.array([*fit.scale.values, 0.0])


def labelled(
    fit: Fit, systems: Sequence[System], *, draws: int, seed: int, unjudged: str = "zero", complete: bool = False
) -> Iterator[Labelled]:
    """Yield every topic that the fit and a run have, or with ``complete`` all that the fit has, with drawn labels."""
    if unjudged not in UNJUDGED:
        raise UsageError(f"unjudged {unjudged!r} is not one of {quoted(UNJUDGED)}")
    if fit.topics is None or fit.topic is None:
        raise UsageError("this fit has no topics: fit judgments that have a column of them (--topic)")
    names, items = fit.topics.cast(str).to_list(), fit.items.cast(str).to_list()
    _refuse_strangers(fit, names, items, systems)
    chosen, rng = kept_draws(fit, draws), np.random.default_rng(seed)
    order = np.argsort(fit.topic, kind="stable")
    edges = np.searchsorted(fit.topic[order], np.arange(len(names) + 1))
    for t, topic in enumerate(names):
        own = order[edges[t] : edges[t + 1]]
        if own.size and (complete or any(topic in system.ranked for system in systems)):
            pool = _pool(topic, [items[i] for i in own], systems)
            yield _labelled(fit, pool, own, unjudged, chosen, draws, rng)


def _labelled(
    fit: Fit, pool: Pool, item: Codes, unjudged: str, chosen: Codes | None, draws: int, rng: np.random.Generator
) -> Labelled:
    """Return a topic's documents, of which the first are these items of the fit, with labels drawn."""
    posterior = fit.posterior[item]
    strange = len(pool.documents) - item.size
    common = np.tile(posterior.mean(axis=0), (strange, 1))  # of documents that nobody judged
    known = drawn(posterior, draws, rng) if chosen is None else _kept(fit, item, chosen)
    if unjudged == "prevalence":
        rest = drawn(common, known.shape[1], rng)
    else:
        rest = np.full((strange, known.shape[1]), posterior.shape[1], np.uint16)
    return Labelled(pool, np.concatenate([known, rest]), np.concatenate([posterior, common]))


def drawn(chance: Floats, draws: int, rng: np.random.Generator) -> Codes:
    """Return labels drawn (D, S), each document's from its own chances (D, K)."""
    edges = chance.cumsum(axis=1)
    at = rng.random((chance.shape[0], draws)) * edges[:, -1:]  # of chances that sum to a little less than 1
    code = np.zeros(at.shape, np.uint16)
    for k in range(chance.shape[1] - 1):
        code += at >= edges[:, k, None]
    return code


def _kept(fit: Fit, item: Codes, chosen: Codes) -> Codes:
    """Return the truths of some items (D, S) in draws that the fit kept, without unpacking those of all others."""
    assert fit.draws is not None
    bits = fit.draws.truth.reshape(-1, *fit.draws.truth.shape[2:])[chosen][:, :, item >> 3]  # (S, B, D)
    planes = bits >> (7 - (item & 7)).astype(np.uint8) & 1
    code = np.zeros((item.size, chosen.size), np.uint16)
    for b in range(planes.shape[1]):
        code |= planes[:, b].T.astype(np.uint16) << np.uint16(b)
    return code


def _pool(topic: str, items: Sequence[str], systems: Sequence[System]) -> Pool:
    """Return the documents of a topic; a run may call them as the fit does, or without the topic before."""
    place = {document_of(item, topic): d for d, item in enumerate(items)} | {item: d for d, item in enumerate(items)}
    documents = [document_of(item, topic) for item in items]
    return pooled(topic, place, documents, [system.ranked.get(topic, []) for system in systems])


def _refuse_strangers(fit: Fit, topics: Sequence[str], items: Sequence[str], systems: Sequence[System]) -> None:
    """Refuse a run that shares no topic with the fit, or no document."""
    known, named = set(topics), set(items)
    for system in systems:
        shared = known & system.ranked.keys()
        if not shared:
            theirs = quote(next(iter(system.ranked)))
            what = f"no topic of this run is one of the fit: its topics are such as {theirs}"
            raise InputError(f"{what}, the fit's such as {quote(topics[0])}", system.name)
        if not any(d in named or f"{t}_{d}" in named for t in shared for d in system.ranked[t]):
            theirs = quote(system.ranked[min(shared)][0])
            what = f"no document of this run was judged: its documents are such as {theirs}"
            raise InputError(f"{what}, judged items such as {quote(items[0])}", system.name)


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
