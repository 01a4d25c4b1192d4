"""Compiled kernels: cached on disk, and free of the GIL."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numba import njit

from adjudge.kernels.coding import _code, code
from adjudge.kernels.compiled import prefetch, put


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


@njit
def _replaced(values, k, value):
    return put(values, k, value)


def test_put_replaces_in_tuples_and_arrays():
    """A new tuple is made and the old one stays; an array is changed in place."""
    before, array = (1.0, 2.0, 3.0), np.array([1.0, 2.0, 3.0])
    assert _replaced(before, 1, 9.0) == (1.0, 9.0, 3.0)
    assert before == (1.0, 2.0, 3.0)
    assert _replaced(array, 1, 9.0) is array
    assert array.tolist() == [1.0, 9.0, 3.0]


def test_put_is_for_kernels():
    """In Python it says so."""
    with pytest.raises(NotImplementedError, match="put is for compiled kernels"):
        put((1.0,), 0, 2.0)


@njit
def _prefetched(flat, position):
    prefetch(flat, position)
    return flat[position]


def test_prefetch_changes_nothing():
    """It is a hint: the values stay, and the position may be of any integer type."""
    assert _prefetched(np.arange(5.0), 3) == 3.0
    assert _prefetched(np.arange(5.0), np.uint64(3)) == 3.0


def test_prefetch_is_for_kernels():
    """In Python it says so."""
    with pytest.raises(NotImplementedError, match="prefetch is for compiled kernels"):
        prefetch(np.arange(5.0), 0)


LEAF = "from adjudge.kernels.compiled import compiled\n@compiled\ndef leaf(x):\n    return x + {0}\n"
CALLER = """
from adjudge.kernels.compiled import compiled
from leaf import leaf
@compiled
def caller(x):
    return leaf(x)
if __name__ == "__main__":
    import caller as module
    print(module.caller(1), len(module.caller.stats.cache_hits))
"""


def test_a_kernel_is_compiled_again_when_a_kernel_that_it_calls_changes(tmp_path):
    """The cache of a kernel depends on the files of the kernels that it inlines, and is used while they stay."""
    (tmp_path / "caller.py").write_text(CALLER)

    def run(constant: int) -> str:
        (tmp_path / "leaf.py").write_text(LEAF.format(constant))
        command, environment = [sys.executable, "-B", "caller.py"], {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        return subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    assert [run(1), run(1), run(5)] == ["2 0\n", "2 1\n", "6 0\n"]
