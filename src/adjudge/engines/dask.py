"""Dask: workers on one machine or many, without Java.

A worker maps the blocks it is given from a folder that all of them see, keeps them mapped, and is given the same ones
in the next pass. Params go out as one task, whose result workers hand on to each other; tallies are added by the
workers, in a tree whose shape follows from the blocks alone. When a worker dies, Dask makes again what it had; where
that fails, the pass is taken again.
"""

from __future__ import annotations

import logging
import platform
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.data.blocks import MANIFEST, Blocks, open_cached
from adjudge.engines.engine import Address, Step, runs, tally_of
from adjudge.errors import AdjudgeError, InputError, MissingExtra, UsageError
from adjudge.inference.infer import cores
from adjudge.kernels.block import Tally, add

# Clients of Dask: how they are begun quietly, who works for them, and what is wrong with those that cannot.

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
    open_cached.cache_clear()
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


FAN_IN = 16  # tallies that one task adds
TRIES = 3  # of a pass
FIRST = 10  # the priority of adding up, so that tallies do not pile up
ANY_SIZE = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}  # params are as large as they are


class Given(NamedTuple):
    """What every task of a pass is given."""

    address: Address
    step: Step
    params: Any


class Dask:
    """An engine of Dask's workers: those of a scheduler, or processes on this machine."""

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        if scheduler is not None and workers is not None:
            raise UsageError(f"{scheduler} has workers of its own: give a scheduler or a number of workers, not both")
        if workers is not None and workers < 1:
            raise UsageError(f"{workers} workers can do nothing: give at least 1")
        self.scheduler, self.workers = scheduler, workers or cores()
        self._holds = ExitStack()
        self._reach()

    def map_sum(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Return the sum over all blocks, added up in an order that follows from the blocks alone."""
        losses = (library().CancelledError, library().KilledWorker, OSError)  # a step's own comes as an InputError
        lost: list[Exception] = []
        while len(lost) < TRIES:
            try:
                if self._client.status != "running":  # the scheduler went away, and may have come back
                    self._reach()
                return self._pass(blocks, step, params)
            except losses as error:
                lost.append(error)
        raise AdjudgeError(
            f"{self.scheduler or 'the local cluster'}: workers or the scheduler were lost in {TRIES} passes on end, at "
            f"last so: {last_line(lost[-1])}. Look whether they run out of memory; asked the same again, a fit "
            "goes on from its last checkpoint"
        ) from lost[-1]

    def close(self) -> None:
        """Leave the scheduler, or end the processes."""
        self._holds.close()

    def _reach(self) -> None:
        """Reach the scheduler, or start a cluster."""
        self._holds.close()
        with ExitStack() as holds:
            self._client = client_of(self.scheduler, self.workers, holds)
            self._holds = holds.pop_all()
        self._homes: list[str] = []  # workers, one for each of their threads: block n goes to n modulo their number
        self._fit: set[tuple[str, Address]] = set()  # workers that see the blocks

    def _pass(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Take the step over all blocks once."""
        import dask

        address, tasks = _absolute(blocks.address), runs(blocks)
        homes = self._at_home(address)
        with dask.config.set(ANY_SIZE):
            sent = self._client.submit(_handed_on, Given(address, step, params), pure=False)
        tallies: list[Any] = [sent] * len(tasks)
        for n, home in enumerate(homes[: len(tasks)]):
            tallies[n :: len(homes)] = self._client.map(
                _taken,
                tasks[n :: len(homes)],
                given=sent,
                pure=False,
                workers=[home],
                allow_other_workers=True,
            )
        del sent  # whatever only tasks need, Dask forgets when they have had it
        while len(tallies) > 1:
            groups = [tallies[n : n + FAN_IN] for n in range(0, len(tallies), FAN_IN)]
            tallies = self._client.map(add, groups, pure=False, priority=FIRST)
            del groups
        return self._result(tallies[0])

    def _at_home(self, address: Address) -> list[str]:
        """Return who takes which blocks: everybody as before, and who is new in the places of those who have gone."""
        while not (threads := self._client.nthreads()):
            await_worker(self._client, self.scheduler)
        now = [worker for worker, count in sorted(threads.items()) for _ in range(count)]
        if sorted(self._homes) != now:
            new = [worker for worker in now if worker not in self._homes]
            kept = [worker if worker in threads else new.pop() if new else None for worker in self._homes]
            self._homes = [worker for worker in kept if worker is not None] + new
        unknown = [worker for worker in threads if (worker, address) not in self._fit]
        if unknown:
            refuse_unfit(self._client, unknown, address)
            self._fit.update((worker, address) for worker in unknown)
        return self._homes

    def _result(self, future: Any) -> Tally:
        """Wait for a tally, as long as there is anybody to make it."""
        while True:
            try:
                tally: Tally = future.result(timeout=PATIENCE)
                return tally
            except TimeoutError:
                await_worker(self._client, self.scheduler)


def _absolute(address: Address) -> Address:
    """Return an address that does not depend on where a process was started."""
    folder, gold = address
    return str(Path(folder).absolute()), None if gold is None else str(Path(gold).absolute())


def _handed_on(given: Given) -> Given:
    """Return what is sent to all: a task, since Dask makes its result again where a worker takes it away."""
    return given


def _taken(numbers: range, given: Given) -> Tally:
    """Take a step over some blocks; this is what workers do.

    Pages are let go of, and stay in the system's cache: Dask would count them, and stop a worker that has too many.
    """
    try:
        tally = tally_of(given.address, numbers, given.step, given.params)
        blocks = open_cached(given.address)
        for number in numbers:
            blocks.release(number)
    except OSError as error:
        what = f"a Dask worker on {platform.node()} cannot read it ({error.strerror}): all workers must see it"
        raise InputError(what, error.filename) from None
    return tally
