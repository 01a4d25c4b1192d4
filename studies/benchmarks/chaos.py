"""The studio under faults: nothing that was acknowledged is lost, and it recovers without a person."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import select
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from studies.benchmarks.studio_kill import Trial, wait_until

FILES = 8_192  # that this process may open
HALF = b"POST /api/answers HTTP/1.1\r\nHost: studio\r\nContent-"  # the begin of a request


@contextlib.contextmanager
def half_open_connections(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Open many connections that begin a request and stop."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, FILES)), hard))
    with contextlib.ExitStack() as stack:
        sockets = []
        for _ in range(count):
            sockets.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)))
            sockets[-1].sendall(HALF)
        yield sockets
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def count_closed(sockets: list[socket.socket], within: float = 30.0) -> int:
    """Return how many connections the server closes within some seconds."""
    waiting = {each.fileno() for each in sockets}
    poll = select.poll()
    for number in waiting:
        poll.register(number, select.POLLIN)

    def gone() -> bool:
        for number, _ in poll.poll(100):  # the server sends nothing, so that these are at their end
            poll.unregister(number)
            waiting.discard(number)
        return not waiting

    wait_until(gone, within)
    return len(sockets) - len(waiting)


def half_open(folder: Path, count: int) -> dict[str, Any]:
    """Let judges work while many connections are open that ask for nothing."""
    trial, result = Trial(folder, 4, judges=4), {"opened": 0, "during": 0, "closed": 0}
    with trial.server as server:
        server.start(trial.sessions[0])

        def end() -> None:
            with half_open_connections(server.port, count) as sockets:
                result["opened"], before = len(sockets), len(trial.acknowledged.answers)
                wait_until(lambda: len(trial.acknowledged.answers) >= before + 20)
                result["during"] = len(trial.acknowledged.answers) - before
                result["closed"] = count_closed(sockets)
            server.kill()

        asyncio.run(trial.until(end))
    return {**result, "faults": trial.faults()}
