"""Routes of the page of people: invitations, accounts of others, API tokens. Only a lead sees them.

Every link begins with the address that the studio was started with (``security.link_to``).
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import Response

from adjudge.studio.access import SCOPES
from adjudge.studio.desk import accounts, decisions, pages
from adjudge.studio.desk.exports import csv_chunks
from adjudge.studio.web.render import desk_page, form_integer, iso_time, redirect_done
from adjudge.studio.web.security import Caller, check_host, link_to, require_caller, studio_of
from adjudge.studio.work import people

router = APIRouter(dependencies=[Depends(check_host)])
Text = Annotated[str, Form(max_length=2_000)]
LongText = Annotated[str, Form(max_length=200_000)]
Scopes = Annotated[list[str] | None, Form()]
Number = Annotated[int, Path(le=(1 << 31) - 1)]


@router.get("/desk/people")
async def people_page(request: Request, find: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Show invitations, accounts and API tokens."""
    return await _people_page(request, require_caller(request, "invite"), find)


async def _people_page(request: Request, caller: Caller, find: str = "", **values: Any) -> Response:
    """Return the page of people, with a link or a token that was just created."""
    studio = studio_of(request)
    values = {
        "invited": await studio.read(pages.list_invitations),
        "accounts": await studio.look(accounts.list_accounts, find),
        "people": len(studio.ledger.people),
        "find": find,
        "tokens": await studio.read(pages.list_tokens),
        "roles": decisions.ROLES,
        "list_roles": accounts.INVITED,
        "scopes": sorted(SCOPES),
        "link": "",
        "token": "",
        **values,
    }
    return desk_page(request, caller, "desk_people.html", "People", **values)


@router.post("/desk/people/invite")
async def invite(request: Request, csrf: Text = "", role: Text = "judge", name: Text = "", days: Text = "") -> Response:
    """Create an invitation and show its link, this one time."""
    caller, studio = require_caller(request, "invite", csrf or None), studio_of(request)
    number = await studio.do(decisions.invite, caller.person.id, role, name, form_integer(days, "days", 1, 365))
    return await _people_page(request, caller, link=link_to(request, f"/join/{studio.signer.invitation(number)}"))


@router.post("/desk/people/invite-list")
async def invite_list(
    request: Request, csrf: Text = "", role: Text = "judge", names: LongText = "", days: Text = ""
) -> Response:
    """Invite everybody on a list, and send their links as CSV, this one time."""
    caller, studio = require_caller(request, "invite", csrf or None), studio_of(request)
    valid = form_integer(days, "days", 1, 365)
    invited = await studio.do(accounts.invite_list, caller.person.id, role, names, valid)
    until = iso_time(studio.now() + 86_400 * valid)
    rows = [(name, role, link_to(request, f"/join/{studio.signer.invitation(n)}"), until) for name, n in invited]
    headers = {"Content-Disposition": 'attachment; filename="invitations.csv"'}
    table = b"".join(csv_chunks(("name", "role", "link", "valid_until"), rows))
    return Response(table, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/desk/people/invitations/{invitation}/withdraw")
async def withdraw(request: Request, invitation: Number, csrf: Text = "") -> Response:
    """Withdraw an open invitation."""
    caller = require_caller(request, "invite", csrf or None)
    await studio_of(request).do(people.withdraw, invitation, caller.person.id)
    return redirect_done("/desk/people", "withdrawn")


@router.get("/desk/people/{person}")
async def account(request: Request, person: Number) -> Response:
    """Show the account of a person."""
    return await _account_page(request, require_caller(request, "invite"), person)


async def _account_page(request: Request, caller: Caller, person: int, link: str = "") -> Response:
    """Return the page of an account, with a link that was just made."""
    studio = studio_of(request)
    values = await studio.look(accounts.account_view, person)
    name = values["account"].name
    return desk_page(request, caller, "desk_account.html", name, link=link, seen=studio.seen, **values)


@router.post("/desk/people/{person}/reset")
async def offer_reset(request: Request, person: Number, csrf: Text = "") -> Response:
    """Make a link by which a person sets a new password, and show it, this one time."""
    caller, studio = require_caller(request, "invite", csrf or None), studio_of(request)
    number = await studio.do(accounts.offer_reset, person, caller.person.id)
    return await _account_page(
        request, caller, person, link_to(request, f"/reset/{studio.signer.reset(person, number)}")
    )


@router.post("/desk/people/{person}/sessions/end")
async def end_sessions(request: Request, person: Number, csrf: Text = "") -> Response:
    """End all sessions of a person."""
    caller = require_caller(request, "invite", csrf or None)
    await studio_of(request).do(accounts.end_sessions, person, caller.person.id)
    return redirect_done(f"/desk/people/{person}", "sessions")


@router.post("/desk/people/{person}/second-factor/remove")
async def remove_factor(request: Request, person: Number, csrf: Text = "") -> Response:
    """Remove the second factor of a person who lost it."""
    caller = require_caller(request, "invite", csrf or None)
    await studio_of(request).do(accounts.remove_factor, person, caller.person.id)
    return redirect_done(f"/desk/people/{person}", "factor")


@router.post("/desk/people/token")
async def create_token(request: Request, csrf: Text = "", name: Text = "", scope: Scopes = None) -> Response:
    """Create an API token and show it, this one time."""
    caller = require_caller(request, "token", csrf or None)
    text = await studio_of(request).do(decisions.new_api_token, caller.person.id, name, " ".join(scope or ()))
    return await _people_page(request, caller, token=text)


@router.post("/desk/people/token/{token}/revoke")
async def revoke_token(request: Request, token: Number, csrf: Text = "") -> Response:
    """Revoke an API token."""
    caller = require_caller(request, "token", csrf or None)
    await studio_of(request).do(decisions.revoke_token, caller.person.id, token)
    return redirect_done("/desk/people", "revoked")
