"""The workspace: float64 memory that stores the numbers of iterations until the reverse sweep reads them.

In compiled code the workspace is a part of the thread's arena. Each call uses it from its start, whatever the previous
call has left there, so an exception leaves nothing to clean up. Therefore a derivative must never run inside another
one of the same thread. Its callees are inlined functions and rules, which cannot take derivatives, with two exceptions.
Derivatives of parts of rules take the caller's workspace and its end, and return it. And while a block of Python runs,
the workspace is not in the arena.
"""

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import lower_builtin, type_callable

from contad.compile.emitting import cgutils, ir
from contad.compile.overloads import add_overload
from contad.compile.words import WORD, emit_array_at, place
from contad.memory.arena import MOST_NUMBERS, WORKSPACE, arena_of_thread, reserve

NUMBERS = types.CPointer(types.float64)


def workspace() -> Any:
    """The workspace, and the count of numbers in use: 0. Only `grow` knows its capacity."""
    return np.empty(0), 0


def grow(work: Any, n: float) -> Any:
    """A workspace for at least n numbers that begins with those of `work`; `work` itself if it is large enough.

    n may be a float, so that products of large trip counts do not overflow.

    Raises MemoryError if memory runs out, or if `contad.set_memory_limit` allows less.
    """
    return work if n <= len(work) else np.concatenate([work, np.empty(max(int(n), 2 * len(work)) - len(work))])


def integer(work: Any, k: int) -> int:
    """The integer that `put_integer` stored as number k."""
    return int(work.view(np.int64)[k])


def put_integer(work: Any, k: int, n: int) -> None:
    """Store an integer as number k, with all 64 bits: a float has only 53."""
    work.view(np.int64)[k] = n


def numbers(work: Any, n: int) -> Any:
    """The first n numbers of the workspace as an array, valid until the workspace grows."""
    return work[:n]


def kept_matrix(work: Any, first: int, rows: int, columns: int) -> Any:
    """Numbers of the workspace, from number `first` on, as a matrix, valid until the workspace grows."""
    return work[first : first + rows * columns].reshape((rows, columns))


# ---- in compiled code ------------------------------------------------------------------------------------------------
@type_callable(workspace)
def _type_of_workspace(context):  # type: ignore[no-untyped-def]
    return lambda: types.Tuple((NUMBERS, types.int64))  # a literal 0 would make Numba infer all types twice


@type_callable(grow)
def _type_of_grow(context):  # type: ignore[no-untyped-def]
    return lambda work, n: NUMBERS


@type_callable(integer)
def _type_of_integer(context):  # type: ignore[no-untyped-def]
    return lambda work, k: types.int64


@type_callable(put_integer)
def _type_of_put_integer(context):  # type: ignore[no-untyped-def]
    return lambda work, k, n: types.none


@add_overload(numbers)
def _numbers_of_workspace(work: Any, n: Any) -> Any:
    if work != NUMBERS:
        return None

    def implementation(work: Any, n: Any) -> Any:
        return carray(work, n)

    return implementation


@type_callable(kept_matrix)
def _type_of_kept_matrix(context):  # type: ignore[no-untyped-def]
    return lambda work, first, rows, columns: types.Array(types.float64, 2, "C") if work == NUMBERS else None


@lower_builtin(kept_matrix, NUMBERS, types.Integer, types.Integer, types.Integer)
def _lower_kept_matrix(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    first, *shape = (context.cast(builder, x, t, types.int64) for x, t in zip(args[1:], sig.args[1:], strict=True))
    address = builder.ptrtoint(builder.gep(args[0], [first]), WORD)
    return emit_array_at(context, builder, sig.return_type, address, shape)


@lower_builtin(workspace)
def _lower_workspace(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    found = [_numbers(builder, arena_of_thread(context, builder)), ir.Constant(WORD, 0)]
    return context.make_tuple(builder, sig.return_type, found)


@lower_builtin(grow, NUMBERS, types.Integer)
def _lower_grow(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    work, n = args
    capacity = builder.load(_word(builder, work, ir.Constant(WORD, -1)))
    found = cgutils.alloca_once_value(builder, work)
    with builder.if_then(builder.icmp_signed(">", n, capacity), likely=False):
        header = arena_of_thread(context, builder)
        reserve(context, builder, header, "_grow_workspace", n)
        builder.store(_numbers(builder, header), found)
    return builder.load(found)


@lower_builtin(grow, NUMBERS, types.Float)
def _lower_grow_by_float(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    work, n = args
    too_many = ir.Constant(ir.DoubleType(), 2.0 * MOST_NUMBERS)
    n = builder.fptosi(builder.select(builder.fcmp_ordered("<", n, too_many), n, too_many), WORD)
    return _lower_grow(context, builder, sig, (work, n))


@lower_builtin(integer, NUMBERS, types.int64)
def _lower_integer(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_word(builder, *args))


@lower_builtin(put_integer, NUMBERS, types.int64, types.Integer)
def _lower_put_integer(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(context.cast(builder, args[2], sig.args[2], types.int64), _word(builder, *args[:2]))
    return context.get_dummy_value()


def _word(builder: Any, work: Any, k: Any) -> Any:
    return builder.gep(builder.bitcast(work, WORD.as_pointer()), [k])


def _numbers(builder: Any, header: Any) -> Any:
    return builder.inttoptr(builder.load(place(builder, header, WORKSPACE)), ir.DoubleType().as_pointer())
