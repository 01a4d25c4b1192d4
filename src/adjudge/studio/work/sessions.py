"""Commands on sessions and on the links that set a new password.

A session is a signed text that the browser has; its row makes it listed, and an ending makes it worthless wherever it
was copied to. Ending all sessions of a person raises their epoch, which every session carries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adjudge.studio.access import Session
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger, Person
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import Refused
from adjudge.studio.work.people import password_row

BROWSERS = (  # (in the User-Agent header, family); the first that fits, because Edge also calls itself Chrome
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)


def browser_family(user_agent: str) -> str:
    """Return the family of a browser; nothing else of the header is stored.

    Examples
    --------
    >>> browser_family("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
    'Firefox'
    """
    return next((family for part, family in BROWSERS if part in user_agent), "")


def begin_session(ledger: Ledger, now: float, session: Session, browser: str) -> Change:
    """Store a session that a person has just been given."""
    row = {"id": ledger.next_id(schema.sessions), "at": now, "person": session.person, "nonce": session.nonce}
    row |= {"epoch": session.epoch, "expires": session.expires, "browser": browser}
    return Change([(schema.sessions, row)])


def is_over(ledger: Ledger, session: Session) -> bool:
    """Return whether a session that has not expired was ended."""
    person = ledger.people.get(session.person)
    return person is None or session.epoch != person.epoch or session.nonce in ledger.ended


def open_sessions(person: Person, now: float) -> list[Mapping[str, Any]]:
    """Return the sessions of a person that are not over, newest first."""
    rows = (row for row in person.sessions.values() if row["expires"] > now and row["epoch"] == person.epoch)
    return sorted(rows, key=lambda row: row["id"], reverse=True)


def end_session(ledger: Ledger, now: float, person: int, nonce: str) -> Change:
    """End one session of a person; nothing changes if it is over."""
    if not nonce or nonce in ledger.ended:
        return Change()
    row = _ending(ledger, now, person, nonce, person)
    return Change([(schema.endings, row)], None, (ledger.people[person].name, "session ended", {}))


def end_listed_session(ledger: Ledger, now: float, person: int, number: int) -> Change:
    """End the session of a person that has this number in their list."""
    nonces = [row["nonce"] for row in ledger.people[person].sessions.values() if row["id"] == number]
    if not nonces:
        raise Refused(404, "session_unknown", "This session is over already.")
    return end_session(ledger, now, person, nonces[0])


def end_sessions(ledger: Ledger, now: float, person: int, by: int) -> Change:
    """End all sessions of a person."""
    row = _ending(ledger, now, person, "", by)
    entry = (ledger.people[by].name, "sessions ended", {"person": ledger.people[person].name})
    return Change([(schema.endings, row)], None, entry)


def _ending(ledger: Ledger, now: float, person: int, nonce: str, by: int) -> Row:
    """Return the row that ends a session, or without a nonce all sessions of a person."""
    return {"id": ledger.next_id(schema.endings), "at": now, "person": person, "nonce": nonce, "by": by}


def open_reset(ledger: Ledger, now: float, person: int | None, number: int | None) -> Person:
    """Return the person who may set a new password by a link, or refuse with the reason."""
    someone = None if person is None else ledger.people.get(person)
    if someone is None or someone.reset is None:
        raise Refused(404, "reset_unknown", "This link is not valid: ask a lead for a new one.")
    row = someone.reset
    if row["id"] != number or row["password"] != someone.password_id:
        raise Refused(410, "reset_used", "This link was used or replaced: ask a lead for a new one.")
    if row["expires"] < now:
        raise Refused(410, "reset_over", "This link has expired: ask a lead for a new one.")
    return someone


def reset_password(ledger: Ledger, now: float, person: int, number: int, hashed: str) -> Change:
    """Set the password that a person chose by a link; all sessions of the person end."""
    someone = open_reset(ledger, now, person, number)
    row = password_row(ledger, now, person, hashed)
    return Change([(schema.passwords, row)], person, (someone.name, "password set by a link", {}))
