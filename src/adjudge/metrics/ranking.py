"""Ranking measures by name, such as ``nDCG@10``, of one topic for many draws of its labels at once.

Numbers are those of trec_eval: the gain of a document is its grade, its discount log2(rank + 1); a document that nobody
judged has grade 0, as has one with a negative grade; a topic without a relevant document has the value 0, although
strictly it has none. ``@k`` uses the first k documents; AP@k and nDCG@k are trec_eval's map_cut and ndcg_cut.

The order of a run is fixed and the labels vary, so arrays have documents first and draws second, and every measure is
one pass down the ranking. A label is a code into ``worth``, the grades; a document is relevant if its grade is at least
``level``. All kernels take the labels of the topic's documents (D, S), the documents that a run ranks (N), best first,
the grades (K), the number of documents with each label (K, S), the level, and the cutoff.

Kernels named ``expected_...`` take the expectation over all orders of tied documents (McSherry & Najork 2008):
documents with the same score have a random order. Of n tied documents below i others, r of them relevant, every rank
holds a relevant one with chance r / n, and given that, each earlier rank of the tie does with chance (r - 1) / (n - 1).
These kernels also take the end of every tie (E).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.runs import as_single
from adjudge.errors import UsageError, quote
from adjudge.kernels.compiled import compiled


@compiled
def label_counts(code: Codes, labels: int) -> Codes:
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
    """Return average precision (S): the precisions at the relevant documents, summed, per relevant document."""
    total, relevant_so_far = np.zeros(code.shape[1]), np.zeros(code.shape[1])
    for d in range(min(order.size, cut)):
        label = code[order[d]]
        for s in range(total.size):
            if worth[label[s]] >= level:
                relevant_so_far[s] += 1
                total[s] += relevant_so_far[s] / (d + 1)
    return _divide(total, relevant(worth, count, level))


@compiled
def reciprocal_rank(code: Codes, order: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return one over the rank of the first relevant document (S), 0 if there is none."""
    value = np.zeros(code.shape[1])
    for d in range(min(order.size, cut)):
        label = code[order[d]]
        for s in range(value.size):
            if value[s] == 0 and worth[label[s]] >= level:
                value[s] = 1 / (d + 1)
    return value


@compiled
def precision(code: Codes, order: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return the share of relevant documents among the first (S); a short ranking is filled with irrelevant ones."""
    return _count_relevant(code, order, worth, level, cut) / cut


@compiled
def recall(code: Codes, order: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return the share of the relevant documents that are among the first (S)."""
    return _divide(_count_relevant(code, order, worth, level, cut), relevant(worth, count, level))


@compiled
def normalised_gain(code: Codes, order: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return nDCG (S): the grades, each over log2(rank + 1), as a share of the best possible order."""
    total, best = np.zeros(code.shape[1]), np.zeros(code.shape[1])
    for d in range(min(order.size, cut)):
        label, fall = code[order[d]], np.log2(d + 2.0)
        for s in range(total.size):
            if worth[label[s]] > 0:
                total[s] += worth[label[s]] / fall
    upto = np.zeros(code.shape[0] + 1)  # cumulative discounts
    for d in range(code.shape[0]):
        upto[d + 1] = upto[d] + (1 / np.log2(d + 2.0) if d < cut else 0.0)
    above = np.zeros(code.shape[1], np.int64)  # documents with higher grades
    for k in np.argsort(-worth):
        for s in range(best.size if worth[k] > 0 else 0):
            best[s] += worth[k] * (upto[above[s] + count[k, s]] - upto[above[s]])
            above[s] += count[k, s]
    return _divide(total, best)


@compiled
def _count_relevant(code: Codes, order: Codes, worth: Floats, level: float, cut: int) -> Floats:
    """Return how many of the first documents are relevant (S)."""
    number = np.zeros(code.shape[1])
    for d in range(min(order.size, cut)):
        label = code[order[d]]
        for s in range(number.size):
            number[s] += worth[label[s]] >= level
    return number


@compiled
def _divide(part: Floats, total: Floats) -> Floats:
    """Return parts of totals (S), 0 if the total is 0, as trec_eval does for a topic without a relevant document."""
    for s in range(part.size):
        part[s] = part[s] / total[s] if total[s] > 0 else 0.0
    return part


@compiled
def expected_average_precision(
    code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int
) -> Floats:
    """Return expected average precision (S)."""
    total = relevant(worth, count, level)
    value = np.zeros(total.size)
    for s in range(total.size):
        above, begin = 0.0, 0
        for end in ends:
            n, r = end - begin, _tied(code, order, begin, end, worth, level, s)
            for j in range(min(end, cut) - begin if r > 0 else 0):
                before = j * (r - 1) / (n - 1) if n > 1 else 0.0
                value[s] += r / n * (above + 1 + before) / (begin + j + 1)
            above += r
            begin = end
        value[s] = value[s] / total[s] if total[s] > 0 else 0.0
    return value


@compiled
def expected_reciprocal_rank(
    code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int
) -> Floats:
    """Return the expected reciprocal rank (S); the first relevant document is in the first tie that has any."""
    value = np.zeros(code.shape[1])
    for s in range(value.size):
        begin = 0
        for end in ends:
            n, r = end - begin, _tied(code, order, begin, end, worth, level, s)
            none = 1.0  # the chance that no earlier rank of the tie is relevant
            for j in range(min(end, cut) - begin if r > 0 else 0):
                first = none * min(1.0, r / (n - j))
                value[s] += first / (begin + j + 1)
                none -= first
            if r > 0:
                break
            begin = end
    return value


@compiled
def expected_precision(
    code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int
) -> Floats:
    """Return the expected share of relevant documents among the first (S)."""
    return _expected_relevant(code, order, ends, worth, level, cut) / cut


@compiled
def expected_recall(
    code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int
) -> Floats:
    """Return the expected share of the relevant documents that are among the first (S)."""
    total = relevant(worth, count, level)
    return _expected_relevant(code, order, ends, worth, level, cut) / np.where(total > 0, total, 1.0)


@compiled
def expected_normalised_gain(
    code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int
) -> Floats:
    """Return expected nDCG (S): a tie's mean grade at each of its ranks, over the best possible order."""
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
    number = 0.0
    for d in range(begin, end):
        number += worth[code[order[d], s]] >= level
    return number


@compiled
def _expected_relevant(code: Codes, order: Codes, ends: Codes, worth: Floats, level: float, cut: int) -> Floats:
    """Return the expected number of relevant documents among the first (S)."""
    number = np.zeros(code.shape[1])
    for s in range(number.size):
        begin = 0
        for end in ends:
            if begin < cut:
                share = (min(end, cut) - begin) / (end - begin)
                number[s] += share * _tied(code, order, begin, end, worth, level, s)
            begin = end
    return number


Kernel: TypeAlias = Callable[[Codes, Codes, Floats, Codes, float, int], Floats]
Expected: TypeAlias = Callable[[Codes, Codes, Codes, Floats, Codes, float, int], Floats]  # over the orders of ties

NO_CUTOFF = 2**31 - 1  # beyond every ranking
LEVEL = 1.0  # the grade from which a document is relevant
DEFAULT = ("MAP", "nDCG@10", "P@10")


class Kind(NamedTuple):
    """A family of measures."""

    name: str
    kernel: Kernel
    expected: Expected
    summary: str
    cut: bool = False  # whether it needs a cutoff
    needs_relevant: bool = True  # whether it is not defined for a topic without a relevant document


KINDS: Mapping[str, Kind] = {
    kind.name.lower(): kind
    for kind in (
        Kind("MAP", average_precision, expected_average_precision, "mean over topics of average precision"),
        Kind(
            "MRR", reciprocal_rank, expected_reciprocal_rank, "mean of one over the rank of the first relevant document"
        ),
        Kind(
            "nDCG",
            normalised_gain,
            expected_normalised_gain,
            "grades discounted by log2(rank + 1), as a share of the best order's",
        ),
        Kind(
            "P",
            precision,
            expected_precision,
            "share of relevant documents among the first",
            cut=True,
            needs_relevant=False,
        ),
        Kind("R", recall, expected_recall, "share of the relevant documents that are among the first", cut=True),
    )
}
ALIASES = {"ap": "map", "rr": "mrr", "ndcg_cut": "ndcg", "recip_rank": "mrr", "recall": "r", "precision": "p"}
EXAMPLES = ("MAP", "MRR", "nDCG", "nDCG@10", "P@10", "R@100")


class Measure(NamedTuple):
    """A measure with its cutoff."""

    name: str
    kind: Kind
    cut: int  # documents that count


class Pool(NamedTuple):
    """One topic's documents: first the judged ones, then those that only runs return."""

    topic: str
    documents: Sequence[str]  # (D)
    orders: Sequence[Codes]  # for each run, the documents that it ranks, best first
    judged: int  # number of judged documents


def parse_measure(text: str) -> Measure:
    """Return the measure with a name such as ``nDCG@10``, in upper or lower case.

    >>> measure = parse_measure("ndcg@10")
    >>> measure.name, measure.cut
    ('nDCG@10', 10)
    """
    match = re.fullmatch(r"\s*([a-z_]+)(?:@([0-9]{1,9}))?\s*", text.lower()) if text.isascii() else None
    family, cut = match.groups() if match else ("", None)
    kind = KINDS.get(ALIASES.get(family, family))
    if kind is None:
        raise UsageError(
            f"there is no measure {quote(text)}: measures are {', '.join(EXAMPLES)}, with any number after @"
        )
    if cut is None:
        if kind.cut:
            raise UsageError(f"measure {quote(text)} needs a cutoff, such as {kind.name}@10")
        return Measure(kind.name, kind, NO_CUTOFF)
    if int(cut) == 0:
        raise UsageError(f"measure {quote(text)} has the cutoff 0: the cutoff is 1 or more")
    return Measure(f"{kind.name}@{int(cut)}", kind, int(cut))


def parse_measures(names: str | Sequence[str]) -> list[Measure]:
    """Return the named measures, from a list or separated by commas, each once."""
    listed = [part for part in names.split(",") if part.strip()] if isinstance(names, str) else list(names)
    if not listed:
        raise UsageError(f"no measure is named: measures are {', '.join(EXAMPLES)}, with any number after @")
    return list({each.name: each for each in map(parse_measure, listed)}.values())


def check_level(level: float) -> float:
    """Return the grade from which a document is relevant; refuse 0, the grade of documents that nobody judged."""
    if not 0 < level < np.inf:
        raise UsageError(f"level {level:g} is not above 0, the grade of a document that nobody judged")
    return level


def pool_documents(topic: str, codes: Mapping[str, int], judged: Sequence[str], runs: Sequence[Sequence[str]]) -> Pool:
    """Return a topic's documents and the order of every run; ``codes`` holds the index of each judged document."""
    index, documents = dict(codes), list(judged)
    orders = []
    for ranked in runs:
        for document in ranked:
            if document not in index:
                index[document] = len(documents)
                documents.append(document)
        orders.append(np.array([index[document] for document in ranked], np.int64))
        if np.unique(orders[-1]).size < len(ranked):
            raise UsageError(f"a run has a document of topic {quote(topic)} twice, under two names")
    return Pool(topic, documents, orders, len(judged))


def values(
    orders: Sequence[Codes],
    code: Codes,
    worth: Floats,
    measures: Sequence[Measure],
    level: float = LEVEL,
    ends: Sequence[Codes] | None = None,
) -> Floats:
    """Return every run's value of every measure in every draw (R, M, S), from labels ``code`` (D, S) of one topic.

    With the ``ends`` of each run's ties, values are expected over the orders of tied documents.
    """
    count = label_counts(code, worth.size)
    value = np.zeros((len(orders), len(measures), code.shape[1]))
    for r, order in enumerate(orders):
        for m, each in enumerate(measures):
            if ends is None:
                value[r, m] = each.kind.kernel(code, order, worth, count, level, each.cut)
            else:
                value[r, m] = each.kind.expected(code, order, ends[r], worth, count, level, each.cut)
    return value


def topic_values(
    score: Floats,
    grade: Floats,
    topic: Codes,
    documents: Sequence[str],
    measures: Sequence[Measure],
    level: float = LEVEL,
) -> tuple[Floats, int]:
    """Return every measure in every topic (M, T) that has documents, and how many topics have no relevant one.

    Documents have a score, a grade and the code of a topic (D). Those of a topic are ranked as in trec_eval: scores are
    compared as 32-bit floats, and equal ones are ordered by the name of the document, last first.
    """
    worth, code = np.unique(grade, return_inverse=True)
    by_name = np.empty(score.size, np.int64)
    by_name[sorted(range(score.size), key=documents.__getitem__)] = np.arange(score.size)
    order = np.lexsort((-by_name, -as_single(score), topic))
    bounds = np.flatnonzero(np.diff(topic[order], prepend=-1, append=-1))  # (T + 1)
    parts, barren = [], 0
    for begin, end in pairwise(bounds.tolist()):
        labels = code[order[begin:end], None].astype(np.uint16)
        parts.append(values([np.arange(end - begin)], labels, worth, measures, level)[0])  # (M, 1)
        barren += int(without_relevant(labels, worth, level)[0])
    return np.concatenate(parts, axis=1), barren


def without_relevant(code: Codes, worth: Floats, level: float = LEVEL) -> Flags:
    """Return in which draws no document of a topic is relevant (S)."""
    none: Flags = relevant(worth, label_counts(code, worth.size), level) == 0
    return none
