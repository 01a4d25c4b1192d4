"""Dask: workers on one machine or many, without Java.

A worker maps the blocks it is given from a folder that all of them see, keeps them mapped, and is given the same ones
in the next pass. Params go out as one task, whose result workers hand on to each other; tallies are added by the
workers, in a tree whose shape follows from the blocks alone. When a worker dies, Dask makes again what it had; where
that fails, the pass is taken again.
"""

from __future__ import annotations

import platform
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.engines.dask_client import PATIENCE, await_worker, client_of, last_line, library, refuse_unfit
from adjudge.engines.engine import Address, Step, runs, tally_of
from adjudge.errors import AdjudgeError, InputError, UsageError
from adjudge.judgments.blocks import Blocks, opened
from adjudge.kernels.block import Tally, add
from adjudge.models.fit import cores

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
        blocks = opened(given.address)
        for number in numbers:
            blocks.release(number)
    except OSError as error:
        what = f"a Dask worker on {platform.node()} cannot read it ({error.strerror}): all workers must see it"
        raise InputError(what, error.filename) from None
    return tally
