"""Judges from a crowdsourcing platform: who the platform says they are, and how their completion code gets back.

Two protocols are supported. Prolific passes parameters in the address (PROLIFIC_PID, STUDY_ID, SESSION_ID) and ends
with a redirect to its own page with a code. Mechanical Turk's ExternalQuestion displays our page in a frame
(assignmentId, hitId, workerId, turkSubmitTo) and ends with a form that is sent to its host; a preview, before a
worker accepts, writes nothing.

Neither platform signs its parameters, so anybody who knows a worker's id can write such an address. The session of a
platform's worker is therefore bound to the platform's own id of the task (``format_arrival``), which is stored with
the assignment, and the code goes back to that task only; see docs/how-to/security.md.
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
