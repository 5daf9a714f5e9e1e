"""What recorded programs do along lines of arrays: adapters of the kernels of `contad.native.rows.line_rows`.

How kernels are called is told in `contad.native.recorded_operands`. The sizes of a shape are those of an array of three
axes, of which the middle one is that of the lines; the options are its rows and columns as a matrix, and the rule's.
"""

from typing import Any

import numpy as np
from numba import carray

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.recorded_operands import adjoint, block, fields, give, operand, put, read_saved, result, tangent
from contad.native.rows.line_rows import LINE_ROWS, LineRow
from contad.native.rows.log_sum_rows import add_up, pass_on, push_on
from contad.native.step_fields import (
    FIRST,
    PAIRED,
    RESULT,
    SECOND,
    SIGN,
    THIRD,
    TURNED,
    X_CELLS,
    Y_CELLS,
    A,
    K,
    M,
    N,
    X,
    Y,
)
from contad.native.words import array_at, pointer

ENDLESS = 1 << 60
_SOURCES = {"value": "values_at, constants_at, target_at", "adjoint": "values_at, constants_at, adjoints_at",
            "tangent": "values_at, constants_at, dots_at"}  # fmt: skip
_SIDES = {"": "values_at", "bar": "adjoints_at", "dot": "dots_at"}


# ---- operands --------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def numbers(shape, values_at, constants_at):  # type: ignore[no-untyped-def]
    """The operand, in C order; not to be written to."""
    a = operand(shape, A, values_at, constants_at, shape[FIRST], shape[SECOND])
    return a.reshape(a.size)


@njit(**INTERNAL_OPTIONS)
def dots_of(shape, dots_at):  # type: ignore[no-untyped-def]
    """The tangent of the operand, in C order; not to be written to."""
    a = tangent(shape, A, dots_at, shape[FIRST], shape[SECOND])
    return a.reshape(a.size)


@njit(**INTERNAL_OPTIONS)
def one_each(shape, at):  # type: ignore[no-untyped-def]
    """One number of each line: a result, its adjoint or its tangent."""
    return block(at, shape[RESULT], 1, shape[M] * shape[K])[0]


@njit(**INTERNAL_OPTIONS)
def whole(shape, at):  # type: ignore[no-untyped-def]
    """A result with the shape of the operand, its adjoint or its tangent, in C order; not to be written to."""
    z = result(shape, at, shape[FIRST], shape[SECOND])
    return z.reshape(z.size)


@njit(**INTERNAL_OPTIONS)
def room(shape, at):  # type: ignore[no-untyped-def]
    """Where such a result is written in C order, for `put_whole`."""
    n = shape[FIRST] * shape[SECOND]
    return np.empty(n) if shape[TURNED] != 0 else block(at, shape[RESULT], 1, n)[0]


@njit(**INTERNAL_OPTIONS)
def put_whole(shape, at, z):  # type: ignore[no-untyped-def]
    """Write what `room` gave, where it is not the result itself."""
    if shape[TURNED] != 0:
        put(shape, at, z.reshape((shape[FIRST], shape[SECOND])))


# ---- adapters --------------------------------------------------------------------------------------------------------
def write_adapter(row: LineRow, purpose: str) -> str:
    """The source of the adapter of a row for one purpose."""
    names, before, after = row.parameters(purpose), [], []
    if any(x in names for x, _ in row.saved):
        before.append(f"saved = read_saved(shape, values_at, 1, {' + '.join(count for _, count in row.saved)})[0]")
        for i, (name, count) in enumerate(row.saved):
            first = " + ".join(["0", *(x for _, x in row.saved[:i])])
            before.append(f"{name} = saved[{first} : {first} + {count}]")
    for name in names:
        own, _, kind = name.partition("_")
        at = _SIDES.get(kind)
        if name == "a":
            before.append("a = numbers(shape, values_at, constants_at)")
        elif name == "a_dot":
            before.append("a_dot = dots_of(shape, dots_at)")
        elif name == "a_bar":
            before += ["bars = adjoint(shape, A, adjoints_at, shape[FIRST], shape[SECOND])",
                       "a_bar = bars.reshape(bars.size)"]  # fmt: skip
            after.append("give(shape, A, adjoints_at, bars)")
        elif own == "z" and not row.is_running:
            before.append(f"{name} = one_each(shape, {at})")
        elif own == "z" and name == names[-1]:  # which is written
            before.append(f"{name} = room(shape, {at})")
            after.append(f"put_whole(shape, {at}, {name})")
        elif own == "z":
            before.append(f"{name} = whole(shape, {at})")
        elif name in row.options:
            before.append(f"{name} = shape[THIRD]")
    head = [f"def {row.name}_{purpose}(shape_at, {_SOURCES[purpose]}):", "shape = fields(shape_at)",
            "m, n, k = shape[M], shape[N], shape[K]"]  # fmt: skip
    return "\n    ".join([*head, *before, f"{purpose}_kernel({', '.join(names)})", *after, ""])


_KNOWN = {x.__name__: x for x in (
    numbers, dots_of, one_each, whole, room, put_whole, adjoint, fields, give, read_saved,
)} | {"A": A, "M": M, "N": N, "K": K, "FIRST": FIRST, "SECOND": SECOND, "THIRD": THIRD}  # fmt: skip


def _make(row: LineRow, purpose: str) -> Any:
    """The adapter, as a function of this module."""
    known = {**_KNOWN, f"{purpose}_kernel": row.kernel(purpose), "__name__": __name__}
    exec(compile(write_adapter(row, purpose), __file__, "exec"), known)
    made = known[f"{row.name}_{purpose}"]
    globals()[made.__name__] = made
    return made


KERNELS = {name: tuple(_make(row, purpose) for purpose in _SOURCES) for name, row in LINE_ROWS.items()}


# ---- logsumexp of x + sign y, whose fields follow the others: operands with steps ------------------------------------
@njit(**INTERNAL_OPTIONS)
def pair_fields(shape_at):  # type: ignore[no-untyped-def]
    """The shape with the fields of both operands."""
    return carray(pointer(shape_at), (PAIRED,), np.int64)


@njit(**INTERNAL_OPTIONS)
def side_of(shape, field, values_at, constants_at):  # type: ignore[no-untyped-def]
    """All numbers of the memory that an operand lies in."""
    return array_at(values_at if shape[field + 1] != 0 else constants_at, ENDLESS)


@njit(**INTERNAL_OPTIONS)
def pair_steps(shape, field):  # type: ignore[no-untyped-def]
    """The steps of an operand."""
    return shape[field + 2], shape[field + 3], shape[field + 4]


@njit(**INTERNAL_OPTIONS)
def saved_terms(shape, values_at):  # type: ignore[no-untyped-def]
    """What `logsumexp` saves: the terms, and their sums."""
    lines = shape[M] * shape[K]
    n = shape[N] * lines
    saved = read_saved(shape, values_at, 1, n + lines)[0]
    return saved[:n], saved[n:]


def pair_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """z = log(sum(exp(x + sign y))) of each line"""
    shape = pair_fields(shape_at)
    m, n, k = shape[M], shape[N], shape[K]
    terms, totals = saved_terms(shape, values_at)
    x, y = side_of(shape, X, values_at, constants_at), side_of(shape, Y, values_at, constants_at)
    x_steps, y_steps, z = pair_steps(shape, X), pair_steps(shape, Y), one_each(shape, values_at)
    add_up(terms, totals, z, m, n, k, x, shape[X], x_steps, y, shape[Y], y_steps, float(shape[SIGN]))


@njit(**INTERNAL_OPTIONS)
def read_pair(shape_at, values_at, sides_at):  # type: ignore[no-untyped-def]
    """What adjoints and tangents are made of; and memory, place, steps and sign of each operand."""
    shape = pair_fields(shape_at)
    terms, totals = saved_terms(shape, values_at)
    whole = terms, totals, one_each(shape, sides_at), shape[M], shape[N], shape[K]
    sides = array_at(sides_at, ENDLESS)
    x = sides, shape[X], pair_steps(shape, X), float(shape[X_CELLS])
    return whole, x, (sides, shape[Y], pair_steps(shape, Y), float(shape[SIGN] * shape[Y_CELLS]))


def pair_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """x_bar += w z_bar,     y_bar += sign w z_bar"""
    whole, x, y = read_pair(shape_at, values_at, adjoints_at)
    pass_on(*whole, *x, *y)


def pair_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """sum(w (x_dot + sign y_dot))"""
    whole, x, y = read_pair(shape_at, values_at, dots_at)
    push_on(*whole, *x, *y)


KERNELS["logsumexp_of_pair"] = pair_value, pair_adjoint, pair_push
