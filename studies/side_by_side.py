"""Runs that do not know of each other, side by side in processes.

Small fits spend their time in Python, which threads would share.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeAlias

Each: TypeAlias = Callable[[Callable[[int], Any], Iterable[int]], Iterator[Any]]


@contextmanager
def side_by_side(workers: int) -> Iterator[Each]:
    """Give a function such as ``map`` whose calls run in several processes; Ctrl-C drops those that wait."""
    if workers <= 1:
        yield map
        return
    # a fork would copy threads of libraries half way through their work
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_ctrl_c_to_the_first)
    try:
        yield pool.map
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_ctrl_c_to_the_first() -> None:
    """Let the process that started this one decide what Ctrl-C means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
