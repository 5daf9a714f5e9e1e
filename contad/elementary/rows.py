"""Rows of numbers in stack memory, by which generated code strip-mines its loops."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

from contad.compile.emitting import ir, make_array, pack, populate_array
from contad.compile.overloads import add_overload, in_machine_code

ROWS = 256  # numbers in a row, a multiple of 8: a few rows of one loop fit into the L1 cache


def new_row() -> Any:
    """An uninitialised row of numbers. In compiled code it is in stack memory, and must not outlive the function."""
    return np.zeros(ROWS)


def new_single_row() -> Any:
    """An uninitialised row of float32 numbers, likewise."""
    return np.zeros(ROWS, np.float32)


def place(k: int) -> int:
    """k, a nonnegative index: compiled code does not test indices made from it for counting from the end."""
    return k


@in_machine_code
def ends_of(x: Any) -> Any:
    """The addresses of the ends of the memory of an array."""
    low = x.ctypes.data
    high = low + x.itemsize
    for k in range(x.ndim):
        if x.shape[k] == 0:
            return low, low
        reach = (x.shape[k] - 1) * x.strides[k]
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high


def are_apart(x: Any, y: Any) -> bool:
    """Whether the memory of one array ends before that of another one begins."""
    low, high = ends_of(x)
    lowest, highest = ends_of(y)
    return bool(high <= lowest or highest <= low)


@add_overload(are_apart)
def _are_apart(x: Any, y: Any) -> Any:
    return are_apart


@type_callable(place)
def _type_of_place(context):  # type: ignore[no-untyped-def]
    return lambda k: types.int64


@lower_builtin(place, types.Integer)
def _lower_place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Emit a mask to numbers below 2^62, which tells LLVM the range."""
    k = context.cast(builder, args[0], signature.args[0], types.int64)
    return builder.and_(k, ir.Constant(ir.IntType(64), 2**62 - 1))


@type_callable(new_row)
def _type_of_row(context):  # type: ignore[no-untyped-def]
    return lambda: types.Array(types.float64, 1, "C")


@type_callable(new_single_row)
def _type_of_single_row(context):  # type: ignore[no-untyped-def]
    return lambda: types.Array(types.float32, 1, "C")


@lower_builtin(new_row)
@lower_builtin(new_single_row)
def _lower_row(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Emit an array in stack memory."""
    kind = signature.return_type
    number, size = context.get_data_type(kind.dtype), kind.dtype.bitwidth // 8
    with builder.goto_entry_block():
        data = builder.alloca(ir.ArrayType(number, ROWS))  # `alloca_once` would write zeros into it
    made = make_array(kind)(context, builder)
    populate_array(
        made,
        data=builder.bitcast(data, number.as_pointer()),
        shape=[context.get_constant(types.intp, ROWS)],
        strides=[context.get_constant(types.intp, size)],
        itemsize=context.get_constant(types.intp, size),
        meminfo=None,
    )
    return pack(made)
