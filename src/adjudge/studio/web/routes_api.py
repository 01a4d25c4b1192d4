"""The documented API for programs: ``/api/v1/...`` with a token, described by OpenAPI at ``/api/openapi.json``.

Within version 1, routes and fields are only added. Lists come in pages, the oldest rows first: a program passes the
``next`` of a page as ``after`` of the following one, and keeps it to ask later for what is new.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Security
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from fastapi.security import HTTPBearer, SecurityScopes

from adjudge.studio.consensus import read_summary
from adjudge.studio.desk import feeds
from adjudge.studio.desk.decisions import invite_by_token
from adjudge.studio.desk.exports import EXPORTS
from adjudge.studio.events import read_events
from adjudge.studio.record import schema
from adjudge.studio.record.store import Row
from adjudge.studio.records import Refused
from adjudge.studio.web import api_schemas as schemas
from adjudge.studio.web.routes_desk import LARGEST_ID, overview_json, receive_judgments, send_export
from adjudge.studio.web.security import check_host, link_to, require_token, root_of, studio_of

VERSION = "1.0"
MOST = 1_000  # rows on a page
ABOUT = """\
Programs use this API with a token, which a lead creates at the desk (People, API tokens) with one or more scopes:
`read` (numbers), `export` (judgments, labels, people), `import` (send judgments) and `invite` (create invitations).
Send it in the header `Authorization: Bearer adj_...`.

Times are seconds since 1970 in UTC. Every error is JSON with `error`, a sentence for people, and `code`, a word for
programs; 429 and 503 have the header `Retry-After`. Within version 1, routes and fields are only added.
"""
ERRORS = {
    400: "The body cannot be read.",
    401: "The token is missing, unknown or revoked.",
    403: "The token does not have the scope.",
    404: "There is no such thing.",
    409: "The present state does not allow this.",
    413: "The body is too large.",
    422: "A value is not valid; the sentence names it.",
    429: "Too many requests; try again after the seconds in `Retry-After`.",
    503: "The studio cannot do this now; try again after the seconds in `Retry-After`.",
}
HOST = "The request names another host than the address that the studio was started with (`adjudge serve --url`)."
TABLE = {"schema": {"type": "string", "format": "binary"}}
IMPORT_BODY = {
    "required": True,
    "description": "judgments (`topic, document, judge, label`, and optionally `rank, seconds, comment`), or answers "
    "of a program to prompts (JSON lines with `id` and `answer`); any format that `adjudge read` knows",
    "content": {
        "text/csv": {**TABLE, "example": "topic,document,judge,label\ntea,d1,ann,relevant\n"},
        "application/x-ndjson": {**TABLE, "example": '{"topic": "tea", "document": "d1", "judge": "m", "label": 1}\n'},
        "application/octet-stream": TABLE,
    },
}
FILES = {export.kind.partition(";")[0]: TABLE for export in EXPORTS.values()}
BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="An API token, which begins with `adj_`.")

router = APIRouter(
    prefix="/api/v1",
    responses={code: {"model": schemas.Error, "description": text} for code, text in ERRORS.items()},
    generate_unique_id_function=lambda route: route.name,
)
description = APIRouter()
After = Annotated[int, Query(ge=0, le=LARGEST_ID, description="only rows with a larger number")]
Most = Annotated[int, Query(alias="limit", ge=1, le=MOST, description="rows on the page")]
Pseudonyms = Annotated[bool, Query(description="judge-7 instead of names")]
ExportName = Annotated[str, Path(json_schema_extra={"enum": list(EXPORTS)}, examples=["judgments"])]


def token_name(request: Request, scopes: SecurityScopes, _: Annotated[Any, Depends(BEARER)]) -> str:
    """Return the name of the token that a program sends, or refuse one without the scope of the route."""
    return require_token(request, scopes.scopes[0])


def needs(scope: str) -> Any:
    """Return the dependency of a route that needs a token with a scope."""
    return Security(token_name, scopes=[scope])


def _page(name: str, rows: list[Row], most: int, after: int) -> dict[str, Any]:
    """Return the first ``most`` rows with the number to continue after, and whether there are more."""
    page = rows[:most]
    return {name: page, "next": page[-1]["id"] if page else after, "more": len(rows) > most}


@router.get("/judgments", dependencies=[needs("export")], summary="Judgments that were accepted")
async def judgments(
    request: Request, after: After = 0, most: Most = MOST, pseudonyms: Pseudonyms = False
) -> schemas.Judgments:
    """Follow the judgments: ask for those after the last id that you have.

    A judgment is accepted when its assignment passes the gate or is approved, or when it is imported. Exclusions and
    reinstatements of judges change `counts` of earlier judgments: follow the events `judge.excluded` and
    `judge.reinstated`.
    """
    rows = await studio_of(request).read(feeds.judgment_feed, after, most + 1, pseudonyms)
    return schemas.Judgments.model_validate(_page("judgments", rows, most, after))


@router.post(
    "/judgments",
    summary="Import judgments",
    dependencies=[needs("import")],
    openapi_extra={"requestBody": IMPORT_BODY},
)
async def import_judgments(
    request: Request,
    judge: Annotated[str, Query(max_length=100, description="the judge of rows that name none")] = "",
    name: Annotated[str, Query(max_length=200, description="name of the file, for messages")] = "upload",
) -> schemas.Imported:
    """Send a file as the body. Sending it again adds what is missing, and skips what is there already.

    The answer is 200 also if rows have problems: nothing was imported then, and `problems` lists them.
    """
    return schemas.Imported.model_validate(await receive_judgments(request, judge, name))


@router.get("/consensus", dependencies=[needs("export")], summary="Labels with their probabilities")
async def consensus(request: Request, after: After = 0, most: Most = MOST) -> schemas.ConsensusLabels:
    """Read the labels of all items, by the numbers of items; they change with every fit.

    409 `consensus` says that there is none yet.
    """
    studio = studio_of(request)
    summary = read_summary(studio.campaign.folder)
    rows = await studio.read(feeds.consensus_feed, studio.campaign.folder, after, most)
    if rows is None or summary is None:
        raise Refused(409, "consensus", "There is no consensus yet: it appears some seconds after the first judgments.")
    last = studio.ledger.next_id(schema.items) - 1
    page = {"next": min(after + most, max(last, after)), "more": after + most < last}
    return schemas.ConsensusLabels.model_validate({"consensus": summary, "items": rows, **page})


@router.get("/assignments", dependencies=[needs("export")], summary="Assignments with their verdicts")
async def assignments(
    request: Request,
    after: After = 0,
    most: Most = MOST,
    state: Annotated[Literal["open", "ended"] | None, Query(description="only those of this state")] = None,
    pseudonyms: Pseudonyms = False,
) -> schemas.Assignments:
    """Read assignments by their numbers. An assignment changes when it ends: follow the events for that."""
    rows = await studio_of(request).read(feeds.assignment_feed, after, most + 1, pseudonyms, state)
    return schemas.Assignments.model_validate(_page("assignments", rows, most, after))


@router.get("/people", dependencies=[needs("export")], summary="People, their roles and standings")
async def people(
    request: Request, after: After = 0, most: Most = MOST, pseudonyms: Pseudonyms = False
) -> schemas.People:
    """Read people by their numbers."""
    studio = studio_of(request)
    rows = await studio.read(feeds.people_feed, studio.ledger, after, most + 1, pseudonyms)
    return schemas.People.model_validate(_page("people", rows, most, after))


@router.post(
    "/invitations",
    dependencies=[Depends(check_host)],
    status_code=201,
    summary="Invite a judge or a reviewer",
    responses={421: {"model": schemas.Error, "description": HOST}},
)
async def invite(
    request: Request, body: schemas.NewInvitation, token: Annotated[str, needs("invite")]
) -> schemas.InvitationLink:
    """Create an invitation and return its link, this one time."""
    studio = studio_of(request)
    number = await studio.do(invite_by_token, token, body.role, body.name, body.days)
    link = link_to(request, f"/join/{studio.signer.invitation(number)}")
    return schemas.InvitationLink(id=number, link=link)


@router.get("/events", dependencies=[needs("read")], summary="Events, as webhooks send them")
async def events(request: Request, after: After = 0, most: Most = MOST) -> schemas.Events:
    """Follow what happens: ask for the events after the `next` of the last page. Judges have pseudonyms."""
    rows, last = await studio_of(request).read(read_events, after, most)
    more = last < studio_of(request).ledger.link.id
    return schemas.Events.model_validate({"events": [row._asdict() for row in rows], "next": last, "more": more})


@router.get("/live", dependencies=[needs("read")], summary="The numbers of the overview")
async def live(request: Request) -> schemas.Live:
    """Read progress, pace, gates and the state of the consensus, which are computed at most every two seconds."""
    return schemas.Live.model_validate(await overview_json(request))


@router.get(
    "/exports/{name}",
    dependencies=[needs("export")],
    summary="A complete export as a file",
    response_class=Response,
    responses={200: {"description": "The file.", "content": FILES}},
)
async def exports(
    request: Request,
    name: ExportName,
    raw: Annotated[
        bool, Query(description="texts as they are, also those that a spreadsheet reads as a formula")
    ] = True,
    pseudonyms: Pseudonyms = False,
) -> Response:
    """Download an export, as the page Data of the desk offers it."""
    return await send_export(request, name, raw, pseudonyms)


@description.get("/api/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> dict[str, Any]:
    """Send the description of this API, for everybody: it contains nothing of the campaign."""
    return {**document(), "servers": [{"url": root_of(request) or "/"}]}


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the API."""
    return get_openapi(title="adjudge studio", version=VERSION, description=ABOUT, routes=router.routes)
