"""What an engine is: one function, that takes a step over all blocks and adds up what it returns.

Blocks stay where they are, in a folder that every worker sees; a worker maps them into memory when it first needs them.
Params go out, tallies come back. A step is a function of a module, or a partial one, so that it can be sent by name;
it may be taken twice: what it writes, it writes whole, under a name that depends on the block alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.blocks import Blocks, folder_stamps, open_cached
from adjudge.kernels.block import Tally, add

# Tallies on their way: a worker's blocks know only some of a million judges, and only their rows are sent.

SHARE = 0.5  # of the judges that have rows, up to which the others are left out


class Sent(Tally):
    """A tally that travels without the rows of judges who said nothing."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.label.ndim < 2 or not self.label.size:
            return Tally, tuple(self)
        spoke = np.flatnonzero(np.any(self.label.reshape(self.label.shape[0], -1), axis=1))
        if spoke.size > SHARE * self.label.shape[0]:
            return Tally, tuple(self)
        rows = np.ascontiguousarray(self.label[spoke])
        return arrived, (self.truth, spoke.astype(np.int32), rows, self.label.shape[0], self.evidence)


def arrived(truth: Floats, spoke: Codes, rows: Floats, judges: int, evidence: float) -> Tally:
    """Return the tally as it was before it was sent."""
    label = np.zeros((judges, *rows.shape[1:]))
    label[spoke] = rows
    return Tally(truth, label, evidence)


Step: TypeAlias = Callable[[Blocks, int, Any], Tally]  # blocks, the number of one, and what is sent to all
Address: TypeAlias = tuple[str, str | None]

MOST_TASKS, FEWEST_TASKS = 1_024, 128  # that a pass is made of; beyond, a task takes several blocks
MOST_BYTES = 1 << 33  # of all their tallies together, where these are large


class Engine(Protocol):
    """Who takes a step over all blocks."""

    def map_sum(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Return the sum of ``step(blocks, number, params)`` over all blocks."""
        ...

    def close(self) -> None:
        """Give back what the engine holds."""
        ...


def runs(blocks: Blocks) -> list[range]:
    """Return the blocks in runs, one a task: how many depends on the data alone, and so do the sums."""
    count, tally = len(blocks.parts), 8 * len(blocks.judges) * len(blocks.scale) ** 2
    size = -(-count // max(FEWEST_TASKS, min(MOST_TASKS, MOST_BYTES // tally)))
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def tally_of(address: Address, numbers: Sequence[int], step: Step, params: Any) -> Tally:
    """Take a step over some blocks, wherever this process is, and add up in their order."""
    blocks = open_cached(address, folder_stamps(address))  # a worker lives on while others may be put into the folder
    return Sent(*add(_tallies(blocks, numbers, step, params)))


def _tallies(blocks: Blocks, numbers: Sequence[int], step: Step, params: Any) -> Iterator[Tally]:
    """Yield the tally of each block."""
    for number in numbers:
        yield step(blocks, number, params)
