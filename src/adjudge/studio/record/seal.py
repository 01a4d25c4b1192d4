"""The seal of a record: ``seal.json`` in the campaign's folder, which shows that the end was cut off or replaced.

It has the id of the campaign and the head of the record, the number and hash of the last entry of the audit log. The
studio renews it every few seconds, after the commit, and signs it with the campaign's key. The head covers all entries
before it and all rows that they seal (see ``row_hashes``). Whoever noted a head down can check a
record without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, func, inspect, select

from adjudge.errors import InputError
from adjudge.studio.record import schema

FILE = "seal.json"
REWRITTEN = "record rewritten"  # the first entry of a record from which a person was erased
SHORTEST = 12  # digits of a head that was noted down
RESEAL = "if you want to continue with this record, run `adjudge campaign reseal`, which the audit log notes"
PUT_BACK = "put the right database back, or restore a backup with `adjudge campaign restore`"


class Seal(NamedTuple):
    """The content of the file."""

    campaign: str
    entry: int
    hash: str
    at: float
    key: str  # identifies the key without revealing it
    code: str = ""  # HMAC-SHA-256 of the other fields with the key


def new_id() -> str:
    """Return the id of a new campaign."""
    return secrets.token_hex(8)


def signed(seal: Seal, key: bytes) -> Seal:
    """Return a seal with the code of a key."""
    seal = seal._replace(key=_key_id(key))
    return seal._replace(code=hmac.digest(key, b"adjudge seal\0" + json.dumps(seal[:-1]).encode(), "sha256").hex())


def _key_id(key: bytes) -> str:
    """Return a short text by which a key is recognised."""
    return hashlib.sha256(b"adjudge key\0" + key).hexdigest()[:16]


def write_seal(folder: Path, seal: Seal) -> None:
    """Write the seal to the disk, completely or not at all."""
    draft = folder / f".{FILE}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(seal._asdict(), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, folder / FILE)


def read_seal(folder: Path) -> Seal | None:
    """Return the seal in a folder; None if there is none."""
    try:
        return parse_seal((folder / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"the seal of the record cannot be read: {RESEAL}", str(folder / FILE)) from error


def parse_seal(text: str) -> Seal:
    """Return the seal in a text, or raise a ValueError or a TypeError."""
    seal = Seal(**json.loads(text))
    if not isinstance(seal.entry, int) or not all(isinstance(field, str) for field in (seal.campaign, seal.hash)):
        raise TypeError("not a seal")
    return seal


def campaign_of(connection: Connection) -> str:
    """Return the id of the campaign that a database belongs to; empty if it has none."""
    if not inspect(connection).has_table(schema.identifications.name):
        return ""  # of an earlier version
    columns = schema.identifications.c
    return connection.scalar(select(columns.campaign).order_by(columns.id.desc()).limit(1)) or ""


def owner_problem(campaign: str, seal: Seal | None) -> str:
    """Return why a database does not belong to a folder, given the id in the database; empty if it may."""
    if seal is None or not campaign or seal.campaign == campaign:
        return ""
    return f"the database holds another campaign ({campaign}, but the folder is of {seal.campaign}): name its own"


def head_problem(connection: Connection, seal: Seal) -> str:
    """Return what the sealed head says against a record; empty if the record continues it."""
    last = connection.scalar(select(func.max(schema.audit.c.id))) or 0
    if last < seal.entry:
        return f"the record ends earlier than the sealed head: at entry {last} of the audit log, not {seal.entry}"
    if seal.entry and _hash_at(connection, seal.entry) != seal.hash:
        return f"entry {seal.entry} of the audit log is not the sealed one: the record was changed or replaced"
    return ""


def code_problem(seal: Seal, key: bytes) -> str:
    """Return why a seal was not made with a key; empty if it was, or was made with an earlier key."""
    if seal.key != _key_id(key) or hmac.compare_digest(seal.code, signed(seal, key).code):
        return ""
    return f"{FILE} was changed: its code is not that of the campaign's key"


def is_other_key(seal: Seal, key: bytes) -> bool:
    """Return whether a seal was made with another key, so that its code cannot be checked."""
    return seal.key != _key_id(key)


def _hash_at(connection: Connection, entry: int) -> str | None:
    """Return the hash of an entry of the audit log."""
    return connection.scalar(select(schema.audit.c.hash).where(schema.audit.c.id == entry))


def read_head(connection: Connection) -> tuple[int, str]:
    """Return the head of a record, the number and hash of its last entry; 0 and no hash without any."""
    columns = schema.audit.c
    row = connection.execute(select(columns.id, columns.hash).order_by(columns.id.desc()).limit(1)).first()
    return (row.id, row.hash) if row else (0, "")


def seal_faults(connection: Connection, folder: Path) -> Iterator[str]:
    """Look for an end that was cut off, and for another database; the seal is read before the record goes on."""
    seal = read_seal(folder)
    campaign = campaign_of(connection)
    if seal is None:
        if campaign:
            yield f"there is no {FILE}, so nobody can see whether the end of the record was cut off"
        return
    key = folder / "key"
    problems = (
        owner_problem(campaign, seal),
        head_problem(connection, seal),
        code_problem(seal, key.read_bytes()) if key.exists() else "",
    )
    yield from filter(None, problems)


def _was_rewritten(connection: Connection, prefix: str) -> bool:
    """Return whether a record continues another one that had this head when it was written anew."""
    columns = schema.audit.c
    details = connection.scalars(select(columns.detail).where(columns.what == REWRITTEN))
    return any(json.loads(detail)["head"].startswith(prefix) for detail in details)


def compare_head(connection: Connection, noted: str) -> tuple[bool, str]:
    """Return whether a record contains a head that somebody noted down, and a sentence about it."""
    prefix = noted.strip().lower()
    if len(prefix) < SHORTEST or not set(prefix) <= set("0123456789abcdef"):
        return False, f"a head has 64 digits from 0 to f; give at least the first {SHORTEST}"
    columns = schema.audit.c
    entry = connection.scalar(select(columns.id).where(columns.hash.startswith(prefix)))
    if entry is None and _was_rewritten(connection, prefix):
        return True, "the head that was noted down is the end of the record from which a person was erased since"
    if entry is None:
        return False, "no entry of the audit log has the head that was noted down: this is another or a changed record"
    later = read_head(connection)[0] - entry
    return True, f"the head that was noted down is entry {entry} of the audit log; {later:,} entries came later"
