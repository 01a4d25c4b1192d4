"""Connections: how many there may be, and how long a client may take to send a request or to read a response.

uvicorn closes idle connections, but waits without end for a request that has begun. ``Connections`` closes connections
that are too slow. If there are too many, the one that has waited longest for a request makes room for a new one, so
that open connections that ask for nothing keep nobody out.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import resource
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from adjudge.studio.access import network_address

HEADER_SECONDS, HEADER_BYTES = 10.0, 65_536  # that a client may take for the headers of a request
BODY_SECONDS, BODY_RATE = 20.0, 2_000  # for a body, and one second more for so many bytes
READ_SECONDS = 60.0  # without reading anything of a response
LAST_SECONDS = 0.3  # in which a connection without a request may still send one when the studio stops
KEEP_ALIVE = 75  # seconds between two requests; longer than a judge usually thinks
MOST, MOST_FILES = 5_000, 8_192  # connections, and files that the process may open
OTHER_FILES = 200  # the database, exports, log
PER_ADDRESS = 256  # a classroom behind one address, with some connections for each browser


class Connection(HttpToolsProtocol):
    """A connection of uvicorn that knows what it waits for, and since when."""

    def __init__(self, registry: Connections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self.registry = registry
        self.address = ""  # that connections are counted by, or empty if they are not
        self.waits_for, self.since, self.received = "headers", self.loop.time(), 0
        self.unread, self.read_at = 0, self.since  # bytes that the client has not read yet

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection on, if there is room for it."""
        super().connection_made(transport)
        if not self.registry.admit(self):
            transport.abort()
        elif self.registry.stopping:
            self.shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.registry.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse a part of a request; headers without end are refused."""
        super().data_received(data)
        self.received += len(data)  # since the present part began, which may be within this data
        if self.waits_for == "headers" and self.received > HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("The headers of this request are too large.")

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        super().on_message_begin()
        self._wait_for("headers")

    def on_headers_complete(self) -> None:
        """Note that a body may follow."""
        super().on_headers_complete()
        self._wait_for("body")
        if self.registry.stopping and self.cycle is not None:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """Note that the request is complete."""
        super().on_message_complete()
        self._wait_for("next" if self.cycle.response_complete else "response")

    def on_response_complete(self) -> None:
        """Note that the response is complete."""
        super().on_response_complete()
        if self.waits_for == "response" and self.cycle.response_complete:
            self._wait_for("next")

    def shutdown(self) -> None:
        """Close the connection after its request, or soon: the first request of a new one may be on its way."""
        if self.cycle is None and not self.transport.is_closing():
            self.loop.call_later(LAST_SECONDS, super().shutdown)
        else:
            super().shutdown()

    def _wait_for(self, part: str) -> None:
        """Note what the connection waits for from now on."""
        self.waits_for, self.since, self.received = part, self.loop.time(), 0

    @property
    def idle(self) -> bool:
        """Whether no request was received that is still to be answered."""
        return self.waits_for in ("headers", "next") and (self.cycle is None or self.cycle.response_complete)

    def is_late(self, now: float) -> bool:
        """Return whether the client takes too long."""
        unread = self.transport.get_write_buffer_size()
        if not unread or unread != self.unread:
            self.unread, self.read_at = unread, now
        if self.flow.read_paused:  # the studio is not ready to read
            self.since = now
        limits = {"headers": HEADER_SECONDS, "body": BODY_SECONDS + self.received / BODY_RATE, "next": KEEP_ALIVE + 1}
        return now - self.since > limits.get(self.waits_for, float("inf")) or now - self.read_at > READ_SECONDS


class Connections:
    """All open connections, the oldest first.

    Parameters
    ----------
    is_trusted
        Says whether an address is a proxy, whose connections are those of many people.
    most, per_address
        How many connections there may be in total, and from one address.
    """

    def __init__(self, is_trusted: Callable[[str], bool], most: int = MOST, per_address: int = PER_ADDRESS) -> None:
        self.is_trusted, self.most, self.per_address = is_trusted, most, per_address
        self.stopping = False  # connections end after their request
        self.open: dict[Connection, None] = {}  # ordered, as a set is not
        self.by_address: dict[str, dict[Connection, None]] = {}

    def protocol(self, **uvicorn: Any) -> Connection:
        """Return the protocol of a new connection, for uvicorn."""
        return Connection(self, **uvicorn)

    def admit(self, connection: Connection) -> bool:
        """Add a connection, in place of an idle one if there are too many; return False if none is idle."""
        host = connection.client[0] if connection.client else ""
        connection.address = "" if not host or self.is_trusted(host) else network_address(host)
        same = self.by_address.get(connection.address, {})
        if connection.address and len(same) >= self.per_address and not self._close_idle(same):
            return False
        if len(self.open) >= self.most and not self._close_idle(self.open):
            return False
        self.open[connection] = None
        if connection.address:
            self.by_address.setdefault(connection.address, {})[connection] = None
        return True

    def _close_idle(self, connections: dict[Connection, None]) -> bool:
        """Close the oldest idle connection, and return whether there was one."""
        for connection in connections:
            if connection.idle:
                self.forget(connection)
                connection.transport.abort()
                return True
        return False

    def forget(self, connection: Connection) -> None:
        """Remove a connection that is closed."""
        self.open.pop(connection, None)
        same = self.by_address.get(connection.address, {})
        same.pop(connection, None)
        if not same:
            self.by_address.pop(connection.address, None)

    def close_late(self, now: float) -> None:
        """Close the connections whose clients take too long."""
        for connection in [connection for connection in self.open if connection.is_late(now)]:
            self.forget(connection)
            connection.transport.abort()


def is_trusted(proxies: str | None) -> Callable[[str], bool]:
    """Return the function that says whether an address is this machine or one of the proxies, separated by commas.

    Examples
    --------
    >>> trusted = is_trusted("10.0.0.0/8, 192.0.2.7")
    >>> [trusted(host) for host in ("10.1.2.3", "192.0.2.7", "192.0.2.8", "127.0.0.1", "proxy")]
    [True, True, False, True, False]
    """
    names = [name.strip() for name in (proxies or "").split(",") if name.strip()]
    networks = [ipaddress.ip_network(name, strict=False) for name in names if _is_network(name)]

    def trusted(host: str) -> bool:
        if "*" in names or host in names:
            return True
        if not _is_network(host):
            return False
        address = ipaddress.ip_address(host.partition("%")[0])
        return address.is_loopback or any(address in network for network in networks)

    return trusted


def _is_network(name: str) -> bool:
    """Return whether a text is an address or a network."""
    try:
        ipaddress.ip_network(name.partition("%")[0], strict=False)
    except ValueError:
        return False
    return True


def most_connections() -> int:
    """Allow this process more open files if the system does, and return how many connections that is enough for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        with contextlib.suppress(OSError, ValueError):  # some systems have a lower limit than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            soft = limit
    return MOST if soft == resource.RLIM_INFINITY else max(16, min(MOST, soft - OTHER_FILES))
