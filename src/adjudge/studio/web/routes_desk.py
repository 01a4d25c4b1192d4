"""Routes of the lead's desk, and of data: exports, imports and prompts, for people and for programs with a token.

A handler reads, calls and renders: numbers come from ``desk.pages``, changes from ``desk.decisions``.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Annotated, Any

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from starlette.datastructures import UploadFile

from adjudge.errors import AdjudgeError
from adjudge.studio.access import may
from adjudge.studio.campaign import Campaign
from adjudge.studio.desk import decisions, pages
from adjudge.studio.desk.decisions import decide, read_past, read_work
from adjudge.studio.desk.exports import EXPORTS, ExportOptions, export
from adjudge.studio.desk.gold import read_contests
from adjudge.studio.desk.imports import import_file
from adjudge.studio.desk.item_list import (
    ANSWERS,
    CONTESTED,
    LABELS,
    STATES,
    choose_items,
    item_table,
    items_csv,
    read_filter,
)
from adjudge.studio.desk.overview import live
from adjudge.studio.desk.prompts import program_prompts
from adjudge.studio.gate_designer import gate_compositions
from adjudge.studio.kept import state_key
from adjudge.studio.record.seal import read_head
from adjudge.studio.records import Refused
from adjudge.studio.web.render import Part, desk_page, form_integer, live_parts, redirect_done
from adjudge.studio.web.security import Caller, require_caller, require_token, studio_of
from adjudge.studio.web.viewer import document_headers, safe_document

router = APIRouter()
LARGEST_ID = (1 << 31) - 1
Text = Annotated[str, Form(max_length=2_000)]
Scopes = Annotated[list[str] | None, Form()]
Find = Annotated[str, Query(max_length=200)]
Number = Annotated[int, Path(le=LARGEST_ID)]
Page = Annotated[int, Query(le=LARGEST_ID)]
LEAST_SECONDS = 2.0  # for which the numbers of the overview and of items are not computed again
LIVE_SECONDS = 15.0  # after which times such as "3 min ago" are written again, even if nothing happened
CHART_SECONDS = 30.0  # for which pictures are not drawn again
MOST_UPLOADS = 2  # at the same time
MOST_PROMPTS = 1_000_000
CHUNK_BYTES = 1 << 16  # sent at once


async def _live(request: Request) -> Any:
    """Return the overview's numbers, computed at most every two seconds, and only if something has changed."""
    studio = studio_of(request)
    compute, key = partial(studio.read, live, studio.ledger, studio.now()), state_key(studio.ledger)
    return await studio.kept.value("overview", key, studio.now(), compute, LEAST_SECONDS, LIVE_SECONDS)


async def _charts(request: Request) -> Any:
    """Return the pictures, drawn at most every half a minute."""
    studio = studio_of(request)

    async def draw() -> Any:
        return pages.charts_page(await studio.read(pages.chart_data, studio.campaign), studio.campaign)

    return await studio.kept.value("charts", state_key(studio.ledger), studio.now(), draw, CHART_SECONDS)


async def _live_parts(request: Request) -> list[Part]:
    """Return the parts of the overview, rendered once for all who look."""
    studio, current, charts = studio_of(request), await _live(request), await _charts(request)

    async def render() -> tuple[Any, Any, list[Part]]:  # what is kept, so that no other object gets its id
        return current, charts, live_parts(request, live=current, now=current.at, picture=charts["time"])

    *_, parts = await studio.kept.value("parts", (id(current), id(charts)), studio.now(), render)
    return parts  # type: ignore[no-any-return]


@router.get("/desk")
async def overview(request: Request) -> Response:
    """Show the state of the campaign."""
    caller = require_caller(request, "desk")
    values = {"live": await _live(request), "live_parts": await _live_parts(request)}
    return desk_page(request, caller, "desk_overview.html", "Overview", **values)


@router.get("/desk/live")
async def overview_parts(request: Request, have: Annotated[str, Query(max_length=500)] = "") -> Response:
    """Send the parts of the overview that have changed; ``have`` are the versions that the page has."""
    require_caller(request, "desk")
    versions = set(have.split("."))
    changed = [part.html for part in await _live_parts(request) if part.version not in versions]
    return HTMLResponse("".join(changed))


@router.get("/desk/progress")
async def progress(request: Request, page: Page = 1) -> Response:
    """Show the progress of all topics."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    values = pages.progress_page(await _live(request), studio.campaign, request.query_params, page)
    return desk_page(request, caller, "desk_progress.html", "Progress by topic", **values)


@router.get("/desk/charts")
async def charts(request: Request) -> Response:
    """Show the pictures."""
    caller = require_caller(request, "desk")
    return desk_page(request, caller, "desk_charts.html", "Charts", pictures=await _charts(request))


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
    studio_of(request).kept.forget("overview")
    return redirect_done("/desk", "paused" if paused == "1" else "resumed")


@router.post("/desk/archive")
async def archive_or_reopen(request: Request, csrf: Text = "", archived: Text = "") -> Response:
    """Archive the campaign, or open it again."""
    caller = require_caller(request, "archive", csrf or None)
    await studio_of(request).do(decisions.archive_campaign, caller.person.id, archived == "1")
    studio_of(request).kept.forget("overview")
    return redirect_done("/desk", "archived" if archived == "1" else "reopened")


async def _kept_table(request: Request, name: str, read: Callable[..., Any], source: Any, least: float = 0.0) -> Any:
    """Return what ``read(connection, source)`` returns, computed again if something has changed."""
    studio = studio_of(request)
    key = state_key(studio.ledger)
    return await studio.kept.value(name, key, studio.now(), partial(studio.read, read, source), least)


@router.get("/desk/judges")
async def judges(request: Request, page: Page = 1) -> Response:
    """Show the judges who fit the fields of the address."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    table = await _kept_table(request, "judges", pages.judge_table, studio.ledger)
    values = pages.judges_page(table, request.query_params, page)
    return desk_page(request, caller, "desk_judges.html", "Judges", **values)


@router.get("/desk/judges/{person}")
async def judge(request: Request, person: Number, page: Page = 1) -> Response:
    """Show one judge."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    values = await studio.read(pages.judge_page, studio.campaign, person, page)
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
async def gold(request: Request, page: Page = 1, contests: Page = 1) -> Response:
    """Show the gold labels that judges contest or fail, and the error rates of the gate."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    table = await _kept_table(request, "gold", pages.gold_table, studio.ledger)
    arguments = (studio.ledger, table, request.query_params, (contests, page))
    values = await studio.read(pages.gold_page, *arguments)
    gates = await studio.kept.value("gates", studio.edits, studio.now(), partial(_gates, studio.campaign))
    return desk_page(request, caller, "desk_gold.html", "Gold", gates=gates, **values)


async def _gates(campaign: Campaign) -> Any:
    """Return what the gate does on the gold sets of a campaign; this takes long for many compositions."""
    return await asyncio.to_thread(gate_compositions, campaign)


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
async def items(request: Request, page: Page = 1) -> Response:
    """Show the items that fit the fields of the address."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    table = await _kept_table(request, "items", item_table, studio.ledger, LEAST_SECONDS)
    values = await studio.read(pages.items_page, table, studio.ledger, request.query_params, page)
    choices = {"states": STATES, "labels": LABELS, "contested": CONTESTED, "answers": ANSWERS}
    return desk_page(request, caller, "desk_items.html", "Items", choices=choices, **values)


@router.get("/desk/items/list.csv")
async def items_file(request: Request) -> Response:
    """Send the items that fit the fields of the address as a CSV file."""
    require_caller(request, "desk")
    studio = studio_of(request)
    table = await _kept_table(request, "items", item_table, studio.ledger, LEAST_SECONDS)
    item_filter, sort = read_filter(request.query_params), request.query_params.get("sort", "")
    ids = await studio.read(choose_items, table, item_filter, studio.ledger, sort)
    headers = {"Content-Disposition": 'attachment; filename="items.csv"'}
    return StreamingResponse(items_csv(table, ids, studio.ledger), media_type="text/csv", headers=headers)


@router.get("/desk/items/look")
async def second_looks(request: Request) -> Response:
    """Show the items that deserve a second look."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    values = await studio.read(pages.looks_page, studio.campaign)
    return desk_page(request, caller, "desk_looks.html", "Items worth a second look", **values)


@router.get("/desk/items/ranks")
async def item_ranks(request: Request, page: Page = 1) -> Response:
    """Show the ranks of items, if the model of the campaign has them."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    values = await studio.read(pages.ranks_page, studio.campaign, page)
    return desk_page(request, caller, "desk_ranks.html", "Ranks", **values)


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


@router.get("/desk/audit")
async def audit(
    request: Request, before: Annotated[int | None, Query(le=LARGEST_ID)] = None, find: Find = ""
) -> Response:
    """Show the audit log."""
    caller = require_caller(request, "desk")
    entries = await studio_of(request).read(pages.list_audit_entries, before, find)
    head = await studio_of(request).read(read_head)
    older = entries[-1].id if len(entries) == pages.PAGE else None
    return desk_page(
        request,
        caller,
        "desk_audit.html",
        "Audit log",
        entries=entries,
        head=head,
        find=find,
        before=before,
        older=older,
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
    except BaseException as error:
        file.close()
        if not isinstance(error, AdjudgeError):
            raise
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


@contextlib.contextmanager
def _upload(request: Request) -> Iterator[None]:
    """Count an upload; there are few at a time, because a file is in memory while it is imported."""
    state = request.app.state
    running = getattr(state, "uploads", 0)
    if running >= MOST_UPLOADS:
        raise Refused(429, "busy", "Other files are being imported. Try again in a minute.", retry_after=60)
    state.uploads = running + 1
    try:
        yield
    finally:
        state.uploads -= 1


@router.post("/desk/data")
async def upload_judgments(request: Request, csrf: Find = "") -> Response:
    """Import judgments made elsewhere, or a program's answers to prompts.

    The token is in the address of the form, so that the request is checked before the file is read.
    """
    caller = require_caller(request, "import", csrf or None)
    with _upload(request):
        async with request.form(max_files=1, max_fields=2) as form:
            file, judge = form.get("file"), form.get("judge", "")
            if not isinstance(file, UploadFile) or not isinstance(judge, str):
                raise Refused(422, "malformed", "No file was sent. Choose a file and try again.")
            content, name = await file.read(), file.filename or "file"
        return await _import_response(request, caller, content, name, judge.strip())


async def _import_response(request: Request, caller: Caller, content: bytes, name: str, judge: str) -> Response:
    """Import a file, and return the page with the report."""
    try:
        imported = await import_file(studio_of(request), caller.person.id, content, name, judge)
    except AdjudgeError as error:
        return _data_page(request, caller, 422, error=str(error))
    return _data_page(request, caller, 422 if imported["problems"] else 200, imported=imported)


@router.post("/api/import")
async def receive_judgments(request: Request, judge: str = "", name: str = "upload") -> dict[str, Any]:
    """Import the judgments that a program sends with a token; the request's body is the file."""
    token = require_token(request, "import")
    try:
        with _upload(request):
            return await import_file(studio_of(request), token, await request.body(), name, judge)
    except Refused:
        raise
    except AdjudgeError as error:
        raise Refused(422, "import", str(error)) from error
