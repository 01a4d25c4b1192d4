"""A clone of a campaign: a new folder with its settings, topics, documents, gold and sets, and nothing of its work.

The clone has its own key and its own database without judgments. Its only person is the lead who cloned, who signs in
with the same password and, if they have one, the same second factor: otherwise the password alone would open the gold
of the original. The audit logs of both campaigns say so. A lead may also make a new campaign of files, which then
begins like a clone.
"""

from __future__ import annotations

import os
from pathlib import Path

from adjudge.studio.access import Signer, load_key
from adjudge.studio.campaign import Campaign, Created, Sources, clone_files, new_campaign
from adjudge.studio.desk.decisions import actor_name
from adjudge.studio.one_time_codes import carry_factor
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger, Person
from adjudge.studio.record.store import Change, Row
from adjudge.studio.studio import Studio, open_store
from adjudge.studio.work.people import password_row, person_row

CLONED, CREATED = "campaign cloned", "campaign created"  # actions in the audit log


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
    _begin_record(created.campaign, lead, campaign.folder, CLONED, {"from": campaign.folder.resolve().name})
    return created


def make_campaign(sources: Sources, lead: Person, home: Path, target: Path, name: str | None) -> Created:
    """Write the files and the database of a new campaign, whose only person is a lead of the campaign in ``home``."""
    created = new_campaign(target, sources, name=name)
    _begin_record(created.campaign, lead, home, CREATED, {})
    return created


def _begin_record(campaign: Campaign, lead: Person | None, home: Path, action: str, detail: Row) -> None:
    """Write the database of a new campaign; its lead is one of the campaign in ``home``."""
    store = open_store(campaign)
    try:
        keys = [Signer(load_key(folder)) for folder in (home, campaign.folder)]
        salt = carry_factor(keys[0], lead.factor, keys[1]) if lead is not None and lead.factor else ""
        store.do(lambda ledger, now: _add_lead(ledger, now, lead, salt, action, detail))
    finally:
        store.close()


def note_clone(ledger: Ledger, now: float, by: int | None, target: str) -> Change:
    """Note in the audit log of a campaign that it was cloned, and the name of the clone's folder."""
    return Change(audit=(actor_name(ledger, by), CLONED, {"to": target}))


def _add_lead(ledger: Ledger, now: float, lead: Person | None, salt: str, action: str, detail: Row) -> Change:
    """Note where a campaign comes from, and add its lead with their password and the salt of their second factor."""
    if lead is None:
        return Change(audit=("studio", action, detail))
    person = {**person_row(ledger, now, lead.name, "lead"), "language": lead.language}
    number = person["id"]
    rows = [(schema.people, person), (schema.passwords, password_row(ledger, now, number, lead.password))]
    if salt:
        factor = {"id": ledger.next_id(schema.factors), "at": now, "person": number, "salt": salt, "by": None}
        rows.append((schema.factors, factor))
    return Change(rows, number, (lead.name, action, detail))
