"""An assignment graded again, after gold was ruled to be wrong: the verdict without that document.

The documents that stay keep their order of ranks. At the qualification a document whose gold is wrong counts as right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adjudge.collect.gate.gates import Answer, Verdict, qualification_verdict, work_verdict
from adjudge.collect.work.grading import grades, timed

if TYPE_CHECKING:
    from adjudge.collect.record.ledger import Assignment, Ledger, Set

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
