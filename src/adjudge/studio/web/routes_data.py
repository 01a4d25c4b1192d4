"""Routes for data: exports, prompts for programs, and imports; for people at the desk and for programs with a token."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import Response, StreamingResponse

from adjudge.errors import AdjudgeError
from adjudge.studio.desk.exports import EXPORTS, ExportOptions, export
from adjudge.studio.desk.imports import import_file
from adjudge.studio.desk.prompts import program_prompts
from adjudge.studio.identity.access import may
from adjudge.studio.records import Refused
from adjudge.studio.web.render import desk_page, form_integer
from adjudge.studio.web.sessions import Caller, require_caller, require_token, studio_of

router = APIRouter()
Text = Annotated[str, Form(max_length=2_000)]
MOST_PROMPTS = 1_000_000
CHUNK_BYTES = 1 << 16  # sent at once


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
