"""The judgments that count, as the consensus reads them from the tables of a campaign.

Left out are those of people who are excluded, and answers that cannot tell. Gold is what gold.csv says, without the
documents of which a contest was upheld.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from adjudge.arrays import Codes, Floats
from adjudge.collect.record.counted import counts
from adjudge.collect.record.schema import contests, items, judgments, people, rulings, slots, standings
from adjudge.collect.records import Gold, Pair

if TYPE_CHECKING:
    from sqlalchemy import Connection

PIECE = 20_000  # rows held as Python objects at a time


class Accepted(NamedTuple):
    """Who said what of which item, by their numbers in the tables."""

    item: Codes  # (N)
    person: Codes  # (N)
    relevance: Codes  # (N) 0, 1
    at: Floats  # (N)
    items: int  # the highest number of an item
    names: Mapping[int, str]  # of people
    gold: Mapping[int, int]  # item -> 1 if relevant, else 0
    pairs: Mapping[int, Pair]  # of the items


def accepted(connection: Connection, gold: Mapping[Pair, Gold]) -> Accepted:
    """Return the judgments that count, and the gold that stands."""
    names = {row.id: row.name for row in connection.execute(select(people.c.id, people.c.name))}
    wrong = _overruled(connection)
    known = select(items.c.id, items.c.topic, items.c.document)
    pairs = {number: (topic, document) for number, topic, document in connection.execute(known)}
    told = {number: int(gold[pair].grade >= 1) for number, pair in pairs.items() if pair in gold}
    stands = {number: truth for number, truth in told.items() if number not in wrong}
    item, person, relevance, at = _columns(connection)
    return Accepted(item, person, relevance, at, max(pairs, default=0), names, stands, pairs)


def mark(connection: Connection, gold: Mapping[Pair, Gold]) -> str:
    """Return a text that changes when there is anything new for the consensus to learn from."""
    last = [connection.scalar(select(func.max(table.c.id))) or 0 for table in (judgments, standings, rulings, items)]
    graded = sum(_number(pair, said.grade) for pair, said in gold.items())
    return " ".join(map(str, (*last, len(gold), graded % (1 << 61))))


def _number(pair: Pair, grade: int) -> int:
    """Return a number for a graded pair that is the same in every process."""
    return zlib.crc32(f"{pair[0]}\0{pair[1]}\0{grade}".encode())


def _overruled(connection: Connection) -> set[int]:
    """Return the items whose gold was ruled to be wrong."""
    upheld = (
        select(slots.c.item)
        .join(contests, (contests.c.set == slots.c.set) & (contests.c.slot == slots.c.slot))
        .join(rulings, rulings.c.contest == contests.c.id)
        .where(rulings.c.upheld == 1)
    )
    return set(connection.scalars(upheld))


def _columns(connection: Connection) -> tuple[Codes, Codes, Codes, Floats]:
    """Return the columns of the judgments that count, read a piece at a time."""
    columns = (judgments.c.item, judgments.c.person, judgments.c.relevance, judgments.c.at)
    told = select(*columns).where(counts()).order_by(judgments.c.id)
    pieces = [np.empty((0, 4))]
    rows: Any = connection.execution_options(yield_per=PIECE).execute(told)
    pieces += [np.array([tuple(row) for row in part], dtype=np.float64) for part in rows.partitions()]
    table = np.concatenate(pieces)
    item, person, relevance = table[:, :3].T.astype(np.int64)
    return item, person, relevance, table[:, 3].copy()
