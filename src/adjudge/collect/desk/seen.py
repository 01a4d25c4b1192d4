"""Decisions on what was read from the tables: a command takes them only if nothing came since that could change them.

The ledger does not hold what is long over, so it is read first and decided on after; two leads may do so at once. What
was read carries how far each table was. Where a table has grown, the command refuses, and it is read and asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Table, func, select

from adjudge.collect.record import schema
from adjudge.collect.refused import Refused

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from adjudge.collect.record.ledger import Ledger
    from adjudge.collect.studio import Studio

Seen = Mapping[str, int]  # the last row of tables
STALE = "stale"
TRIES = 20  # in a busy campaign something comes every second; reading takes a hundredth of one
STOPPED = ("paused", "excluded")


class Past(NamedTuple):
    """Where a judge stood before being paused or excluded."""

    before: str  # new, qualified, unqualified
    automatic: bool  # whether the studio itself paused them
    seen: Seen


def seen_in(connection: Connection, *tables: Table) -> Seen:
    """Return how far tables are."""
    return {table.name: connection.scalar(select(func.max(table.c.id))) or 0 for table in tables}


def still(ledger: Ledger, seen: Seen) -> None:
    """Refuse to decide on what was read if anything came since."""
    if any(ledger.next_id(schema.METADATA.tables[name]) != last + 1 for name, last in seen.items()):
        raise Refused(409, STALE, "Something else was changed at this very moment: please try again.")


def past_of(connection: Connection, person: int) -> Past:
    """Return where a person stood before the last pause or exclusion, and who stopped them."""
    seen, rows = seen_in(connection, schema.standings), schema.standings.c
    found = select(rows.standing, rows.by).where(rows.person == person).order_by(rows.id)
    history = [(standing, by) for standing, by in connection.execute(found)]
    before = next((standing for standing, _ in reversed(history) if standing not in STOPPED), "new")
    return Past(before, bool(history) and history[-1] == ("paused", None), seen)


async def decided(studio: Studio, read: Callable[[Connection], Any], command: Callable[..., Any], *args: Any) -> Any:
    """Return what ``command(ledger, now, *args, what was read)`` answers; what was read is so at that moment."""
    for left in reversed(range(TRIES)):
        known = await studio.read(read)
        try:
            return await studio.do(command, *args, known)
        except Refused as refused:
            if refused.code != STALE or not left:
                raise
    return None
