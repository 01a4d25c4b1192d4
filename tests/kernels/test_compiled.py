"""Compiled kernels: loaded when they pay, cached on disk, and free of the GIL."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import adjudge
from adjudge.kernels.coding import _code, code
from adjudge.kernels.compiled import WORTH, cache_folder, compiled, pays, prefetch, put
from tests.unprivileged import give, run_unprivileged, unprivileged_python


def test_kernels_are_cached_on_disk():
    """A compiled kernel knows where its cache is."""
    assert _code.dispatcher.stats.cache_path


@compiled
def _one_more(x):
    return x + 1


@compiled
def _two_more(x):
    return _one_more(_one_more(x))


def test_a_kernel_is_loaded_when_it_pays():
    """Much work at once or little work many times is worth it, and what is loaded is used."""
    assert not pays(_one_more, WORTH)
    assert pays(_one_more, 1)
    assert not pays(_two_more, 1)
    assert _two_more(1) == 3
    assert pays(_two_more, 1)


FIRST = """
import sys, adjudge
adjudge.fit(adjudge.dataset("anesthesia"), {model})
print("numba" in sys.modules)
"""


@pytest.mark.parametrize(("model", "loaded"), [("", "False"), ("'dawid-skene'", "False"), ("'glad'", "True")])
def test_a_small_crowd_needs_no_compiler(model, loaded):
    """The default model and Dawid-Skene are computed in numpy; other models load numba."""
    command = [sys.executable, "-c", FIRST.format(model=model)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == f"{loaded}\n"


def test_kernels_let_other_threads_run():
    """While a kernel runs, Python goes on."""
    names = np.random.default_rng(0).integers(0, 2**63, 8_000_000).astype(np.uint64)
    code([(names, names)], names.size)
    worker = threading.Thread(target=code, args=([(names, names)], names.size))
    worker.start()
    ticks = 0
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    assert ticks > 5


LOADED = _code.dispatcher  # numba knows ``put`` and ``prefetch`` from here on


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


READ_ONLY = """
import numpy
import adjudge.kernels.coding as coding
names = numpy.arange(3, dtype=numpy.uint64)
coding._code(names, names, numpy.zeros(64, numpy.uint64), *numpy.zeros((2, 3), numpy.int32), 0, 0, 0)
stats = coding._code.dispatcher.stats
print(stats.cache_path, len(stats.cache_hits))
"""


def test_an_installation_that_cannot_be_written_has_its_cache_elsewhere():
    """It is in a temporary folder of the user, or in their cache folder if they have one; the next run finds it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        package, home, temporary = (folder / part for part in ("adjudge", "home", "temporary"))
        shutil.copytree(Path(adjudge.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        home.mkdir()
        temporary.mkdir()
        give(temporary)
        for path in (home, *package.rglob("*")):
            path.chmod(path.stat().st_mode & ~0o222)
        variables = {"PYTHONPATH": f"{folder}:{sysconfig.get_path('purelib')}", "HOME": str(home)}
        command = [unprivileged_python(), "-B", "-c", READ_ONLY]
        first, second = (run_unprivileged(command, TMPDIR=str(temporary), **variables).split() for _ in range(2))
        (own,) = temporary.iterdir()
        assert first[0].startswith(str(own))
        assert own.stat().st_mode & 0o777 == 0o700
        assert [first[1], second[1]] == ["0", "1"]
        home.chmod(0o755)
        give(home)
        third = run_unprivileged(command, TMPDIR=str(temporary), **variables).split()
        assert third[0].startswith(str(home / ".cache" / "adjudge"))
        for path in package.rglob("*"):
            path.chmod(path.stat().st_mode | 0o200)


def test_the_cache_of_another_user_is_not_used(tmp_path, monkeypatch):
    """A temporary folder that others can write to is left alone, and numba's own choice stands."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("os.access", lambda path, mode: str(tmp_path) in str(path))
    (tmp_path / "no").mkdir()
    (tmp_path / "no" / "adjudge").write_text("a file in its place")
    own = tmp_path / f"adjudge-{os.getuid()}"
    own.mkdir()
    own.chmod(0o777)
    assert cache_folder.__wrapped__(str(Path(adjudge.__file__).parent)) is None
    own.chmod(0o700)
    assert cache_folder.__wrapped__(str(Path(adjudge.__file__).parent)) == str(own)


LEAF = "from adjudge.kernels.compiled import compiled\n@compiled\ndef leaf(x):\n    return x + {0}\n"
CALLER = """
from adjudge.kernels.compiled import compiled
from leaf import leaf
@compiled
def caller(x):
    return leaf(x)
if __name__ == "__main__":
    import caller as module
    print(module.caller(1), len(module.caller.dispatcher.stats.cache_hits))
"""


def test_a_kernel_is_compiled_again_when_a_kernel_that_it_calls_changes(tmp_path):
    """The cache of a kernel depends on the files of the kernels that it inlines, and is used while they stay."""
    (tmp_path / "caller.py").write_text(CALLER)

    def run(constant: int) -> str:
        (tmp_path / "leaf.py").write_text(LEAF.format(constant))
        command, environment = [sys.executable, "-B", "caller.py"], {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        return subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    assert [run(1), run(1), run(5)] == ["2 0\n", "2 1\n", "6 0\n"]
