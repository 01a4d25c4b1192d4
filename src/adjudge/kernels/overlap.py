"""What two texts share: pairs of texts, each given by numbers of its terms, many pairs in one call.

Terms of text t are ``code[start[t] : start[t + 1]]``: in rising order, each once, where texts are sets; as they stand
in the text where they are sequences. ``left`` and ``right`` say which texts make a pair.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.compiled import compiled


@compiled
def inner(
    start: Codes,
    code: Codes,
    weight: Floats,
    other_start: Codes,
    other_code: Codes,
    other_weight: Floats,
    left: Codes,
    right: Codes,
) -> Floats:
    """Return the sum, over the terms that both sets of a pair hold, of the product of their weights."""
    total = np.zeros(left.size)
    for n in range(left.size):
        i, j = start[left[n]], other_start[right[n]]
        i_end, j_end = start[left[n] + 1], other_start[right[n] + 1]
        while i < i_end and j < j_end:
            if code[i] == other_code[j]:
                total[n] += weight[i] * other_weight[j]
                i += 1
                j += 1
            elif code[i] < other_code[j]:
                i += 1
            else:
                j += 1
    return total


@compiled
def subsequence(start: Codes, code: Codes, other_start: Codes, other_code: Codes, left: Codes, right: Codes) -> Codes:
    """Return the length of the longest sequence of terms that both texts of a pair hold in this order, with gaps."""
    length = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        row = np.zeros(b.size + 1, np.int64)
        for i in range(a.size):
            diagonal = 0
            for j in range(b.size):
                above = row[j + 1]
                row[j + 1] = diagonal + 1 if a[i] == b[j] else max(above, row[j])
                diagonal = above
        length[n] = row[b.size]
    return length


@compiled
def substring(start: Codes, code: Codes, other_start: Codes, other_code: Codes, left: Codes, right: Codes) -> Codes:
    """Return the length of the longest sequence of terms that both texts of a pair hold without gaps."""
    length = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        row = np.zeros(b.size + 1, np.int64)
        for i in range(a.size):
            diagonal = 0
            for j in range(b.size):
                above = row[j + 1]
                row[j + 1] = diagonal + 1 if a[i] == b[j] else 0
                length[n] = max(length[n], row[j + 1])
                diagonal = above
    return length


@compiled
def window(
    start: Codes, code: Codes, other_start: Codes, other_code: Codes, left: Codes, right: Codes
) -> tuple[Codes, Codes]:
    """Return how many terms of a set the other text of its pair holds, and the least stretch of it that holds them."""
    held = np.zeros(left.size, np.int64)
    least = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        place = np.full(b.size, -1)
        count = np.zeros(a.size, np.int64)
        for j in range(b.size):
            i = np.searchsorted(a, b[j])
            if i < a.size and a[i] == b[j]:
                place[j] = i
                held[n] += count[i] == 0
                count[i] = 1
        count[:] = 0
        inside, first = 0, 0
        for j in range(b.size):
            if place[j] >= 0:
                inside += count[place[j]] == 0
                count[place[j]] += 1
            while inside == held[n] and held[n] > 0:
                if least[n] == 0 or j - first + 1 < least[n]:
                    least[n] = j - first + 1
                if place[first] >= 0:
                    count[place[first]] -= 1
                    inside -= count[place[first]] == 0
                first += 1
    return held, least


@compiled
def first(start: Codes, code: Codes, other_start: Codes, other_code: Codes, left: Codes, right: Codes) -> Codes:
    """Return where the other text of a pair first has a term of the set, its length where it has none."""
    found = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        found[n] = b.size
        for j in range(b.size):
            i = np.searchsorted(a, b[j])
            if i < a.size and a[i] == b[j]:
                found[n] = j
                break
    return found
