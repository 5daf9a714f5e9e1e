"""Operations of recorded programs along lines of arrays: adapters for the kernels of `contad.kernels.rows.row_tables`.

`contad.kernels.recorded_operands` explains how kernels are called. The sizes in a shape are those of an array of three
axes, whose lines run along the middle axis. The options are its rows and columns as a matrix, and those of the rule.
"""

from typing import Any

import numpy as np
from numba import carray

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.words import array_at, pointer
from contad.kernels import shape_fields
from contad.kernels.recorded_operands import (
    adjoint,
    fields,
    give,
    matrix_at,
    operand,
    read_saved,
    result,
    room,
    tangent,
    write_back,
)
from contad.kernels.rows.log_sum_rows import add_up, pass_on, push_on
from contad.kernels.rows.row_tables import LINE_ROWS, LineRow
from contad.kernels.shape_fields import PAIRED, RESULT, SIGN, X_CELLS, Y_CELLS, K, M, N, X, Y

ENDLESS = 1 << 60
_SOURCES = {"value": "values_at, constants_at, target_at", "adjoint": "values_at, constants_at, adjoints_at",
            "tangent": "values_at, constants_at, dots_at"}  # fmt: skip
_SIDES = {"": "values_at", "bar": "adjoints_at", "dot": "dots_at"}


# ---- operands --------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def one_each(shape, at):  # type: ignore[no-untyped-def]
    """One number of each line: a result, its adjoint or its tangent."""
    return matrix_at(at, shape[RESULT], 1, shape[M] * shape[K])[0]


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
            found = "operand(shape, A, values_at, constants_at, rows, columns)"
        elif name == "a_dot":
            found = "tangent(shape, A, dots_at, rows, columns)"
        elif name == "a_bar":
            found = "adjoint(shape, A, adjoints_at, rows, columns)"
            after.append("give(shape, A, adjoints_at, own_a_bar)")
        elif own == "z" and not row.is_running:
            before.append(f"{name} = one_each(shape, {at})")
            continue
        elif own == "z" and name == names[-1]:  # which is written
            found = f"room(shape, {at}, rows, columns)"
            after.append(f"write_back(shape, {at}, own_{name})")
        elif own == "z":
            found = f"result(shape, {at}, rows, columns)"
        else:
            before += [f"{name} = shape[THIRD]"] * (name in row.options)
            continue
        before += [f"own_{name} = {found}", f"{name} = own_{name}.reshape(own_{name}.size)"]
    head = [f"def {row.name}_{purpose}(shape_at, {_SOURCES[purpose]}):", "shape = fields(shape_at)",
            "m, n, k, rows, columns = shape[M], shape[N], shape[K], shape[FIRST], shape[SECOND]"]  # fmt: skip
    return "\n    ".join([*head, *before, f"{purpose}_kernel({', '.join(names)})", *after, ""])


_KNOWN = {x.__name__: x for x in (
    one_each, operand, tangent, result, room, write_back, adjoint, fields, give, read_saved,
)} | vars(shape_fields)  # fmt: skip


def _make(row: LineRow, purpose: str) -> Any:
    """The adapter, as a function of this module."""
    known = {**_KNOWN, f"{purpose}_kernel": row.kernel(purpose), "__name__": __name__}
    exec(compile(write_adapter(row, purpose), __file__, "exec"), known)
    made = known[f"{row.name}_{purpose}"]
    globals()[made.__name__] = made
    return made


KERNELS = {name: tuple(_make(row, purpose) for purpose in _SOURCES) for name, row in LINE_ROWS.items()}


# ---- logsumexp of x + sign y, whose fields follow the others: strided operands ---------------------------------------
@njit(**INTERNAL_OPTIONS)
def pair_fields(shape_at):  # type: ignore[no-untyped-def]
    """The shape with the fields of both operands."""
    return carray(pointer(shape_at), (PAIRED,), np.int64)


@njit(**INTERNAL_OPTIONS)
def side_of(shape, field, values_at, constants_at):  # type: ignore[no-untyped-def]
    """All numbers of the memory that holds an operand."""
    return array_at(values_at if shape[field + 1] != 0 else constants_at, ENDLESS)


@njit(**INTERNAL_OPTIONS)
def pair_strides(shape, field):  # type: ignore[no-untyped-def]
    """The strides of an operand."""
    return shape[field + 2], shape[field + 3], shape[field + 4]


@njit(**INTERNAL_OPTIONS)
def saved_terms(shape, values_at):  # type: ignore[no-untyped-def]
    """The data that `logsumexp` saves: the terms, and their sums."""
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
    x_strides, y_strides, z = pair_strides(shape, X), pair_strides(shape, Y), one_each(shape, values_at)
    add_up(terms, totals, z, m, n, k, x, shape[X], x_strides, y, shape[Y], y_strides, float(shape[SIGN]))


@njit(**INTERNAL_OPTIONS)
def read_pair(shape_at, values_at, sides_at):  # type: ignore[no-untyped-def]
    """The saved terms for adjoints and tangents; and memory, place, strides and sign of each operand."""
    shape = pair_fields(shape_at)
    terms, totals = saved_terms(shape, values_at)
    whole = terms, totals, one_each(shape, sides_at), shape[M], shape[N], shape[K]
    sides = array_at(sides_at, ENDLESS)
    x = sides, shape[X], pair_strides(shape, X), float(shape[X_CELLS])
    return whole, x, (sides, shape[Y], pair_strides(shape, Y), float(shape[SIGN] * shape[Y_CELLS]))


def pair_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """x_bar += w z_bar,     y_bar += sign w z_bar"""
    whole, x, y = read_pair(shape_at, values_at, adjoints_at)
    pass_on(*whole, *x, *y)


def pair_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """sum(w (x_dot + sign y_dot))"""
    whole, x, y = read_pair(shape_at, values_at, dots_at)
    push_on(*whole, *x, *y)


KERNELS["logsumexp_of_pair"] = pair_value, pair_adjoint, pair_push
