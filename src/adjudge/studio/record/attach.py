"""Attaching a database to a campaign's folder: it must be its own, and continue the record that the seal knows.

A random id of the campaign is in the database and in the seal. A new database, or one of an earlier version, gets the
id of the folder once. Everything else that does not fit is refused, until somebody accepts the record as it is
(`adjudge campaign reseal`, `adjudge campaign restore`), which the audit log then says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import URL, Connection

from adjudge.errors import InputError
from adjudge.studio.record import schema
from adjudge.studio.record.audit import Link
from adjudge.studio.record.damage import address
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.seal import (
    FILE,
    PUT_BACK,
    RESEAL,
    STOPPED,
    Seal,
    campaign_of,
    code_problem,
    head_problem,
    is_other_key,
    new_id,
    owner_problem,
    read_seal,
    signed,
    write_seal,
)
from adjudge.studio.record.store import Change, Store

ACCEPTED = "record sealed anew"  # the action of the entry that says why


def attach(store: Store, folder: Path, key: bytes, accept: str = "") -> tuple[str, ...]:
    """Check that a store is the one of a folder, keep its seal from now on, and return notes for the operator.

    Parameters
    ----------
    store
        The open database.
    folder, key
        The folder of the campaign, and its key.
    accept
        Why a record that does not fit is accepted all the same; empty to refuse it.
    """
    seal = _readable_seal(folder, accept)
    with store.reading() as connection:
        campaign = campaign_of(connection)
        problem = next(_problems(connection, campaign, seal, _is_inside(store.url, folder), key), "")
    if not problem and seal is not None and seal.complete:
        problem = _added_problem(store.ledger)
    if problem and not accept:
        raise InputError(f"{problem}; {PUT_BACK}; {RESEAL}", address(store.url))
    reason = accept or _reason(campaign, seal, key)
    campaign_id = campaign or (seal.campaign if seal else new_id())
    if not campaign:
        if seal is None:  # before the database, so that a crash in between leaves a campaign that can be served
            write_seal(folder, signed(Seal(campaign_id, *Link(), store.clock(), ""), key))
        store.do(lambda ledger, now: identify(ledger, now, campaign_id))
    if reason:
        before = None if seal is None else [seal.entry, seal.hash]
        store.do(lambda ledger, now: Change(audit=("studio", ACCEPTED, {"reason": reason, "sealed before": before})))
    store.seal = lambda head, complete: write_seal(
        folder, signed(Seal(campaign_id, *head, store.clock(), "", complete), key)
    )
    store.renew_seal()
    return (
        (f"{reason}: the record was sealed again, at entry {store.ledger.link.id} of the audit log",) if reason else ()
    )


def _readable_seal(folder: Path, accept: str) -> Seal | None:
    """Return the seal in a folder; None without one, or if it cannot be read and the record is accepted anyway."""
    try:
        return read_seal(folder)
    except InputError:
        if not accept:
            raise
        return None


def _problems(connection: Connection, campaign: str, seal: Seal | None, inside: bool, key: bytes) -> Iterator[str]:
    """Yield why a database is not attached to a folder."""
    if seal is None:
        if campaign and not inside:
            yield f"the database belongs to campaign {campaign}, but the folder, which has no {FILE}, may not"
        return
    problems = (owner_problem(campaign, seal), head_problem(connection, seal), code_problem(seal, key))
    yield from filter(None, problems)


def _added_problem(ledger: Ledger) -> str:
    """Return which rows were added to a record whose rows were all sealed; empty if none were."""
    added = {name: len(hashes) for name, hashes in ledger.hashes.new.items() if hashes}
    named = ", ".join(f"{count:,} of {name}" for name, count in added.items())
    return f"rows were added {STOPPED} ({named})" if added else ""


def _reason(campaign: str, seal: Seal | None, key: bytes) -> str:
    """Return why a record that fits is sealed again all the same; empty if it is not."""
    if seal is None:
        return f"there was no {FILE} in the folder" if campaign else ""
    return "the campaign's key was replaced" if is_other_key(seal, key) else ""


def identify(ledger: Ledger, now: float, campaign: str) -> Change:
    """Store the id of the campaign in a database that has none."""
    row = {"id": ledger.next_id(schema.identifications), "at": now, "campaign": campaign}
    return Change([(schema.identifications, row)], None, ("studio", "campaign identified", {"campaign": campaign}))


def _is_inside(url: URL, folder: Path) -> bool:
    """Return whether a database is a file in the folder, so that it was copied with it."""
    return url.get_backend_name() == "sqlite" and Path(str(url.database)).resolve().parent == folder.resolve()
