"""How often a gate takes spammers and refuses honest judges on a gold set: exact, by looking at all they can answer.

How documents of one grade are told apart does not matter to the gates, so it is enough to look at how many documents of
each grade are judged relevant, and at the orders in which grades can stand below each other: a few hundred, where
relevances times rankings would be millions.

The judges of whom rates are computed:

- random: tosses a coin for each document, then ranks the documents that are relevant to him above the others, and
  otherwise at random;
- all-relevant, all-irrelevant: says the same of all, ranks at random;
- of accuracy a: is right about each document (relevant is grade 1 or 2) with probability a, independently, ranks what
  is relevant to her above the rest, and otherwise at random. So computed, the gates of the paper refuse judges who are
  right 85 % of the time in 16 to 66 % of cases, by composition.
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
from adjudge.studio.gates.gates import GRADES, Gate, binary_share, gated_ndcg, reaches, reaches_share

MOST = 10  # documents of a set: 4,200 orders of grades
SPAMMERS = ("random", "all-relevant", "all-irrelevant")

Counts = tuple[int, int, int]  # how many documents of grade 0, 1, 2


class Way(NamedTuple):
    """One way to judge a set: how many documents of each grade are said to be relevant, and what comes of it."""

    relevant: Counts
    share: Fraction  # the binary score
    scores: tuple[float, ...]  # NDCG of every order of grades that is compatible; all are equally likely


def false_accepts(grades: Sequence[int], gate: Gate) -> dict[str, float]:
    """Return how often the gate takes each kind of spammer."""
    counts = counted(grades)
    n = sum(counts)
    chances = {
        "random": {way.relevant: _choices(counts, way.relevant) / 2**n for way in ways(counts, gate.ndcg_of)},
        "all-relevant": {counts: 1.0},
        "all-irrelevant": {(0, 0, 0): 1.0},
    }
    return {spammer: _taken(counts, gate, chances[spammer]) for spammer in SPAMMERS}


def false_refuse(grades: Sequence[int], gate: Gate, accuracy: float) -> float:
    """Return how often the gate refuses a judge who is right about each document with this probability."""
    counts = counted(grades)
    return 1.0 - _taken(counts, gate, _judged(counts, accuracy))


def _judged(counts: Counts, accuracy: float) -> dict[Counts, float]:
    """Return how likely it is that a judge of this accuracy calls so many documents of each grade relevant."""
    says = (1 - accuracy, accuracy, accuracy)  # relevant, by grade
    zero, one, two = (
        [comb(n, r) * p**r * (1 - p) ** (n - r) for r in range(n + 1)] for n, p in zip(counts, says, strict=True)
    )
    return {
        (i, j, k): zero[i] * one[j] * two[k] for i, j, k in product(range(len(zero)), range(len(one)), range(len(two)))
    }


def _taken(counts: Counts, gate: Gate, chance: Mapping[Counts, float]) -> float:
    """Return how often a gate takes judgments that are as likely as ``chance`` says, ranked at random."""
    taken = 0.0
    for way in ways(counts, gate.ndcg_of):
        if way.relevant in chance and reaches_share(way.share, gate.binary):
            taken += chance[way.relevant] * _passing(way.scores, gate.ndcg)
    return min(taken, 1.0)


def _passing(scores: Sequence[float], wanted: float) -> float:
    """Return the share of rankings that pass; where NDCG is 0/0, the gate does not ask for it."""
    return sum(isnan(score) or reaches(score, wanted) for score in scores) / len(scores)


def _choices(counts: Counts, relevant: Counts) -> int:
    """Return how many relevances have so many documents of each grade relevant."""
    return prod(comb(n, r) for n, r in zip(counts, relevant, strict=True))


def counted(grades: Sequence[int]) -> Counts:
    """Return how many documents there are of each grade."""
    strange = sorted(set(grades) - set(GRADES))
    if strange:
        raise UsageError(f"gold grade {strange[0]} is none of 0, 1, 2")
    if not 1 <= len(grades) <= MOST:
        raise UsageError(f"a gold set of {len(grades)} documents cannot be worked out: from 1 to {MOST} can")
    zero, one, two = (list(grades).count(grade) for grade in GRADES)
    return zero, one, two


@lru_cache(maxsize=512)
def ways(counts: Counts, ndcg_of: str) -> tuple[Way, ...]:
    """Return every way to judge a set with so many documents of each grade, and the scores that it can have.

    All relevances with the same ``relevant`` have the same scores, and under each of them all compatible orders of
    grades stand for equally many rankings.
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
        Way(relevant, binary_share(_relevance(counts, relevant), grades), tuple(found))
        for relevant, found in sorted(scores.items())
    )


def _relevance(counts: Counts, relevant: Counts) -> list[int]:
    """Return a relevance, by grade, under which so many documents of each are relevant."""
    return [int(i < r) for n, r in zip(counts, relevant, strict=True) for i in range(n)]


def _orders(counts: Counts) -> Iterator[tuple[int, ...]]:
    """Yield every order in which so many documents of each grade can stand below each other."""
    if not any(counts):
        yield ()
    for grade in GRADES:
        if counts[grade]:
            left = tuple(count - (at == grade) for at, count in enumerate(counts))
            yield from ((grade, *rest) for rest in _orders((left[0], left[1], left[2])))


# Thresholds for a gate that refuses honest judges no more often than is wanted.

DIGITS = 4  # of a threshold that is solved for
HAIR = 1e-12  # by which a sum of probabilities may miss


class Thresholds(NamedTuple):
    """A gate that refuses a judge of some accuracy no more often than is wanted, and what it does."""

    binary: float
    ndcg: float
    false_refuse: float
    false_accept: Mapping[str, float]


@dataclass(frozen=True)
class Asked:
    """A gate on scores alone."""

    binary: float
    ndcg: float
    ndcg_of: str
    seconds: float = 0.0


def solve(grades: Sequence[int], wanted_false_refuse: float, accuracy: float, gate: Gate) -> Thresholds:
    """Return the highest thresholds that refuse a judge of this accuracy no more often than is wanted.

    The binary threshold stays where the gate has it if it alone refuses no more than that, and otherwise goes down to
    the highest score that does; then NDCG is as high as the rest of the wish allows. Thresholds are cut, never rounded
    up, after four digits.
    """
    return solve_sets([grades], wanted_false_refuse, accuracy, gate)


def solve_sets(sets: Sequence[Sequence[int]], wanted_false_refuse: float, accuracy: float, gate: Gate) -> Thresholds:
    """Return the highest thresholds that keep the wish on every one of these sets; the rates are the worst of them."""
    if not sets:
        raise UsageError("there is no gold set to solve the thresholds for")
    if not 0 <= wanted_false_refuse < 1 or not 0 < accuracy <= 1:
        raise UsageError(
            f"a false-refuse rate of {wanted_false_refuse:g} for an accuracy of {accuracy:g} cannot be solved for: "
            "the rate is from 0 to below 1, the accuracy above 0 and at most 1"
        )
    binary = min(_highest_binary(grades, wanted_false_refuse, accuracy, gate) for grades in sets)
    asked = Asked(binary, 0.0, gate.ndcg_of)
    ndcg = min(_highest_ndcg(grades, wanted_false_refuse, accuracy, asked) for grades in sets)
    return _thresholds(sets, accuracy, replace(asked, ndcg=ndcg))


def frontier(grades: Sequence[int], wanted_false_refuse: float, accuracy: float, gate: Gate) -> list[Thresholds]:
    """Return, for every binary threshold that keeps the wish, the highest NDCG beside it; the strictest binary first.

    What is given up on one side can be asked on the other; the rates say which catches more spammers.
    """
    levels = {_cut(float(way.share)) for way in ways(counted(grades), gate.ndcg_of)}
    found = []
    for binary in sorted(levels, reverse=True):
        asked = Asked(binary, 0.0, gate.ndcg_of)
        if false_refuse(grades, asked, accuracy) <= wanted_false_refuse + HAIR:
            ndcg = _highest_ndcg(grades, wanted_false_refuse, accuracy, asked)
            found.append(_thresholds([grades], accuracy, replace(asked, ndcg=ndcg)))
    return found


def _thresholds(sets: Sequence[Sequence[int]], accuracy: float, gate: Asked) -> Thresholds:
    """Return a gate with the worst that it does on these sets."""
    refused = max(false_refuse(grades, gate, accuracy) for grades in sets)
    taken = [false_accepts(grades, gate) for grades in sets]
    worst = {spammer: max(rates[spammer] for rates in taken) for spammer in SPAMMERS}
    return Thresholds(gate.binary, gate.ndcg, refused, MappingProxyType(worst))


def _highest_binary(grades: Sequence[int], wanted: float, accuracy: float, gate: Gate) -> float:
    """Return the highest binary threshold, not above the gate's, that alone keeps the wish."""
    levels = {_cut(float(way.share)) for way in ways(counted(grades), gate.ndcg_of)} | {gate.binary, 0.0}
    for binary in sorted((level for level in levels if level <= gate.binary), reverse=True):
        if false_refuse(grades, Asked(binary, 0.0, gate.ndcg_of), accuracy) <= wanted + HAIR:
            return binary
    return 0.0


def _highest_ndcg(grades: Sequence[int], wanted: float, accuracy: float, gate: Asked) -> float:
    """Return the highest NDCG threshold that keeps the wish beside the gate's binary one."""
    scores = {score for way in ways(counted(grades), gate.ndcg_of) for score in way.scores if not isnan(score)}
    levels = sorted({_cut(score) for score in scores} | {0.0})
    low, high = 0, len(levels) - 1  # a threshold of nothing keeps the wish, and rates rise with the threshold
    while low < high:
        middle = (low + high + 1) // 2
        kept = false_refuse(grades, replace(gate, ndcg=levels[middle]), accuracy) <= wanted + HAIR
        low, high = (middle, high) if kept else (low, middle - 1)
    return levels[low]


def _cut(score: float) -> float:
    """Return a score cut after so many digits that people write: never above it."""
    steps = 10.0**DIGITS
    return int(score * steps + 1e-9) / steps
