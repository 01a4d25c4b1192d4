"""Thresholds for a gate that refuses honest judges no more often than is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from types import MappingProxyType
from typing import NamedTuple

from adjudge.collect.gate.gates import Gate
from adjudge.collect.gate.rates import SPAMMERS, counted, false_accepts, false_refuse, ways
from adjudge.errors import UsageError

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
