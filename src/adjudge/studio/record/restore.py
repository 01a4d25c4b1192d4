"""The ledger read back: the rows of a database folded in an order in which they could have come.

Of assignments that are long over only what still matters is read: who judged what, which fixed sets a judge has met,
and how it ended.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, Table, case, func, or_, select

from adjudge.studio.campaign.campaign import Campaign
from adjudge.studio.record import schema as s
from adjudge.studio.record.ledger import COUNTED, Ledger

BEFORE = (s.people, s.passwords, s.languages, s.standings)
AFTER = (s.contests, s.rulings, s.invitations, s.acceptances, s.tokens, s.revocations, s.switches)
NUMBERED = (s.items, s.assignments, s.sets, s.answers, s.outcomes, s.judgments, s.audit)  # not read whole


def restored(connection: Connection, campaign: Campaign) -> Ledger:
    """Return what is so, by all rows of a database."""
    ledger = Ledger(campaign)
    for id_, topic, document in _tuples(connection, select(s.items).order_by(s.items.c.id)):
        ledger.items.add(id_, (topic, document))
    for table in BEFORE:
        _fold(ledger, table, connection, _ordered(table))
    _fold_assignments(ledger, connection)
    _fold_judgments(ledger, connection)
    for table in AFTER:
        _fold(ledger, table, connection, _ordered(table))
    _fold(ledger, s.audit, connection, select(s.audit).order_by(s.audit.c.id.desc()).limit(1))
    for table in NUMBERED:
        ledger.number(table, connection.scalar(select(func.max(table.c.id))) or 0)
    ledger.items.pool(campaign)
    return ledger


def _fold(ledger: Ledger, table: Table, connection: Connection, rows: Select[Any]) -> None:
    """Fold the rows of one table."""
    for row in connection.execute(rows).mappings():
        ledger.fold(table, dict(row))


def _tuples(connection: Connection, rows: Select[Any]) -> list[tuple[Any, ...]]:
    """Return rows as the driver gives them: of tables with a row for every judgment, that is most of a restart."""
    return list(connection.execute(rows).cursor.fetchall())


def _fold_judgments(ledger: Ledger, connection: Connection) -> None:
    """Fold all judgments at once: the same as one by one."""
    made = s.judgments.c
    told = case((made.use.not_in(COUNTED), 0), (made.relevance.is_(None), 2), else_=1)
    rows = _tuples(connection, select(made.item, made.person, told).order_by(made.id))
    if not rows:
        return
    item, person, kind = np.array(rows, np.int64).T
    order = np.argsort(person, kind="stable")
    item, kind = item[order], kind[order]
    numbers, starts = np.unique(person[order], return_index=True)
    for number, met, how in zip(numbers.tolist(), np.split(item, starts[1:]), np.split(kind, starts[1:]), strict=True):
        ledger.meet(ledger.people[number], met, met[how == 1], met[how == 2])
    ledger.latest = max(ledger.latest, connection.scalar(select(func.max(made.at))) or 0.0)


def _ordered(table: Table) -> Select[Any]:
    """Return all rows of a table in the order in which they were written."""
    return select(table).order_by(*table.primary_key.columns)


def _fold_assignments(ledger: Ledger, connection: Connection) -> None:
    """Fold assignments one after another, each with all that belongs to it: a judge has one at a time."""
    last = select(func.max(s.assignments.c.id)).group_by(s.assignments.c.person)
    returned = select(s.outcomes.c.assignment).where(s.outcomes.c.outcome == "returned")
    whole = or_(s.sets.c.assignment.in_(last), s.sets.c.assignment.in_(returned))
    met = select(s.sets).where(or_(whole, s.sets.c.name != "")).order_by(s.sets.c.id)
    sets = _grouped(connection, met, "assignment")
    slots = _grouped(connection, _of_sets(s.slots, whole).order_by(s.slots.c.set, s.slots.c.slot), "set")
    ours = s.sets.c.assignment.in_(last)
    answers = _grouped(connection, _of_sets(s.answers, ours).order_by(s.answers.c.id), "set")
    finishes = _grouped(connection, _of_sets(s.finishes, ours), "set")
    outcomes = _grouped(connection, _ordered(s.outcomes), "assignment")
    for assignment in connection.execute(_ordered(s.assignments)).mappings():
        ledger.fold(s.assignments, dict(assignment))
        for one in sets[assignment["id"]]:
            ledger.fold(s.sets, one)
            for table, rows in ((s.slots, slots), (s.answers, answers), (s.finishes, finishes)):
                for row in rows[one["id"]]:
                    ledger.fold(table, row)
        for outcome in outcomes[assignment["id"]]:
            ledger.fold(s.outcomes, outcome)


def _of_sets(table: Table, which: ColumnElement[bool]) -> Select[Any]:
    """Return the rows of a table that belong to some sets."""
    return select(table).join(s.sets, s.sets.c.id == table.c.set).where(which)


def _grouped(connection: Connection, rows: Select[Any], by: str) -> Mapping[int, list[Mapping[str, Any]]]:
    """Return rows by the number of what they belong to."""
    groups: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in connection.execute(rows).mappings():
        groups[row[by]].append(dict(row))
    return groups


def missing_items(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """Yield rows for the campaign's pairs that have no number yet, numbered by chance: no number tells what is gold."""
    campaign = ledger.campaign
    fixed = ((one.topic, document) for one in campaign.sets for document in one.documents)
    new = dict.fromkeys(pair for pairs in (campaign.pool, fixed) for pair in pairs if pair not in ledger.items.ids)
    order = secrets.SystemRandom().sample(list(new), len(new))
    for number, (topic, document) in enumerate(order, ledger.next_id(s.items)):
        yield {"id": number, "topic": topic, "document": document}
