"""Signed webhooks: each event of a campaign is sent to addresses of its operator, after it was committed.

An event is sent until it is acknowledged with a status from 200 to 299, in the order of events, to each address on its
own. How far an address has come is a small file in the campaign's folder, so a restart continues there; an event may be
sent twice, with the same id. Requests are signed as the specification "Standard Webhooks" says: ``webhook-signature``
is the HMAC-SHA256 of id, timestamp and body.

Only the operator chooses addresses: the desk cannot change them. Even so, a name that leads to a private address is
refused unless ``webhooks.private`` is set, redirects are not followed, and only the first line of a response is read.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import ipaddress
import json
import logging
import os
import random
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adjudge.errors import AdjudgeError, InputError
from adjudge.studio.consensus import json_bytes, read_summary, replace_file
from adjudge.studio.events import Event, read_events
from adjudge.studio.settings import Settings

LOG = logging.getLogger("adjudge")
FILE = "webhooks.json"  # address -> {"entry": number in the audit log, "consensus": time of the last one}
SECRET = "ADJUDGE_WEBHOOK_SECRET"
PREFIX = "whsec_"  # of a secret in base64
SHORTEST = 16  # bytes of a secret
EVERY = 1.0  # seconds between two looks for events
ENTRIES = 200  # of the audit log that are read at once
TIMEOUT = 10.0  # seconds for a whole request
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 600.0  # seconds after a failure, doubled from one to the other
REFRESHED = "consensus.refreshed"


class Undelivered(AdjudgeError):  # noqa: N818
    """An event was not acknowledged; it is sent again."""


class Webhooks:
    """Sends the events of one campaign.

    Parameters
    ----------
    folder
        Of the campaign.
    settings
        Returns the present settings of the campaign. The table ``webhooks`` does not change while the studio runs.
    secret
        The key of the signatures.
    read
        Calls a function with a connection that only reads, in another thread.
    last
        Returns the number of the last entry of the audit log.
    """

    def __init__(
        self,
        folder: Path,
        settings: Callable[[], Settings],
        secret: bytes,
        read: Callable[..., Awaitable[Any]],
        last: Callable[[], int],
    ) -> None:
        self._folder, self._settings, self._secret, self._read, self._last = folder, settings, secret, read, last
        self.urls = settings().webhooks.urls
        self.failures = 0  # requests that were not acknowledged
        self._positions: dict[str, dict[str, Any]] = {}

    @property
    def waiting(self) -> int:
        """How many entries of the audit log the slowest address has not got yet."""
        return max((self._last() - position["entry"] for position in self._positions.values()), default=0)

    async def run(self) -> None:
        """Send events until cancelled, to each address at its own pace."""
        self._positions = read_positions(self._folder, self.urls, self._last())
        await asyncio.gather(*(self._follow(url) for url in self.urls))

    async def _follow(self, url: str) -> None:
        """Send events to one address; after a failure, wait longer each time."""
        pause, stored = FIRST_PAUSE, False
        while True:
            try:
                if not stored:  # a new address begins here, also if the studio stops before the first event
                    stored = self._store()
                await self._send_new(url)
                pause = FIRST_PAUSE
                await asyncio.sleep(EVERY)
            except Exception as error:  # the same event is tried again
                self.failures += 1
                LOG.warning("webhook to %s failed, next try in %.0f s: %s", urlsplit(url).hostname, pause, error)
                await asyncio.sleep(pause * random.uniform(0.8, 1.2))
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _send_new(self, url: str) -> None:
        """Send what one address has not got yet."""
        position = self._positions[url]
        while position["entry"] < self._last():
            events, last = await self._read(read_events, position["entry"], ENTRIES, self._settings().webhooks.names)
            for number, of_entry in groupby(events, key=lambda event: event.number):
                for event in of_entry:
                    await self._send(url, event)
                self._move(url, entry=number)
            if not events and last == position["entry"]:
                break  # the entry is not committed yet
            self._move(url, entry=last)
        summary = read_summary(self._folder)
        if summary is not None and summary["at"] != position["consensus"]:
            await self._send(url, refreshed(summary, self._folder, position["entry"]))
            self._move(url, consensus=summary["at"])

    async def _send(self, url: str, event: Event) -> None:
        """Send an event, if the settings ask for its type."""
        settings = self._settings()
        if event.type in settings.webhooks.events:
            body = event_body(event, settings.campaign.name)
            await post(url, body, sign(self._secret, event.id, time.time(), body), settings.webhooks.private)

    def _move(self, url: str, **position: Any) -> None:
        """Store how far an address has come."""
        self._positions[url].update(position)
        self._store()

    def _store(self) -> bool:
        """Write the positions of all addresses, completely or not at all."""
        replace_file(self._folder / FILE, json_bytes(self._positions))
        return True


def read_positions(folder: Path, urls: tuple[str, ...], last: int) -> dict[str, dict[str, Any]]:
    """Return how far each address has come; a new one begins now, and none is beyond the end of the log."""
    try:
        stored = json.loads((folder / FILE).read_bytes())
    except (OSError, ValueError):
        stored = {}
    now = {"entry": last, "consensus": (read_summary(folder) or {}).get("at", 0.0)}
    positions = {url: {**now, **stored.get(url, {})} for url in urls}
    return {url: {**position, "entry": min(position["entry"], last)} for url, position in positions.items()}


def refreshed(summary: Mapping[str, Any], folder: Path, number: int) -> Event:
    """Return the event of a new consensus."""
    mark = hashlib.sha256(f"{folder.name} {summary['at']}".encode()).hexdigest()[:24]
    data = {name: summary[name] for name in ("model", "judgments", "note")}
    return Event(f"evt_{mark}_consensus", number, REFRESHED, summary["at"], data)


def event_body(event: Event, campaign: str) -> bytes:
    """Return the body of the request that sends an event."""
    when = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds")
    data = {"campaign": campaign, "number": event.number, **event.data}
    return json.dumps({"type": event.type, "timestamp": when, "data": data}, ensure_ascii=False).encode()


def sign(secret: bytes, event_id: str, now: float, body: bytes) -> dict[str, str]:
    """Return the headers that name, date and sign a body.

    Examples
    --------
    >>> sign(b"secret", "evt_1", 0.0, b"{}")["webhook-signature"]
    'v1,5gx4NEL3LNFMTwRtvzWjzFL9EQ1lw3OH4XCanWKjBdM='
    """
    signed = hmac.digest(secret, f"{event_id}.{int(now)}.".encode() + body, "sha256")
    signature = f"v1,{base64.b64encode(signed).decode()}"
    return {"webhook-id": event_id, "webhook-timestamp": str(int(now)), "webhook-signature": signature}


def send_test(url: str, secret: bytes, settings: Settings) -> str:
    """Send a test event to an address, and return why it was not acknowledged, or an empty text."""
    now = time.time()
    event = Event(f"evt_{secrets.token_hex(12)}_test", 0, "test", now, {})
    body = event_body(event, settings.campaign.name)
    try:
        asyncio.run(post(url, body, sign(secret, event.id, now, body), settings.webhooks.private))
    except Undelivered as error:
        return str(error)
    return ""


def signing_secret(derived: bytes) -> bytes:
    """Return the secret of signatures: that of the environment, or the one derived from the campaign's key."""
    text = os.environ.get(SECRET, "")
    if not text:
        return derived
    try:
        secret = (
            base64.b64decode(text.removeprefix(PREFIX), validate=True) if text.startswith(PREFIX) else text.encode()
        )
    except ValueError as error:
        raise InputError(f"{SECRET} begins with {PREFIX}, but the rest is not base64: {error}") from error
    if len(secret) < SHORTEST:
        raise InputError(f"{SECRET} has {len(secret)} bytes, expected at least {SHORTEST}")
    return secret


def secret_text(secret: bytes) -> str:
    """Return a secret as receivers take it."""
    return PREFIX + base64.b64encode(secret).decode()


# Sending


async def post(url: str, body: bytes, headers: Mapping[str, str], private: bool) -> None:
    """Send a body, or raise ``Undelivered`` with the reason; it takes at most ``TIMEOUT`` seconds.

    The address that was checked is the one that is connected to, and only the first line of the response is read.
    """
    try:
        async with asyncio.timeout(TIMEOUT):
            status = await _post(url, body, headers, private)
    except TimeoutError:
        raise Undelivered(f"no answer within {TIMEOUT:g} seconds") from None
    except (OSError, ValueError, asyncio.IncompleteReadError) as error:
        raise Undelivered(str(error) or type(error).__name__) from error
    if not 200 <= status <= 299:
        raise Undelivered(f"the answer was {status}")


async def _post(url: str, body: bytes, headers: Mapping[str, str], private: bool) -> int:
    """Send a body, and return the status of the response."""
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    address = await resolve(host, port, secure, private)
    context = ssl.create_default_context() if secure else None
    name = host if secure else None
    reader, writer = await asyncio.open_connection(address, port, limit=4096, ssl=context, server_hostname=name)
    try:
        path = f"{parts.path or '/'}{'?' * bool(parts.query)}{parts.query}"
        fixed = {"Host": parts.netloc, "Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in {**fixed, **headers}.items())]
        writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode("ascii") + body)
        await writer.drain()
        return _status(await reader.readline())
    finally:
        writer.close()
        with contextlib.suppress(Exception):
            await writer.wait_closed()


def _status(line: bytes) -> int:
    """Return the status in the first line of a response."""
    version, _, rest = line.partition(b" ")
    if not version.startswith(b"HTTP/1") or not rest[:3].isdigit():
        raise Undelivered("the answer is not HTTP" if line else "the connection was closed without an answer")
    return int(rest[:3])


async def resolve(host: str, port: int, secure: bool, private: bool) -> str:
    """Return an address of a host, or refuse it: a private one that is not meant, or a public one without TLS."""
    address = await look_up(host, port)
    if is_public(address):
        if not secure:
            raise Undelivered("an address on the internet needs https://")
    elif not (private or host == "localhost" or is_address(host)):
        raise Undelivered(f"{host} leads to the private address {address} (set webhooks.private if it is meant)")
    return address


async def look_up(host: str, port: int) -> str:
    """Return the first address of a host.

    A name server that does not answer must hold neither the threads in which the studio reads its record nor its end.
    So each search has a thread of its own, which nobody waits for.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def finish(result: Any) -> None:
        if not answer.done():
            answer.set_result(result)

    def search() -> None:
        try:
            result: Any = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except Exception as error:
            result = error
        with contextlib.suppress(RuntimeError):  # the studio has stopped
            loop.call_soon_threadsafe(finish, result)

    threading.Thread(target=search, name="webhook name", daemon=True).start()
    rows = await answer
    if isinstance(rows, Exception):
        raise rows
    return str(rows[0][4][0])


def is_address(host: str) -> bool:
    """Return whether a host is written as an address, not as a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_public(address: str) -> bool:
    """Return whether an address is on the internet: not private, of this machine, of a link or reserved.

    Examples
    --------
    >>> [is_public(a) for a in ("93.184.216.34", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1")]
    [True, False, False, False]
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_global and not parsed.is_multicast
