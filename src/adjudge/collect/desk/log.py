"""What the desk shows of who came and who did what: invitations, tokens, the audit log. Functions of a connection."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import String, cast, func, or_, select

from adjudge.collect.record.schema import acceptances, audit, invitations, people, revocations, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

PAGE = 100  # entries of the audit log on one page


class Invitation(NamedTuple):
    """An invitation and what became of it."""

    id: int
    at: float
    role: str
    name: str
    by: str
    expires: float
    person: str | None  # who took it up
    accepted: float | None

    def state(self, now: float) -> str:
        """Return what became of it: used, over, open."""
        return "used" if self.accepted is not None else "over" if self.expires < now else "open"


class ApiToken(NamedTuple):
    """An API token; its text is kept nowhere."""

    id: int
    at: float
    name: str
    scope: str
    by: str
    revoked: float | None


class Entry(NamedTuple):
    """An entry of the audit log."""

    id: int
    at: float
    who: str
    what: str
    detail: Mapping[str, Any]
    hash: str


def invited(connection: Connection) -> list[Invitation]:
    """Return all invitations, newest first."""
    taker, maker = people.alias("taker"), people.alias("maker")
    found = (
        select(invitations.c.id, invitations.c.at, invitations.c.role, invitations.c.name)
        .add_columns(func.coalesce(maker.c.name, "studio"), invitations.c.expires, taker.c.name, acceptances.c.at)
        .select_from(
            invitations.outerjoin(acceptances, acceptances.c.invitation == invitations.c.id)
            .outerjoin(taker, taker.c.id == acceptances.c.person)
            .outerjoin(maker, maker.c.id == invitations.c.by)
        )
        .order_by(invitations.c.id.desc())
    )
    return [Invitation(*row) for row in connection.execute(found)]


def api_tokens(connection: Connection) -> list[ApiToken]:
    """Return all API tokens, newest first, without their hashes."""
    found = (
        select(tokens.c.id, tokens.c.at, tokens.c.name, tokens.c.scope, func.coalesce(people.c.name, "studio"))
        .add_columns(revocations.c.at)
        .select_from(
            tokens.outerjoin(people, people.c.id == tokens.c.by).outerjoin(
                revocations, revocations.c.token == tokens.c.id
            )
        )
        .order_by(tokens.c.id.desc())
    )
    return [ApiToken(*row) for row in connection.execute(found)]


def entries(connection: Connection, before: int | None = None, find: str = "", most: int = PAGE) -> list[Entry]:
    """Return entries of the audit log, newest first, older than one of them and with some words in them."""
    found = select(audit.c.id, audit.c.at, audit.c.who, audit.c.what, audit.c.detail, audit.c.hash)
    if before is not None:
        found = found.where(audit.c.id < before)
    if find:
        words = find.lower()
        inside = (
            func.lower(cast(column, String)).contains(words, autoescape=True) for column in (audit.c.who, audit.c.what)
        )
        found = found.where(or_(*inside, func.lower(audit.c.detail).contains(words, autoescape=True)))
    rows = connection.execute(found.order_by(audit.c.id.desc()).limit(most))
    return [Entry(id_, at, who, what, json.loads(detail), hash_) for id_, at, who, what, detail, hash_ in rows]
