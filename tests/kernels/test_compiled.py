"""Compiled kernels: cached on disk, and free of the GIL."""

import threading
import time

import numpy as np

from adjudge.kernels.coding import _code, code


def test_kernels_are_cached_on_disk():
    """A compiled kernel knows where its cache is."""
    code([(np.arange(3, dtype=np.uint64), np.arange(3, dtype=np.uint64))], 3)
    assert _code.stats.cache_path


def test_kernels_let_other_threads_run():
    """While a kernel runs, Python goes on."""
    names = np.random.default_rng(0).integers(0, 2**63, 8_000_000).astype(np.uint64)
    code([(names[:3], names[:3])], 3)
    worker = threading.Thread(target=code, args=([(names, names)], names.size))
    worker.start()
    ticks = 0
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    assert ticks > 5
