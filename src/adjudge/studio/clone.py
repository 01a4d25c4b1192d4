"""A clone of a campaign: a new folder with its settings, topics, documents, gold and sets, and nothing of its work.

The clone has its own key and its own database without judgments. Its only person is the lead who cloned, who signs in
with the same password and, if they have one, the same second factor: otherwise the password alone would open the gold
of the original. The audit logs of both campaigns say so.
"""

from __future__ import annotations

import os
from pathlib import Path

from adjudge.studio.access import Signer, load_key
from adjudge.studio.campaign import Campaign, Created, clone_files
from adjudge.studio.desk.decisions import actor_name
from adjudge.studio.one_time_codes import carry_factor
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger, Person
from adjudge.studio.record.store import Change, Row
from adjudge.studio.studio import Studio, open_store
from adjudge.studio.work.people import password_row, person_row

CLONED = "campaign cloned"  # the action in the audit log


def clone_campaign(
    studio: Studio, target: str | os.PathLike[str], *, name: str | None = None, lead: int | None = None
) -> Created:
    """Clone a campaign that is open and not being served.

    Parameters
    ----------
    studio
        The open campaign.
    target
        The folder of the clone, which must not hold a campaign.
    name
        The name of the clone; without one, the name of its folder.
    lead
        The lead who clones, who becomes the lead of the clone. Without one, ``adjudge serve`` invites a lead.
    """
    created = make_clone(studio.campaign, None if lead is None else studio.ledger.people[lead], Path(target), name)
    studio.store.do(lambda ledger, now: note_clone(ledger, now, lead, created.campaign.folder.name))
    return created


def make_clone(campaign: Campaign, lead: Person | None, target: Path, name: str | None) -> Created:
    """Write the files and the database of a clone; ``note_clone`` then notes it in the original."""
    created = clone_files(campaign, target, name)
    store = open_store(created.campaign)
    try:
        keys = [Signer(load_key(folder)) for folder in (campaign.folder, created.campaign.folder)]
        salt = carry_factor(keys[0], lead.factor, keys[1]) if lead is not None and lead.factor else ""
        store.do(lambda ledger, now: _found(ledger, now, campaign.folder.resolve().name, lead, salt))
    finally:
        store.close()
    return created


def note_clone(ledger: Ledger, now: float, by: int | None, target: str) -> Change:
    """Note in the audit log of a campaign that it was cloned, and the name of the clone's folder."""
    return Change(audit=(actor_name(ledger, by), CLONED, {"to": target}))


def _found(ledger: Ledger, now: float, source: str, lead: Person | None, salt: str) -> Change:
    """Note where a clone comes from, and add its lead with their password and the salt of their second factor."""
    entry = {"from": source}
    if lead is None:
        return Change(audit=("studio", CLONED, entry))
    person = {**person_row(ledger, now, lead.name, "lead"), "language": lead.language}
    rows = [(schema.people, person), (schema.passwords, password_row(ledger, now, person["id"], lead.password))]
    if salt:
        factor: Row = {
            "id": ledger.next_id(schema.factors),
            "at": now,
            "person": person["id"],
            "salt": salt,
            "by": None,
        }
        rows.append((schema.factors, factor))
    return Change(rows, person["id"], (lead.name, CLONED, entry))
