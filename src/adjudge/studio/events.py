"""Events of a campaign for programs: what the audit log says about assignments, contests, judges and the campaign.

An event names a judge by number and pseudonym, and nothing in it tells which documents are gold. The number of an event
is that of its entry in the audit log, so that whoever knows the last number can ask for what came after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from adjudge.studio.record.schema import assignments, audit, people, standings

ACTIONS = {  # of the audit log -> type of the event
    "assignment passed": "assignment.passed",
    "assignment returned": "assignment.returned",
    "assignment approved": "assignment.approved",
    "qualification approved": "assignment.approved",
    "gold contested": "contest.opened",
    "contest upheld": "contest.ruled",
    "contest rejected": "contest.ruled",
    "campaign paused": "campaign.paused",
    "campaign resumed": "campaign.resumed",
    "campaign finished": "campaign.finished",
}
GIVEN_UP = "assignment released"  # may be the last attempt to qualify
SHARED = ("assignment", "contest", "approved")  # values of an entry's detail that are passed on


class Event(NamedTuple):
    """What happened, for programs."""

    id: str  # unique among all campaigns
    number: int  # of the entry in the audit log
    type: str
    at: float
    data: Mapping[str, Any]


def read_events(connection: Connection, after: int, most: int, names: bool = False) -> tuple[list[Event], int]:
    """Return the events of the next ``most`` entries of the audit log, and the number of the last entry read.

    Parameters
    ----------
    connection
        A connection to the campaign's database that only reads.
    after
        The number of the last entry that is known already.
    most
        How many entries are read. Most entries are one event; some are none or two.
    names
        Whether events have the names of judges instead of pseudonyms.
    """
    query = select(audit).where(audit.c.id > after).order_by(audit.c.id).limit(most)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    events = [event for row in rows for event in _events(connection, row, names)]
    return events, rows[-1]["id"] if rows else after


def _events(connection: Connection, row: Mapping[str, Any], names: bool) -> Iterator[Event]:
    """Yield the events of one entry: that of its action, and the new standings that were written with it."""
    if row["what"] not in (*ACTIONS, GIVEN_UP) and not row["what"].startswith("judge "):
        return
    detail = json.loads(row["detail"])
    if row["what"] in ACTIONS:
        yield _event(row, ACTIONS[row["what"]], _data(connection, row["what"], detail, names))
    for person, standing in _new_standings(connection, row, detail):
        kind = "judge.reinstated" if row["what"] == "judge reinstated" else f"judge.{standing}"
        yield _event(row, kind, {**_judge(connection, person, names), "standing": standing})


def _event(row: Mapping[str, Any], kind: str, data: Mapping[str, Any]) -> Event:
    """Return an event; its id is the beginning of the hash of its entry, which no two campaigns share."""
    return Event(f"evt_{row['hash'][:24]}_{kind.partition('.')[0]}", row["id"], kind, row["at"], data)


def _data(connection: Connection, action: str, detail: Mapping[str, Any], names: bool) -> dict[str, Any]:
    """Return what an event says: numbers, the judge, and how a grading or a ruling ended."""
    data = {name: detail[name] for name in SHARED if name in detail}
    if "failed" in detail:
        data["failed"] = detail["failed"].split()
    if action == "campaign finished":
        data["judgments"] = detail["judgments"]  # their number; in other entries it is a hash
    if action.startswith("contest "):
        data["upheld"] = action == "contest upheld"
    if "assignment" in detail:
        columns = select(assignments.c.person, assignments.c.kind)
        person, data["kind"] = connection.execute(columns.where(assignments.c.id == detail["assignment"])).one()
        data |= _judge(connection, person, names)
    return data


def _judge(connection: Connection, person: int, names: bool) -> dict[str, Any]:
    """Return the number of a judge, with the name or the pseudonym."""
    name = connection.scalar(select(people.c.name).where(people.c.id == person)) if names else None
    return {"person": person, "judge": name or f"judge-{person}"}


def _new_standings(connection: Connection, row: Mapping[str, Any], detail: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return the standings that one command wrote together with an entry: those of the same time and judge."""
    graded = select(assignments.c.person).where(assignments.c.id == detail.get("assignment", 0))
    judge = people.c.name.in_([row["who"], detail.get("judge", "")]) | people.c.id.in_(graded)
    query = (
        select(standings.c.person, standings.c.standing)
        .select_from(standings.join(people, people.c.id == standings.c.person))
        .where(standings.c.at == row["at"], judge)
        .order_by(standings.c.id)
    )
    return [(person, standing) for person, standing in connection.execute(query)]
