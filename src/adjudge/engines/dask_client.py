"""Clients of Dask: how they are begun quietly, who works for them, and what is wrong with those that cannot."""

from __future__ import annotations

import logging
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from adjudge.engines.engine import Address
from adjudge.errors import AdjudgeError, MissingExtra
from adjudge.judgments.blocks import MANIFEST, opened

REACH = 10.0  # seconds to reach a scheduler in
PATIENCE = 60.0  # seconds to wait for a first worker, or for the next when none is left
LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado.application")
# Ctrl-C in a terminal goes to every process; only the driver is to stop, and ends with what its workers then write.
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


def library() -> Any:
    """Return the library that speaks with workers."""
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra("'adjudge[dask]'", "Dask") from error
    return distributed


def client_of(scheduler: str | None, workers: int, holds: ExitStack) -> Any:
    """Return a client of the scheduler, or of a cluster of our own; ``holds`` gives back all that was taken."""
    begin = library().Client
    holds.enter_context(_hushed())
    place = _cluster(workers, holds) if scheduler is None else scheduler
    client = begin.__new__(begin)  # in two steps, so that one whose beginning fails is closed as well
    holds.callback(client.close)
    try:
        client.__init__(place, timeout=REACH, set_as_default=False, name="adjudge")
    except (OSError, ValueError) as error:
        raise AdjudgeError(
            f"{scheduler}: no Dask scheduler answers there ({last_line(error)}): start one with 'dask scheduler', "
            "and give the address that it prints, such as tcp://host:8786"
        ) from error
    if scheduler is not None:
        _refuse_unfit_scheduler(client, scheduler)
    await_worker(client, scheduler)
    return client


def await_worker(client: Any, scheduler: str | None) -> None:
    """Wait for a worker, though not for ever."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        place, address = scheduler or "the local cluster", scheduler or "ADDRESS"
        raise AdjudgeError(
            f"{place}: no worker has come in {PATIENCE:.0f} seconds: start some with 'dask worker {address}'; "
            "asked the same again, a fit goes on from its last checkpoint"
        ) from error


def refuse_unfit(client: Any, workers: Sequence[str], address: Address) -> None:
    """Refuse workers that lack adjudge, have another one, or do not see the same blocks; say which, and what to do."""
    own = looked(address)
    told: dict[str, Any] = client.run(looked, address, workers=list(workers), on_error="return")
    for worker, found in told.items():
        if found == own or isinstance(found, OSError):  # one that has gone since is nobody's concern
            continue
        if isinstance(found, Exception):
            what = f"it cannot import adjudge ({last_line(found)}): install adjudge {own[0]} where it runs"
        elif found[0] != own[0]:
            what = f"it has adjudge {found[0]}, and {own[0]} is here: install the same"
        elif found[1] is None:
            what = f"it does not see {address[0]}: put the blocks into a folder that all workers share"
        else:
            what = f"it sees other blocks in {address[0]}: put them into a folder that all workers share"
        raise AdjudgeError(f"Dask worker {worker}: {what}")


def looked(address: Address) -> tuple[str, int | None]:
    """Return the version of adjudge, and a checksum of what is at an address, wherever this process is.

    Blocks that were opened before are opened again: others may have been put into their folder.
    """
    opened.cache_clear()
    try:
        manifests = [(Path(folder) / MANIFEST).read_bytes() for folder in address if folder is not None]
    except OSError:
        return version(), None
    return version(), zlib.crc32(b"".join(manifests))


def version() -> str:
    """Return the version of adjudge, wherever this process is."""
    return str(sys.modules["adjudge"].__version__)


def _refuse_unfit_scheduler(client: Any, scheduler: str) -> None:
    """Refuse a scheduler that lacks adjudge or has another one: it reads the tasks that it hands out."""
    try:
        found = client.run_on_scheduler(version)
    except Exception as error:  # Dask keeps nothing of it but its words
        found = f"in no form that can be imported ({last_line(error)})"
    if found != version():
        raise AdjudgeError(f"{scheduler}: it has adjudge {found}, and {version()} is here: install the same")


def _cluster(workers: int, holds: ExitStack) -> Any:
    """Return a cluster of processes on this machine."""
    try:
        return holds.enter_context(
            library().LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",  # the usual port may be in use, of which a warning would tell
                memory_limit=0,  # mapped pages would count, though the system takes them back when it needs to
                silence_logs=logging.CRITICAL,
                preload=[DEAF],
            )
        )
    except RuntimeError as error:
        raise AdjudgeError(
            f"no local Dask cluster could be started ({last_line(error)}); in a script, call from under "
            "if __name__ == '__main__', since every worker imports it"
        ) from error


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep Dask from telling of every process that comes and goes: what matters is raised."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    _set(loggers, [logging.CRITICAL] * len(loggers))
    try:
        yield
    finally:
        _set(loggers, before)


def _set(loggers: Iterable[logging.Logger], levels: Iterable[int]) -> None:
    """Set the level of each logger."""
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def last_line(error: Exception) -> str:
    """Return the last line of what an error says."""
    return (str(error).strip() or type(error).__name__).splitlines()[-1].strip()
