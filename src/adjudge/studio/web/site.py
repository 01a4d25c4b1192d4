"""The front page of several campaigns, and the application that sends every request to its campaign.

The front page checks no password itself: it sends name and password to the page to sign in of every campaign that has
the name, as a browser would. So limits, second factors and the record of sessions are those of each campaign, and a
campaign that does not start a session is listed as one to sign in to. The sessions are the campaigns' own cookies, at
their own addresses; a visit, which is only in memory, remembers them for the front page.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import secrets
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, Form, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection
from starlette.types import Message, Receive, Scope, Send

from adjudge.errors import AdjudgeError, InputError
from adjudge.studio.access import RateLimiter, hash_token, may, verify_password
from adjudge.studio.campaign import Sources
from adjudge.studio.clone import make_campaign, make_clone, note_clone
from adjudge.studio.desk.campaign_edits import changed_outside
from adjudge.studio.desk.decisions import archive_campaign
from adjudge.studio.record.ledger import Person
from adjudge.studio.records import Refused
from adjudge.studio.site import Overview, Site, overview, roles
from adjudge.studio.studio import Studio
from adjudge.studio.web.app import FAULT, allowed_methods, create_app, note_fault, open_campaign, set_address
from adjudge.studio.web.bundle import STATIC
from adjudge.studio.web.operations import PROBE_METHODS, Observe, SiteMeters, is_local, unready_reason
from adjudge.studio.web.render import fill, front_page, preferred_language, sentence, texts
from adjudge.studio.web.routes_campaign import store_upload
from adjudge.studio.web.routes_sign_in import KNOWN_ROLES
from adjudge.studio.web.security import (
    SITE_COOKIE,
    Caller,
    Headers,
    has_tls,
    require_caller,
    session_caller,
    session_cookie,
)
from adjudge.studio.web.session_cookies import client_address, start_session
from adjudge.studio.work.people import join as join_campaign
from adjudge.studio.work.people import name_key, open_invitation

router = APIRouter()
Text = Annotated[str, Form(max_length=300)]
Find = Annotated[str, Query(max_length=100)]
LongText = Annotated[str, Form(max_length=1_000)]
RATES = {"sign-in": (120, 600.0), "change": (20, 600.0)}  # failures and clones of an address; campaigns have limits too
MOST_ASKED = 50  # campaigns that are asked about one password
MOST_VISITS = 5_000
MOST_PEOPLE = 1_000  # in the table of roles
MOST_FILES = 1_000  # of documents and the others, in one upload
UPLOADED = ("topics", "documents", "pairs", "gold")  # files of a new campaign
UPLOAD_BYTES = {"/new-campaign": 100_000_000}
NO_PASSWORD = (
    "You have no password at this campaign, so you could not sign in to the clone. "
    "Make a link for a new password on its page People first."
)
DONE = {
    "archived": "The campaign is archived: it can be read and exported, and nothing is added to it.",
    "reopened": "The campaign is open again.",
    "created": "The campaign was created. Check its settings and gold before you invite judges.",
    "cloned": "The campaign was cloned. Check its settings and gold before you invite judges.",
}


@dataclass
class Visit:
    """Somebody who has signed in on the front page: their sessions at campaigns, by name of the campaign."""

    name: str
    csrf: str = field(default_factory=secrets.token_urlsafe)
    sessions: dict[str, str] = field(default_factory=dict)
    asking: tuple[str, ...] = ()  # campaigns that know the name and want more than the password


class Served(NamedTuple):
    """A campaign with its application."""

    studio: Studio
    app: FastAPI


class SiteApp:
    """The application of a site: it sends requests to the campaigns, and all others to the front page."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.campaigns: dict[str, Served] = {}
        self.visits: OrderedDict[str, Visit] = OrderedDict()  # hash of the cookie -> visit
        self.limits = RateLimiter(RATES)
        self.changing = asyncio.Lock()  # one clone at a time
        self.address: tuple[str, int, str | None] | None = None  # of the site, see ``app.set_address``
        self._running = contextlib.AsyncExitStack()
        self._front = self._create_front()

    def _create_front(self) -> FastAPI:
        """Return the application of the front page."""
        front = FastAPI(
            title="adjudge",
            lifespan=self._lifespan,
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            redirect_slashes=False,  # such a redirect would trust the header Host
        )
        front.state.site = self
        front.include_router(router)
        front.mount("/static", GZipMiddleware(StaticFiles(directory=STATIC)), name="static")
        for error in (Refused, AdjudgeError, RequestValidationError, HTTPException):
            front.add_exception_handler(error, _handle_error)
        front.add_exception_handler(Exception, _handle_fault)
        front.add_middleware(
            Headers, path_limits=UPLOAD_BYTES, is_known=lambda request: self.visit(request) is not None
        )
        front.add_middleware(Observe)
        return front

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Run the campaigns as long as the front page runs."""
        async with self._running:
            for name, studio in list(self.site.studios.items()):
                await self.serve(name, studio)
            yield

    async def serve(self, name: str, studio: Studio) -> Served:
        """Serve a campaign from now on."""
        if self.address is not None:
            set_address(studio, *self.address)
        app = create_app(studio, root_of_campaign(name))
        app.state.site = self
        await self._running.enter_async_context(app.router.lifespan_context(app))
        self.campaigns[name] = Served(studio, app)
        return self.campaigns[name]

    async def open(self, name: str) -> Served:
        """Serve a campaign that was written a moment ago."""
        await asyncio.to_thread(self.site.open, self.site.folder / name, open_campaign)
        if name in self.site.problems:
            raise Refused(503, "hindered", self.site.problems[name])
        return await self.serve(name, self.site.studios[name])

    def set_address(self, host: str, port: int, url: str | None) -> None:
        """Set the address with which all links of all campaigns begin."""
        self.address = (host, port, url)
        for studio in self.site.studios.values():
            set_address(studio, host, port, url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a request to the campaign that its address names, or to the front page."""
        parts = scope.get("path", "").split("/", 3)  # "", "c", the name, the path inside
        served = self.campaigns.get(parts[2]) if len(parts) == 4 and parts[1] == "c" else None
        if served is None:
            await self._front(scope, receive, send)
            return
        self._note_session(scope, parts[2])
        await served.app({**scope, "root_path": served.app.state.root}, receive, send)

    def _note_session(self, scope: Scope, name: str) -> None:
        """Let a visit know the session that its browser has at a campaign, for example after a second factor."""
        cookies = HTTPConnection(scope).cookies if scope["type"] == "http" else {}
        visit = self.visits.get(hash_token(cookies[SITE_COOKIE])) if SITE_COOKIE in cookies else None
        session = cookies.get(session_cookie(root_of_campaign(name)), "")
        if visit is None or not session or visit.sessions.get(name) == session:
            return
        if session_caller(self.campaigns[name].studio, session) is not None:
            visit.sessions[name] = session

    def visit(self, request: Request) -> Visit | None:
        """Return the visit of a request, or None."""
        return self.visits.get(hash_token(request.cookies.get(SITE_COOKIE, "")))

    def callers(self, visit: Visit | None) -> dict[str, Caller]:
        """Return who a visitor is at each campaign that admits them to the page where they work."""
        return {name: caller for name, caller in self._signed_in(visit) if self._is_admitted(name, caller)}

    def asking(self, visit: Visit) -> list[str]:
        """Return the campaigns that want more than the password of a visitor before they admit them."""
        signed_in = dict(self._signed_in(visit))
        refusing = [name for name, caller in signed_in.items() if not self._is_admitted(name, caller)]
        return [name for name in visit.asking if name not in signed_in] + refusing

    def _signed_in(self, visit: Visit | None) -> list[tuple[str, Caller]]:
        """Return who a visitor is at each campaign where their session is not over."""
        sessions = {} if visit is None else visit.sessions
        callers = [(name, session_caller(self.campaigns[name].studio, text)) for name, text in sessions.items()]
        return [(name, caller) for name, caller in callers if caller is not None]

    def _is_admitted(self, name: str, caller: Caller) -> bool:
        """Return whether a campaign admits a session, by its own rules: it may require a second factor, for example."""
        headers = [(b"authorization", f"Bearer {caller.session}".encode())]
        request = Request({"type": "http", "method": "GET", "headers": headers, "app": self.campaigns[name].app})
        try:
            require_caller(request, "judge" if may(caller.person.role, "judge") else "desk")
        except Refused:
            return False
        return True


def root_of_campaign(name: str) -> str:
    """Return the path below which a campaign of a site is served."""
    return f"/c/{name}"


def create_site(site: Site) -> SiteApp:
    """Return the application that serves the campaigns of a site."""
    return SiteApp(site)


async def _handle_error(request: Request, error: Exception) -> Response:
    """Answer a request that cannot be carried out with a page that says why, or as JSON for programs."""
    status = error.status_code if isinstance(error, HTTPException) else getattr(error, "status", 422)
    message = str(error.detail) if isinstance(error, HTTPException) else str(error)
    allow = {"Allow": ", ".join(allowed_methods(request))} if status == 405 else {}
    if "/api/" in request.url.path:
        content = {"error": message, "code": getattr(error, "code", "http")}
        return JSONResponse(content, status, headers={**allow, **_wait(status)})
    if isinstance(error, Refused) and error.code in (words := texts_of(request)):
        message = fill(words[error.code], **error.more)
    if isinstance(error, RequestValidationError):
        message = "A value of this form is missing or too long."
    if isinstance(error, HTTPException) and status == 404:
        message = ""
    headers = {**allow, **_wait(status)}
    return front_page(request, "message.html", status, headers=headers, error=status, message=message)


def _wait(status: int) -> dict[str, str]:
    """Return the header that says when a request may be sent again, for statuses that have it."""
    return {"Retry-After": "60"} if status in (429, 503) else {}


async def _handle_fault(request: Request, error: Exception) -> Response:
    """Answer an unexpected error; the log has the traceback."""
    return note_fault(request, error, front_page(request, "message.html", 500, error=500, message=FAULT))


# Asking a campaign


async def ask(served: Served, request: Request, path: str, form: Mapping[str, str], cookie: str = "") -> Response:
    """Send a form to a page of a campaign as the visitor's browser would, and return the answer.

    Parameters
    ----------
    served, path, form
        The campaign, the path of the page inside it, and the fields.
    request
        The visitor's request, whose address and browser the campaign sees.
    cookie
        The Cookie header, if the form is sent with a session.
    """
    body, root = urlencode(form).encode(), served.app.state.root
    dropped = (b"cookie", b"content-length", b"content-type", b"authorization", b"transfer-encoding")
    headers = [header for header in request.scope["headers"] if header[0] not in dropped]
    headers += [(b"content-type", b"application/x-www-form-urlencoded"), (b"content-length", str(len(body)).encode())]
    headers += [(b"cookie", cookie.encode())] if cookie else []
    copied = ("type", "asgi", "http_version", "scheme", "client", "server")
    scope = {key: request.scope[key] for key in copied if key in request.scope}
    scope |= {"method": "POST", "path": root + path, "raw_path": (root + path).encode(), "root_path": root}
    scope |= {"query_string": b"", "headers": headers}
    answer = Response()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status_code, answer.raw_headers = message["status"], list(message["headers"])

    await served.app(scope, receive, send)
    return answer


def session_in(answer: Response, root: str) -> str:
    """Return the session that a campaign has started with an answer, or an empty text."""
    name = session_cookie(root)
    for cookie in answer.headers.getlist("set-cookie"):
        parsed: SimpleCookie = SimpleCookie(cookie)
        if answer.status_code == 303 and name in parsed:
            return parsed[name].value
    return ""


def _pass_cookies(answer: Response, response: Response) -> None:
    """Copy the cookies that a campaign sets, which belong to its address, to the answer of the front page."""
    response.raw_headers += [header for header in answer.raw_headers if header[0] == b"set-cookie"]


# The front page


def site_of(request: Request) -> SiteApp:
    """Return the site that is served."""
    site: SiteApp = request.app.state.site
    return site


@router.get("/")
async def front(request: Request, done: str = "", find: Find = "") -> Response:
    """Show a person the campaigns that they take part in, or the form to sign in."""
    site = site_of(request)
    visit = site.visit(request)
    callers = site.callers(visit)
    asking = [] if visit is None else site.asking(visit)
    if visit is None or not (callers or asking):
        return front_page(request, "sign_in.html", title=texts_of(request)["campaigns"])
    leads = {name for name, caller in callers.items() if caller.person.role == "lead"}
    overviews = await asyncio.to_thread(_overviews, site, callers)
    led = [(name, site.campaigns[name].studio) for name in sorted(leads)]
    by_name = await asyncio.to_thread(roles, led, find)
    return front_page(
        request,
        "site.html",
        title=texts_of(request)["campaigns"],
        campaigns=overviews,
        asking=[(name, _title(site, name)) for name in asking],
        leads=leads,
        find=find,
        roles=dict(itertools.islice(by_name.items(), MOST_PEOPLE)),
        unlisted=max(0, len(by_name) - MOST_PEOPLE),
        problems=site.site.problems if leads else {},
        reader=visit.name,
        csrf=visit.csrf,
        done=DONE.get(done, ""),
    )


def _overviews(site: SiteApp, callers: Mapping[str, Caller]) -> list[Overview]:
    """Return the campaigns of a visitor, those that are not archived first."""
    rows = [overview(name, site.campaigns[name].studio, caller.person) for name, caller in callers.items()]
    return sorted(rows, key=lambda row: (row.state == "archived", row.title.casefold()))


def _title(site: SiteApp, name: str) -> str:
    """Return the name of a campaign as its settings have it."""
    return site.campaigns[name].studio.campaign.settings.campaign.name


def texts_of(request: Request) -> Mapping[str, str]:
    """Return all texts in the language of the person who sent a request."""
    return texts(preferred_language(request, "en"))


@router.get("/sign-in")
async def sign_in_page() -> Response:
    """Redirect to the front page, which has the form."""
    return RedirectResponse("/", 303)


@router.post("/sign-in")
async def sign_in(request: Request, name: Text = "", password: Text = "") -> Response:
    """Sign in at every campaign that has the name and accepts the password."""
    site, account = site_of(request), name_key(name)
    _check_rate(request, "sign-in")
    knowing = [served for served in site.campaigns.values() if account in served.studio.ledger.named][:MOST_ASKED]
    form = {"name": name, "password": password}
    answers = [(served, await ask(served, request, "/sign-in", form)) for served in knowing]
    await _even_out(site, sum(answer.status_code != 429 for _, answer in answers), password)
    visit = _visit(name, answers)
    if not (visit.sessions or visit.asking):
        return _refuse(request, name)
    site.limits.give_back("sign-in", client_address(request))
    return _start_visit(request, visit, [answer for _, answer in answers])


async def _even_out(site: SiteApp, done: int, password: str) -> None:
    """Compute as many hashes as the name in most campaigns needs, so that the time does not tell who exists."""
    counts: dict[str, int] = {}
    for served in site.campaigns.values():
        for account in list(served.studio.ledger.named):
            counts[account] = counts.get(account, 0) + 1
    for _ in range(min(max(counts.values(), default=1), MOST_ASKED) - done):
        await asyncio.to_thread(verify_password, None, password)


def _visit(name: str, answers: Iterable[tuple[Served, Response]]) -> Visit:
    """Return a visit with the sessions that campaigns have started, and the campaigns that want more."""
    visit, asking = Visit(name), list[str]()
    for served, answer in answers:
        campaign = served.app.state.root.rpartition("/")[2]
        if session := session_in(answer, served.app.state.root):
            visit.sessions[campaign] = session
        elif answer.status_code in (200, 303):  # the password is right, and it asks for a second factor
            asking.append(campaign)
    visit.asking = tuple(asking)
    return visit


def _refuse(request: Request, name: str) -> Response:
    """Answer a wrong name or password, in the same words as too many attempts, which only known names can have."""
    title = texts_of(request)["campaigns"]
    return front_page(request, "sign_in.html", 401, title=title, name=name, errors=True, many=True)


def _start_visit(request: Request, visit: Visit, answers: Iterable[Response]) -> Response:
    """Return a redirect to the front page, with the cookies of the campaigns and of the visit."""
    site, token = site_of(request), secrets.token_urlsafe(32)
    site.visits.pop(hash_token(request.cookies.get(SITE_COOKIE, "")), None)
    site.visits[hash_token(token)] = visit
    if len(site.visits) > MOST_VISITS:
        site.visits.popitem(last=False)
    response = RedirectResponse("/", 303)
    secure = has_tls(request, site.address[2] if site.address else None)
    response.set_cookie(SITE_COOKIE, token, httponly=True, samesite="lax", secure=secure)
    for answer in answers:
        _pass_cookies(answer, response)
    return response


@router.post("/sign-out")
async def sign_out(request: Request, csrf: Text = "") -> Response:
    """End the visit, and its sessions at all campaigns."""
    site = site_of(request)
    response = RedirectResponse("/", 303)
    if (visit := site.visit(request)) is not None:
        _check_csrf(visit, csrf)
        site.visits.pop(hash_token(request.cookies.get(SITE_COOKIE, "")))
        for name in visit.sessions:
            served, session = site.campaigns[name], visit.sessions[name]
            cookie = f"{session_cookie(served.app.state.root)}={session}"
            form = {"csrf": served.studio.signer.csrf(session)}
            _pass_cookies(await ask(served, request, "/sign-out", form, cookie), response)
    response.delete_cookie(SITE_COOKIE)
    return response


def _check_rate(request: Request, purpose: str) -> None:
    """Refuse an address that sends too many requests for one purpose."""
    limits = site_of(request).limits
    wait = limits.take(purpose, client_address(request), asyncio.get_running_loop().time())
    if wait > 0:
        raise Refused(429, "try_later", "Too many attempts. Try again in a few minutes.")


def _check_csrf(visit: Visit, csrf: str) -> None:
    """Refuse a form that does not come from a page of the visit."""
    if not secrets.compare_digest(visit.csrf.encode(), csrf.encode("utf-8", "replace")):
        raise Refused(403, "csrf", "This page is too old. Reload it and try again.")


# What leads change


def _lead_at(request: Request, name: str, action: str, csrf: str) -> tuple[Visit, Served, Caller]:
    """Return the visit, a campaign and the visitor there, if they may do this."""
    site = site_of(request)
    visit = site.visit(request)
    caller = site.callers(visit).get(name)
    if visit is None or caller is None:
        raise Refused(401, "sign in", "Please sign in again.")
    _check_csrf(visit, csrf)
    if not may(caller.person.role, action):
        raise Refused(403, "role", f"A {caller.person.role} may not do this.")
    return visit, site.campaigns[name], caller


@router.post("/campaigns/{name}/archive")
async def archive(request: Request, name: str, csrf: Text = "", archived: Text = "") -> Response:
    """Archive a campaign, or open it again."""
    _, served, caller = _lead_at(request, name, "archive", csrf)
    await served.studio.do(archive_campaign, caller.person.id, archived == "1")
    return RedirectResponse(f"/?done={'archived' if archived == '1' else 'reopened'}", 303)


@router.post("/new-campaign")
async def create(request: Request) -> Response:
    """Create a campaign of uploaded files in a new folder beside the others, and serve it at once."""
    site = site_of(request)
    visit = site.visit(request)
    people = {name: caller.person for name, caller in site.callers(visit).items()}
    homes = [name for name, person in people.items() if visit and same_name(person, visit)]
    home = next((name for name in homes if may(people[name].role, "archive")), None)
    if visit is None or home is None:  # before anything of a file is read
        raise Refused(401, "sign in", "Please sign in again, as a lead of a campaign.")
    lead, folder_of_lead = people[home], site.site.studios[home].campaign.folder
    async with request.form(max_files=MOST_FILES, max_fields=10) as form:
        _check_csrf(visit, str(form.get("csrf", "")))
        _check_rate(request, "change")
        folder, title = (str(form.get(name, "")).strip() for name in ("folder", "title"))
        async with site.changing:
            site.site.check_name(folder)
            await _create_files(form, lead, folder_of_lead, site.site.folder / folder, title)
            new = await site.open(folder)
    return await _enter(request, visit, new, lead.name, "/?done=created")


async def _create_files(form: FormData, lead: Person, home: Path, target: Path, title: str) -> None:
    """Write a new campaign of uploaded files; problems name the files as they were called."""
    with tempfile.TemporaryDirectory() as uploads:
        stored: dict[str, Path] = {}
        for field in UPLOADED:
            for upload in form.getlist(field):
                if path := await store_upload(upload, Path(uploads) / field):
                    stored[field] = path.parent if field in stored else path  # several documents are a folder
        if not stored.keys() >= {"topics", "documents"}:
            raise Refused(422, "missing", "A campaign needs a file of topics and one of documents.")
        sources = Sources(stored["topics"], stored["documents"], stored.get("pairs"), gold=stored.get("gold"))
        try:
            await asyncio.to_thread(make_campaign, sources, lead, home, target, title or None)
        except InputError as error:
            problems = re.sub(rf"{re.escape(uploads)}/(\w+/)?", "", str(error))
            raise Refused(422, "problems", sentence(problems)) from error


@router.post("/campaigns/{name}/clone")
async def clone(request: Request, name: str, csrf: Text = "", folder: Text = "", title: Text = "") -> Response:
    """Clone a campaign into a new folder beside the others, and serve the clone at once."""
    visit, served, caller = _lead_at(request, name, "archive", csrf)
    if not caller.person.password:
        raise Refused(409, "no password", NO_PASSWORD)
    _check_rate(request, "change")
    site, folder = site_of(request), folder.strip()
    async with site.changing, served.studio.editing:
        site.site.check_name(folder)
        target, campaign = site.site.folder / folder, served.studio.campaign
        if outside := await asyncio.to_thread(served.studio.watch.changed, served.studio.ledger.files):
            raise Refused(409, "files", changed_outside(outside))
        await asyncio.to_thread(make_clone, campaign, caller.person, target, title.strip() or None)
        await served.studio.do(note_clone, caller.person.id, folder)
        new = await site.open(folder)
    return await _enter(request, visit, new, caller.person.name, "/?done=cloned")


async def _enter(request: Request, visit: Visit, served: Served, person: str, path: str = "/") -> Response:
    """Start a session of a visitor at a campaign that they have just become a member of."""
    studio, root = served.studio, served.app.state.root
    inner = Request({**request.scope, "app": served.app, "root_path": root}, request.receive)
    answer = await start_session(inner, studio.ledger.people[studio.ledger.named[person.casefold()]])
    visit.sessions[root.rpartition("/")[2]] = session_in(answer, root)
    response = RedirectResponse(path, 303)
    _pass_cookies(answer, response)
    return response


@router.post("/join")
async def join(request: Request, csrf: Text = "", campaign: Text = "", invitation: LongText = "") -> Response:
    """Accept an invitation as a visitor who is signed in, with the password that they have at another campaign."""
    site = site_of(request)
    visit, served = site.visit(request), site.campaigns.get(campaign.removeprefix(root_of_campaign("")))
    accounts = [caller.person for caller in site.callers(visit).values() if visit and same_name(caller.person, visit)]
    if visit is None or not accounts:
        raise Refused(401, "sign in", "Please sign in again.")
    _check_csrf(visit, csrf)
    if served is None:
        raise Refused(404, "campaign_unknown", "There is no campaign at this address.")
    studio = served.studio
    number = studio.signer.read_invitation(invitation)
    offered = open_invitation(studio.ledger, studio.now(), number)
    if offered["role"] not in KNOWN_ROLES:
        raise Refused(403, "role", "A lead accepts the invitation with a name and a password of their own.")
    await studio.do(join_campaign, number, accounts[0].name, accounts[0].password)
    return await _enter(request, visit, served, accounts[0].name)


def same_name(person: Person, visit: Visit) -> bool:
    """Return whether somebody with a password has the name that a visitor signed in with."""
    return bool(person.password) and name_key(person.name) == name_key(visit.name)


@router.get("/c/{name}")
async def campaign_without_slash(request: Request, name: str) -> Response:
    """Redirect to the first page of a campaign."""
    return await campaign_page(request, name)


@router.api_route("/c/{name}/{rest:path}", methods=["GET", "POST"])
async def campaign_page(request: Request, name: str, rest: str = "") -> Response:
    """Redirect to a campaign, or say that it cannot be served at the moment."""
    site = site_of(request)
    if name in site.campaigns:
        return RedirectResponse(f"{root_of_campaign(name)}/", 303)
    if name in site.site.problems:
        raise Refused(503, "campaign_hindered", "This campaign cannot be served at the moment.")
    raise Refused(404, "campaign_unknown", "There is no campaign at this address.")


# What operators see


@router.api_route("/healthz", methods=PROBE_METHODS, include_in_schema=False)
async def healthz() -> dict[str, str]:
    """Say that the process lives."""
    return {"status": "alive"}


@router.api_route("/readyz", methods=PROBE_METHODS, include_in_schema=False)
async def readyz(request: Request) -> Response:
    """Say whether every campaign that is served can save work; if not, 503 and the reason of the first."""
    served = site_of(request).campaigns
    reasons = await asyncio.gather(*(unready_reason(campaign.studio) for campaign in served.values()))
    unready = {name: reason for name, reason in zip(served, reasons, strict=True) if reason}
    if not unready:
        return JSONResponse({"status": "ready"})
    name, reason = next(iter(unready.items()))
    where = {"campaign": name} if is_local(request) else {}
    return JSONResponse({"status": "not ready", "reason": reason, **where}, 503, {"Retry-After": "1"})


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Send the metrics of all campaigns to this machine; programs elsewhere read those of one campaign with a token."""
    if not is_local(request):
        raise Refused(401, "token", "Read the metrics of one campaign at its address, with an API token of it.")
    site = site_of(request)
    meters = {name: served.app.state.meters for name, served in site.campaigns.items()}
    for each in meters.values():
        await each.measure()
    unserved = len(site.site.problems)
    return Response(generate_latest(SiteMeters(meters, unserved)), media_type=CONTENT_TYPE_PLAIN_0_0_4)
