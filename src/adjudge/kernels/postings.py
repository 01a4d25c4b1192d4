"""The best passages of queries, by postings: for every term, the passages that have it and what it adds to their score.

Scores are summed in 64 bits and compared in 32, and equal ones are ordered by the passage's number, the last first:
passages numbered by name come in trec_eval's order, whatever the order in which terms are asked for.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes
from adjudge.kernels.compiled import compiled


@compiled
def best_passages(
    start: Codes, passage: Codes, weight: NDArray[np.float32], passages: int, query: Codes, term: Codes, depth: int
) -> tuple[Codes, Codes, NDArray[np.float32]]:
    """Return how many passages each query finds (Q), and which with what scores (Q, depth), best first.

    Postings of term v are from ``start[v]`` to ``start[v + 1]``; terms of query q are from ``query[q]`` on.
    A term that a query repeats counts as often. Passages whose score is not above 0 are not found.
    """
    queries = query.size - 1
    count = np.zeros(queries, np.int64)
    found = np.zeros((queries, depth), np.int64)
    value = np.zeros((queries, depth), np.float32)
    score = np.zeros(passages)
    seen = np.zeros(passages, np.int64)  # which passages have a score, to look at those alone
    for q in range(queries):
        touched = 0
        for n in range(query[q], query[q + 1]):
            for i in range(start[term[n]], start[term[n] + 1]):
                if score[passage[i]] == 0 and weight[i] > 0:
                    seen[touched] = passage[i]
                    touched += 1
                score[passage[i]] += weight[i]
        heap = [(np.float32(0), np.int64(0)) for _ in range(0)]  # the worst of the best on top
        for i in range(touched):
            one = (np.float32(score[seen[i]]), seen[i])
            score[seen[i]] = 0
            if len(heap) < depth:
                heapq.heappush(heap, one)
            elif one > heap[0]:
                heapq.heapreplace(heap, one)
        count[q] = len(heap)
        for d in range(count[q] - 1, -1, -1):
            value[q, d], found[q, d] = heapq.heappop(heap)
    return count, found, value
