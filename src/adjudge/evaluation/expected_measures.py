"""Expected values of ranking measures, and the influence of every label on them, in closed form.

The labels of a topic's documents are independent here: document d has label k with chance q_dk. The expectation F(q)
of a measure is then linear in the chances of each single document (multilinear). F at certain labels is the measure
itself, and the influence of a label is the derivative of F,

    G_dk = dF / dq_dk,    so that    sum_k (q'_dk - q_dk) G_dk

is what F gains if the chances of document d become q'. Both hold for any real q, which need not be chances: the
correction by an audit (``evaluation.audit``) uses that. Influences are exact up to a constant per document, which the
sum cancels.

- Precision and rank-biased precision are sums over documents.
- MRR, ERR and success are cascades: the chance to come to rank d is a product over the documents above it.
- nDCG and recall divide a sum by a function of how many documents have each grade. A recursion over the documents
  carries the chance of every vector of such counts, and with it the expected sum; counts above the cutoff are not
  distinguished, so that there are few vectors.
- Average precision divides by the number R of relevant documents, and 1 / R is the integral of s^(R - 1) over [0, 1].
  For a fixed s the expectation is a product over documents; the integral is a Gauss-Legendre sum.

All runs of a topic are evaluated together, because much of the work depends on the labels only. Influences are
computed for the documents that are asked for, in an audit the few that were drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations_with_replacement
from math import comb
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError
from adjudge.kernels.compiled import compiled
from adjudge.metrics.ranking import KINDS, Measure, cascaded_reward, mean_precision, weighted_sum

NODES = 32  # of the integral: exact for 64 relevant documents, and very nearly for any number
SMALLEST = 1e-12  # magnitude of a factor that is divided by
MOST_STATES = 20_000  # vectors of counts


class Expected(NamedTuple):
    """The expected value of a measure in one topic, and the influence of every label."""

    value: float
    influence: Floats  # (D, K)


class ExpectedRuns(NamedTuple):
    """The expected values of all runs by a measure in one topic, and the influences of labels."""

    value: Floats  # (R)
    influence: Floats  # (R, A, K) of the labels of some documents


class Rankings(NamedTuple):
    """The first documents of all runs in a topic, one run after the other."""

    document: Codes  # (sum of N)
    edge: Codes  # (R + 1)
    returned: Codes  # (R) how many documents each run returns


class Labels(NamedTuple):
    """Labels as a measure sees them: those with the same gain are one."""

    chance: Floats  # (D, K') of the gains
    gain: Floats  # (K') ascending
    rows: Codes  # (A) the documents whose influences are wanted


def expected_measure(order: Codes, chance: Floats, worth: Floats, measure: Measure, level: float) -> Expected:
    """Return the expected value of a measure of one run, and the influence of every label.

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
    result = expected_runs([order], chance, worth, measure, level, np.arange(len(chance)))
    return Expected(float(result.value[0]), result.influence[0])


def expected_runs(
    orders: Sequence[Codes], chance: Floats, worth: Floats, measure: Measure, level: float, rows: Codes
) -> ExpectedRuns:
    """Return the expected values of all runs, and the influences of the labels of some documents (rows)."""
    check_expectation([measure])
    gain, of_label = np.unique(measure.gains(worth, level), return_inverse=True)
    merged = np.zeros((len(chance), gain.size))
    for k, which in enumerate(of_label):
        merged[:, which] += chance[:, k]
    returned = np.array([order.size for order in orders], np.int64)
    document = np.concatenate([order[: measure.cut] for order in orders])
    edge: Codes = np.cumsum(np.minimum(np.append(0, returned), measure.cut))
    labels = Labels(merged, gain, rows)
    result = EXPECTED[measure.kind.value](Rankings(document, edge, returned), labels, measure)
    return result._replace(influence=result.influence[:, :, of_label])


def check_expectation(measures: Sequence[Measure]) -> None:
    """Refuse a measure whose expectation has no closed form."""
    for measure in measures:
        if not measure.kind.expected:
            names = ", ".join(kind.form for kind in KINDS.values() if kind.expected)
            raise UsageError(f"an audit cannot estimate {measure.name}: it can estimate {names}")
        if measure.parameters.get("judged_only"):
            raise UsageError(f"an audit cannot estimate {measure.name}: leave out judged_only")


def is_linear(measure: Measure) -> bool:
    """Whether the value is a sum of what single documents add, so that pairs of documents do not matter."""
    return measure.kind.value is weighted_sum and measure.kind.fixed


def _expected_sum(rankings: Rankings, labels: Labels, measure: Measure) -> ExpectedRuns:
    """Return expected sums of discounted gains, each divided by what is possible."""
    discount, R = measure.weights(len(labels.chance)), rankings.returned.size
    if measure.kind.fixed:
        possible = [float(measure.kind.possible(np.ones(1), n, measure)) for n in rankings.returned.tolist()]
        share = 1 / np.maximum(possible, 1.0)  # (R)
        value = _sums(rankings.document, rankings.edge, discount, labels.chance @ labels.gain)
        weight = _weights(rankings.document, rankings.edge, discount, len(labels.chance), labels.rows)
        return ExpectedRuns(value * share, (weight * share[:, None])[:, :, None] * labels.gain)
    counted = _counted_grades if measure.kind.ideal else _counted_relevant
    step, total = counted(labels.gain, len(labels.chance), measure)
    groups: dict[bytes, tuple[Floats, list[int]]] = {}  # runs with the same share of each state
    by_size = {n: _one_over(measure.kind.possible(total, n, measure), total) for n in set(rankings.returned.tolist())}
    for r, n in enumerate(rankings.returned.tolist()):
        groups.setdefault(by_size[n].tobytes(), (by_size[n], []))[1].append(r)
    value, influence = np.zeros(R), np.zeros((R, labels.rows.size, labels.gain.size))
    for share, runs in groups.values():
        some = rankings if len(groups) == 1 else _some_runs(rankings, runs)
        value[runs], influence[runs] = _shares(some, labels, discount, step, share)
    return ExpectedRuns(value, influence)


def _some_runs(rankings: Rankings, runs: Sequence[int]) -> Rankings:
    """Return the rankings of some of the runs."""
    parts = [rankings.document[rankings.edge[r] : rankings.edge[r + 1]] for r in runs]
    edge: Codes = np.cumsum([0, *(part.size for part in parts)])
    return Rankings(np.concatenate(parts), edge, rankings.returned[list(runs)])


def _shares(rankings: Rankings, labels: Labels, discount: Floats, step: Codes, share: Floats) -> tuple[Floats, Floats]:
    """Return expected sums times shares (R), and influences (R, A, K').

    With few runs influences come from a recursion for each run. With many, each document in turn is given each label:
    the expected shares are then the same for all runs.
    """
    chance, gain, rows = labels
    R, D = rankings.returned.size, len(chance)

    def values(p: Floats) -> Floats:
        return _sums(rankings.document, rankings.edge, discount, _expected_gain(p, gain, step, share))

    value, influence = values(chance), np.zeros((R, rows.size, gain.size))
    if rows.size * gain.size >= R:
        weight = _weights(rankings.document, rankings.edge, discount, D, np.arange(D))
        for r in range(R):
            influence[r] = _share_of_ideal(chance, gain, weight[r], step, share)[rows]
        return value, influence
    for a, d in enumerate(rows):
        conditional = chance.copy()
        for k in range(gain.size):
            conditional[d] = np.arange(gain.size) == k
            influence[:, a, k] = values(conditional)
    return value, influence


def _expected_reward(rankings: Rankings, labels: Labels, measure: Measure) -> ExpectedRuns:
    """Return expected rewards of cascades."""
    reward = measure.weights(len(labels.chance))
    return ExpectedRuns(*_cascades(rankings.document, rankings.edge, labels.chance, labels.gain, reward, labels.rows))


def _expected_precision(rankings: Rankings, labels: Labels, measure: Measure) -> ExpectedRuns:
    """Return expected average precision."""
    p = labels.chance @ labels.gain
    value, slope = _average_precision(rankings.document, rankings.edge, p, labels.rows, *_nodes())
    return ExpectedRuns(value, slope[:, :, None] * labels.gain)


EXPECTED: Mapping[Callable[..., Floats], Callable[[Rankings, Labels, Measure], ExpectedRuns]] = {
    weighted_sum: _expected_sum,
    cascaded_reward: _expected_reward,
    mean_precision: _expected_precision,
}


def _one_over(possible: Floats, total: Floats) -> Floats:
    """Return one over what is possible (S), 0 without a relevant document."""
    share: Floats = np.divide(1.0, possible, out=np.zeros_like(total), where=total > 0)
    return share


@compiled
def _sums(document: Codes, edge: Codes, discount: Floats, gain: Floats) -> Floats:
    """Return the discounted sum of the gains of documents (D) for every run (R)."""
    value = np.zeros(edge.size - 1)
    for r in range(edge.size - 1):
        for n in range(edge[r + 1] - edge[r]):
            value[r] += discount[n] * gain[document[edge[r] + n]]
    return value


@compiled
def _weights(document: Codes, edge: Codes, discount: Floats, documents: int, rows: Codes) -> Floats:
    """Return the discount of some documents (A) for every run (R), 0 if it does not rank them."""
    weight = np.zeros((edge.size - 1, rows.size))
    position = np.full(documents, -1)
    position[rows] = np.arange(rows.size)
    for r in range(edge.size - 1 if rows.size else 0):
        for n in range(edge[r + 1] - edge[r]):
            a = position[document[edge[r] + n]]
            if a >= 0:
                weight[r, a] = discount[n]
    return weight


@compiled
def _cascades(
    document: Codes, edge: Codes, chance: Floats, stop: Floats, reward: Floats, rows: Codes
) -> tuple[Floats, Floats]:
    """Return the expected reward at the document that stops the user (R), and influences (R, A, K).

    A document with label k stops the user with chance ``stop[k]``.
    """
    R, A, K = edge.size - 1, rows.size, stop.size
    value, influence = np.zeros(R), np.zeros((R, A, K))
    position = np.full(len(chance), -1)
    position[rows] = np.arange(A)
    ends = np.zeros(len(chance))
    for d in range(len(chance)):
        for k in range(K):
            ends[d] += chance[d, k] * stop[k]
    for r in range(R):
        first = document[edge[r] : edge[r + 1]]
        below = np.zeros(first.size + 1)  # the expected reward if the user comes to rank n
        for n in range(first.size - 1, -1, -1):
            below[n] = ends[first[n]] * reward[n] + (1 - ends[first[n]]) * below[n + 1]
        value[r], come = below[0], 1.0
        for n in range(first.size if A else 0):
            a = position[first[n]]
            for k in range(K if a >= 0 else 0):
                influence[r, a, k] = come * (stop[k] * reward[n] + (1 - stop[k]) * below[n + 1])
            come *= 1 - ends[first[n]]
    return value, influence


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Return the nodes and weights of the integral of s^(R - 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    node = (nodes + 1) / 2
    return node, weights / 2 / node


@compiled
def _average_precision(
    document: Codes, edge: Codes, p: Floats, rows: Codes, node: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """Return expected average precision (R), and its derivatives by documents' chances of relevance (R, A)."""
    R, A, D, Q = edge.size - 1, rows.size, p.size, node.size
    value, slope = np.zeros(R), np.zeros((R, A))
    position = np.full(D, -1)
    position[rows] = np.arange(A)
    u, share = np.zeros((D, Q)), weight.copy()  # shares of the nodes: the weight times the product of all factors
    for d in range(D):
        for q in range(Q):
            z = 1 - p[d] + p[d] * node[q]
            z = z if abs(z) > SMALLEST else SMALLEST
            share[q] *= z
            u[d, q] = p[d] * node[q] / z
    above, upto = np.zeros((A, Q)), np.zeros((A, Q))
    for r in range(R):
        count, total, reach = np.zeros(Q), np.zeros(Q), np.zeros(Q)
        above[:], upto[:] = 0.0, 0.0
        ranked = np.zeros(A)
        for n in range(edge[r + 1] - edge[r]):
            d = document[edge[r] + n]
            ratio, rank = u[d], 1.0 / (n + 1)
            a = position[d]
            if a >= 0:  # precision at its rank, given that it is relevant
                ranked[a] = 1.0
                for q in range(Q):
                    above[a, q] = (1 + count[q]) * rank
                    upto[a, q] = reach[q] + ratio[q] * rank
            for q in range(Q):
                total[q] += ratio[q] * (1 + count[q]) * rank
                count[q] += ratio[q]
                reach[q] += ratio[q] * rank
        for q in range(Q):
            value[r] += share[q] * total[q]
        for a in range(A):
            for q in range(Q):
                z = 1 - p[rows[a]] + p[rows[a]] * node[q]
                z = z if abs(z) > SMALLEST else SMALLEST
                below = ranked[a] * (reach[q] - upto[a, q])  # what it adds to the precision below it
                gained = node[q] / z**2 * (above[a, q] + below)
                slope[r, a] += share[q] * ((node[q] - 1) / z * total[q] + gained)
    return value, slope


@compiled
def _expected_gain(chance: Floats, gain: Floats, step: Codes, share: Floats) -> Floats:
    """Return the expectation of the gain of each document times the share of the final state (D).

    The state (S) is how many documents have each grade; a document with label k moves it to ``step[state, k]``.
    """
    D, K = chance.shape
    S = share.size
    later = np.zeros((D + 1, S))  # the expected share, for documents d and later, by state
    later[D] = share
    for d in range(D - 1, 0, -1):
        for s in range(S):
            for k in range(K):
                later[d, s] += chance[d, k] * later[d + 1, step[s, k]]
    expected, mass = np.zeros(D), np.zeros(S)
    mass[0] = 1.0
    for d in range(D):
        new = np.zeros(S)
        for s in range(S):
            if mass[s] == 0.0:
                continue
            for k in range(K):
                expected[d] += mass[s] * chance[d, k] * gain[k] * later[d + 1, step[s, k]]
                new[step[s, k]] += chance[d, k] * mass[s]
        mass = new
    return expected


@compiled
def _share_of_ideal(chance: Floats, gain: Floats, discount: Floats, step: Codes, share: Floats) -> Floats:
    """Return the influences (D, K) on the expectation of sum_d discount_d gain_d times the share of the final state.

    For documents d and later, ``later`` is the expected share, and ``added`` the expected sum times share, by state.
    """
    D, K = chance.shape
    S = share.size
    later, added = np.zeros((D + 1, S)), np.zeros((D + 1, S))
    later[D] = share
    for d in range(D - 1, 0, -1):
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
                t, term = step[s, k], discount[d] * gain[k]
                influence[d, k] += mass[s] * (added[d + 1, t] + term * later[d + 1, t]) + total[s] * later[d + 1, t]
                new_mass[t] += chance[d, k] * mass[s]
                new_total[t] += chance[d, k] * (total[s] + term * mass[s])
        mass, total = new_mass, new_total
    return influence


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


def _counted_relevant(gain: Floats, documents: int, measure: Measure) -> tuple[Codes, Floats]:
    """Return the successors (S, K') of the states of recall, and the number of relevant documents of each (S)."""
    step = _states(1, documents)[1][:, gain.astype(np.int64)]
    return np.ascontiguousarray(step), np.arange(documents + 1.0)


def _counted_grades(gain: Floats, documents: int, measure: Measure) -> tuple[Codes, Floats]:
    """Return the successors (S, K') of the states of nDCG, and the ideal gain of each (S)."""
    positive, most = gain[gain > 0], min(documents, measure.cut)
    size = comb(most + positive.size, positive.size)
    if size > MOST_STATES:
        raise UsageError(
            f"nDCG of {positive.size} grades above 0 and {most:,} documents has too many cases for an audit: "
            "use a smaller cutoff, such as nDCG@10"
        )
    return _ideal_states(tuple(gain.tolist()), most)


@cache
def _ideal_states(gain: tuple[float, ...], most: int) -> tuple[Codes, Floats]:
    """Return the successors (S, K') of the states of nDCG, and the ideal gain of each (S)."""
    grades = [each for each in gain if each > 0]
    index, step = _states(len(grades), most)
    upto = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(most) + 2.0))])
    rise = np.diff(np.array([0.0, *grades]))  # a document of the second grade has the rise of the first two
    ideal = np.array([float(rise @ upto[list(vector)]) for vector in index]) if grades else np.zeros(1)
    reached = np.searchsorted(np.array(grades), np.array(gain), side="right")
    return np.ascontiguousarray(step[:, reached]), ideal
