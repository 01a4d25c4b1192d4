"""How a loop is compiled: cached on disk, without the GIL, with numpy's rules for division.

Kernels run in threads of the caller's making; numba's own parallel loops are not used, because its
default threading layer aborts the process when two threads enter it.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import njit, types
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic, overload

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a kernel on first use; later runs load it from disk, where there is a place to write to."""
    try:
        return cast(Function, njit(nogil=True, cache=True, error_model="numpy")(function))
    except RuntimeError:  # neither the package's folder nor the user's can be written
        return cast(Function, njit(nogil=True, error_model="numpy")(function))


def _prefetch(_context: Any, flat: Any, _position: Any) -> Any:
    """Say how ``prefetch`` is typed and compiled."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(hint, [address, word(1), word(3), word(1)])  # write, keep, data
        return context.get_dummy_value()

    return types.void(flat, types.intp), generate


# Called in a kernel as prefetch(flat, position): asks the processor to bring flat[position] near, for a write to come.
prefetch = cast(Callable[[Any, Any], None], intrinsic(_prefetch))


def put(values: Any, k: int, value: float) -> Any:
    """Return values with one replaced: a tuple anew, which the compiler keeps in registers, an array in place."""
    raise NotImplementedError("put is for compiled kernels")


@overload(put)
def _put(values: Any, k: Any, value: Any) -> Any:
    """Say how ``put`` is compiled for tuples and for arrays."""

    def anew(values: Any, k: Any, value: Any) -> Any:
        return tuple_setitem(values, k, value)  # type: ignore[call-arg]

    def in_place(values: Any, k: Any, value: Any) -> Any:
        values[k] = value
        return values

    return anew if isinstance(values, types.UniTuple) else in_place
