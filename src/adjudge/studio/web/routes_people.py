"""How people come in: the front door, signing in and out, invitations, crowds from outside."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from adjudge.studio.identity.access import (
    hash_password,
    may,
    needs_rehash,
    network_address,
    password_problem,
    verify_password,
)
from adjudge.studio.identity.platforms import Preview, format_arrival, mturk_arrival, prolific_arrival
from adjudge.studio.record.ledger import Person
from adjudge.studio.record.store import Row
from adjudge.studio.records import Refused
from adjudge.studio.web.render import filled, page, words
from adjudge.studio.web.sessions import COOKIE, caller, caller_if_any, slow_down, studio_of
from adjudge.studio.work import people

router = APIRouter()
Text = Annotated[str, Form(max_length=300)]


@router.get("/")
async def front_door(request: Request) -> Response:
    """Send people to where they work."""
    found = caller_if_any(request)
    if found is None:
        return RedirectResponse("/sign-in", 303)
    return RedirectResponse(home(found.person), 303)


def home(person: Person) -> str:
    """Return where a person works."""
    return "/judge" if may(person.role, "judge") else "/desk"


@router.get("/judge")
async def judge_page(request: Request) -> Response:
    """Show the judge's page."""
    found = caller_if_any(request)
    if found is None:
        return RedirectResponse("/sign-in", 303)
    caller(request, "judge")
    csrf = studio_of(request).signer.csrf(found.session)
    return page(request, "judge.html", language=found.person.language, csrf=csrf)


@router.get("/sign-in")
async def sign_in_page(request: Request) -> HTMLResponse:
    """Ask who it is."""
    return page(request, "sign_in.html", registration=studio_of(request).campaign.settings.access.registration)


@router.post("/sign-in")
async def sign_in(request: Request, name: Text = "", password: Text = "") -> Response:
    """Begin a session, if name and password go together; a wrong name takes as long as a wrong password."""
    studio = studio_of(request)
    slow_down(request, "sign-in", address(request))
    known = people.name_key(name)
    slow_down(request, "sign-in name", known[:100])
    person = studio.ledger.people.get(studio.ledger.named.get(known, -1))
    right = await asyncio.to_thread(verify_password, person.password if person else None, password)
    if person is None or not right:
        wrong = {"": "Name and password do not go together."}
        return page(request, "sign_in.html", 401, name=name, errors=wrong)
    if needs_rehash(person.password):
        await studio.do(people.change_password, person.id, await asyncio.to_thread(hash_password, password))
    return welcome(request, person)


def address(request: Request) -> str:
    """Return where a request comes from, to be counted by; uvicorn has read what trusted proxies say."""
    return network_address(request.client.host if request.client else None)


def welcome(request: Request, person: Person) -> Response:
    """Begin a session, and show the way."""
    studio = studio_of(request)
    hours = studio.campaign.settings.access.session_hours
    answer = RedirectResponse(home(person), 303)
    answer.set_cookie(
        COOKIE,
        studio.signer.session(person.id, person.epoch, hours, studio.now()),
        max_age=round(3600 * hours),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, csrf: Text = "") -> Response:
    """End a session."""
    if caller_if_any(request) is not None:
        studio = studio_of(request)
        if not studio.signer.csrf_matches(request.cookies.get(COOKIE, ""), csrf or request.headers.get("x-csrf")):
            raise Refused(403, "csrf", "This page is too old. Load it again, and try once more.")
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(COOKIE)
    return answer


@router.get("/join/{invitation}")
async def join_page(request: Request, invitation: str) -> HTMLResponse:
    """Show an invitation."""
    offered = _offered(request, studio_of(request).signer.read_invitation(invitation))
    return page(request, "join.html", role=offered["role"], name=offered["name"])


@router.post("/join/{invitation}")
async def join(request: Request, invitation: str, name: Text = "", password: Text = "") -> Response:
    """Take up an invitation."""
    slow_down(request, "join", address(request))
    number = studio_of(request).signer.read_invitation(invitation)
    offered = _offered(request, number)
    return await _enter(request, people.join, (number,), name, password, role=offered["role"])


def _offered(request: Request, number: int | None) -> Row:
    """Return an invitation that may be accepted, or say in the reader's language why it may not."""
    studio = studio_of(request)
    try:
        return people.open_invitation(studio.ledger, studio.now(), number)
    except Refused as error:
        raise Refused(error.status, error.code, in_words(request, error)) from error


def in_words(request: Request, error: Refused) -> str:
    """Return why something is refused, in the reader's language where the catalogue has it."""
    sentence = words(request).get(error.code)
    return str(error) if sentence is None else filled(sentence, **error.more)


@router.get("/register")
async def register_page(request: Request) -> HTMLResponse:
    """Show the way in for those who were not invited, where there is one."""
    if not studio_of(request).campaign.settings.access.registration:
        raise Refused(403, "registration_closed", words(request)["registration_closed"])
    return page(request, "join.html", role="judge")


@router.post("/register")
async def register(request: Request, name: Text = "", password: Text = "") -> Response:
    """Make somebody a judge, where the campaign allows it."""
    slow_down(request, "join", address(request))
    return await _enter(request, people.register, (), name, password, role="judge")


async def _enter(
    request: Request, command: Any, args: tuple[Any, ...], name: str, password: str, role: str
) -> Response:
    """Make somebody known under a name and a password, or say what is wrong with these."""
    studio = studio_of(request)
    try:
        name = people.clean_name(name)
        if complaint := password_problem(password, name):
            raise complaint
        hashed = await asyncio.to_thread(hash_password, password)
        person = await studio.do(command, *args, name, hashed)
    except Refused as error:
        field = error.code.partition("_")[0]
        errors = {field if field in ("name", "password") else "": in_words(request, error)}
        return page(request, "join.html", 422, role=role, name=name, errors=errors)
    return welcome(request, studio.ledger.people[person])


@router.get("/crowd/prolific")
async def prolific(request: Request) -> Response:
    """Let somebody in whom Prolific sends."""
    studio = studio_of(request)
    slow_down(request, "crowd", address(request))
    arrival = prolific_arrival(dict(request.query_params), studio.campaign.settings.prolific)
    return await _arrived(request, arrival)


@router.get("/crowd/mturk")
async def mturk(request: Request) -> Response:
    """Let somebody in whom a platform sends that speaks Mechanical Turk's protocol; a preview writes nothing."""
    studio = studio_of(request)
    slow_down(request, "crowd", address(request))
    arrival = mturk_arrival(dict(request.query_params), studio.campaign.settings.mturk)
    if isinstance(arrival, Preview):
        return page(request, "preview.html")
    return await _arrived(request, arrival)


async def _arrived(request: Request, arrival: Any) -> Response:
    """Show the judge's page to somebody from outside: framed pages keep no cookie, so the page carries the session."""
    studio = studio_of(request)
    number = await studio.do(people.arrive, arrival.outside)
    person = studio.ledger.people[number]
    hours = studio.campaign.settings.access.session_hours
    session = studio.signer.session(person.id, person.epoch, hours, studio.now(), format_arrival(arrival))
    return page(request, "judge.html", language=person.language, session=session)
