"""Expected values of ranking measures, and the influence of every label on them, in closed form.

The labels of a topic's documents are independent here: document d has label k with chance q_dk. The expectation F(q)
of a measure is then linear in the chances of each single document (multilinear). F at certain labels is the measure
itself, and the influence of a label is the derivative of F,

    G_dk = dF / dq_dk,    so that    sum_k (q'_dk - q_dk) G_dk

is what F gains if the chances of document d become q'. Both hold for any real q, which need not be chances: the
correction by an audit (``evaluation.audit``) uses that.

- Precision and rank-biased precision are sums over documents.
- MRR and ERR are cascades: the chance to come to rank d is a product over the documents above it.
- nDCG and recall divide a sum by a function of how many documents have each grade. A recursion over the documents
  carries the chance of every vector of such counts, and with it the expected sum; counts above the cutoff are not
  distinguished, so that there are few vectors.
- Average precision divides by the number R of relevant documents, and 1 / R is the integral of s^(R - 1) over [0, 1].
  For a fixed s the expectation is a product over documents; the integral is a Gauss-Legendre sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import combinations_with_replacement
from math import comb
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError
from adjudge.kernels.compiled import compiled
from adjudge.metrics.ranking import Measure

NODES = 32  # of the integral: exact for 64 relevant documents, and very nearly for any number
SMALLEST = 1e-12  # magnitude of a factor that is divided by
MOST_STATES = 20_000  # vectors of counts


class Expected(NamedTuple):
    """The expected value of a measure in one topic, and the influence of every label."""

    value: float
    influence: Floats  # (D, K)


def expected_measure(order: Codes, chance: Floats, worth: Floats, measure: Measure, level: float) -> Expected:
    """Return the expected value of a measure, and the influence of every label.

    Parameters
    ----------
    order
        The documents that a run ranks, best first (N).
    chance
        The chances of the labels of all documents of the topic (D, K).
    worth
        The grade of every label (K).
    measure
        The measure.
    level
        The grade from which a document is relevant.

    Examples
    --------
    >>> from adjudge.metrics.ranking import parse_measure
    >>> chance = np.array([[0.5, 0.5], [0.0, 1.0]])
    >>> result = expected_measure(np.array([0, 1]), chance, np.array([0.0, 1.0]), parse_measure("MRR"), 1.0)
    >>> result.value, result.influence[0].tolist()
    (0.75, [0.5, 1.0])
    """
    return EXPECTED[measure.kind.name](order[: measure.cut], chance, worth, (worth >= level).astype(float), measure.cut)


def _precision(first: Codes, chance: Floats, worth: Floats, relevant: Floats, cut: int) -> Expected:
    """Return the expected share of relevant documents among the first."""
    influence = np.outer(_weights(first, np.full(first.size, 1 / cut), len(chance)), relevant)
    return Expected(float((chance * influence).sum()), influence)


def _reciprocal_rank(first: Codes, chance: Floats, worth: Floats, relevant: Floats, cut: int) -> Expected:
    """Return the expected reciprocal rank of the first relevant document."""
    return Expected(*_cascade(first, chance, relevant, 1 / np.arange(1.0, first.size + 1)))


def _average(first: Codes, chance: Floats, worth: Floats, relevant: Floats, cut: int) -> Expected:
    """Return expected average precision."""
    value, slope = _average_precision(first, chance @ relevant, *_nodes())
    return Expected(value, np.outer(slope, relevant))


def _recall(first: Codes, chance: Floats, worth: Floats, relevant: Floats, cut: int) -> Expected:
    """Return the expected share of the relevant documents that are among the first."""
    counted = _weights(first, np.ones(first.size), len(chance))
    return Expected(*_share_of_ideal(chance, relevant, counted, *_counted_relevant(relevant, len(chance))))


def _normalised_gain(first: Codes, chance: Floats, worth: Floats, relevant: Floats, cut: int) -> Expected:
    """Return expected nDCG."""
    gain, discount = np.maximum(worth, 0.0), 1 / np.log2(np.arange(first.size) + 2.0)
    states = _counted_grades(gain, len(chance), cut)
    return Expected(*_share_of_ideal(chance, gain, _weights(first, discount, len(chance)), *states))


EXPECTED: Mapping[str, Callable[[Codes, Floats, Floats, Floats, int], Expected]] = {  # by the kind of measure
    "P": _precision,
    "MRR": _reciprocal_rank,
    "MAP": _average,
    "R": _recall,
    "nDCG": _normalised_gain,
}


def _weights(first: Codes, weight: Floats, documents: int) -> Floats:
    """Return the weights of the ranked documents (N) as those of all documents (D)."""
    weights = np.zeros(documents)
    weights[first] = weight
    return weights


@compiled
def _cascade(first: Codes, chance: Floats, stop: Floats, reward: Floats) -> tuple[float, Floats]:
    """Return the expected reward (N) at the first document that stops the user, and its influences (D, K).

    A document with label k stops the user with chance ``stop[k]``.
    """
    influence = np.zeros_like(chance)
    ends = np.zeros(first.size)
    for n in range(first.size):
        for k in range(stop.size):
            ends[n] += chance[first[n], k] * stop[k]
    below = np.zeros(first.size + 1)  # the expected reward if the user comes to rank n
    for n in range(first.size - 1, -1, -1):
        below[n] = ends[n] * reward[n] + (1 - ends[n]) * below[n + 1]
    come = 1.0
    for n in range(first.size):
        for k in range(stop.size):
            influence[first[n], k] = come * (stop[k] * reward[n] + (1 - stop[k]) * below[n + 1])
        come *= 1 - ends[n]
    return below[0] if first.size else 0.0, influence


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Return the nodes and weights of the integral of s^(R - 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    node = (nodes + 1) / 2
    return node, weights / 2 / node


@compiled
def _average_precision(first: Codes, p: Floats, node: Floats, weight: Floats) -> tuple[float, Floats]:
    """Return the expected average precision, and its derivative by every document's chance of relevance (D)."""
    value, slope = 0.0, np.zeros(p.size)
    u, factor, above, below = np.zeros(p.size), np.zeros(p.size), np.zeros(p.size), np.zeros(p.size)
    for q in range(node.size):
        s, product = node[q], 1.0
        for d in range(p.size):
            z = 1 - p[d] + p[d] * s
            factor[d] = z if abs(z) > SMALLEST else SMALLEST
            product *= factor[d]
            u[d] = p[d] * s / factor[d]
            above[d] = below[d] = 0.0
        count, total = 0.0, 0.0
        for n in range(first.size):  # precision at each rank, given that the document there is relevant
            d = first[n]
            above[d] = (1 + count) / (n + 1)
            total += u[d] * above[d]
            count += u[d]
        rest = 0.0
        for n in range(first.size - 1, -1, -1):  # what the document adds to the precision below it
            d = first[n]
            below[d] = rest
            rest += u[d] / (n + 1)
        share = weight[q] * product
        value += share * total
        for d in range(p.size):
            own = s / factor[d] ** 2 * (above[d] + below[d])
            slope[d] += share * ((s - 1) / factor[d] * total + own)
    return value, slope


@compiled
def _share_of_ideal(chance: Floats, gain: Floats, discount: Floats, step: Codes, share: Floats) -> tuple[float, Floats]:
    """Return the expectation of sum_d discount_d gain_d times ``share`` of the final state, and its influences.

    The state (S) is how many documents have each grade; a document with label k moves it to ``step[state, k]``. For
    documents d and later, ``later`` is the expected share, and ``added`` the expected sum times share, by state.
    """
    D, K = chance.shape
    S = share.size
    later, added = np.zeros((D + 1, S)), np.zeros((D + 1, S))
    later[D] = share
    for d in range(D - 1, -1, -1):
        for s in range(S):
            a, b = 0.0, 0.0
            for k in range(K):
                t = step[s, k]
                a += chance[d, k] * later[d + 1, t]
                b += chance[d, k] * (added[d + 1, t] + discount[d] * gain[k] * later[d + 1, t])
            later[d, s], added[d, s] = a, b
    influence = np.zeros((D, K))
    mass, total = np.zeros(S), np.zeros(S)  # the chance of every state, and the expected sum so far in it
    mass[0] = 1.0
    for d in range(D):
        new_mass, new_total = np.zeros(S), np.zeros(S)
        for s in range(S):
            if mass[s] == 0.0 and total[s] == 0.0:
                continue
            for k in range(K):
                t, own = step[s, k], discount[d] * gain[k]
                influence[d, k] += mass[s] * (added[d + 1, t] + own * later[d + 1, t]) + total[s] * later[d + 1, t]
                new_mass[t] += chance[d, k] * mass[s]
                new_total[t] += chance[d, k] * (total[s] + own * mass[s])
        mass, total = new_mass, new_total
    return added[0, 0], influence


@cache
def _states(levels: int, most: int) -> tuple[dict[tuple[int, ...], int], Codes]:
    """Return the vectors of counts of documents that reach each level, and their successors (S, levels + 1)."""
    vectors = list(combinations_with_replacement(range(most, -1, -1), levels))[::-1]
    index = {vector: s for s, vector in enumerate(vectors)}
    step = np.empty((len(vectors), levels + 1), np.int64)
    for s, vector in enumerate(vectors):
        for reached in range(levels + 1):
            counts = (min(count + (n < reached), most) for n, count in enumerate(vector))
            step[s, reached] = index[tuple(counts)]
    return index, step


def _counted_relevant(relevant: Floats, documents: int) -> tuple[Codes, Floats]:
    """Return the states of recall, the number of relevant documents, and one over that."""
    step = _states(1, documents)[1][:, relevant.astype(np.int64)]
    share = np.zeros(documents + 1)
    share[1:] = 1 / np.arange(1.0, documents + 1)
    return np.ascontiguousarray(step), share


def _counted_grades(gain: Floats, documents: int, cut: int) -> tuple[Codes, Floats]:
    """Return the states of nDCG, and one over the ideal gain of each."""
    grades, most = np.unique(gain[gain > 0]), min(documents, cut)
    size = comb(most + grades.size, grades.size)
    if size > MOST_STATES:
        raise UsageError(
            f"nDCG of {grades.size} grades above 0 and {most:,} documents has too many cases for an audit: "
            "use a smaller cutoff, such as nDCG@10"
        )
    return _ideal_states(tuple(gain.tolist()), tuple(grades.tolist()), most)


@cache
def _ideal_states(gain: tuple[float, ...], grades: tuple[float, ...], most: int) -> tuple[Codes, Floats]:
    """Return the successors (S, K) of the states of nDCG, and one over the ideal gain of each (S)."""
    index, step = _states(len(grades), most)
    upto = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(most) + 2.0))])
    rise = np.diff(np.array([0.0, *grades]))  # a document of the second grade has the rise of the first two
    ideal = np.array([float(rise @ upto[list(vector)]) for vector in index]) if grades else np.zeros(1)
    share = np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0)
    reached = np.searchsorted(np.array(grades), np.array(gain), side="right")
    return np.ascontiguousarray(step[:, reached]), share
