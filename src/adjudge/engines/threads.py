"""Threads over blocks on disk: out of core on one machine.

Blocks are mapped, worked on a few at a time, and let go of: what is resident is a block and a tally a thread, however
many judgments there are. Kernels release the GIL.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from adjudge.data.blocks import Blocks
from adjudge.engines.engine import Step
from adjudge.inference.infer import cores
from adjudge.kernels.block import Tally, add


class Threads:
    """An engine of this process."""

    def __init__(self, workers: int | None = None, resident: bool = False) -> None:
        self.workers, self.resident = workers or cores(), resident
        self._pool = ThreadPoolExecutor(self.workers)

    def map_sum(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Return the sum over all blocks, added up in their order."""
        return add(self._tallies(blocks, step, params))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)

    def _tallies(self, blocks: Blocks, step: Step, params: Any) -> Iterator[Tally]:
        """Yield the tallies in order; no more are begun than threads can be at, so that none pile up."""
        begun: deque[Future[Tally]] = deque()
        try:
            for number in range(len(blocks.parts)):
                if len(begun) > self.workers:
                    yield begun.popleft().result()
                begun.append(self._pool.submit(self._one, blocks, number, step, params))
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()

    def _one(self, blocks: Blocks, number: int, step: Step, params: Any) -> Tally:
        """Take the step over one block, and let go of it unless blocks are to stay."""
        try:
            return step(blocks, number, params)
        finally:
            if not self.resident:
                blocks.release(number)
