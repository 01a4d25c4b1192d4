"""Judges who do not exist, for the demo and for tests: they read the truth, and err each in a way of their own.

All answer compatibly, as a page would have them do: what they call relevant they rank above the rest.

- good: right as often as their accuracy says, ranks by how relevant documents seem;
- careless: the same, but fast, now and then too fast, and ranks at random;
- spammer: tosses coins, fast;
- drifting: good at first, and worse from set to set down to a coin;
- lenient: calls what is irrelevant relevant in two cases of five.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from adjudge.collect.gate.gates import GRADES, Answer
from adjudge.collect.records import Pair
from adjudge.errors import UsageError, quoted

COIN = 0.5
LENIENT = 0.4  # how often a lenient judge calls what is irrelevant relevant
SETS = 40  # after which a drifting judge tosses coins
NOISE = 0.6  # of how relevant a document seems, in grades
SPREAD = 0.35  # of the logarithm of seconds
SHARES = (0.5, 0.3, 0.2)  # of the grades 0, 1, 2 where no truth is given


class Kind(NamedTuple):
    """A way to err."""

    seconds: float  # a document, at the middle
    least: float  # seconds
    ranks: bool  # whether ranks follow how relevant documents seem


KINDS: Mapping[str, Kind] = {
    "good": Kind(22.0, 8.0, True),
    "careless": Kind(9.0, 4.0, False),
    "spammer": Kind(7.0, 3.0, False),
    "drifting": Kind(18.0, 7.0, True),
    "lenient": Kind(20.0, 8.0, True),
}
CROWD = (  # of the demo: name, accuracy, kind
    ("Ada", 0.95, "good"),
    ("Bruno", 0.92, "good"),
    ("Chidi", 0.9, "good"),
    ("Dunja", 0.93, "good"),
    ("Emre", 0.88, "good"),
    ("Farah", 0.9, "lenient"),
    ("Goran", 0.92, "drifting"),
    ("Hana", 0.8, "careless"),
    ("Igor", 0.5, "spammer"),
)


class SimulatedJudge:
    """A judge who answers sets whose grades are known to her, and only to her."""

    def __init__(self, name: str, accuracy: float, kind: str, rng: np.random.Generator) -> None:
        if kind not in KINDS:
            raise UsageError(f"kind {kind!r} of a simulated judge is not one of {quoted(KINDS)}")
        self.name, self.accuracy, self.kind, self.rng = name, accuracy, kind, rng
        self.sets = 0  # that she has judged

    def answers(self, grades: Sequence[int]) -> list[Answer]:
        """Return her answers on a set: relevance, ranks that are compatible with it, and seconds."""
        relevance = [int(self.rng.random() < self.chance(grade)) for grade in grades]
        self.sets += 1
        ranks, seconds = self._ranks(relevance, grades), self._seconds(len(grades))
        return [Answer(*given) for given in zip(relevance, [True] * len(grades), ranks, seconds, strict=True)]

    def chance(self, grade: int) -> float:
        """Return how likely it is that she calls a document of this grade relevant, now."""
        right = self._right()
        if grade >= 1:
            return right
        return LENIENT if self.kind == "lenient" else 1 - right

    def _right(self) -> float:
        """Return how often she is right, now."""
        if self.kind == "spammer":
            return COIN
        if self.kind == "drifting":
            worn = min(1.0, self.sets / SETS)
            return self.accuracy + worn * (COIN - self.accuracy)
        return self.accuracy

    def _ranks(self, relevance: Sequence[int], grades: Sequence[int]) -> list[int]:
        """Return strict ranks, what she calls relevant first, then by how relevant documents seem to her."""
        noise = self.rng.normal(0, NOISE, len(grades))
        seems = (np.asarray(grades) if KINDS[self.kind].ranks else 0) + noise
        order = np.lexsort((-seems, -np.asarray(relevance)))
        ranks = np.empty(len(grades), int)
        ranks[order] = np.arange(1, len(grades) + 1)
        return [int(rank) for rank in ranks]

    def _seconds(self, documents: int) -> list[float]:
        """Return how long she looks at each document."""
        kind = KINDS[self.kind]
        drawn = kind.seconds * np.exp(self.rng.normal(0, SPREAD, documents))
        return [round(float(seconds), 1) for seconds in np.maximum(drawn, kind.least)]


def demo_judges(rng: np.random.Generator) -> list[SimulatedJudge]:
    """Return the judges of the demo, each with randomness of her own."""
    streams = rng.spawn(len(CROWD))
    return [SimulatedJudge(*who, stream) for who, stream in zip(CROWD, streams, strict=True)]


def grade_of(pair: Pair, truth: Mapping[Pair, int]) -> int:
    """Return the grade of a pair; of one whose truth is not given, one that its name decides, always the same."""
    if pair in truth:
        return truth[pair]
    share = int.from_bytes(blake2b("\0".join(pair).encode(), digest_size=6).digest()) / 2**48
    return GRADES[int(np.searchsorted(np.cumsum(SHARES)[:-1], share, side="right"))]
