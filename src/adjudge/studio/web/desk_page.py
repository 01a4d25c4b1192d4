"""The frame of every page of the desk: the ways to the others, what the reader may do, what was just done."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from adjudge.errors import quote
from adjudge.studio.identity.access import may
from adjudge.studio.records import Refused
from adjudge.studio.web import numbers
from adjudge.studio.web.render import page
from adjudge.studio.web.sessions import Caller, studio_of

NAVIGATION = (
    ("/desk", "Overview", "desk"),
    ("/desk/judges", "Judges", "desk"),
    ("/desk/gold", "Gold", "desk"),
    ("/desk/items", "Items", "desk"),
    ("/desk/people", "Invitations", "invite"),
    ("/desk/data", "Data", "desk"),
    ("/desk/audit", "Audit", "desk"),
)
DONE = {
    "paused": "The campaign is paused: nobody can take on new work.",
    "resumed": "The campaign goes on.",
    "standing": "Done. The judge sees this at their next step.",
    "reassigned": "The assignment is taken back; its documents go to others.",
    "approved": "The assignment is approved: its judgments count.",
    "upheld": "Upheld: gold is wrong here. The assignment does not pass without this document either.",
    "upheld-approved": "Upheld: gold is wrong here. Without this document the assignment passes, so it is approved.",
    "upheld-passed": "Upheld: gold is wrong here. The assignment had passed already.",
    "rejected": "Rejected: gold stays as it is.",
    "revoked": "The token is revoked.",
}


def shown(request: Request, who: Caller, template: str, title: str, **values: Any) -> HTMLResponse:
    """Return a page of the desk: with the ways to the others, and the words of what was just done."""
    studio = studio_of(request)
    role = who.person.role
    known = {
        "title": f"{title} · {studio.campaign.settings.campaign.name}",
        "heading": title,
        "campaign": studio.campaign,
        "who": who.person,
        "may": lambda action: may(role, action),
        "ways": [(path, name) for path, name, action in NAVIGATION if may(role, action)],
        "here": request.url.path,
        "now": studio.now(),
        "f": numbers,
        "done": DONE.get(request.query_params.get("done", ""), ""),
        "csrf": studio.signer.csrf(who.session),
    }
    return page(request, template, language="en", **{**known, **values})


def whole(text: str, name: str, least: int, most: int) -> int:
    """Return the whole number that a field holds, or refuse it with a sentence."""
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise Refused(422, name, f"{name} {quote(text)} is no whole number from {least:,} to {most:,}.")
    return number


def back(path: str, done: str) -> RedirectResponse:
    """Return the way back to a page that says what was done."""
    return RedirectResponse(f"{path}?done={done}", 303)
