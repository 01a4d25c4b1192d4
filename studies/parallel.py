"""Run independent calls in parallel processes: small fits spend their time in Python, where threads do not help."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeAlias

Each: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


@contextmanager
def parallel_map(workers: int) -> Iterator[Each]:
    """Give a function such as ``map`` whose calls run in several processes; Ctrl-C cancels those that wait."""
    if workers <= 1:
        yield map
        return
    # a fork would copy the threads of libraries in an undefined state
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_ignore_interrupts)
    try:
        yield pool.map
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C, which the main process handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
