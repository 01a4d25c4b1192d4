"""Who asks: by the cookie of a session and the page's own word against forgery, or by a bearer's token."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import Request

from adjudge.studio.identity.access import hash_token, may, parse_scopes
from adjudge.studio.record.ledger import Person
from adjudge.studio.records import Refused
from adjudge.studio.studio import Studio
from adjudge.studio.work.commands import current_assignment

COOKIE = "adjudge_session"
SAFE = ("GET", "HEAD", "OPTIONS")
UNDERWAY = ("", "passed", "approved")  # outcomes of work that has yet to be finished or handed in


class Caller(NamedTuple):
    """Someone who has shown who they are."""

    person: Person
    session: str
    bound: str  # the crowd's assignment or session, if they came by one


def studio_of(request: Request) -> Studio:
    """Return the campaign that is served."""
    studio: Studio = request.app.state.studio
    return studio


def caller_if_any(request: Request) -> Caller | None:
    """Return who asks, if they say so and it holds."""
    studio = studio_of(request)
    session = bearer(request) or request.cookies.get(COOKIE, "")
    told = studio.signer.read_session(session, studio.now())
    person = None if told is None else studio.ledger.people.get(told.person)
    if told is None or person is None or told.epoch != person.epoch:
        return None
    return Caller(person, session, told.bound)


def bearer(request: Request) -> str:
    """Return the token of the Authorization header, if there is one."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""


def caller(request: Request, action: str, csrf: str | None = None) -> Caller:
    """Return who asks, if they may do this; a request that changes something must come from a page of ours.

    ``csrf`` is the page's word where a form sends it; scripts send it as a header. A bearer's token needs none: no
    browser sends it by itself.
    """
    found = caller_if_any(request)
    if found is None:
        raise Refused(401, "sign in", "Please sign in again.")
    if not may(found.person.role, action):
        raise Refused(403, "role", f"A {found.person.role} may not do this.")
    if request.method not in SAFE and not bearer(request):
        word = csrf if csrf is not None else request.headers.get("x-csrf")
        if not studio_of(request).signer.csrf_matches(found.session, word):
            raise Refused(403, "csrf", "This page is too old. Load it again, and try once more.")
    return found


def judge(request: Request) -> Caller:
    """Return the judge who asks, within the rate that people keep."""
    found = caller(request, "judge")
    slow_down(request, "judge", str(found.person.id))
    held = current_assignment(studio_of(request).ledger, found.person)
    if held is not None and held.outcome in UNDERWAY and held.outside != found.bound:
        # who guesses a worker's id, or takes a second task of a crowd's platform, does not get at the first
        raise Refused(409, "elsewhere", "You have another task open: finish it or give it up there, then come back.")
    return found


def slow_down(request: Request, purpose: str, key: str) -> None:
    """Refuse those who ask too often."""
    studio = studio_of(request)
    wait = studio.limits.take(purpose, key, studio.now())
    if wait > 0:
        raise Refused(429, "slow down", f"Too many requests: try again in {wait:.0f} s.", retry_after=wait)


def program(request: Request, scope: str) -> str:
    """Return the name of the API token that asks, if it may do this."""
    ledger = studio_of(request).ledger
    token = ledger.tokens.get(hash_token(bearer(request)))
    if token is None or token["id"] in ledger.revoked:
        raise Refused(401, "token", "This needs an API token: Authorization: Bearer adj_...")
    if scope not in parse_scopes(token["scope"]):
        raise Refused(403, "scope", f"This token is not for {scope}.")
    return str(token["name"])
