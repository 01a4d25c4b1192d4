"""What the desk shows of judges: a row for each, and all about one. Functions of a connection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import case, distinct, func, select

from adjudge.studio.desk.overview import ACCEPTED, CRITERIA
from adjudge.studio.record.schema import (
    assignments,
    contests,
    items,
    judgments,
    outcomes,
    people,
    rulings,
    standings,
    stands,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select, Subquery


# What the desk shows of items: where judges disagree, and all about one item. Functions of a connection.


class Split(NamedTuple):
    """An item that judges disagree on."""

    item: int
    topic: str
    document: str
    relevant: int
    irrelevant: int
    unsure: int  # cannot tell


class Said(NamedTuple):
    """What one judge said of an item."""

    person: int
    judge: str
    relevance: int | None
    rank: int | None
    seconds: float | None
    comment: str
    use: str
    at: float


def splits(connection: Connection, most: int = 50) -> list[Split]:
    """Return the items that judges disagree on, the most even first; the excluded have no say."""
    sides = [func.count(case((judgments.c.relevance == side, 1))) for side in (1, 0)]
    less = case((sides[0] < sides[1], sides[0]), else_=sides[1])
    found = (
        select(items.c.id, items.c.topic, items.c.document, *sides, func.count() - sides[0] - sides[1])
        .select_from(judgments.join(items, items.c.id == judgments.c.item))
        .where(stands())
        .group_by(items.c.id, items.c.topic, items.c.document)
        .having(less > 0)
        .order_by(less.desc(), func.count(), items.c.id)
        .limit(most)
    )
    return [Split(*row) for row in connection.execute(found)]


def said_of(connection: Connection, item: int) -> list[Said]:
    """Return all judgments of an item, in the order in which they came."""
    found = (
        select(people.c.id, people.c.name, judgments.c.relevance, judgments.c.rank, judgments.c.seconds)
        .add_columns(judgments.c.comment, judgments.c.use, judgments.c.at)
        .select_from(judgments.join(people, people.c.id == judgments.c.person))
        .where(judgments.c.item == item)
        .order_by(judgments.c.id)
    )
    return [Said(*row) for row in connection.execute(found)]


class Judge(NamedTuple):
    """A row of the table of judges."""

    id: int
    name: str
    outside: str
    joined: float
    standing: str
    reason: str
    judgments: int
    seconds: float | None  # a judgment takes, on average
    last: float | None  # when their newest judgment was accepted
    passed: int  # or approved
    returned: int
    failed: tuple[int, ...]  # by criterion: binary, ndcg, time
    contests: int
    upheld: int

    @property
    def pass_rate(self) -> float | None:
        """Return the share of graded assignments that was accepted, as the overview has it of all."""
        return self.passed / (self.passed + self.returned) if self.passed + self.returned else None


@dataclass(frozen=True)
class Assigned:
    """An assignment as its judge's page lists it."""

    id: int
    token: str
    at: float
    kind: str
    outcome: str  # the last one; empty while it is out
    ended: float | None
    binary: float | None
    ndcg: float | None
    fastest: float | None
    failed: tuple[str, ...]
    code: str


def last_standings() -> Subquery:
    """Return the standing of each person now: the last row."""
    last = select(func.max(standings.c.id)).group_by(standings.c.person)
    return select(standings).where(standings.c.id.in_(last)).subquery("last_standings")


def judges(connection: Connection, person: int | None = None) -> list[Judge]:
    """Return all judges by name, or one person."""
    standing, tallies = last_standings(), (_judged(), _graded(), _contested())
    joined = people.outerjoin(standing, standing.c.person == people.c.id)
    for tally in tallies:
        joined = joined.outerjoin(tally, tally.c.person == people.c.id)
    judged, graded, contested = tallies
    found = (
        select(
            people.c.id,
            people.c.name,
            func.coalesce(people.c.outside, ""),
            people.c.at,
            func.coalesce(standing.c.standing, "new"),
            func.coalesce(standing.c.reason, ""),
            func.coalesce(judged.c.n, 0),
            judged.c.seconds,
            judged.c.last,
            *(func.coalesce(graded.c[name], 0) for name in ("passed", "returned", *CRITERIA)),
            *(func.coalesce(contested.c[name], 0) for name in ("contests", "upheld")),
        )
        .select_from(joined)
        .order_by(people.c.name)
    )
    chosen = people.c.role == "judge" if person is None else people.c.id == person
    return [_judge(row) for row in connection.execute(found.where(chosen))]


def _judge(row: Sequence[Any]) -> Judge:
    """Return a row of the query as a record."""
    return Judge._make((*row[:11], tuple(row[11:14]), *row[14:]))


def _judged() -> Subquery:
    """Return how much each person has judged, and how fast."""
    return (
        select(
            judgments.c.person,
            func.count().label("n"),
            func.avg(judgments.c.seconds).label("seconds"),
            func.max(judgments.c.at).label("last"),
        )
        .group_by(judgments.c.person)
        .subquery("judged")
    )


def _graded() -> Subquery:
    """Return how the work of each person was graded, and which criteria it failed."""
    accepted = distinct(case((outcomes.c.outcome.in_(ACCEPTED), assignments.c.id)))
    returned = distinct(case((outcomes.c.outcome == "returned", assignments.c.id)))
    approved = distinct(case((outcomes.c.outcome == "approved", assignments.c.id)))
    padded = " " + outcomes.c.failed + " "
    failed = (
        func.count(case((padded.like(f"% {name} %") & (outcomes.c.outcome == "returned"), 1))).label(name)
        for name in CRITERIA
    )
    return (
        select(
            assignments.c.person,
            func.count(accepted).label("passed"),
            (func.count(returned) - func.count(approved)).label("returned"),
            *failed,
        )
        .select_from(outcomes.join(assignments, assignments.c.id == outcomes.c.assignment))
        .where(assignments.c.kind == "work")
        .group_by(assignments.c.person)
        .subquery("graded")
    )


def _contested() -> Subquery:
    """Return how often each person contested gold, and was right."""
    return (
        select(
            contests.c.person,
            func.count(distinct(contests.c.id)).label("contests"),
            func.count(distinct(case((rulings.c.upheld == 1, contests.c.id)))).label("upheld"),
        )
        .select_from(contests.outerjoin(rulings, rulings.c.contest == contests.c.id))
        .group_by(contests.c.person)
        .subquery("contested")
    )


def assigned(connection: Connection, person: int) -> list[Assigned]:
    """Return the assignments of one person, newest first, each with its scores and its last outcome."""
    found: Select[Any] = (
        select(assignments, outcomes.c.outcome, outcomes.c.at.label("ended"), outcomes.c.binary, outcomes.c.ndcg)
        .add_columns(outcomes.c.fastest, outcomes.c.failed, outcomes.c.code)
        .select_from(assignments.outerjoin(outcomes, outcomes.c.assignment == assignments.c.id))
        .where(assignments.c.person == person)
        .order_by(assignments.c.id.desc(), outcomes.c.id)
    )
    kept: dict[int, Assigned] = {}
    for row in connection.execute(found).mappings():
        kept[row["id"]] = _with_outcome(kept.get(row["id"]), row)
    return list(kept.values())


def _with_outcome(before: Assigned | None, row: Any) -> Assigned:
    """Return an assignment after one more outcome: scores and failed criteria stay those of its grading."""
    graded = row if before is None else vars(before)
    failed = graded["failed"] or ()
    return Assigned(
        row["id"],
        row["token"],
        row["at"],
        row["kind"],
        row["outcome"] or "",
        row["ended"],
        graded["binary"],
        graded["ndcg"],
        graded["fastest"],
        tuple(failed.split()) if isinstance(failed, str) else failed,
        row["code"] or graded["code"] or "",
    )
