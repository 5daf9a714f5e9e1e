"""Arrays that a derivative makes once and nobody sees after it: large ones in memory that the thread keeps.

Those of few numbers lie on the stack: to ask for memory and to give it back takes longer than to compute them.

They are named by a number, one for each array of the source. In a loop, or in a function that is called, arrays are
NumPy's: there is more than one of the same number.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

from contad.native.arena import INTERNAL_OPTIONS, MOST_NUMBERS, lend
from contad.native.machine_code import njit
from contad.native.words import WORD, array_at, set_word

ON_STACK = 64  # numbers of an array that is on the stack
_LARGE = 1 << 14  # numbers, from which on the system is asked for memory, and given it back


def lent_empty(k: int, shape: tuple[int, ...]) -> Any:
    """np.empty(shape)"""
    return np.empty(shape)


def lent_zeros(k: int, shape: tuple[int, ...]) -> Any:
    """np.zeros(shape)"""
    return np.zeros(shape)


@njit(**INTERNAL_OPTIONS)
def _count(shape):  # type: ignore[no-untyped-def]
    """How many elements an array of this shape has, -1 where they are many or a length is negative."""
    size = 1
    for length in shape:
        if length < 0 or length > ON_STACK:
            return -1
        size *= length
        if size > ON_STACK:
            return -1
    return size


@njit(**INTERNAL_OPTIONS)
def _size_to_lend(shape):  # type: ignore[no-untyped-def]
    """The number of elements of an array of this shape, 0 where NumPy makes it; as a float it does not overflow."""
    size = 1.0
    for length in shape:
        if length < 0:
            return 0
        size *= length
    return np.int64(size) if _LARGE <= size <= MOST_NUMBERS else 0


def _is_shape(kind: Any) -> bool:
    return isinstance(kind, types.BaseTuple) and all(isinstance(length, types.Integer) for length in kind)


@type_callable(lent_empty)
@type_callable(lent_zeros)
def _type_of_lent(context):  # type: ignore[no-untyped-def]
    return lambda k, shape: types.Array(types.float64, len(shape), "C") if _is_shape(shape) else None


@lower_builtin(lent_empty, types.Integer, types.BaseTuple)
def _lower_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Emit the array in compiled code."""
    return _emit(context, builder, _make_empty, signature, args)


@lower_builtin(lent_zeros, types.Integer, types.BaseTuple)
def _lower_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Likewise, with zeros in it."""
    return _emit(context, builder, _make_zeros, signature, args)


def _emit(context: Any, builder: Any, make: Any, signature: Any, args: Any) -> Any:
    """Call a function with memory on the stack of the function that has the array."""
    with builder.goto_entry_block():  # Numba's way fills it with zeros
        row = builder.ptrtoint(builder.alloca(ir.ArrayType(ir.DoubleType(), ON_STACK)), WORD)
    kinds = [types.int64, *map(types.unliteral, signature.args)]
    return context.compile_internal(builder, make, signature.return_type(*kinds), [row, *args])


def _make_empty(row, k, shape):  # type: ignore[no-untyped-def]
    """An array on the stack, or that the thread lends, unless it is none, or there is no memory to be had."""
    if 0 <= _count(shape) <= ON_STACK:
        return array_at(row, shape)
    size = _size_to_lend(shape)
    if size == 0:
        return np.empty(shape)
    address = lend(k, size)
    return np.empty(shape) if address == 0 else array_at(address, shape)


def _make_zeros(row, k, shape):  # type: ignore[no-untyped-def]
    """Likewise, with zeros in it."""
    address, size = row, _count(shape)
    if not 0 <= size <= ON_STACK:
        size = _size_to_lend(shape)
        if size == 0:
            return np.zeros(shape)
        address = lend(k, size)
        if address == 0:
            return np.zeros(shape)
    for i in range(size):
        set_word(address, i, 0)  # the bits of 0.0
    return array_at(address, shape)
