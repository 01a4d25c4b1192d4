"""Rows of the record for programs, page by page: judgments, assignments, people, and the items of the consensus.

Each function returns the rows after an id, the oldest first, so that a program can read everything once and then follow
by asking for the rows after the last id that it has.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from adjudge.studio.consensus import read_item_beliefs
from adjudge.studio.desk.exports import judge_names
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.schema import assignments, excluded, items, judgments, outcomes, people
from adjudge.studio.record.store import Row

ENDINGS = {"open": False, "ended": True}  # states of assignments -> whether they have an outcome
SCORES = ("binary", "ndcg", "fastest")


def judgment_feed(connection: Connection, after: int, most: int, pseudonyms: bool) -> list[Row]:
    """Return accepted judgments; ``counts`` is false for those of judges who are excluded now."""
    names, out = judge_names(connection, pseudonyms), set(connection.scalars(excluded()))
    columns = ("id", "at", "item", "person", "relevance", "rank", "seconds", "comment", "use", "assignment")
    query = (
        select(items.c.topic, items.c.document, *(judgments.c[name] for name in columns))
        .select_from(judgments.join(items, items.c.id == judgments.c.item))
        .where(judgments.c.id > after)
        .order_by(judgments.c.id)
        .limit(most)
    )
    rows = connection.execute(query).mappings()
    return [{**row, "judge": names[row["person"]], "counts": row["person"] not in out} for row in rows]


def assignment_feed(connection: Connection, after: int, most: int, pseudonyms: bool, state: str | None) -> list[Row]:
    """Return assignments with all their outcomes and the scores of their grading; of one state, or all."""
    names = judge_names(connection, pseudonyms)
    chosen = select(assignments.c.id).where(assignments.c.id > after)
    if state is not None:
        ended = assignments.c.id.in_(select(outcomes.c.assignment))
        chosen = chosen.where(ended if ENDINGS[state] else ~ended)
    query = (
        select(assignments.c.id, assignments.c.at, assignments.c.person, assignments.c.kind)
        .add_columns(outcomes.c.outcome, outcomes.c.at.label("ended"), outcomes.c.failed)
        .add_columns(*(outcomes.c[name] for name in SCORES))
        .select_from(assignments.outerjoin(outcomes, outcomes.c.assignment == assignments.c.id))
        .where(assignments.c.id.in_(chosen.order_by(assignments.c.id).limit(most)))
        .order_by(assignments.c.id, outcomes.c.id)
    )
    by_assignment = groupby(connection.execute(query).mappings(), key=lambda row: row["id"])
    return [_assignment(list(rows), names) for _, rows in by_assignment]


def _assignment(rows: list[Any], names: dict[int, str]) -> Row:
    """Return one assignment from its outcomes, oldest first; the first has the scores."""
    graded = rows[0]
    return {
        **{name: graded[name] for name in ("id", "at", "person", "kind", *SCORES)},
        "judge": names[graded["person"]],
        "outcome": rows[-1]["outcome"],
        "outcomes": [{"outcome": row["outcome"], "at": row["ended"]} for row in rows if row["outcome"]],
        "failed": (graded["failed"] or "").split(),
    }


def people_feed(connection: Connection, ledger: Ledger, after: int, most: int, pseudonyms: bool) -> list[Row]:
    """Return people with their role; the standing and the numbers are those of judges."""
    names = judge_names(connection, pseudonyms)
    columns = (people.c.id, people.c.at, people.c.role)
    rows = connection.execute(select(*columns).where(people.c.id > after).order_by(people.c.id).limit(most)).mappings()
    return [{**row, "name": names[row["id"]], **_standing(ledger, row["id"])} for row in rows]


def _standing(ledger: Ledger, number: int) -> Row:
    """Return the standing of a person and how many assignments passed and were returned."""
    person = ledger.people[number]
    return {"standing": person.standing, "passed": person.passed, "returned": person.returned}


def consensus_feed(connection: Connection, folder: Path, after: int, most: int) -> list[Row] | None:
    """Return what the consensus says about the judged ones of the next ``most`` items; None without a consensus."""
    beliefs = read_item_beliefs(connection, folder, within=range(after + 1, after + 1 + most))
    if beliefs is None:
        return None
    fields = ("item", "topic", "document", "judgments", "label", "probability", "relevance")
    return [
        {**{name: getattr(belief, name) for name in fields}, "grades": list(belief.grades) or None}
        for belief in beliefs
        if belief.judgments
    ]
