"""What recordings do along lines by exponentials: `logsumexp` and `softmax`, the rules of `contad.ops.log_sums`.

Numbers that are not finite are what the rules make of them, so that nothing is left to Python. Lines are taken side by
side, `ROWS` at a time, as the lanes of vector registers; a long line with its elements in a row is cut into lanes
itself.
"""

import math

import numpy as np
from numba import carray

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.elementary import exponentials, logarithms
from contad.native.elementary.bits import choose
from contad.native.elementary.elementary_table import has_fast_registers
from contad.native.elementary.rows import ROWS, new_row, place
from contad.native.free_sums import add_freely
from contad.native.machine_code import njit
from contad.native.recorded_lines import (
    LANES,
    dots_of,
    is_cut,
    lines_of,
    numbers,
    one_each,
    put_whole,
    read,
    room,
    whole,
    write,
)
from contad.native.recorded_operands import adjoint, fields, give, read_saved
from contad.native.step_fields import FIRST, PAIRED, SECOND, SIGN, X_CELLS, Y_CELLS, A, K, M, N, X, Y
from contad.native.words import array_at, pointer

ENDLESS = 1 << 60
BORROWING = INTERNAL_OPTIONS | {"_nrt": False}  # slices of memory that the caller holds count no references
LONG_SUM, FEW_LINES = 128, 8  # elements from which on a line is summed in a row, lines from which on beside others


@njit(**INTERNAL_OPTIONS)
def _exp_of_library(x):  # type: ignore[no-untyped-def]
    return math.exp(x)


@njit(**INTERNAL_OPTIONS)
def _log_of_library(x):  # type: ignore[no-untyped-def]
    return np.log(x)


@njit(**INTERNAL_OPTIONS)
def _log1p_of_library(x):  # type: ignore[no-untyped-def]
    return np.log1p(x)


exp = exponentials.exp if has_fast_registers() else _exp_of_library
log = logarithms.log if has_fast_registers() else _log_of_library
log1p = logarithms.log1p if has_fast_registers() else _log1p_of_library


# ---- logarithms of sums of exponentials ------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def saved_terms(shape, values_at):  # type: ignore[no-untyped-def]
    """What a sum of exponentials saves: the terms, and their sums."""
    n, lines = shape[N], shape[M] * shape[K]
    saved = read_saved(shape, values_at, 1, (n + 1) * lines)[0]
    return saved[: n * lines], saved[n * lines :]


@njit(**INTERNAL_OPTIONS, forceinline=True)
def term(x, top):  # type: ignore[no-untyped-def]
    """e^(x - top); where top is infinite, 1 of what equals it, and nan of a nan."""
    is_top = x == top
    of_infinite = choose(is_top, 1.0, choose(x == x, 0.0, x))
    return choose(abs(top) < np.inf, exp(x - top), of_infinite)


@njit(**BORROWING)
def fill(a, at, apart, b, b_at, b_apart, sign, count, row):  # type: ignore[no-untyped-def]
    """Write a + sign b to a row, of elements that lie apart; a alone where the sign is 0."""
    if apart == 0:
        one = a[at]
        for i in range(count):
            row[i] = one
    else:
        read(a, at, apart, count, row)
    if sign != 0.0:
        add_scaled_row(b, b_at, b_apart, sign, count, row)


@njit(**BORROWING)
def add_scaled_row(b, at, apart, sign, count, row):  # type: ignore[no-untyped-def]
    """Add elements that lie apart to a row."""
    if apart == 0:
        one = sign * b[at]
        for i in range(count):
            row[i] += one
    elif apart == 1:
        part = b[at : at + count]
        for i in range(count):
            row[i] += sign * part[i]
    else:
        for i in range(count):
            row[i] += sign * b[place(at + i * apart)]


@njit(**BORROWING)
def largest_of(row, n):  # type: ignore[no-untyped-def]
    """The largest element that is a number: eight lanes side by side."""
    lanes, largest = new_row(), -np.inf
    for i in range(8):
        lanes[i] = -np.inf
    for k in range(n // 8):
        part = row[8 * k : 8 * k + 8]
        for i in range(8):
            lanes[i] = choose(part[i] > lanes[i], part[i], lanes[i])
    for i in range(n // 8 * 8, n):
        largest = choose(row[i] > largest, row[i], largest)
    for i in range(8):
        largest = choose(lanes[i] > largest, lanes[i], largest)
    return largest


@njit(**BORROWING)
def take_exponentials(row, n):  # type: ignore[no-untyped-def]
    """Make a line the terms of its sum: (the largest element, how often it is there, the sum of the other terms)."""
    top = largest_of(row, n)
    count, rest = 0.0, 0.0
    if abs(top) < np.inf:
        for i in range(n):
            is_top, e = row[i] == top, exp(row[i] - top)
            row[i] = e
            count = add_freely(count, choose(is_top, 1.0, 0.0))
            rest = add_freely(rest, choose(is_top, 0.0, e))
    else:
        for i in range(n):
            is_top, e = row[i] == top, term(row[i], top)
            row[i] = e
            count += choose(is_top, 1.0, 0.0)
            rest += choose(is_top, 0.0, e)
    return top, count, rest


@njit(**BORROWING)
def sum_in_rows(part, top, at_top, rest, n, count, a, at, steps, b, b_at, b_steps, sign):  # type: ignore[no-untyped-def]
    """The terms of lines, one after the other, and what `take_exponentials` finds of each."""
    for i in range(count):
        row = part[i * n : (i + 1) * n]
        fill(a, at + i * steps[1], steps[2], b, b_at + i * b_steps[1], b_steps[2], sign, n, row)
        top[i], at_top[i], rest[i] = take_exponentials(row, n)


@njit(**BORROWING)
def sum_side_by_side(part, top, at_top, rest, n, count, a, at, steps, b, b_at, b_steps, sign):  # type: ignore[no-untyped-def]
    """The same of lines side by side."""
    for i in range(count):
        top[i], at_top[i], rest[i] = -np.inf, 0.0, 0.0
    for k in range(n):
        row = part[k * count : (k + 1) * count]
        fill(a, at + k * steps[2], steps[1], b, b_at + k * b_steps[2], b_steps[1], sign, count, row)
        for i in range(count):
            top[i] = choose(row[i] > top[i], row[i], top[i])
    for k in range(n):
        row = part[k * count : (k + 1) * count]
        for i in range(count):
            is_top, e = row[i] == top[i], term(row[i], top[i])
            row[i] = e
            at_top[i] += choose(is_top, 1.0, 0.0)
            rest[i] += choose(is_top, 0.0, e)


@njit(**BORROWING)
def add_up(terms, totals, z, n, times, lines, is_cut, a, at, steps, b, b_at, b_steps, sign):  # type: ignore[no-untyped-def]
    """The terms of lines of a + sign b, their sums, and the logarithms of these.

    The steps of an operand are those from one of the times, lines and elements to the next.
    """
    top, at_top, rest = new_row(), new_row(), new_row()
    for outer in range(times):
        for first in range(0, lines, ROWS):
            count, line = min(ROWS, lines - first), outer * lines + first
            x, y = at + outer * steps[0] + first * steps[1], b_at + outer * b_steps[0] + first * b_steps[1]
            part = terms[line * n : (line + count) * n]
            if is_cut:
                sum_in_rows(part, top, at_top, rest, n, count, a, x, steps, b, y, b_steps, sign)
            else:
                sum_side_by_side(part, top, at_top, rest, n, count, a, x, steps, b, y, b_steps, sign)
            total, found = totals[line : line + count], z[line : line + count]
            for i in range(count):
                total[i] = at_top[i] + rest[i]
            for i in range(count):  # the others may be less than the rounding of the largest terms
                found[i] = log1p(rest[i] / at_top[i]) + log(at_top[i]) + top[i]


@njit(**BORROWING)
def add_row(bar, at, apart, x, sign, count):  # type: ignore[no-untyped-def]
    """Add sign x to elements that lie apart, which may be one and the same."""
    if apart == 1:
        part = bar[at : at + count]
        for i in range(count):
            part[i] += sign * x[i]
    elif apart == 0:
        total = 0.0
        for i in range(count):
            total = add_freely(total, x[i])
        bar[at] += sign * total
    else:
        for i in range(count):
            bar[place(at + i * apart)] += sign * x[i]


@njit(**BORROWING)
def pass_on(terms, totals, z_bar, n, times, lines, is_cut, a, at, steps, a_sign, b, b_at, b_steps, b_sign):  # type: ignore[no-untyped-def]
    """Add to the adjoints of a and b, but of one whose sign is 0."""
    x, d = new_row(), new_row()
    for outer in range(times):
        for first in range(0, lines, ROWS):
            count, line = min(ROWS, lines - first), outer * lines + first
            p, q = at + outer * steps[0] + first * steps[1], b_at + outer * b_steps[0] + first * b_steps[1]
            part = terms[line * n : (line + count) * n]
            bar, sums = z_bar[line : line + count], totals[line : line + count]
            for i in range(count):
                d[i] = choose(bar[i] != 0.0, bar[i] / sums[i], 0.0)
            if is_cut:
                for i in range(count):
                    if d[i] != 0.0:
                        row = part[i * n : (i + 1) * n]
                        if a_sign != 0.0:
                            add_row(a, p + i * steps[1], steps[2], row, a_sign * d[i], n)
                        if b_sign != 0.0:
                            add_row(b, q + i * b_steps[1], b_steps[2], row, b_sign * d[i], n)
            else:
                for k in range(n):
                    row = part[k * count : (k + 1) * count]
                    for i in range(count):
                        x[i] = choose(bar[i] != 0.0, row[i] * d[i], 0.0)
                    if a_sign != 0.0:
                        add_row(a, p + k * steps[2], steps[1], x, a_sign, count)
                    if b_sign != 0.0:
                        add_row(b, q + k * b_steps[2], b_steps[1], x, b_sign, count)


@njit(**BORROWING)
def push_on(terms, totals, z_dot, n, times, lines, is_cut, a, at, steps, a_sign, b, b_at, b_steps, b_sign):  # type: ignore[no-untyped-def]
    """sum(w (a_dot + sign b_dot)) of each line"""
    for outer in range(times):
        for line in range(lines):
            number, first = outer * lines + line, line // ROWS * ROWS
            side_by_side = 1 if is_cut else min(ROWS, lines - first)
            start = number * n if is_cut else (outer * lines + first) * n + line - first
            total = 0.0
            for k in range(n):
                d = 0.0
                if a_sign != 0.0:
                    d = a_sign * a[at + outer * steps[0] + line * steps[1] + k * steps[2]]
                if b_sign != 0.0:
                    d += b_sign * b[b_at + outer * b_steps[0] + line * b_steps[1] + k * b_steps[2]]
                if d != 0.0:
                    total += terms[start + k * side_by_side] / totals[number] * d
            z_dot[number] = total


@njit(**INTERNAL_OPTIONS)
def steps_of(shape):  # type: ignore[no-untyped-def]
    """The steps of an operand in C order: from one of the times, lines and elements to the next."""
    _, lines, apart, between = lines_of(shape)
    return shape[N] * lines, apart, between


@njit(**INTERNAL_OPTIONS)
def are_cut(shape):  # type: ignore[no-untyped-def]
    """Whether the terms of a line lie in a row; else those of lines side by side do."""
    return shape[K] == 1 and (shape[N] >= LONG_SUM or shape[M] < FEW_LINES)


def logsumexp_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """z = log(sum(exp(line))); the terms over the largest one are saved, and their sums"""
    shape = fields(shape_at)
    a, z = numbers(shape, values_at, constants_at), one_each(shape, values_at)
    terms, totals = saved_terms(shape, values_at)
    times, lines, _, _ = lines_of(shape)
    steps = steps_of(shape)
    add_up(terms, totals, z, shape[N], times, lines, are_cut(shape), a, 0, steps, a, 0, steps, 0.0)


def logsumexp_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += w z_bar, where w are the terms over their sum"""
    shape = fields(shape_at)
    z_bar = one_each(shape, adjoints_at)
    terms, totals = saved_terms(shape, values_at)
    bars = adjoint(shape, A, adjoints_at, shape[FIRST], shape[SECOND])
    a = bars.reshape(bars.size)
    times, lines, _, _ = lines_of(shape)
    steps = steps_of(shape)
    pass_on(terms, totals, z_bar, shape[N], times, lines, are_cut(shape), a, 0, steps, 1.0, a, 0, steps, 0.0)
    give(shape, A, adjoints_at, bars)


def logsumexp_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """sum(w a_dot)"""
    shape = fields(shape_at)
    z_dot, a = one_each(shape, dots_at), dots_of(shape, dots_at)
    terms, totals = saved_terms(shape, values_at)
    times, lines, _, _ = lines_of(shape)
    steps = steps_of(shape)
    push_on(terms, totals, z_dot, shape[N], times, lines, are_cut(shape), a, 0, steps, 1.0, a, 0, steps, 0.0)


# ---- of x + sign y, whose fields follow the others -------------------------------------------------------------------
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


def pair_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """z = log(sum(exp(x + sign y))) of each line"""
    shape = pair_fields(shape_at)
    terms, totals = saved_terms(shape, values_at)
    times, lines, _, _ = lines_of(shape)
    x, y = side_of(shape, X, values_at, constants_at), side_of(shape, Y, values_at, constants_at)
    x_steps, y_steps, z = pair_steps(shape, X), pair_steps(shape, Y), one_each(shape, values_at)
    is_cut, sign = are_cut(shape), float(shape[SIGN])
    add_up(terms, totals, z, shape[N], times, lines, is_cut, x, shape[X], x_steps, y, shape[Y], y_steps, sign)


@njit(**INTERNAL_OPTIONS)
def read_pair(shape_at, values_at, sides_at):  # type: ignore[no-untyped-def]
    """What adjoints and tangents are made of; and memory, place, steps and sign of each operand."""
    shape = pair_fields(shape_at)
    terms, totals = saved_terms(shape, values_at)
    times, lines, _, _ = lines_of(shape)
    whole = terms, totals, one_each(shape, sides_at), shape[N], times, lines, are_cut(shape)
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


# ---- shares ----------------------------------------------------------------------------------------------------------
def softmax_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """e^x over its sum along a line"""
    shape = fields(shape_at)
    a, z, n = numbers(shape, values_at, constants_at), room(shape, values_at), shape[N]
    x, top, total = new_row(), new_row(), new_row()
    if is_cut(shape):
        for i in range(shape[M]):
            share_cut(a[i * n : (i + 1) * n], z[i * n : (i + 1) * n], top)
    else:
        times, lines, apart, between = lines_of(shape)
        for outer in range(times):
            for first in range(0, lines, ROWS):
                count, at = min(ROWS, lines - first), outer * n * lines + first * apart
                for i in range(count):
                    top[i], total[i] = -np.inf, 0.0
                for k in range(n):
                    read(a, at + k * between, apart, count, x)
                    for i in range(count):
                        top[i] = choose(x[i] > top[i], x[i], top[i])
                for k in range(n):
                    read(a, at + k * between, apart, count, x)
                    for i in range(count):
                        x[i] = exp(x[i] - top[i])
                        total[i] += x[i]
                    write(z, at + k * between, apart, count, x)
                for k in range(n):
                    read(z, at + k * between, apart, count, x)
                    for i in range(count):
                        x[i] /= total[i]
                    write(z, at + k * between, apart, count, x)
    put_whole(shape, values_at, z)


@njit(**INTERNAL_OPTIONS)
def share_cut(a, z, lanes):  # type: ignore[no-untyped-def]
    """Of one line; a row is lent."""
    n = len(a)
    parts = n // LANES
    largest = -np.inf
    for i in range(LANES):
        lanes[i] = -np.inf
    for k in range(parts):
        part = a[k * LANES : (k + 1) * LANES]
        for i in range(LANES):
            lanes[i] = choose(part[i] > lanes[i], part[i], lanes[i])
    for i in range(parts * LANES, n):
        largest = choose(a[i] > largest, a[i], largest)
    for i in range(LANES):
        largest = choose(lanes[i] > largest, lanes[i], largest)
        lanes[i] = 0.0
    for i in range(n):
        z[i] = exp(a[i] - largest)
    for k in range(parts):
        part = z[k * LANES : (k + 1) * LANES]
        for i in range(LANES):
            lanes[i] += part[i]
    total = 0.0
    for i in range(parts * LANES, n):
        total += z[i]
    for i in range(LANES):
        total += lanes[i]
    for i in range(n):
        z[i] /= total


@njit(**INTERNAL_OPTIONS)
def add_times_shares(shape, z, d, target):  # type: ignore[no-untyped-def]
    """Add the symmetric Jacobian of softmax times d, z (d - sum(z d)), in which zeros mask what is not finite."""
    n = shape[N]
    x, y, total = new_row(), new_row(), new_row()
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for first in range(0, lines, ROWS):
            count, at = min(ROWS, lines - first), outer * n * lines + first * apart
            for i in range(count):
                total[i] = 0.0
            for k in range(n):
                read(z, at + k * between, apart, count, x)
                read(d, at + k * between, apart, count, y)
                for i in range(count):
                    total[i] += choose(y[i] != 0.0, x[i] * y[i], 0.0)
            for k in range(n):
                read(z, at + k * between, apart, count, x)
                read(d, at + k * between, apart, count, y)
                for i in range(count):
                    y[i] = choose(y[i] != 0.0, x[i] * y[i], 0.0) - choose(total[i] != 0.0, total[i] * x[i], 0.0)
                read(target, at + k * between, apart, count, x)
                for i in range(count):
                    x[i] += y[i]
                write(target, at + k * between, apart, count, x)


def softmax_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += z (z_bar - sum(z z_bar))"""
    shape = fields(shape_at)
    bars = adjoint(shape, A, adjoints_at, shape[FIRST], shape[SECOND])
    add_times_shares(shape, whole(shape, values_at), whole(shape, adjoints_at), bars.reshape(bars.size))
    give(shape, A, adjoints_at, bars)


def softmax_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """z (a_dot - sum(z a_dot))"""
    shape = fields(shape_at)
    z_dot = room(shape, dots_at)
    z_dot[:] = 0.0
    add_times_shares(shape, whole(shape, values_at), dots_of(shape, dots_at), z_dot)
    put_whole(shape, dots_at, z_dot)


KERNELS = {
    "logsumexp": (logsumexp_value, logsumexp_adjoint, logsumexp_push),
    "logsumexp_of_pair": (pair_value, pair_adjoint, pair_push),
    "softmax": (softmax_value, softmax_adjoint, softmax_push),
}
