"""Labels drawn from the posterior of a fit, and the documents whose labels decide between two search systems.

If a fit stored its truths (``adjudge fit --keep-truths``), labels are joint draws from the posterior, in which
documents are correlated: if a judge is worse than thought, all their documents change. Those of a calibrated fit, as
``adjudge fit`` makes it by default, are drawn from what judges and runs say together, with a judges' scale that is
uncertain (``label_chances``). Otherwise every document's truth is drawn from its own posterior. A document that nobody
judged has grade 0, as in trec_eval, or with ``prevalence`` a label drawn by its expected share among the topic's judged
documents.

A document decides by what its label does to the difference of two systems. In draws of all other labels its own is set
to each label in turn, and the draws in which the first system is better are counted. Documents are ranked by how far
this chance moves, on average over the possible labels. If there are too many documents for all draws, some of the draws
give the expected difference with each label, and the chance follows from a normal approximation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.runs import System
from adjudge.data.trec import document_of
from adjudge.errors import InputError, UsageError, quote, quoted
from adjudge.evaluation.label_chances import POINTS, label_chances, label_prevalence, uses_runs
from adjudge.inference.result import Fit
from adjudge.metrics.ranking import LEVEL, Measure, Pool, check_level, pool_documents, values

UNJUDGED = ("zero", "prevalence")
SAME = 1e-12  # differences below this are rounding
CERTAIN = 1 - 1e-4  # chance of a label from which the document is not asked about
MOST_WORK = 1_000_000_000  # labels that are evaluated, at most, to find the documents that decide
FEWEST_DRAWS = 8  # for that


class LabelledTopic(NamedTuple):
    """A topic's documents with draws of their labels."""

    pool: Pool
    code: Codes  # (D, S) labels; K is grade 0 of a document that nobody judged
    chance: Floats  # (D, K) of every label


def stored_draws(fit: Fit, draws: int) -> Codes | None:
    """Return the indices of the stored truths that are used, evenly spread over the chains; None if there are none.

    Stored truths do not include calibration, so the truths of a calibrated fit are drawn from its probabilities.
    """
    calibrated = fit.calibration is not None and fit.calibration.changes
    if fit.draws is None or not fit.draws.truth.size or calibrated:
        return None
    stored = fit.draws.truth.shape[0] * fit.draws.truth.shape[1]
    return np.linspace(0, stored - 1, min(draws, stored)).round().astype(np.int64)


def grades_for(fit: Fit, level: float) -> Floats:
    """Return the grade of every label and, last, that of a document that nobody judged (K + 1).

    A level that no label reaches is refused.
    """
    if max(fit.scale.values) < check_level(level):
        grades = ", ".join(f"{value:g}" for value in fit.scale.values)
        raise UsageError(f"no label is relevant at level {level:g}: the grades of the fit are {grades}")
    return np.array([*fit.scale.values, 0.0])


def draw_labels(
    fit: Fit,
    systems: Sequence[System],
    *,
    draws: int,
    seed: int,
    unjudged: str = "zero",
    complete: bool = False,
    level: float = LEVEL,
    judgments: Judgments | None = None,
) -> Iterator[LabelledTopic]:
    """Yield every topic of the fit that a run has, or with ``complete`` every topic of the fit, with drawn labels.

    With the ``judgments`` that the fit was made from, the prevalence of labels may be estimated again.
    """
    check_unjudged(unjudged)
    chosen, rng = stored_draws(fit, draws), np.random.default_rng(seed)
    pooled = list(pools(fit, systems, complete))
    if chosen is not None or not uses_runs(fit):
        for pool, item in pooled:
            judged = draw_codes(fit.posterior[item], draws, rng) if chosen is None else _stored_codes(fit, item, chosen)
            yield _labelled(pool, judged, fit.posterior[item], unjudged, rng)
        return
    points = min(POINTS, draws)
    chances = label_chances(fit, pooled, grades_for(fit, level), level, label_prevalence(fit, judgments), points, rng)
    sizes = np.diff(np.linspace(0, draws, points + 1).round().astype(np.int64)).tolist()  # draws at each point
    edges = np.cumsum([0, *(item.size for _, item in pooled)]).tolist()
    for (pool, _), first, last in zip(pooled, edges, edges[1:], strict=False):
        part = slice(first, last)
        drawn = [draw_codes(chances.at(point, part), size, rng) for point, size in enumerate(sizes)]
        yield _labelled(pool, np.concatenate(drawn, axis=1), chances.mean(part), unjudged, rng)


def check_unjudged(unjudged: str) -> None:
    """Refuse an unknown treatment of documents that nobody judged."""
    if unjudged not in UNJUDGED:
        raise UsageError(f"unjudged {unjudged!r} is not one of {quoted(UNJUDGED)}")


def pools(fit: Fit, systems: Sequence[System], complete: bool) -> Iterator[tuple[Pool, Codes]]:
    """Yield the documents of every topic that a run has, or of every topic; the first of them are items of the fit."""
    if fit.topics is None or fit.topic is None:
        raise UsageError("the fit has no topics: fit judgments with a column of topics (--topic)")
    names, items = fit.topics.cast(str).to_list(), fit.items.cast(str).to_list()
    _refuse_strangers(fit, names, items, systems)
    order = np.argsort(fit.topic, kind="stable")
    edges = np.searchsorted(fit.topic[order], np.arange(len(names) + 1))
    for t, topic in enumerate(names):
        item = order[edges[t] : edges[t + 1]]
        if item.size and (complete or any(topic in system.ranked for system in systems)):
            yield _pool(topic, [items[i] for i in item], systems), item


def _labelled(pool: Pool, judged: Codes, chance: Floats, unjudged: str, rng: np.random.Generator) -> LabelledTopic:
    """Return a topic's documents with drawn labels, from those of the judged ones (D', S) and their chances (D', K)."""
    strange = len(pool.documents) - len(judged)
    common = np.tile(chance.mean(axis=0), (strange, 1))  # of documents that nobody judged
    if unjudged == "prevalence":
        rest = draw_codes(common, judged.shape[1], rng)
    else:
        rest = np.full((strange, judged.shape[1]), chance.shape[1], np.uint16)
    return LabelledTopic(pool, np.concatenate([judged, rest]), np.concatenate([chance, common]))


def draw_codes(chance: Floats, draws: int, rng: np.random.Generator) -> Codes:
    """Return drawn labels (D, S), each document's from its own chances (D, K)."""
    edges = chance.cumsum(axis=1)
    at = rng.random((chance.shape[0], draws)) * edges[:, -1:]  # the chances may sum to a little less than 1
    code = np.zeros(at.shape, np.uint16)
    for k in range(chance.shape[1] - 1):
        code += at >= edges[:, k, None]
    return code


def _stored_codes(fit: Fit, item: Codes, chosen: Codes) -> Codes:
    """Return the stored truths of some items (D, S), without unpacking those of all others."""
    assert fit.draws is not None
    bits = fit.draws.truth.reshape(-1, *fit.draws.truth.shape[2:])[chosen][:, :, item >> 3]  # (S, B, D)
    planes = bits >> (7 - (item & 7)).astype(np.uint8) & 1
    code = np.zeros((item.size, chosen.size), np.uint16)
    for b in range(planes.shape[1]):
        code |= planes[:, b].T.astype(np.uint16) << np.uint16(b)
    return code


def _pool(topic: str, items: Sequence[str], systems: Sequence[System]) -> Pool:
    """Return the documents of a topic; a run may name them as the fit does, or without the topic."""
    codes = {document_of(item, topic): d for d, item in enumerate(items)} | {item: d for d, item in enumerate(items)}
    documents = [document_of(item, topic) for item in items]
    return pool_documents(topic, codes, documents, [system.ranked.get(topic, []) for system in systems])


def _refuse_strangers(fit: Fit, topics: Sequence[str], items: Sequence[str], systems: Sequence[System]) -> None:
    """Refuse a run that shares no topic with the fit, or no document."""
    judged = set(items)
    for system in systems:
        shared = set(topics) & system.ranked.keys()
        if not shared:
            theirs, ours = quote(next(iter(system.ranked))), quote(topics[0])
            message = f"no topic of this run is in the fit: the run has topics such as {theirs}, the fit such as {ours}"
            raise InputError(message, system.name)
        if not any(d in judged or f"{t}_{d}" in judged for t in shared for d in system.ranked[t]):
            theirs, ours = quote(system.ranked[min(shared)][0]), quote(items[0])
            message = (
                f"no document of this run was judged: the run has documents such as {theirs}, the fit such as {ours}"
            )
            raise InputError(message, system.name)


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


def deciding_documents(
    topics: Sequence[LabelledTopic],
    worth: Floats,
    measure: Measure,
    level: float,
    between: tuple[int, int],
    value: Floats,
    unjudged: str,
) -> list[Deciding]:
    """Return every document with an uncertain label, and how far knowing the label would move the decision."""
    uncertain = [_uncertain_documents(topic, between) for topic in topics]
    K, T = worth.size - 1, len(topics)
    work = sum(which.size * topic.code.shape[0] for which, topic in zip(uncertain, topics, strict=True)) * K * 3
    draws = int(np.clip(MOST_WORK // max(work, 1), FEWEST_DRAWS, value.shape[3]))
    apart = value[between[0], 0] - value[between[1], 0]  # (T, S)
    documents = []
    for t, (which, topic) in enumerate(zip(uncertain, topics, strict=True)):
        orders = [topic.pool.orders[r] for r in between]
        fixed = _fixed_labels(which, topic.pool.judged, orders, topic.code[:, :draws], worth, measure, level)
        shift = (fixed - apart[t, :draws]) / T  # (Q, K + 1, S')
        effect = shift.mean(axis=2)
        assumed = (which >= topic.pool.judged) & (unjudged == "zero")
        moves = _moves(shift, topic.chance[which], assumed, apart.mean(axis=0))
        swing = effect[:, np.argmax(worth[:K])] - effect[:, np.argmin(worth[:K])]
        relevance = topic.chance[which] @ (worth[:K] >= level)
        ranks = [{int(d): n for n, d in enumerate(order, 1)} for order in orders]
        for q, d in enumerate(which.tolist()):
            numbers = float(relevance[q]), ranks[0].get(d), ranks[1].get(d), float(swing[q]), float(moves[q])
            name, judged = topic.pool.documents[d], d < topic.pool.judged
            documents.append(Deciding(topic.pool.topic, name, judged, *numbers))
    return documents


def importance(document: Deciding) -> tuple[float, float]:
    """Return the sort key of documents: how far they move the chance, then how far the difference."""
    return -document.moves, -abs(document.effect) * document.chance * (1 - document.chance)


def _uncertain_documents(topic: LabelledTopic, between: tuple[int, int]) -> Codes:
    """Return the documents of a topic with uncertain labels; unjudged ones only if one of the two runs returns them."""
    uncertain = topic.chance.max(axis=1) < CERTAIN
    returned = np.zeros(uncertain.size, bool)
    for r in between:
        returned[topic.pool.orders[r]] = True
    returned[: topic.pool.judged] = True
    return np.flatnonzero(uncertain & returned)


def _fixed_labels(
    which: Codes, judged: int, orders: Sequence[Codes], code: Codes, worth: Floats, measure: Measure, level: float
) -> Floats:
    """Return the difference of two runs in a topic if each of these documents has each label (Q, K + 1, S').

    The last label is grade 0 of a document that nobody judged, and only for these.
    """
    fixed, difference = code.copy(), np.zeros((which.size, worth.size, code.shape[1]))
    for q, d in enumerate(which):
        for k in range(worth.size if d >= judged else worth.size - 1):
            fixed[d] = k
            first, second = values(orders, fixed, worth, [measure], level)[:, 0]
            difference[q, k] = first - second
        fixed[d] = code[d]
    return difference


def _moves(shift: Floats, chance: Floats, assumed: Flags, difference: Floats) -> Floats:
    """Return how far the chance that the difference (S) is above 0 moves, on average over each document's label (Q).

    ``shift`` (Q, K + 1, S') is the effect of each label on the difference, in all draws or in the first of them.
    """
    K, all_drawn = chance.shape[1], shift.shape[2] == difference.size
    if all_drawn:
        better = (difference + shift[:, :K] > SAME).mean(axis=2)  # (Q, K)
        now = float((difference > SAME).mean())
    else:
        effect = shift[:, :K].mean(axis=2)
        effect -= np.where(assumed, 0.0, (chance * effect).sum(axis=1))[
            :, None
        ]  # the mean already includes drawn labels
        part = np.where(assumed, 0.0, (chance * effect**2).sum(axis=1))  # and so does the variance
        mean, variance = difference.mean(), difference.var()
        better = _above(mean + effect, np.maximum(variance - part, 0.0)[:, None])
        now = float(_above(np.array(mean), np.array(variance)))
    before = np.where(assumed, now, (chance * better).sum(axis=1))
    moves: Floats = (chance * abs(better - before[:, None])).sum(axis=1)
    return np.where(moves < SAME, 0.0, moves)


def _above(mean: Floats, variance: Floats) -> Floats:
    """Return the chance that a normal variable is above 0; without variance 0 or 1, or one half if the mean is 0."""
    spread = np.sqrt(np.broadcast_to(variance, mean.shape))
    certain = np.where(mean > SAME, 1.0, np.where(mean < -SAME, 0.0, 0.5))
    chance: Floats = np.where(spread > SAME, ndtr(mean / np.maximum(spread, SAME)), certain)
    return chance
