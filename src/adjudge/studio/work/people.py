"""Commands by which people come in: by an invitation, by registration if it is allowed, or from a crowd platform."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from sqlalchemy import Table

from adjudge.studio.access import LONGEST_NAME
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import Refused

RESERVED = ("prolific:", "mturk:")  # prefixes of the names of people from crowd platforms


def clean_name(text: str) -> str:
    """Return a name as it is stored, or refuse it."""
    name = normalise_name(text)
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        sentence = f"A name has 1 to {LONGEST_NAME} characters that can be printed."
        raise Refused(422, "name_characters", sentence, most=LONGEST_NAME)
    if name.casefold().startswith(RESERVED):
        prefixes = " or ".join(RESERVED)
        raise Refused(422, "name_reserved", f"Names that begin with {prefixes} are for people from elsewhere.")
    return name


def name_key(text: str) -> str:
    """Return the key by which a person is found, however the name was typed."""
    return normalise_name(text).casefold()


def normalise_name(text: str) -> str:
    """Return a name without extra spaces, in Unicode's NFKC form."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def person_row(ledger: Ledger, now: float, name: str, role: str, outside: str | None = None, ahead: int = 1) -> Row:
    """Return the row of a new person; names must differ in more than upper and lower case."""
    if name.casefold() in ledger.named:
        raise Refused(409, "name_taken", f"The name {name} is taken: choose another.", name=name)
    row = {"id": ledger.next_id(schema.people, ahead), "at": now, "name": name, "role": role, "outside": outside}
    return {**row, "language": ledger.campaign.settings.campaign.language}


def open_invitation(ledger: Ledger, now: float, invitation: int | None) -> Row:
    """Return an invitation that may be accepted, or refuse with the reason."""
    row = None if invitation is None else ledger.invitations.get(invitation)
    if row is None:
        raise Refused(404, "invitation_unknown", "This is not an invitation of ours: ask for a new one.")
    if row["id"] in ledger.accepted:
        raise Refused(410, "invitation_used", "This invitation was used: sign in, or ask for a new one.")
    if row["id"] in ledger.withdrawn:
        raise Refused(410, "invitation_withdrawn", "This invitation was withdrawn: ask for a new one.")
    if row["expires"] < now:
        raise Refused(410, "invitation_over", "This invitation has run out: ask for a new one.")
    return dict(row)


def join(ledger: Ledger, now: float, invitation: int, name: str, hashed: str) -> Change:
    """Accept an invitation; it can be accepted once."""
    offered = open_invitation(ledger, now, invitation)
    person = person_row(ledger, now, name, offered["role"])
    rows = [
        (schema.people, person),
        (schema.passwords, password_row(ledger, now, person["id"], hashed)),
        (schema.acceptances, {"invitation": invitation, "at": now, "person": person["id"]}),
    ]
    return Change(rows, person["id"], (name, "joined", {"invitation": invitation, "role": offered["role"]}))


def register(ledger: Ledger, now: float, name: str, hashed: str) -> Change:
    """Add a judge who was not invited, if the campaign allows it."""
    if not ledger.campaign.settings.access.registration:
        raise Refused(403, "registration_closed", "This campaign is by invitation only.")
    person = person_row(ledger, now, name, "judge")
    rows = [(schema.people, person), (schema.passwords, password_row(ledger, now, person["id"], hashed))]
    return Change(rows, person["id"], (name, "registered", {}))


def arrive(ledger: Ledger, now: float, outside: str) -> Change:
    """Return the person whom a crowd platform sends, and add them the first time."""
    if outside in ledger.outsiders:
        return Change(answer=ledger.outsiders[outside])
    person = person_row(ledger, now, outside, "judge", outside)
    return Change([(schema.people, person)], person["id"], (outside, "arrived", {}))


def password_row(ledger: Ledger, now: float, person: int, hashed: str) -> Row:
    """Return the row of a new password."""
    return {"id": ledger.next_id(schema.passwords), "at": now, "person": person, "hash": hashed}


def change_password(ledger: Ledger, now: float, person: int, hashed: str, before: str) -> Change:
    """Change a password whose hash was ``before`` when it was checked; sessions that began with it end."""
    if ledger.people[person].password != before:
        raise Refused(409, "password_stale", "The password was changed in the meantime. Sign in again.")
    rows = [(schema.passwords, password_row(ledger, now, person, hashed))]
    return Change(rows, None, (ledger.people[person].name, "password changed", {}))


def invite(ledger: Ledger, now: float, role: str, name: str = "", days: float = 14, by: int | None = None) -> Change:
    """Invite somebody to a role; the answer is the id of the invitation, which is signed to make the link.

    It withdraws the open invitations of the same name, so that nobody has two links and makes two accounts. A new
    invitation of a lead by the studio itself (``by`` is None) withdraws the open ones before it too, so that there is
    one such link at most, however often the studio starts.
    """
    number = ledger.next_id(schema.invitations)
    row = {"id": number, "at": now, "by": by, "role": role, "name": name, "expires": now + 86_400 * days}
    older = _open_invitations(ledger, now, [name], studio_leads=by is None and role == "lead")
    detail = {"invitation": number, "role": role, **({"withdrawn": older} if older else {})}
    rows: list[tuple[Table, Row]] = [(schema.invitations, row), *_withdrawal_rows(now, older, by)]
    return Change(rows, number, (name_of(ledger, by), "invited", detail))


def invite_all(ledger: Ledger, now: float, role: str, names: Sequence[str], days: float, by: int | None) -> Change:
    """Invite several people to a role by their names; the answer is the ids of the invitations, in their order.

    Open invitations of these names are withdrawn.
    """
    first = ledger.next_id(schema.invitations)
    numbers = list(range(first, first + len(names)))
    expires = now + 86_400 * days
    rows: list[tuple[Table, Row]] = [
        (schema.invitations, {"id": n, "at": now, "by": by, "role": role, "name": name, "expires": expires})
        for n, name in zip(numbers, names, strict=True)
    ]
    older = _open_invitations(ledger, now, names)
    detail = {"invitations": numbers, "role": role, **({"withdrawn": older} if older else {})}
    rows += _withdrawal_rows(now, older, by)
    return Change(rows, numbers, (name_of(ledger, by), "invited", detail))


def withdraw(ledger: Ledger, now: float, invitation: int, by: int | None) -> Change:
    """Withdraw an open invitation: its link admits nobody."""
    open_invitation(ledger, now, invitation)
    row = {"invitation": invitation, "at": now, "by": by}
    entry = (name_of(ledger, by), "invitation withdrawn", {"invitation": invitation})
    return Change([(schema.withdrawals, row)], None, entry)


def _open_invitations(ledger: Ledger, now: float, names: Sequence[str], studio_leads: bool = False) -> list[int]:
    """Return the open invitations of these names and, if wanted, those of leads that the studio itself made."""
    over, keys = ledger.accepted | ledger.withdrawn, {name_key(name) for name in names} - {""}
    return [
        row["id"]
        for row in ledger.invitations.values()
        if row["id"] not in over
        and row["expires"] >= now
        and (name_key(row["name"]) in keys or (studio_leads and row["by"] is None and row["role"] == "lead"))
    ]


def _withdrawal_rows(now: float, invitations: Sequence[int], by: int | None) -> list[tuple[Table, Row]]:
    """Return the rows that withdraw invitations."""
    return [(schema.withdrawals, {"invitation": number, "at": now, "by": by}) for number in invitations]


def name_of(ledger: Ledger, by: int | None) -> str:
    """Return the name of the person who acts as the audit log records it; the studio itself if there is none."""
    return "studio" if by is None else ledger.people[by].name
