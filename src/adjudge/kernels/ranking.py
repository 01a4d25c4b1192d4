"""Ranking measures of one topic, for many draws of its labels at once; trec_eval's conventions.

The order of a run is fixed and the labels vary, so that documents come first and draws second: a document's labels in
all draws lie side by side in memory, and every measure is one pass down the ranking. A label is a code into ``worth``,
the grades; a document is relevant where its grade is at least ``level``. All kernels take the same: the labels of the
topic's documents (D, S), which of them a run ranks (N), best first, the grades (K), how many documents have each label
(K, S), the level, and how far down the ranking counts.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
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
