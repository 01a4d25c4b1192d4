"""The protocol of engines, the helpers that they share, and ``Threads``, the engine of one process.

An engine has one task: it runs a step on every block and adds up the tallies that the step returns. Blocks stay in a
folder that every worker sees; a worker maps a block into memory when it first needs it. Params are sent to the workers,
and tallies come back.

A step is a function at the top level of a module, or a ``functools.partial`` of one, so that it can be pickled. An
engine may run a step twice on the same block. A step therefore writes complete files, under names that depend on the
block alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.blocks import Blocks, folder_stamps, open_cached
from adjudge.inference.infer import cores
from adjudge.kernels.block import Tally, add

Step: TypeAlias = Callable[[Blocks, int, Any], Tally]  # blocks, the number of a block, params
Address: TypeAlias = tuple[str, str | None]  # the folders of the blocks and of their gold

MOST_TASKS, FEWEST_TASKS = 1_024, 128  # tasks per pass; if there are more blocks, a task has several
MOST_BYTES = 1 << 33  # bytes of all tallies of a pass; if tallies are large, there are fewer tasks
SPARSE = 0.5  # a tally is sent by rows if at most this share of the judges has counts


class Engine(Protocol):
    """Runs a step on all blocks."""

    def map_sum(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Return the sum of ``step(blocks, number, params)`` over all blocks."""
        ...

    def close(self) -> None:
        """Release threads, processes and connections."""
        ...


class Threads:
    """Threads of this process over blocks on disk, for judgments that do not fit into memory.

    Each thread holds one block and one tally at a time, however many judgments there are. Kernels release the GIL.

    Parameters
    ----------
    workers
        The number of threads; by default the number of cores.
    resident
        Whether blocks stay mapped between passes.
    """

    def __init__(self, workers: int | None = None, resident: bool = False) -> None:
        self.workers, self.resident = workers or cores(), resident
        self._pool = ThreadPoolExecutor(self.workers)

    def map_sum(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Return the sum over all blocks, added in the order of the blocks."""
        return add(self._tallies(blocks, step, params))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)

    def _tallies(self, blocks: Blocks, step: Step, params: Any) -> Iterator[Tally]:
        """Yield the tallies in order. Few blocks are submitted at a time, so that finished tallies do not pile up."""
        pending: deque[Future[Tally]] = deque()
        try:
            for number in range(len(blocks.parts)):
                if len(pending) > self.workers:
                    yield pending.popleft().result()
                pending.append(self._pool.submit(self._run_step, blocks, number, step, params))
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

    def _run_step(self, blocks: Blocks, number: int, step: Step, params: Any) -> Tally:
        """Run the step on one block, and release the block unless blocks stay resident."""
        try:
            return step(blocks, number, params)
        finally:
            if not self.resident:
                blocks.release(number)


def block_ranges(blocks: Blocks) -> list[range]:
    """Return the numbers of the blocks as ranges, one per task.

    The ranges depend on the data alone, not on the number of workers, so that sums are bit-identical on any cluster.
    """
    count, tally = len(blocks.parts), 8 * len(blocks.judges) * len(blocks.scale) ** 2
    size = -(-count // max(FEWEST_TASKS, min(MOST_TASKS, MOST_BYTES // tally)))
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def sum_blocks(address: Address, numbers: Sequence[int], step: Step, params: Any) -> Tally:
    """Run a step on some blocks and return the sum of the tallies, added in order. Workers call this."""
    blocks = open_cached(address, folder_stamps(address))  # the folder may have new blocks since the worker started
    return PackedTally(*add(step(blocks, number, params) for number in numbers))


def absolute_address(address: Address) -> Address:
    """Return the folders by their absolute paths: workers have other working directories."""
    folder, gold = address
    return str(Path(folder).absolute()), None if gold is None else str(Path(gold).absolute())


class PackedTally(Tally):
    """A tally that is pickled without the rows of judges who have no counts.

    The blocks of a task have judgments of a few of, say, a million judges.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.label.ndim < 2 or not self.label.size:
            return Tally, tuple(self)
        judge = np.flatnonzero(np.any(self.label.reshape(self.label.shape[0], -1), axis=1))
        if judge.size > SPARSE * self.label.shape[0]:
            return Tally, tuple(self)
        rows = np.ascontiguousarray(self.label[judge])
        return unpack_tally, (self.truth, judge.astype(np.int32), rows, self.label.shape[0], self.evidence)


def unpack_tally(truth: Floats, judge: Codes, rows: Floats, judges: int, evidence: float) -> Tally:
    """Return the tally that a ``PackedTally`` was pickled from."""
    label = np.zeros((judges, *rows.shape[1:]))
    label[judge] = rows
    return Tally(truth, label, evidence)
