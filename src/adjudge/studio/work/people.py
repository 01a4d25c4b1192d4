"""How people come in: by an invitation, by registration if it is allowed, or from a crowdsourcing platform.

Two protocols of platforms are supported. Prolific passes parameters in the address (PROLIFIC_PID, STUDY_ID, SESSION_ID)
and ends with a redirect to its own page with a code. Mechanical Turk's ExternalQuestion displays our page in a frame
(assignmentId, hitId, workerId, turkSubmitTo) and ends with a form that is sent to its host; a preview, before a
worker accepts, writes nothing.

Neither platform signs its parameters, so anybody who knows a worker's id can write such an address. The session of a
platform's worker is therefore bound to the platform's own id of the task (``format_arrival``), which is stored with
the assignment, and the code goes back to that task only; see docs/how-to/security.md.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import Refused
from adjudge.studio.settings import Mturk, Prolific, Settings

LONGEST = 100  # characters of a name
RESERVED = ("prolific:", "mturk:")  # prefixes of the names of people from crowd platforms
ID = re.compile(r"[A-Za-z0-9]{4,64}", re.ASCII)
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT = "/mturk/externalSubmit"


def clean_name(text: str) -> str:
    """Return a name as it is stored, or refuse it."""
    name = normalise_name(text)
    if not name or len(name) > LONGEST or not name.isprintable():
        sentence = f"A name has 1 to {LONGEST} characters that can be printed."
        raise Refused(422, "name_characters", sentence, most=LONGEST)
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


def change_password(ledger: Ledger, now: float, person: int, hashed: str) -> Change:
    """Change a password; sessions that began with the old one end."""
    rows = [(schema.passwords, password_row(ledger, now, person, hashed))]
    return Change(rows, None, (ledger.people[person].name, "password changed", {}))


def invite(ledger: Ledger, now: float, role: str, name: str = "", days: float = 14, by: int | None = None) -> Change:
    """Invite somebody to a role; the answer is the id of the invitation, which is signed to make the link."""
    number = ledger.next_id(schema.invitations)
    row = {"id": number, "at": now, "by": by, "role": role, "name": name, "expires": now + 86_400 * days}
    who = "studio" if by is None else ledger.people[by].name
    return Change([(schema.invitations, row)], number, (who, "invited", {"invitation": number, "role": role}))


# Judges from a platform: who it says they are, and how their completion code gets back


class Preview(NamedTuple):
    """A preview of the task: there is no worker yet, and nothing is written."""

    hit: str


class Arrival(NamedTuple):
    """A worker whom a platform sends. The field names are stored: they are the keys of ``format_arrival``."""

    outside: str  # the worker: "prolific:5f1c..."
    crowd: str  # prolific, mturk
    session: str  # the platform's id of this task
    study: str  # the study or HIT that the task belongs to
    submit_to: str = ""  # where the form with the code is sent; "" if the code goes into an address


def prolific_arrival(params: Mapping[str, str], settings: Prolific) -> Arrival:
    """Return the worker whom Prolific sends, or refuse."""
    if not settings.enabled:
        raise Refused(403, "crowd", "This campaign does not accept judges from Prolific.")
    person, study = _id(params, "PROLIFIC_PID"), _id(params, "STUDY_ID")
    if study not in settings.studies:
        raise Refused(403, "crowd", "This study does not belong to the campaign: add it to prolific.studies.")
    return Arrival(f"prolific:{person}", "prolific", _id(params, "SESSION_ID"), study)


def mturk_arrival(params: Mapping[str, str], settings: Mturk) -> Preview | Arrival:
    """Return the worker whom Mechanical Turk (or a platform with its protocol) sends, or a preview, or refuse."""
    if not settings.enabled:
        raise Refused(403, "crowd", "This campaign does not accept judges from Mechanical Turk.")
    if params.get("assignmentId") == PREVIEW:
        return Preview(_id(params, "hitId") if params.get("hitId") else "")
    submit_to = submit_origin(params.get("turkSubmitTo", ""), settings)
    worker, assignment, hit = (_id(params, name) for name in ("workerId", "assignmentId", "hitId"))
    return Arrival(f"mturk:{worker}", "mturk", assignment, hit, submit_to)


def submit_origin(address: str, settings: Mturk) -> str:
    """Return the origin that the form with the code is sent to: https and exactly a listed host, nothing else."""
    for host in settings.submit_hosts:
        if address in (f"https://{host}", f"https://{host}/"):
            return f"https://{host}"
    raise Refused(403, "crowd", "turkSubmitTo is not one of the hosts in mturk.submit_hosts, so nothing is sent there.")


def _id(params: Mapping[str, str], name: str) -> str:
    """Return an id from a platform's parameters, or refuse one that is malformed."""
    text = params.get(name, "")
    if not ID.fullmatch(text):
        raise Refused(422, "crowd", f"{name} is missing or malformed, expected 4 to 64 letters and digits.")
    return text


def format_arrival(arrival: Arrival) -> str:
    """Return an arrival as JSON: the session is bound to it, and it is stored with the assignment."""
    return json.dumps(arrival._asdict(), separators=(",", ":"), sort_keys=True)


def parse_arrival(outside: str) -> Arrival | None:
    """Return the arrival that is stored with an assignment, or None for judges who did not come from a platform."""
    try:
        fields = json.loads(outside) if outside else None
        return Arrival(**fields) if fields else None
    except (ValueError, TypeError):
        return None


def completion_return(outside: str, code: str, settings: Settings) -> dict[str, Any]:
    """Return how a judge takes a code back to the platform: an address (``back``) or a form to send (``post``)."""
    arrival = parse_arrival(outside)
    if arrival is not None and arrival.crowd == "prolific":
        return {"back": prolific_return_url(code, settings.prolific), "post": None}
    if arrival is not None and arrival.crowd == "mturk":
        return {"back": "", "post": mturk_form(arrival, code, settings.mturk)}
    return {"back": "", "post": None}


def prolific_return_url(code: str, settings: Prolific) -> str:
    """Return the address that ends a submission, with the study's own code if it has one."""
    address = urlsplit(settings.completion_url)
    query = urlencode({"cc": settings.completion_code or code})
    return urlunsplit(address._replace(query="&".join(part for part in (address.query, query) if part)))


def mturk_form(arrival: Arrival, code: str, settings: Mturk, fields: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the form that ends an assignment; its host is checked again, because the list may have changed."""
    submit_to = submit_origin(arrival.submit_to, settings)
    return {"url": submit_to + SUBMIT, "fields": {**(fields or {}), "assignmentId": arrival.session, "code": code}}
