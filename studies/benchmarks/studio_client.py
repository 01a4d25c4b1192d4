"""A light HTTP client for simulated judges: one open connection each, in one event loop.

The client runs on the machine that it measures, so it must use little time: it sends prepared bytes, and reads only the
status, the length and a few headers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

try:
    from uvloop import run
except ImportError:  # uvloop is optional
    run = asyncio.run

__all__ = ["Line", "Reply", "Watch", "quantile", "run"]


class Reply(NamedTuple):
    """The reply of a server."""

    status: int
    head: bytes
    body: bytes

    def header(self, name: bytes) -> bytes:
        """Return the value of a header, empty if it is missing."""
        begin = self.head.lower().find(b"\r\n" + name + b":")
        return self.head[begin + len(name) + 3 :].split(b"\r\n", 1)[0].strip() if begin >= 0 else b""


class Line(asyncio.Protocol):
    """A connection that is opened again when the server has closed it, for one request at a time."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.host, self.port = host, port
        self.transport: asyncio.Transport | None = None
        self.buffer = bytearray()
        self.waiting: asyncio.Future[Reply] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self.transport = transport  # type: ignore[assignment]  # transports of uvloop are not classes of asyncio

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request that waits for a reply."""
        self.transport = None
        if self.waiting and not self.waiting.done():
            self.waiting.set_exception(ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        """Collect bytes until a reply is complete."""
        self.buffer += data
        cut = self.buffer.find(b"\r\n\r\n")
        if cut < 0 or self.waiting is None:
            return
        head = bytes(self.buffer[: cut + 2])
        status, low = int(head[9:12]), head.lower()
        begin = low.find(b"\r\ncontent-length:")
        length = int(low[begin + 17 : low.index(b"\r\n", begin + 17)]) if begin >= 0 else 0
        if b"\r\ntransfer-encoding:" in low:
            raise NotImplementedError("replies in chunks are not read")
        end = cut + 4 + length
        if len(self.buffer) >= end:
            body = bytes(self.buffer[cut + 4 : end])
            del self.buffer[:end]
            if not self.waiting.done():
                self.waiting.set_result(Reply(status, head, body))
            if b"\r\nconnection: close" in low and self.transport:
                self.transport.close()
                self.transport = None

    async def ask(self, request: bytes) -> Reply:
        """Send a request and wait for the reply; repeat once if the server has just closed an idle connection."""
        reused = self.transport is not None and not self.transport.is_closing()
        try:
            return await self._ask_once(request)
        except ConnectionError:
            if not reused:
                raise
        return await self._ask_once(request)

    async def _ask_once(self, request: bytes) -> Reply:
        """Send a request once."""
        loop = asyncio.get_running_loop()
        if self.transport is None or self.transport.is_closing():
            self.buffer.clear()
            await loop.create_connection(lambda: self, self.host, self.port)
        assert self.transport is not None
        self.waiting = loop.create_future()
        self.transport.write(request)
        return await self.waiting

    async def post(self, path: str, body: bytes, headers: bytes) -> Reply:
        """Post a body."""
        return await self.ask(
            b"POST %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%bContent-Length: %d\r\n\r\n%b"
            % (path.encode(), self.port, headers, len(body), body)
        )

    async def get(self, path: str, headers: bytes) -> Reply:
        """Fetch a page."""
        return await self.ask(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%b\r\n" % (path.encode(), self.port, headers))

    def close(self) -> None:
        """Close the connection."""
        if self.transport:
            self.transport.close()


class Watch:
    """Times of requests by kind, recorded between ``begin`` and ``end``."""

    def __init__(self, begin: float, end: float) -> None:
        self.begin, self.end = begin, end
        self.took: dict[str, list[float]] = {}
        self.refused: dict[str, int] = {}
        self.cpu = [0.0, 0.0]

    def over(self) -> bool:
        """Return whether the time is over."""
        return time.perf_counter() >= self.end

    async def timed(self, kind: str, question: Callable[[], Awaitable[Reply]], since: float | None = None) -> Reply:
        """Send a request, and record its time, from ``since`` if that is given."""
        began = time.perf_counter() if since is None else since
        reply = await question()
        ended = time.perf_counter()
        if self.begin <= ended <= self.end:
            if reply.status < 400:
                self.took.setdefault(kind, []).append(ended - began)
            else:
                name = f"{kind} {reply.status}"
                self.refused[name] = self.refused.get(name, 0) + 1
        return reply

    async def clocked(self) -> None:
        """Record the CPU time of the client between begin and end."""
        for at, moment in enumerate((self.begin, self.end)):
            await asyncio.sleep(max(0.0, moment - time.perf_counter()))
            self.cpu[at] = time.process_time()

    def summary(self) -> dict[str, object]:
        """Return counts per second, times in ms and the client's share of one core."""
        seconds = self.end - self.begin
        kinds = {
            kind: {"per_second": len(took) / seconds, **{f"p{q}": 1e3 * quantile(took, q / 100) for q in (50, 95, 99)}}
            for kind, took in self.took.items()
        }
        return {"kinds": kinds, "refused": self.refused, "client": (self.cpu[1] - self.cpu[0]) / seconds}


def quantile(values: list[float], share: float) -> float:
    """Return the value that a share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")
