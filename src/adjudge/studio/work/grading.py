"""How work is graded: gold that stands, times that the studio's clock bears out, the verdict, what is accepted."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adjudge.studio.gates.gates import Answer, Verdict, active_seconds, qualification_verdict, work_verdict
from adjudge.studio.record.ledger import Assignment, Ledger, Set

if TYPE_CHECKING:
    from adjudge.studio.record.ledger import Assignment, Ledger, Set


GRADED = ("gold", "qualification")  # uses of sets whose right answers are shown after the end


def grades(ledger: Ledger, one: Set) -> list[int | None]:
    """Return the gold grades of a set's documents, where they have one that was not ruled to be wrong."""
    found = [None if item in ledger.overruled else ledger.gold_of(item) for item in one.items]
    return [None if gold is None else gold.grade for gold in found]


def graded(ledger: Ledger, one: Set, answers: Sequence[Answer]) -> tuple[list[Answer], list[int]]:
    """Return the answers and grades of the documents that have a grade, their ranks closed up."""
    known = [(answer, grade) for answer, grade in zip(answers, grades(ledger, one), strict=True) if grade is not None]
    order = sorted(range(len(known)), key=lambda slot: known[slot][0].rank or 0)
    rank = {slot: place for place, slot in enumerate(order, 1)}
    said = [answer._replace(rank=rank[slot]) for slot, (answer, _) in enumerate(known)]
    return said, [grade for _, grade in known]


def is_mistake(ledger: Ledger, one: Set, slot: int) -> bool:
    """Return whether a document was judged otherwise than its gold, in a set whose right answers are shown."""
    grade = grades(ledger, one)[slot] if one.use in GRADED and slot < len(one.items) else None
    return grade is not None and one.answers[slot].relevance != int(grade > 0)


def timed(assignment: Assignment, said: Mapping[int, Sequence[Answer]], now: float) -> dict[int, list[float]]:
    """Return the active seconds of every document by set, as far as the studio's clock bears them out."""
    times = {}
    opened = assignment.at
    for one in assignment.sets:
        closed = one.finished if one.finished is not None else now
        times[one.id] = active_seconds([answer.seconds for answer in said[one.id]], closed - opened)
        opened = closed
    return times


def verdict_of(
    ledger: Ledger, assignment: Assignment, said: Mapping[int, Sequence[Answer]], times: Mapping[int, Sequence[float]]
) -> Verdict:
    """Return whether an assignment passes, by which criteria; what has no gold that stands is not graded."""
    settings = ledger.campaign.settings
    known = {one.id: graded(ledger, one, said[one.id]) for one in assignment.sets if one.use in GRADED}
    if assignment.kind == "qualification":
        pairs = [
            (answer.relevance, grade)
            for answers, right in known.values()
            for answer, grade in zip(answers, right, strict=True)
        ]
        return qualification_verdict(pairs, min(settings.qualification.correct, len(pairs)))
    gold = [(answers, right) for answers, right in known.values() if right]
    return work_verdict(gold, [seconds for part in times.values() for seconds in part], settings.gate)


def judgment_rows(
    first: int,
    now: float,
    assignment: Assignment,
    said: Mapping[int, Sequence[Answer]],
    times: Mapping[int, Sequence[float]],
    judged: Container[int] = (),
) -> Iterator[dict[str, Any]]:
    """Yield what is accepted of an assignment, numbered from ``first``; "cannot tell" is kept as such.

    What its judge has ``judged`` elsewhere meanwhile stays as it was judged there.
    """
    number = first
    for one in assignment.sets:
        for item, answer, seconds in zip(one.items, said[one.id], times[one.id], strict=True):
            if item in judged:
                continue
            yield {
                "id": number,
                "at": now,
                "item": item,
                "person": assignment.person,
                "assignment": assignment.id,
                "use": one.use,
                "relevance": answer.relevance,
                "rank": answer.rank,
                "seconds": seconds,
                "comment": answer.comment,
            }
            number += 1


# An assignment graded again, after gold was ruled to be wrong: the verdict without that document.
#
# The documents that stay keep their order of ranks. At the qualification a document whose gold is wrong counts as
# right.

Dropped = frozenset[tuple[int, int]]  # set, slot


def regraded(ledger: Ledger, one: Assignment, dropped: Dropped) -> Verdict:
    """Return what the gate says of an assignment without some documents of gold."""
    settings = ledger.campaign.settings
    if one.kind == "qualification":
        pairs = [pair for held in one.sets for pair in _qualifying(ledger, held, dropped)]
        return qualification_verdict(pairs, min(settings.qualification.correct, len(pairs)))
    gold = [_without(ledger, held, dropped) for held in one.sets if held.use == "gold"]
    times = timed(one, {held.id: held.answers for held in one.sets}, one.sets[-1].finished or one.at)
    seconds = [second for part in times.values() for second in part]
    return work_verdict([(said, graded) for said, graded in gold if said], seconds, settings.gate)


def _qualifying(ledger: Ledger, held: Set, dropped: Dropped) -> list[tuple[int | None, int]]:
    """Return what was said of the documents whose grade is known; where gold is wrong, what gold says."""
    return [
        (int(grade > 0) if (held.id, slot) in dropped else answer.relevance, grade)
        for slot, (answer, grade) in enumerate(zip(held.answers, grades(ledger, held), strict=True))
        if grade is not None
    ]


def _without(ledger: Ledger, held: Set, dropped: Dropped) -> tuple[Sequence[Answer], Sequence[int]]:
    """Return the answers and grades of a set without some documents, ranks closed up."""
    known = grades(ledger, held)
    kept = [slot for slot, grade in enumerate(known) if grade is not None and (held.id, slot) not in dropped]
    order = sorted(kept, key=lambda slot: held.answers[slot].rank or 0)
    rank = {slot: place for place, slot in enumerate(order, 1)}
    return [held.answers[slot]._replace(rank=rank[slot]) for slot in kept], [known[slot] or 0 for slot in kept]
