"""``Dask``: an engine of Dask workers, on one machine or many, without Java.

A worker maps its blocks from a folder that all workers see, keeps them mapped, and has the same blocks in the next
pass. Params are the result of one task, which workers copy from each other. Workers also add the tallies, in a tree
whose shape depends on the blocks alone. If a worker dies, Dask computes its results again on another one; if that
fails, the engine repeats the pass.
"""

from __future__ import annotations

import logging
import platform
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.data.blocks import MANIFEST, Blocks, open_cached
from adjudge.engines.engine import Address, Step, absolute_address, block_ranges, sum_blocks
from adjudge.errors import AdjudgeError, InputError, MissingExtra, UsageError
from adjudge.inference.infer import cores
from adjudge.kernels.block import Tally, add

CONNECT_TIMEOUT = 10.0  # seconds to reach a scheduler
WORKER_TIMEOUT = 60.0  # seconds to wait for a worker if there is none
FAN_IN = 16  # tallies that one task adds
TRIES = 3  # of a pass
ADD_PRIORITY = 10  # tallies are added before new ones are computed, so that they do not pile up
NO_SIZE_WARNING = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}  # params may be large
LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado.application")
# Ctrl-C in a terminal reaches every process. Only the driver stops; it still needs its workers to write the labels.
IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


class Job(NamedTuple):
    """What all tasks of a pass need."""

    address: Address
    step: Step
    params: Any


class Dask:
    """An engine of Dask workers.

    Parameters
    ----------
    scheduler
        The address of a running scheduler, such as ``tcp://host:8786``. By default, worker processes are started on
        this machine.
    workers
        The number of processes to start; by default the number of cores.
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        if scheduler is not None and workers is not None:
            raise UsageError(f"{scheduler} has its own workers: give a scheduler or a number of workers, not both")
        if workers is not None and workers < 1:
            raise UsageError(f"the number of workers is {workers}: give at least 1")
        self.scheduler, self.workers = scheduler, workers or cores()
        self._resources = ExitStack()
        self._connect()

    def map_sum(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Return the sum over all blocks, added in an order that depends on the blocks alone."""
        # an OSError of the step itself arrives as an InputError
        failures = (import_distributed().CancelledError, import_distributed().KilledWorker, OSError)
        errors: list[Exception] = []
        while len(errors) < TRIES:
            try:
                if self._client.status != "running":  # the scheduler has ended, and may have been restarted
                    self._connect()
                return self._pass(blocks, step, params)
            except failures as error:
                errors.append(error)
        raise AdjudgeError(
            f"{self.scheduler or 'the local cluster'}: workers or the scheduler were lost in {TRIES} passes in a row; "
            f"the last error was: {last_line(errors[-1])}. Check whether they run out of memory. The same command "
            "continues from the last checkpoint"
        ) from errors[-1]

    def close(self) -> None:
        """Disconnect from the scheduler, or end the processes that were started."""
        self._resources.close()

    def _connect(self) -> None:
        """Connect to the scheduler, or start a local cluster."""
        self._resources.close()
        with ExitStack() as resources:
            self._client = connect(self.scheduler, self.workers, resources)
            self._resources = resources.pop_all()
        self._slots: list[str] = []  # one worker per thread; task n goes to slot n modulo their number
        self._checked: set[tuple[str, Address]] = set()  # workers that see the blocks

    def _pass(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Run the step on all blocks once."""
        import dask

        address, tasks = absolute_address(blocks.address), block_ranges(blocks)
        slots = self._assign_slots(address)
        with dask.config.set(NO_SIZE_WARNING):
            job = self._client.submit(_share_job, Job(address, step, params), pure=False)
        tallies: list[Any] = [job] * len(tasks)
        for n, worker in enumerate(slots[: len(tasks)]):
            tallies[n :: len(slots)] = self._client.map(
                _run_job,
                tasks[n :: len(slots)],
                job=job,
                pure=False,
                workers=[worker],
                allow_other_workers=True,
            )
        del job  # Dask frees a result when its last reference is gone
        while len(tallies) > 1:
            groups = [tallies[n : n + FAN_IN] for n in range(0, len(tallies), FAN_IN)]
            tallies = self._client.map(add, groups, pure=False, priority=ADD_PRIORITY)
            del groups
        return self._result(tallies[0])

    def _assign_slots(self, address: Address) -> list[str]:
        """Return the worker of each slot. Workers keep their slots, and new ones fill the slots of those that ended."""
        while not (threads := self._client.nthreads()):
            wait_for_worker(self._client, self.scheduler)
        self._slots = _fill_slots(self._slots, threads)
        unchecked = [worker for worker in threads if (worker, address) not in self._checked]
        if unchecked:
            check_workers(self._client, unchecked, address)
            self._checked.update((worker, address) for worker in unchecked)
        return self._slots

    def _result(self, future: Any) -> Tally:
        """Wait for a tally as long as there is a worker to compute it."""
        while True:
            try:
                tally: Tally = future.result(timeout=WORKER_TIMEOUT)
                return tally
            except TimeoutError:
                wait_for_worker(self._client, self.scheduler)


def _fill_slots(slots: list[str], threads: Mapping[str, int]) -> list[str]:
    """Return one slot per thread of the workers: those that were there keep theirs, new ones fill the others."""
    now = [worker for worker, count in sorted(threads.items()) for _ in range(count)]
    if sorted(slots) == now:
        return slots
    new = [worker for worker in now if worker not in slots]
    filled = [worker if worker in threads else new.pop() if new else "" for worker in slots]
    return [*filter(None, filled), *new]  # what is left of the new ones


def _share_job(job: Job) -> Job:
    """Return what is sent to all workers. As the result of a task, Dask can compute it again if a worker is lost."""
    return job


def _run_job(numbers: range, job: Job) -> Tally:
    """Run the step of a job on some blocks. Workers call this.

    Pages are released, and stay in the cache of the operating system: Dask counts mapped pages as memory of the worker,
    and stops a worker that has too much.
    """
    try:
        tally = sum_blocks(job.address, numbers, job.step, job.params)
        blocks = open_cached(job.address)
        for number in numbers:
            blocks.release(number)
    except OSError as error:
        message = f"the Dask worker on {platform.node()} cannot read it ({error.strerror}): all workers must see it"
        raise InputError(message, error.filename) from None
    return tally


def import_distributed() -> Any:
    """Return the module ``distributed``."""
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra("'adjudge[dask]'", "Dask") from error
    return distributed


def connect(scheduler: str | None, workers: int, resources: ExitStack) -> Any:
    """Return a client of a scheduler, or of a new local cluster; closing ``resources`` ends both."""
    client_type = import_distributed().Client
    resources.enter_context(_quiet_loggers())
    target = _local_cluster(workers, resources) if scheduler is None else scheduler
    client = client_type.__new__(client_type)  # in two steps, so that a client that fails to start is closed as well
    resources.callback(client.close)
    try:
        client.__init__(target, timeout=CONNECT_TIMEOUT, set_as_default=False, name="adjudge")
    except (OSError, ValueError) as error:
        raise AdjudgeError(
            f"{scheduler}: no Dask scheduler answers there ({last_line(error)}): start one with 'dask scheduler', "
            "and give the address that it prints, such as tcp://host:8786"
        ) from error
    if scheduler is not None:
        _check_scheduler(client, scheduler)
    wait_for_worker(client, scheduler)
    return client


def wait_for_worker(client: Any, scheduler: str | None) -> None:
    """Wait until there is a worker, for ``WORKER_TIMEOUT`` at most."""
    try:
        client.wait_for_workers(1, timeout=WORKER_TIMEOUT)
    except TimeoutError as error:
        name, address = scheduler or "the local cluster", scheduler or "ADDRESS"
        raise AdjudgeError(
            f"{name}: no worker has connected in {WORKER_TIMEOUT:.0f} seconds: start some with "
            f"'dask worker {address}'. The same command continues from the last checkpoint"
        ) from error


def check_workers(client: Any, workers: Sequence[str], address: Address) -> None:
    """Refuse workers that lack adjudge, have another version of it, or do not see the same blocks."""
    expected = inspect_process(address)
    answers: dict[str, Any] = client.run(inspect_process, address, workers=list(workers), on_error="return")
    for worker, answer in answers.items():
        if answer == expected or isinstance(answer, OSError):  # a worker that has ended in the meantime does not matter
            continue
        if isinstance(answer, Exception):
            message = f"it cannot import adjudge ({last_line(answer)}): install adjudge {expected[0]} where it runs"
        elif answer[0] != expected[0]:
            message = f"it has adjudge {answer[0]}, but this process has {expected[0]}: install the same version"
        elif answer[1] is None:
            message = f"it does not see {address[0]}: put the blocks into a folder that all workers share"
        else:
            message = f"it sees other blocks in {address[0]}: put them into a folder that all workers share"
        raise AdjudgeError(f"Dask worker {worker}: {message}")


def inspect_process(address: Address) -> tuple[str, int | None]:
    """Return the version of adjudge in this process and a checksum of the blocks at an address, None without blocks.

    Blocks that were opened before are forgotten: the folder may have others now.
    """
    open_cached.cache_clear()
    try:
        manifests = [(Path(folder) / MANIFEST).read_bytes() for folder in address if folder is not None]
    except OSError:
        return version(), None
    return version(), zlib.crc32(b"".join(manifests))


def version() -> str:
    """Return the version of adjudge in this process."""
    return str(sys.modules["adjudge"].__version__)


def _check_scheduler(client: Any, scheduler: str) -> None:
    """Refuse a scheduler that lacks adjudge or has another version of it: it unpickles the tasks."""
    try:
        answer = client.run_on_scheduler(version)
    except Exception as error:  # Dask does not keep the type of the error
        message = f"it cannot import adjudge ({last_line(error)}): install adjudge {version()} where it runs"
        raise AdjudgeError(f"{scheduler}: {message}") from error
    if answer != version():
        message = f"it has adjudge {answer}, but this process has {version()}: install the same version"
        raise AdjudgeError(f"{scheduler}: {message}")


def _local_cluster(workers: int, resources: ExitStack) -> Any:
    """Return a cluster of processes on this machine."""
    try:
        return resources.enter_context(
            import_distributed().LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",  # if the default port is in use, Dask warns
                memory_limit=0,  # mapped pages would count, although the system frees them when it needs memory
                silence_logs=logging.CRITICAL,
                preload=[IGNORE_INTERRUPTS],
            )
        )
    except RuntimeError as error:
        raise AdjudgeError(
            f"no local Dask cluster could be started ({last_line(error)}). In a script, call adjudge inside "
            "if __name__ == '__main__', since every worker imports the script"
        ) from error


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    """Silence Dask's messages about processes that start and end: errors that matter are raised."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    _set_levels(loggers, [logging.CRITICAL] * len(loggers))
    try:
        yield
    finally:
        _set_levels(loggers, before)


def _set_levels(loggers: Iterable[logging.Logger], levels: Iterable[int]) -> None:
    """Set the level of each logger."""
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def last_line(error: Exception) -> str:
    """Return the last line of an error's message."""
    return (str(error).strip() or type(error).__name__).splitlines()[-1].strip()
