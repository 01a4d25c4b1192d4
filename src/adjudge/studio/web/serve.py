"""Serving a campaign: one process that listens, writes and tells who may come in."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable

import uvicorn
from sqlalchemy.exc import DBAPIError

from adjudge.errors import InputError
from adjudge.studio.studio import Studio, open_studio
from adjudge.studio.web.app import create_app
from adjudge.studio.work.people import invite


def opened(place: str) -> Studio:
    """Open a campaign, or say in a sentence which of its files stands in the way."""
    try:
        return open_studio(place)
    except OSError as error:
        what = f"{error.strerror}: judgments are kept in the campaign's folder, so it must be writable"
        raise InputError(what, str(error.filename or place)) from error
    except DBAPIError as error:
        raise InputError(f"the database cannot be opened: {str(error.orig).strip()}", place) from error


def serve(studio: Studio, host: str, port: int, proxies: str | None, ready: Callable[[int], None]) -> None:
    """Serve until interrupted; ``ready`` is told the port once requests are taken."""
    config = uvicorn.Config(
        create_app(studio),
        host=host,
        port=port,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=75,  # longer than a judge thinks
    )
    _Server(config, ready).run()


class _Server(uvicorn.Server):
    """A server that says when it is ready, and refuses a taken port in our words."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Begin to listen."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self._ready(self.servers[0].sockets[0].getsockname()[1])


def invitation_link(studio: Studio, role: str, name: str = "", by: int | None = None) -> str:
    """Return the path of a new invitation, to be used once."""
    days = studio.campaign.settings.access.invitation_days
    number = studio.store.do(lambda ledger, now: invite(ledger, now, role, name, days, by))
    return f"/join/{studio.signer.invitation(number)}"


def has_lead(studio: Studio) -> bool:
    """Return whether somebody leads the campaign yet."""
    return any(person.role == "lead" for person in studio.ledger.people.values())


def free_port(host: str, port: int) -> None:
    """Refuse a port that is taken, before anything is opened."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as error:
            other = "--host" if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL else "--port"
            raise InputError(f"cannot listen on {host}, port {port}: {error.strerror} (give {other})") from error
