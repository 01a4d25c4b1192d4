"""Gold as judges meet it: what they contest, and how often each document is failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Table, and_, func, select

from adjudge.studio.desk.overview import ACCEPTED
from adjudge.studio.gates.gates import Answer
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


# Decisions on what was read from the tables: a command takes them only if nothing came since that could change them.
#
# The ledger does not hold what is long over, so it is read first and decided on after; two leads may do so at once.
# What was read carries how far each table was. Where a table has grown, the command refuses, and it is read and asked
# again.

Seen = Mapping[str, int]  # the last row of tables
STALE = "stale"
TRIES = 20  # in a busy campaign something comes every second; reading takes a hundredth of one
STOPPED = ("paused", "excluded")


class Past(NamedTuple):
    """Where a judge stood before being paused or excluded."""

    before: str  # new, qualified, unqualified
    automatic: bool  # whether the studio itself paused them
    seen: Seen


def seen_in(connection: Connection, *tables: Table) -> Seen:
    """Return how far tables are."""
    return {table.name: connection.scalar(select(func.max(table.c.id))) or 0 for table in tables}


def still(ledger: Ledger, seen: Seen) -> None:
    """Refuse to decide on what was read if anything came since."""
    if any(ledger.next_id(schema.METADATA.tables[name]) != last + 1 for name, last in seen.items()):
        raise Refused(409, STALE, "Something else was changed at this very moment: please try again.")


def past_of(connection: Connection, person: int) -> Past:
    """Return where a person stood before the last pause or exclusion, and who stopped them."""
    seen, rows = seen_in(connection, schema.standings), schema.standings.c
    found = select(rows.standing, rows.by).where(rows.person == person).order_by(rows.id)
    history = [(standing, by) for standing, by in connection.execute(found)]
    before = next((standing for standing, _ in reversed(history) if standing not in STOPPED), "new")
    return Past(before, bool(history) and history[-1] == ("paused", None), seen)


async def decided(studio: Studio, read: Callable[[Connection], Any], command: Callable[..., Any], *args: Any) -> Any:
    """Return what ``command(ledger, now, *args, what was read)`` answers; what was read is so at that moment."""
    for left in reversed(range(TRIES)):
        known = await studio.read(read)
        try:
            return await studio.do(command, *args, known)
        except Refused as refused:
            if refused.code != STALE or not left:
                raise
    return None


LEAST = 4  # good judges who met a document before it can be suspicious
SUSPICIOUS = 0.5  # the share of good judges that fail it
KNOWN = ("gold", "qualification")  # uses of sets that are graded


class Contest(NamedTuple):
    """A judge says that gold is wrong."""

    id: int
    at: float
    person: int
    judge: str
    set: int
    slot: int
    item: int
    topic: str
    document: str
    relevance: int | None  # what the judge said
    comment: str
    assignment: int
    kind: str
    outcome: str
    upheld: int | None  # None: not ruled on yet
    reason: str


@dataclass(frozen=True)
class Failed:
    """How judges do on one document of gold."""

    item: int
    topic: str
    document: str
    grade: int
    met: int
    wrong: int
    good: int  # met by judges most of whose work passes
    good_wrong: int

    @property
    def rate(self) -> float:
        """Return the share that is wrong."""
        return self.wrong / self.met if self.met else 0.0

    @property
    def suspicious(self) -> bool:
        """Return whether gold rather than judges may be wrong."""
        return self.good >= LEAST and self.good_wrong / self.good > SUSPICIOUS


class Work(NamedTuple):
    """An assignment that is over, as it was answered, and what has happened to it since."""

    assignment: Assignment
    upheld: frozenset[tuple[int, int]]  # (set, slot) of gold that was ruled to be wrong
    judged: frozenset[int]  # items its judge has judgments of already
    past: Past  # of its judge
    seen: Seen


def last_answer() -> Subquery:
    """Return the last answer of every slot."""
    last = select(func.max(answers.c.id)).group_by(answers.c.set, answers.c.slot)
    return select(answers).where(answers.c.id.in_(last)).subquery("last_answer")


def last_outcome() -> Subquery:
    """Return how each assignment ended, or what was decided after."""
    last = select(func.max(outcomes.c.id)).group_by(outcomes.c.assignment)
    return select(outcomes).where(outcomes.c.id.in_(last)).subquery("last_outcome")


def contested(connection: Connection, person: int | None = None, contest: int | None = None) -> list[Contest]:
    """Return contests, those to rule on first, newest first; of one judge, or just one."""
    outcome = last_outcome()
    said = select(answers.c.relevance).where(answers.c.set == contests.c.set, answers.c.slot == contests.c.slot)
    said_last = said.order_by(answers.c.id.desc()).limit(1).scalar_subquery()
    joined = (
        contests.join(people, people.c.id == contests.c.person)
        .join(sets, sets.c.id == contests.c.set)
        .join(slots, and_(slots.c.set == contests.c.set, slots.c.slot == contests.c.slot))
        .join(items, items.c.id == slots.c.item)
        .join(assignments, assignments.c.id == sets.c.assignment)
        .outerjoin(outcome, outcome.c.assignment == assignments.c.id)
        .outerjoin(rulings, rulings.c.contest == contests.c.id)
    )
    found = (
        select(contests.c.id, contests.c.at, people.c.id, people.c.name, contests.c.set, contests.c.slot, items.c.id)
        .add_columns(items.c.topic, items.c.document, said_last, contests.c.comment, assignments.c.id)
        .add_columns(assignments.c.kind, func.coalesce(outcome.c.outcome, ""), rulings.c.upheld)
        .add_columns(func.coalesce(rulings.c.reason, ""))
        .select_from(joined)
        .order_by(rulings.c.id.is_not(None), contests.c.id.desc())
    )
    if person is not None:
        found = found.where(contests.c.person == person)
    if contest is not None:
        found = found.where(contests.c.id == contest)
    return [Contest(*row) for row in connection.execute(found)]


def failures(connection: Connection, gold: Mapping[Pair, Gold]) -> list[Failed]:
    """Return how judges do on each document of gold that anybody has met, the most failed first."""
    good = _good(connection)
    answered = last_answer()
    found = (
        select(items.c.id, items.c.topic, items.c.document, assignments.c.person, answered.c.relevance)
        .select_from(
            answered.join(sets, sets.c.id == answered.c.set)
            .join(finishes, finishes.c.set == sets.c.id)
            .join(slots, and_(slots.c.set == answered.c.set, slots.c.slot == answered.c.slot))
            .join(items, items.c.id == slots.c.item)
            .join(assignments, assignments.c.id == sets.c.assignment)
        )
        .where(sets.c.use.in_(KNOWN), answered.c.told == 1)
    )
    counts: dict[tuple[int, str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for item, topic, document, person, relevance in connection.execute(found):
        if (topic, document) in gold:
            wrong = relevance != int(gold[topic, document].grade > 0)
            added = (1, wrong, person in good, wrong and person in good)
            tally = counts[item, topic, document]
            tally[:] = (a + b for a, b in zip(tally, added, strict=True))
    rows = [Failed(*key, gold[key[1:]].grade, *tally) for key, tally in counts.items()]
    return sorted(rows, key=lambda row: (-row.suspicious, -row.rate, -row.met, row.item))


def _good(connection: Connection) -> set[int]:
    """Return the judges more of whose work was accepted than returned."""
    last = last_outcome()
    found = (
        select(assignments.c.person, last.c.outcome, func.count())
        .select_from(assignments.join(last, last.c.assignment == assignments.c.id))
        .where(assignments.c.kind == "work")
        .group_by(assignments.c.person, last.c.outcome)
    )
    score: dict[int, int] = defaultdict(int)
    for person, outcome, n in connection.execute(found):
        score[person] += n if outcome in ACCEPTED else -n if outcome == "returned" else 0
    return {person for person, more in score.items() if more > 0}


def work_of(connection: Connection, assignment: int) -> Work | None:
    """Return an assignment with the last answer of each slot."""
    seen = seen_in(connection, outcomes, rulings, judgments)
    head = connection.execute(select(assignments).where(assignments.c.id == assignment)).mappings().one_or_none()
    if head is None:
        return None
    outcome = last_outcome()
    ended = connection.execute(select(outcome.c.outcome).where(outcome.c.assignment == assignment)).scalar()
    one = Assignment(**head, active=head["at"], outcome=ended or "")
    answered = last_answer_of(assignment)
    found = connection.execute(
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
    for row in found.mappings():
        if not one.sets or one.sets[-1].id != row["id"]:
            fields = ("id", "assignment", "position", "use", "name", "token", "finished")
            one.sets.append(Set(**{name: row[name] for name in fields}))
        said = Answer(row["relevance"], bool(row["told"]), row["rank"], row["seconds"] or 0.0, row["comment"] or "")
        one.sets[-1].items.append(row["item"])
        one.sets[-1].answers.append(said)
    judged, past = _judged(connection, one.person), past_of(connection, one.person)
    return Work(one, _upheld(connection, assignment), judged, past, {**seen, **past.seen})


def last_answer_of(assignment: int) -> Subquery:
    """Return the last answer of every slot of one assignment."""
    own = select(sets.c.id).where(sets.c.assignment == assignment)
    last = select(func.max(answers.c.id)).where(answers.c.set.in_(own)).group_by(answers.c.set, answers.c.slot)
    return select(answers).where(answers.c.id.in_(last)).subquery("last_answer")


def _upheld(connection: Connection, assignment: int) -> frozenset[tuple[int, int]]:
    """Return the slots of an assignment whose gold was ruled to be wrong."""
    found = (
        select(contests.c.set, contests.c.slot)
        .select_from(contests.join(rulings, rulings.c.contest == contests.c.id).join(sets, sets.c.id == contests.c.set))
        .where(sets.c.assignment == assignment, rulings.c.upheld == 1)
    )
    return frozenset((set_, slot) for set_, slot in connection.execute(found))


def _judged(connection: Connection, person: int) -> frozenset[int]:
    """Return the items of which a person has judgments."""
    return frozenset(connection.execute(select(judgments.c.item).where(judgments.c.person == person)).scalars())
