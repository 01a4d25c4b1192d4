"""Labels drawn from the posterior of a fit.

If a fit stored its truths (``adjudge fit --keep-truths``), labels are joint draws from the posterior, in which
documents are correlated: if a judge is worse than thought, all their documents change. Those of a calibrated fit, as
``adjudge fit`` makes it by default, are drawn from what judges and runs say together, with a judges' scale that is
uncertain (``label_chances``). Otherwise every document's truth is drawn from its own posterior. A document that nobody
judged has grade 0, as in trec_eval, or with ``prevalence`` a label drawn by its expected share among the topic's judged
documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.runs import System
from adjudge.data.trec import document_of
from adjudge.errors import InputError, UsageError, not_one_of, quote
from adjudge.evaluation.label_chances import POINTS, label_chances, label_prevalence, uses_runs
from adjudge.inference.result import Fit
from adjudge.metrics.ranking import LEVEL, Pool, check_level, pool_documents

UNJUDGED = ("zero", "prevalence")
SAME = 1e-12  # differences below this are rounding


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
        raise UsageError(not_one_of("unjudged", unjudged, UNJUDGED))


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
