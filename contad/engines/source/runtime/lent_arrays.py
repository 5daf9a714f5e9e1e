"""Arrays that a derivative creates once and does not return: large ones use memory that the thread keeps.

Small ones are on the stack, because allocating them would take longer than computing them.

Each such array of the source has a number. In loops and callees several arrays would have the same number; arrays that
die with their iteration are on the stack, or NumPy's.
"""

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

from contad.compile.emitted_arrays import type_of_new
from contad.compile.emitting import cgutils, ir, make_array, pack, populate_array
from contad.compile.named_code import compiled_address, emit_address, emit_call, name_of
from contad.compile.words import WORD, array_at, emit_array_at, set_word
from contad.memory.arena import LOANS, MOST_NUMBERS, lend

ON_STACK = 160  # the most numbers in an array on the stack, such as a matrix of 12 rows and columns
FEW = 8  # the numbers that one store clears
UNLENT = -1  # no loan, as all numbers from LOANS on: NumPy creates the array if it is not on the stack
_LARGE = 1 << 14  # from this many numbers on, the allocator asks the system for memory, and returns it


def lent_empty(k: int, shape: tuple[int, ...]) -> Any:
    """np.empty(shape)"""
    return np.empty(shape)


def lent_zeros(k: int, shape: tuple[int, ...]) -> Any:
    """np.zeros(shape)"""
    return np.zeros(shape)


def brief_empty(shape: tuple[int, ...]) -> Any:
    """np.empty(shape), for an array that dies with its iteration."""
    return np.empty(shape)


def brief_zeros(shape: tuple[int, ...]) -> Any:
    """np.zeros(shape), for an array that dies with its iteration."""
    return np.zeros(shape)


def lend_array(k, shape, clears):  # type: ignore[no-untyped-def]
    """Array k of this shape: in memory that the thread lends if it is large and memory is left, else NumPy's."""
    size = 1.0  # a float does not overflow
    for length in shape:
        size *= max(length, 0)
    if _LARGE <= size <= MOST_NUMBERS and 0 <= k < LOANS:
        address = lend(k, np.int64(size))
        if address != 0:
            if clears:
                for i in range(np.int64(size)):
                    set_word(address, i, 0)  # the bits of 0.0
            return array_at(address, shape)
    return np.zeros(shape) if clears else np.empty(shape)


def _signature_of(axes: int) -> Any:
    """The signature of `lend_array` for this many axes."""
    made = types.Array(types.float64, axes, "C")
    return made(types.int64, types.UniTuple(types.int64, axes), types.boolean)


def find_lender(axes: str) -> int:
    """The address of `lend_array` for this many axes; compiles or loads it."""
    return compiled_address(name_of(lend_array), _signature_of(int(axes)))


@type_callable(lent_empty)
@type_callable(lent_zeros)
def _type_of_call(context):  # type: ignore[no-untyped-def]
    return lambda k, shape: type_of_new(shape)


@lower_builtin(lent_empty, types.Integer, types.Any)
def _lower_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit(context, builder, signature, args, False)


@lower_builtin(lent_zeros, types.Integer, types.Any)
def _lower_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit(context, builder, signature, args, True)


@type_callable(brief_empty)
@type_callable(brief_zeros)
def _type_of_brief_array(context):  # type: ignore[no-untyped-def]
    return type_of_new


@lower_builtin(brief_empty, types.Any)
def _lower_brief_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit_brief(context, builder, signature, args, False)


@lower_builtin(brief_zeros, types.Any)
def _lower_brief_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit_brief(context, builder, signature, args, True)


def _emit_brief(context: Any, builder: Any, signature: Any, args: Any, clears: bool) -> Any:
    """Emit an array on the stack, or one that NumPy creates."""
    unlent = signature.return_type(types.int64, *signature.args)
    return _emit(context, builder, unlent, [context.get_constant(types.int64, UNLENT), *args], clears)


def _emit(context: Any, builder: Any, signature: Any, args: Any, clears: bool) -> Any:
    """Emit an array on the stack of the current function, or a call that lends or creates an array."""
    kind, (counter, shape) = signature.return_type, signature.args
    with builder.goto_entry_block():  # Numba's own helper would fill it with zeros
        row = builder.alloca(ir.ArrayType(ir.DoubleType(), ON_STACK))
    lengths = cgutils.unpack_tuple(builder, args[1]) if isinstance(shape, types.BaseTuple) else [args[1]]
    kinds = list(shape) if isinstance(shape, types.BaseTuple) else [shape]
    lengths = [context.cast(builder, x, t, types.int64) for x, t in zip(lengths, kinds, strict=True)]
    count, is_few = WORD(1), context.get_constant(types.boolean, True)
    for length in lengths:  # no length is negative then, so their product does not overflow
        count = builder.mul(count, length)
        for few in (length, count):
            is_few = builder.and_(is_few, builder.icmp_unsigned("<=", few, WORD(ON_STACK)))
    made = cgutils.alloca_once(builder, context.get_value_type(kind))
    with builder.if_else(is_few) as (few, many):
        with few:
            if clears:
                _emit_zeros(builder, row, count)
            at = builder.ptrtoint(row, WORD)
            builder.store(emit_array_at(context, builder, kind, at, lengths), made)
        with many:
            lender = emit_address(context, builder, find_lender, str(kind.ndim))
            lent = _signature_of(kind.ndim)
            k = context.cast(builder, args[0], counter, types.int64)
            asked = context.make_tuple(builder, lent.args[1], lengths)
            clear = context.get_constant(types.boolean, clears)
            builder.store(emit_call(context, builder, lender, lent, [k, asked, clear]), made)
    return builder.load(made)


def _emit_zeros(builder: Any, row: Any, count: Any) -> None:
    """Clear an array on the stack.

    One store clears a few numbers, because a processor can load a number at once that such a store has written; it
    waits for the masked stores of `memset`.
    """
    few = ir.VectorType(ir.DoubleType(), FEW)
    builder.store(ir.Constant(few, None), builder.bitcast(row, few.as_pointer()), align=8)
    with builder.if_then(builder.icmp_signed(">", count, WORD(FEW)), likely=False):
        cgutils.memset(builder, row, builder.mul(count, WORD(8)), 0)


# ---- small arrays of a known shape -----------------------------------------------------------------------------------
def small_zeros(shape: tuple[int, ...]) -> Any:
    """An array of zeros of a literal shape, whose elements LLVM turns into variables.

    In compiled code it is on the stack, and must not outlive the function or an iteration.
    """
    return np.zeros(shape)


@type_callable(small_zeros)
def _type_of_small_zeros(context):  # type: ignore[no-untyped-def]
    def typer(shape: Any) -> Any:
        literal = isinstance(shape, types.BaseTuple) and all(isinstance(n, types.IntegerLiteral) for n in shape.types)
        return types.Array(types.float64, len(shape.types), "C") if literal else None

    return typer


@lower_builtin(small_zeros, types.BaseTuple)
def _lower_small_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Emit an array on the stack."""
    shape = [n.literal_value for n in signature.args[0].types]
    number = ir.DoubleType()
    zeros = ir.Constant(ir.ArrayType(number, math.prod(shape)), None)
    data = cgutils.alloca_once(builder, zeros.type)
    builder.store(zeros, data)
    made = make_array(signature.return_type)(context, builder)
    strides = [8 * math.prod(shape[k + 1 :]) for k in range(len(shape))]
    populate_array(
        made,
        data=builder.bitcast(data, number.as_pointer()),
        shape=[context.get_constant(types.intp, n) for n in shape],
        strides=[context.get_constant(types.intp, n) for n in strides],
        itemsize=context.get_constant(types.intp, 8),
        meminfo=None,
    )
    return pack(made)
