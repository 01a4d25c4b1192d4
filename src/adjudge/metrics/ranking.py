"""Ranking measures of one topic, for many draws of its labels at once; trec_eval's conventions.

The order of a run is fixed and the labels vary, so that documents come first and draws second: a document's labels in
all draws lie side by side in memory, and every measure is one pass down the ranking. A label is a code into ``worth``,
the grades; a document is relevant where its grade is at least ``level``. All kernels take the same: the labels of the
topic's documents (D, S), which of them a run ranks (N), best first, the grades (K), how many documents have each label
(K, S), the level, and how far down the ranking counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import UsageError, quote
from adjudge.kernels.compiled import compiled


@compiled
def held(code: Codes, labels: int) -> Codes:
    """Return how many documents have each label (K, S) in every draw, from labels (D, S)."""
    count = np.zeros((labels, code.shape[1]), np.int64)
    for d in range(code.shape[0]):
        for s in range(code.shape[1]):
            count[code[d, s], s] += 1
    return count


@compiled
def relevant(worth: Floats, count: Codes, level: float) -> Floats:
    """Return how many documents are relevant in every draw (S)."""
    total = np.zeros(count.shape[1])
    for k in range(worth.size):
        if worth[k] >= level:
            for s in range(total.size):
                total[s] += count[k, s]
    return total


@compiled
def average_precision(code: Codes, order: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return the precisions at the relevant documents that are found, summed, a relevant document (S)."""
    total, found = np.zeros(code.shape[1]), np.zeros(code.shape[1])
    for d in range(min(order.size, cut)):
        label = code[order[d]]
        for s in range(total.size):
            if worth[label[s]] >= level:
                found[s] += 1
                total[s] += found[s] / (d + 1)
    return _shared(total, relevant(worth, count, level))


@compiled
def reciprocal_rank(code: Codes, order: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return one over the rank of the first relevant document (S), 0 where none is found."""
    value = np.zeros(code.shape[1])
    for d in range(min(order.size, cut)):
        label = code[order[d]]
        for s in range(value.size):
            if value[s] == 0 and worth[label[s]] >= level:
                value[s] = 1 / (d + 1)
    return value


@compiled
def precision(code: Codes, order: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return the share of relevant documents among the first (S); a ranking that is too short counts as if filled."""
    return _found(code, order, worth, level, cut) / cut


@compiled
def recall(code: Codes, order: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return the share of the relevant documents that is found among the first (S)."""
    return _shared(_found(code, order, worth, level, cut), relevant(worth, count, level))


@compiled
def normalised_gain(code: Codes, order: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return the grades found, each over log2(rank + 1), as a share of the best there can be (S): nDCG."""
    total, best = np.zeros(code.shape[1]), np.zeros(code.shape[1])
    for d in range(min(order.size, cut)):
        label, fall = code[order[d]], np.log2(d + 2.0)
        for s in range(total.size):
            if worth[label[s]] > 0:
                total[s] += worth[label[s]] / fall
    upto = np.zeros(code.shape[0] + 1)  # what the first so many ranks are worth to a document of grade 1
    for d in range(code.shape[0]):
        upto[d + 1] = upto[d] + (1 / np.log2(d + 2.0) if d < cut else 0.0)
    above = np.zeros(code.shape[1], np.int64)  # documents with higher grades
    for k in np.argsort(-worth):
        for s in range(best.size if worth[k] > 0 else 0):
            best[s] += worth[k] * (upto[above[s] + count[k, s]] - upto[above[s]])
            above[s] += count[k, s]
    return _shared(total, best)


@compiled
def _found(code: Codes, order: Codes, worth: Floats, level: float, cut: int) -> Floats:
    """Return how many of the first documents are relevant (S)."""
    found = np.zeros(code.shape[1])
    for d in range(min(order.size, cut)):
        label = code[order[d]]
        for s in range(found.size):
            found[s] += worth[label[s]] >= level
    return found


@compiled
def _shared(part: Floats, whole: Floats) -> Floats:
    """Return parts of wholes (S), 0 where the whole is 0: trec_eval's word for a topic without a relevant document."""
    for s in range(part.size):
        part[s] = part[s] / whole[s] if whole[s] > 0 else 0.0
    return part


# Ranking measures expected over the orders of tied documents (McSherry & Najork 2008).
#
# Documents with the same score may stand in any order, each with the same chance. Of n tied documents below i others,
# r of them relevant, every rank holds a relevant one with chance r / n; given that it does, each rank before it in
# the tie does with chance (r - 1) / (n - 1). Kernels take what those of ``kernels.ranking`` take, and where every tie
# ends (E).


@compiled
def ties_average_precision(
    code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int
) -> Floats:
    """Return expected average precision (S)."""
    whole = relevant(worth, count, level)
    value = np.zeros(whole.size)
    for s in range(whole.size):
        above, begin = 0.0, 0
        for end in ends:
            n, r = end - begin, _tied(code, order, begin, end, worth, level, s)
            for j in range(min(end, cut) - begin if r > 0 else 0):
                before = j * (r - 1) / (n - 1) if n > 1 else 0.0
                value[s] += r / n * (above + 1 + before) / (begin + j + 1)
            above += r
            begin = end
        value[s] = value[s] / whole[s] if whole[s] > 0 else 0.0
    return value


@compiled
def ties_reciprocal_rank(
    code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int
) -> Floats:
    """Return the expected reciprocal of the first relevant rank (S): it is in the first tie that has any."""
    value = np.zeros(code.shape[1])
    for s in range(value.size):
        begin = 0
        for end in ends:
            n, r = end - begin, _tied(code, order, begin, end, worth, level, s)
            none = 1.0  # the chance that no rank of the tie was relevant so far
            for j in range(min(end, cut) - begin if r > 0 else 0):
                here = none * min(1.0, r / (n - j))
                value[s] += here / (begin + j + 1)
                none -= here
            if r > 0:
                break
            begin = end
    return value


@compiled
def ties_precision(
    code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int
) -> Floats:
    """Return the expected share of relevant documents among the first (S)."""
    return _ties_found(code, order, ends, worth, level, cut) / cut


@compiled
def ties_recall(code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return the expected share of the relevant documents that is found among the first (S)."""
    whole = relevant(worth, count, level)
    return _ties_found(code, order, ends, worth, level, cut) / np.where(whole > 0, whole, 1.0)


@compiled
def ties_normalised_gain(
    code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int
) -> Floats:
    """Return expected nDCG (S): a tie's mean grade at each of its ranks, over the best there can be."""
    value = np.zeros(code.shape[1])
    best_first = np.argsort(-worth)
    for s in range(value.size):
        begin, best, rank = 0, 0.0, 0
        for end in ends:
            gain = 0.0
            for d in range(begin, end):
                gain += max(worth[code[order[d], s]], 0.0)
            for d in range(begin, min(end, cut)):
                value[s] += gain / (end - begin) / np.log2(d + 2.0)
            begin = end
        for k in best_first:
            for _ in range(count[k, s] if worth[k] > 0 else 0):
                best += worth[k] / np.log2(rank + 2.0) if rank < cut else 0.0
                rank += 1
        value[s] = value[s] / best if best > 0 else 0.0
    return value


@compiled
def _tied(code: Codes, order: Codes, begin: int, end: int, worth: Floats, level: float, s: int) -> float:
    """Return how many documents of a tie are relevant in a draw."""
    found = 0.0
    for d in range(begin, end):
        found += worth[code[order[d], s]] >= level
    return found


@compiled
def _ties_found(code: Codes, order: Codes, ends: Codes, worth: Floats, level: float, cut: int) -> Floats:
    """Return how many relevant documents are expected among the first (S)."""
    found = np.zeros(code.shape[1])
    for s in range(found.size):
        begin = 0
        for end in ends:
            if begin < cut:
                share = (min(end, cut) - begin) / (end - begin)
                found[s] += share * _tied(code, order, begin, end, worth, level, s)
            begin = end
    return found


# Ranking measures by name, and what they say of runs: ``nDCG@10`` reads as one says it.
#
# Numbers are trec_eval's: the gain of a document is its grade, its discount log2(rank + 1); a document that nobody
# judged has grade 0, and so has one below 0; a topic without a relevant document has the value 0, where strictly
# there is none. ``@k`` looks at the first k documents; AP@k and nDCG@k are its map_cut and ndcg_cut.

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
        Kind("MAP", average_precision, ties_average_precision, "mean over topics of average precision"),
        Kind("MRR", reciprocal_rank, ties_reciprocal_rank, "mean of one over the first relevant document's rank"),
        Kind(
            "nDCG",
            normalised_gain,
            ties_normalised_gain,
            "grades discounted by log2(rank + 1), as a share of the best order's",
        ),
        Kind(
            "P",
            precision,
            ties_precision,
            "share of relevant documents among the first",
            cut=True,
            needs_relevant=False,
        ),
        Kind("R", recall, ties_recall, "share of the relevant documents found among the first", cut=True),
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
    count = held(code, worth.size)
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
    none: Flags = relevant(worth, held(code, worth.size), level) == 0
    return none
