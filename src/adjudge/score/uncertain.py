"""Labels that are not certain, as draws: what a fit holds likely of every document that runs return.

Where a fit kept its truths (``adjudge fit --keep-truths``) these are joint draws from the posterior, in which documents
hang together: if a judge is worse than thought, all her documents move. Otherwise every document's truth is drawn from
its own posterior. A document that no judge saw has grade 0, as in trec_eval, or with ``prevalence`` a label drawn as
common as it is expected to be among the topic's judged documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import InputError, UsageError, quote, quoted
from adjudge.judgments.runs import System
from adjudge.judgments.trec import document_of
from adjudge.models.record import Fit
from adjudge.score.ranking import Pool, pooled

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
