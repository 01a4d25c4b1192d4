"""Security headers of every response, and requests that are refused before any page sees them: a middleware.

- Pages run only our own scripts and styles. Only the page for a crowdsourcing platform may be shown in its frame.
- A request that changes something and is authorised by a cookie must come from one of our own pages.
- A request body has a size limit, whether or not its length is announced.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers as RequestHeaders
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1_000_000  # of a request body
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


def page_policy(framed_by: Iterable[str] = (), sent_to: Iterable[str] = ()) -> str:
    """Return the content security policy of our pages.

    ``framed_by`` are the origins that may show the page in a frame, ``sent_to`` those that its forms may be sent to.
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
    """Return the origins that may show a page in a frame, for platforms whose forms go to these hosts."""
    hosts = list(hosts)
    unique = dict.fromkeys([*hosts, *(FRAME_HOSTS[host] for host in hosts if host in FRAME_HOSTS)])
    return [f"https://{host}" for host in unique]


class Headers:
    """The middleware. ``path_limits`` gives the size limit of request bodies for paths with another limit."""

    def __init__(
        self,
        app: ASGIApp,
        mturk_hosts: Iterable[str] = (),
        most_bytes: int = MOST_BYTES,
        path_limits: Mapping[str, int] | None = None,
    ) -> None:
        self.app, self.most_bytes, self.path_limits = app, most_bytes, dict(path_limits or {})
        hosts = list(mturk_hosts)
        self.policy = page_policy()
        self.framed_policy = page_policy(frame_origins(hosts), [f"https://{host}" for host in hosts])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse cross-site and too large requests, and pass all others to the application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limits = (limit for path, limit in self.path_limits.items() if scope["path"].startswith(path))
        limit = next(limits, self.most_bytes)
        body = _Body(receive, limit)
        response = _Response(send, body, lambda headers: self._add(scope, headers))
        request = RequestHeaders(scope=scope)
        if is_cross_site(scope["method"], request):
            await response.refuse(403, "cross-site", "This request came from another site and was not carried out.")
        elif _content_length(request) > limit:
            await response.refuse(413, "too large", _too_large(limit))
        else:
            await self._run(scope, body, response)

    async def _run(self, scope: Scope, body: _Body, response: _Response) -> None:
        """Let the application respond; a body that grew too large is refused even if the application gave up."""
        try:
            await self.app(scope, body.receive, response.send)
        except ClientDisconnect:
            if not body.too_large:
                raise
        if body.too_large:
            await response.refuse_unless_started(413, "too large", _too_large(body.limit))

    def _add(self, scope: Scope, headers: MutableHeaders) -> None:
        """Add the headers that a response does not set itself."""
        framed = scope["path"] == FRAMED
        for name, value in COMMON_HEADERS.items():
            headers.setdefault(name, value)
        if "Content-Security-Policy" not in headers:
            headers["Content-Security-Policy"] = self.framed_policy if framed else self.policy
            if not framed:
                headers.setdefault("X-Frame-Options", "DENY")
        if not scope["path"].startswith(CACHEABLE):
            headers["Cache-Control"] = "no-store"
        if scope["scheme"] == "https":
            headers.setdefault("Strict-Transport-Security", "max-age=31536000")


def is_cross_site(method: str, headers: RequestHeaders) -> bool:
    """Return whether a page of another site asks for a change, using the cookie that the browser sends along.

    Browsers say where a request comes from (Sec-Fetch-Site; without TLS only Origin). Programs say nothing, and they
    have nobody else's cookie.
    """
    if method in SAFE_METHODS or "authorization" in headers:
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
