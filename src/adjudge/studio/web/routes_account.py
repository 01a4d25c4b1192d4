"""Routes of a person's own account: password, sessions, and the link that sets a new password.

A session is enough to see the account; a change of how somebody signs in needs the password as well.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.responses import RedirectResponse, Response

from adjudge.studio.access import hash_password, password_problem, verify_password
from adjudge.studio.record.ledger import Person
from adjudge.studio.records import Refused
from adjudge.studio.web.render import page, translate
from adjudge.studio.web.security import Caller, check_host, require_caller, studio_of
from adjudge.studio.web.session_cookies import (
    begin_attempt,
    client_address,
    end_attempt,
    finish_sign_in,
    home_path,
    start_session,
)
from adjudge.studio.work import people, sessions
from adjudge.studio.work.second_factor import may_have_factor

router = APIRouter(dependencies=[Depends(check_host)])
Text = Annotated[str, Form(max_length=300)]
Number = Annotated[int, Path(le=(1 << 31) - 1)]


def require_owner(request: Request, csrf: str | None = None) -> Caller:
    """Return the person who opens their own account; workers whom a platform sends have none."""
    caller = require_caller(request, "account", csrf)
    if caller.bound:
        raise Refused(403, "no_account", "People from a platform have no account here.")
    return caller


@router.get("/account")
async def account(request: Request) -> Response:
    """Show one's account."""
    return account_page(request, require_owner(request))


def account_page(request: Request, caller: Caller, status: int = 200, **values: Any) -> Response:
    """Return the page of somebody's account."""
    studio, person = studio_of(request), caller.person
    defaults = {
        "language": person.language,
        "person": person,
        "home": home_path(person),
        "may_have_factor": may_have_factor(person),
        "sessions": sessions.open_sessions(person, studio.now()),
        "seen": studio.seen,
        "here": caller.nonce,
        "done": request.query_params.get("done", ""),
        "csrf": studio.signer.csrf(caller.session),
        "errors": {},
    }
    return page(request, "account.html", status, **{**defaults, **values})


@router.post("/account/password")
async def change_password(request: Request, csrf: Text = "", current: Text = "", password: Text = "") -> Response:
    """Change one's password; all other sessions end."""
    caller = require_owner(request, csrf or None)
    before = caller.person.password
    try:
        await check_password(request, caller.person, current)
        hashed = await _hashed(password, caller.person.name)
        await studio_of(request).do(people.change_password, caller.person.id, hashed, before)
    except Refused as error:
        field = "current" if error.code in ("password_wrong", "password_stale") else "password"
        return account_page(request, caller, error.status, errors={field: translate(request, error)})
    return await start_session(request, caller.person, "/account?done=password")


async def check_password(request: Request, person: Person, password: str) -> None:
    """Refuse somebody who is signed in and does not know the password; wrong ones are counted."""
    buckets = [("session", str(person.id))]
    begin_attempt(request, buckets)
    if not await asyncio.to_thread(verify_password, person.password, password):
        raise Refused(422, "password_wrong", "This is not your current password.")
    end_attempt(request, buckets)


async def _hashed(password: str, name: str) -> str:
    """Return the hash of a new password, or refuse the password."""
    if problem := password_problem(password, name):
        raise problem
    return await asyncio.to_thread(hash_password, password)


@router.post("/account/sessions/{number}/end")
async def end_one_session(request: Request, number: Number, csrf: Text = "") -> Response:
    """End one of one's sessions."""
    caller = require_owner(request, csrf or None)
    await studio_of(request).do(sessions.end_listed_session, caller.person.id, number)
    return RedirectResponse("/account?done=sessions", 303)


@router.post("/account/sessions/end")
async def end_other_sessions(request: Request, csrf: Text = "") -> Response:
    """End all of one's sessions but this one, which is replaced by a new one."""
    caller = require_owner(request, csrf or None)
    await studio_of(request).do(sessions.end_sessions, caller.person.id, caller.person.id)
    return await start_session(request, caller.person, "/account?done=sessions")


@router.get("/reset/{link}")
async def reset_page(request: Request, link: str) -> Response:
    """Show the form to set a new password by a link."""
    person = _person_of_link(request, link)
    return page(request, "reset.html", name=person.name, language=person.language, errors={})


@router.post("/reset/{link}")
async def reset_password(request: Request, link: str, password: Text = "") -> Response:
    """Set a new password by a link, once; all sessions of the person end."""
    studio = studio_of(request)
    person = _person_of_link(request, link, counted=True)
    try:
        hashed = await _hashed(password, person.name)
        await studio.do(sessions.reset_password, *studio.signer.read_reset(link), hashed)
    except Refused as error:
        errors = {"password" if error.code.startswith("password") else "": translate(request, error)}
        return page(request, "reset.html", 422, name=person.name, language=person.language, errors=errors)
    return await finish_sign_in(request, studio.ledger.people[person.id])


def _person_of_link(request: Request, link: str, counted: bool = False) -> Person:
    """Return the person who may set a new password by a link, or refuse in the reader's language."""
    studio = studio_of(request)
    try:
        return sessions.open_reset(studio.ledger, studio.now(), *studio.signer.read_reset(link))
    except Refused as error:
        if counted:
            begin_attempt(request, [("link", client_address(request))])
        raise Refused(error.status, error.code, translate(request, error)) from error
