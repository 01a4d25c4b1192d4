"""Gold labels and the assignments they grade: contests, failure rates, and what a lead's decision is based on.

The ledger does not hold assignments that ended long ago, so a decision on one reads it from the tables first
(``read_work``, ``read_past``). The record carries the last row of every table that it depends on; if a table has grown
by the time of the command, the command refuses, and ``decide`` reads again. So two leads may decide at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sqlalchemy import Table, and_, func, select

from adjudge.studio.desk.overview import ACCEPTED
from adjudge.studio.gates import Answer
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Assignment, Set
from adjudge.studio.record.schema import (
    answers,
    assignments,
    contests,
    finishes,
    items,
    judgments,
    outcomes,
    people,
    rulings,
    sets,
    slots,
)
from adjudge.studio.records import Refused

if TYPE_CHECKING:
    from sqlalchemy import Connection, Subquery

    from adjudge.studio.record.ledger import Ledger
    from adjudge.studio.records import Gold, Pair
    from adjudge.studio.studio import Studio


LastRows: TypeAlias = Mapping[str, int]  # table -> id of its last row
STALE = "stale"
TRIES = 20  # a busy campaign writes about every second, and reading takes a hundredth of one
STOPPED = ("paused", "excluded")
LEAST_JUDGES = 4  # good judges who must have judged a gold item before it can be suspicious
SUSPICIOUS_RATE = 0.5  # of good judges who fail it
GRADED_USES = ("gold", "qualification")  # uses of sets that are graded


class Past(NamedTuple):
    """The standing of a judge before they were paused or excluded."""

    before: str  # new, qualified, unqualified
    automatic: bool  # whether the studio itself paused them
    last_rows: LastRows


class Work(NamedTuple):
    """An assignment that is over, with its answers and what has happened since."""

    assignment: Assignment
    upheld: frozenset[tuple[int, int]]  # (set, slot) of gold that was ruled to be wrong
    judged: frozenset[int]  # items that its judge already has judgments of
    past: Past  # of its judge
    last_rows: LastRows


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


def last_rows(connection: Connection, *tables: Table) -> LastRows:
    """Return the id of the last row of each table."""
    return {table.name: connection.scalar(select(func.max(table.c.id))) or 0 for table in tables}


def check_unchanged(ledger: Ledger, rows: LastRows) -> None:
    """Refuse a decision if one of the tables that it was based on has grown."""
    if any(ledger.next_id(schema.METADATA.tables[name]) != last + 1 for name, last in rows.items()):
        raise Refused(409, STALE, "Something else was changed at the same moment. Please try again.")


async def decide(studio: Studio, read: Callable[[Connection], Any], command: Callable[..., Any], *args: Any) -> Any:
    """Return the answer of ``command(ledger, now, *args, record)``, where ``record`` was read and is still current."""
    for left in reversed(range(TRIES)):
        record = await studio.read(read)
        try:
            return await studio.do(command, *args, record)
        except Refused as refused:
            if refused.code != STALE or not left:
                raise
    return None


def read_past(connection: Connection, person: int) -> Past:
    """Return the standing of a person before the last pause or exclusion, and whether the studio paused them."""
    last, rows = last_rows(connection, schema.standings), schema.standings.c
    query = select(rows.standing, rows.by).where(rows.person == person).order_by(rows.id)
    history = [(standing, by) for standing, by in connection.execute(query)]
    before = next((standing for standing, _ in reversed(history) if standing not in STOPPED), "new")
    return Past(before, bool(history) and history[-1] == ("paused", None), last)


def last_answer() -> Subquery:
    """Return the last answer of every slot."""
    last = select(func.max(answers.c.id)).group_by(answers.c.set, answers.c.slot)
    return select(answers).where(answers.c.id.in_(last)).subquery("last_answer")


def last_outcome() -> Subquery:
    """Return the last outcome of every assignment."""
    last = select(func.max(outcomes.c.id)).group_by(outcomes.c.assignment)
    return select(outcomes).where(outcomes.c.id.in_(last)).subquery("last_outcome")


def read_contests(connection: Connection, person: int | None = None, contest: int | None = None) -> list[Contest]:
    """Return contests (all, those of one judge, or one): open ones first, then newest first."""
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
    """Return how often judges fail each gold item that somebody judged, the most failed first."""
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
        .where(sets.c.use.in_(GRADED_USES), answered.c.told == 1)
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


def read_work(connection: Connection, assignment: int) -> Work | None:
    """Return an assignment with the last answer of each slot, or None if there is no such assignment."""
    last = last_rows(connection, outcomes, rulings, judgments)
    head = connection.execute(select(assignments).where(assignments.c.id == assignment)).mappings().one_or_none()
    if head is None:
        return None
    outcome = last_outcome()
    ended = connection.execute(select(outcome.c.outcome).where(outcome.c.assignment == assignment)).scalar()
    work = Assignment(**head, active=head["at"], outcome=ended or "")
    work.sets.extend(_read_sets(connection, assignment))
    judged, past = _judged_items(connection, work.person), read_past(connection, work.person)
    return Work(work, _upheld(connection, assignment), judged, past, {**last, **past.last_rows})


def _read_sets(connection: Connection, assignment: int) -> list[Set]:
    """Return the sets of an assignment with their items and last answers."""
    answered = last_answer_of(assignment)
    rows = connection.execute(
        select(sets, finishes.c.at.label("finished"), slots.c.item, answered.c.relevance, answered.c.told)
        .add_columns(answered.c.rank, answered.c.seconds, answered.c.comment)
        .select_from(
            sets.join(slots, slots.c.set == sets.c.id)
            .outerjoin(finishes, finishes.c.set == sets.c.id)
            .outerjoin(answered, and_(answered.c.set == slots.c.set, answered.c.slot == slots.c.slot))
        )
        .where(sets.c.assignment == assignment)
        .order_by(sets.c.position, slots.c.slot)
    )
    read = list[Set]()
    for row in rows.mappings():
        if not read or read[-1].id != row["id"]:
            fields = ("id", "assignment", "position", "use", "name", "token", "finished")
            read.append(Set(**{name: row[name] for name in fields}))
        answer = Answer(row["relevance"], bool(row["told"]), row["rank"], row["seconds"] or 0.0, row["comment"] or "")
        read[-1].items.append(row["item"])
        read[-1].answers.append(answer)
    return read


def last_answer_of(assignment: int) -> Subquery:
    """Return the last answer of every slot of one assignment."""
    set_ids = select(sets.c.id).where(sets.c.assignment == assignment)
    last = select(func.max(answers.c.id)).where(answers.c.set.in_(set_ids)).group_by(answers.c.set, answers.c.slot)
    return select(answers).where(answers.c.id.in_(last)).subquery("last_answer")


def _upheld(connection: Connection, assignment: int) -> frozenset[tuple[int, int]]:
    """Return the slots of an assignment whose gold was ruled to be wrong."""
    query = (
        select(contests.c.set, contests.c.slot)
        .select_from(contests.join(rulings, rulings.c.contest == contests.c.id).join(sets, sets.c.id == contests.c.set))
        .where(sets.c.assignment == assignment, rulings.c.upheld == 1)
    )
    return frozenset((set_, slot) for set_, slot in connection.execute(query))


def _judged_items(connection: Connection, person: int) -> frozenset[int]:
    """Return the items that a person has judgments of."""
    return frozenset(connection.execute(select(judgments.c.item).where(judgments.c.person == person)).scalars())
