"""Judges who come from a crowd's platform: who it says they are, and the way back with a completion code.

Two ways of speaking. Prolific's: parameters in the address (PROLIFIC_PID, STUDY_ID, SESSION_ID), and at the end a
return to its own page with a code. Mechanical Turk's ExternalQuestion: our page in a frame of theirs (assignmentId,
hitId, workerId, turkSubmitTo), and at the end a form sent to their host; a preview, before a worker accepts, writes
nothing.

Neither platform signs what it says, so whoever knows a worker's id can write such an address. A session from outside
is therefore bound to the platform's own name of the piece of work (``arrival_session``), which is kept with what is
begun in it, and the way back is that one's and no other's; see docs/security.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

from adjudge.studio.records import Refused
from adjudge.studio.settings import Mturk, Prolific, Settings

ID = re.compile(r"[A-Za-z0-9]{4,64}", re.ASCII)
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT = "/mturk/externalSubmit"


class Preview(NamedTuple):
    """Somebody looks at what the work would be: there is no worker yet, and nothing is written."""

    hit: str


class Arrival(NamedTuple):
    """Somebody whom a platform sends to work."""

    outside: str  # who: "prolific:5f1c..."
    crowd: str  # prolific, mturk
    session: str  # the platform's own name of this piece of work
    study: str  # of what it is a piece
    submit_to: str = ""  # where a form takes the code, "" where an address does


def prolific_arrival(params: Mapping[str, str], settings: Prolific) -> Arrival:
    """Return whom Prolific sends, or refuse."""
    if not settings.enabled:
        raise Refused(403, "crowd", "This campaign takes nobody from Prolific.")
    person, study = _id(params, "PROLIFIC_PID"), _id(params, "STUDY_ID")
    if study not in settings.studies:
        raise Refused(403, "crowd", "This study is not one of the campaign's: add it to prolific.studies.")
    return Arrival(f"prolific:{person}", "prolific", _id(params, "SESSION_ID"), study)


def mturk_arrival(params: Mapping[str, str], settings: Mturk) -> Preview | Arrival:
    """Return whom a platform sends that speaks as Mechanical Turk does, or that it is a preview, or refuse."""
    if not settings.enabled:
        raise Refused(403, "crowd", "This campaign takes nobody from Mechanical Turk.")
    if params.get("assignmentId") == PREVIEW:
        return Preview(_id(params, "hitId") if params.get("hitId") else "")
    submit_to = submit_origin(params.get("turkSubmitTo", ""), settings)
    worker, assignment, hit = (_id(params, name) for name in ("workerId", "assignmentId", "hitId"))
    return Arrival(f"mturk:{worker}", "mturk", assignment, hit, submit_to)


def submit_origin(address: str, settings: Mturk) -> str:
    """Return where the code's form may be sent: https and a listed host, exactly, with nothing around it."""
    for host in settings.submit_hosts:
        if address in (f"https://{host}", f"https://{host}/"):
            return f"https://{host}"
    raise Refused(403, "crowd", "turkSubmitTo is not one of the hosts in mturk.submit_hosts: nothing is sent there.")


def _id(params: Mapping[str, str], name: str) -> str:
    """Return an id that a platform gives, or refuse what is none."""
    text = params.get(name, "")
    if not ID.fullmatch(text):
        raise Refused(422, "crowd", f"{name} is missing or malformed: 4 to 64 letters and digits are expected.")
    return text


def arrival_session(arrival: Arrival) -> str:
    """Return what a session from outside is bound to, and what is kept with its assignment, as JSON."""
    return json.dumps(arrival._asdict(), separators=(",", ":"), sort_keys=True)


def arrival_of(outside: str) -> Arrival | None:
    """Return the arrival that was kept with an assignment; None of judges of our own."""
    try:
        kept = json.loads(outside) if outside else None
        return Arrival(**kept) if kept else None
    except (ValueError, TypeError):
        return None


def way_back(outside: str, code: str, settings: Settings) -> dict[str, Any]:
    """Return how a judge brings a code back: an address to go to (``back``), or a form to send (``post``)."""
    arrival = arrival_of(outside)
    if arrival is not None and arrival.crowd == "prolific":
        return {"back": prolific_back(code, settings.prolific), "post": None}
    if arrival is not None and arrival.crowd == "mturk":
        return {"back": "", "post": mturk_form(arrival, code, settings.mturk)}
    return {"back": "", "post": None}


def prolific_back(code: str, settings: Prolific) -> str:
    """Return the address that ends a submission: with the study's own code, where it has one for everybody."""
    address = urlsplit(settings.completion_url)
    query = urlencode({"cc": settings.completion_code or code})
    return urlunsplit(address._replace(query="&".join(part for part in (address.query, query) if part)))


def mturk_form(arrival: Arrival, code: str, settings: Mturk, fields: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the form that ends an assignment; its host is checked again, as the list may have changed."""
    submit_to = submit_origin(arrival.submit_to, settings)
    return {"url": submit_to + SUBMIT, "fields": {**(fields or {}), "assignmentId": arrival.session, "code": code}}
