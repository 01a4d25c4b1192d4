"""Routes of the second factor: the code after the password, and its set-up on the page of the account."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from adjudge.studio import one_time_codes
from adjudge.studio.attempts import code_buckets, sign_in_buckets
from adjudge.studio.record.ledger import Person
from adjudge.studio.records import Refused
from adjudge.studio.web.render import page, translate
from adjudge.studio.web.routes_account import check_password, require_owner
from adjudge.studio.web.security import Caller, check_host, studio_of
from adjudge.studio.web.session_cookies import (
    begin_attempt,
    client_address,
    code_page,
    end_attempt,
    home_path,
    known_browser,
    start_session,
)
from adjudge.studio.work import second_factor
from adjudge.studio.work.people import name_key

router = APIRouter(dependencies=[Depends(check_host)])
Text = Annotated[str, Form(max_length=1_000)]


@router.post("/sign-in/code")
async def sign_in_code(request: Request, step: Text = "", code: Text = "") -> Response:
    """Start the session of somebody whose password was right, if the code of the second factor is right too."""
    studio = studio_of(request)
    person = _person_of_step(request, step)
    if person is None:
        return RedirectResponse("/sign-in", 303)
    browser = known_browser(request, person)
    buckets = code_buckets(str(person.id), browser)
    begin_attempt(request, buckets)
    try:
        await studio.do(second_factor.use_code, studio.signer, person.id, code, studio.clock_drift())
    except Refused as error:
        return code_page(request, person, step, translate(request, error))
    password_buckets = sign_in_buckets(client_address(request), name_key(person.name), browser)
    end_attempt(request, [*buckets, *password_buckets])
    return await start_session(request, person)


def _person_of_step(request: Request, text: str) -> Person | None:
    """Return the person whose password was right some minutes ago, or None."""
    studio = studio_of(request)
    number, epoch = studio.signer.read_first_step(text, studio.now())
    person = None if number is None else studio.ledger.people.get(number)
    return person if person is not None and person.epoch == epoch else None


@router.get("/account/second-factor")
async def factor(request: Request) -> Response:
    """Show how to set up the second factor, or that there is one."""
    return _factor_page(request, require_owner(request))


def _factor_page(request: Request, caller: Caller, status: int = 200, salt: str = "", **values: Any) -> Response:
    """Return the page of the second factor; without a factor, with a secret that is not yet in use."""
    studio, person = studio_of(request), caller.person
    if not second_factor.may_have_factor(person):
        raise Refused(403, "factor_role", "Only leads and reviewers with a password have a second factor.")
    salt = salt or one_time_codes.new_salt()
    settings = studio.campaign.settings
    defaults = {
        "language": person.language,
        "person": person,
        "home": home_path(person),
        "setup": one_time_codes.setup(studio.signer, salt, person.name, settings.campaign.name),
        "signed": studio.signer.factor_setup(person.id, salt),
        "required": settings.access.second_factor == "required",
        "csrf": studio.signer.csrf(caller.session),
        "recovery": [],
        "errors": {},
    }
    return page(request, "second_factor.html", status, **{**defaults, **values})


@router.post("/account/second-factor")
async def set_up(
    request: Request, csrf: Text = "", signed: Text = "", password: Text = "", code: Text = ""
) -> Response:
    """Set up the second factor, and show the recovery codes, this one time."""
    caller, studio = require_owner(request, csrf or None), studio_of(request)
    salt = studio.signer.read_factor_setup(signed, caller.person.id)
    recovery = one_time_codes.new_recovery_codes()
    try:
        await check_password(request, caller.person, password)
        setup = (caller.person.id, salt, code, recovery, studio.clock_drift())
        await studio.do(second_factor.set_factor, studio.signer, *setup)
    except Refused as error:
        field = "current" if error.code == "password_wrong" else "code"
        errors = {field: translate(request, error)}
        return _factor_page(request, caller, error.status, salt, errors=errors)
    return _factor_page(request, caller, recovery=recovery)


@router.post("/account/second-factor/remove")
async def remove(request: Request, csrf: Text = "", password: Text = "") -> Response:
    """Remove one's second factor."""
    caller = require_owner(request, csrf or None)
    try:
        await check_password(request, caller.person, password)
    except Refused as error:
        return _factor_page(request, caller, error.status, errors={"current": translate(request, error)})
    await studio_of(request).do(second_factor.remove_factor, caller.person.id, caller.person.id)
    return RedirectResponse("/account/second-factor", 303)
