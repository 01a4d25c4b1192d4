"""The audit log as a chain: each entry carries the hash of the one before it, so that none can be changed alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

BEGINNING = "0" * 64


class Link(NamedTuple):
    """Where the chain ends now."""

    id: int = 0
    hash: str = BEGINNING


def linked(last: Link, at: float, who: str, what: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of the next entry."""
    row = {
        "id": last.id + 1,
        "at": at,
        "who": who,
        "what": what,
        "detail": json.dumps(detail, sort_keys=True, ensure_ascii=False),
        "previous": last.hash,
    }
    return {**row, "hash": digest(row)}


def digest(row: Mapping[str, Any]) -> str:
    """Return the hash of an entry: of all it says and of the entry before."""
    told = [row[name] for name in ("id", "at", "who", "what", "detail", "previous")]
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode()).hexdigest()


def broken(rows: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the number of the first entry that does not fit the chain, or nothing where all do."""
    last = Link()
    for row in rows:
        if row["id"] != last.id + 1 or row["previous"] != last.hash or row["hash"] != digest(row):
            return last.id + 1
        last = Link(row["id"], row["hash"])
    return None
