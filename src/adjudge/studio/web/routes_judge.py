"""Routes of the judge's page. A handler reads, calls and responds; all decisions are in ``work.commands``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from adjudge.studio.gates import Problem, problems
from adjudge.studio.platforms import completion_return
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.web.security import check_rate, frame_origins, require_judge, studio_of
from adjudge.studio.web.viewer import document_headers, safe_document
from adjudge.studio.work import commands, views

router = APIRouter()
Token = Annotated[str, Field(min_length=1, max_length=64)]
SHORT = 10_000  # characters of a document that is made safe in less than a millisecond


def _storable(text: str) -> str:
    """Return a text that every database can store: without NUL and without surrogates."""
    if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise ValueError("contains a character that cannot be stored")
    return text


Comment = Annotated[str, Field(max_length=2_000), AfterValidator(_storable)]


class Body(BaseModel):
    """A request body; unexpected fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DocumentAnswer(Body):
    """The current state of the answer to one document."""

    key: Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_storable)]
    slot: Annotated[int, Field(ge=0, lt=100)]
    relevance: Literal[0, 1] | None
    told: bool  # whether the judge has chosen a label; relevance None is then "cannot tell"
    rank: Annotated[int, Field(ge=1, le=100)] | None
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
    comment: Comment = ""


class SetAnswers(Body):
    """Answers to documents of one set."""

    set: Token
    answers: Annotated[list[DocumentAnswer], Field(max_length=100)] = []

    def rows(self) -> list[dict[str, Any]]:
        """Return the answers as rows."""
        return [answer.model_dump() for answer in self.answers]


class FinishedSet(SetAnswers):
    """The answers to all documents of a set, which is finished with them."""

    hold: bool = False  # whether a set that took too little time stays open; otherwise the work is returned at its end


class SetReference(Body):
    """The token of a set."""

    set: Token


class AssignmentReference(Body):
    """The token of an assignment."""

    assignment: Token


class Contest(Body):
    """Why a judge thinks that gold is wrong."""

    set: Token
    slot: Annotated[int, Field(ge=0, lt=100)]
    comment: Comment


class Language(Body):
    """The language that a judge reads."""

    language: Literal["en", "de"]


@router.get("/api/state")
async def state(request: Request) -> dict[str, Any]:
    """Return what a judge can do now."""
    return await studio_of(request).look(views.state_view, require_judge(request).person.id)


@router.post("/api/assignment")
async def assignment(request: Request) -> dict[str, Any]:
    """Return the judge's open assignment, or a new one."""
    studio, judge = studio_of(request), require_judge(request)

    def view(ledger: Ledger, now: float, _: Any) -> dict[str, Any]:
        current = commands.current_assignment(ledger, ledger.people[judge.person.id])
        return views.assignment_view(ledger, now, current) if current is not None else {}

    response: dict[str, Any] = await studio.do(
        commands.take_assignment, judge.person.id, studio.rng, judge.bound, then=view
    )
    return response


@router.post("/api/answers")
async def save_answers(request: Request, body: SetAnswers) -> dict[str, Any]:
    """Save answers, and return which of them do not fit together."""

    def view(ledger: Ledger, now: float, saved: list[str]) -> dict[str, Any]:
        current = ledger.set_of[body.set]
        left = views.seconds_left(ledger, now, ledger.assignments[current.assignment])
        missing = commands.missing_seconds(ledger, now, current, current.answers)
        rows = commands.problem_rows(problems(current.answers))
        return {"saved": saved, "problems": rows, "seconds_left": left, "missing": missing}

    response: dict[str, Any] = await studio_of(request).do(
        commands.save_answers, require_judge(request).person.id, body.set, body.rows(), then=view
    )
    return response


@router.post("/api/finish")
async def finish(request: Request, body: FinishedSet) -> Any:
    """Finish a set, and return the next set or the review."""

    def view(ledger: Ledger, now: float, finished: tuple[int, Any]) -> tuple[int, dict[str, Any]]:
        number, wrong = finished
        if wrong:
            return 409, _incompatible(ledger, now, body.set, wrong)
        current = ledger.assignments[number]
        if current.outcome and current.sets[-1].finished is None:
            return 410, {"error": "This assignment is over: it expired or was given up.", "code": "over"}
        if current.outcome:
            return 200, {"review": views.review_view(ledger, current)}
        return 200, views.assignment_view(ledger, now, current)

    studio, judge = studio_of(request), require_judge(request)
    status, response = await studio.do(
        commands.finish_set, judge.person.id, body.set, body.rows(), body.hold, then=view
    )
    return JSONResponse(response, status)


def _incompatible(ledger: Ledger, now: float, token: str, wrong: Sequence[Problem]) -> dict[str, Any]:
    """Return why a set cannot be finished yet; if too little time was spent, with the missing seconds of documents."""
    detail = {"problems": commands.problem_rows(wrong)}
    if wrong[0].kind != "brief":
        return {"error": "The answers do not fit together yet.", "code": "incompatible", **detail}
    current = ledger.set_of[token]
    missing = commands.missing_seconds(ledger, now, current, current.answers)
    least = ledger.settings_at(ledger.assignments[current.assignment].at).gate.seconds
    error = f"Every document needs at least {least:g} s of active time."
    return {"error": error, "code": "brief", **detail, "missing": missing}


@router.get("/api/review/{token}")
async def review(request: Request, token: str) -> dict[str, Any]:
    """Return how the last assignment was graded."""
    judge = require_judge(request)

    def view(ledger: Ledger, now: float) -> dict[str, Any]:
        return views.review_view(ledger, commands.own_assignment(ledger, judge.person.id, token))

    return await studio_of(request).look(view)


@router.post("/api/contest")
async def contest(request: Request, body: Contest) -> dict[str, bool]:
    """Record that a judge contests a gold label."""
    judge = require_judge(request)
    await studio_of(request).do(commands.contest, judge.person.id, body.set, body.slot, body.comment)
    return {"contested": True}


@router.post("/api/submit")
async def submit(request: Request, body: AssignmentReference) -> dict[str, Any]:
    """Submit an assignment that passed, and return its completion code."""
    studio, judge = studio_of(request), require_judge(request)
    number, code = await studio.do(commands.submit, judge.person.id, body.assignment)
    submitted = studio.ledger.assignments.get(number)
    outside = "" if submitted is None else submitted.outside
    return {"code": code, **completion_return(outside, code, studio.campaign.settings)}


@router.post("/api/release")
async def release(request: Request, body: AssignmentReference) -> dict[str, bool]:
    """Take back an assignment that a judge gives up."""
    await studio_of(request).do(commands.release, require_judge(request).person.id, body.assignment)
    return {"released": True}


@router.post("/api/alive")
async def keep_alive(request: Request, body: SetReference) -> dict[str, bool]:
    """Extend the lease of a judge who is reading."""
    await studio_of(request).do(commands.keep_alive, require_judge(request).person.id, body.set)
    return {"alive": True}


@router.post("/api/language")
async def language(request: Request, body: Language) -> dict[str, str]:
    """Save the language that a judge reads."""
    await studio_of(request).do(commands.choose_language, require_judge(request).person.id, body.language)
    return {"language": body.language}


@router.get("/documents/{token}/{slot}")
async def document(request: Request, token: str, slot: int, find: str = "") -> HTMLResponse:
    """Show a document of a judge's set; its address contains the set's secret token, so no session is needed."""
    text, _ = await _safe_document(request, token, slot, find)
    mturk = studio_of(request).campaign.settings.mturk
    origins = frame_origins(mturk.submit_hosts if mturk.enabled else ())
    return HTMLResponse(text, headers=document_headers(framed_by=origins))


@router.get("/documents/{token}/{slot}/matches")
async def matches(request: Request, token: str, slot: int, find: str = "") -> dict[str, int]:
    """Return how often a phrase occurs in a document."""
    return {"matches": (await _safe_document(request, token, slot, find))[1]}


async def _safe_document(request: Request, token: str, slot: int, find: str) -> tuple[str, int]:
    """Return a document made safe, and the number of matches in it; long ones are processed in a thread."""
    studio = studio_of(request)
    name = commands.document_name(studio.ledger, token, slot)
    check_rate(request, "document", token)  # of a token that exists: invented ones are long, and would fill the memory
    source = studio.campaign.documents.document(name)
    most = studio.campaign.settings.documents.most_bytes
    if len(source.content) < SHORT:
        return safe_document(source, find[:200], most)
    return await asyncio.to_thread(safe_document, source, find[:200], most)
