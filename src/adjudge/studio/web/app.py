"""The studio as an application: routes, headers, and what is answered when something is refused."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from adjudge.errors import AdjudgeError
from adjudge.studio.records import Refused
from adjudge.studio.studio import Studio
from adjudge.studio.web import routes_data, routes_desk, routes_judge, routes_people
from adjudge.studio.web.headers import Headers
from adjudge.studio.web.render import page

LOG = logging.getLogger("adjudge")
LARGER = {"/desk/data": 100_000_000, "/api/import": 100_000_000}  # bytes of a table of judgments
STATIC = Path(__file__).parent / "static"


def create_app(studio: Studio) -> FastAPI:
    """Return the application that serves a campaign."""

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with studio.running():
            yield

    app = FastAPI(title="adjudge", lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.studio = studio
    for routes in (routes_judge, routes_people, routes_desk, routes_data):
        app.include_router(routes.router)
    # Only what is the same for everyone is compressed: the length of a page with secrets in it would tell of them.
    app.mount("/static", GZipMiddleware(StaticFiles(directory=STATIC)), name="static")
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(AdjudgeError, _hindered)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _missing)
    app.add_exception_handler(Exception, _broken)
    crowd = studio.campaign.settings.mturk
    app.add_middleware(Headers, mturk_hosts=crowd.submit_hosts if crowd.enabled else (), larger=LARGER)
    return app


def told(request: Request, status: int, code: str, sentence: str, **more: object) -> Response:
    """Return an error as the one who asked can read it: a program's JSON, or a page."""
    wait = more.pop("retry_after", 1)
    headers = {"Retry-After": f"{max(1, round(float(str(wait))))}"} if status in (429, 503) else {}
    if request.url.path.startswith(("/api/", "/documents/")):
        return JSONResponse({"error": sentence, "code": code, **more}, status, headers=headers)
    if status == 401:
        return RedirectResponse("/sign-in", 303)
    answer = page(request, "message.html", status, message=sentence, link="/", link_text="")
    answer.headers.update(headers)
    return answer


async def _refused(request: Request, error: Exception) -> Response:
    """Answer what cannot be granted."""
    assert isinstance(error, Refused)
    return told(request, error.status, error.code, str(error), **error.more)


async def _hindered(request: Request, error: Exception) -> Response:
    """Answer what the campaign's files stand in the way of."""
    LOG.warning("%s %s: %s", request.method, request.url.path, error)
    return told(request, 503, "hindered", str(error), retry_after=60)


async def _misread(request: Request, error: Exception) -> Response:
    """Answer a request that is not what it should be: where, and what."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return told(request, 422, "malformed", f"{where}: {first['msg']}")


async def _missing(request: Request, error: Exception) -> Response:
    """Answer what is not there, or not so."""
    assert isinstance(error, HTTPException)
    return told(request, error.status_code, "http", str(error.detail))


async def _broken(request: Request, error: Exception) -> Response:
    """Answer a fault of ours; the log has the rest."""
    LOG.exception("%s %s failed", request.method, request.url.path, exc_info=error)
    return told(request, 500, "fault", "Something went wrong here. What was acknowledged is safe; please try again.")
