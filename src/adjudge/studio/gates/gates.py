"""What work must reach to be taken: paper 002, section 1.2.5, as pure functions of answers and gold grades.

- compatible: the ranks of a set are 1..n, all different, and no irrelevant document stands above a relevant one;
- binary score: points by gold grade and judgment, over the best possible points;
- NDCG: DCG with the judge's ranks over DCV with the gold's own ranks, which are dense and tied;
- time: seconds of active work on each document, as far as the studio's clock bears them out.

The printed ideal is tied and a judge's ranks are strict, so no judge reaches an NDCG of 1 where two documents are
equally relevant; ``ndcg_of = "attainable"`` divides by the best strict ranking instead. What the gates let through and
whom they refuse is worked out in ``designer``.

Who cannot tell whether a document is relevant gets the points of the wrong answer, and may rank it anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import fsum, isfinite, isnan, log2, nan
from typing import NamedTuple, Protocol

from adjudge.errors import UsageError

POINTS = ((15, 5, 0), (10, 12, 9))  # by judgment (irrelevant, relevant) and gold grade
GRADES = (0, 1, 2)
MOST = 10  # problems of one set that a page can show
ROUNDING = 1e-12  # by which a sum of logarithms may miss its threshold


class Gate(Protocol):
    """What ``campaign.toml`` says under [gate]."""

    @property
    def binary(self) -> float:
        """The binary score that must be reached."""

    @property
    def ndcg(self) -> float:
        """The NDCG that must be reached."""

    @property
    def ndcg_of(self) -> str:
        """What NDCG divides by: "printed" is the tied ideal, "attainable" the best strict ranking."""

    @property
    def seconds(self) -> float:
        """The least active time on each document."""


class Answer(NamedTuple):
    """What a judge says of one document of a set."""

    relevance: int | None  # 1, 0, or None for "cannot tell"
    told: bool  # chosen yet
    rank: int | None
    seconds: float
    comment: str = ""


class Problem(NamedTuple):
    """What keeps a set from being finished: untold, unranked, same-rank, or order, and the documents it is about."""

    kind: str
    slots: tuple[int, ...]  # of order: the relevant document, then the irrelevant one that stands above it


class Criterion(NamedTuple):
    """One thing that work must reach: binary, ndcg, time, or qualification."""

    name: str
    wanted: float
    got: float
    passed: bool


class Verdict(NamedTuple):
    """Whether work is taken, and by what."""

    passed: bool
    criteria: tuple[Criterion, ...]


def problems(answers: Sequence[Answer]) -> list[Problem]:
    """Return what keeps these answers from being compatible: first of single documents, then of two, by slot."""
    return list(_problems(answers))[:MOST]


def _problems(answers: Sequence[Answer]) -> Iterator[Problem]:
    """Yield every problem of a set."""
    n = len(answers)
    yield from (Problem("untold", (slot,)) for slot, answer in enumerate(answers) if not answer.told)
    ranked = [(slot, answer) for slot, answer in enumerate(answers) if answer.rank in range(1, n + 1)]
    yield from (Problem("unranked", (slot,)) for slot in range(n) if slot not in {at for at, _ in ranked})
    pairs = list(combinations(ranked, 2))
    yield from (Problem("same-rank", (i, j)) for (i, a), (j, b) in pairs if a.rank == b.rank)
    for (i, a), (j, b) in pairs:
        above, below = ((i, a), (j, b)) if (a.rank or 0) < (b.rank or 0) else ((j, b), (i, a))
        if a.rank != b.rank and (_said(above[1]), _said(below[1])) == (0, 1):
            yield Problem("order", (below[0], above[0]))


def _said(answer: Answer) -> int | None:
    """Return the relevance a judge has told, if any."""
    return answer.relevance if answer.told else None


def binary_score(relevance: Sequence[int | None], grades: Sequence[int]) -> float:
    """Return the points of these judgments over the best possible ones (paper 002, section 1.2.5, 2)."""
    return float(binary_share(relevance, grades))


def binary_share(relevance: Sequence[int | None], grades: Sequence[int]) -> Fraction:
    """Return the binary score as a fraction: 51 of 60 points are .85, and not a hair below."""
    _check(relevance, grades)
    got = sum(_points(said, grade) for said, grade in zip(relevance, grades, strict=True))
    return Fraction(got, sum(max(irrelevant, relevant) for irrelevant, relevant in (_column(g) for g in grades)))


def _column(grade: int) -> tuple[int, int]:
    """Return the points of a document of this grade, judged irrelevant and judged relevant."""
    return POINTS[0][grade], POINTS[1][grade]


def _points(said: int | None, grade: int) -> int:
    """Return the points of one judgment; who cannot tell has those of the wrong answer."""
    return min(_column(grade)) if said is None else POINTS[said][grade]


def ndcg(ranks: Sequence[int], grades: Sequence[int]) -> float:
    """Return DCG / DCV as printed (paper 002, section 1.2.5, 3); nan where every grade is 0, which makes it 0/0."""
    _check(ranks, grades)
    dcv = _discounted(dense_ranks(grades), grades)
    return _discounted(ranks, grades) / dcv if dcv else nan


def dense_ranks(grades: Sequence[int]) -> list[int]:
    """Return the gold's own ranks, tied and without gaps: 2, 1, 1, 3, 2 of the grades 1, 2, 2, 0, 1."""
    steps = sorted(set(grades), reverse=True)
    return [1 + steps.index(grade) for grade in grades]


def _discounted(ranks: Sequence[int], grades: Sequence[int]) -> float:
    """Return the gains 2^grade - 1 over log2(1 + rank), added up."""
    return fsum((2**grade - 1) / log2(1 + rank) for rank, grade in zip(ranks, grades, strict=True))


def attainable_ndcg(grades: Sequence[int]) -> tuple[float, float]:
    """Return the worst and the best NDCG that strict ranks can have."""
    ranks = range(1, len(grades) + 1)
    return ndcg(ranks, sorted(grades)), ndcg(ranks, sorted(grades, reverse=True))


def gated_ndcg(ranks: Sequence[int], grades: Sequence[int], ndcg_of: str) -> float:
    """Return the NDCG that a gate looks at: the printed one, or over the best attainable."""
    if ndcg_of not in ("printed", "attainable"):
        raise UsageError(f"ndcg_of '{ndcg_of}' is neither 'printed' nor 'attainable'")
    score = ndcg(ranks, grades)
    return score / attainable_ndcg(grades)[1] if ndcg_of == "attainable" else score


def active_seconds(claimed: Sequence[float], elapsed: float) -> list[float]:
    """Return the seconds that count: a page's claims, scaled down where they add up to more than has passed."""
    told = [max(0.0, seconds) if isfinite(seconds) else 0.0 for seconds in claimed]
    total, passed = sum(told), max(0.0, elapsed)  # `sum` is inf where claims are absurd
    return told if total <= passed else [seconds / total * passed for seconds in told]


def work_verdict(
    gold: Sequence[tuple[Sequence[Answer], Sequence[int]]], seconds: Sequence[float], gate: Gate
) -> Verdict:
    """Return the verdict on an assignment: its gold sets' answers and grades, and the seconds of every document.

    Of several gold sets the mean scores count. A set whose grades are all 0 has no NDCG and takes no part in that mean.
    """
    criteria = [_binary(gold, gate.binary), _ndcg(gold, gate), _time(seconds, gate.seconds)]
    return _verdict([criterion for criterion in criteria if criterion is not None])


def _verdict(criteria: Sequence[Criterion]) -> Verdict:
    """Return the verdict by these criteria: all must pass."""
    return Verdict(all(criterion.passed for criterion in criteria), tuple(criteria))


def _binary(gold: Sequence[tuple[Sequence[Answer], Sequence[int]]], wanted: float) -> Criterion | None:
    """Return the criterion of the binary score."""
    if not gold:
        return None
    shares = [binary_share([_said(answer) for answer in answers], grades) for answers, grades in gold]
    mean = sum(shares, Fraction()) / len(shares)
    return Criterion("binary", wanted, float(mean), reaches_share(mean, wanted))


def _ndcg(gold: Sequence[tuple[Sequence[Answer], Sequence[int]]], gate: Gate) -> Criterion | None:
    """Return the criterion of the ranks."""
    scores = [gated_ndcg(_ranks(answers), grades, gate.ndcg_of) for answers, grades in gold]
    defined = [score for score in scores if not isnan(score)]
    if not defined:
        return None
    mean = fsum(defined) / len(defined)
    return Criterion("ndcg", gate.ndcg, mean, reaches(mean, gate.ndcg))


def _ranks(answers: Sequence[Answer]) -> list[int]:
    """Return the ranks of a finished set."""
    ranks = [answer.rank for answer in answers if answer.rank is not None]
    if len(ranks) < len(answers):
        raise UsageError("a gold set is not ranked to the end; only finished sets have a verdict")
    return ranks


def reaches_share(share: Fraction, wanted: float) -> bool:
    """Say whether a share reaches a threshold, which is taken as it is written: .85 is 17/20."""
    return share >= Fraction(repr(float(wanted)))


def reaches(score: float, wanted: float) -> bool:
    """Say whether a score that was added up in floating point reaches a threshold."""
    return score >= wanted - ROUNDING


def _time(seconds: Sequence[float], wanted: float) -> Criterion | None:
    """Return the criterion of time: the document judged fastest decides."""
    if not seconds:
        return None
    fastest = min(seconds)
    return Criterion("time", wanted, fastest, fastest >= wanted)


def qualification_verdict(pairs: Sequence[tuple[int | None, int]], correct: int) -> Verdict:
    """Return the verdict on a qualification: of its (relevance, grade) pairs so many must be right."""
    right = sum(said is not None and said == int(grade >= 1) for said, grade in pairs)
    return _verdict([Criterion("qualification", float(correct), float(right), right >= correct)])


def _check(given: Sequence[object], grades: Sequence[int]) -> None:
    """Refuse what cannot be scored."""
    if not grades or len(given) != len(grades):
        raise UsageError(f"{len(given)} answers do not fit {len(grades)} gold grades; each document needs both")
    strange = sorted(set(grades) - set(GRADES))
    if strange:
        raise UsageError(f"gold grade {strange[0]} is none of 0, 1, 2, and the gates have no points for it")
