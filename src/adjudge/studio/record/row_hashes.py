"""Hashes of the rows of all tables, with which the audit log covers the whole record.

Every few minutes, and when the studio stops, the audit log gets an entry "rows sealed" with the number of rows of every
table and a hash of them. The hash continues that of the entry before: it is SHA-256 of the earlier hash and of the
sorted hashes of the rows since. So every sealed row is covered by the chain of the audit log, and for a changed
row it is known between which two entries it was written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, Float, Select, Table, select

from adjudge.studio.record import schema
from adjudge.studio.record.seal import STOPPED

SEALED = "rows sealed"  # the action of such an entry
BEGINNING = "0" * 64
MOST, SECONDS = 5_000, 300.0  # rows, and time, after which rows are sealed
UNSEALED = (schema.versions, schema.audit)  # the audit log is a chain of its own
PIECE = 10_000  # rows that are read at a time
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Tally(NamedTuple):
    """How many rows of a table are sealed, and their hash."""

    rows: int = 0
    hash: str = BEGINNING


class RowHashes:
    """What is sealed of every table, and the hashes of the rows since."""

    def __init__(self, sealed: Mapping[str, Tally] | None = None) -> None:
        self.sealed = dict(sealed or {})
        self.new: dict[str, list[bytes]] = defaultdict(list)
        self._since = time.monotonic()

    def add(self, table: Table, row: Mapping[str, Any]) -> None:
        """Add a row that was just decided."""
        if table not in UNSEALED:
            values = [_stored(row.get(name, default), real) for name, default, real in _columns(table)]
            self.new[table.name].append(row_hash(table, values))

    @property
    def due(self) -> bool:
        """Whether there are enough new rows, or old ones, to seal them."""
        rows = sum(map(len, self.new.values()))
        return rows >= MOST or (rows > 0 and time.monotonic() - self._since >= SECONDS)

    def detail(self) -> dict[str, Any]:
        """Return the detail of an entry that seals all rows."""
        tallies = {name: extend(self.sealed.get(name, Tally()), hashes) for name, hashes in self.new.items()}
        return {"tables": {**self.sealed, **tallies}}

    def seal(self, detail: str) -> None:
        """Note that an entry with this detail sealed all rows."""
        self.sealed, self._since = tallies_of(detail), time.monotonic()
        self.new.clear()


def extend(tally: Tally, hashes: Sequence[bytes]) -> Tally:
    """Return the tally after further rows."""
    continued = hashlib.sha256(bytes.fromhex(tally.hash) + b"".join(sorted(hashes)))
    return Tally(tally.rows + len(hashes), continued.hexdigest()) if hashes else tally


def tallies_of(detail: str) -> dict[str, Tally]:
    """Return the tallies in the detail of an entry."""
    return {name: Tally(*tally) for name, tally in json.loads(detail)["tables"].items()}


def row_hash(table: Table, values: Iterable[Any]) -> bytes:
    """Return the hash of a row: SHA-256 of the name of its table and its values, as JSON."""
    plain = [value.hex() if isinstance(value, bytes) else without_sign_of_zero(value) for value in values]
    return hashlib.sha256(_encode([table.name, *plain]).encode()).digest()


def without_sign_of_zero(value: Any) -> Any:
    """Return a value; -0.0 becomes 0.0, because SQLite stores it so, and PostgreSQL does not."""
    return value + 0.0 if isinstance(value, float) else value


@cache
def _columns(table: Table) -> list[tuple[str, Any, bool]]:
    """Return name and default of every column, and whether it is one of real numbers."""
    return [(c.name, getattr(c.default, "arg", None), isinstance(c.type, Float)) for c in table.columns]


def _stored(value: Any, real: bool) -> Any:
    """Return a value of a new row as the database gives it back."""
    if value is None or isinstance(value, (str, bytes)):
        return value
    return float(value) if real else int(value)


def load_row_hashes(connection: Connection) -> RowHashes:
    """Return the tallies of the last entry that sealed rows, with the hashes of the rows since."""
    entries = select(schema.audit.c.detail).where(schema.audit.c.what == SEALED).order_by(schema.audit.c.id.desc())
    detail = connection.scalar(entries.limit(1))
    result = RowHashes(tallies_of(detail) if detail else None)
    for table in sealed_tables():
        since = read_hashes(connection, table, result.sealed.get(table.name, Tally()).rows)
        if hashes := list(since):
            result.new[table.name] = hashes
    return result


def sealed_tables() -> list[Table]:
    """Return the tables whose rows are sealed."""
    return [table for table in schema.METADATA.sorted_tables if table not in UNSEALED]


def read_hashes(connection: Connection, table: Table, after: int = 0) -> Generator[bytes]:
    """Yield the hashes of the rows of a table in the order in which they were written, without the first ones."""
    with connection.execute(_in_order(table, after).execution_options(yield_per=PIECE)) as result:
        yield from (row_hash(table, row) for row in result)


def _in_order(table: Table, after: int) -> Select[Any]:
    """Return the query of rows in the order in which they were written, without the first ones."""
    keys = list(table.primary_key.columns)
    if "id" in table.columns:
        keys = [table.c.id]
    elif "at" in table.columns:
        keys = [table.c.at, *keys]
    elif not keys[0].foreign_keys:  # a random key: rows follow what they belong to
        keys = [*(column for column in table.columns if column.foreign_keys), *keys]
    return select(table).order_by(*keys).offset(after)


def changed_rows(connection: Connection, complete: bool = False) -> Iterator[str]:
    """Look for rows of any table that are not those that the audit log has sealed.

    Rows that are not sealed yet are a problem if the record is ``complete``: the studio sealed all when it stopped.
    """
    sealings = _sealings(connection)
    for table in sealed_tables():
        with contextlib.closing(read_hashes(connection, table)) as hashes:
            yield from _changed_rows(table, hashes, sealings[table.name])
            if complete and (added := sum(1 for _ in hashes)):
                yield f"{table.name}: {added:,} rows were added {STOPPED}"


def _sealings(connection: Connection) -> Mapping[str, Sequence[tuple[int, Tally]]]:
    """Return for each table the entries that sealed new rows of it, with their tallies."""
    entries = select(schema.audit.c.id, schema.audit.c.detail).where(schema.audit.c.what == SEALED)
    sealings = defaultdict[str, list[tuple[int, Tally]]](list)
    for entry, detail in connection.execute(entries.order_by(schema.audit.c.id).execution_options(yield_per=PIECE)):
        for name, tally in tallies_of(detail).items():
            if not sealings[name] or tally != sealings[name][-1][1]:
                sealings[name].append((entry, tally))
    return sealings


def _changed_rows(table: Table, hashes: Iterator[bytes], tallies: Iterable[tuple[int, Tally]]) -> Iterator[str]:
    """Compare the rows of one table with the tallies of the entries that sealed them."""
    before = Tally()
    for entry, tally in tallies:
        group = list(islice(hashes, tally.rows - before.rows))
        if len(group) < tally.rows - before.rows:
            left = before.rows + len(group)
            yield f"{table.name}: {left:,} rows are left of {tally.rows:,} (audit entry {entry}): rows were deleted"
            return
        if extend(before, group) != tally:
            yield f"{table.name}: rows {before.rows + 1:,} to {tally.rows:,} were changed (audit entry {entry})"
        before = tally
