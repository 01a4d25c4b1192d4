"""Routes of the lead's desk, and of data: exports, imports and prompts, for people and for programs with a token.

A handler reads, calls and renders: numbers come from ``desk.pages``, changes from ``desk.decisions``.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from typing import IO, Annotated, Any

from fastapi import APIRouter, File, Form, Path, Query, Request, UploadFile
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from adjudge.errors import AdjudgeError
from adjudge.studio.access import SCOPES, may
from adjudge.studio.desk import decisions, pages
from adjudge.studio.desk.decisions import decide, read_past, read_work
from adjudge.studio.desk.exports import EXPORTS, ExportOptions, export
from adjudge.studio.desk.gold import read_contests
from adjudge.studio.desk.imports import import_file
from adjudge.studio.desk.overview import live
from adjudge.studio.desk.prompts import program_prompts
from adjudge.studio.records import Refused
from adjudge.studio.web.render import desk_page, form_integer, redirect_done
from adjudge.studio.web.security import Caller, require_caller, require_token, root_of, studio_of
from adjudge.studio.web.viewer import document_headers, safe_document

router = APIRouter()
LARGEST_ID = (1 << 31) - 1
Text = Annotated[str, Form(max_length=2_000)]
Scopes = Annotated[list[str] | None, Form()]
Find = Annotated[str, Query(max_length=200)]
Number = Annotated[int, Path(le=LARGEST_ID)]
CACHE_SECONDS = 2.0  # for which the overview's numbers are not computed again
MOST_PROMPTS = 1_000_000
CHUNK_BYTES = 1 << 16  # sent at once


async def _live(request: Request) -> Any:
    """Return the overview's numbers, computed at most every two seconds, however many people look."""
    studio, cached = studio_of(request), getattr(request.app.state, "desk_live", None)
    if cached is None or studio.now() - cached.at > CACHE_SECONDS:
        cached = await studio.read(live, studio.ledger, studio.now())
        request.app.state.desk_live = cached
    return cached


@router.get("/desk")
async def overview(request: Request) -> Response:
    """Show the state of the campaign."""
    caller = require_caller(request, "desk")
    return desk_page(request, caller, "desk_overview.html", "Overview", live=await _live(request))


@router.get("/desk/live")
async def overview_numbers(request: Request) -> Response:
    """Show the part of the overview that changes."""
    caller = require_caller(request, "desk")
    return desk_page(request, caller, "desk_live.html", "Overview", live=await _live(request))


@router.get("/api/live")
async def overview_json(request: Request) -> dict[str, Any]:
    """Send the overview's numbers to a program with a token."""
    require_token(request, "read")
    return pages.live_json(await _live(request))


@router.post("/desk/campaign")
async def pause_or_resume(request: Request, csrf: Text = "", paused: Text = "") -> Response:
    """Pause the campaign, or let it continue."""
    caller = require_caller(request, "pause", csrf or None)
    await studio_of(request).do(decisions.switch_campaign, caller.person.id, paused == "1")
    request.app.state.desk_live = None
    return redirect_done("/desk", "paused" if paused == "1" else "resumed")


@router.post("/desk/archive")
async def archive_or_reopen(request: Request, csrf: Text = "", archived: Text = "") -> Response:
    """Archive the campaign, or open it again."""
    caller = require_caller(request, "archive", csrf or None)
    await studio_of(request).do(decisions.archive_campaign, caller.person.id, archived == "1")
    request.app.state.desk_live = None
    return redirect_done("/desk", "archived" if archived == "1" else "reopened")


@router.get("/desk/judges")
async def judges(request: Request) -> Response:
    """Show all judges."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    values = await studio.read(pages.judges_page, studio.campaign)
    return desk_page(request, caller, "desk_judges.html", "Judges", **values)


@router.get("/desk/judges/{person}")
async def judge(request: Request, person: Number) -> Response:
    """Show one judge."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    values = await studio.read(pages.judge_page, studio.campaign, person)
    return desk_page(request, caller, "desk_judge.html", values["judge"].name, **values)


@router.post("/desk/judges/{person}/standing")
async def change_standing(
    request: Request, person: Number, csrf: Text = "", standing: Text = "", reason: Text = ""
) -> Response:
    """Exclude, pause or reinstate a judge."""
    caller = require_caller(request, "exclude", csrf or None)
    studio, by = studio_of(request), caller.person.id
    if standing == "reinstated":
        await decide(studio, lambda connection: read_past(connection, person), decisions.reinstate, by, person)
    else:
        await studio.do(decisions.change_standing, by, person, standing, reason)
    return redirect_done(f"/desk/judges/{person}", "standing")


@router.post("/desk/assignments/{assignment}/release")
async def release(request: Request, assignment: Number, csrf: Text = "") -> Response:
    """Take an open assignment back."""
    caller, studio = require_caller(request, "reassign", csrf or None), studio_of(request)
    person = studio.ledger.person_of.get(assignment)
    await studio.do(decisions.reassign, caller.person.id, assignment)
    return redirect_done(f"/desk/judges/{person}", "reassigned")


@router.post("/desk/assignments/{assignment}/approve")
async def approve(request: Request, assignment: Number, csrf: Text = "", reason: Text = "") -> Response:
    """Approve an assignment that was returned."""
    caller, studio = require_caller(request, "approve", csrf or None), studio_of(request)
    person = studio.ledger.person_of.get(assignment)
    if person is None:
        raise Refused(404, "assignment", "There is no such assignment.")
    await decide(
        studio, lambda connection: read_work(connection, assignment), decisions.approve, caller.person.id, reason
    )
    return redirect_done(f"/desk/judges/{person}", "approved")


@router.get("/desk/gold")
async def gold(request: Request) -> Response:
    """Show the gold labels that judges contest or fail, and the error rates of the gate."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    values = await studio.read(pages.gold_page, studio.ledger)
    return desk_page(request, caller, "desk_gold.html", "Gold", **values)


@router.post("/desk/contests/{contest}")
async def rule(request: Request, contest: Number, csrf: Text = "", upheld: Text = "", reason: Text = "") -> Response:
    """Rule on a contest."""
    caller, studio = require_caller(request, "rule", csrf or None), studio_of(request)
    rows = await studio.read(lambda connection: read_contests(connection, contest=contest))
    if not rows:
        raise Refused(404, "contest", "There is no such contest.")
    ruling = (caller.person.id, contest, upheld == "1", reason)
    approved = await decide(
        studio, lambda connection: read_work(connection, rows[0].assignment), decisions.rule, *ruling
    )
    done = "upheld-approved" if approved else "upheld" if rows[0].outcome == "returned" else "upheld-passed"
    return redirect_done("/desk/gold", done if upheld == "1" else "rejected")


@router.get("/desk/items")
async def items(request: Request) -> Response:
    """Show the items that deserve a second look."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    values = await studio.read(pages.items_page, studio.campaign)
    return desk_page(request, caller, "desk_items.html", "Items to look at", **values)


@router.get("/desk/items/{item}")
async def item(request: Request, item: Number) -> Response:
    """Show one item."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    values = await studio.read(pages.item_page, studio.ledger, item)
    return desk_page(request, caller, "desk_item.html", values["document"].title or values["pair"][1], **values)


@router.get("/desk/documents/{item}")
async def document(request: Request, item: Number, find: Find = "") -> Response:
    """Show a document, made safe as it is for judges."""
    require_caller(request, "desk")
    studio = studio_of(request)
    _, name = pages.pair_of(studio.ledger, item)
    most = studio.campaign.settings.documents.most_bytes
    text, _ = await asyncio.to_thread(safe_document, studio.campaign.documents.document(name), find, most)
    return HTMLResponse(text, headers={**document_headers(), "Cache-Control": "no-store"})


@router.get("/desk/people")
async def people(request: Request) -> Response:
    """Show invitations and API tokens."""
    return await _people_page(request, require_caller(request, "invite"))


async def _people_page(request: Request, caller: Caller, **values: Any) -> Response:
    """Return the page of invitations and tokens, with a link or a token that was just created."""
    studio = studio_of(request)
    values = {
        "invited": await studio.read(pages.list_invitations),
        "tokens": await studio.read(pages.list_tokens),
        "roles": decisions.ROLES,
        "scopes": sorted(SCOPES),
        "link": "",
        "token": "",
        **values,
    }
    return desk_page(request, caller, "desk_people.html", "Invitations", **values)


@router.post("/desk/people/invite")
async def invite(request: Request, csrf: Text = "", role: Text = "judge", name: Text = "", days: Text = "") -> Response:
    """Create an invitation and show its link, this one time."""
    caller, studio = require_caller(request, "invite", csrf or None), studio_of(request)
    number = await studio.do(decisions.invite, caller.person.id, role, name, form_integer(days, "days", 1, 365))
    link = f"{request.url.scheme}://{request.url.netloc}{root_of(request)}/join/{studio.signer.invitation(number)}"
    return await _people_page(request, caller, link=link, role=role)


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


@router.get("/desk/audit")
async def audit(
    request: Request, before: Annotated[int | None, Query(le=LARGEST_ID)] = None, find: Find = ""
) -> Response:
    """Show the audit log."""
    caller = require_caller(request, "desk")
    entries = await studio_of(request).read(pages.list_audit_entries, before, find)
    older = entries[-1].id if len(entries) == pages.PAGE else None
    return desk_page(
        request, caller, "desk_audit.html", "Audit log", entries=entries, find=find, before=before, older=older
    )


# Data: exports, prompts for programs, and imports


@router.get("/desk/data")
async def data(request: Request) -> Response:
    """Show the page of exports and imports."""
    return _data_page(request, require_caller(request, "desk"))


def _data_page(request: Request, caller: Caller, status: int = 200, **values: Any) -> Response:
    """Return the page of exports and imports, with the report of an import if there is one."""
    lead = may(caller.person.role, "export")
    values = {
        "exports": {name: entry for name, entry in EXPORTS.items() if lead or not entry.people},
        "imported": None,
        "error": "",
        **values,
    }
    response = desk_page(request, caller, "desk_data.html", "Data", **values)
    response.status_code = status
    return response


@router.get("/desk/data/{name}")
async def download_export(request: Request, name: str, raw: bool = False, pseudonyms: bool = False) -> Response:
    """Send an export to a person at the desk."""
    entry = EXPORTS.get(name)
    require_caller(request, "export" if entry is None or entry.people else "desk")
    return await _export_response(request, name, raw, pseudonyms)


@router.get("/api/export/{name}")
async def send_export(request: Request, name: str, raw: bool = True, pseudonyms: bool = False) -> Response:
    """Send an export to a program with a token."""
    require_token(request, "export")
    return await _export_response(request, name, raw, pseudonyms)


async def _export_response(request: Request, name: str, raw: bool, pseudonyms: bool) -> Response:
    """Return an export from a temporary file, so that no table is held in memory."""
    studio = studio_of(request)
    if name not in EXPORTS:
        raise Refused(404, "export", f"There is no such export; expected one of {', '.join(EXPORTS)}.")
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed after it was sent
    try:
        await studio.read(export, name, ExportOptions(studio.campaign.folder, raw, pseudonyms), file)
    except AdjudgeError as error:
        file.close()
        raise Refused(409, "export", f"{name} cannot be exported: {error}.") from error
    size = file.tell()
    headers = {"Content-Disposition": f'attachment; filename="{EXPORTS[name].file}"', "Content-Length": str(size)}
    return StreamingResponse(_chunks(file), media_type=EXPORTS[name].kind, headers=headers)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file in chunks from its beginning, and close it."""
    with file:
        file.seek(0)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


@router.get("/desk/prompts")
async def prompts(request: Request, judge: str = "", limit: str = "", gold: str = "20") -> Response:
    """Send pending items as prompts for a program."""
    require_caller(request, "export")
    most = form_integer(limit, "limit", 1, MOST_PROMPTS) if limit else None
    share = form_integer(gold, "gold", 0, 90) / 100
    studio = studio_of(request)
    lines = await studio.read(program_prompts, studio.campaign, studio.signer, judge, most, share)
    headers = {"Content-Disposition": 'attachment; filename="prompts.jsonl"'}
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=headers)


@router.post("/desk/data")
async def upload_judgments(
    request: Request, file: Annotated[UploadFile, File()], csrf: Text = "", judge: Text = ""
) -> Response:
    """Import judgments made elsewhere, or a program's answers to prompts."""
    caller = require_caller(request, "import", csrf or None)
    content, name = await file.read(), file.filename or "file"
    try:
        imported = await import_file(studio_of(request), caller.person.id, content, name, judge.strip())
    except AdjudgeError as error:
        return _data_page(request, caller, 422, error=str(error))
    return _data_page(request, caller, 422 if imported["problems"] else 200, imported=imported)


@router.post("/api/import")
async def receive_judgments(request: Request, judge: str = "", name: str = "upload") -> dict[str, Any]:
    """Import the judgments that a program sends with a token; the request's body is the file."""
    token = require_token(request, "import")
    try:
        return await import_file(studio_of(request), token, await request.body(), name, judge)
    except Refused:
        raise
    except AdjudgeError as error:
        raise Refused(422, "import", str(error)) from error
