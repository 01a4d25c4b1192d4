"""What a lead sees of accounts: who has one, how they sign in, their sessions; and invitations from a list of names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from adjudge.errors import quote, quoted
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger, Person
from adjudge.studio.record.store import Change
from adjudge.studio.records import Refused
from adjudge.studio.work import people, second_factor, sessions

RESET_HOURS = 24  # for which a link to set a new password works
MOST_LISTED = 200  # accounts on the page; others are found by their name
MOST_NAMES = 1_000  # in one list
INVITED = ("judge", "reviewer")  # roles of lists; a lead is invited one by one


class Account(NamedTuple):
    """One person as the list of accounts shows them."""

    id: int
    name: str
    role: str
    way: str  # how they sign in


def list_accounts(ledger: Ledger, now: float, find: str = "") -> list[Account]:
    """Return people whose name contains a text, at most ``MOST_LISTED``: those of the desk first, then by name."""
    key = people.name_key(find)
    named = (person for person in ledger.people.values() if key in person.name.casefold())
    rows = [Account(person.id, person.name, person.role, sign_in_way(person)) for person in named]
    return sorted(rows, key=lambda row: (row.role == "judge", row.name.casefold()))[:MOST_LISTED]


def sign_in_way(person: Person) -> str:
    """Return how a person signs in, in words."""
    if person.outside:
        return "program" if person.outside.startswith("model:") else person.outside.partition(":")[0]
    ways = [kind for kind, value in (("password", person.password), ("OpenID Connect", person.openid)) if value]
    return " or ".join(ways) or "not yet"


def account_view(ledger: Ledger, now: float, number: int) -> dict[str, Any]:
    """Return the values of the page of one account."""
    person = known_person(ledger, number)
    return {
        "account": person,
        "way": sign_in_way(person),
        "sessions": sessions.open_sessions(person, now),
        "offered": _open_offer(person, now),
    }


def known_person(ledger: Ledger, number: int) -> Person:
    """Return a person, or refuse an unknown id."""
    if number not in ledger.people:
        raise Refused(404, "person", "There is no such person.")
    return ledger.people[number]


def end_sessions(ledger: Ledger, now: float, number: int, by: int) -> Change:
    """End all sessions of a person."""
    known_person(ledger, number)
    return sessions.end_sessions(ledger, now, number, by)


def remove_factor(ledger: Ledger, now: float, number: int, by: int) -> Change:
    """Remove the second factor of somebody else; a session alone is not enough to remove one's own."""
    if number == by:
        raise Refused(409, "own_factor", "Remove your own second factor on the page of your account.")
    return second_factor.remove_factor(ledger, now, number, by)


def offer_reset(ledger: Ledger, now: float, number: int, by: int | None = None) -> Change:
    """Offer a person a new password; the answer is the id of the offer, which is signed to make the link.

    The link works once and for ``RESET_HOURS``; an earlier link of the person is over. ``by`` is None for the command
    line.
    """
    person = known_person(ledger, number)
    if person.outside:
        raise Refused(409, "outside", f"{person.name} comes from a platform or is a program, and has no password.")
    row = {"id": ledger.next_id(schema.resets), "at": now, "person": number, "by": by}
    row |= {"password": person.password_id, "expires": now + 3600 * RESET_HOURS}
    entry = (people.name_of(ledger, by), "password link made", {"person": person.name})
    return Change([(schema.resets, row)], row["id"], entry)


def _open_offer(person: Person, now: float) -> Mapping[str, Any] | None:
    """Return the link for a new password that a person may still use."""
    row = person.reset
    return row if row and row["expires"] >= now and row["password"] == person.password_id else None


def invite_list(ledger: Ledger, now: float, by: int, role: str, text: str, days: float) -> Change:
    """Invite everybody on a list, one name per line; the answer is pairs of a name and the id of its invitation.

    If any name cannot be invited, nobody is, and the refusal says which names are wrong.
    """
    if role not in INVITED:
        raise Refused(422, "role", f"The role is {quote(role)}, expected one of {quoted(INVITED)}.")
    lines = [line for line in text.splitlines() if line.strip()]
    if not 0 < len(lines) <= MOST_NAMES:
        raise Refused(422, "names", f"The list has {len(lines):,} names, expected 1 to {MOST_NAMES:,}, one per line.")
    names, problems = _check_names(ledger, lines)
    if problems:
        raise Refused(422, "names", f"Nobody was invited. {' '.join(problems[:10])}")
    change = people.invite_all(ledger, now, role, names, days, by)
    return change._replace(answer=list(zip(names, change.answer, strict=True)))


def _check_names(ledger: Ledger, lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the names in lines, and a sentence about each name that cannot be invited."""
    names: dict[str, str] = {}
    problems = []
    for number, line in enumerate(lines, 1):
        try:
            name = people.clean_name(line)
        except Refused as error:
            problems.append(f"Name {number}: {error}")
            continue
        if name.casefold() in ledger.named:
            problems.append(f"Name {number}: {quote(name)} has an account already.")
        elif name.casefold() in names:
            problems.append(f"Name {number}: {quote(name)} is in the list twice.")
        names[name.casefold()] = name
    return list(names.values()), problems
