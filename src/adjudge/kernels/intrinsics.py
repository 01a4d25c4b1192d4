"""What numba is taught: kernels that call kernels, and two operations that its Python does not have.

Only the documented interfaces of numba are used (``numba.extending``). This module is loaded with numba, when the
first kernel is compiled.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, typeof_impl


def register(kernel: type, prefetch: Callable[..., Any], put: Callable[..., Any]) -> None:
    """Teach numba the class of kernels, and how ``prefetch`` and ``put`` are compiled."""

    @typeof_impl.register(kernel)
    def _type_of_kernel(value: Any, context: Any) -> Any:
        return typeof_impl(value.dispatcher, context)

    overload(prefetch)(_prefetch)
    overload(put)(_put)


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


def _put(values: Any, k: Any, value: Any) -> Any:
    """Return how ``put`` is compiled for tuples and for arrays."""

    def in_tuple(values: Any, k: Any, value: Any) -> Any:
        return replace_in_tuple(values, k, value)

    def in_array(values: Any, k: Any, value: Any) -> Any:
        values[k] = value
        return values

    return in_tuple if isinstance(values, types.UniTuple) else in_array
