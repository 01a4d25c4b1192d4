"""Compiled loops of ranking measures: one topic, one run, and many draws of the labels at once.

The order of a run is fixed and the labels vary, so arrays have documents first and draws second, and every measure is
one pass down the ranking. All kernels take the gain of every document in every draw (D, S), which ``metrics.ranking``
makes from labels, and the documents that a run ranks (N), best first.

Kernels named ``tied_...`` take the expectation over all orders of tied documents (McSherry & Najork 2008): documents
with the same score have a random order. They also take the end of every tie (E).
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.compiled import compiled

UNSEEN = 1e-5  # infAP: judged documents that are added above every rank, relevant and not (trec_eval)


@compiled
def label_counts(code: Codes, labels: int) -> Codes:
    """Return how many documents have each label (K, S) in every draw, from labels (D, S)."""
    count = np.zeros((labels, code.shape[1]), np.int64)
    for d in range(code.shape[0]):
        for s in range(code.shape[1]):
            count[code[d, s], s] += 1
    return count


@compiled
def gains_of(code: Codes, gain: Floats) -> Floats:
    """Return the gain of every document in every draw (D, S), from labels (D, S) and the gain of every label (K)."""
    result = np.empty(code.shape)
    for d in range(code.shape[0]):
        for s in range(code.shape[1]):
            result[d, s] = gain[code[d, s]]
    return result


@compiled
def ideal_gain(gain: Floats, count: Codes, discount: Floats) -> Floats:
    """Return the discounted gain of the best order (S), from the gain of labels (K) and their counts (K, S)."""
    best = np.zeros(count.shape[1])
    upto = np.zeros(discount.size + 1)  # cumulative discounts
    for n in range(discount.size):
        upto[n + 1] = upto[n] + discount[n]
    above = np.zeros(count.shape[1], np.int64)  # documents with higher gains
    for k in np.argsort(-gain):
        for s in range(best.size if gain[k] > 0 else 0):
            begin, end = min(above[s], discount.size), min(above[s] + count[k, s], discount.size)
            best[s] += gain[k] * (upto[end] - upto[begin])
            above[s] += count[k, s]
    return best


@compiled
def discounted_gain(gain: Floats, order: Codes, discount: Floats) -> Floats:
    """Return the sum of gains (S), each times the discount (n) of its rank; later ranks do not count."""
    value = np.zeros(gain.shape[1])
    for n in range(min(order.size, discount.size)):
        document_gain, weight = gain[order[n]], discount[n]
        for s in range(value.size):
            value[s] += document_gain[s] * weight
    return value


@compiled
def tied_discounted_gain(gain: Floats, order: Codes, ends: Codes, discount: Floats) -> Floats:
    """Return the expected sum of discounted gains (S): a tie's mean gain at each of its ranks."""
    value = np.zeros(gain.shape[1])
    for s in range(value.size):
        begin = 0
        for end in ends:
            total = _sum(gain, order, begin, end, s)
            for n in range(begin, min(end, discount.size)):
                value[s] += total / (end - begin) * discount[n]
            begin = end
    return value


@compiled
def cascade(gain: Floats, order: Codes, reward: Floats) -> Floats:
    """Return the expected reward (S) of a user who stops at a document with the chance that is its gain."""
    value, come = np.zeros(gain.shape[1]), np.ones(gain.shape[1])
    for n in range(min(order.size, reward.size)):
        stop, worth = gain[order[n]], reward[n]
        for s in range(value.size):
            value[s] += come[s] * stop[s] * worth
            come[s] *= 1 - stop[s]
    return value


@compiled
def tied_cascade(gain: Floats, order: Codes, ends: Codes, reward: Floats) -> Floats:
    """Return the expected reward (S) over all orders of ties.

    ``pass_by[j]`` is the chance to pass j random documents of a tie: the mean over its subsets of j documents of the
    product of 1 - gain. It is updated document by document.
    """
    value = np.zeros(gain.shape[1])
    for s in range(value.size):
        begin, come = 0, 1.0
        for end in ends:
            pass_by = np.zeros(end - begin + 1)
            pass_by[0] = 1.0
            for m in range(1, end - begin + 1):
                on = 1 - gain[order[begin + m - 1], s]
                for j in range(m, 0, -1):
                    pass_by[j] = ((m - j) * pass_by[j] + j * on * pass_by[j - 1]) / m
            for n in range(begin, min(end, reward.size)):
                value[s] += come * (pass_by[n - begin] - pass_by[n - begin + 1]) * reward[n]
            come *= pass_by[end - begin]
            begin = end
    return value


@compiled
def average_precision(gain: Floats, order: Codes, total: Floats, cut: int) -> Floats:
    """Return average precision (S): the precisions at the relevant documents, summed, per relevant document."""
    value, relevant = np.zeros(gain.shape[1]), np.zeros(gain.shape[1])
    for n in range(min(order.size, cut)):
        document_gain = gain[order[n]]
        for s in range(value.size):
            relevant[s] += document_gain[s]
            value[s] += document_gain[s] * relevant[s] / (n + 1)
    return divide(value, total)


@compiled
def tied_average_precision(gain: Floats, order: Codes, ends: Codes, total: Floats, cut: int) -> Floats:
    """Return expected average precision (S).

    Of n tied documents, r of them relevant, every rank holds a relevant one with chance r / n, and given that, each
    earlier rank of the tie does with chance (r - 1) / (n - 1).
    """
    value = np.zeros(total.size)
    for s in range(total.size):
        above, begin = 0.0, 0
        for end in ends:
            n, r = end - begin, _sum(gain, order, begin, end, s)
            for j in range(min(end, cut) - begin if r > 0 else 0):
                before = j * (r - 1) / (n - 1) if n > 1 else 0.0
                value[s] += r / n * (above + 1 + before) / (begin + j + 1)
            above += r
            begin = end
    return divide(value, total)


@compiled
def tied_precision_at_total(gain: Floats, order: Codes, ends: Codes, total: Floats) -> Floats:
    """Return the expected precision (S) after as many documents as are relevant."""
    value = np.zeros(total.size)
    for s in range(total.size):
        begin = 0
        for end in ends:
            if begin < total[s]:
                share = (min(float(end), total[s]) - begin) / (end - begin)
                value[s] += share * _sum(gain, order, begin, end, s)
            begin = end
    return divide(value, total)


@compiled
def binary_preference(gain: Floats, order: Codes, total: Floats) -> Floats:
    """Return Bpref (S): how few of the judged irrelevant documents are above the relevant ones.

    Gains are 1 of a relevant document, 0 of an irrelevant one, and negative of one that was not judged.
    """
    value = np.zeros(total.size)
    for s in range(total.size):
        irrelevant = 0
        for d in range(gain.shape[0]):
            irrelevant += gain[d, s] == 0
        most, above = min(irrelevant, int(total[s])), 0
        for n in range(order.size):
            document_gain = gain[order[n], s]
            if document_gain > 0:
                value[s] += 1 - min(above, int(total[s])) / most if above else 1.0
            above += document_gain == 0
    return divide(value, total)


@compiled
def inferred_average_precision(gain: Floats, order: Codes, total: Floats) -> Floats:
    """Return infAP (S): average precision in which documents of the pool are as often relevant as the judged ones.

    Gains are 1 of a relevant document, 0 of an irrelevant one, -1 of one in the pool that was not judged, and -2 of
    one outside the pool.
    """
    value = np.zeros(total.size)
    for s in range(total.size):
        relevant, judged, pooled = 0, 0, 0
        for n in range(order.size):
            document_gain = gain[order[n], s]
            if document_gain > 0:
                share = (relevant + UNSEEN) / (judged + 2 * UNSEEN)
                value[s] += (1 + pooled * share) / (n + 1)
            relevant += document_gain > 0
            judged += document_gain >= 0
            pooled += document_gain >= -1
    return divide(value, total)


@compiled
def divide(part: Floats, total: Floats) -> Floats:
    """Return parts of totals (S), 0 if the total is 0, as trec_eval does for a topic without a relevant document."""
    for s in range(part.size):
        part[s] = part[s] / total[s] if total[s] > 0 else 0.0
    return part


@compiled
def _sum(gain: Floats, order: Codes, begin: int, end: int, s: int) -> float:
    """Return the sum of gains of a tie in a draw."""
    total = 0.0
    for n in range(begin, end):
        total += gain[order[n], s]
    return total
