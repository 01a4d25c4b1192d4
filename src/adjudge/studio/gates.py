"""The gates: what work must reach to be accepted (paper 002, section 1.2.5), as pure functions of answers and grades.

- compatible: the ranks of a set are 1..n, all different, and no irrelevant document is above a relevant one;
- binary score: points by gold grade and judgment, divided by the best possible points;
- NDCG: the DCG of the judge's ranks divided by the DCG of the gold's own ranks, which are dense and tied;
- time: seconds of active work on each document.

``work_verdict`` grades the gold sets of an assignment, ``qualification_verdict`` a qualification. ``work/grading.py``
collects the answers and grades for them; ``gate_designer.py`` computes whom the gates accept and refuse.

The printed ideal is tied and a judge's ranks are strict, so no judge reaches an NDCG of 1 if two documents are equally
relevant; ``ndcg_of = "attainable"`` divides by the best strict ranking instead. "Cannot tell" gets the points of the
wrong answer, and such a document may have any rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import fsum, isfinite, isnan, log2, nan
from typing import NamedTuple, Protocol

from adjudge.errors import UsageError
from adjudge.studio.records import GRADES

POINTS = ((15, 5, 0), (10, 12, 9))  # by judgment (irrelevant, relevant) and gold grade
MOST = 10  # problems of one set that a page can show
ROUNDING = 1e-12  # error of a sum of logarithms


class Gate(Protocol):
    """The table [gate] of ``campaign.toml``."""

    @property
    def binary(self) -> float:
        """The lowest binary score that passes."""

    @property
    def ndcg(self) -> float:
        """The lowest NDCG that passes."""

    @property
    def ndcg_of(self) -> str:
        """The ideal that NDCG is divided by: "printed" is the tied one, "attainable" the best strict ranking."""

    @property
    def seconds(self) -> float:
        """The shortest active time per document that passes."""


class Answer(NamedTuple):
    """What a judge says about one document of a set."""

    relevance: int | None  # 1, 0, or None for "cannot tell"
    decided: bool  # whether the judge has chosen one of these yet
    rank: int | None
    seconds: float
    comment: str = ""

    @property
    def label(self) -> int | None:
        """The relevance if the judge has decided on one."""
        return self.relevance if self.decided else None


class Problem(NamedTuple):
    """Why a set cannot be finished, and the slots of the documents concerned.

    The kinds are untold, unranked, same-rank, order, and brief: judged in too short a time.
    """

    kind: str
    slots: tuple[int, ...]  # for "order": the relevant document, then the irrelevant one above it


class Criterion(NamedTuple):
    """A score of the work and its threshold: binary, ndcg, time, or qualification."""

    name: str
    threshold: float
    score: float
    passed: bool


class Verdict(NamedTuple):
    """Whether work is accepted, and the criteria."""

    passed: bool
    criteria: tuple[Criterion, ...]


GradedSet = tuple[Sequence[Answer], Sequence[int]]  # the answers of a set and the gold grades of its documents


def problems(answers: Sequence[Answer]) -> list[Problem]:
    """Return why these answers are not compatible: problems of single documents first, then of pairs, by slot."""
    return [*_single_problems(answers), *_pair_problems(answers)][:MOST]


def _single_problems(answers: Sequence[Answer]) -> Iterator[Problem]:
    """Yield the documents without a decision, then those without a valid rank."""
    yield from (Problem("untold", (slot,)) for slot, answer in enumerate(answers) if not answer.decided)
    yield from (Problem("unranked", (slot,)) for slot, answer in enumerate(answers) if not _is_ranked(answer, answers))


def _pair_problems(answers: Sequence[Answer]) -> Iterator[Problem]:
    """Yield the pairs with the same rank, then the pairs with an irrelevant document above a relevant one."""
    ranked = [(answer.rank or 0, slot, answer) for slot, answer in enumerate(answers) if _is_ranked(answer, answers)]
    pairs = list(combinations(ranked, 2))
    yield from (Problem("same-rank", (i, j)) for (rank, i, _), (other, j, _) in pairs if rank == other)
    for pair in pairs:
        (high, i, above), (low, j, below) = sorted(pair, key=lambda part: part[0])
        if high != low and (above.label, below.label) == (0, 1):
            yield Problem("order", (j, i))


def _is_ranked(answer: Answer, answers: Sequence[Answer]) -> bool:
    """Return whether an answer has one of the ranks of its set."""
    return answer.rank in range(1, len(answers) + 1)


def binary_score(relevance: Sequence[int | None], grades: Sequence[int]) -> float:
    """Return the points of these judgments over the best possible ones (paper 002, section 1.2.5, 2)."""
    return float(binary_share(relevance, grades))


def binary_share(relevance: Sequence[int | None], grades: Sequence[int]) -> Fraction:
    """Return the binary score as a fraction, so that 51 of 60 points are exactly .85."""
    _check(relevance, grades)
    points = sum(_points(label, grade) for label, grade in zip(relevance, grades, strict=True))
    return Fraction(points, sum(max(_column(grade)) for grade in grades))


def _column(grade: int) -> tuple[int, int]:
    """Return the points of a document of this grade, judged irrelevant and judged relevant."""
    return POINTS[0][grade], POINTS[1][grade]


def _points(label: int | None, grade: int) -> int:
    """Return the points of one judgment; "cannot tell" has those of the wrong answer."""
    return min(_column(grade)) if label is None else POINTS[label][grade]


def ndcg(ranks: Sequence[int], grades: Sequence[int]) -> float:
    """Return DCG / DCV as printed (paper 002, section 1.2.5, 3); nan if every grade is 0, which makes it 0/0."""
    _check(ranks, grades)
    ideal = _discounted_gain(dense_ranks(grades), grades)
    return _discounted_gain(ranks, grades) / ideal if ideal else nan


def dense_ranks(grades: Sequence[int]) -> list[int]:
    """Return the gold's own ranks, tied and without gaps: 2, 1, 1, 3, 2 for the grades 1, 2, 2, 0, 1."""
    steps = sorted(set(grades), reverse=True)
    return [1 + steps.index(grade) for grade in grades]


def _discounted_gain(ranks: Sequence[int], grades: Sequence[int]) -> float:
    """Return the sum of the gains 2^grade - 1 over log2(1 + rank)."""
    return fsum((2**grade - 1) / log2(1 + rank) for rank, grade in zip(ranks, grades, strict=True))


def attainable_ndcg(grades: Sequence[int]) -> tuple[float, float]:
    """Return the worst and the best NDCG that strict ranks can have."""
    ranks = range(1, len(grades) + 1)
    return ndcg(ranks, sorted(grades)), ndcg(ranks, sorted(grades, reverse=True))


def gated_ndcg(ranks: Sequence[int], grades: Sequence[int], ndcg_of: str) -> float:
    """Return the NDCG that a gate compares: the printed one, or the one over the best attainable."""
    if ndcg_of not in ("printed", "attainable"):
        raise UsageError(f"ndcg_of is '{ndcg_of}', expected 'printed' or 'attainable'")
    score = ndcg(ranks, grades)
    return score / attainable_ndcg(grades)[1] if ndcg_of == "attainable" else score


def active_seconds(claimed: Sequence[float], elapsed: float) -> list[float]:
    """Return the seconds that count: the page's claims, scaled down if their sum exceeds the time that has passed."""
    claims = [max(0.0, seconds) if isfinite(seconds) else 0.0 for seconds in claimed]
    total, limit = sum(claims), max(0.0, elapsed)  # the sum of absurd claims is inf
    return claims if total <= limit else [seconds / total * limit for seconds in claims]


def work_verdict(gold: Sequence[GradedSet], seconds: Sequence[float], gate: Gate) -> Verdict:
    """Return the verdict on an assignment.

    The mean scores of several gold sets count. A set whose grades are all 0 has no NDCG and is left out of that mean.

    Parameters
    ----------
    gold
        The answers and the gold grades of every gold set.
    seconds
        The active seconds of every document of the assignment, not only of gold.
    gate
        The thresholds.

    Returns
    -------
    Verdict
        Whether all criteria pass, and the criteria that apply: binary, ndcg, time.

    Examples
    --------
    >>> from adjudge.studio.settings import Gate
    >>> answers = [Answer(1, True, 1, 9.0), Answer(0, True, 2, 9.0)]
    >>> work_verdict([(answers, [2, 0])], [9.0, 9.0], Gate()).passed
    True
    """
    criteria = [_binary(gold, gate.binary), _ndcg(gold, gate), _time(seconds, gate.seconds)]
    return _verdict([criterion for criterion in criteria if criterion is not None])


def qualification_verdict(pairs: Sequence[tuple[int | None, int]], correct: int) -> Verdict:
    """Return the verdict on a qualification: at least ``correct`` of its (relevance, grade) pairs must agree."""
    right = sum(label is not None and label == int(grade >= 1) for label, grade in pairs)
    return _verdict([Criterion("qualification", float(correct), float(right), right >= correct)])


def _verdict(criteria: Sequence[Criterion]) -> Verdict:
    """Return the verdict by these criteria: all must pass."""
    return Verdict(all(criterion.passed for criterion in criteria), tuple(criteria))


def _binary(gold: Sequence[GradedSet], threshold: float) -> Criterion | None:
    """Return the criterion of the binary score."""
    if not gold:
        return None
    shares = [binary_share([answer.label for answer in answers], grades) for answers, grades in gold]
    mean = sum(shares, Fraction()) / len(shares)
    return Criterion("binary", threshold, float(mean), reaches_share(mean, threshold))


def _ndcg(gold: Sequence[GradedSet], gate: Gate) -> Criterion | None:
    """Return the criterion of the ranks."""
    scores = [gated_ndcg(_ranks(answers), grades, gate.ndcg_of) for answers, grades in gold]
    defined = [score for score in scores if not isnan(score)]
    if not defined:
        return None
    mean = fsum(defined) / len(defined)
    return Criterion("ndcg", gate.ndcg, mean, reaches(mean, gate.ndcg))


def _time(seconds: Sequence[float], threshold: float) -> Criterion | None:
    """Return the criterion of time: the document with the shortest time decides."""
    if not seconds:
        return None
    fastest = min(seconds)
    return Criterion("time", threshold, fastest, fastest >= threshold)


def _ranks(answers: Sequence[Answer]) -> list[int]:
    """Return the ranks of a finished set."""
    ranks = [answer.rank for answer in answers if answer.rank is not None]
    if len(ranks) < len(answers):
        raise UsageError("a gold set is not completely ranked; only finished sets have a verdict")
    return ranks


def reaches_share(share: Fraction, threshold: float) -> bool:
    """Return whether a share reaches a threshold, which is read as it is written: .85 is 17/20."""
    return share >= Fraction(repr(float(threshold)))


def reaches(score: float, threshold: float) -> bool:
    """Return whether a floating-point score reaches a threshold, up to rounding."""
    return score >= threshold - ROUNDING


def _check(answers: Sequence[object], grades: Sequence[int]) -> None:
    """Refuse answers and grades that cannot be scored."""
    if not grades or len(answers) != len(grades):
        raise UsageError(f"{len(answers)} answers do not fit {len(grades)} gold grades; each document needs both")
    unknown = sorted(set(grades) - set(GRADES))
    if unknown:
        raise UsageError(f"gold grade is {unknown[0]}, expected 0, 1 or 2")
