"""Numbers of the desk that are costly: they are computed once and kept until the record changes.

A studio has one ``Kept``. Each value has a name, a key that changes with everything that can change the value, and two
limits: it is not computed again for some seconds, even if the key has changed, and it is computed again after some
time, even if the key has not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, NamedTuple

from adjudge.studio.consensus import FOLDER, SUMMARY
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.schema import METADATA

NUMBERED = tuple(table for table in METADATA.sorted_tables if "id" in table.c)


class _Entry(NamedTuple):
    """A value that is kept."""

    key: Hashable
    at: float
    value: Any


class Kept:
    """Values by their names."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def value(
        self,
        name: str,
        key: Hashable,
        now: float,
        compute: Callable[[], Awaitable[Any]],
        least: float = 0.0,
        most: float = 600.0,
    ) -> Any:
        """Return a value, computed again if its key has changed and it is older than ``least`` seconds.

        It is also computed again if it is older than ``most`` seconds. Of several requests at once, one computes it.
        """
        async with self._locks.setdefault(name, asyncio.Lock()):
            entry = self._entries.get(name)
            age = now - entry.at if entry else most
            if entry is None or age >= most or (entry.key != key and age >= least):
                entry = self._entries[name] = _Entry(key, now, await compute())
            return entry.value

    def forget(self, name: str) -> None:
        """Compute a value again when it is needed next."""
        self._entries.pop(name, None)


def state_key(ledger: Ledger) -> Hashable:
    """Return a value that changes with every row of the record and with every new consensus."""
    try:
        written = (ledger.campaign.folder / FOLDER / SUMMARY).stat().st_mtime_ns
    except OSError:
        written = 0
    return written, *(ledger.next_id(table) for table in NUMBERED)
