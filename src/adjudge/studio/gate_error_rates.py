"""How often a gate accepts spammers and refuses honest judges on a gold set: exact, by enumerating their answers.

The gates do not distinguish documents of the same grade. It is therefore enough to enumerate how many documents of each
grade are judged relevant, and the orders of the grades in a ranking: a few hundred cases instead of millions.

The rates are of these judges:

- random: tosses a coin for each document, then ranks the documents judged relevant above the others, and otherwise at
  random;
- all-relevant, all-irrelevant: gives all documents the same label, ranks at random;
- a judge of accuracy a: is right about each document (relevant is grade 1 or 2) with probability a, independently, and
  ranks like "random". The gates of the paper refuse judges who are right 85 % of the time in 16 to 66 % of cases,
  depending on the composition of the gold set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, isnan, prod
from types import MappingProxyType
from typing import NamedTuple

from adjudge.errors import UsageError
from adjudge.studio.gates import Gate, binary_share, gated_ndcg, reaches, reaches_share
from adjudge.studio.records import GRADES

MOST = 10  # documents of a set: 4,200 orders of grades
SPAMMERS = ("random", "all-relevant", "all-irrelevant")
DIGITS = 4  # of a threshold that is solved for
ROUNDING = 1e-12  # error of a sum of probabilities

Counts = tuple[int, int, int]  # how many documents of grade 0, 1, 2


class Pattern(NamedTuple):
    """A way to judge a set: how many documents of each grade are judged relevant, and the scores of that."""

    relevant: Counts
    share: Fraction  # the binary score
    scores: tuple[float, ...]  # NDCG of every compatible order of grades; all are equally likely


class Thresholds(NamedTuple):
    """A gate that refuses a judge of some accuracy at most at a given rate, and its error rates."""

    binary: float
    ndcg: float
    false_refuse: float
    false_accept: Mapping[str, float]


@dataclass(frozen=True)
class ScoreGate:
    """A gate without a limit on time."""

    binary: float
    ndcg: float
    ndcg_of: str
    seconds: float = 0.0


def false_accepts(grades: Sequence[int], gate: Gate) -> dict[str, float]:
    """Return how often the gate accepts each kind of spammer."""
    counts = grade_counts(grades)
    n = sum(counts)
    coin = {pattern.relevant: _choices(counts, pattern.relevant) / 2**n for pattern in patterns(counts, gate.ndcg_of)}
    chances = {"random": coin, "all-relevant": {counts: 1.0}, "all-irrelevant": {(0, 0, 0): 1.0}}
    return {spammer: _acceptance_rate(counts, gate, chances[spammer]) for spammer in SPAMMERS}


def false_refuse(grades: Sequence[int], gate: Gate, accuracy: float) -> float:
    """Return how often the gate refuses a judge who is right about each document with this probability."""
    counts = grade_counts(grades)
    return 1.0 - _acceptance_rate(counts, gate, _chances(counts, accuracy))


def _chances(counts: Counts, accuracy: float) -> dict[Counts, float]:
    """Return the probability that a judge of this accuracy calls so many documents of each grade relevant."""
    relevant = (1 - accuracy, accuracy, accuracy)  # by grade
    zeros, ones, twos = (
        [comb(n, r) * p**r * (1 - p) ** (n - r) for r in range(n + 1)] for n, p in zip(counts, relevant, strict=True)
    )
    return {
        (i, j, k): zeros[i] * ones[j] * twos[k]
        for i, j, k in product(range(len(zeros)), range(len(ones)), range(len(twos)))
    }


def _acceptance_rate(counts: Counts, gate: Gate, chances: Mapping[Counts, float]) -> float:
    """Return how often a gate accepts judgments with these probabilities, ranked at random."""
    rate = 0.0
    for pattern in patterns(counts, gate.ndcg_of):
        if pattern.relevant in chances and reaches_share(pattern.share, gate.binary):
            rate += chances[pattern.relevant] * _passing_share(pattern.scores, gate.ndcg)
    return min(rate, 1.0)


def _passing_share(scores: Sequence[float], threshold: float) -> float:
    """Return the share of rankings that pass; an NDCG of 0/0 passes."""
    return sum(isnan(score) or reaches(score, threshold) for score in scores) / len(scores)


def _choices(counts: Counts, relevant: Counts) -> int:
    """Return in how many ways so many documents of each grade can be chosen as relevant."""
    return prod(comb(n, r) for n, r in zip(counts, relevant, strict=True))


def grade_counts(grades: Sequence[int]) -> Counts:
    """Return how many documents there are of each grade."""
    unknown = sorted(set(grades) - set(GRADES))
    if unknown:
        raise UsageError(f"gold grade is {unknown[0]}, expected 0, 1 or 2")
    if not 1 <= len(grades) <= MOST:
        raise UsageError(f"error rates need a gold set of 1 to {MOST} documents, but there are {len(grades)}")
    zeros, ones, twos = (list(grades).count(grade) for grade in GRADES)
    return zeros, ones, twos


@lru_cache(maxsize=512)
def patterns(counts: Counts, ndcg_of: str) -> tuple[Pattern, ...]:
    """Return every way to judge a set with so many documents of each grade, and its possible scores.

    All choices of relevant documents with the same counts have the same scores, and under each of them all compatible
    orders of grades stand for equally many rankings.
    """
    n = sum(counts)
    grades = [grade for grade, count in enumerate(counts) for _ in range(count)]
    scores: dict[Counts, list[float]] = {}
    for order in _orders(counts):
        score = gated_ndcg(range(1, n + 1), order, ndcg_of)
        for cut in range(n + 1):  # the documents above the cut are those judged relevant
            above = order[:cut]
            scores.setdefault((above.count(0), above.count(1), above.count(2)), []).append(score)
    return tuple(
        Pattern(relevant, binary_share(_relevance(counts, relevant), grades), tuple(listed))
        for relevant, listed in sorted(scores.items())
    )


def _relevance(counts: Counts, relevant: Counts) -> list[int]:
    """Return labels, ordered by grade, with so many relevant documents of each grade."""
    return [int(i < r) for n, r in zip(counts, relevant, strict=True) for i in range(n)]


def _orders(counts: Counts) -> Iterator[tuple[int, ...]]:
    """Yield every order of so many documents of each grade."""
    if not any(counts):
        yield ()
    for grade in GRADES:
        if counts[grade]:
            left = tuple(count - (other == grade) for other, count in enumerate(counts))
            yield from ((grade, *rest) for rest in _orders((left[0], left[1], left[2])))


def solve(grades: Sequence[int], max_false_refuse: float, accuracy: float, gate: Gate) -> Thresholds:
    """Return the highest thresholds that refuse a judge of this accuracy at most at the given rate.

    The binary threshold of the gate stays if it alone refuses at most at that rate; otherwise it is lowered to the
    highest score that does. NDCG is then as high as the rate allows. Thresholds are truncated to four digits, never
    rounded up.

    Parameters
    ----------
    grades
        The gold grades of the set.
    max_false_refuse
        How often such a judge may be refused at most, from 0 to below 1.
    accuracy
        How often the judge is right about a document.
    gate
        The present gate: its binary threshold is the highest that is tried, its ``ndcg_of`` stays.

    Returns
    -------
    Thresholds
        The thresholds and their error rates.
    """
    return solve_sets([grades], max_false_refuse, accuracy, gate)


def solve_sets(sets: Sequence[Sequence[int]], max_false_refuse: float, accuracy: float, gate: Gate) -> Thresholds:
    """Return the highest thresholds that keep the rate on every one of these sets, with the worst error rates."""
    if not sets:
        raise UsageError("there is no gold set to solve the thresholds for")
    if not 0 <= max_false_refuse < 1 or not 0 < accuracy <= 1:
        raise UsageError(
            f"a false-refuse rate of {max_false_refuse:g} at an accuracy of {accuracy:g} cannot be solved for: "
            "the rate must be at least 0 and below 1, the accuracy above 0 and at most 1"
        )
    binary = min(_highest_binary(grades, max_false_refuse, accuracy, gate) for grades in sets)
    scores = ScoreGate(binary, 0.0, gate.ndcg_of)
    ndcg = min(_highest_ndcg(grades, max_false_refuse, accuracy, scores) for grades in sets)
    return _thresholds(sets, accuracy, replace(scores, ndcg=ndcg))


def frontier(grades: Sequence[int], max_false_refuse: float, accuracy: float, gate: Gate) -> list[Thresholds]:
    """Return, for every binary threshold that keeps the rate, the highest NDCG threshold; the strictest binary first.

    A lower threshold on one score allows a higher one on the other; the rates show which catches more spammers.
    """
    levels = {_truncate(float(pattern.share)) for pattern in patterns(grade_counts(grades), gate.ndcg_of)}
    rows = []
    for binary in sorted(levels, reverse=True):
        scores = ScoreGate(binary, 0.0, gate.ndcg_of)
        if false_refuse(grades, scores, accuracy) <= max_false_refuse + ROUNDING:
            ndcg = _highest_ndcg(grades, max_false_refuse, accuracy, scores)
            rows.append(_thresholds([grades], accuracy, replace(scores, ndcg=ndcg)))
    return rows


def _thresholds(sets: Sequence[Sequence[int]], accuracy: float, gate: ScoreGate) -> Thresholds:
    """Return a gate with its worst error rates on these sets."""
    refused = max(false_refuse(grades, gate, accuracy) for grades in sets)
    accepted = [false_accepts(grades, gate) for grades in sets]
    worst = {spammer: max(rates[spammer] for rates in accepted) for spammer in SPAMMERS}
    return Thresholds(gate.binary, gate.ndcg, refused, MappingProxyType(worst))


def _highest_binary(grades: Sequence[int], max_false_refuse: float, accuracy: float, gate: Gate) -> float:
    """Return the highest binary threshold, at most the gate's, that alone keeps the rate."""
    scores = {_truncate(float(pattern.share)) for pattern in patterns(grade_counts(grades), gate.ndcg_of)}
    levels = (level for level in scores | {gate.binary, 0.0} if level <= gate.binary)
    for binary in sorted(levels, reverse=True):
        if false_refuse(grades, ScoreGate(binary, 0.0, gate.ndcg_of), accuracy) <= max_false_refuse + ROUNDING:
            return binary
    return 0.0


def _highest_ndcg(grades: Sequence[int], max_false_refuse: float, accuracy: float, gate: ScoreGate) -> float:
    """Return the highest NDCG threshold that keeps the rate together with the gate's binary threshold."""
    counts = grade_counts(grades)
    scores = {score for pattern in patterns(counts, gate.ndcg_of) for score in pattern.scores if not isnan(score)}
    levels = sorted({_truncate(score) for score in scores} | {0.0})
    low, high = 0, len(levels) - 1  # a threshold of 0 keeps the rate, which rises with the threshold
    while low < high:
        middle = (low + high + 1) // 2
        rate = false_refuse(grades, replace(gate, ndcg=levels[middle]), accuracy)
        low, high = (middle, high) if rate <= max_false_refuse + ROUNDING else (low, middle - 1)
    return levels[low]


def _truncate(score: float) -> float:
    """Return a score without the digits beyond ``DIGITS``: never above it."""
    steps = 10.0**DIGITS
    return int(score * steps + 1e-9) / steps
