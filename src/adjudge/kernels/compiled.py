"""How kernels are compiled: cached on disk, without the GIL, with numpy's rules for division.

Kernels run in threads that the caller starts. Numba's own parallel loops are not used, because its
default threading layer aborts the process when two threads enter it.

Only the documented interfaces of numba are used (``njit`` and ``numba.extending``).
"""

import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a kernel on first use; later runs load it from disk, if the cache folder is writable."""
    sources = _imported_sources(function)
    if sources:
        function.__qualname__ += f"_{_checksum(sources):08x}"
    kernel: Any
    try:
        kernel = njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the package's folder nor the user's cache folder is writable
        kernel = njit(nogil=True, error_model="numpy")(function)
    kernel.sources = sources | {function.__code__.co_filename}
    return cast(Function, kernel)


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


def _prefetch_address(_context: Any, address: Any) -> Any:
    """Declare the type and the code of ``prefetch_address``."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(hint, [builder.inttoptr(arguments[0], byte), word(1), word(3), word(1)])  # write, keep, data
        return arguments[0]

    return types.intp(types.intp), generate


prefetch_address = cast(Callable[[Any], int], intrinsic(_prefetch_address))


def prefetch(flat: Any, position: Any) -> None:
    """Ask the processor to load flat[position] into its cache, for a write that follows soon."""
    raise NotImplementedError("prefetch is for compiled kernels")


@overload(prefetch)
def _prefetch(flat: Any, position: Any) -> Any:
    """Return how ``prefetch`` is compiled."""

    def load(flat: Any, position: Any) -> Any:
        prefetch_address(np.intp(flat.ctypes.data) + np.intp(position) * flat.itemsize)

    return load


def _replace_in_tuple(_context: Any, values: Any, k: Any, value: Any) -> Any:
    """Declare the type and the code of ``replace_in_tuple``."""

    def generate(_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        result, position, new = arguments
        for n in range(len(signature.args[0])):  # once the loop over k is unrolled, the comparisons fold away
            chosen = builder.icmp_signed("==", position, position.type(n))
            result = builder.insert_value(result, builder.select(chosen, new, builder.extract_value(result, n)), n)
        return result

    return values(values, types.intp, values.dtype), generate


replace_in_tuple = cast(Callable[[Any, Any, Any], Any], intrinsic(_replace_in_tuple))


def put(values: Any, k: int, value: float) -> Any:
    """Return values with one of them replaced: a new tuple (which stays in registers), or the same array."""
    raise NotImplementedError("put is for compiled kernels")


@overload(put)
def _put(values: Any, k: Any, value: Any) -> Any:
    """Return how ``put`` is compiled for tuples and for arrays."""

    def in_tuple(values: Any, k: Any, value: Any) -> Any:
        return replace_in_tuple(values, k, value)

    def in_array(values: Any, k: Any, value: Any) -> Any:
        values[k] = value
        return values

    return in_tuple if isinstance(values, types.UniTuple) else in_array
