"""Kernels of logarithms of sums of exponentials, and of the shares in such a sum: `row_tables` specifies them.

The kernels treat infinities and nans as the rules do, so that Python need not redo anything. They process `ROWS` lines
side by side, as lanes of vector registers. The terms of a long line are contiguous.
"""

import math

import numpy as np
from numba.extending import register_jitable

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.emitting import add_freely
from contad.compile.overloads import add_overload, in_machine_code
from contad.elementary import exponentials, logarithms
from contad.elementary.bits import choose
from contad.elementary.elementary_table import has_fast_registers
from contad.elementary.rows import ROWS, new_row, place
from contad.kernels.rows.reduction_rows import first_of

LONG_SUM, FEW_LINES = 128, 8  # from this many elements a line is summed in a row, from this many lines beside others
_FEW = 8  # lines of fewer terms take less time by scalar code than by vectors
_LONG = 12  # from this many elements a line becomes shares in a row
_borrowing = register_jitable(**INTERNAL_OPTIONS, _nrt=False)  # no reference counts: the caller holds the memory
_inlined = register_jitable(**INTERNAL_OPTIONS, _nrt=False, forceinline=True)  # arguments would take longer


def exp(x):  # type: ignore[no-untyped-def]
    """e^x"""
    return np.exp(x)


def log(x):  # type: ignore[no-untyped-def]
    """log(x)"""
    return np.log(x)


def log1p(x):  # type: ignore[no-untyped-def]
    """log(1 + x)"""
    return np.log1p(x)


def _compile_as(function, kernel, plain):  # type: ignore[no-untyped-def]
    """Let compiled code call the kernel if registers are wide, else Numba's function."""
    chosen = kernel if has_fast_registers() else plain

    def implementation(x):  # type: ignore[no-untyped-def]
        return chosen(x)

    add_overload(function, jit_options=INTERNAL_OPTIONS)(lambda x: implementation)


_compile_as(exp, exponentials.exp, math.exp)
_compile_as(log, logarithms.log, np.log)
_compile_as(log1p, logarithms.log1p, np.log1p)


# ---- the lines of an array -------------------------------------------------------------------------------------------
@in_machine_code
def lines_of(m, n, k):  # type: ignore[no-untyped-def]
    """(times, lines side by side, the stride between these)."""
    return (1, m, n) if k == 1 else (m, k, 1)


@in_machine_code
def strides_of(m, n, k):  # type: ignore[no-untyped-def]
    """The strides of times, lines and elements."""
    _, lines, apart = lines_of(m, n, k)
    return n * lines, apart, k


@in_machine_code
def are_cut(m, n, k):  # type: ignore[no-untyped-def]
    """Whether the terms of a line are contiguous; else those of lines side by side are."""
    return k == 1 and (n >= LONG_SUM or m < FEW_LINES)


@_borrowing
def read(a, at, apart, count, x):  # type: ignore[no-untyped-def]
    """Copy strided elements into a row."""
    if apart == 1:
        part = a[at : at + count]
        for i in range(count):
            x[i] = part[i]
    else:
        for i in range(count):
            x[i] = a[place(at + i * apart)]


@_borrowing
def write(a, at, apart, count, x):  # type: ignore[no-untyped-def]
    """Copy a row into strided elements."""
    if apart == 1:
        part = a[at : at + count]
        for i in range(count):
            part[i] = x[i]
    else:
        for i in range(count):
            a[place(at + i * apart)] = x[i]


# ---- logarithms of sums of exponentials ------------------------------------------------------------------------------
@_inlined
def term(x, top):  # type: ignore[no-untyped-def]
    """e^(x - top); if top is infinite, 1 for an x that equals it, and nan for a nan."""
    is_top = x == top
    of_infinite = choose(is_top, 1.0, choose(x == x, 0.0, x))
    return choose(abs(top) < np.inf, exp(x - top), of_infinite)


@_inlined
def log_of_sum(top, at_top, rest):  # type: ignore[no-untyped-def]
    """log(at_top + rest) + top, where the rest may be less than the rounding of the largest terms."""
    return np.log1p(rest / at_top) + (np.log(at_top) if at_top != 1.0 else 0.0) + top


@_inlined
def fill(a, at, apart, b, b_at, b_apart, sign, count, row):  # type: ignore[no-untyped-def]
    """Write a + sign b, from strided elements, to a row; only a if the sign is 0."""
    if apart == 0:
        one = a[at]
        for i in range(count):
            row[i] = one
    else:
        read(a, at, apart, count, row)
    if sign != 0.0:
        add_scaled_row(b, b_at, b_apart, sign, count, row)


@_borrowing
def add_scaled_row(b, at, apart, sign, count, row):  # type: ignore[no-untyped-def]
    """Add strided elements to a row."""
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


@_inlined
def largest_of(row, n):  # type: ignore[no-untyped-def]
    """The largest element that is not nan: for a long line in eight lanes side by side."""
    largest = -np.inf
    if n >= 16:
        lanes = new_row()
        for i in range(8):
            lanes[i] = -np.inf
        for k in range(n // 8):
            part = row[8 * k : 8 * k + 8]
            for i in range(8):
                lanes[i] = choose(part[i] > lanes[i], part[i], lanes[i])
        for i in range(8):
            largest = choose(lanes[i] > largest, lanes[i], largest)
    for i in range(0 if n < 16 else n // 8 * 8, n):
        largest = choose(row[i] > largest, row[i], largest)
    return largest


@_inlined
def take_exponentials(row, n):  # type: ignore[no-untyped-def]
    """Replace a line by the terms of its sum: (the largest element, its count, the sum of the other terms)."""
    top = largest_of(row, n)
    count, rest = 0.0, 0.0
    if n < _FEW and abs(top) < np.inf:
        for i in range(n):
            if row[i] == top:
                row[i] = 1.0
                count += 1.0
            else:
                row[i] = math.exp(row[i] - top)
                rest += row[i]
    elif abs(top) < np.inf:
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


@_borrowing
def sum_side_by_side(part, top, at_top, rest, n, count, a, at, strides, b, b_at, b_strides, sign):  # type: ignore[no-untyped-def]
    """The terms of lines side by side, and the results of `take_exponentials` for each."""
    for i in range(count):
        top[i], at_top[i], rest[i] = -np.inf, 0.0, 0.0
    for k in range(n):
        row = part[k * count : (k + 1) * count]
        fill(a, at + k * strides[2], strides[1], b, b_at + k * b_strides[2], b_strides[1], sign, count, row)
        for i in range(count):
            top[i] = choose(row[i] > top[i], row[i], top[i])
    for k in range(n):
        row = part[k * count : (k + 1) * count]
        for i in range(count):
            is_top, e = row[i] == top[i], term(row[i], top[i])
            row[i] = e
            at_top[i] += choose(is_top, 1.0, 0.0)
            rest[i] += choose(is_top, 0.0, e)


@_borrowing
def add_up_beside(terms, totals, z, m, n, k, a, at, strides, b, b_at, b_strides, sign):  # type: ignore[no-untyped-def]
    """`add_up` for lines side by side."""
    top, at_top, rest = new_row(), new_row(), new_row()
    times, lines, _ = lines_of(m, n, k)
    for outer in range(times):
        for first in range(0, lines, ROWS):
            count, line = min(ROWS, lines - first), outer * lines + first
            x, y = at + outer * strides[0] + first * strides[1], b_at + outer * b_strides[0] + first * b_strides[1]
            part = terms[line * n : (line + count) * n]
            sum_side_by_side(part, top, at_top, rest, n, count, a, x, strides, b, y, b_strides, sign)
            total, found = totals[line : line + count], z[line : line + count]
            for i in range(count):
                total[i] = at_top[i] + rest[i]
            for i in range(count):
                found[i] = log1p(rest[i] / at_top[i]) + log(at_top[i]) + top[i]


@_inlined
def add_up(terms, totals, z, m, n, k, a, at, strides, b, b_at, b_strides, sign):  # type: ignore[no-untyped-def]
    """The terms of lines of a + sign b, their sums, and the logarithms of these.

    The strides of an operand are those of times, lines and elements.
    """
    if are_cut(m, n, k):
        for line in range(m):
            row = terms[line * n : (line + 1) * n]
            fill(a, at + line * strides[1], strides[2], b, b_at + line * b_strides[1], b_strides[2], sign, n, row)
            largest, ties, others = take_exponentials(row, n)
            totals[line], z[line] = ties + others, log_of_sum(largest, ties, others)
    else:
        add_up_beside(terms, totals, z, m, n, k, a, at, strides, b, b_at, b_strides, sign)


@_borrowing
def add_row(bar, at, apart, x, sign, count):  # type: ignore[no-untyped-def]
    """Add sign x to strided elements, which may all be the same element."""
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


@_borrowing
def pass_on_beside(terms, totals, z_bar, m, n, k, a, at, strides, a_sign, b, b_at, b_strides, b_sign):  # type: ignore[no-untyped-def]
    """`pass_on` for lines side by side."""
    x, d = new_row(), new_row()
    times, lines, _ = lines_of(m, n, k)
    for outer in range(times):
        for first in range(0, lines, ROWS):
            count, line = min(ROWS, lines - first), outer * lines + first
            p, q = at + outer * strides[0] + first * strides[1], b_at + outer * b_strides[0] + first * b_strides[1]
            part = terms[line * n : (line + count) * n]
            bar, sums = z_bar[line : line + count], totals[line : line + count]
            for i in range(count):
                d[i] = choose(bar[i] != 0.0, bar[i] / sums[i], 0.0)
            for j in range(n):
                row = part[j * count : (j + 1) * count]
                for i in range(count):
                    x[i] = choose(bar[i] != 0.0, row[i] * d[i], 0.0)
                if a_sign != 0.0:
                    add_row(a, p + j * strides[2], strides[1], x, a_sign, count)
                if b_sign != 0.0:
                    add_row(b, q + j * b_strides[2], b_strides[1], x, b_sign, count)


@_inlined
def pass_on(terms, totals, z_bar, m, n, k, a, at, strides, a_sign, b, b_at, b_strides, b_sign):  # type: ignore[no-untyped-def]
    """Add to the adjoints of a and b; skip b if the sign is 0."""
    if are_cut(m, n, k):
        for line in range(m):
            slope = z_bar[line] / totals[line] if z_bar[line] != 0.0 else 0.0
            if slope != 0.0:
                row = terms[line * n : (line + 1) * n]
                if a_sign != 0.0:
                    add_row(a, at + line * strides[1], strides[2], row, a_sign * slope, n)
                if b_sign != 0.0:
                    add_row(b, b_at + line * b_strides[1], b_strides[2], row, b_sign * slope, n)
    else:
        pass_on_beside(terms, totals, z_bar, m, n, k, a, at, strides, a_sign, b, b_at, b_strides, b_sign)


@in_machine_code
def terms_of(line, m, n, k):  # type: ignore[no-untyped-def]
    """The position of the first term of a line, and the stride of the terms."""
    if are_cut(m, n, k):
        return line * n, 1
    lines = m if k == 1 else k
    beside = line % lines
    first = beside // ROWS * ROWS
    return (line - beside + first) * n + beside - first, min(ROWS, lines - first)


@_borrowing
def push_on(terms, totals, z_dot, m, n, k, a, at, strides, a_sign, b, b_at, b_strides, b_sign):  # type: ignore[no-untyped-def]
    """sum(w (a_dot + sign b_dot)) for each line"""
    times, lines, _ = lines_of(m, n, k)
    for outer in range(times):
        for line in range(lines):
            number, total = outer * lines + line, 0.0
            start, stride = terms_of(number, m, n, k)
            for i in range(n):
                d = 0.0
                if a_sign != 0.0:
                    d = a_sign * a[at + outer * strides[0] + line * strides[1] + i * strides[2]]
                if b_sign != 0.0:
                    d += b_sign * b[b_at + outer * b_strides[0] + line * b_strides[1] + i * b_strides[2]]
                if d != 0.0:
                    total += terms[start + i * stride] / totals[number] * d
            z_dot[number] = total


@_borrowing
def logsumexp_value(a, m, n, k, terms, totals, z):  # type: ignore[no-untyped-def]
    """z = log(sum(exp(line))); saves the terms over the largest one, and their sums"""
    if n == 0:
        for line in range(m * k):
            z[line] = -np.inf
        return
    strides = strides_of(m, n, k)
    add_up(terms, totals, z, m, n, k, a, 0, strides, a, 0, strides, 0.0)


@in_machine_code
def log_sum_of_line(a, n):  # type: ignore[no-untyped-def]
    """The same for one line, without saving anything."""
    if n == 0:
        return -np.inf
    row = new_row() if n <= ROWS else np.empty(n)
    read(a, 0, 1, n, row)
    return log_of_sum(*take_exponentials(row, n))


@in_machine_code
def weighted_logsumexp_value(a, b, m, n, k, terms, totals, z):  # type: ignore[no-untyped-def]
    """z = log(sum(b exp(line))), nan if the sum is negative; adjoint and tangent are those of `logsumexp`"""
    for line in range(m * k):
        first, top = first_of(line, n, k), -np.inf
        for i in range(n):
            x = a[first + i * k]
            if x != x or (b[first + i * k] != 0.0 and x > top):
                top = x
        start, stride = terms_of(line, m, n, k)
        at_top, rest = 0.0, 0.0
        for i in range(n):
            x, weight = a[first + i * k], b[first + i * k]
            e = weight * term(x, top) if weight != 0.0 else 0.0
            terms[start + i * stride] = e
            if x == top:
                at_top += weight
            else:
                rest += e
        totals[line] = at_top + rest
        z[line] = log_of_sum(top, at_top, rest) if at_top > 0.0 else log(totals[line]) + top


@_borrowing
def logsumexp_adjoint(z_bar, terms, totals, m, n, k, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += w z_bar, where w are the terms over their sum"""
    strides = strides_of(m, n, k)
    pass_on(terms, totals, z_bar, m, n, k, a_bar, 0, strides, 1.0, a_bar, 0, strides, 0.0)


@_borrowing
def logsumexp_tangent(terms, totals, a_dot, m, n, k, z_dot):  # type: ignore[no-untyped-def]
    """sum(w a_dot)"""
    strides = strides_of(m, n, k)
    push_on(terms, totals, z_dot, m, n, k, a_dot, 0, strides, 1.0, a_dot, 0, strides, 0.0)


# ---- shares ----------------------------------------------------------------------------------------------------------
@in_machine_code
def are_in_rows(m, n, k):  # type: ignore[no-untyped-def]
    """Whether lines are processed one after another."""
    return k == 1 and (n >= _LONG or m < FEW_LINES)


@_borrowing
def softmax_value(a, m, n, k, z):  # type: ignore[no-untyped-def]
    """e^x over its sum along a line; nan if the largest element is infinite"""
    if are_in_rows(m, n, k):
        for i in range(m):
            row = z[i * n : (i + 1) * n]
            read(a, i * n, 1, n, row)
            top, at_top, rest = take_exponentials(row, n)
            total = at_top + rest if abs(top) < np.inf else np.nan
            for j in range(n):
                row[j] /= total
        return
    x, top, total = new_row(), new_row(), new_row()
    times, lines, apart = lines_of(m, n, k)
    for outer in range(times):
        for first in range(0, lines, ROWS):
            count, at = min(ROWS, lines - first), outer * n * lines + first * apart
            for i in range(count):
                top[i], total[i] = -np.inf, 0.0
            for j in range(n):
                read(a, at + j * k, apart, count, x)
                for i in range(count):
                    top[i] = choose(x[i] > top[i], x[i], top[i])
            for j in range(n):
                read(a, at + j * k, apart, count, x)
                for i in range(count):
                    x[i] = exp(x[i] - top[i])
                    total[i] += x[i]
                write(z, at + j * k, apart, count, x)
            for j in range(n):
                read(z, at + j * k, apart, count, x)
                for i in range(count):
                    x[i] /= total[i]
                write(z, at + j * k, apart, count, x)


@_borrowing
def softmax_adjoint(z_bar, z, m, n, k, a_bar):  # type: ignore[no-untyped-def]
    """Add the symmetric Jacobian times z_bar, z (z_bar - sum(z z_bar)), in which zeros mask infinities and nans"""
    if are_in_rows(m, n, k):
        for i in range(m):
            first, end = i * n, (i + 1) * n
            of_z, of_d, row, sum_of_line = z[first:end], z_bar[first:end], a_bar[first:end], 0.0
            for j in range(n):
                sum_of_line = add_freely(sum_of_line, choose(of_d[j] != 0.0, of_z[j] * of_d[j], 0.0))
            for j in range(n):
                row[j] += choose(of_d[j] != 0.0, of_z[j] * of_d[j], 0.0) - choose(
                    sum_of_line != 0.0, sum_of_line * of_z[j], 0.0
                )
        return
    x, y, total = new_row(), new_row(), new_row()
    times, lines, apart = lines_of(m, n, k)
    for outer in range(times):
        for first in range(0, lines, ROWS):
            count, at = min(ROWS, lines - first), outer * n * lines + first * apart
            for i in range(count):
                total[i] = 0.0
            for j in range(n):
                read(z, at + j * k, apart, count, x)
                read(z_bar, at + j * k, apart, count, y)
                for i in range(count):
                    total[i] += choose(y[i] != 0.0, x[i] * y[i], 0.0)
            for j in range(n):
                read(z, at + j * k, apart, count, x)
                read(z_bar, at + j * k, apart, count, y)
                for i in range(count):
                    y[i] = choose(y[i] != 0.0, x[i] * y[i], 0.0) - choose(total[i] != 0.0, total[i] * x[i], 0.0)
                read(a_bar, at + j * k, apart, count, x)
                for i in range(count):
                    x[i] += y[i]
                write(a_bar, at + j * k, apart, count, x)


@in_machine_code
def softmax_tangent(z, a_dot, m, n, k, z_dot):  # type: ignore[no-untyped-def]
    """z (a_dot - sum(z a_dot))"""
    for i in range(m * n * k):
        z_dot[i] = 0.0
    softmax_adjoint(a_dot, z, m, n, k, z_dot)
