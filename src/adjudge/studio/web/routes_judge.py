"""What the judge's page asks for. A handler reads, calls, answers: all thinking is in commands and views."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from adjudge.studio.gates.gates import problems
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.web.headers import framers
from adjudge.studio.web.sessions import Caller, judge, slow_down, studio_of
from adjudge.studio.web.viewer import document_headers, safe_document
from adjudge.studio.work import commands as c
from adjudge.studio.work import views as v
from adjudge.studio.work.commands import problem_rows

router = APIRouter()
Token = Annotated[str, Field(min_length=1, max_length=64)]
SHORT = 10_000  # characters of a document that is made safe in less than a millisecond


def _writable(text: str) -> str:
    """Return a text that every database can keep."""
    if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise ValueError("has a character that cannot be kept")
    return text


Comment = Annotated[str, Field(max_length=2_000), AfterValidator(_writable)]


class Body(BaseModel):
    """What a page sends: nothing but what is expected."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Given(Body):
    """The present state of one document's answer."""

    key: Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_writable)]
    slot: Annotated[int, Field(ge=0, lt=100)]
    relevance: Literal[0, 1] | None
    told: bool
    rank: Annotated[int, Field(ge=1, le=100)] | None
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
    comment: Comment = ""


class Answers(Body):
    """Answers of one set."""

    set: Token
    answers: Annotated[list[Given], Field(max_length=100)] = []

    def rows(self) -> list[dict[str, Any]]:
        """Return the answers as rows."""
        return [answer.model_dump() for answer in self.answers]


class OfSet(Body):
    """A set."""

    set: Token


class OfAssignment(Body):
    """An assignment."""

    assignment: Token


class Contest(Body):
    """Why gold is held to be wrong."""

    set: Token
    slot: Annotated[int, Field(ge=0, lt=100)]
    comment: Comment


class Language(Body):
    """The language a judge reads."""

    language: Literal["en", "de"]


@router.get("/api/state")
async def state(request: Request) -> dict[str, Any]:
    """Say where a judge stands."""
    return await studio_of(request).look(v.state_view, judge(request).person.id)


@router.post("/api/assignment")
async def assignment(request: Request) -> dict[str, Any]:
    """Give the open assignment, or a new one."""
    studio, who = studio_of(request), judge(request)
    taken: dict[str, Any] = await studio.do(
        c.take_assignment, who.person.id, studio.rng, who.bound, then=_assignment_then(who)
    )
    return taken


def _assignment_then(who: Caller) -> Any:
    """Return the view of the assignment a judge has."""

    def view(ledger: Ledger, now: float, _: Any) -> dict[str, Any]:
        held = c.current_assignment(ledger, ledger.people[who.person.id])
        return v.assignment_view(ledger, now, held) if held is not None else {}

    return view


@router.post("/api/answers")
async def answers(request: Request, body: Answers) -> dict[str, Any]:
    """Keep answers, and say what is incompatible in them."""

    def view(ledger: Ledger, now: float, saved: list[str]) -> dict[str, Any]:
        one = ledger.set_of[body.set]
        left = v.seconds_left(ledger, now, ledger.assignments[one.assignment])
        return {"saved": saved, "problems": problem_rows(problems(one.answers)), "seconds_left": left}

    kept: dict[str, Any] = await studio_of(request).do(
        c.save_answers, judge(request).person.id, body.set, body.rows(), then=view
    )
    return kept


@router.post("/api/finish")
async def finish(request: Request, body: Answers) -> Any:
    """Leave a set for the next, or for the review."""

    def view(ledger: Ledger, now: float, done: tuple[int, Any]) -> tuple[int, dict[str, Any]]:
        number, wrong = done
        if wrong:
            what = {"error": "The answers do not fit together yet.", "code": "incompatible"}
            return 409, {**what, "problems": problem_rows(wrong)}
        held = ledger.assignments[number]
        if held.outcome and held.sets[-1].finished is None:
            return 410, {"error": "This assignment is over: its time ran out, or it was given up.", "code": "over"}
        if held.outcome:
            return 200, {"review": v.review_view(ledger, held)}
        return 200, v.assignment_view(ledger, now, held)

    studio, who = studio_of(request), judge(request)
    status, told = await studio.do(c.finish_set, who.person.id, body.set, body.rows(), then=view)
    return JSONResponse(told, status)


@router.get("/api/review/{token}")
async def review(request: Request, token: str) -> dict[str, Any]:
    """Show how the last assignment was graded."""
    who = judge(request)

    def view(ledger: Ledger, now: float) -> dict[str, Any]:
        return v.review_view(ledger, c.own_assignment(ledger, who.person.id, token))

    return await studio_of(request).look(view)


@router.post("/api/contest")
async def contest(request: Request, body: Contest) -> dict[str, bool]:
    """Hear that gold is wrong."""
    await studio_of(request).do(c.contest, judge(request).person.id, body.set, body.slot, body.comment)
    return {"contested": True}


@router.post("/api/submit")
async def submit(request: Request, body: OfAssignment) -> dict[str, Any]:
    """Close an assignment that passed, and give its completion code."""
    from adjudge.studio.identity.platforms import completion_return

    studio, who = studio_of(request), judge(request)
    number, code = await studio.do(c.submit, who.person.id, body.assignment)
    held = studio.ledger.assignments.get(number)
    return {"code": code, **completion_return("" if held is None else held.outside, code, studio.campaign.settings)}


@router.post("/api/release")
async def release(request: Request, body: OfAssignment) -> dict[str, bool]:
    """Take an assignment back from a judge who gives it up."""
    await studio_of(request).do(c.release, judge(request).person.id, body.assignment)
    return {"released": True}


@router.post("/api/alive")
async def alive(request: Request, body: OfSet) -> dict[str, bool]:
    """Hold the lease of a judge who is reading."""
    await studio_of(request).do(c.keep_alive, judge(request).person.id, body.set)
    return {"alive": True}


@router.post("/api/language")
async def language(request: Request, body: Language) -> dict[str, str]:
    """Remember the language a judge reads."""
    await studio_of(request).do(c.choose_language, judge(request).person.id, body.language)
    return {"language": body.language}


@router.get("/documents/{token}/{slot}")
async def document(request: Request, token: str, slot: int, find: str = "") -> HTMLResponse:
    """Show a document of a set that a judge has: the address is the right to see it."""
    page, _ = await _shown(request, token, slot, find)
    crowd = studio_of(request).campaign.settings.mturk
    return HTMLResponse(page, headers=document_headers(framed_by=framers(crowd.submit_hosts if crowd.enabled else ())))


@router.get("/documents/{token}/{slot}/matches")
async def matches(request: Request, token: str, slot: int, find: str = "") -> dict[str, int]:
    """Say how often words are in a document."""
    return {"matches": (await _shown(request, token, slot, find))[1]}


async def _shown(request: Request, token: str, slot: int, find: str) -> tuple[str, int]:
    """Return a document made safe, and the matches in it."""
    studio = studio_of(request)
    slow_down(request, "document", token)
    name = c.document_name(studio.ledger, token, slot)
    shown = studio.campaign.documents.document(name)
    most = studio.campaign.settings.documents.most_bytes
    if len(shown.content) < SHORT:
        return safe_document(shown, find[:200], most)
    return await asyncio.to_thread(safe_document, shown, find[:200], most)  # a long one holds nobody up
