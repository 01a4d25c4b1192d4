"""Routes of the desk's pages on which a lead changes the campaign: settings, instructions, topics, gold, documents.

A form leads to a page that says what would change and what it means; confirmed there, it is saved. Everything that
decides is in ``desk.campaign_edits``; the history comes from ``record.revisions``.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from starlette.datastructures import FormData, UploadFile

from adjudge.data.files import read_content
from adjudge.errors import quote
from adjudge.studio.campaign import add_documents, add_pairs
from adjudge.studio.campaign_files import GOLD_FILE, POOL_FILE, SETS_FILE, TOPICS_FILE
from adjudge.studio.desk.campaign_edits import (
    Content,
    Edit,
    EditProblems,
    gold_edit,
    gold_rows,
    preview_edit,
    save_edit,
    topic_edit,
    topic_rows,
)
from adjudge.studio.desk.differences import line_differences
from adjudge.studio.desk.gold import Contest, read_contests
from adjudge.studio.desk.settings_form import INSTRUCTIONS, edited_settings, read_form, settings_sections
from adjudge.studio.documents import DOCUMENTS_FILE
from adjudge.studio.record.revisions import (
    PAGE,
    content_before,
    content_of,
    last_revisions,
    list_changes,
    read_revision,
    text_of,
)
from adjudge.studio.records import Gold, Pair, Refused, Topic
from adjudge.studio.settings import FILE as SETTINGS_FILE
from adjudge.studio.settings import Settings
from adjudge.studio.studio import Studio
from adjudge.studio.web.render import desk_page, form_integer, redirect_done
from adjudge.studio.web.security import Caller, require_caller, require_role, studio_of
from adjudge.studio.work.views import paragraphs

BASE = "/desk/campaign"
router = APIRouter(prefix=BASE)
LARGEST_ID = (1 << 31) - 1
ROWS = 100  # of a list on one page
MOST_PREVIEW = 20_000  # characters
LONGEST_NAME = 240  # bytes of the name of a file
Find = Annotated[str, Query(max_length=200)]
Name = Annotated[str, Query(max_length=200)]
Number = Annotated[int, Path(le=LARGEST_ID)]
Offset = Annotated[int, Query(ge=0, le=LARGEST_ID)]
Before = Annotated[int | None, Query(le=LARGEST_ID)]
Again = Callable[[Sequence[str]], Awaitable[Response]]  # the page of a form, with problems
NOT_SENT = ("csrf", "confirmed", "preview")  # fields that a confirmation does not repeat


async def _read_form(request: Request, files: int = 0) -> tuple[Caller, FormData]:
    """Return a lead and the form that they sent, with up to some files; others are refused before it is read."""
    require_role(request, "edit")
    form = await request.form(max_files=files, max_fields=200, max_part_size=1_000_000)
    return require_caller(request, "edit", _text(form, "csrf") or None), form


def _text(form: FormData, name: str) -> str:
    """Return a field of a form, its last one if there are several; empty without it."""
    values = [value for value in form.getlist(name) if isinstance(value, str)]
    return values[-1] if values else ""


def _fields(form: FormData) -> dict[str, str]:
    """Return the fields of a form that a confirmation sends again."""
    return {name: _text(form, name) for name in form if name not in NOT_SENT}


def _base(form: FormData, *files: str) -> dict[str, str]:
    """Return the revisions that the editor of some files has seen."""
    return {file: _text(form, f"base-{file}") for file in files}


async def _apply(
    request: Request, form: FormData, edit: Edit, back: str, again: Again, broken: Mapping[str, str] | None = None
) -> Response:
    """Show what an edit would change or, if that was confirmed, save it; problems are shown with the form."""
    caller, studio, needs = require_role(request, "edit"), studio_of(request), "2" if broken else "1"
    try:
        if _text(form, "confirmed") == needs:
            await save_edit(studio, caller.person.id, edit)
            studio_of(request).kept.forget("overview")
            return redirect_done(f"{BASE}/{back}".rstrip("/"), "saved")
        prepared = await preview_edit(studio, edit)
    except EditProblems as error:
        return await again(error.problems)
    except Refused as error:
        if error.code == "changed":
            return await _stale_page(request, caller, error)
        if error.code == "nothing":
            return await again([str(error)])
        raise
    values = {"prepared": prepared, "fields": _fields(form), "broken": broken or {}, "needs": needs}
    return desk_page(request, caller, "campaign_confirm.html", "Check the change", **values)


async def _stale_page(request: Request, caller: Caller, error: Refused) -> Response:
    """Show what others have changed since an editor looked at a file."""
    studio, file = studio_of(request), error.more["file"]

    def contents(connection: Any) -> tuple[str, str]:
        shas = (error.more["base"], studio.ledger.files.get(file, ""))
        before, after = (text_of(content_of(connection, file, sha)) for sha in shas)
        return before, after

    lines = line_differences(file, *await studio.read(contents))
    response = desk_page(request, caller, "campaign_stale.html", "Not saved", lines=lines, file=file)
    response.status_code = 409
    return response


# Settings and instructions


@router.get("")
async def settings(request: Request) -> Response:
    """Show the settings."""
    return await _settings_page(request, require_caller(request, "desk"))


async def _settings_page(
    request: Request,
    caller: Caller,
    sent: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    problems: Sequence[str] = (),
) -> Response:
    """Return the form of the settings, with what was sent and its errors."""
    sections = settings_sections(studio_of(request).campaign.settings, sent, errors)
    values = {"sections": sections, "errors": errors or {}, "problems": problems}
    return _campaign_page(request, caller, "campaign_settings.html", "Settings", **values)


@router.post("/settings")
async def change_settings(request: Request) -> Response:
    """Change settings."""
    caller, form = await _read_form(request)
    sent = _fields(form)
    changed, errors = read_form(sent, studio_of(request).campaign.settings)
    if errors:
        return await _settings_page(request, caller, sent, errors)
    edit = await _settings_edit(studio_of(request), changed, form)

    async def again(problems: Sequence[str]) -> Response:
        return await _settings_page(request, caller, sent, {}, problems)

    return await _apply(request, form, edit, "", again)


async def _settings_edit(studio: Studio, changed: Settings, form: FormData) -> Edit:
    """Return the edit of campaign.toml that has these settings."""
    path = studio.campaign.folder / SETTINGS_FILE
    content = await asyncio.to_thread(read_content, path, SETTINGS_FILE, empty=True)
    return Edit({SETTINGS_FILE: edited_settings(content.text, changed).encode()}, _base(form, SETTINGS_FILE))


@router.get("/instructions")
async def instructions(request: Request) -> Response:
    """Show what judges read before they begin."""
    caller = require_caller(request, "desk")
    return await _instructions_page(request, caller, studio_of(request).campaign.settings.campaign.instructions)


async def _instructions_page(request: Request, caller: Caller, text: str, problems: Sequence[str] = ()) -> Response:
    """Return the form of the instructions with a preview of them."""
    values = {"text": text, "preview": paragraphs(text[:MOST_PREVIEW].replace("\r\n", "\n")), "problems": problems}
    return _campaign_page(request, caller, "campaign_instructions.html", "Instructions", **values)


@router.post("/instructions")
async def change_instructions(request: Request) -> Response:
    """Preview or change the instructions."""
    caller, form = await _read_form(request)
    text = _text(form, INSTRUCTIONS)
    changed, errors = read_form({INSTRUCTIONS: text}, studio_of(request).campaign.settings)
    if errors or _text(form, "preview"):
        return await _instructions_page(request, caller, text, list(errors.values()))
    edit = await _settings_edit(studio_of(request), changed, form)

    async def again(problems: Sequence[str]) -> Response:
        return await _instructions_page(request, caller, text, problems)

    return await _apply(request, form, edit, "instructions", again)


# Topics


@router.get("/topics")
async def topics(request: Request, find: Find = "", topic: Name = "", offset: Offset = 0) -> Response:
    """Show the topics, and the form of one of them."""
    caller = require_caller(request, "desk")
    edited = studio_of(request).campaign.topics.get(topic)
    return await _topics_page(request, caller, edited, False, find=find, offset=offset)


async def _topics_page(
    request: Request,
    caller: Caller,
    edited: Topic | None,
    new: bool,
    problems: Sequence[str] = (),
    find: str = "",
    offset: int = 0,
) -> Response:
    """Return the list of topics with the form of one."""
    rows = topic_rows(studio_of(request).campaign, find)
    values = {"edited": edited, "new": new, "problems": problems, **_part(rows, find, offset)}
    return _campaign_page(request, caller, "campaign_topics.html", "Topics", **values)


@router.post("/topics")
async def change_topic(request: Request) -> Response:
    """Change a topic, or add one."""
    caller, form = await _read_form(request)
    topic = Topic(*(_text(form, name).replace("\r\n", "\n").strip() for name in ("topic", *Topic._fields[1:])))
    new = _text(form, "new") == "1"
    edit = topic_edit(studio_of(request).campaign, topic, new, _base(form, TOPICS_FILE))

    async def again(problems: Sequence[str]) -> Response:
        return await _topics_page(request, caller, topic, new, problems)

    return await _apply(request, form, edit, "topics", again)


def _part(rows: Sequence[Any], find: str, offset: int) -> dict[str, Any]:
    """Return the rows of one page of a list."""
    part = {"rows": rows[offset : offset + ROWS], "of": len(rows), "find": find, "offset": offset}
    return {**part, "next_offset": offset + ROWS if offset + ROWS < len(rows) else None}


# Gold


@router.get("/gold")
async def gold(
    request: Request, find: Find = "", topic: Name = "", document: Name = "", offset: Offset = 0
) -> Response:
    """Show the graded documents, and the form of one of them."""
    caller = require_caller(request, "desk")
    return await _gold_page(request, caller, (topic, document), find=find, offset=offset)


async def _gold_page(
    request: Request, caller: Caller, pair: Pair, problems: Sequence[str] = (), find: str = "", offset: int = 0
) -> Response:
    """Return the list of gold with the form of one document."""
    studio = studio_of(request)
    contested = await studio.read(lambda connection: _wrong_gold(studio, read_contests(connection)))
    values = {"pair": pair, "edited": studio.campaign.gold.get(pair), "problems": problems}
    part = _part(gold_rows(studio.campaign, find, contested), find, offset)
    return _campaign_page(request, caller, "campaign_gold.html", "Gold", **values, **part, wrong=contested)


def _wrong_gold(studio: Studio, contests: Sequence[Contest]) -> dict[Pair, Contest]:
    """Return the pairs whose gold was ruled wrong and is not corrected, with the last contest that was upheld."""
    return {
        (contest.topic, contest.document): contest
        for contest in reversed(contests)
        if contest.upheld and contest.item in studio.ledger.overruled
    }


@router.post("/gold")
async def change_gold(request: Request) -> Response:
    """Add, change or remove the gold of a document."""
    caller, form = await _read_form(request)
    pair = (_text(form, "topic").strip(), _text(form, "document").strip())
    entry = None
    if not _text(form, "remove"):
        reason = _text(form, "reason").replace("\r\n", "\n").strip()
        entry = Gold(form_integer(_text(form, "grade"), "grade", 0, 2), reason)
    edit, broken = gold_edit(studio_of(request).campaign, pair, entry, _base(form, GOLD_FILE, SETS_FILE))

    async def again(problems: Sequence[str]) -> Response:
        return await _gold_page(request, caller, pair, problems)

    return await _apply(request, form, edit, "gold", again, broken)


# Documents and pairs


@router.get("/documents")
async def documents(request: Request) -> Response:
    """Show the form that adds documents and pairs."""
    return _documents_page(request, require_caller(request, "desk"))


def _documents_page(request: Request, caller: Caller, **values: Any) -> Response:
    """Return the form that adds documents and pairs, with the result of an upload."""
    values = {"problems": (), "prepared": None, **values}
    return _campaign_page(request, caller, "campaign_documents.html", "Documents", **values)


@router.post("/documents")
async def upload_documents(request: Request) -> Response:
    """Add documents and pairs to judge."""
    caller, form = await _read_form(request, files=2)
    with tempfile.TemporaryDirectory() as folder:
        try:
            contents = await _uploaded_contents(studio_of(request), form, FilePath(folder))
            if not contents:
                return _documents_page(request, caller, problems=["Choose a file of documents, of pairs, or both."])
            prepared = await save_edit(studio_of(request), caller.person.id, Edit(contents))
        except EditProblems as error:
            return _documents_page(request, caller, problems=error.problems)
        finally:
            await form.close()
    studio_of(request).kept.forget("overview")
    return _documents_page(request, caller, prepared=prepared)


async def _uploaded_contents(studio: Studio, form: FormData, folder: FilePath) -> dict[str, Content]:
    """Store uploaded files in a temporary folder, and return what writes the campaign's files with them."""
    contents: dict[str, Content] = {}
    for name, file, add in (("documents", DOCUMENTS_FILE, add_documents), ("pairs", POOL_FILE, add_pairs)):
        source = await store_upload(form.get(name), folder / name)
        if source is not None:
            contents[file] = partial(add, studio.campaign, source)
    return contents


async def store_upload(upload: UploadFile | str | None, folder: FilePath) -> FilePath | None:
    """Store an uploaded file under its own name in a folder of a temporary one; None if there is none."""
    if not isinstance(upload, UploadFile) or not upload.filename:
        return None
    name = re.sub(r"[\x00-\x1f\x7f]", "_", upload.filename.replace("\\", "/").rpartition("/")[2]).lstrip(". ")
    path = folder / (name.encode(errors="replace")[-LONGEST_NAME:].decode(errors="ignore") or "file")
    if path.exists():
        raise Refused(422, "twice", f"Two files are called {quote(path.name)}: rename one.")
    folder.mkdir(exist_ok=True)
    with open(path, "wb") as file:
        while piece := await upload.read(1 << 20):
            file.write(piece)
    return path


# History


@router.get("/history")
async def history(request: Request, before: Before = None) -> Response:
    """Show what was changed, by whom, and the files that were changed outside of the studio."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    changes = await studio.read(list_changes, before)
    outside, prepared = await studio.look_at_files(), None
    problems: Sequence[str] = ()
    try:
        prepared = await preview_edit(studio, Edit(source="files")) if outside else None
    except EditProblems as error:
        problems = error.problems
    latest = await studio.read(last_revisions)
    older = changes[-1].id if len(changes) == PAGE else None
    values = {
        "changes": changes,
        "before": before,
        "older": older,
        "outside": outside,
        "problems": problems,
        "prepared": prepared,
    }
    return _campaign_page(request, caller, "campaign_history.html", "History", latest=latest, **values)


@router.post("/history/files")
async def use_files(request: Request) -> Response:
    """Use files that somebody has changed outside of the studio."""
    caller, _ = await _read_form(request)
    await save_edit(studio_of(request), caller.person.id, Edit(source="files"))
    studio_of(request).kept.forget("overview")
    return redirect_done(f"{BASE}/history", "saved")


@router.get("/history/{number}")
async def revision(request: Request, number: Number) -> Response:
    """Show one revision: its difference from the one before, or from the present file."""
    caller, studio = require_caller(request, "desk"), studio_of(request)
    stored = await studio.read(read_revision, number)
    if stored is None:
        raise Refused(404, "revision", "There is no such revision.")
    entry, content = stored
    before = await studio.read(content_before, entry)
    lines = line_differences(entry.file, text_of(before), text_of(content)) if before is not None else []
    values = {"revision": entry, "lines": lines, "first": before is None, "kept": content is not None}
    current = studio.ledger.files.get(entry.file) == entry.sha256
    return _campaign_page(request, caller, "campaign_revision.html", entry.file, current=current, **values)


@router.post("/history/{number}/restore")
async def restore(request: Request, number: Number) -> Response:
    """Restore the content that a file had; that is a new revision."""
    caller, form = await _read_form(request)
    studio = studio_of(request)
    stored = await studio.read(read_revision, number)
    if stored is None or stored[1] is None:
        raise Refused(404, "revision", "There is no such revision, or its content is not kept.")
    edit = Edit({stored[0].file: stored[1]}, _base(form, stored[0].file), "restored")

    async def again(problems: Sequence[str]) -> Response:
        return _campaign_page(request, caller, "campaign_problems.html", "Not restored", problems=problems)

    return await _apply(request, form, edit, "history", again)


def _campaign_page(request: Request, caller: Caller, template: str, title: str, **values: Any) -> Response:
    """Return a page of the campaign's files, with the revisions that a form is based on; 422 with problems."""
    response = desk_page(request, caller, template, title, files=studio_of(request).ledger.files, **values)
    response.status_code = 422 if values.get("problems") or values.get("errors") else 200
    return response
