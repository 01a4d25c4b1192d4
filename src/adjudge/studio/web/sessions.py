"""Who sends a request: identified by a session cookie with a CSRF token, or by a bearer token."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import Request

from adjudge.studio.identity.access import hash_token, may, parse_scopes
from adjudge.studio.record.ledger import Person
from adjudge.studio.records import Refused
from adjudge.studio.studio import Studio
from adjudge.studio.web.headers import SAFE_METHODS
from adjudge.studio.work.commands import current_assignment

COOKIE = "adjudge_session"
UNFINISHED = ("", "passed", "approved")  # outcomes of assignments that are still to be finished or submitted


class Caller(NamedTuple):
    """A person with a valid session."""

    person: Person
    session: str
    bound: str  # the platform's task that the session is limited to, or ""


def studio_of(request: Request) -> Studio:
    """Return the campaign that is served."""
    studio: Studio = request.app.state.studio
    return studio


def current_caller(request: Request) -> Caller | None:
    """Return who sends a request, or None without a valid session."""
    studio = studio_of(request)
    text = bearer_token(request) or request.cookies.get(COOKIE, "")
    session = studio.signer.read_session(text, studio.now())
    person = None if session is None else studio.ledger.people.get(session.person)
    if session is None or person is None or session.epoch != person.epoch:
        return None
    return Caller(person, text, session.bound)


def bearer_token(request: Request) -> str:
    """Return the token of the Authorization header, or an empty string."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def require_caller(request: Request, action: str, csrf: str | None = None) -> Caller:
    """Return who sends a request, or refuse it if they may not do this.

    A request that changes something needs the CSRF token of the session: ``csrf`` if a form sends it, otherwise the
    header that scripts send. A bearer token needs none, because a browser never sends one by itself.
    """
    caller = current_caller(request)
    if caller is None:
        raise Refused(401, "sign in", "Please sign in again.")
    if not may(caller.person.role, action):
        raise Refused(403, "role", f"A {caller.person.role} may not do this.")
    if request.method not in SAFE_METHODS and not bearer_token(request):
        check_csrf(request, caller.session, csrf if csrf is not None else request.headers.get("x-csrf"))
    return caller


def check_csrf(request: Request, session: str, token: str | None) -> None:
    """Refuse a request whose CSRF token does not belong to its session."""
    if not studio_of(request).signer.csrf_matches(session, token):
        raise Refused(403, "csrf", "This page is too old. Reload it and try again.")


def require_judge(request: Request) -> Caller:
    """Return the judge who sends a request, or refuse it; the rate of requests is limited."""
    caller = require_caller(request, "judge")
    check_rate(request, "judge", str(caller.person.id))
    assignment = current_assignment(studio_of(request).ledger, caller.person)
    if assignment is not None and assignment.outcome in UNFINISHED and assignment.outside != caller.bound:
        # somebody who guesses a worker's id, or accepts a second task on a platform, has no access to the first task
        sentence = "You have another task open. Finish it there or give it up, then come back."
        raise Refused(409, "elsewhere", sentence)
    return caller


def check_rate(request: Request, purpose: str, key: str) -> None:
    """Refuse a client that sends too many requests for one purpose."""
    studio = studio_of(request)
    wait = studio.limits.take(purpose, key, studio.now())
    if wait > 0:
        raise Refused(429, "slow down", f"Too many requests. Try again in {wait:.0f} s.", retry_after=wait)


def require_token(request: Request, scope: str) -> str:
    """Return the name of the API token of a request, or refuse it if the token does not have this scope."""
    ledger = studio_of(request).ledger
    token = ledger.tokens.get(hash_token(bearer_token(request)))
    if token is None or token["id"] in ledger.revoked:
        raise Refused(401, "token", "This needs an API token: Authorization: Bearer adj_...")
    if scope not in parse_scopes(token["scope"]):
        raise Refused(403, "scope", f"This token does not have the scope {scope}.")
    return str(token["name"])
