"""The gate designer: what a gate does to honest judges and to spammers on a gold set, and gold sets that work.

The printed gates have traps that depend on the composition of the gold set. The ideal ranking is tied and a judge's is
strict, so nobody can pass five documents of one grade; five irrelevant documents make NDCG 0/0; and on some sets every
ranking passes. ``design`` reports this for a set, and ``compose_sets`` makes sets without these traps. The arithmetic,
and the search for thresholds (``solve``), are in ``gate_error_rates``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from math import isnan
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from adjudge.errors import quote
from adjudge.studio.gate_error_rates import false_accepts, false_refuse, frontier, solve, solve_sets
from adjudge.studio.gates import Gate, attainable_ndcg, reaches
from adjudge.studio.records import GRADES, FixedSet, Gold, Pair
from adjudge.studio.settings import Settings

__all__ = [
    "ACCURACIES",
    "Design",
    "GateComposition",
    "GateRow",
    "compose_sets",
    "compositions",
    "describe_grades",
    "design",
    "drawable_gold",
    "frontier",
    "gate_compositions",
    "gate_table",
    "set_costs",
    "solve",
    "solve_sets",
]

ACCURACIES = (0.85, 0.95)
WARNED = 10.0  # cost of a composition that ``design`` warns about, above that of any other
TOO_OFTEN = 0.5  # acceptance rate of a spammer above which a set is warned about
SPAMMERS = {
    "random": "a judge who tosses a coin",
    "all-relevant": "a judge who calls every document relevant",
    "all-irrelevant": "a judge who calls every document irrelevant",
}
Composition = tuple[int, ...]  # the grades of a set, rising


class Design(NamedTuple):
    """What a gate does on one gold set."""

    feasible: bool
    reason: str  # why not
    worst: float  # NDCG of any strict ranking, divided by the ideal of ``ndcg_of``
    best: float
    false_accept: Mapping[str, float]  # by kind of spammer
    false_refuse: Mapping[float, float]  # by accuracy of the judge
    warnings: tuple[str, ...] = ()

    @property
    def cost(self) -> float:
        """How often the gate refuses judges who are right 95 % of the time, plus how often it accepts a spammer."""
        return self.false_refuse[max(ACCURACIES)] + max(self.false_accept.values())


def design(grades: Sequence[int], gate: Gate) -> Design:
    """Return what a gate does on a gold set of these grades: whether anybody can pass, and its error rates.

    Parameters
    ----------
    grades
        The gold grades (0, 1, 2) of the documents of the set, in any order.
    gate
        The thresholds, such as ``settings.gate`` of a campaign.

    Returns
    -------
    Design
        Feasibility with the reason, the range of NDCG, and how often spammers pass and honest judges fail.

    Examples
    --------
    >>> from adjudge.studio.settings import Gate
    >>> design([1, 1, 1, 1, 1], Gate()).reason
    '5 documents of grade 1: the best strict ranking reaches 0.590 of the printed ideal, below 0.62'
    """
    worst, best = _extremes(grades, gate.ndcg_of)
    reason = _infeasible_reason(grades, gate, best)
    return Design(
        feasible=not reason,
        reason=reason,
        worst=worst,
        best=best,
        false_accept=MappingProxyType(false_accepts(grades, gate)),
        false_refuse=MappingProxyType({accuracy: false_refuse(grades, gate, accuracy) for accuracy in ACCURACIES}),
        warnings=() if reason else tuple(_warnings(grades, gate, worst)),
    )


def _extremes(grades: Sequence[int], ndcg_of: str) -> tuple[float, float]:
    """Return the worst and the best NDCG of a strict ranking; each is compatible with calling all relevant."""
    worst, best = attainable_ndcg(grades)
    return (worst / best, best / best) if ndcg_of == "attainable" else (worst, best)


def _infeasible_reason(grades: Sequence[int], gate: Gate, best: float) -> str:
    """Return why nobody can pass, not even a judge without errors; empty if somebody can."""
    if gate.ndcg > 0 and isnan(best):
        return f"{describe_grades(grades)}: NDCG is 0/0 if no document is relevant"
    if gate.ndcg > 0 and not reaches(best, gate.ndcg):
        ideal = "printed ideal" if gate.ndcg_of == "printed" else "best strict ranking"
        return (
            f"{describe_grades(grades)}: the best strict ranking reaches {best:.3f} of the {ideal}, below {gate.ndcg:g}"
        )
    return ""


def _warnings(grades: Sequence[int], gate: Gate, worst: float) -> Iterator[str]:
    """Yield what a lead should know about a set that can be passed."""
    if gate.ndcg > 0 and reaches(worst, gate.ndcg):
        yield f"{describe_grades(grades)}: even the worst ranking has {worst:.3f}, so the rank gate refuses nobody"
    for spammer, rate in false_accepts(grades, gate).items():
        if rate > TOO_OFTEN:
            yield f"{describe_grades(grades)}: {SPAMMERS[spammer]} is accepted in {rate:.0%} of cases"


def describe_grades(grades: Sequence[int]) -> str:
    """Return a composition in words: ``3 documents of grade 0, 1 of grade 1, 1 of grade 2``."""
    parts = [(grades.count(grade), grade) for grade in GRADES if grade in grades]
    words = [f"{count} of grade {grade}" for count, grade in parts]
    first = f"{parts[0][0]} document{'s' if parts[0][0] > 1 else ''} of grade {parts[0][1]}"
    return ", ".join([first, *words[1:]])


def compositions(documents: int) -> list[Composition]:
    """Return every composition of a gold set."""
    return list(combinations_with_replacement(GRADES, documents))


@lru_cache(maxsize=64)
def set_costs(documents: int, gate: Gate) -> Mapping[Composition, float]:
    """Return the compositions of gold sets that may be drawn, each with the error of the gate on it.

    Those that nobody can pass are left out; those that ``design`` warns about cost more than all others.
    """
    designs = {grades: design(grades, gate) for grades in compositions(documents)}
    return MappingProxyType(
        {grades: report.cost + WARNED * bool(report.warnings) for grades, report in designs.items() if report.feasible}
    )


def drawable_gold(gold: Mapping[Pair, Gold], sets: Sequence[FixedSet], settings: Settings) -> tuple[Pair, ...]:
    """Return the graded pairs of which gold sets are drawn; none if the campaign has fixed ones.

    Left out are documents of qualification and monitoring sets, and topics of which no set can be made that somebody
    can pass.
    """
    if not (settings.assignment.draw_gold and settings.assignment.gold_sets):
        return ()
    reserved = {pair for fixed in sets if fixed.use != "gold" for pair in fixed.pairs}
    free = [pair for pair in gold if pair not in reserved]
    counts = Counter((topic, gold[topic, document].grade) for topic, document in free)
    needs = [Counter(grades) for grades in set_costs(settings.assignment.documents, settings.gate)]
    able = {
        topic: any(all(counts[topic, grade] >= n for grade, n in need.items()) for need in needs)
        for topic in {topic for topic, _ in free}
    }
    return tuple(pair for pair in free if able[pair[0]])


class Graded(Protocol):
    """The parts of a campaign that the designer reads."""

    @property
    def settings(self) -> Settings:
        """The settings of the campaign."""

    @property
    def gold(self) -> Mapping[Pair, Gold]:
        """The graded pairs."""

    @property
    def sets(self) -> tuple[FixedSet, ...]:
        """The fixed sets of its files."""

    @property
    def drawn(self) -> tuple[Pair, ...]:
        """The graded pairs of which gold sets are drawn."""


class GateRow(NamedTuple):
    """What the gate does on one gold set of a campaign."""

    name: str
    topic: str
    grades: tuple[int, ...]
    design: Design


def gate_table(campaign: Graded) -> list[GateRow]:
    """Return what the gate does on every gold set of a campaign, in the order of its files.

    If gold sets are drawn, there is a row for every composition that can be drawn instead.
    """
    gold, gate = campaign.gold, campaign.settings.gate
    if campaign.drawn:
        return _drawn_rows(campaign)
    graded = [
        (fixed, tuple(gold[pair].grade for pair in fixed.pairs)) for fixed in campaign.sets if fixed.use == "gold"
    ]
    designs = {key: design(key, gate) for key in {tuple(sorted(grades)) for _, grades in graded}}
    return [GateRow(fixed.name, fixed.topic, grades, designs[tuple(sorted(grades))]) for fixed, grades in graded]


class GateComposition(NamedTuple):
    """What the gate does on all gold sets of the same grades."""

    grades: Composition
    sets: tuple[str, ...]  # their names
    design: Design


def gate_compositions(campaign: Graded) -> list[GateComposition]:
    """Return what the gate does on the gold sets of a campaign, one row for all sets of the same grades."""
    names: dict[Composition, list[str]] = {}
    rows = gate_table(campaign)
    for row in rows:
        names.setdefault(tuple(sorted(row.grades)), []).append(row.name)
    designs = {tuple(sorted(row.grades)): row.design for row in rows}
    return [GateComposition(grades, tuple(names[grades]), designs[grades]) for grades in sorted(names)]


def _drawn_rows(campaign: Graded) -> list[GateRow]:
    """Return a row for every composition of which a gold set can be drawn, those that are preferred first."""
    counts = Counter((topic, campaign.gold[topic, document].grade) for topic, document in campaign.drawn)
    costs = set_costs(campaign.settings.assignment.documents, campaign.settings.gate)
    rows = []
    for grades in sorted(costs, key=lambda grades: (costs[grades], grades)):
        need = Counter(grades)
        able = {topic for topic, _ in campaign.drawn if all(counts[topic, g] >= n for g, n in need.items())}
        if able:
            topics = f"{len(able):,} topic" + ("s" if len(able) > 1 else "")
            rows.append(GateRow("drawn", topics, grades, design(grades, campaign.settings.gate)))
    return rows


def compose_sets(
    gold: Mapping[Pair, Gold], settings: Settings, rng: np.random.Generator, pool: Sequence[Pair] = ()
) -> tuple[list[FixedSet], list[str]]:
    """Return qualification and gold sets made of graded pairs, and notes on those that could not be made.

    A qualification set has one graded document, alternately relevant and irrelevant, among ungraded documents of the
    pool; a document of the pool that is used is judged there and nowhere else. If the pool of a topic is too small,
    other graded documents fill the set. The rest becomes gold sets: in each topic, repeatedly, the composition with the
    smallest error of the gate. Sets that nobody can pass are never made. Sets that ``design`` warns about are made only
    if there would be no gold set otherwise. If gold is drawn (``assignment.draw_gold``), there are no gold sets.
    """
    stock = _Stock(gold, pool, rng)
    jobs, documents = settings.qualification.jobs, settings.qualification.documents
    qualification, notes = list[FixedSet](), list[str]()
    if settings.qualification.required:
        qualification = _qualification_sets(stock, jobs, documents)
        if len(qualification) < jobs:
            notes.append(
                f"{len(qualification)} of {jobs} qualification sets could be made: each needs a graded document "
                f"and {documents - 1} more of its topic"
            )
    if settings.assignment.draw_gold:
        return qualification, notes
    return qualification + _gold_sets(stock, settings, notes), notes


class _Stock:
    """The documents that are left to make sets of, by topic and grade; they are taken in random order."""

    def __init__(self, gold: Mapping[Pair, Gold], pool: Sequence[Pair], rng: np.random.Generator) -> None:
        self.graded: dict[str, dict[int, list[str]]] = {}
        self.ungraded: dict[str, list[str]] = {}
        for (topic, document), (grade, _) in sorted(gold.items()):
            self.graded.setdefault(topic, {g: [] for g in GRADES})[grade].append(document)
        for topic, document in sorted(set(pool) - set(gold)):
            self.ungraded.setdefault(topic, []).append(document)
        for documents in (*(d for by in self.graded.values() for d in by.values()), *self.ungraded.values()):
            rng.shuffle(documents)
        self.rng = rng

    def left(self, topic: str) -> int:
        """Return how many graded documents of a topic are left."""
        return sum(map(len, self.graded[topic].values()))

    def has(self, topic: str, grades: Sequence[int]) -> bool:
        """Return whether there are documents of these grades left."""
        return all(len(self.graded[topic][grade]) >= grades.count(grade) for grade in GRADES)

    def take(self, topic: str, grades: Sequence[int]) -> list[str]:
        """Take a document of each of these grades."""
        return [self.graded[topic][grade].pop() for grade in grades]

    def mixed(self, documents: Sequence[str]) -> tuple[str, ...]:
        """Return documents in random order, so that their position tells nothing."""
        return tuple(documents[i] for i in self.rng.permutation(len(documents)))


def _qualification_sets(stock: _Stock, jobs: int, documents: int) -> list[FixedSet]:
    """Return the qualification sets that can be made, of as many different topics as possible."""
    sets: list[FixedSet] = []
    used: dict[str, int] = dict.fromkeys(stock.graded, 0)
    for job in range(jobs):
        able = [topic for topic in used if _has_enough(stock, topic, documents)]
        if not able:
            break
        # the least used topic with the most documents of the grades that are due
        due = (1, 2) if job % 2 == 0 else (0,)
        topic = min(able, key=lambda t: (used[t], -sum(len(stock.graded[t][g]) for g in due), -stock.left(t)))
        used[topic] += 1
        chosen = _take_graded(stock, topic, due) + _take_fillers(stock, topic, documents - 1)
        sets.append(FixedSet(f"qualification-{job + 1}", "qualification", topic, stock.mixed(chosen)))
    return sets


def _has_enough(stock: _Stock, topic: str, documents: int) -> bool:
    """Return whether a topic has enough documents for a qualification set."""
    graded = stock.left(topic)
    return graded > 0 and graded + len(stock.ungraded.get(topic, [])) >= documents


def _take_graded(stock: _Stock, topic: str, due: Sequence[int]) -> list[str]:
    """Take a graded document for a qualification set, of the grade with most documents left, if possible one due."""
    grades = [grade for grade in due if stock.graded[topic][grade]] or [g for g in GRADES if stock.graded[topic][g]]
    return stock.take(topic, [max(grades, key=lambda grade: len(stock.graded[topic][grade]))])


def _take_fillers(stock: _Stock, topic: str, documents: int) -> list[str]:
    """Take the other documents of a qualification set: from the pool, then graded ones."""
    pool = stock.ungraded.get(topic, [])
    fillers = [pool.pop() for _ in range(min(documents, len(pool)))]
    while len(fillers) < documents:
        fillers += _take_graded(stock, topic, GRADES)
    return fillers


def _gold_sets(stock: _Stock, settings: Settings, notes: list[str]) -> list[FixedSet]:
    """Return the gold sets that can be made, and note their warnings and the documents that are left."""
    needed = settings.assignment.gold_sets
    designs = {grades: design(grades, settings.gate) for grades in compositions(settings.assignment.documents)}
    sets = _sets_of(stock, _feasible(designs, warned=False), notes)
    if not sets and needed:
        sets = _sets_of(stock, _feasible(designs, warned=True), notes)
    notes += [f"topic {quote(topic)}: {_unused(stock, topic, designs)}" for topic in stock.graded if stock.left(topic)]
    if len(sets) < needed:
        notes.append(f"{len(sets)} gold sets could be made, but every assignment needs {needed}: grade more documents")
    return sets


def _feasible(designs: Mapping[Composition, Design], warned: bool) -> dict[Composition, Design]:
    """Return the compositions that somebody can pass, with or without those that ``design`` warns about."""
    return {grades: report for grades, report in designs.items() if report.feasible and (warned or not report.warnings)}


def _sets_of(stock: _Stock, designs: Mapping[Composition, Design], notes: list[str]) -> list[FixedSet]:
    """Return gold sets of these compositions, those with the smallest error of the gate first, and note warnings."""
    sets: list[FixedSet] = []
    for topic in stock.graded:
        number = 0
        while able := [grades for grades in designs if stock.has(topic, grades)]:
            number += 1
            best = min(able, key=lambda grades: (designs[grades].cost, grades))
            fixed = FixedSet(f"gold-{topic}-{number}", "gold", topic, stock.mixed(stock.take(topic, best)))
            sets.append(fixed)
            notes += [f"set {quote(fixed.name)}: {warning}" for warning in designs[best].warnings]
    return sets


def _unused(stock: _Stock, topic: str, designs: Mapping[Composition, Design]) -> str:
    """Return why graded documents of a topic are in no set."""
    left = [grade for grade in GRADES for _ in stock.graded[topic][grade]]
    size = len(next(iter(designs)))
    if len(left) < size:
        return f"{describe_grades(left)} left over, too few for a gold set of {size}"
    report = designs[min(grades for grades in designs if stock.has(topic, grades))]
    return f"{describe_grades(left)} in no gold set; {report.reason or report.warnings[0]}"
