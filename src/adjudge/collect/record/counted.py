"""Which judgments count, in one place: not those of excluded judges, nor answers that cannot tell."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from adjudge.collect.record.schema import judgments, standings


def excluded() -> Select[Any]:
    """Return the query of the people whose last standing is that they are excluded."""
    last = select(func.max(standings.c.id)).group_by(standings.c.person)
    return select(standings.c.person).where(standings.c.id.in_(last), standings.c.standing == "excluded")


def stands() -> ColumnElement[bool]:
    """Return the condition that a judgment was not set aside with its judge."""
    return judgments.c.person.not_in(excluded())


def counts() -> ColumnElement[bool]:
    """Return the condition that a judgment counts: it stands, and says relevant or irrelevant."""
    return stands() & judgments.c.relevance.is_not(None)
