"""What recordings do along the lines of an array: sums of exponentials, products, variances, running sums.

The rules are those of `contad.ops.log_sums`, `contad.ops.reductions` and `contad.ops.accumulations`; how kernels are
called is told in `contad.native.recorded_operands`. The sizes are those of an array of three axes, of which the middle
one is that of the lines, the options its rows and columns as a matrix. Numbers that are not finite are what the rules
make of them, so that nothing is left to Python.

Lines are taken side by side, `ROWS` at a time, as the lanes of vector registers; a long line with its elements in a row
is cut into lanes itself.
"""

import math

import numpy as np

from contad.native.arena import INTERNAL_OPTIONS
from contad.native.elementary import exponentials
from contad.native.elementary.bits import choose
from contad.native.elementary.elementary_table import has_fast_registers
from contad.native.elementary.rows import ROWS, new_row, place
from contad.native.machine_code import njit
from contad.native.recorded_operands import (
    adjoint,
    block,
    fields,
    give,
    operand,
    put,
    read_saved,
    result,
    tangent,
)
from contad.native.step_fields import FIRST, RESULT, SECOND, THIRD, TURNED, A, K, M, N
from contad.ops.cotangents import TINY

_LANES = 32  # of a long line
_LONG = 12  # elements from which on a line is cut into lanes


@njit(**INTERNAL_OPTIONS)
def _exp_of_library(x):  # type: ignore[no-untyped-def]
    return math.exp(x)


exp = exponentials.exp if has_fast_registers() else _exp_of_library


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


@njit(**INTERNAL_OPTIONS)
def saved_terms(shape, values_at):  # type: ignore[no-untyped-def]
    """What a sum of exponentials saves: the terms, and their sums."""
    n, lines = shape[N], shape[M] * shape[K]
    saved = read_saved(shape, values_at, 1, (n + 1) * lines)[0]
    return saved[: n * lines], saved[n * lines :]


# ---- lines -----------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def lines_of(shape):  # type: ignore[no-untyped-def]
    """(times, lines side by side, how far these lie apart, how far the elements of one do)."""
    if shape[K] == 1:
        return 1, shape[M], shape[N], 1
    return shape[M], shape[K], 1, shape[K]


@njit(**INTERNAL_OPTIONS)
def is_cut(shape):  # type: ignore[no-untyped-def]
    """Whether lines are cut into lanes."""
    return shape[K] == 1 and shape[N] >= _LONG


@njit(**INTERNAL_OPTIONS)
def read(a, at, apart, count, x):  # type: ignore[no-untyped-def]
    """Elements that lie apart, into a row."""
    if apart == 1:
        part = a[at : at + count]
        for i in range(count):
            x[i] = part[i]
    else:
        for i in range(count):
            x[i] = a[place(at + i * apart)]


@njit(**INTERNAL_OPTIONS)
def write(a, at, apart, count, x):  # type: ignore[no-untyped-def]
    """A row into elements that lie apart."""
    if apart == 1:
        part = a[at : at + count]
        for i in range(count):
            part[i] = x[i]
    else:
        for i in range(count):
            a[place(at + i * apart)] = x[i]


@njit(**INTERNAL_OPTIONS)
def read_padded(a, at, count, x):  # type: ignore[no-untyped-def]
    """Elements in a row, into lanes, the others of which are -inf."""
    part = a[at : at + count]
    for i in range(count):
        x[i] = part[i]
    for i in range(count, _LANES):
        x[i] = -np.inf


# ---- logarithms of sums of exponentials ------------------------------------------------------------------------------
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
    parts = n // _LANES
    first = at + parts * _LANES
    for i in range(_LANES):
        top[i], at_top[i], rest[i] = -np.inf, 0.0, 0.0
    for k in range(parts):
        part = a[at + k * _LANES : at + (k + 1) * _LANES]
        for i in range(_LANES):
            top[i] = choose(part[i] > top[i], part[i], top[i])
    read_padded(a, first, at + n - first, x)
    largest = -np.inf
    for i in range(_LANES):
        found = choose(x[i] > top[i], x[i], top[i])
        largest = choose(found > largest, found, largest)
    for k in range(parts):
        part = a[at + k * _LANES : at + (k + 1) * _LANES]
        row = terms[k * _LANES : (k + 1) * _LANES]
        for i in range(_LANES):
            e = term(part[i], largest)
            row[i] = e
            is_top = part[i] == largest
            at_top[i] += choose(is_top, 1.0, 0.0)
            rest[i] += choose(is_top, 0.0, e)
    left = n - parts * _LANES
    for i in range(_LANES):
        e = term(x[i], largest)
        is_top, is_there = x[i] == largest, i < left
        at_top[i] += choose(is_top and is_there, 1.0, 0.0)
        x[i] = e
        rest[i] += choose(is_top or not is_there, 0.0, e)
    row = terms[n - left : n]
    for i in range(left):
        row[i] = x[i]
    count, others = 0.0, 0.0
    for i in range(_LANES):
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
    parts = n // _LANES
    largest = -np.inf
    for i in range(_LANES):
        lanes[i] = -np.inf
    for k in range(parts):
        part = a[k * _LANES : (k + 1) * _LANES]
        for i in range(_LANES):
            lanes[i] = choose(part[i] > lanes[i], part[i], lanes[i])
    for i in range(parts * _LANES, n):
        largest = choose(a[i] > largest, a[i], largest)
    for i in range(_LANES):
        largest = choose(lanes[i] > largest, lanes[i], largest)
        lanes[i] = 0.0
    for i in range(n):
        z[i] = exp(a[i] - largest)
    for k in range(parts):
        part = z[k * _LANES : (k + 1) * _LANES]
        for i in range(_LANES):
            lanes[i] += part[i]
    total = 0.0
    for i in range(parts * _LANES, n):
        total += z[i]
    for i in range(_LANES):
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


# ---- products --------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def may_divide(z):  # type: ignore[no-untyped-def]
    """Whether a product is so far from zero and infinity that it may be divided without loss."""
    return TINY <= abs(z) < np.inf


@njit(**INTERNAL_OPTIONS)
def multiply_line(a, at, n, between):  # type: ignore[no-untyped-def]
    """The product of a line: eight side by side, unless one of them might be lost."""
    if between == 1 and n >= _LONG:
        part = a[at : at + n]
        p = q = r = s = t = u = v = w = 1.0
        for k in range(n // 8):
            i = 8 * k
            p *= part[i]
            q *= part[i + 1]
            r *= part[i + 2]
            s *= part[i + 3]
            t *= part[i + 4]
            u *= part[i + 5]
            v *= part[i + 6]
            w *= part[i + 7]
        z = ((p * q) * (r * s)) * ((t * u) * (v * w))
        for i in range(n // 8 * 8, n):
            z *= part[i]
        if may_divide(z):
            return z
    z = 1.0
    for i in range(n):
        z *= a[at + i * between]
    return z


@njit(**INTERNAL_OPTIONS)
def products_of_others(a, at, n, between, z, others):  # type: ignore[no-untyped-def]
    """The product of the other elements, for each element of a line whose product is z."""
    if may_divide(z):
        for i in range(n):
            others[i] = z / a[at + i * between]
        return
    product = 1.0
    for i in range(n):
        others[i] = product
        product *= a[at + i * between]
    product = 1.0
    for k in range(n):
        i = n - 1 - k
        others[i] *= product
        product *= a[at + i * between]


def prod_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """The product of a line"""
    shape = fields(shape_at)
    a, z, n = numbers(shape, values_at, constants_at), one_each(shape, values_at), shape[N]
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            z[outer * lines + line] = multiply_line(a, outer * n * lines + line * apart, n, between)


def prod_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += z_bar times the product of the others"""
    shape = fields(shape_at)
    a, z, n = numbers(shape, values_at, constants_at), one_each(shape, values_at), shape[N]
    z_bar = one_each(shape, adjoints_at)
    bars = adjoint(shape, A, adjoints_at, shape[FIRST], shape[SECOND])
    a_bar = bars.reshape(bars.size)
    others = np.empty(n)
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            number = outer * lines + line
            d, at = z_bar[number], outer * n * lines + line * apart
            if d == 0.0:
                continue
            if between == 1 and may_divide(z[number]):
                part, bar, product = a[at : at + n], a_bar[at : at + n], d * z[number]
                if may_divide(product):
                    for i in range(n):
                        bar[i] += product / part[i]
                    continue
            products_of_others(a, at, n, between, z[number], others)
            for i in range(n):
                a_bar[at + i * between] += d * others[i]
    give(shape, A, adjoints_at, bars)


def prod_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The sum of a_dot times the product of the others"""
    shape = fields(shape_at)
    a, z, n = numbers(shape, values_at, constants_at), one_each(shape, values_at), shape[N]
    z_dot, a_dot = one_each(shape, dots_at), dots_of(shape, dots_at)
    others = np.empty(n)
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            number, at, total = outer * lines + line, outer * n * lines + line * apart, 0.0
            products_of_others(a, at, n, between, z[number], others)
            for i in range(n):
                d = a_dot[at + i * between]
                if d != 0.0:
                    total += d * others[i]
            z_dot[number] = total


# ---- variances and standard deviations: THIRD is ddof ----------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def sums_of_line(a, at, n, between, first, mean, power):  # type: ignore[no-untyped-def]
    """The sum of a - first - mean, or of its square, over a line: four sums side by side."""
    p = q = r = s = 0.0
    for i in range(0, n - 3, 4):
        k = at + i * between
        w, x = a[k] - first - mean, a[k + between] - first - mean
        y, z = a[k + 2 * between] - first - mean, a[k + 3 * between] - first - mean
        p += w if power == 1 else w * w
        q += x if power == 1 else x * x
        r += y if power == 1 else y * y
        s += z if power == 1 else z * z
    for i in range(n // 4 * 4, n):
        w = a[at + i * between] - first - mean
        p += w if power == 1 else w * w
    return (p + q) + (r + s)


@njit(**INTERNAL_OPTIONS)
def mean_of_line(a, at, n, between):  # type: ignore[no-untyped-def]
    """The mean in two parts, the first element and the rest: exact of equal elements, and not rounded as a number."""
    first = a[at] if abs(a[at]) < np.inf else 0.0
    return first, sums_of_line(a, at, n, between, first, 0.0, 1) / n


@njit(**INTERNAL_OPTIONS)
def variances(shape, a, z, is_root):  # type: ignore[no-untyped-def]
    """The mean square of a - mean(a) along each line, or its root."""
    n = shape[N]
    freedom = max(float(n - shape[THIRD]), 0.0)
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            at = outer * n * lines + line * apart
            first, mean = mean_of_line(a, at, n, between)
            found = sums_of_line(a, at, n, between, first, mean, 2) / freedom
            z[outer * lines + line] = np.sqrt(found) if is_root else found


@njit(**INTERNAL_OPTIONS)
def slope_of_line(a, at, n, between, z, freedom, is_root, slope):  # type: ignore[no-untyped-def]
    """The gradient of a variance, or of a standard deviation z: 0 where that is 0."""
    first, mean = mean_of_line(a, at, n, between)
    by = z * freedom if is_root else 0.5 * freedom
    for i in range(n):
        slope[i] = 0.0 if is_root and z == 0.0 else (a[at + i * between] - first - mean) / by


@njit(**INTERNAL_OPTIONS)
def add_slopes(shape, a, z, z_bar, a_bar, is_root):  # type: ignore[no-untyped-def]
    """a_bar += z_bar slope"""
    n = shape[N]
    freedom, slope = max(float(n - shape[THIRD]), 0.0), np.empty(n)
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            number, at = outer * lines + line, outer * n * lines + line * apart
            if z_bar[number] != 0.0:
                slope_of_line(a, at, n, between, z[number], freedom, is_root, slope)
                for i in range(n):
                    a_bar[at + i * between] += z_bar[number] * slope[i]


@njit(**INTERNAL_OPTIONS)
def along_slopes(shape, a, z, a_dot, z_dot, is_root):  # type: ignore[no-untyped-def]
    """sum(a_dot slope)"""
    n = shape[N]
    freedom, slope = max(float(n - shape[THIRD]), 0.0), np.empty(n)
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            number, at, total = outer * lines + line, outer * n * lines + line * apart, 0.0
            slope_of_line(a, at, n, between, z[number], freedom, is_root, slope)
            for i in range(n):
                d = a_dot[at + i * between]
                total += d * slope[i] if d != 0.0 else 0.0
            z_dot[number] = total


def var_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """sum((a - mean(a))^2) / (n - ddof)"""
    shape = fields(shape_at)
    variances(shape, numbers(shape, values_at, constants_at), one_each(shape, values_at), False)


def var_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += 2 (a - mean(a)) z_bar / (n - ddof)"""
    shape = fields(shape_at)
    a, z, z_bar = numbers(shape, values_at, constants_at), one_each(shape, values_at), one_each(shape, adjoints_at)
    bars = adjoint(shape, A, adjoints_at, shape[FIRST], shape[SECOND])
    add_slopes(shape, a, z, z_bar, bars.reshape(bars.size), False)
    give(shape, A, adjoints_at, bars)


def var_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangent"""
    shape = fields(shape_at)
    a, z, a_dot = numbers(shape, values_at, constants_at), one_each(shape, values_at), dots_of(shape, dots_at)
    along_slopes(shape, a, z, a_dot, one_each(shape, dots_at), False)


def std_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """The root of the variance"""
    shape = fields(shape_at)
    variances(shape, numbers(shape, values_at, constants_at), one_each(shape, values_at), True)


def std_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar += (a - mean(a)) z_bar / ((n - ddof) z)"""
    shape = fields(shape_at)
    a, z, z_bar = numbers(shape, values_at, constants_at), one_each(shape, values_at), one_each(shape, adjoints_at)
    bars = adjoint(shape, A, adjoints_at, shape[FIRST], shape[SECOND])
    add_slopes(shape, a, z, z_bar, bars.reshape(bars.size), True)
    give(shape, A, adjoints_at, bars)


def std_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangent"""
    shape = fields(shape_at)
    a, z, a_dot = numbers(shape, values_at, constants_at), one_each(shape, values_at), dots_of(shape, dots_at)
    along_slopes(shape, a, z, a_dot, one_each(shape, dots_at), True)


# ---- running sums and products ---------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def accumulate(shape, a, z):  # type: ignore[no-untyped-def]
    """The running sums."""
    n = shape[N]
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            at, total = outer * n * lines + line * apart, 0.0
            for i in range(n):
                k = place(at + i * between)
                total = a[k] if i == 0 else total + a[k]  # the first may be -0.0
                z[k] = total


def cumsum_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """z_i = a_i + z_{i-1}"""
    shape = fields(shape_at)
    z = room(shape, values_at)
    accumulate(shape, numbers(shape, values_at, constants_at), z)
    put_whole(shape, values_at, z)


def cumsum_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar_i += sum_{k >= i} z_bar_k"""
    shape = fields(shape_at)
    n = shape[N]
    z_bar = whole(shape, adjoints_at)
    bars = adjoint(shape, A, adjoints_at, shape[FIRST], shape[SECOND])
    a_bar = bars.reshape(bars.size)
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            at, total = outer * n * lines + line * apart, 0.0
            for i in range(n):
                k = place(at + (n - 1 - i) * between)
                total += z_bar[k]
                a_bar[k] += total
    give(shape, A, adjoints_at, bars)


def cumsum_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The running sums of the tangent"""
    shape = fields(shape_at)
    z_dot = room(shape, dots_at)
    accumulate(shape, dots_of(shape, dots_at), z_dot)
    put_whole(shape, dots_at, z_dot)


def cumprod_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """z_i = a_i z_{i-1}"""
    shape = fields(shape_at)
    a, z, n = numbers(shape, values_at, constants_at), room(shape, values_at), shape[N]
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            at, product = outer * n * lines + line * apart, 1.0
            for i in range(n):
                k = place(at + i * between)
                product *= a[k]
                z[k] = product
    put_whole(shape, values_at, z)


def cumprod_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """a_bar_i += z_{i-1} r_i,     r_i = z_bar_i + a_{i+1} r_{i+1}"""
    shape = fields(shape_at)
    a, z, n = numbers(shape, values_at, constants_at), whole(shape, values_at), shape[N]
    z_bar = whole(shape, adjoints_at)
    bars = adjoint(shape, A, adjoints_at, shape[FIRST], shape[SECOND])
    a_bar = bars.reshape(bars.size)
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            at, r = outer * n * lines + line * apart, 0.0
            for i in range(n - 1, -1, -1):
                k = at + i * between
                factor = a[k + between] if i + 1 < n else 0.0
                r = z_bar[k] + (factor * r if r != 0.0 else 0.0)
                if r != 0.0:
                    a_bar[k] += r * (z[k - between] if i > 0 else 1.0)
    give(shape, A, adjoints_at, bars)


def cumprod_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """z_dot_i = a_i z_dot_{i-1} + a_dot_i z_{i-1}"""
    shape = fields(shape_at)
    a, z, n = numbers(shape, values_at, constants_at), whole(shape, values_at), shape[N]
    a_dot, z_dot = dots_of(shape, dots_at), room(shape, dots_at)
    times, lines, apart, between = lines_of(shape)
    for outer in range(times):
        for line in range(lines):
            at, before = outer * n * lines + line * apart, 0.0
            for i in range(n):
                k = at + i * between
                d = a_dot[k] * (z[k - between] if i > 0 else 1.0) if a_dot[k] != 0.0 else 0.0
                before = (a[k] * before if before != 0.0 else 0.0) + d
                z_dot[k] = before
    put_whole(shape, dots_at, z_dot)


LINE_KERNELS = {
    "logsumexp": (logsumexp_value, logsumexp_adjoint, logsumexp_push),
    "softmax": (softmax_value, softmax_adjoint, softmax_push),
    "var": (var_value, var_adjoint, var_push),
    "std": (std_value, std_adjoint, std_push),
    "prod": (prod_value, prod_adjoint, prod_push),
    "cumsum": (cumsum_value, cumsum_adjoint, cumsum_push),
    "cumprod": (cumprod_value, cumprod_adjoint, cumprod_push),
}
