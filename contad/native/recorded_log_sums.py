"""What recordings do along lines by exponentials: `logsumexp` and `softmax`, the rules of `contad.ops.log_sums`.

Numbers that are not finite are what the rules make of them, so that nothing is left to Python. Lines are taken side by
side, `ROWS` at a time, as the lanes of vector registers; a long line with its elements in a row is cut into lanes
itself.
"""

import math

import numpy as np

from contad.native.arena import INTERNAL_OPTIONS
from contad.native.elementary import exponentials
from contad.native.elementary.bits import choose
from contad.native.elementary.elementary_table import has_fast_registers
from contad.native.elementary.rows import ROWS, new_row
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
    read_padded,
    room,
    whole,
    write,
)
from contad.native.recorded_operands import adjoint, fields, give, read_saved
from contad.native.step_fields import FIRST, SECOND, A, K, M, N


@njit(**INTERNAL_OPTIONS)
def _exp_of_library(x):  # type: ignore[no-untyped-def]
    return math.exp(x)


exp = exponentials.exp if has_fast_registers() else _exp_of_library


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


@njit(**INTERNAL_OPTIONS)
def log_sum(top, count, rest):  # type: ignore[no-untyped-def]
    """The logarithm of a sum, in which the largest terms are apart: the others may be less than their rounding."""
    return np.log1p(rest / count) + np.log(count) + top


@njit(**INTERNAL_OPTIONS)
def sum_side_by_side(a, at, apart, between, n, count, terms, totals, z):  # type: ignore[no-untyped-def]
    """Of lines side by side."""
    x, top, at_top, rest = new_row(), new_row(), new_row(), new_row()
    for i in range(count):
        top[i], at_top[i], rest[i] = -np.inf, 0.0, 0.0
    for k in range(n):
        read(a, at + k * between, apart, count, x)
        for i in range(count):
            top[i] = choose(x[i] > top[i], x[i], top[i])
    for k in range(n):
        read(a, at + k * between, apart, count, x)
        row = terms[k * count : (k + 1) * count]
        for i in range(count):
            e = term(x[i], top[i])
            row[i] = e
            is_top = x[i] == top[i]
            at_top[i] += choose(is_top, 1.0, 0.0)
            rest[i] += choose(is_top, 0.0, e)
    for i in range(count):
        totals[i] = at_top[i] + rest[i]
        z[i] = log_sum(top[i], at_top[i], rest[i])


@njit(**INTERNAL_OPTIONS)
def sum_cut(a, at, n, terms, x, top, at_top, rest):  # type: ignore[no-untyped-def]
    """(the sum of the terms, its logarithm) of one line; the rows are lent."""
    parts = n // LANES
    first = at + parts * LANES
    for i in range(LANES):
        top[i], at_top[i], rest[i] = -np.inf, 0.0, 0.0
    for k in range(parts):
        part = a[at + k * LANES : at + (k + 1) * LANES]
        for i in range(LANES):
            top[i] = choose(part[i] > top[i], part[i], top[i])
    read_padded(a, first, at + n - first, x)
    largest = -np.inf
    for i in range(LANES):
        found = choose(x[i] > top[i], x[i], top[i])
        largest = choose(found > largest, found, largest)
    for k in range(parts):
        part = a[at + k * LANES : at + (k + 1) * LANES]
        row = terms[k * LANES : (k + 1) * LANES]
        for i in range(LANES):
            e = term(part[i], largest)
            row[i] = e
            is_top = part[i] == largest
            at_top[i] += choose(is_top, 1.0, 0.0)
            rest[i] += choose(is_top, 0.0, e)
    left = n - parts * LANES
    for i in range(LANES):
        e = term(x[i], largest)
        is_top, is_there = x[i] == largest, i < left
        at_top[i] += choose(is_top and is_there, 1.0, 0.0)
        x[i] = e
        rest[i] += choose(is_top or not is_there, 0.0, e)
    row = terms[n - left : n]
    for i in range(left):
        row[i] = x[i]
    count, others = 0.0, 0.0
    for i in range(LANES):
        count += at_top[i]
        others += rest[i]
    return count + others, log_sum(largest, count, others)


def logsumexp_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """z = log(sum(exp(line))); the terms over the largest one are saved, and their sums"""
    shape = fields(shape_at)
    a, n = numbers(shape, values_at, constants_at), shape[N]
    z = one_each(shape, values_at)
    terms, totals = saved_terms(shape, values_at)
    if is_cut(shape):
        x, top, at_top, rest = new_row(), new_row(), new_row(), new_row()
        for i in range(shape[M]):
            totals[i], z[i] = sum_cut(a, i * n, n, terms[i * n : (i + 1) * n], x, top, at_top, rest)
        return
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for first in range(0, lines, ROWS):
            count, line = min(ROWS, lines - first), outer * lines + first
            of_lines = terms[line * n : (line + count) * n]
            at = outer * n * lines + first * apart
            sum_side_by_side(a, at, apart, between, n, count, of_lines, totals[line:], z[line:])


def logsumexp_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += w z_bar, where w are the terms over their sum"""
    shape = fields(shape_at)
    n = shape[N]
    z_bar = one_each(shape, adjoints_at)
    terms, totals = saved_terms(shape, values_at)
    bars = adjoint(shape, A, adjoints_at, shape[FIRST], shape[SECOND])
    a_bar = bars.reshape(bars.size)
    if is_cut(shape):
        for i in range(shape[M]):
            if z_bar[i] != 0.0:
                d = z_bar[i] / totals[i]
                row, part = terms[i * n : (i + 1) * n], a_bar[i * n : (i + 1) * n]
                for k in range(n):
                    part[k] += row[k] * d
    else:
        x, d = new_row(), new_row()
        times, lines, apart, between = lines_of(shape)
        for outer in range(times):
            for first in range(0, lines, ROWS):
                count, line = min(ROWS, lines - first), outer * lines + first
                at = outer * n * lines + first * apart
                sums, bar = totals[line : line + count], z_bar[line : line + count]
                for i in range(count):
                    d[i] = bar[i] / sums[i]
                for k in range(n):
                    read(a_bar, at + k * between, apart, count, x)
                    row = terms[line * n + k * count : line * n + (k + 1) * count]
                    for i in range(count):
                        x[i] += choose(bar[i] != 0.0, row[i] * d[i], 0.0)
                    write(a_bar, at + k * between, apart, count, x)
    give(shape, A, adjoints_at, bars)


def logsumexp_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """sum(w a_dot)"""
    shape = fields(shape_at)
    n = shape[N]
    z_dot, a_dot = one_each(shape, dots_at), dots_of(shape, dots_at)
    terms, totals = saved_terms(shape, values_at)
    cut = is_cut(shape)
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            place_of_line = outer * lines + line
            first = line // ROWS * ROWS
            side_by_side = 1 if cut else min(ROWS, lines - first)
            start = place_of_line * n if cut else (outer * lines + first) * n + line - first
            total = 0.0
            for k in range(n):
                d = a_dot[outer * n * lines + line * apart + k * between]
                if d != 0.0:
                    total += terms[start + k * side_by_side] / totals[place_of_line] * d
            z_dot[place_of_line] = total


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
    "softmax": (softmax_value, softmax_adjoint, softmax_push),
}
