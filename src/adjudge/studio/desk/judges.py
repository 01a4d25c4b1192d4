"""Judges and items as the desk lists them: one row per judge, the assignments of a judge, disagreement on items."""

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


class Judge(NamedTuple):
    """A row of the table of judges."""

    id: int
    name: str
    outside: str
    joined: float
    standing: str
    reason: str
    judgments: int
    seconds: float | None  # per judgment, on average
    last: float | None  # time of their last accepted judgment
    passed: int  # or approved
    returned: int
    failed: tuple[int, ...]  # by criterion: binary, ndcg, time
    contests: int
    upheld: int

    @property
    def pass_rate(self) -> float | None:
        """Return the share of graded assignments that was accepted."""
        return self.passed / (self.passed + self.returned) if self.passed + self.returned else None


@dataclass(frozen=True)
class Assigned:
    """A row of the table of one judge's assignments."""

    id: int
    token: str
    at: float
    kind: str
    outcome: str  # the last one; empty while it is open
    ended: float | None
    binary: float | None
    ndcg: float | None
    fastest: float | None
    failed: tuple[str, ...]
    code: str


def last_standings() -> Subquery:
    """Return the current standing of each person: the last row."""
    last = select(func.max(standings.c.id)).group_by(standings.c.person)
    return select(standings).where(standings.c.id.in_(last)).subquery("last_standings")


def list_judges(connection: Connection, person: int | None = None) -> list[Judge]:
    """Return all judges in the order of their names, or one person."""
    standing, tallies = last_standings(), (_judgment_tally(), _grading_tally(), _contest_tally())
    joined = people.outerjoin(standing, standing.c.person == people.c.id)
    for tally in tallies:
        joined = joined.outerjoin(tally, tally.c.person == people.c.id)
    judged, graded, contested = tallies
    query = (
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
    return [_judge(row) for row in connection.execute(query.where(chosen))]


def _judge(row: Sequence[Any]) -> Judge:
    """Return a row of the query of ``list_judges`` as a record."""
    return Judge._make((*row[:11], tuple(row[11:14]), *row[14:]))


def _judgment_tally() -> Subquery:
    """Return the number and the average time of each person's judgments."""
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


def _grading_tally() -> Subquery:
    """Return the accepted and returned assignments of each person, and the failures by criterion."""
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


def _contest_tally() -> Subquery:
    """Return the number of contests of each person, and how many were upheld."""
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


def list_assignments(connection: Connection, person: int) -> list[Assigned]:
    """Return the assignments of one person, newest first, each with its scores and its last outcome."""
    query: Select[Any] = (
        select(assignments, outcomes.c.outcome, outcomes.c.at.label("ended"), outcomes.c.binary, outcomes.c.ndcg)
        .add_columns(outcomes.c.fastest, outcomes.c.failed, outcomes.c.code)
        .select_from(assignments.outerjoin(outcomes, outcomes.c.assignment == assignments.c.id))
        .where(assignments.c.person == person)
        .order_by(assignments.c.id.desc(), outcomes.c.id)
    )
    rows: dict[int, Assigned] = {}
    for row in connection.execute(query).mappings():
        rows[row["id"]] = _with_outcome(rows.get(row["id"]), row)
    return list(rows.values())


def _with_outcome(before: Assigned | None, row: Any) -> Assigned:
    """Return an assignment after another outcome: scores and failed criteria stay those of its grading."""
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


# Items


class Split(NamedTuple):
    """An item that judges disagree on."""

    item: int
    topic: str
    document: str
    relevant: int
    irrelevant: int
    unsure: int  # cannot tell


class ItemJudgment(NamedTuple):
    """A judgment of an item, with its judge."""

    person: int
    judge: str
    relevance: int | None
    rank: int | None
    seconds: float | None
    comment: str
    use: str
    at: float


def list_splits(connection: Connection, most: int = 50) -> list[Split]:
    """Return the items that judges disagree on, the most even first; excluded judges do not count."""
    sides = [func.count(case((judgments.c.relevance == side, 1))) for side in (1, 0)]
    minority = case((sides[0] < sides[1], sides[0]), else_=sides[1])
    query = (
        select(items.c.id, items.c.topic, items.c.document, *sides, func.count() - sides[0] - sides[1])
        .select_from(judgments.join(items, items.c.id == judgments.c.item))
        .where(stands())
        .group_by(items.c.id, items.c.topic, items.c.document)
        .having(minority > 0)
        .order_by(minority.desc(), func.count(), items.c.id)
        .limit(most)
    )
    return [Split(*row) for row in connection.execute(query)]


def list_judgments(connection: Connection, item: int) -> list[ItemJudgment]:
    """Return all judgments of an item in the order of their arrival."""
    query = (
        select(people.c.id, people.c.name, judgments.c.relevance, judgments.c.rank, judgments.c.seconds)
        .add_columns(judgments.c.comment, judgments.c.use, judgments.c.at)
        .select_from(judgments.join(people, people.c.id == judgments.c.person))
        .where(judgments.c.item == item)
        .order_by(judgments.c.id)
    )
    return [ItemJudgment(*row) for row in connection.execute(query)]
