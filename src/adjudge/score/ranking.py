"""Ranking measures by name, and what they say of runs: ``nDCG@10`` reads as one says it.

Numbers are trec_eval's: the gain of a document is its grade, its discount log2(rank + 1); a document that nobody judged
has grade 0, and so has one below 0; a topic without a relevant document has the value 0, where strictly there is none.
``@k`` looks at the first k documents; AP@k and nDCG@k are its map_cut and ndcg_cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import UsageError, quote
from adjudge.kernels import ranking as kernels
from adjudge.kernels import ties

Kernel: TypeAlias = Callable[[Codes, Codes, Floats, Codes, float, int], Floats]
Expected: TypeAlias = Callable[[Codes, Codes, Codes, Floats, Codes, float, int], Floats]  # over the orders of ties

WHOLE = 2**31 - 1  # a cutoff beyond every ranking
LEVEL = 1.0  # the grade from which a document is relevant
USUAL = ("MAP", "nDCG@10", "P@10")


class Kind(NamedTuple):
    """A family of measures."""

    name: str
    kernel: Kernel
    expected: Expected
    summary: str
    cut: bool = False  # whether it has no meaning without a cutoff
    needs_relevant: bool = True  # whether it is not defined of a topic without a relevant document


KINDS: Mapping[str, Kind] = {
    kind.name.lower(): kind
    for kind in (
        Kind("MAP", kernels.average_precision, ties.average_precision, "mean over topics of average precision"),
        Kind(
            "MRR", kernels.reciprocal_rank, ties.reciprocal_rank, "mean of one over the first relevant document's rank"
        ),
        Kind(
            "nDCG",
            kernels.normalised_gain,
            ties.normalised_gain,
            "grades discounted by log2(rank + 1), as a share of the best order's",
        ),
        Kind(
            "P",
            kernels.precision,
            ties.precision,
            "share of relevant documents among the first",
            cut=True,
            needs_relevant=False,
        ),
        Kind("R", kernels.recall, ties.recall, "share of the relevant documents found among the first", cut=True),
    )
}
ALSO = {"ap": "map", "rr": "mrr", "ndcg_cut": "ndcg", "recip_rank": "mrr", "recall": "r", "precision": "p"}
EXAMPLES = ("MAP", "MRR", "nDCG", "nDCG@10", "P@10", "R@100")


class Measure(NamedTuple):
    """A measure that is asked for."""

    name: str
    kind: Kind
    cut: int  # how far down a ranking it looks


class Pool(NamedTuple):
    """One topic's documents: those judged, then those that only runs return."""

    topic: str
    documents: Sequence[str]  # (D)
    orders: Sequence[Codes]  # for each run, which documents it ranks, best first
    judged: int  # documents that were judged: the first so many


def measure(text: str) -> Measure:
    """Return the measure that a name such as ``nDCG@10`` asks for, in capitals or not."""
    match = re.fullmatch(r"\s*([a-z_]+)(?:@([0-9]{1,9}))?\s*", text.lower()) if text.isascii() else None
    kind = KINDS.get(ALSO.get(match[1], match[1])) if match else None
    if match is None or kind is None:
        raise UsageError(f"there is no measure {quote(text)}: known are {', '.join(EXAMPLES)}, and others after @")
    if match[2] is None and kind.cut:
        raise UsageError(f"measure {quote(text)} needs a cutoff, such as {kind.name}@10")
    if match[2] is not None and int(match[2]) == 0:
        raise UsageError(f"measure {quote(text)} looks at no document: its cutoff is 1 or more")
    return Measure(kind.name + (f"@{int(match[2])}" if match[2] else ""), kind, int(match[2] or WHOLE))


def measures(names: str | Sequence[str]) -> list[Measure]:
    """Return the measures named, in a list or set apart by commas, each once."""
    listed = [part for part in names.split(",") if part.strip()] if isinstance(names, str) else list(names)
    if not listed:
        raise UsageError(f"no measure is named: known are {', '.join(EXAMPLES)}, and others after @")
    return list({found.name: found for found in map(measure, listed)}.values())


def checked(level: float) -> float:
    """Return the grade from which a document is relevant, refusing one that documents nobody judged would reach."""
    if not 0 < level < np.inf:
        raise UsageError(f"level {level:g} is not a grade above 0, which a document has that nobody judged")
    return level


def pooled(topic: str, known: Mapping[str, int], judged: Sequence[str], runs: Sequence[Sequence[str]]) -> Pool:
    """Return a topic's documents and the order of every run; ``known`` is where each judged document stands."""
    place, documents = dict(known), list(judged)
    orders = []
    for ranked in runs:
        for document in ranked:
            if document not in place:
                place[document] = len(documents)
                documents.append(document)
        orders.append(np.array([place[document] for document in ranked], np.int64))
        if np.unique(orders[-1]).size < len(ranked):
            raise UsageError(f"a run has a document of topic {quote(topic)} twice, under two names")
    return Pool(topic, documents, orders, len(judged))


def values(
    orders: Sequence[Codes],
    code: Codes,
    worth: Floats,
    asked: Sequence[Measure],
    level: float = LEVEL,
    ends: Sequence[Codes] | None = None,
) -> Floats:
    """Return every run's value of every measure in every draw (R, M, S), of labels ``code`` (D, S) of one topic.

    Where each run's ties end is given for values that are expected over the orders of tied documents.
    """
    count = kernels.held(code, worth.size)
    found = np.zeros((len(orders), len(asked), code.shape[1]))
    for r, order in enumerate(orders):
        for m, one in enumerate(asked):
            if ends is None:
                found[r, m] = one.kind.kernel(code, order, worth, count, level, one.cut)
            else:
                found[r, m] = one.kind.expected(code, order, ends[r], worth, count, level, one.cut)
    return found


def without_relevant(code: Codes, worth: Floats, level: float = LEVEL) -> Flags:
    """Return in which draws no document of a topic is relevant (S)."""
    none: Flags = kernels.relevant(worth, kernels.held(code, worth.size), level) == 0
    return none
