"""The seal of a record: ``seal.json`` in the campaign's folder, which shows that the end was cut off or replaced.

It has the id of the campaign and the head of the record, the number and hash of the last entry of the audit log. The
studio renews it every few seconds, after the commit, and signs it with the campaign's key. The head covers all entries
before it and all rows that they seal (see ``row_hashes``). When the studio stops, all rows are sealed, and the seal is
``complete``: rows that are added afterwards are found. Whoever noted a head down can check a record without the key.
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
from adjudge.studio.staging import flush

FILE = "seal.json"
REWRITTEN = "record rewritten"  # the first entry of a record from which a person was erased
STOPPED = "after the studio had stopped"
SHORTEST = 12  # digits of a head that was noted down
RESEAL = "if you want to continue with this record, run `adjudge campaign reseal`, which the audit log notes"
REPLACED = "if the key was replaced on purpose, start the studio once, which seals the record again and notes it"
PUT_BACK = "put the right database back, or restore a backup with `adjudge campaign restore`"


class Seal(NamedTuple):
    """The content of the file."""

    campaign: str
    entry: int
    hash: str
    at: float
    key: str  # identifies the key without revealing it
    complete: bool = False  # whether the studio had stopped, so that nothing comes after this entry
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
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(seal._asdict(), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, folder / FILE)
        flush(folder)  # a complete seal must not come back after a power cut, when rows have come after it
    finally:
        draft.unlink(missing_ok=True)


def read_seal(folder: Path) -> Seal | None:
    """Return the seal in a folder; None if there is none."""
    try:
        return parse_seal((folder / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, RecursionError, ValueError, TypeError) as error:
        raise InputError(f"the seal of the record cannot be read: {RESEAL}", str(folder / FILE)) from error


def parse_seal(text: str) -> Seal:
    """Return the seal in a text, or raise a ValueError or a TypeError."""
    seal = Seal(**json.loads(text))
    types: tuple[type | tuple[type, ...], ...] = (str, int, str, (int, float), str, bool, str)
    if not all(isinstance(field, type_) for field, type_ in zip(seal, types, strict=True)) or not seal.code.isascii():
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
    if seal.complete and last > seal.entry:
        return f"{last - seal.entry:,} entries of the audit log were added {STOPPED}, at entry {seal.entry}"
    return ""


def is_complete(connection: Connection, folder: Path) -> bool:
    """Return whether a record is as the studio left it when it stopped, by the seal in a folder."""
    seal = read_seal(folder)
    return seal is not None and seal.complete and (seal.entry, seal.hash) == read_head(connection)


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
    yield from filter(None, (owner_problem(campaign, seal), _present_head_problem(connection, seal)))
    key = folder / "key"
    if not key.exists():
        yield f"there is no file key, so nobody can see whether {FILE} was changed"
    elif is_other_key(seal, content := key.read_bytes()):
        yield f"{FILE} was made with another key than the one in the folder, so it proves nothing: {REPLACED}"
    elif problem := code_problem(seal, content):
        yield problem


def _present_head_problem(connection: Connection, seal: Seal) -> str:
    """Return what the sealed head says against a record, which a studio may have continued and sealed meanwhile."""
    if not head_problem(connection, seal):
        return ""
    with connection.engine.begin() as present:  # what the connection sees may be older than the seal
        return head_problem(present, seal)


def _was_rewritten(connection: Connection, prefix: str) -> bool:
    """Return whether a record says that it continues another one, which had this head when it was written again."""
    columns = schema.audit.c
    details = connection.scalars(select(columns.detail).where(columns.what == REWRITTEN))
    return any(str(json.loads(detail).get("head", "")).startswith(prefix) for detail in details)


def compare_head(connection: Connection, noted: str) -> tuple[bool, str]:
    """Return whether a record contains a head that somebody noted down, and a sentence about it."""
    prefix = noted.strip().lower()
    if len(prefix) < SHORTEST or not set(prefix) <= set("0123456789abcdef"):
        return False, f"a head has 64 digits from 0 to f; give at least the first {SHORTEST}"
    columns = schema.audit.c
    entry = connection.scalar(select(columns.id).where(columns.hash.startswith(prefix)))
    if entry is None and _was_rewritten(connection, prefix):
        return False, (
            "the record says that it ended with the head that was noted down when it was written again to erase a "
            "person. The head cannot show that the rest is unchanged: ask who was erased, and note the new head down"
        )
    if entry is None:
        return False, "no entry of the audit log has the head that was noted down: this is another or a changed record"
    later = read_head(connection)[0] - entry
    return True, f"the head that was noted down is entry {entry} of the audit log; {later:,} entries came later"
