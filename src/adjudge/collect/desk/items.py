"""What the desk shows of items: where judges disagree, and all about one item. Functions of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import case, func, select

from adjudge.collect.record.counted import stands
from adjudge.collect.record.schema import items, judgments, people

if TYPE_CHECKING:
    from sqlalchemy import Connection


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
