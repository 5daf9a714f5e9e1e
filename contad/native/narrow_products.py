"""Products of a matrix of few columns and a vector by a few rows at a time: each row is met once for value and adjoint.

    for first in range(0, m, rows_together(a, b, b_bar)):
        last = ...
        put_product_of_rows(z, a, b, first, last)             z = a b
        (z_bar[i] of z[i], for i from first to last)
        add_right_of_rows(z_bar, a, b_bar, first, last)       b_bar += a^T z_bar

BLAS would read the matrix from memory twice. Where it has many columns, or its rows do not follow one another, all rows
go together, by `put_product` and `add_right`.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, type_callable

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.lanes import NUMBERS, lane, lanes_at, put_lanes
from contad.native.machine_code import njit
from contad.native.named_code import compiled_address, emit_address, emit_call, name_of
from contad.native.product_adjoints import MatrixWords, add_right, put_product
from contad.native.words import numbers_at

_NUMBER = 8  # bytes
_LINE = 8  # numbers of a line of the cache
_CACHED = 1 << 16  # numbers of a matrix that is in the cache from one pass to the next
_LANES = 4  # of a processor's registers, which LLVM makes of smaller ones where it has to
_MOST_COLUMNS = 128
_TOGETHER, _LEAST_ROWS = 1024, 16  # numbers of the matrix that stay in the first cache, and rows
_OPTIONS = INTERNAL_OPTIONS | {"fastmath": {"contract"}}  # as BLAS does
_COUNT = types.int64(*[types.int64] * 6)
_CALL = types.none(*[types.int64] * 10)


@intrinsic
def _fetch(typingctx, numbers, place):  # type: ignore[no-untyped-def]
    """Ask for a line of memory that is read soon; there need not be any."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        at = builder.bitcast(builder.gep(args[0], [args[1]]), ir.IntType(8).as_pointer())
        integer = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [at.type, integer, integer, integer])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(fetch, [at, integer(0), integer(3), integer(1)])
        return context.get_dummy_value()

    return types.void(NUMBERS, types.int64), codegen


# ---- compiled once ---------------------------------------------------------------------------------------------------
def rows_together_at(a_row, a_step, b_step, bar_step, m, p):  # type: ignore[no-untyped-def]
    """How many rows go together; by the strides of operands, in bytes, and the sizes of the matrix."""
    apart = a_step != _NUMBER or a_row % _NUMBER != 0 or b_step != _NUMBER or bar_step != _NUMBER
    if apart or p == 0 or p > _MOST_COLUMNS:
        return max(m, 1)
    return max(_TOGETHER // p // 8 * 8, _LEAST_ROWS)


@njit(**_OPTIONS)
def _sum_of(x):  # type: ignore[no-untyped-def]
    return (lane(x, 0) + lane(x, 2)) + (lane(x, 1) + lane(x, 3))


@njit(**_OPTIONS)
def _multiply_rows(z, a, row, m, p, b):  # type: ignore[no-untyped-def]
    """z = a b, four rows at a time."""
    whole = p // _LANES * _LANES
    for i in range(0, m - 3, 4):
        a_0 = i * row
        a_1, a_2, a_3 = a_0 + row, a_0 + 2 * row, a_0 + 3 * row
        s_0 = s_1 = s_2 = s_3 = 0.0
        for k in range(0, whole, _LANES):
            v = lanes_at(b, k, 4)
            s_0 += lanes_at(a, a_0 + k, 4) * v
            s_1 += lanes_at(a, a_1 + k, 4) * v
            s_2 += lanes_at(a, a_2 + k, 4) * v
            s_3 += lanes_at(a, a_3 + k, 4) * v
        t_0, t_1, t_2, t_3 = _sum_of(s_0), _sum_of(s_1), _sum_of(s_2), _sum_of(s_3)
        for k in range(whole, p):
            t_0 += a[a_0 + k] * b[k]
            t_1 += a[a_1 + k] * b[k]
            t_2 += a[a_2 + k] * b[k]
            t_3 += a[a_3 + k] * b[k]
        z[i], z[i + 1], z[i + 2], z[i + 3] = t_0, t_1, t_2, t_3
    for i in range(m // 4 * 4, m):
        total = 0.0
        for k in range(p):
            total += a[i * row + k] * b[k]
        z[i] = total


@njit(**_OPTIONS)
def _add_rows(z_bar, a, row, m, p, b_bar, fetched):  # type: ignore[no-untyped-def]
    """b_bar += a^T z_bar, eight rows at a time unless one of their z_bar is 0: such a row adds nothing.

    Of each eight rows behind these, which the product takes next, as many numbers are fetched into the cache.
    """
    whole = p // _LANES * _LANES
    i = 0
    while i < m:
        d_0 = z_bar[i]
        a_0 = i * row
        if i + 8 <= m:
            d_1, d_2, d_3, d_4 = z_bar[i + 1], z_bar[i + 2], z_bar[i + 3], z_bar[i + 4]
            d_5, d_6, d_7 = z_bar[i + 5], z_bar[i + 6], z_bar[i + 7]
            if d_0 * d_1 * d_2 * d_3 != 0.0 and d_4 * d_5 * d_6 * d_7 != 0.0:
                a_1, a_2, a_3, a_4 = a_0 + row, a_0 + 2 * row, a_0 + 3 * row, a_0 + 4 * row
                a_5, a_6, a_7 = a_0 + 5 * row, a_0 + 6 * row, a_0 + 7 * row
                for k in range(m * row, m * row + fetched, _LINE):
                    _fetch(a, a_0 + k)
                for k in range(0, whole, _LANES):
                    s = lanes_at(b_bar, k, 4) + (
                        (lanes_at(a, a_0 + k, 4) * d_0 + lanes_at(a, a_1 + k, 4) * d_1)
                        + (lanes_at(a, a_2 + k, 4) * d_2 + lanes_at(a, a_3 + k, 4) * d_3)
                    )
                    s += (lanes_at(a, a_4 + k, 4) * d_4 + lanes_at(a, a_5 + k, 4) * d_5) + (
                        lanes_at(a, a_6 + k, 4) * d_6 + lanes_at(a, a_7 + k, 4) * d_7
                    )
                    put_lanes(b_bar, k, s, 4)
                for k in range(whole, p):
                    b_bar[k] += (a[a_0 + k] * d_0 + a[a_1 + k] * d_1) + (a[a_2 + k] * d_2 + a[a_3 + k] * d_3)
                    b_bar[k] += (a[a_4 + k] * d_4 + a[a_5 + k] * d_5) + (a[a_6 + k] * d_6 + a[a_7 + k] * d_7)
                i += 8
                continue
        if d_0 != 0.0:
            for k in range(p):
                b_bar[k] += a[a_0 + k] * d_0
        i += 1


@njit(**_OPTIONS)
def count_fetched(row, m, p):  # type: ignore[no-untyped-def]
    """How many numbers eight rows take in memory where it is worth it to ask for them before they are read."""
    return 8 * row if m * p > _CACHED and p <= row <= 2 * p else 0


# the address of z, address and strides of a, address of b, the sizes of a, and the rows
def multiply_rows_at(z, a, a_row, a_step, b, b_step, m, p, first, last):  # type: ignore[no-untyped-def]
    """z = a b, for rows from the first one to the one before the last."""
    z, a = z + first * _NUMBER, a + first * a_row
    _multiply_rows(numbers_at(z), numbers_at(a), a_row // _NUMBER, last - first, p, numbers_at(b))


def add_rows_at(z_bar, a, a_row, a_step, bar, bar_step, m, p, first, last):  # type: ignore[no-untyped-def]
    """b_bar += a^T z_bar, for these rows."""
    z_bar, a, row = z_bar + first * _NUMBER, a + first * a_row, a_row // _NUMBER
    _add_rows(numbers_at(z_bar), numbers_at(a), row, last - first, p, numbers_at(bar), count_fetched(row, m, p))


def find_rows(name: str) -> int:
    """The address of one of these two, compiled or loaded."""
    return compiled_address(name, _CALL)


def find_count(name: str) -> int:
    """That of `rows_together_at`."""
    return compiled_address(name, _COUNT)


# ---- what generated code calls ---------------------------------------------------------------------------------------
def rows_together(a: Any, b: Any, b_bar: Any) -> int:
    """How many rows of a go together."""
    return max(len(a), 1)


def put_product_of_rows(z: Any, a: Any, b: Any, first: int, last: int) -> None:
    """Rows of z = a b, for vectors b and z; z is in C order."""
    z[first:last] = a[first:last] @ b


def add_right_of_rows(z_bar: Any, a: Any, b_bar: Any, first: int, last: int) -> None:
    """The part of these rows of z in b_bar += a^T z_bar; z_bar is in C order."""
    add_right(z_bar[first:last], a[first:last], b_bar)


@type_callable(rows_together)
def _type_of_count(context):  # type: ignore[no-untyped-def]
    return lambda a, b, b_bar: types.int64


@type_callable(put_product_of_rows)
@type_callable(add_right_of_rows)
def _type_of_rows(context):  # type: ignore[no-untyped-def]
    return lambda z, a, b, first, last: types.none


@lower_builtin(rows_together, types.Array, types.Array, types.Array)
def _lower_count(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    a, b, b_bar = (MatrixWords(context, builder, t, x, False) for t, x in zip(signature.args, args, strict=True))
    at = emit_address(context, builder, find_count, name_of(rows_together_at))
    return emit_call(context, builder, at, _COUNT, [*a.words[1:], b.words[1], b_bar.words[1], *a.sizes])


@lower_builtin(put_product_of_rows, types.Array, types.Array, types.Array, types.Integer, types.Integer)
def _lower_product(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit(context, builder, signature, args, put_product, multiply_rows_at)


@lower_builtin(add_right_of_rows, types.Array, types.Array, types.Array, types.Integer, types.Integer)
def _lower_right(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit(context, builder, signature, args, add_right, add_rows_at)


def _emit(context: Any, builder: Any, signature: Any, args: Any, whole: Any, of_rows: Any) -> Any:
    """The call of all rows, where these are all; else of some."""
    z, a, b = (MatrixWords(context, builder, *x, False) for x in zip(signature.args[:3], args[:3], strict=True))
    first, last = (context.cast(builder, args[k], signature.args[k], types.int64) for k in (3, 4))
    with builder.if_else(builder.icmp_signed("==", builder.sub(last, first), a.sizes[0])) as (all_of_them, some):
        with all_of_them:
            kind = types.none(*signature.args[:3])
            context.get_function(whole, kind)(builder, args[:3])
        with some:
            at = emit_address(context, builder, find_rows, name_of(of_rows))
            words = [z.words[0], *a.words, *b.words[:2], *a.sizes, first, last]
            emit_call(context, builder, at, _CALL, words)
    return context.get_dummy_value()
