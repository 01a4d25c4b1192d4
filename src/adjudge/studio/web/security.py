"""What protects the studio: security headers, requests that are refused, and who sends a request.

- Pages run only our own scripts and styles. Only the page for a crowdsourcing platform may be shown in its frame.
- A request that changes something and is authorised by a cookie must come from one of our own pages.
- A request body has a size limit, whether or not its length is announced; it is small for those who are not signed in.
- A caller is identified by a session cookie with a CSRF token, or by a bearer token.

``Headers`` is the middleware; it refuses requests before any page sees them. Routes call ``require_caller``,
``require_judge`` or ``require_token``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers as RequestHeaders
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adjudge.studio.access import hash_token, may, parse_scopes
from adjudge.studio.record.ledger import Person
from adjudge.studio.records import Refused
from adjudge.studio.studio import Studio
from adjudge.studio.work.commands import current_assignment
from adjudge.studio.work.second_factor import lacks_factor
from adjudge.studio.work.sessions import is_over

MOST_BYTES = 1_000_000  # of a request body
UNKNOWN_BYTES = 16_384  # the same, of somebody who is not signed in and has no API token
CHANGE_BYTES = 1_000  # that a change counts in addition to its body: rows that the studio adds to it
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")  # these change nothing
CACHEABLE = ("/static/", "/documents/")  # what a browser may cache; any other page may be personal
FRAMED = "/crowd/mturk"  # the page that a platform shows in a frame
FRAME_HOSTS = {"www.mturk.com": "worker.mturk.com"}  # the host that shows the page, if forms go to another host

COMMON_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": our forms would then be sent with "Origin: null", like those of a hostile frame.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()",
}
COOKIE = "adjudge_session"
SITE_COOKIE = "adjudge_site"  # of the front page of several campaigns
FACTOR_FIRST = "second factor"  # the code of a refusal
UNFINISHED = ("", "passed", "approved")  # outcomes of assignments that are still to be finished or submitted


def page_policy(framed_by: Iterable[str] = (), sent_to: Iterable[str] = ()) -> str:
    """Return the content security policy of our pages.

    Parameters
    ----------
    framed_by
        The origins that may show the page in a frame; by default none.
    sent_to
        The origins that its forms may be sent to, in addition to our own.

    Examples
    --------
    >>> page_policy().split("; ")[-1]
    "frame-ancestors 'none'"
    """
    policy = [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-src 'self'",
        " ".join(["form-action 'self'", *sent_to]),
        "base-uri 'none'",
        "frame-ancestors " + (" ".join(framed_by) or "'none'"),
    ]
    return "; ".join(policy)


def frame_origins(hosts: Iterable[str]) -> list[str]:
    """Return the origins that may show a page in a frame, for platforms whose forms go to these hosts.

    Examples
    --------
    >>> frame_origins(["www.mturk.com"])
    ['https://www.mturk.com', 'https://worker.mturk.com']
    """
    hosts = list(hosts)
    unique = dict.fromkeys([*hosts, *(FRAME_HOSTS[host] for host in hosts if host in FRAME_HOSTS)])
    return [f"https://{host}" for host in unique]


class Headers:
    """The middleware. ``path_limits`` gives the size limit of request bodies for paths with another limit.

    Below ``root``, paths are compared without it, and redirects to paths of the application get it. ``is_known`` says
    whether a request has a valid session or API token; others can send short forms only.
    """

    def __init__(
        self,
        app: ASGIApp,
        mturk_hosts: Callable[[], Iterable[str]] = tuple,
        most_bytes: int = MOST_BYTES,
        path_limits: Mapping[str, int] | None = None,
        root: str = "",
        is_known: Callable[[Request], bool] = lambda request: True,
    ) -> None:
        self.root, self.is_known = root, is_known
        self.app, self.most_bytes, self.path_limits = app, most_bytes, dict(path_limits or {})
        self.policy, self.mturk_hosts = page_policy(), mturk_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse cross-site and too large requests, and pass all others to the application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, scope["root_path"] = inner_path(scope, self.root), self.root or scope.get("root_path", "")
        request = RequestHeaders(scope=scope)
        limit = self._limit(scope, path, request)
        body = _Body(receive, limit)
        scope.setdefault("state", {})["body"] = body  # ``require_judge`` counts its bytes
        response = _Response(send, body, lambda headers: self._add(scope["scheme"], path, headers))
        if is_cross_site(scope["method"], request):
            await response.refuse(403, "cross-site", "This request came from another site and was not carried out.")
        elif _content_length(request) > limit == UNKNOWN_BYTES:
            await response.refuse(401, "sign in", "Please sign in again. Nothing of what you sent was read.")
        elif _content_length(request) > limit:
            await response.refuse(413, "too large", _too_large(limit))
        else:
            await self._run(scope, body, response)

    def _limit(self, scope: Scope, path: str, headers: RequestHeaders) -> int:
        """Return how large the body of a request may be."""
        limits = (limit for start, limit in self.path_limits.items() if path.startswith(start))
        limit = next(limits, self.most_bytes)
        short = "transfer-encoding" not in headers and _content_length(headers) <= UNKNOWN_BYTES
        return limit if short or self.is_known(Request(scope)) else min(limit, UNKNOWN_BYTES)

    async def _run(self, scope: Scope, body: _Body, response: _Response) -> None:
        """Let the application respond; a body that grew too large is refused even if the application gave up."""
        try:
            await self.app(scope, body.receive, response.send)
        except ClientDisconnect:
            if not body.too_large:
                raise
        if body.too_large:
            await response.refuse_unless_started(413, "too large", _too_large(body.limit))

    def _add(self, scheme: str, path: str, headers: MutableHeaders) -> None:
        """Add the headers that a response does not set itself."""
        framed = path == FRAMED
        for name, value in COMMON_HEADERS.items():
            headers.setdefault(name, value)
        if "Content-Security-Policy" not in headers:
            headers["Content-Security-Policy"] = self._framed_policy() if framed else self.policy
            if not framed:
                headers.setdefault("X-Frame-Options", "DENY")
        if not path.startswith(CACHEABLE):
            headers["Cache-Control"] = "no-store"
        if scheme == "https":
            headers.setdefault("Strict-Transport-Security", "max-age=31536000")
        if headers.get("Location", "").startswith("/"):
            headers["Location"] = self.root + headers["Location"]

    def _framed_policy(self) -> str:
        """Return the policy of the page that platforms show in a frame; a lead may change their hosts."""
        hosts = list(self.mturk_hosts())
        return page_policy(frame_origins(hosts), [f"https://{host}" for host in hosts])


def inner_path(scope: Scope, root: str) -> str:
    """Return the path of a request inside an application that is served below ``root``.

    Examples
    --------
    >>> inner_path({"path": "/c/trial/desk"}, "/c/trial")
    '/desk'
    """
    path: str = scope["path"]
    return path.removeprefix(root) if path.startswith(f"{root}/") else path


def is_cross_site(method: str, headers: RequestHeaders) -> bool:
    """Return whether a page of another site asks for a change, using the cookie that the browser sends along.

    Browsers say where a request comes from (Sec-Fetch-Site; without TLS only Origin). Programs say nothing, and they
    have nobody else's cookie.
    """
    if method in SAFE_METHODS or _bearer_token(headers):  # a browser sends a name and password for a proxy by itself
        return False
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site not in ("same-origin", "none")
    return origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()


def _content_length(headers: RequestHeaders) -> int:
    """Return the announced length of a body, or 0; the server itself refuses a length that is not a number."""
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 0


def _too_large(limit: int) -> str:
    """Return the message about a body that is too large."""
    return f"This is too large: at most {limit:,} bytes can be sent at once."


class _Body:
    """The body of a request, counted while it is received."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self.limit, self.received = receive, limit, 0

    @property
    def too_large(self) -> bool:
        """Whether more was received than is allowed."""
        return self.received > self.limit

    async def receive(self) -> Message:
        """Return the next part of the body; beyond the limit, act as if the client had disconnected."""
        if self.too_large:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self.received += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.too_large else message


class _Response:
    """A response on its way: headers are added, and a refusal replaces the response to a body that is too large."""

    def __init__(self, send: Send, body: _Body, add: Callable[[MutableHeaders], None]) -> None:
        self._send, self._body, self._add = send, body, add
        self._started = self._refused = False

    async def send(self, message: Message) -> None:
        """Pass a part of the response on."""
        if self._body.too_large:
            await self.refuse_unless_started(413, "too large", _too_large(self._body.limit))
        if self._refused:
            return
        if message["type"] == "http.response.start":
            self._started = True
            self._add(MutableHeaders(scope=message))
        await self._send(message)

    async def refuse_unless_started(self, status: int, code: str, sentence: str) -> None:
        """Respond in place of the application, unless a response was started."""
        if not self._started and not self._refused:
            await self.refuse(status, code, sentence)

    async def refuse(self, status: int, code: str, sentence: str) -> None:
        """Respond in place of the application."""
        self._refused = True
        text = json.dumps({"error": sentence, "code": code}).encode()
        start: Message = {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())],
        }
        start["headers"].append((b"connection", b"close"))  # the rest of the body is not read
        self._add(MutableHeaders(scope=start))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": text})


# Who sends a request


class Caller(NamedTuple):
    """A person with a valid session."""

    person: Person
    session: str
    bound: str  # the platform's task that the session is limited to, or ""
    nonce: str  # of the session


def studio_of(request: Request) -> Studio:
    """Return the campaign that is served."""
    studio: Studio = request.app.state.studio
    return studio


def root_of(request: Request) -> str:
    """Return the path below which the campaign is served, such as ``/c/trial``, or an empty text."""
    root: str = getattr(request.app.state, "root", "")
    return root


def cookie_name(request: Request) -> str:
    """Return the name of the campaign's session cookie; campaigns of one host do not see each other's."""
    return session_cookie(root_of(request))


def session_cookie(root: str) -> str:
    """Return the name of the session cookie of the campaign that is served below a path."""
    return COOKIE + root.replace("/", "-")


def has_tls(request: Request, address: str | None) -> bool:
    """Return whether the browser uses TLS: a trusted proxy says so, or the address of the studio does."""
    return request.url.scheme == "https" or (address or "").startswith("https://")


def link_to(request: Request, path: str) -> str:
    """Return the complete address of a path, for links that people send to each other."""
    return studio_of(request).address + root_of(request) + path


def check_host(request: Request) -> None:
    """Refuse a request for another host than that of ``adjudge serve --url``, if that was given.

    Links never contain the Host header. This check keeps the pages of accounts from being opened under a foreign name
    that leads here (DNS rebinding).
    """
    studio = studio_of(request)
    if studio.hosts and request.headers.get("host", "").lower() not in studio.hosts:
        raise Refused(421, "host", f"This page is served at {studio.address} only.")


def current_caller(request: Request) -> Caller | None:
    """Return who sends a request, or None without a valid session.

    The session is in the cookie or, for pages in a frame, which have no cookies, in the Authorization header. A session
    that was ended, for example by a new password, is not valid.
    """
    return session_caller(studio_of(request), bearer_token(request) or request.cookies.get(cookie_name(request), ""))


def session_caller(studio: Studio, text: str) -> Caller | None:
    """Return who has a session, or None if it is not valid or over."""
    session = studio.signer.read_session(text, studio.now())
    person = None if session is None else studio.ledger.people.get(session.person)
    if session is None or person is None or is_over(studio.ledger, session):
        return None
    studio.note_seen(session.nonce)
    return Caller(person, text, session.bound, session.nonce)


def is_known(request: Request) -> bool:
    """Return whether a request has a valid session or API token; its body is not read."""
    return _token(request) is not None or current_caller(request) is not None


def bearer_token(request: Request) -> str:
    """Return the token of the Authorization header, or an empty string."""
    return _bearer_token(request.headers)


def _bearer_token(headers: RequestHeaders) -> str:
    """Return the token of the Authorization header among some headers, or an empty string."""
    scheme, _, text = headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def require_caller(request: Request, action: str, csrf: str | None = None) -> Caller:
    """Return who sends a request, or refuse it if they may not do this.

    A request that changes something needs the CSRF token of the session. A bearer token needs none, because a browser
    never sends one by itself.

    Parameters
    ----------
    request
        The request that is answered.
    action
        What the caller wants to do, one of the words in ``access.ACTIONS``.
    csrf
        The CSRF token that a form sends; None for scripts, which send it in a header.
    """
    caller = require_role(request, action)
    if request.method not in SAFE_METHODS and not bearer_token(request):
        check_csrf(request, caller.session, csrf if csrf is not None else request.headers.get("x-csrf"))
    check_rate(request, "person", str(caller.person.id))
    return caller


def require_role(request: Request, action: str) -> Caller:
    """Return who sends a request, or refuse it if they may not do this; before the body of a request is read."""
    caller = current_caller(request)
    if caller is None:
        raise Refused(401, "sign in", "Please sign in again.")
    if not may(caller.person.role, action):
        raise Refused(403, "role", f"A {caller.person.role} may not do this.")
    if action != "account" and lacks_factor(caller.person, studio_of(request).campaign.settings):
        raise Refused(403, FACTOR_FIRST, "This campaign requires a second factor: set it up in your account first.")
    return caller


def check_csrf(request: Request, session: str, token: str | None) -> None:
    """Refuse a request whose CSRF token does not belong to its session."""
    if not studio_of(request).signer.csrf_matches(session, token):
        raise Refused(403, "csrf", "This page is too old. Reload it and try again.")


def require_judge(request: Request) -> Caller:
    """Return the judge who sends a request, or refuse it; what they send in an hour is limited."""
    caller = require_caller(request, "judge")
    if request.method not in SAFE_METHODS:
        check_rate(request, "bytes", str(caller.person.id), CHANGE_BYTES + request.state.body.received)
    assignment = current_assignment(studio_of(request).ledger, caller.person)
    if assignment is not None and assignment.outcome in UNFINISHED and assignment.outside != caller.bound:
        # somebody who guesses a worker's id, or accepts a second task on a platform, has no access to the first task
        sentence = "You have another task open. Finish it there or give it up, then come back."
        raise Refused(409, "elsewhere", sentence)
    return caller


def check_rate(request: Request, purpose: str, key: str, cost: float = 1.0) -> None:
    """Refuse a client that sends too many requests, or too many bytes, for one purpose.

    Parameters
    ----------
    request
        The request that is answered.
    purpose
        A key of ``access.DEFAULT_RATES`` or of ``studio.setting_rates``.
    key
        Who is counted: an address, an account, a person or the token of a set.
    cost
        How much is counted: one request, or the number of bytes.
    """
    studio = studio_of(request)
    wait = studio.limits.take(purpose, key, studio.now(), cost)
    if wait > 0:
        raise Refused(429, "slow down", f"Too many requests. Try again in {wait:.0f} s.", retry_after=wait)


def require_token(request: Request, scope: str) -> str:
    """Return the name of the API token of a request, or refuse it if the token does not have this scope.

    A revoked token is refused like an unknown one. The name is what the audit log shows.
    """
    token = _token(request)
    if token is None:
        raise Refused(401, "token", "This needs an API token: Authorization: Bearer adj_...")
    if scope not in parse_scopes(token["scope"]):
        raise Refused(403, "scope", f"This token does not have the scope {scope}.")
    return str(token["name"])


def _token(request: Request) -> Mapping[str, Any] | None:
    """Return the row of the API token of a request, or None without a valid one."""
    ledger = studio_of(request).ledger
    token = ledger.tokens.get(hash_token(bearer_token(request)))
    return None if token is None or token["id"] in ledger.revoked else token
