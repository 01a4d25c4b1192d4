"""The lead's desk. A handler reads, calls, renders: numbers come from ``desk``, changes from ``desk.commands``."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from adjudge.studio.desk import commands as c
from adjudge.studio.desk import pages as desk_log
from adjudge.studio.desk import pages as desk_shown
from adjudge.studio.desk.commands import ROLES
from adjudge.studio.desk.gold import contested, decided, past_of, work_of
from adjudge.studio.desk.overview import live
from adjudge.studio.identity.access import SCOPES
from adjudge.studio.records import Refused
from adjudge.studio.web.desk_page import back, shown, whole
from adjudge.studio.web.sessions import Caller, caller, program, studio_of
from adjudge.studio.web.viewer import document_headers, safe_document

router = APIRouter()
Text = Annotated[str, Form(max_length=2_000)]
Scopes = Annotated[list[str] | None, Form()]
Find = Annotated[str, Query(max_length=200)]
MOST = (1 << 31) - 1  # the highest number of a row
Number = Annotated[int, Path(le=MOST)]
FRESH = 2.0  # seconds for which the overview's numbers are not counted again


async def _live(request: Request) -> Any:
    """Return the overview's numbers, counted at most every two seconds however many look."""
    studio, kept = studio_of(request), getattr(request.app.state, "desk_live", None)
    if kept is None or studio.now() - kept.at > FRESH:
        kept = await studio.read(live, studio.ledger, studio.now())
        request.app.state.desk_live = kept
    return kept


@router.get("/desk")
async def overview(request: Request) -> Response:
    """Show how the campaign goes."""
    return shown(request, caller(request, "desk"), "desk_overview.html", "Overview", live=await _live(request))


@router.get("/desk/live")
async def overview_now(request: Request) -> Response:
    """Show the part of the overview that changes."""
    return shown(request, caller(request, "desk"), "desk_live.html", "Overview", live=await _live(request))


@router.post("/desk/campaign")
async def switch(request: Request, csrf: Text = "", paused: Text = "") -> Response:
    """Pause the campaign, or let it go on."""
    who = caller(request, "pause", csrf or None)
    await studio_of(request).do(c.switch_campaign, who.person.id, paused == "1")
    request.app.state.desk_live = None
    return back("/desk", "paused" if paused == "1" else "resumed")


@router.get("/desk/judges")
async def judges(request: Request) -> Response:
    """Show all judges."""
    who, studio = caller(request, "desk"), studio_of(request)
    found = await studio.read(desk_shown.judges, studio.campaign)
    return shown(request, who, "desk_judges.html", "Judges", **found)


@router.get("/desk/judges/{person}")
async def judge(request: Request, person: Number) -> Response:
    """Show all about one judge."""
    who, studio = caller(request, "desk"), studio_of(request)
    found = await studio.read(desk_shown.judge, studio.campaign, person)
    return shown(request, who, "desk_judge.html", found["judge"].name, **found)


@router.post("/desk/judges/{person}/standing")
async def standing(
    request: Request, person: Number, csrf: Text = "", standing: Text = "", reason: Text = ""
) -> Response:
    """Exclude, pause or reinstate a judge."""
    who = caller(request, "exclude", csrf or None)
    studio = studio_of(request)
    if standing == "reinstated":
        await decided(studio, lambda connection: past_of(connection, person), c.reinstate, who.person.id, person)
    else:
        await studio.do(c.change_standing, who.person.id, person, standing, reason)
    return back(f"/desk/judges/{person}", "standing")


@router.post("/desk/assignments/{assignment}/release")
async def release(request: Request, assignment: Number, csrf: Text = "") -> Response:
    """Take an open assignment back."""
    who, studio = caller(request, "reassign", csrf or None), studio_of(request)
    person = studio.ledger.person_of.get(assignment)
    await studio.do(c.reassign, who.person.id, assignment)
    return back(f"/desk/judges/{person}", "reassigned")


@router.post("/desk/assignments/{assignment}/approve")
async def approve(request: Request, assignment: Number, csrf: Text = "", reason: Text = "") -> Response:
    """Approve an assignment that was returned."""
    who, studio = caller(request, "approve", csrf or None), studio_of(request)
    person = studio.ledger.person_of.get(assignment)
    if person is None:
        raise Refused(404, "assignment", "There is no such assignment.")
    await decided(studio, lambda connection: work_of(connection, assignment), c.approve, who.person.id, reason)
    return back(f"/desk/judges/{person}", "approved")


@router.get("/desk/gold")
async def gold(request: Request) -> Response:
    """Show what the gate does, what judges contest, and what they fail."""
    who, studio = caller(request, "desk"), studio_of(request)
    found = await studio.read(desk_shown.gold, studio.ledger)
    return shown(request, who, "desk_gold.html", "Gold", **found)


@router.post("/desk/contests/{contest}")
async def rule(request: Request, contest: Number, csrf: Text = "", upheld: Text = "", reason: Text = "") -> Response:
    """Rule on a contest."""
    who, studio = caller(request, "rule", csrf or None), studio_of(request)
    found = await studio.read(lambda connection: contested(connection, contest=contest))
    if not found:
        raise Refused(404, "contest", "There is no such contest.")
    told = (who.person.id, contest, upheld == "1", reason)
    approved = await decided(studio, lambda connection: work_of(connection, found[0].assignment), c.rule, *told)
    done = "upheld-approved" if approved else "upheld" if found[0].outcome == "returned" else "upheld-passed"
    return back("/desk/gold", done if upheld == "1" else "rejected")


@router.get("/desk/items")
async def items(request: Request) -> Response:
    """Show the items that deserve a second look."""
    who, studio = caller(request, "desk"), studio_of(request)
    found = await studio.read(desk_shown.items, studio.campaign)
    return shown(request, who, "desk_items.html", "Items to look at", **found)


@router.get("/desk/items/{item}")
async def item(request: Request, item: Number) -> Response:
    """Show all about one item."""
    who, studio = caller(request, "desk"), studio_of(request)
    found = await studio.read(desk_shown.item, studio.ledger, item)
    return shown(request, who, "desk_item.html", found["document"].title or found["pair"][1], **found)


@router.get("/desk/documents/{item}")
async def document(request: Request, item: Number, find: Find = "") -> Response:
    """Show a document, made safe as it is for judges."""
    caller(request, "desk")
    studio = studio_of(request)
    _, name = desk_shown.pair_of(studio.ledger, item)
    most = studio.campaign.settings.documents.most_bytes
    text, _ = await asyncio.to_thread(safe_document, studio.campaign.documents.document(name), find, most)
    return HTMLResponse(text, headers={**document_headers(), "Cache-Control": "no-store"})


@router.get("/desk/people")
async def people(request: Request) -> Response:
    """Show invitations and API tokens."""
    return await _people(request, caller(request, "invite"))


async def _people(request: Request, who: Caller, **values: Any) -> Response:
    """Return the page of invitations and tokens."""
    studio = studio_of(request)
    known = {"invited": await studio.read(desk_log.invited), "tokens": await studio.read(desk_log.api_tokens)}
    known |= {"roles": ROLES, "scopes": sorted(SCOPES), "link": "", "token": ""}
    return shown(request, who, "desk_people.html", "Invitations", **{**known, **values})


@router.post("/desk/people/invite")
async def invite(request: Request, csrf: Text = "", role: Text = "judge", name: Text = "", days: Text = "") -> Response:
    """Make an invitation, and show its link: it can be seen this once."""
    who, studio = caller(request, "invite", csrf or None), studio_of(request)
    number = await studio.do(c.invite, who.person.id, role, name, whole(days, "days", 1, 365))
    link = f"{str(request.base_url).rstrip('/')}/join/{studio.signer.invitation(number)}"
    return await _people(request, who, link=link, role=role)


@router.post("/desk/people/token")
async def token(request: Request, csrf: Text = "", name: Text = "", scope: Scopes = None) -> Response:
    """Make an API token, and show it: it can be seen this once."""
    who = caller(request, "token", csrf or None)
    text = await studio_of(request).do(c.new_api_token, who.person.id, name, " ".join(scope or ()))
    return await _people(request, who, token=text)


@router.post("/desk/people/token/{token}/revoke")
async def revoke(request: Request, token: Number, csrf: Text = "") -> Response:
    """Revoke an API token."""
    who = caller(request, "token", csrf or None)
    await studio_of(request).do(c.revoke_token, who.person.id, token)
    return back("/desk/people", "revoked")


@router.get("/api/live")
async def overview_for_programs(request: Request) -> dict[str, Any]:
    """Tell a program with a token how the campaign goes."""
    program(request, "read")
    return desk_shown.plain(await _live(request))


@router.get("/desk/audit")
async def audit(request: Request, before: Annotated[int | None, Query(le=MOST)] = None, find: Find = "") -> Response:
    """Show who did what."""
    who = caller(request, "desk")
    found = await studio_of(request).read(desk_log.entries, before, find)
    older = found[-1].id if len(found) == desk_log.PAGE else None
    return shown(request, who, "desk_audit.html", "Audit log", entries=found, find=find, before=before, older=older)
