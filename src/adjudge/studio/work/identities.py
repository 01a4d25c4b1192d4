"""The command by which people come in from an OpenID Connect provider.

An identity is bound to one person when it first comes, and never to a person who exists already, whatever name or
address it claims: otherwise whoever may choose a name at the provider could take over an account.
"""

from __future__ import annotations

from collections.abc import Container

from adjudge.studio.access import LONGEST_NAME
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.store import Change
from adjudge.studio.records import Refused
from adjudge.studio.work.people import clean_name, open_invitation, person_row


def come_in(
    ledger: Ledger, now: float, subject: str, name: str, domain: str, invitation: int | None, domains: Container[str]
) -> Change:
    """Let an identity in; the answer is the id of its person.

    Parameters
    ----------
    ledger, now
        The present state, and the time.
    subject, name, domain
        The identity: a hash, the name that it claims, and the domain of its verified address (or an empty text).
    invitation
        The invitation with which it came, which gives the role, or None.
    domains
        The domains whose people become judges without an invitation.
    """
    if subject in ledger.identities:
        return Change(answer=ledger.identities[subject])
    if invitation is None and not (domain and domain in domains):
        raise Refused(403, "openid_unknown", "You have no account here yet: ask a lead for an invitation.")
    offered = None if invitation is None else open_invitation(ledger, now, invitation)
    role = "judge" if offered is None else offered["role"]
    person = person_row(ledger, now, free_name(ledger, (offered or {}).get("name") or name), role)
    rows = [
        (schema.people, person),
        (schema.identities, {"subject": subject, "at": now, "person": person["id"]}),
    ]
    if invitation is not None:
        rows.append((schema.acceptances, {"invitation": invitation, "at": now, "person": person["id"]}))
    detail = {"role": role, **({} if invitation is None else {"invitation": invitation})}
    return Change(rows, person["id"], (person["name"], "joined by OpenID Connect", detail))


def free_name(ledger: Ledger, name: str) -> str:
    """Return a name that nobody has: the one that is wanted, if need be with a number."""
    try:
        cleaned = clean_name(name[: LONGEST_NAME - 6])
    except Refused:
        cleaned = "person"
    number, free = 1, cleaned
    while free.casefold() in ledger.named:
        number += 1
        free = f"{cleaned} {number}"
    return free
