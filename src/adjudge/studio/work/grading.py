"""Grading: the gold sets and times of an assignment against the gates, and the judgments that are accepted.

``assignment_verdict`` grades an assignment when its last set is finished (``commands.finish_set`` calls it); the scores
and thresholds themselves are in ``gates.py``. ``regrade`` grades it again without documents whose gold was ruled
wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from adjudge.studio.gates import Answer, Verdict, active_seconds, qualification_verdict, work_verdict
from adjudge.studio.record.ledger import Assignment, Ledger, Set

GRADED = ("gold", "qualification")  # uses of sets whose right answers are shown at the end
Slot = tuple[int, int]  # set, slot


def gold_grades(ledger: Ledger, part: Set) -> list[int | None]:
    """Return the gold grades of a set's documents; None without gold, or if the gold was ruled wrong."""
    gold = [None if item in ledger.overruled else ledger.gold_of(item) for item in part.items]
    return [None if entry is None else entry.grade for entry in gold]


def graded_answers(
    ledger: Ledger, part: Set, answers: Sequence[Answer], dropped: Collection[Slot] = ()
) -> tuple[list[Answer], list[int]]:
    """Return the answers and grades of the graded documents that are not dropped, with ranks from 1 without gaps."""
    pairs = [
        (answer, grade)
        for slot, (answer, grade) in enumerate(zip(answers, gold_grades(ledger, part), strict=True))
        if grade is not None and (part.id, slot) not in dropped
    ]
    order = sorted(range(len(pairs)), key=lambda index: pairs[index][0].rank or 0)
    rank = {index: position for position, index in enumerate(order, 1)}
    ranked = [answer._replace(rank=rank[index]) for index, (answer, _) in enumerate(pairs)]
    return ranked, [grade for _, grade in pairs]


def shown_grades(ledger: Ledger, part: Set) -> list[int | None]:
    """Return the grades that are shown at the end: of graded sets, but not of a qualification that may be repeated."""
    assignment = ledger.assignments[part.assignment]
    failed = assignment.kind == "qualification" and assignment.outcome == "returned"
    may_repeat = failed and ledger.people[assignment.person].standing == "new"
    return gold_grades(ledger, part) if part.use in GRADED and not may_repeat else [None] * len(part.items)


def is_mistake(ledger: Ledger, part: Set, slot: int) -> bool:
    """Return whether a judgment differs from its gold, if the judge is shown the gold."""
    grade = shown_grades(ledger, part)[slot] if slot < len(part.items) else None
    return grade is not None and part.answers[slot].relevance != int(grade > 0)


def document_seconds(
    assignment: Assignment, answers: Mapping[int, Sequence[Answer]], now: float
) -> dict[int, list[float]]:
    """Return the active seconds of every document by set: what pages claim, limited by the studio's own clock."""
    times = {}
    opened = assignment.at
    for part in assignment.sets:
        closed = part.finished if part.finished is not None else now
        times[part.id] = active_seconds([answer.seconds for answer in answers[part.id]], closed - opened)
        opened = closed
    return times


def assignment_verdict(
    ledger: Ledger,
    assignment: Assignment,
    answers: Mapping[int, Sequence[Answer]],
    times: Mapping[int, Sequence[float]],
    dropped: Collection[Slot] = (),
) -> Verdict:
    """Return whether an assignment passes, and by which criteria; only documents with valid gold are graded.

    The thresholds are those under which the judge began; gold is as it is now. ``answers`` and ``times`` are by the id
    of the set. Documents are ``dropped`` if their gold is wrong: the others keep the order of their ranks, and in a
    qualification dropped documents count as right.
    """
    settings = ledger.settings_at(assignment.at)
    sets = [part for part in assignment.sets if part.use in GRADED]
    if assignment.kind == "qualification":
        pairs = [pair for part in sets for pair in _qualification_pairs(ledger, part, answers[part.id], dropped)]
        return qualification_verdict(pairs, min(settings.qualification.correct, len(pairs)))
    gold = [graded_answers(ledger, part, answers[part.id], dropped) for part in sets]
    seconds = list(chain.from_iterable(times.values()))
    return work_verdict([graded for graded in gold if graded[0]], seconds, settings.gate)


def regrade(ledger: Ledger, assignment: Assignment, dropped: Collection[Slot]) -> Verdict:
    """Return the verdict on an assignment that is over, without documents whose gold was ruled wrong."""
    answers = {part.id: part.answers for part in assignment.sets}
    times = document_seconds(assignment, answers, assignment.sets[-1].finished or assignment.at)
    return assignment_verdict(ledger, assignment, answers, times, dropped)


def _qualification_pairs(
    ledger: Ledger, part: Set, answers: Sequence[Answer], dropped: Collection[Slot]
) -> list[tuple[int | None, int]]:
    """Return (relevance, grade) of the graded documents; the relevance of a dropped document is that of its gold."""
    return [
        (int(grade > 0) if (part.id, slot) in dropped else answer.relevance, grade)
        for slot, (answer, grade) in enumerate(zip(answers, gold_grades(ledger, part), strict=True))
        if grade is not None
    ]


def judgment_rows(
    first: int,
    now: float,
    assignment: Assignment,
    answers: Mapping[int, Sequence[Answer]],
    times: Mapping[int, Sequence[float]],
    judged: Container[int] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the rows of an assignment's accepted judgments, with ids from ``first``; "cannot tell" is one of them.

    Items that the judge has ``judged`` elsewhere in the meantime are left out.
    """
    number = first
    for part in assignment.sets:
        for item, answer, seconds in zip(part.items, answers[part.id], times[part.id], strict=True):
            if item in judged:
                continue
            yield {
                "id": number,
                "at": now,
                "item": item,
                "person": assignment.person,
                "assignment": assignment.id,
                "use": part.use,
                "relevance": answer.relevance,
                "rank": answer.rank,
                "seconds": seconds,
                "comment": answer.comment,
            }
            number += 1
