"""Rows that are added to earlier rows of a matrix, four at once: each of these is met once instead of four times.

    first = first_of_four(i, z_bar, weights, x)      the first of the four rows of row i, 0 where none may wait
    weights[i - first, j] = d                        for a row j before them
    add_late_rows(z_bar, weights, x, first)          z_bar[j, :j] += d x[i, :j], for all of these; weights are 0 then
"""

from typing import Any

from numba import types
from numba.extending import lower_builtin, type_callable

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.lanes import lanes_at, put_lanes
from contad.native.machine_code import njit
from contad.native.named_code import compiled_address, emit_address, emit_call, name_of
from contad.native.product_adjoints import MatrixWords
from contad.native.words import numbers_at

_NUMBER = 8  # bytes
_OPTIONS = INTERNAL_OPTIONS | {"fastmath": {"contract"}}  # as BLAS does
_CALL = types.none(*[types.int64] * 7)
_SEARCH = types.int64(*[types.int64] * 10)


def first_of_four(i: int, z_bar: Any, weights: Any, x: Any) -> int:
    """The first of the four rows that row i belongs to; 0 where arrays have not all that they would read and write."""
    first = (i >> 2) << 2
    if first <= 0 or first > weights.shape[1] or not (z_bar.flags.c_contiguous and x.flags.c_contiguous):
        return 0
    if z_bar.shape[0] < first or z_bar.shape[1] < first or x.shape[0] < first + 4 or x.shape[1] < first:
        return 0
    return first


def add_late_rows(z_bar: Any, weights: Any, x: Any, first: int) -> None:
    """z_bar[j, :j] += weights[i - first, j] x[i, :j], for four rows i, and rows j before them; weights are 0 then."""
    for j in range(first):
        for i in range(3, -1, -1):
            if weights[i, j] != 0.0:
                for k in range(j):
                    z_bar[j, k] += weights[i, j] * x[first + i, k]
                weights[i, j] = 0.0


# ---- compiled once ---------------------------------------------------------------------------------------------------
# the row, the sizes and strides in bytes of z_bar, how many weights there are of a row, and those of x
def find_first(i, n, m, row, step, count, x_n, x_m, x_row, x_step):  # type: ignore[no-untyped-def]
    """What `first_of_four` is."""
    first = (i >> 2) << 2
    if first <= 0 or first > count or n < first or m < first or x_n < first + 4 or x_m < first:
        return 0
    if (step != _NUMBER and m != 1) or (row != _NUMBER * m and n != 1):
        return 0
    if (x_step != _NUMBER and x_m != 1) or x_row != _NUMBER * x_m:
        return 0
    return first


def find_search(name: str) -> int:
    """The address of the above, compiled or loaded."""
    return compiled_address(name, _SEARCH)


@njit(**_OPTIONS)
def _add_four(z, row, w, count, x, step, j):  # type: ignore[no-untyped-def]
    """To four rows z, of row j and what follows, from four rows x."""
    x_1, x_2, x_3 = step, 2 * step, 3 * step
    z_1, z_2, z_3 = row, 2 * row, 3 * row
    w_1, w_2, w_3 = count, 2 * count, 3 * count
    a_0, a_1, a_2, a_3 = w[j], w[w_1 + j], w[w_2 + j], w[w_3 + j]
    b_0, b_1, b_2, b_3 = w[j + 1], w[w_1 + j + 1], w[w_2 + j + 1], w[w_3 + j + 1]
    c_0, c_1, c_2, c_3 = w[j + 2], w[w_1 + j + 2], w[w_2 + j + 2], w[w_3 + j + 2]
    d_0, d_1, d_2, d_3 = w[j + 3], w[w_1 + j + 3], w[w_2 + j + 3], w[w_3 + j + 3]
    for k in range(0, j, 4):
        p, q, r, s = lanes_at(x, k, 4), lanes_at(x, x_1 + k, 4), lanes_at(x, x_2 + k, 4), lanes_at(x, x_3 + k, 4)
        put_lanes(z, k, lanes_at(z, k, 4) + p * a_0 + q * a_1 + r * a_2 + s * a_3, 4)
        put_lanes(z, z_1 + k, lanes_at(z, z_1 + k, 4) + p * b_0 + q * b_1 + r * b_2 + s * b_3, 4)
        put_lanes(z, z_2 + k, lanes_at(z, z_2 + k, 4) + p * c_0 + q * c_1 + r * c_2 + s * c_3, 4)
        put_lanes(z, z_3 + k, lanes_at(z, z_3 + k, 4) + p * d_0 + q * d_1 + r * d_2 + s * d_3, 4)
    p, q, r, s = x[j], x[x_1 + j], x[x_2 + j], x[x_3 + j]
    z[z_1 + j] += p * b_0 + q * b_1 + r * b_2 + s * b_3
    z[z_2 + j] += p * c_0 + q * c_1 + r * c_2 + s * c_3
    z[z_3 + j] += p * d_0 + q * d_1 + r * d_2 + s * d_3
    p, q, r, s = x[j + 1], x[x_1 + j + 1], x[x_2 + j + 1], x[x_3 + j + 1]
    z[z_2 + j + 1] += p * c_0 + q * c_1 + r * c_2 + s * c_3
    z[z_3 + j + 1] += p * d_0 + q * d_1 + r * d_2 + s * d_3
    p, q, r, s = x[j + 2], x[x_1 + j + 2], x[x_2 + j + 2], x[x_3 + j + 2]
    z[z_3 + j + 2] += p * d_0 + q * d_1 + r * d_2 + s * d_3


@njit(**_OPTIONS)
def _add_one(z, w, count, x, step, j):  # type: ignore[no-untyped-def]
    """To row j, z: a weight of 0 adds nothing, whatever the row is."""
    for i in range(4):
        d = w[i * count + j]
        if d != 0.0:
            at = i * step
            for k in range(j):
                z[k] += x[at + k] * d


# the address of z_bar and its row in bytes, address and row of the weights, address and row of x, the first row
def add_rows_at(z_bar, row, weights, count, x, step, first):  # type: ignore[no-untyped-def]
    """The sums of `add_late_rows`, for rows whose elements follow one another."""
    z, w, rows = z_bar, numbers_at(weights), numbers_at(x + first * step)
    count, step = count // _NUMBER, step // _NUMBER
    for j in range(0, first, 4):
        is_whole = True
        for i in range(4):
            at = i * count + j
            is_whole = is_whole and w[at] * w[at + 1] != 0.0 and w[at + 2] * w[at + 3] != 0.0
        if is_whole:
            _add_four(numbers_at(z + j * row), row // _NUMBER, w, count, rows, step, j)
        else:
            for one in range(j, j + 4):
                _add_one(numbers_at(z + one * row), w, count, rows, step, one)
        for i in range(4):
            for one in range(j, j + 4):
                w[i * count + one] = 0.0


def find_rows(name: str) -> int:
    """The address of the above, compiled or loaded."""
    return compiled_address(name, _CALL)


# ---- what generated code calls ---------------------------------------------------------------------------------------
@type_callable(first_of_four)
def _type_of_first(context):  # type: ignore[no-untyped-def]
    return lambda i, z_bar, weights, x: types.int64


@lower_builtin(first_of_four, types.Integer, types.Array, types.Array, types.Array)
def _lower_first(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    z_bar, weights, x = (
        MatrixWords(context, builder, *x, False) for x in zip(signature.args[1:], args[1:], strict=True)
    )
    i = context.cast(builder, args[0], signature.args[0], types.int64)
    of_x, of_z = ([*a.sizes, *a.words[1:]] for a in (x, z_bar))
    at = emit_address(context, builder, find_search, name_of(find_first))
    return emit_call(context, builder, at, _SEARCH, [i, *of_z, weights.sizes[1], *of_x])


@type_callable(add_late_rows)
def _type_of_rows(context):  # type: ignore[no-untyped-def]
    return lambda z_bar, weights, x, first: types.none


@lower_builtin(add_late_rows, types.Array, types.Array, types.Array, types.Integer)
def _lower_rows(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    of_arrays = [MatrixWords(context, builder, *x, False) for x in zip(signature.args[:3], args[:3], strict=True)]
    first = context.cast(builder, args[3], signature.args[3], types.int64)
    at = emit_address(context, builder, find_rows, name_of(add_rows_at))
    emit_call(context, builder, at, _CALL, [word for x in of_arrays for word in x.words[:2]] + [first])
    return context.get_dummy_value()
