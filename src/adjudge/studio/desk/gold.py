"""Gold labels as the desk lists them: the contests of judges, and how often judges fail each gold item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, Subquery, and_, func, select

from adjudge.studio.desk.overview import ACCEPTED
from adjudge.studio.record.schema import (
    answers,
    assignments,
    contests,
    finishes,
    items,
    outcomes,
    people,
    rulings,
    sets,
    slots,
)
from adjudge.studio.records import Gold, Pair
from adjudge.studio.work.grading import GRADED

LEAST_JUDGES = 4  # good judges who must have judged a gold item before it can be suspicious
SUSPICIOUS_RATE = 0.5  # of good judges who fail it


class Contest(NamedTuple):
    """A judge's claim that a gold label is wrong."""

    id: int
    at: float
    person: int
    judge: str
    set: int
    slot: int
    item: int
    topic: str
    document: str
    relevance: int | None  # the judge's label
    comment: str
    assignment: int
    kind: str
    outcome: str
    upheld: int | None  # None: not ruled on yet
    reason: str


@dataclass(frozen=True)
class GoldFailures:
    """How often judges fail one gold item."""

    item: int
    topic: str
    document: str
    grade: int
    judged: int
    wrong: int
    good: int  # judged by good judges, most of whose work is accepted
    good_wrong: int

    @property
    def rate(self) -> float:
        """Return the share of wrong answers."""
        return self.wrong / self.judged if self.judged else 0.0

    @property
    def suspicious(self) -> bool:
        """Return whether the gold label itself may be wrong."""
        return self.good >= LEAST_JUDGES and self.good_wrong / self.good > SUSPICIOUS_RATE


def last_answer(assignment: int | None = None) -> Subquery:
    """Return the last answer of every slot, of all assignments or of one."""
    last = select(func.max(answers.c.id)).group_by(answers.c.set, answers.c.slot)
    if assignment is not None:
        last = last.where(answers.c.set.in_(select(sets.c.id).where(sets.c.assignment == assignment)))
    return select(answers).where(answers.c.id.in_(last)).subquery("last_answer")


def last_outcome() -> Subquery:
    """Return the last outcome of every assignment, as a subquery with the columns of ``outcomes``."""
    last = select(func.max(outcomes.c.id)).group_by(outcomes.c.assignment)
    return select(outcomes).where(outcomes.c.id.in_(last)).subquery("last_outcome")


def read_contests(connection: Connection, person: int | None = None, contest: int | None = None) -> list[Contest]:
    """Return contests, open ones first, then newest first.

    Parameters
    ----------
    connection
        A connection to the campaign's database that only reads.
    person, contest
        Only the contests of this judge, or only this one; by default all of them.
    """
    outcome = last_outcome()
    labels = select(answers.c.relevance).where(answers.c.set == contests.c.set, answers.c.slot == contests.c.slot)
    last_label = labels.order_by(answers.c.id.desc()).limit(1).scalar_subquery()
    joined = (
        contests.join(people, people.c.id == contests.c.person)
        .join(sets, sets.c.id == contests.c.set)
        .join(slots, and_(slots.c.set == contests.c.set, slots.c.slot == contests.c.slot))
        .join(items, items.c.id == slots.c.item)
        .join(assignments, assignments.c.id == sets.c.assignment)
        .outerjoin(outcome, outcome.c.assignment == assignments.c.id)
        .outerjoin(rulings, rulings.c.contest == contests.c.id)
    )
    query = (
        select(contests.c.id, contests.c.at, people.c.id, people.c.name, contests.c.set, contests.c.slot, items.c.id)
        .add_columns(items.c.topic, items.c.document, last_label, contests.c.comment, assignments.c.id)
        .add_columns(assignments.c.kind, func.coalesce(outcome.c.outcome, ""), rulings.c.upheld)
        .add_columns(func.coalesce(rulings.c.reason, ""))
        .select_from(joined)
        .order_by(rulings.c.id.is_not(None), contests.c.id.desc())
    )
    if person is not None:
        query = query.where(contests.c.person == person)
    if contest is not None:
        query = query.where(contests.c.id == contest)
    return [Contest(*row) for row in connection.execute(query)]


def gold_failures(connection: Connection, gold: Mapping[Pair, Gold]) -> list[GoldFailures]:
    """Return how often judges fail each gold item that somebody judged.

    Suspicious items come first (most good judges fail them, so the gold itself may be wrong), then the most failed.
    Answers in finished sets count, whether or not their assignment passed.
    """
    good = _good_judges(connection)
    answered = last_answer()
    query = (
        select(items.c.id, items.c.topic, items.c.document, assignments.c.person, answered.c.relevance)
        .select_from(
            answered.join(sets, sets.c.id == answered.c.set)
            .join(finishes, finishes.c.set == sets.c.id)
            .join(slots, and_(slots.c.set == answered.c.set, slots.c.slot == answered.c.slot))
            .join(items, items.c.id == slots.c.item)
            .join(assignments, assignments.c.id == sets.c.assignment)
        )
        .where(sets.c.use.in_(GRADED), answered.c.told == 1)
    )
    counts: dict[tuple[int, str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for item, topic, document, person, relevance in connection.execute(query):
        if (topic, document) in gold:
            wrong = relevance != int(gold[topic, document].grade > 0)
            added = (1, wrong, person in good, wrong and person in good)
            tally = counts[item, topic, document]
            tally[:] = (a + b for a, b in zip(tally, added, strict=True))
    rows = [GoldFailures(*key, gold[key[1:]].grade, *tally) for key, tally in counts.items()]
    return sorted(rows, key=lambda row: (-row.suspicious, -row.rate, -row.judged, row.item))


def _good_judges(connection: Connection) -> set[int]:
    """Return the judges with more assignments accepted than returned."""
    last = last_outcome()
    query = (
        select(assignments.c.person, last.c.outcome, func.count())
        .select_from(assignments.join(last, last.c.assignment == assignments.c.id))
        .where(assignments.c.kind == "work")
        .group_by(assignments.c.person, last.c.outcome)
    )
    score: dict[int, int] = defaultdict(int)
    for person, outcome, n in connection.execute(query):
        score[person] += n if outcome in ACCEPTED else -n if outcome == "returned" else 0
    return {person for person, difference in score.items() if difference > 0}
