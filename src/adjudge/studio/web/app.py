"""The studio as a web application: its routes, its error pages, and the server that runs it.

``create_app`` builds the FastAPI application of one campaign; ``serve`` runs it in one process that also writes the
record. Every refusal is answered with a sentence: as JSON for scripts and programs, as a page for people.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from types import FrameType
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Match
from starlette.types import ASGIApp

from adjudge.errors import AdjudgeError, InputError, UsageError, quote
from adjudge.studio.desk.accounts import offer_reset
from adjudge.studio.record.damage import sentence_of
from adjudge.studio.records import Refused
from adjudge.studio.site import Site
from adjudge.studio.studio import Studio, open_studio
from adjudge.studio.web import (
    operations,
    routes_account,
    routes_api,
    routes_campaign,
    routes_desk,
    routes_judge,
    routes_openid,
    routes_people,
    routes_second_factor,
    routes_sign_in,
)
from adjudge.studio.web.bundle import STATIC, StaticFilesWithBundle
from adjudge.studio.web.connections import KEEP_ALIVE, Connections, is_trusted, most_connections
from adjudge.studio.web.operations import (
    CAMPAIGN,
    METHODS,
    Meters,
    Observe,
    inherited_socket,
    notify_systemd,
    route_template,
)
from adjudge.studio.web.render import page
from adjudge.studio.web.security import (
    COMMON_HEADERS,
    FACTOR_FIRST,
    Headers,
    inner_path,
    is_known,
    page_policy,
    root_of,
)
from adjudge.studio.work.people import invite, name_key
from adjudge.studio.work.second_factor import remove_factor

LOG = logging.getLogger("adjudge")
# paths that accept tables of judgments, or documents and pairs
UPLOADS = ("/desk/data", "/api/import", "/api/v1/judgments", "/desk/campaign/documents")
FAULT = "Something went wrong in the studio. Everything that was saved is safe; please try again."
NO_OBJECT = "Input should be a JSON object, sent with Content-Type: application/json"
UPLOAD_BYTES = dict.fromkeys(UPLOADS, 100_000_000)


def create_app(studio: Studio, root: str = "") -> FastAPI:
    """Return the application that serves a campaign.

    Parameters
    ----------
    studio
        The open campaign. Its writer and background jobs run as long as the application does.
    root
        The path below which the application is served, such as ``/c/trial``. Handlers write and compare paths without
        it: ``Headers`` adds it to redirects, templates and scripts to links.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        token = CAMPAIGN.set(root.rpartition("/")[2])  # for the log of the jobs that begin here
        async with studio.running():
            CAMPAIGN.reset(token)
            yield

    app = FastAPI(
        title="adjudge",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # such a redirect would trust the header Host
    )
    app.state.studio, app.state.root = studio, root
    app.state.meters = Meters(studio)
    pages = (
        routes_judge,
        routes_sign_in,
        routes_account,
        routes_second_factor,
        routes_openid,
        routes_desk,
        routes_campaign,
        routes_people,
    )
    for routes in (*pages, routes_api, operations):
        app.include_router(routes.router)
    app.include_router(routes_api.description)
    # Only static files are compressed: the compressed length of a page with secrets would reveal something about them.
    app.mount("/static", GZipMiddleware(StaticFilesWithBundle(directory=STATIC)), name="static")
    app.add_exception_handler(Refused, _handle_refused)
    app.add_exception_handler(AdjudgeError, _handle_campaign_error)
    app.add_exception_handler(DBAPIError, _handle_database_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(Exception, _handle_fault)
    app.add_middleware(
        Headers,
        mturk_hosts=lambda: _mturk_hosts(studio),
        path_limits=UPLOAD_BYTES,
        root=root,
        is_known=is_known,
    )
    app.add_middleware(Observe, meters=app.state.meters, campaign=root.rpartition("/")[2])
    return app


def _mturk_hosts(studio: Studio) -> tuple[str, ...]:
    """Return the hosts of Mechanical Turk that work may be submitted to at present."""
    mturk = studio.campaign.settings.mturk
    return mturk.submit_hosts if mturk.enabled else ()


def error_response(request: Request, status: int, code: str, sentence: str, **more: object) -> Response:
    """Return an error as JSON for scripts and programs, or as a page.

    Parameters
    ----------
    request
        The request that is answered.
    status
        The HTTP status. A page with 401 becomes a redirect to the form to sign in; 429 and 503 say when to try again.
    code, sentence
        The error for programs, and for people.
    more
        Further values of the JSON; ``retry_after`` are seconds.
    """
    wait = more.pop("retry_after", 1)
    headers = {"Retry-After": f"{max(1, round(float(str(wait))))}"} if status in (429, 503) else {}
    if inner_path(request.scope, root_of(request)).startswith(("/api/", "/documents/", "/metrics")):
        return JSONResponse({"error": sentence, "code": code, **more}, status, headers=headers)
    if status == 401:
        return RedirectResponse("/sign-in", 303)
    if code == FACTOR_FIRST:
        return RedirectResponse("/account/second-factor", 303)
    unknown = (status, code) == (404, "http")
    response = page(request, "message.html", status, error=status, message="" if unknown else sentence)
    response.headers.update(headers)
    return response


async def _handle_refused(request: Request, error: Exception) -> Response:
    """Answer a request that the studio refuses."""
    assert isinstance(error, Refused)
    return error_response(request, error.status, error.code, str(error), **error.more)


async def _handle_campaign_error(request: Request, error: Exception) -> Response:
    """Answer a request that failed because of the campaign's files."""
    LOG.warning("%s %s: %s", request.method, route_template(request.scope), error)
    return error_response(request, 503, "hindered", str(error), retry_after=60)


async def _handle_database_error(request: Request, error: Exception) -> Response:
    """Answer a request whose reading of the record failed: the database restarts, is gone, or is damaged."""
    assert isinstance(error, DBAPIError)
    if isinstance(error, IntegrityError | DataError | ProgrammingError):  # a fault of ours
        return await _handle_fault(request, error)
    problem = sentence_of(error, request.app.state.studio.store.url)
    LOG.warning("%s %s: %s", request.method, route_template(request.scope), problem)
    sentence = f"The record cannot be read: {problem}."
    return error_response(request, 503, "hindered", sentence, retry_after=5)


async def _handle_invalid_request(request: Request, error: Exception) -> Response:
    """Answer a malformed request with the field and the problem."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"] if part != "body") or "body"
    problem = NO_OBJECT if first["loc"] == ("body",) else first["msg"]
    return error_response(request, 422, "malformed", f"{field}: {problem}")


async def _handle_http_error(request: Request, error: Exception) -> Response:
    """Answer an unknown path or a wrong method, with the methods that there are, or a body that cannot be read."""
    assert isinstance(error, HTTPException)
    code = "malformed" if error.status_code == 400 else "http"
    response = error_response(request, error.status_code, code, str(error.detail))
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(allowed_methods(request))
    return response


def allowed_methods(request: Request) -> list[str]:
    """Return the methods with which a route has the path of a request."""
    scopes = {method: {**request.scope, "method": method} for method in sorted(METHODS)}
    return [
        method
        for method, scope in scopes.items()
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
    ]


async def _handle_fault(request: Request, error: Exception) -> Response:
    """Answer an unexpected error; the log has the traceback."""
    return note_fault(request, error, error_response(request, 500, "fault", FAULT))


def note_fault(request: Request, error: Exception, response: Response) -> Response:
    """Log an unexpected error, and return the response with the headers that no middleware adds to it."""
    request_id = request.scope.get("request_id", "")
    campaign = root_of(request).rpartition("/")[2]
    event = {"request_id": request_id, **({"campaign": campaign} if campaign else {})}
    LOG.exception("%s %s failed", request.method, route_template(request.scope), exc_info=error, extra={"event": event})
    headers = {"Content-Security-Policy": page_policy(), "Cache-Control": "no-store", "X-Request-ID": request_id}
    response.headers.update({**COMMON_HEADERS, **headers})
    return response


# Serving


def open_campaign(folder: str) -> Studio:
    """Open a campaign for serving, or raise an error that names the file that cannot be used."""
    try:
        return open_studio(folder)
    except OSError as error:
        problem = f"{error.strerror}: judgments are stored in the campaign's folder, so it must be writable"
        raise InputError(problem, str(error.filename or folder)) from error
    except DBAPIError as error:
        raise InputError(f"the database cannot be opened: {str(error.orig).strip()}", folder) from error


def serve(
    studio: Studio | Site,
    host: str,
    port: int,
    proxies: str | None,
    ready: Callable[[int], None],
    app: ASGIApp | None = None,
) -> None:
    """Serve a campaign, or several, until interrupted.

    Parameters
    ----------
    studio
        The open campaign, or the campaigns of a site.
    host, port
        The address to listen on; port 0 takes a free one. A socket that systemd opened is used instead.
    proxies
        The addresses of proxies whose X-Forwarded headers are trusted, separated by commas, or None.
    ready
        Called with the port once requests are accepted.
    app
        The application; without one, that of the campaign.
    """
    connections = Connections(is_trusted(proxies), most_connections())
    config = uvicorn.Config(
        app or create_app(studio),  # type: ignore[arg-type]
        host=host,
        port=port,
        http=connections.protocol,  # type: ignore[arg-type]  # called like a class
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=KEEP_ALIVE,
    )
    inherited = inherited_socket()
    _Server(config, ready, studio, connections).run(None if inherited is None else [inherited])


class _Server(uvicorn.Server):
    """A uvicorn server that reports its port when it is ready, closes late connections, and notes that it stops."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[int], None], studio: Studio | Site, connections: Connections
    ) -> None:
        super().__init__(config)
        self._ready, self._studio, self._connections = ready, studio, connections

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Start listening, then report the port."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self._ready(self.servers[0].sockets[0].getsockname()[1])
            notify_systemd("READY=1")

    async def on_tick(self, counter: int) -> bool:
        """Close connections that take too long, every second; uvicorn calls this ten times a second."""
        if counter % 10 == 0:
            self._connections.close_late(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish the requests that have begun, and stop."""
        self._studio.stopping = self._connections.stopping = True
        notify_systemd("STOPPING=1")
        super().handle_exit(sig, frame)


def check_port(host: str, port: int) -> None:
    """Refuse a port that cannot be listened on, before anything is opened; systemd may have opened one already."""
    if "LISTEN_FDS" in os.environ:
        return
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            other = "--host" if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL else "--port"
            problem = f"cannot listen on {host}, port {port}: {error.strerror} (choose another {other})"
            raise InputError(problem) from error


def base_address(host: str, port: int, url: str | None) -> str:
    """Return the address with which links begin: the URL that was given, or the one that is listened on."""
    return (url or f"http://{f'[{host}]' if ':' in host else host}:{port}").rstrip("/")


def set_address(studio: Studio, host: str, port: int, url: str | None) -> None:
    """Set the address with which all links of a campaign begin.

    With a URL, pages that make links or accept passwords refuse requests for another host (``security.check_host``).
    """
    studio.address = base_address(host, port, url)
    studio.hosts = (urlsplit(url).netloc.lower(),) if url else ()


def invitation_link(studio: Studio, role: str, name: str = "", by: int | None = None) -> str:
    """Return the path of a new invitation, which works once; the command line prints it.

    Parameters
    ----------
    studio
        The open campaign.
    role
        judge, reviewer or lead.
    name
        A name that the form suggests.
    by
        The person who invites, or None for the studio itself.
    """
    days = studio.campaign.settings.access.invitation_days
    number = studio.store.do(lambda ledger, now: invite(ledger, now, role, name, days, by))
    return f"/join/{studio.signer.invitation(number)}"


def reset_link(studio: Studio, name: str, second_factor: bool = False) -> str:
    """Return the path of a link by which a person sets a new password; it works once.

    Parameters
    ----------
    studio
        The open campaign.
    name
        The name of the person.
    second_factor
        Whether the person's second factor is removed as well.
    """
    number = studio.ledger.named.get(name_key(name))
    if number is None:
        raise UsageError(f"nobody has the name {quote(name)}")
    if second_factor:
        studio.store.do(lambda ledger, now: remove_factor(ledger, now, number, None))
    reset = studio.store.do(lambda ledger, now: offer_reset(ledger, now, number))
    return f"/reset/{studio.signer.reset(number, reset)}"


def has_lead(studio: Studio) -> bool:
    """Return whether the campaign has a lead yet."""
    return any(person.role == "lead" for person in studio.ledger.people.values())
