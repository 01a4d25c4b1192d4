"""Compiled kernels: cached on disk, and free of the GIL."""

import threading
import time

import numpy as np

from adjudge.kernels.compiled import compiled, prefetch


@compiled
def _spin(rounds):
    total = 0.0
    for r in range(rounds):
        total += np.sin(r)
    return total


@compiled
def _sum_ahead(values):
    total = 0.0
    for n in range(values.size):
        prefetch(values, min(n + 4, values.size - 1))
        total += values[n]
    return total


def test_kernels_are_cached_on_disk():
    """A compiled kernel knows where its cache is."""
    _spin(1)
    assert _spin.stats.cache_path


def test_kernels_let_other_threads_run():
    """While a kernel runs, Python goes on."""
    _spin(1)
    worker = threading.Thread(target=_spin, args=(30_000_000,))
    worker.start()
    ticks = 0
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    assert ticks > 5


def test_fetching_ahead_changes_no_number():
    """prefetch is a hint and nothing else."""
    values = np.random.default_rng(0).random(100)
    assert np.isclose(_sum_ahead(values), values.sum())
