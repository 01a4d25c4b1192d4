"""Routes by which people come in: the front page, signing in and out, invitations, crowdsourcing platforms."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from adjudge.studio.access import hash_password, may, needs_rehash, password_problem, verify_password
from adjudge.studio.attempts import sign_in_buckets
from adjudge.studio.platforms import Arrival, Preview, format_arrival, mturk_arrival, prolific_arrival
from adjudge.studio.record.store import Row
from adjudge.studio.records import Refused
from adjudge.studio.web.render import fill, page, request_texts, translate
from adjudge.studio.web.security import check_rate, current_caller, require_caller, studio_of
from adjudge.studio.web.session_cookies import (
    begin_attempt,
    client_address,
    delete_session_cookie,
    end_attempt,
    finish_sign_in,
    home_path,
    known_browser,
    start_session,
)
from adjudge.studio.work import people
from adjudge.studio.work.sessions import begin_session, browser_family, end_session

router = APIRouter()
Text = Annotated[str, Form(max_length=300)]
KNOWN_ROLES = ("judge", "reviewer")  # that people may take with the password that they have at another campaign


@router.get("/")
async def front_page(request: Request) -> Response:
    """Redirect people to the page where they work."""
    caller = current_caller(request)
    return RedirectResponse("/sign-in" if caller is None else home_path(caller.person), 303)


@router.get("/judge")
async def judge_page(request: Request) -> Response:
    """Show the judge's page."""
    if (caller := current_caller(request)) is None:
        return RedirectResponse("/sign-in", 303)
    if not may(caller.person.role, "judge"):
        raise Refused(403, "role", fill(request_texts(request)["judges_only"], name=caller.person.name))
    caller = require_caller(request, "judge")
    csrf = studio_of(request).signer.csrf(caller.session)
    return page(request, "judge.html", language=caller.person.language, csrf=csrf)


@router.get("/sign-in")
async def sign_in_page(request: Request) -> HTMLResponse:
    """Show the form to sign in."""
    settings = studio_of(request).campaign.settings
    return page(request, "sign_in.html", registration=settings.access.registration, openid=settings.openid)


@router.post("/sign-in")
async def sign_in(request: Request, name: Text = "", password: Text = "") -> Response:
    """Start a session if name and password match; a wrong name takes as long as a wrong password."""
    studio = studio_of(request)
    account = people.name_key(name)
    person = studio.ledger.people.get(studio.ledger.named.get(account, -1))
    buckets = sign_in_buckets(client_address(request), account, known_browser(request, person))
    begin_attempt(request, buckets)
    current = person.password if person else ""
    right = await asyncio.to_thread(verify_password, current, password)
    if person is None or not right or person.password != current:  # it may have been changed in the meantime
        return page(request, "sign_in.html", 401, name=name, errors={"": request_texts(request)["sign_in_wrong"]})
    if not person.factor:  # with a second factor, the attempt succeeds when its code is right
        begin_attempt(request, [("sessions", str(person.id))])
        end_attempt(request, buckets)
    if needs_rehash(person.password):
        hashed = await asyncio.to_thread(hash_password, password)
        await studio.do(people.change_password, person.id, hashed, current)
    return await finish_sign_in(request, person)


@router.post("/sign-out")
async def sign_out(request: Request, csrf: Text = "") -> Response:
    """End a session, on the server and in the browser."""
    if current_caller(request) is not None:
        caller = require_caller(request, "account", csrf or None)
        await studio_of(request).do(end_session, caller.person.id, caller.nonce)
    response = RedirectResponse("/sign-in", 303)
    delete_session_cookie(request, response)
    return response


@router.get("/join/{invitation}")
async def join_page(request: Request, invitation: str) -> HTMLResponse:
    """Show the form to accept an invitation."""
    row = _open_invitation(request, studio_of(request).signer.read_invitation(invitation))
    visit = visit_of(request) if row["role"] in KNOWN_ROLES else None
    values = {"role": row["role"], "name": row["name"], "visit": visit, "invitation": invitation}
    if (caller := current_caller(request)) is not None:
        values["signed_in"] = fill(request_texts(request)["join_signed_in"], name=caller.person.name)
    return page(request, "join.html", openid=studio_of(request).campaign.settings.openid, **values)


@router.post("/join/{invitation}")
async def join(request: Request, invitation: str, name: Text = "", password: Text = "") -> Response:
    """Accept an invitation."""
    number = studio_of(request).signer.read_invitation(invitation)
    row = _open_invitation(request, number, counted=True)
    return await _create_account(request, people.join, (number,), name, password, role=row["role"])


def visit_of(request: Request) -> Any:
    """Return the visit of somebody who is signed in on the front page of several campaigns, or None."""
    site: Any = getattr(request.app.state, "site", None)
    visit = None if site is None else site.visit(request)
    return visit if visit is not None and site.callers(visit) else None


def _open_invitation(request: Request, number: int | None, counted: bool = False) -> Row:
    """Return an invitation that can be accepted, or refuse it in the reader's language."""
    studio = studio_of(request)
    try:
        return people.open_invitation(studio.ledger, studio.now(), number)
    except Refused as error:
        if counted:
            begin_attempt(request, [("link", client_address(request))])
        raise Refused(error.status, error.code, translate(request, error)) from error


@router.get("/register")
async def register_page(request: Request) -> HTMLResponse:
    """Show the form to register without an invitation, if the campaign allows it."""
    if not studio_of(request).campaign.settings.access.registration:
        raise Refused(403, "registration_closed", request_texts(request)["registration_closed"])
    return page(request, "join.html", role="judge")


@router.post("/register")
async def register(request: Request, name: Text = "", password: Text = "") -> Response:
    """Register a judge, if the campaign allows it."""
    begin_attempt(request, [("register", client_address(request))])
    return await _create_account(request, people.register, (), name, password, role="judge")


async def _create_account(
    request: Request, command: Any, args: tuple[Any, ...], name: str, password: str, role: str
) -> Response:
    """Create an account and start a session, or show the form again with the problem."""
    studio = studio_of(request)
    try:
        name = people.clean_name(name)
        if problem := password_problem(password, name):
            raise problem
        hashed = await asyncio.to_thread(hash_password, password)
        person = await studio.do(command, *args, name, hashed)
    except Refused as error:
        field = error.code.partition("_")[0]
        errors = {field if field in ("name", "password") else "": translate(request, error)}
        return page(request, "join.html", 422, role=role, name=name, errors=errors)
    return await start_session(request, studio.ledger.people[person])


@router.get("/crowd/prolific")
async def prolific(request: Request) -> Response:
    """Let in a worker whom Prolific sends."""
    check_rate(request, "crowd", client_address(request))
    settings = studio_of(request).campaign.settings.prolific
    return await _platform_page(request, prolific_arrival(dict(request.query_params), settings))


@router.get("/crowd/mturk")
async def mturk(request: Request) -> Response:
    """Let in a worker whom a platform with Mechanical Turk's protocol sends; a preview writes nothing."""
    check_rate(request, "crowd", client_address(request))
    arrival = mturk_arrival(dict(request.query_params), studio_of(request).campaign.settings.mturk)
    if isinstance(arrival, Preview):
        return page(request, "preview.html")
    return await _platform_page(request, arrival)


async def _platform_page(request: Request, arrival: Arrival) -> Response:
    """Show the judge's page to a platform's worker; the page carries the session, because frames keep no cookies."""
    studio = studio_of(request)
    number = await studio.do(people.arrive, arrival.outside)
    person = studio.ledger.people[number]
    hours = studio.campaign.settings.access.session_hours
    session = studio.signer.session(person.id, person.epoch, hours, studio.now(), format_arrival(arrival))
    if content := studio.signer.read_session(session, studio.now()):
        await studio.do(begin_session, content, browser_family(request.headers.get("user-agent", "")))
    return page(request, "judge.html", language=person.language, session=session)
