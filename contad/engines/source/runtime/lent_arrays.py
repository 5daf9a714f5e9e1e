"""Arrays that a derivative makes once and nobody sees after it: large ones in memory that the thread keeps.

Those of few numbers lie on the stack: to ask for memory and to give it back takes longer than to compute them.

They are named by a number, one for each array of the source. In a loop, or in a function that is called, arrays are
NumPy's: there is more than one of the same number.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from contad.native.arena import MOST_NUMBERS, lend
from contad.native.emitted_arrays import emit_empty, emit_zeros, type_of_new
from contad.native.named_code import compiled_address, emit_address, emit_call, name_of
from contad.native.words import WORD, emit_array_at, set_word

ON_STACK = 64  # numbers of an array that is on the stack
_LARGE = 1 << 14  # numbers, from which on the system is asked for memory, and given it back


def lent_empty(k: int, shape: tuple[int, ...]) -> Any:
    """np.empty(shape)"""
    return np.empty(shape)


def lent_zeros(k: int, shape: tuple[int, ...]) -> Any:
    """np.zeros(shape)"""
    return np.zeros(shape)


def lend_room(k, size, clears):  # type: ignore[no-untyped-def]
    """The address of memory for array k, of so many numbers, that the thread lends; 0 where NumPy makes the array.

    That is where it is small, not an array, or there is no memory to be had. As a float the size does not overflow.
    """
    if not _LARGE <= size <= MOST_NUMBERS:
        return 0
    address = lend(k, np.int64(size))
    if clears and address != 0:
        for i in range(np.int64(size)):
            set_word(address, i, 0)  # the bits of 0.0
    return address


_SIGNATURE = types.int64(types.int64, types.float64, types.boolean)


def find_room(name: str) -> int:
    """The address of `lend_room`, compiled or loaded."""
    return compiled_address(name, _SIGNATURE)


@type_callable(lent_empty)
@type_callable(lent_zeros)
def _type_of_call(context):  # type: ignore[no-untyped-def]
    return lambda k, shape: type_of_new(shape)


@lower_builtin(lent_empty, types.Integer, types.Any)
def _lower_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit(context, builder, signature, args, emit_empty, False)


@lower_builtin(lent_zeros, types.Integer, types.Any)
def _lower_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit(context, builder, signature, args, emit_zeros, True)


def _emit(context: Any, builder: Any, signature: Any, args: Any, emit_new: Any, clears: bool) -> Any:
    """Emit an array on the stack of the function that has it, in memory that the thread lends, or a new one."""
    kind, (counter, shape) = signature.return_type, signature.args
    with builder.goto_entry_block():  # Numba's way fills it with zeros
        row = builder.alloca(ir.ArrayType(ir.DoubleType(), ON_STACK))
    lengths = cgutils.unpack_tuple(builder, args[1]) if isinstance(shape, types.BaseTuple) else [args[1]]
    kinds = list(shape) if isinstance(shape, types.BaseTuple) else [shape]
    lengths = [context.cast(builder, x, t, types.int64) for x, t in zip(lengths, kinds, strict=True)]
    size, is_shape = context.get_constant(types.float64, 1.0), context.get_constant(types.boolean, True)
    for length in lengths:
        size = builder.fmul(size, builder.sitofp(length, size.type))
        is_shape = builder.and_(is_shape, builder.icmp_signed(">=", length, WORD(0)))
    most = context.get_constant(types.float64, ON_STACK)
    is_few = builder.and_(is_shape, builder.fcmp_ordered("<=", size, most))
    found = cgutils.alloca_once(builder, WORD)
    with builder.if_else(is_few) as (few, many):
        with few:
            if clears:
                count = builder.fptosi(size, WORD)
                cgutils.memset(builder, row, builder.mul(count, WORD(8)), 0)
            builder.store(builder.ptrtoint(row, WORD), found)
        with many:
            at = emit_address(context, builder, find_room, name_of(lend_room))
            asked = builder.select(is_shape, size, context.get_constant(types.float64, 0.0))  # NumPy raises
            given = [context.cast(builder, args[0], counter, types.int64), asked]
            clear = context.get_constant(types.boolean, clears)
            builder.store(emit_call(context, builder, at, _SIGNATURE, [*given, clear]), found)
    address = builder.load(found)
    made = cgutils.alloca_once(builder, context.get_value_type(kind))
    with builder.if_else(builder.icmp_signed("==", address, WORD(0))) as (is_new, is_there):
        with is_new:
            builder.store(emit_new(context, builder, kind, shape, args[1])._getvalue(), made)
        with is_there:
            builder.store(emit_array_at(context, builder, kind, address, lengths), made)
    return builder.load(made)
