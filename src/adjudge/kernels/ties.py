"""Ranking measures expected over the orders of tied documents (McSherry & Najork 2008).

Documents with the same score may stand in any order, each with the same chance. Of n tied documents below i others, r
of them relevant, every rank holds a relevant one with chance r / n; given that it does, each rank before it in the tie
does with chance (r - 1) / (n - 1). Kernels take what those of ``kernels.ranking`` take, and where every tie ends (E).
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.compiled import compiled
from adjudge.kernels.ranking import relevant


@compiled
def average_precision(
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
def reciprocal_rank(
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
def precision(code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return the expected share of relevant documents among the first (S)."""
    return _found(code, order, ends, worth, level, cut) / cut


@compiled
def recall(code: Codes, order: Codes, ends: Codes, worth: Floats, count: Codes, level: float, cut: int) -> Floats:
    """Return the expected share of the relevant documents that is found among the first (S)."""
    whole = relevant(worth, count, level)
    return _found(code, order, ends, worth, level, cut) / np.where(whole > 0, whole, 1.0)


@compiled
def normalised_gain(
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
def _found(code: Codes, order: Codes, ends: Codes, worth: Floats, level: float, cut: int) -> Floats:
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
