"""When and how kernels are compiled: when it pays, cached on disk, without the GIL, with numpy's rules for division.

Numba takes half a second to load and up to some seconds to compile a kernel. It is therefore loaded when the first
kernel is compiled. The callers of the most common kernels have the same arithmetic in numpy, with the same result to
the last bit, and use it until the kernel ``pays``.

Kernels run in threads that the caller starts. Numba's own parallel loops are not used, because its
default threading layer aborts the process when two threads enter it.
"""

import os
import stat
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

WORTH = 2_000_000  # steps of work that take numpy about as long as loading a kernel
LOCK = RLock()  # one thread compiles


class Kernel:
    """A function that is compiled when it is first called, and loaded from disk in later runs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.imported = _imported_sources(function)
        self.sources = self.imported | {function.__code__.co_filename}
        self.work = 0
        self.loaded: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled function."""
        return (self.loaded or self.dispatcher)(*arguments)

    @property
    def dispatcher(self) -> Any:
        """Numba's function, which compiles for every combination of argument types."""
        with LOCK:
            if self.loaded is None:
                if self.imported:
                    self.function.__qualname__ += f"_{_checksum(self.imported):08x}"
                self.loaded = _jit(self.function)
        return self.loaded

    def pays(self, work: int) -> bool:
        """Return whether the kernel is loaded, or is worth loading after this and all earlier ``work`` in numpy."""
        self.work += work
        return self.loaded is not None or self.work > WORTH


def compiled(function: Function) -> Function:
    """Compile a kernel on first use; later runs load it from disk."""
    return cast(Function, Kernel(function))


def pays(kernel: Callable[..., Any], work: int) -> bool:
    """Return whether a kernel is better than numpy for so many steps of work."""
    return cast(Kernel, kernel).pays(work)


def _jit(function: Callable[..., Any]) -> Any:
    """Return numba's function, which keeps its machine code in the cache folder."""
    njit, config = _numba()
    before, folder = config.CACHE_DIR, cache_folder(str(Path(function.__code__.co_filename).parent))
    if folder is not None and not before:
        config.CACHE_DIR = folder
    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # no folder is writable
        return njit(nogil=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before


@cache
def _numba() -> tuple[Any, Any]:
    """Load numba, teach it our kernels, and return its decorator and its settings."""
    from numba import config, njit

    from adjudge.kernels.intrinsics import register

    register(Kernel, prefetch, put)
    return njit, config


@cache
def cache_folder(package: str) -> str | None:
    """Return where the machine code of a folder of sources is kept; None if numba may choose.

    It is kept beside the sources if that folder is writable. Otherwise it is kept in the user's cache folder, or in
    a temporary folder that only this user can read and write: machine code of other users is never loaded.
    """
    if all(
        os.access(path, os.W_OK) for path in (package, os.path.join(package, "__pycache__")) if os.path.exists(path)
    ):
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    temporary = os.path.join(tempfile.gettempdir(), f"adjudge-{os.getuid() if hasattr(os, 'getuid') else 'cache'}")
    return next((folder for folder in (os.path.join(home, "adjudge"), temporary) if _private(folder)), None)


def _private(folder: str) -> bool:
    """Return whether a folder, which is made if it does not exist, is writable for this user and for nobody else."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        state = os.lstat(folder)
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or (state.st_uid == os.getuid() and not state.st_mode & 0o022)
    return stat.S_ISDIR(state.st_mode) and mine and os.access(folder, os.W_OK)


def _imported_sources(function: Callable[..., Any]) -> frozenset[str]:
    """Return the files of the kernels that a kernel's module imports, and of the kernels that those import.

    Numba compiles a kernel again when its own file changes, but not when a kernel that it calls changes in another
    file. The checksum of these files is therefore a part of the kernel's name in the cache.
    """
    sources: frozenset[str] = frozenset()
    for value in function.__globals__.values():
        files = getattr(value, "sources", None)
        sources |= files if isinstance(files, frozenset) else frozenset()
    return sources - {function.__code__.co_filename}


@cache
def _checksum(sources: frozenset[str]) -> int:
    """Return a checksum of the contents of source files; a file that cannot be read counts as empty."""
    total = 0
    for source in sorted(sources):
        path = Path(source)
        total = zlib.crc32(path.read_bytes() if path.is_file() else b"", total)
    return total


def prefetch(flat: Any, position: Any) -> None:
    """Ask the processor to load flat[position] into its cache, for a write that follows soon."""
    raise NotImplementedError("prefetch is for compiled kernels")


def put(values: Any, k: int, value: float) -> Any:
    """Return values with one of them replaced: a new tuple (which stays in registers), or the same array."""
    raise NotImplementedError("put is for compiled kernels")
