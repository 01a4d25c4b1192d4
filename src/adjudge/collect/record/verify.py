"""Is everything as it must be: the checks of `adjudge campaign verify`, each a question to the tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, and_, func, or_, select

from adjudge.collect.files.campaign import Campaign
from adjudge.collect.record import schema as s
from adjudge.collect.record.chain import broken

TOLD = ("item", "person", "use", "relevance", "rank", "seconds", "comment")  # of a judgment, what must not change


def digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the fingerprint of an assignment's judgments, which the audit log keeps."""
    told = [[row[name] for name in TOLD] for row in rows]
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode()).hexdigest()


def wrong(connection: Connection, campaign: Campaign) -> list[str]:
    """Return all that is not as it must be, a sentence each."""
    return [sentence for check in CHECKS.values() for sentence in check(connection, campaign)]


def _file(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for damage that the database itself finds."""
    if connection.dialect.name == "sqlite":
        for (said,) in connection.exec_driver_sql("PRAGMA integrity_check"):
            if said != "ok":
                yield f"the database is damaged: {said}"


def _chain(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for entries of the audit log that were changed, added or taken away."""
    rows = connection.execute(select(s.audit).order_by(s.audit.c.id)).mappings()
    entry = broken(dict(row) for row in rows)
    if entry is not None:
        yield f"audit log: entry {entry} does not follow from the one before it"


def _judgments(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for judgments that are not those the audit log vouches for."""
    vouched = {}
    for (detail,) in connection.execute(select(s.audit.c.detail).where(s.audit.c.detail.contains('"judgments"'))):
        told = json.loads(detail)
        if "assignment" in told and "judgments" in told:
            vouched[told["assignment"]] = told["judgments"]
    made = s.judgments
    ordered = select(made).where(made.c.assignment.is_not(None)).order_by(made.c.assignment, made.c.id)
    found = connection.execute(ordered)
    seen = set()
    for assignment, rows in groupby(found.mappings(), key=lambda row: row["assignment"]):
        seen.add(assignment)
        if vouched.get(assignment) != digest(dict(row) for row in rows):
            yield f"assignment {assignment}: its judgments are not those that were accepted"
    for assignment in sorted(vouched.keys() - seen):
        yield f"assignment {assignment}: the judgments that were accepted are gone"


def _twice(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for items that one person judged twice."""
    made = s.judgments.c
    for person, item in connection.execute(
        select(made.person, made.item).group_by(made.person, made.item).having(func.count() > 1)
    ):
        yield f"person {person} judged item {item} more than once"


def _beyond(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for items with more judgments than were asked for.

    Those made elsewhere do not count, nor those that a lead let count later: of assignments approved after they were
    returned, and of judges who were excluded at some time.
    """
    redundancy = campaign.settings.redundancy
    most = redundancy.most if redundancy.adaptive else redundancy.judgments
    excluded = select(s.standings.c.person).where(s.standings.c.standing == "excluded")
    approved = select(s.outcomes.c.assignment).where(s.outcomes.c.outcome == "approved")
    made = s.judgments.c
    counted = and_(
        made.use == "work",
        made.relevance.is_not(None),
        made.person.not_in(excluded),
        or_(made.assignment.is_(None), made.assignment.not_in(approved)),
    )
    for item, times in connection.execute(
        select(made.item, func.count()).where(counted).group_by(made.item).having(func.count() > most)
    ):
        yield f"item {item} has {times} judgments, {most} were asked for"


def _gold(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for fixed sets that a judge was given twice."""
    who, name = s.assignments.c.person, s.sets.c.name
    given = select(who, name).join(s.assignments, s.assignments.c.id == s.sets.c.assignment)
    fixed = given.where(and_(name != "", s.sets.c.use != "qualification"))
    for person, called in connection.execute(fixed.group_by(who, name).having(func.count() > 1)):
        yield f"person {person} was given the set {called} more than once"


CHECKS: Mapping[str, Callable[[Connection, Campaign], Iterator[str]]] = {
    "the database's own check": _file,
    "the chain of the audit log": _chain,
    "judgments as they were accepted": _judgments,
    "nobody judged an item twice": _twice,
    "no item beyond what was asked for": _beyond,
    "no gold or monitoring set given twice": _gold,
}
