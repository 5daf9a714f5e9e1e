"""What recordings do along lines to have one number of each: products, variances, standard deviations.

The rules are those of `contad.ops.reductions`; how lines lie is told in `contad.native.recorded_lines`.
"""

import numpy as np

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.recorded_lines import LONG, dots_of, lines_of, numbers, one_each
from contad.native.recorded_operands import adjoint, fields, give
from contad.native.step_fields import FIRST, SECOND, THIRD, A, N
from contad.ops.cotangents import TINY


# ---- products --------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def may_divide(z):  # type: ignore[no-untyped-def]
    """Whether a product is so far from zero and infinity that it may be divided without loss."""
    return TINY <= abs(z) < np.inf


@njit(**INTERNAL_OPTIONS)
def multiply_line(a, at, n, between):  # type: ignore[no-untyped-def]
    """The product of a line: eight side by side, unless one of them might be lost."""
    if between == 1 and n >= LONG:
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


KERNELS = {
    "prod": (prod_value, prod_adjoint, prod_push),
    "var": (var_value, var_adjoint, var_push),
    "std": (std_value, std_adjoint, std_push),
}
