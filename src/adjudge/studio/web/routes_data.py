"""What leaves the desk and what comes in: exports, prompts for programs, imports; for people and for programs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import Response, StreamingResponse

from adjudge.errors import AdjudgeError
from adjudge.studio.desk.exports import EXPORTS, Wanted, export
from adjudge.studio.desk.transfer import program_prompts, take_in
from adjudge.studio.identity.access import may
from adjudge.studio.records import Refused
from adjudge.studio.web.desk_page import shown, whole
from adjudge.studio.web.sessions import Caller, caller, program, studio_of

router = APIRouter()
Text = Annotated[str, Form(max_length=2_000)]
MOST_PROMPTS = 1_000_000
PIECE = 1 << 16  # bytes that are sent at once


@router.get("/desk/data")
async def data(request: Request) -> Response:
    """Show what can be taken out and brought in."""
    return _data(request, caller(request, "desk"))


def _data(request: Request, who: Caller, status: int = 200, **values: Any) -> Response:
    """Return the page of exports and imports."""
    lead = may(who.person.role, "export")
    offered = {name: one for name, one in EXPORTS.items() if lead or not one.people}
    answer = shown(request, who, "desk_data.html", "Data", **{"exports": offered, "taken": None, "error": "", **values})
    answer.status_code = status
    return answer


@router.get("/desk/data/{what}")
async def take_out(request: Request, what: str, raw: bool = False, pseudonyms: bool = False) -> Response:
    """Export something."""
    named = EXPORTS.get(what)
    caller(request, "export" if named is None or named.people else "desk")
    return await _exported(request, what, raw, pseudonyms)


@router.get("/api/export/{what}")
async def take_out_for_programs(request: Request, what: str, raw: bool = True, pseudonyms: bool = False) -> Response:
    """Export something to a program with a token."""
    program(request, "export")
    return await _exported(request, what, raw, pseudonyms)


async def _exported(request: Request, what: str, raw: bool, pseudonyms: bool) -> Response:
    """Return an export, from a file that is gone when it was sent: no table is held in memory."""
    studio = studio_of(request)
    if what not in EXPORTS:
        raise Refused(404, "export", f"There is no such export; there are {', '.join(EXPORTS)}.")
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when it was sent
    try:
        await studio.read(export, what, Wanted(studio.campaign.folder, raw, pseudonyms), file)
    except AdjudgeError as error:
        file.close()
        raise Refused(409, "export", f"{what} cannot be exported: {error}.") from error
    size = file.tell()
    headers = {"Content-Disposition": f'attachment; filename="{EXPORTS[what].file}"', "Content-Length": str(size)}
    return StreamingResponse(_sent(file), media_type=EXPORTS[what].kind, headers=headers)


def _sent(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file in pieces, from its beginning, and close it."""
    with file:
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece


@router.get("/desk/prompts")
async def prompts(request: Request, judge: str = "", limit: str = "", gold: str = "20") -> Response:
    """Give out pending pairs as prompts for a program."""
    caller(request, "export")
    most = whole(limit, "limit", 1, MOST_PROMPTS) if limit else None
    share = whole(gold, "gold", 0, 90) / 100
    studio = studio_of(request)
    lines = await studio.read(program_prompts, studio.campaign, studio.signer, judge, most, share)
    headers = {"Content-Disposition": 'attachment; filename="prompts.jsonl"'}
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=headers)


@router.post("/desk/data")
async def bring_in(
    request: Request, file: Annotated[UploadFile, File()], csrf: Text = "", judge: Text = ""
) -> Response:
    """Import judgments made elsewhere, or answers of a program."""
    who = caller(request, "import", csrf or None)
    content, name = await file.read(), file.filename or "file"
    try:
        taken = await take_in(studio_of(request), who.person.id, content, name, judge.strip())
    except AdjudgeError as error:
        return _data(request, who, 422, error=str(error))
    return _data(request, who, 422 if taken["problems"] else 200, taken=taken)


@router.post("/api/import")
async def bring_in_by_programs(request: Request, judge: str = "", name: str = "upload") -> dict[str, Any]:
    """Import judgments that a program sends with a token: the body is the file."""
    by = program(request, "import")
    try:
        taken = await take_in(studio_of(request), by, await request.body(), name, judge)
    except Refused:
        raise
    except AdjudgeError as error:
        raise Refused(422, "import", str(error)) from error
    return taken
