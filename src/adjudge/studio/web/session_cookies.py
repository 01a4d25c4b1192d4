"""The cookies of people who sign in: the session, and the mark of a browser in which somebody has signed in before.

Scripts cannot read these cookies, other sites do not send them with their forms, and with TLS they are sent over TLS
only. The mark lets nobody in: it only gives its browser its own limit of wrong passwords (see ``attempts``).
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from adjudge.studio.access import may, network_address
from adjudge.studio.attempts import Bucket
from adjudge.studio.record.ledger import Person
from adjudge.studio.records import Refused
from adjudge.studio.web.render import fill, page, request_texts
from adjudge.studio.web.security import cookie_name, has_tls, root_of, studio_of
from adjudge.studio.work.sessions import begin_session, browser_family

BROWSER = "_browser"  # ends the name of the cookie with the mark
BROWSER_SECONDS = 365 * 86_400
MOST_PEOPLE = 8  # of one browser that are remembered


def set_cookie(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    """Add a cookie to a response; ``name`` ends the name of the session's cookie."""
    response.set_cookie(
        cookie_name(request) + name,
        value,
        max_age=seconds,
        path=root_of(request) or "/",
        httponly=True,
        samesite="lax",
        secure=has_tls(request, studio_of(request).address),
    )


def delete_session_cookie(request: Request, response: Response) -> None:
    """Let a browser delete its session."""
    response.delete_cookie(cookie_name(request), path=root_of(request) or "/")


def home_path(person: Person) -> str:
    """Return the path of the page where a person works."""
    return "/judge" if may(person.role, "judge") else "/desk"


async def start_session(request: Request, person: Person, path: str = "") -> Response:
    """Return a redirect to a page, by default the one where the person works, with the cookies of a new session."""
    studio = studio_of(request)
    hours = studio.campaign.settings.access.session_hours
    text = studio.signer.session(person.id, person.epoch, hours, studio.now())
    if session := studio.signer.read_session(text, studio.now()):
        await studio.do(begin_session, session, browser_family(request.headers.get("user-agent", "")))
    response = RedirectResponse(path or home_path(person), 303)
    set_cookie(request, response, "", text, round(3600 * hours))
    number, people = studio.signer.read_browser(request.cookies.get(cookie_name(request) + BROWSER))
    people = [*(other for other in people if other != person.id), person.id][-MOST_PEOPLE:]
    set_cookie(request, response, BROWSER, studio.signer.browser(number, people), BROWSER_SECONDS)
    return response


async def finish_sign_in(request: Request, person: Person) -> Response:
    """Start the session of somebody whose password is right, or ask for the code of their second factor."""
    if not person.factor:
        return await start_session(request, person)
    studio = studio_of(request)
    return code_page(request, person, studio.signer.first_step(person.id, person.epoch, studio.now()))


def code_page(request: Request, person: Person, step: str, error: str = "") -> Response:
    """Return the form that asks for a code of the second factor."""
    return page(request, "code.html", 401 if error else 200, language=person.language, step=step, error=error)


def known_browser(request: Request, person: Person | None) -> str:
    """Return the number of the browser if this person has signed in with it before, else an empty text."""
    number, people = studio_of(request).signer.read_browser(request.cookies.get(cookie_name(request) + BROWSER))
    return number if person is not None and person.id in people else ""


def client_address(request: Request) -> str:
    """Return the address that a request is counted by; uvicorn has already read the headers of trusted proxies."""
    return network_address(request.client.host if request.client else None)


def begin_attempt(request: Request, buckets: Sequence[Bucket]) -> None:
    """Begin an attempt that may fail, or refuse it if too many have failed."""
    studio = studio_of(request)
    wait = studio.attempts.begin(buckets, studio.now())
    if wait > 0:
        sentence = fill(request_texts(request)["attempts"], n=max(1, round(wait / 60)))
        raise Refused(429, "slow down", sentence, retry_after=wait)


def end_attempt(request: Request, buckets: Sequence[Bucket]) -> None:
    """Note that an attempt did not fail."""
    studio_of(request).attempts.succeed(buckets)
