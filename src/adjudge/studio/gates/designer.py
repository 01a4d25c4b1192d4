"""What a gate does to honest judges and to spammers, worked out for a gold set before anybody meets it.

The printed gates have traps, by the composition of the gold set: the ideal ranking is tied and a judge's is strict, so
five documents of one grade can be passed by nobody; five irrelevant ones are 0/0; and of some sets every ranking
passes. ``design`` says so of a set (``rates`` has the arithmetic), ``compose_sets`` makes sets that have none of this,
and ``solve`` (of ``thresholds``) finds a gate for the sets there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from math import isnan
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from adjudge.errors import quote
from adjudge.studio.gates.error_rates import false_accepts, false_refuse, frontier, solve, solve_sets
from adjudge.studio.gates.gates import GRADES, Gate, attainable_ndcg, reaches
from adjudge.studio.records import FixedSet, Gold, Pair
from adjudge.studio.settings import Settings

__all__ = [
    "ACCURACIES",
    "Design",
    "GateRow",
    "compose_sets",
    "compositions",
    "described",
    "design",
    "frontier",
    "gate_table",
    "solve",
    "solve_sets",
]

ACCURACIES = (0.85, 0.95)
TOO_OFTEN = 0.5  # how often a spammer may be taken before a set says nothing of anybody


class Design(NamedTuple):
    """What a gate does on one gold set."""

    feasible: bool
    reason: str  # why not
    worst: float  # the worst NDCG, over what ``ndcg_of`` says, of any strict ranking
    best: float
    false_accept: Mapping[str, float]  # of spammers
    false_refuse: Mapping[float, float]  # of judges, by their accuracy
    warnings: tuple[str, ...] = ()

    @property
    def cost(self) -> float:
        """How often the gate errs: it refuses the judge who is right 95 % of the time, or takes the best spammer."""
        return self.false_refuse[max(ACCURACIES)] + max(self.false_accept.values())


def design(grades: Sequence[int], gate: Gate) -> Design:
    """Return what a gate does on a gold set of these grades: whether anybody can pass, and how often it errs."""
    worst, best = _extremes(grades, gate.ndcg_of)
    reason = _impossible(grades, gate, best)
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
    """Return the worst and the best NDCG that the gate can see.

    Every strict ranking is compatible with some relevance (all relevant), so these are those of all rankings.
    """
    worst, best = attainable_ndcg(grades)
    return (worst / best, best / best) if ndcg_of == "attainable" else (worst, best)


def _impossible(grades: Sequence[int], gate: Gate, best: float) -> str:
    """Return why nobody can pass, or nothing: who judges and ranks without an error has the best of all scores."""
    if gate.ndcg > 0 and isnan(best):
        return f"{described(grades)}: NDCG is 0/0 where no document is relevant"
    if gate.ndcg > 0 and not reaches(best, gate.ndcg):
        ideal = "printed ideal" if gate.ndcg_of == "printed" else "best strict ranking"
        return f"{described(grades)}: the best strict ranking reaches {best:.3f} of the {ideal}, below {gate.ndcg:g}"
    return ""


def _warnings(grades: Sequence[int], gate: Gate, worst: float) -> Iterator[str]:
    """Yield what is wrong with a set that can be passed."""
    if gate.ndcg > 0 and reaches(worst, gate.ndcg):
        yield f"{described(grades)}: even the worst ranking has {worst:.3f}, so the rank gate refuses nobody"
    for spammer, taken in false_accepts(grades, gate).items():
        if taken > TOO_OFTEN:
            yield f"{described(grades)}: {_SPAM[spammer]} is taken in {taken:.0%} of cases"


_SPAM = {
    "random": "who judges by tossing a coin",
    "all-relevant": "who calls every document relevant",
    "all-irrelevant": "who calls every document irrelevant",
}


def described(grades: Sequence[int]) -> str:
    """Return a composition in words: ``3 documents of grade 0, 1 of grade 1, 1 of grade 2``."""
    parts = [(grades.count(grade), grade) for grade in GRADES if grade in grades]
    words = [f"{count} of grade {grade}" for count, grade in parts]
    first = f"{parts[0][0]} document{'s' if parts[0][0] > 1 else ''} of grade {parts[0][1]}"
    return ", ".join([first, *words[1:]])


def compositions(documents: int) -> list[tuple[int, ...]]:
    """Return every composition of a gold set, grades rising."""
    return list(combinations_with_replacement(GRADES, documents))


class Graded(Protocol):
    """What is asked of a campaign here."""

    @property
    def settings(self) -> Settings:
        """Its settings."""

    @property
    def gold(self) -> Mapping[Pair, Gold]:
        """Its graded pairs."""

    @property
    def sets(self) -> tuple[FixedSet, ...]:
        """The sets that its files fix."""


class GateRow(NamedTuple):
    """What the gate does on one gold set of a campaign."""

    name: str
    topic: str
    grades: tuple[int, ...]
    design: Design


def gate_table(campaign: Graded) -> list[GateRow]:
    """Return what the gate does on every gold set of a campaign, in the order of its files."""
    gold, gate = campaign.gold, campaign.settings.gate
    graded = [
        (fixed, tuple(gold[fixed.topic, document].grade for document in fixed.documents))
        for fixed in campaign.sets
        if fixed.use == "gold"
    ]
    return [GateRow(fixed.name, fixed.topic, grades, design(grades, gate)) for fixed, grades in graded]


def compose_sets(
    gold: Mapping[Pair, Gold], settings: Settings, rng: np.random.Generator, pool: Sequence[Pair] = ()
) -> tuple[list[FixedSet], list[str]]:
    """Return gold and qualification sets made of graded pairs, and what could not be made and why.

    A qualification set has one graded document, relevant and irrelevant by turns, among documents of the pool that
    nobody has graded; a document of the pool that goes in is judged there and nowhere else. Where the pool of a topic
    is too small, other graded documents fill it up. The rest becomes gold sets: in each topic, again and again, the
    composition on which the gate errs least. Sets that nobody can pass are never made; sets of which ``design`` warns
    only where there would be no gold set at all.
    """
    stock = _Stock(gold, pool, rng)
    wanted = settings.qualification
    qualification, notes = [], list[str]()
    if wanted.required:
        qualification = _qualification_sets(stock, wanted.jobs, wanted.documents)
        if len(qualification) < wanted.jobs:
            notes.append(
                f"{len(qualification)} of {wanted.jobs} qualification sets could be made: each needs a graded document "
                f"and {wanted.documents - 1} more of its topic"
            )
    return qualification + _gold_sets(stock, settings, notes), notes


class _Stock:
    """The documents that are left to make sets of, by topic and grade; taken at random."""

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
        """Say whether there are documents of these grades left."""
        return all(len(self.graded[topic][grade]) >= grades.count(grade) for grade in GRADES)

    def take(self, topic: str, grades: Sequence[int]) -> list[str]:
        """Take a document of each of these grades."""
        return [self.graded[topic][grade].pop() for grade in grades]

    def mixed(self, documents: Sequence[str]) -> tuple[str, ...]:
        """Return documents in a random order, so that their place tells nothing."""
        return tuple(documents[i] for i in self.rng.permutation(len(documents)))


def _qualification_sets(stock: _Stock, jobs: int, documents: int) -> list[FixedSet]:
    """Return the qualification sets that can be made, of as many topics as there are."""
    made: list[FixedSet] = []
    used: dict[str, int] = dict.fromkeys(stock.graded, 0)
    for job in range(jobs):
        able = [topic for topic in used if _fills(stock, topic, documents)]
        if not able:
            break
        # of the topics used least, one that has relevant or irrelevant documents to spare, whichever is due
        due = (1, 2) if job % 2 == 0 else (0,)
        topic = min(able, key=lambda t: (used[t], -sum(len(stock.graded[t][g]) for g in due), -stock.left(t)))
        used[topic] += 1
        chosen = _qualifying(stock, topic, due) + _filling(stock, topic, documents - 1)
        made.append(FixedSet(f"qualification-{job + 1}", "qualification", topic, stock.mixed(chosen)))
    return made


def _fills(stock: _Stock, topic: str, documents: int) -> bool:
    """Say whether a topic has enough documents for a qualification set."""
    graded = stock.left(topic)
    return graded > 0 and graded + len(stock.ungraded.get(topic, [])) >= documents


def _qualifying(stock: _Stock, topic: str, due: Sequence[int]) -> list[str]:
    """Take the graded document of a qualification set: of what is due, the grade of which most are left."""
    grades = [grade for grade in due if stock.graded[topic][grade]] or [g for g in GRADES if stock.graded[topic][g]]
    return stock.take(topic, [max(grades, key=lambda grade: len(stock.graded[topic][grade]))])


def _filling(stock: _Stock, topic: str, documents: int) -> list[str]:
    """Take the other documents of a qualification set: of the pool, then of the graded that most are left of."""
    pool = stock.ungraded.get(topic, [])
    taken = [pool.pop() for _ in range(min(documents, len(pool)))]
    while len(taken) < documents:
        taken += _qualifying(stock, topic, GRADES)
    return taken


def _gold_sets(stock: _Stock, settings: Settings, notes: list[str]) -> list[FixedSet]:
    """Return the gold sets that can be made, and note what is wrong with them or with what is left."""
    documents, gate, needed = settings.assignment.documents, settings.gate, settings.assignment.gold_sets
    designs = {grades: design(grades, gate) for grades in compositions(documents)}
    sound = {grades for grades, found in designs.items() if found.feasible and not found.warnings}
    made = [fixed for topic in stock.graded for fixed in _of_topic(stock, topic, designs, sound)]
    if not made and needed:
        possible = {grades for grades, found in designs.items() if found.feasible}
        made = [fixed for topic in stock.graded for fixed in _of_topic(stock, topic, designs, possible, notes)]
    for topic in stock.graded:
        if stock.left(topic):
            notes.append(f"topic {quote(topic)}: {_unused(stock, topic, designs)}")
    if len(made) < needed:
        notes.append(f"{len(made)} gold sets could be made, and every assignment needs {needed}: grade more documents")
    return made


def _of_topic(
    stock: _Stock,
    topic: str,
    designs: Mapping[tuple[int, ...], Design],
    allowed: set[tuple[int, ...]],
    notes: list[str] | None = None,
) -> list[FixedSet]:
    """Return the gold sets of one topic, those on which the gate errs least first."""
    made: list[FixedSet] = []
    while able := [grades for grades in allowed if stock.has(topic, grades)]:
        best = min(able, key=lambda grades: (designs[grades].cost, grades))
        name = f"gold-{topic}-{len(made) + 1}"
        made.append(FixedSet(name, "gold", topic, stock.mixed(stock.take(topic, best))))
        if notes is not None:
            notes.extend(f"set {quote(name)}: {warning}" for warning in designs[best].warnings)
    return made


def _unused(stock: _Stock, topic: str, designs: Mapping[tuple[int, ...], Design]) -> str:
    """Return why graded documents of a topic are in no set."""
    left = [grade for grade in GRADES for _ in stock.graded[topic][grade]]
    size = len(next(iter(designs)))
    if len(left) < size:
        return f"{described(left)} left over, too few for a gold set of {size}"
    whole = designs[min(grades for grades in designs if stock.has(topic, grades))]
    why = whole.reason or whole.warnings[0]
    return f"{described(left)} in no gold set; {why}"
