"""Erasing a person from a record: it is written again without their identity, and says so.

Rows of a record are never changed, and names are in several of them, so a new database is written: the name becomes a
pseudonym such as judge-7 wherever names and free texts are (a person may be called "work", and then the uses "work"
stay), ids on crowd platforms, password and other secrets become empty, and comments too if that is asked. Judgments,
answers, times and standings stay. The first entry of the new audit log has the head of the old one. What stays readable
is the old database with its backups, which must be deleted.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, insert, select

from adjudge.errors import InputError, quote
from adjudge.studio.record import schema
from adjudge.studio.record.audit import Link, judgments_hash, next_entry
from adjudge.studio.record.row_hashes import SEALED
from adjudge.studio.record.seal import REWRITTEN, read_head

Row = dict[str, Any]
PIECE = 10_000  # rows that are written at once
SECRET = {"hash", "outside", "subject", "salt", "browser"}  # columns of a person's rows that are left out
COMMENTED = ("answers", "judgments", "contests")
FREE_TEXTS = ("comment", "reason")  # columns that may be nothing but a name
NAMED = (schema.people, schema.invitations, schema.tokens)  # tables whose column `name` is not that of a set or switch
DETAILS = ("judge", "judges", "person", "name", "reason")  # values of the audit log that may be names
TOKEN = "API token "  # before the name of a token that acts, see ``desk.decisions.actor_name``


class Erased(NamedTuple):
    """Whose identity is erased, and what they are called from then on."""

    person: int
    texts: frozenset[str]  # that identify the person, in lower case
    pseudonym: str
    sets: frozenset[int]  # their sets, if comments are erased
    invitations: frozenset[int]  # that they accepted, perhaps under another name
    comments: bool


def find_person(connection: Connection, name: str, comments: bool = False) -> Erased:
    """Return whom a name or an id on a crowd platform identifies."""
    people = connection.execute(select(schema.people)).mappings().all()
    key = name.strip().casefold()
    names = ((row, (row["name"].casefold(), (row["outside"] or row["name"]).casefold())) for row in people)
    row = next((row for row, texts in names if key in texts), None)
    if row is None:
        raise InputError(f"there is nobody with the name {quote(name)}: the desk lists all people")
    pseudonym = f"{row['role']}-{row['id']}"
    while pseudonym.casefold() in {other["name"].casefold() for other in people if other["id"] != row["id"]}:
        pseudonym += "-erased"
    assignments = select(schema.assignments.c.id).where(schema.assignments.c.person == row["id"])
    sets = connection.scalars(select(schema.sets.c.id).where(schema.sets.c.assignment.in_(assignments)))
    accepted = select(schema.acceptances.c.invitation).where(schema.acceptances.c.person == row["id"])
    invitations = frozenset(connection.scalars(accepted))
    texts = {row["name"].casefold(), (row["outside"] or row["name"]).casefold()}
    return Erased(row["id"], frozenset(texts), pseudonym, frozenset(sets), invitations, comments)


def rewrite(source: Connection, target: Connection, erased: Erased, now: float) -> None:
    """Write a record without the identity of a person to a database with tables but without rows."""
    for table in schema.METADATA.sorted_tables:
        if table is not schema.audit:
            _insert(target, table, (_without(erased, table, row) for row in _rows(source, table)))
    _insert(target, schema.audit, _entries(source, target, erased, now))


def _rows(connection: Connection, table: Table) -> Iterator[Row]:
    """Yield the rows of a table in their order."""
    with connection.execute(select(table).order_by(*table.primary_key.columns)) as rows:
        yield from (dict(row) for row in rows.mappings())


def _insert(target: Connection, table: Table, rows: Iterator[Row]) -> None:
    """Write rows, some thousand at a time."""
    piece: list[Row] = []
    for row in rows:
        piece.append(row)
        if len(piece) == PIECE:
            target.execute(insert(table), piece)
            piece = []
    if piece:
        target.execute(insert(table), piece)


def _without(erased: Erased, table: Table, row: Row) -> Row:
    """Return a row without what identifies the person."""
    clean = {**row, **{name: _replaced(erased, row[name]) for name in _text_columns(table)}}
    if table is schema.people and row["id"] == erased.person:
        return {**clean, "name": erased.pseudonym, "outside": None}
    if table is schema.invitations and row["id"] in erased.invitations:
        return {**clean, "name": erased.pseudonym if row["name"] else ""}
    if row.get("person") == erased.person:
        clean |= {name: _nothing(table, name, row) for name in SECRET & row.keys() if row[name] is not None}
    if erased.comments and table.name in COMMENTED:
        by_person = row["set"] in erased.sets if table is schema.answers else row["person"] == erased.person
        clean |= {"comment": ""} if by_person else {}
    return clean


@cache
def _text_columns(table: Table) -> list[str]:
    """Return the columns whose values can be the name of a person, and are not only words of the record."""
    names = (*FREE_TEXTS, *(("name",) if table in NAMED else ()))
    return [column.name for column in table.columns if column.name in names]


def _nothing(table: Table, name: str, row: Row) -> str:
    """Return an empty text, or a random one where values must differ."""
    column = table.columns[name]
    return f"erased {secrets.token_hex(16)}" if column.primary_key or column.unique else ""


def _replaced(erased: Erased, value: Any) -> Any:
    """Return a value, or a list of values, in which texts that are the name of the person are the pseudonym."""
    if isinstance(value, list):
        return [_replaced(erased, part) for part in value]
    if isinstance(value, str) and value.removeprefix(TOKEN).casefold() in erased.texts:
        return (TOKEN if value.startswith(TOKEN) else "") + erased.pseudonym
    return value


def _entries(source: Connection, target: Connection, erased: Erased, now: float) -> Iterator[Row]:
    """Yield the new audit log: an entry about the old one, and its entries in a new chain."""
    entry, hash_ = read_head(source)
    detail: Mapping[str, Any] = {"erased": erased.pseudonym, "comments": erased.comments, "entry": entry, "head": hash_}
    row = next_entry(Link(), now, "studio", REWRITTEN, detail)
    yield row
    for old in _rows(source, schema.audit):
        if old["what"] != SEALED:  # its hashes are of the old rows; the next start seals all rows
            values = json.loads(old["detail"]).items()
            names = {name: _replaced(erased, value) if name in DETAILS else value for name, value in values}
            detail = _vouching(target, names)
            link = Link(row["id"], row["hash"])
            row = next_entry(link, old["at"], _replaced(erased, old["who"]), old["what"], detail)
            yield row


def _vouching(target: Connection, detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a detail with the hash of the judgments that it vouches for, which may have lost comments."""
    columns = schema.judgments.c
    if not isinstance(detail.get("judgments"), str):
        return detail
    if "first" in detail:
        condition: ColumnElement[bool] = columns.id.between(detail["first"], detail["first"] + detail["taken"] - 1)
    else:
        condition = columns.assignment == detail.get("assignment")
    rows = target.execute(select(schema.judgments).where(condition).order_by(columns.id)).mappings()
    return {**detail, "judgments": judgments_hash(dict(row) for row in rows)}
