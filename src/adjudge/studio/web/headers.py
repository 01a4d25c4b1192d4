"""What every answer carries, and what no request may be: a middleware that knows nothing of the pages behind it.

- Pages run our own scripts and styles only, in no frame of anybody's but a crowd's platform on the page made for it.
- A request that changes something, and shows a cookie for it, comes from a page of ours and not from another site's.
- A body is no larger than it may be, whether its length is told in advance or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers as Sent
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1_000_000  # of a body
SAFE = ("GET", "HEAD", "OPTIONS")
KEPT = ("/static/", "/documents/")  # what a browser may keep; everything else may be somebody's own
FRAMED = "/crowd/mturk"  # the page that a crowd's platform shows in a frame
FRAMERS = {"www.mturk.com": "worker.mturk.com"}  # the host that shows a page, where it is not the one that takes forms

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": then a form of ours is sent with "Origin: null", as one of a hostile frame is.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()",
}


def page_policy(framed_by: Iterable[str] = (), sent_to: Iterable[str] = ()) -> str:
    """Return the policy of our pages; a crowd's page may be framed by, and its form sent to, the origins named."""
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


def framers(hosts: Iterable[str]) -> list[str]:
    """Return the origins that may show a crowd's page in a frame, of platforms whose forms go to these hosts."""
    listed = list(hosts)
    shown = dict.fromkeys([*listed, *(FRAMERS[host] for host in listed if host in FRAMERS)])
    return [f"https://{host}" for host in shown]


class Headers:
    """The middleware. ``larger`` gives the bytes a body may have under a path, where that is more than usual."""

    def __init__(
        self,
        app: ASGIApp,
        mturk_hosts: Iterable[str] = (),
        most_bytes: int = MOST_BYTES,
        larger: Mapping[str, int] | None = None,
    ) -> None:
        self.app, self.most_bytes, self.larger = app, most_bytes, dict(larger or {})
        hosts = list(mturk_hosts)
        self.policy = page_policy()
        self.framed_policy = page_policy(framers(hosts), [f"https://{host}" for host in hosts])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what no request may be, and let the application answer the rest."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = next((most for path, most in self.larger.items() if scope["path"].startswith(path)), self.most_bytes)
        body = _Body(receive, most)
        answer = _Answer(send, body, lambda headers: self._add(scope, headers))
        sent = Sent(scope=scope)
        if foreign(scope["method"], sent):
            await answer.refuse(403, "cross-site", "This request came from another site, so it was not carried out.")
        elif _length(sent) > most:
            await answer.refuse(413, "too large", _too_large(most))
        else:
            await self._run(scope, body, answer)

    async def _run(self, scope: Scope, body: _Body, answer: _Answer) -> None:
        """Let the application answer; if it lost interest in a body that was too large, that is said all the same."""
        try:
            await self.app(scope, body.receive, answer.send)
        except ClientDisconnect:
            if not body.too_large:
                raise
        if body.too_large:
            await answer.refuse_unless_begun(413, "too large", _too_large(body.most))

    def _add(self, scope: Scope, headers: MutableHeaders) -> None:
        """Add what an answer does not say itself."""
        framed = scope["path"] == FRAMED
        for name, value in ALWAYS.items():
            headers.setdefault(name, value)
        if "Content-Security-Policy" not in headers:
            headers["Content-Security-Policy"] = self.framed_policy if framed else self.policy
            if not framed:
                headers.setdefault("X-Frame-Options", "DENY")
        if not scope["path"].startswith(KEPT):
            headers["Cache-Control"] = "no-store"
        if scope["scheme"] == "https":
            headers.setdefault("Strict-Transport-Security", "max-age=31536000")


def foreign(method: str, sent: Sent) -> bool:
    """Return whether another site's page asks for a change by the cookie that a browser sends along unasked.

    Browsers say where a request comes from (Sec-Fetch-Site; without TLS only Origin). Programs say nothing, and have
    no cookie of anybody else's.
    """
    if method in SAFE or "authorization" in sent:
        return False
    site, origin = sent.get("sec-fetch-site"), sent.get("origin")
    if site is not None:
        return site not in ("same-origin", "none")
    return origin is not None and urlsplit(origin).netloc.lower() != sent.get("host", "").lower()


def _length(sent: Sent) -> int:
    """Return how long a body says it is; what is no number is for the server to refuse."""
    told = sent.get("content-length", "")
    return int(told) if told.isascii() and told.isdigit() else 0


def _too_large(most: int) -> str:
    """Return what is said of too large a body."""
    return f"This is too large: at most {most:,} bytes can be sent at once."


class _Body:
    """A request's body, counted while it comes."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self.most, self.read = receive, most, 0

    @property
    def too_large(self) -> bool:
        """Whether more came than may."""
        return self.read > self.most

    async def receive(self) -> Message:
        """Return the next piece; beyond what is allowed, as if the other side had gone."""
        if self.too_large:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self.read += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.too_large else message


class _Answer:
    """An answer on its way: headers are added, and what is said to too large a body is replaced."""

    def __init__(self, send: Send, body: _Body, add: Callable[[MutableHeaders], None]) -> None:
        self._send, self._body, self._add = send, body, add
        self._begun = self._refused = False

    async def send(self, message: Message) -> None:
        """Pass a piece on."""
        if self._body.too_large:
            await self.refuse_unless_begun(413, "too large", _too_large(self._body.most))
        if self._refused:
            return
        if message["type"] == "http.response.start":
            self._begun = True
            self._add(MutableHeaders(scope=message))
        await self._send(message)

    async def refuse_unless_begun(self, status: int, code: str, sentence: str) -> None:
        """Answer in the application's place, if nothing was answered yet."""
        if not self._begun and not self._refused:
            await self.refuse(status, code, sentence)

    async def refuse(self, status: int, code: str, sentence: str) -> None:
        """Answer in the application's place."""
        self._refused = True
        text = json.dumps({"error": sentence, "code": code}).encode()
        start: Message = {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())],
        }
        start["headers"].append((b"connection", b"close"))  # what is left of the body is not read
        self._add(MutableHeaders(scope=start))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": text})
