"""Kernels of products, variances and standard deviations: `row_tables` specifies them."""

import numpy as np
from numba.extending import register_jitable

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.overloads import in_machine_code
from contad.ops.cotangents import TINY

_inlined = register_jitable(**INTERNAL_OPTIONS, forceinline=True)
_LONG = 12  # from this many elements a product is computed in parts


@in_machine_code
def first_of(line, n, k):  # type: ignore[no-untyped-def]
    """The position of the first element of a line; the stride of its elements is k."""
    return line * n if k == 1 else line // k * (n * k) + line % k


# ---- products --------------------------------------------------------------------------------------------------------
@in_machine_code
def may_divide(z):  # type: ignore[no-untyped-def]
    """Whether a product is far enough from zero and infinity for a division without loss."""
    return TINY <= abs(z) < np.inf


@in_machine_code
def multiply_line(a, at, n, k):  # type: ignore[no-untyped-def]
    """The product of a line: eight partial products, unless one of them might under- or overflow."""
    if k == 1 and n >= _LONG:
        part = a[at : at + n]
        p = q = r = s = t = u = v = w = 1.0
        for j in range(n // 8):
            i = 8 * j
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
        z *= a[at + i * k]
    return z


@in_machine_code
def products_of_others(a, at, n, k, z, others):  # type: ignore[no-untyped-def]
    """The product of the other elements, for each element of a line whose product is z."""
    if may_divide(z):
        for i in range(n):
            others[i] = z / a[at + i * k]
        return
    product = 1.0
    for i in range(n):
        others[i] = product
        product *= a[at + i * k]
    product = 1.0
    for i in range(n - 1, -1, -1):
        others[i] *= product
        product *= a[at + i * k]


@in_machine_code
def prod_value(a, m, n, k, z):  # type: ignore[no-untyped-def]
    """The product of a line"""
    for line in range(m * k):
        z[line] = multiply_line(a, first_of(line, n, k), n, k)


@in_machine_code
def prod_adjoint(z_bar, z, a, m, n, k, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += z_bar times the product of the other elements"""
    others = np.empty(n)
    for line in range(m * k):
        at, d = first_of(line, n, k), z_bar[line]
        if d == 0.0:
            continue
        product = d * z[line]
        if k == 1 and may_divide(z[line]) and may_divide(product):
            part, bar = a[at : at + n], a_bar[at : at + n]
            for i in range(n):
                bar[i] += product / part[i]
            continue
        products_of_others(a, at, n, k, z[line], others)
        for i in range(n):
            a_bar[at + i * k] += d * others[i]


@in_machine_code
def prod_tangent(z, a, a_dot, m, n, k, z_dot):  # type: ignore[no-untyped-def]
    """The sum of a_dot times the product of the other elements"""
    others = np.empty(n)
    for line in range(m * k):
        at = first_of(line, n, k)
        products_of_others(a, at, n, k, z[line], others)
        z_dot[line] = sum_along(a_dot, at, n, k, others)


@in_machine_code
def sum_along(a_dot, at, n, k, slope):  # type: ignore[no-untyped-def]
    """sum(a_dot slope) of a line, in which zeros mask infinities and nans."""
    total = 0.0
    for i in range(n):
        d = a_dot[at + i * k]
        if d != 0.0:
            total += d * slope[i]
    return total


# ---- variances and standard deviations -------------------------------------------------------------------------------
@_inlined
def sum_powers(a, at, n, k, first, mean, power):  # type: ignore[no-untyped-def]
    """The sum of a - first - mean, or of its square, over a line: in four partial sums."""
    p = q = r = s = 0.0
    for i in range(0, n - 3, 4):
        j = at + i * k
        w, x = a[j] - first - mean, a[j + k] - first - mean
        y, z = a[j + 2 * k] - first - mean, a[j + 3 * k] - first - mean
        p += w if power == 1 else w * w
        q += x if power == 1 else x * x
        r += y if power == 1 else y * y
        s += z if power == 1 else z * z
    for i in range(n // 4 * 4, n):
        w = a[at + i * k] - first - mean
        p += w if power == 1 else w * w
    return (p + q) + (r + s)


@_inlined
def mean_of_line(a, at, n, k):  # type: ignore[no-untyped-def]
    """The mean in two parts, the first element and the rest: exact for equal elements, and not rounded to one
    number."""
    first = a[at] if abs(a[at]) < np.inf else 0.0
    return first, sum_powers(a, at, n, k, first, 0.0, 1) / np.float64(n)


@in_machine_code
def write_variances(a, m, n, k, ddof, z, is_root):  # type: ignore[no-untyped-def]
    """The mean square of a - mean(a) along each line, or its root."""
    freedom = np.float64(max(n - ddof, 0))
    for line in range(m * k):
        at = first_of(line, n, k)
        first, mean = mean_of_line(a, at, n, k)
        found = sum_powers(a, at, n, k, first, mean, 2) / freedom
        z[line] = np.sqrt(found) if is_root else found


@in_machine_code
def slope_of_line(a, at, n, k, z, ddof, is_root, slope):  # type: ignore[no-untyped-def]
    """The gradient of a variance, or of a standard deviation z: 0 if z is 0."""
    first, mean = mean_of_line(a, at, n, k)
    by = np.float64(max(n - ddof, 0)) * (z if is_root else 0.5)
    for i in range(n):
        slope[i] = 0.0 if is_root and z == 0.0 else (a[at + i * k] - first - mean) / by


@in_machine_code
def add_slopes(z_bar, z, a, m, n, k, ddof, a_bar, is_root):  # type: ignore[no-untyped-def]
    """a_bar += z_bar slope"""
    slope = np.empty(n)
    for line in range(m * k):
        if z_bar[line] != 0.0:
            at = first_of(line, n, k)
            slope_of_line(a, at, n, k, z[line], ddof, is_root, slope)
            for i in range(n):
                a_bar[at + i * k] += z_bar[line] * slope[i]


@in_machine_code
def sum_slopes(z, a, a_dot, m, n, k, ddof, z_dot, is_root):  # type: ignore[no-untyped-def]
    """sum(a_dot slope)"""
    slope = np.empty(n)
    for line in range(m * k):
        at = first_of(line, n, k)
        slope_of_line(a, at, n, k, z[line], ddof, is_root, slope)
        z_dot[line] = sum_along(a_dot, at, n, k, slope)


@in_machine_code
def var_value(a, m, n, k, ddof, z):  # type: ignore[no-untyped-def]
    """sum((a - mean(a))^2) / (n - ddof)"""
    write_variances(a, m, n, k, ddof, z, False)


@in_machine_code
def var_adjoint(z_bar, z, a, m, n, k, ddof, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += 2 (a - mean(a)) z_bar / (n - ddof)"""
    add_slopes(z_bar, z, a, m, n, k, ddof, a_bar, False)


@in_machine_code
def var_tangent(z, a, a_dot, m, n, k, ddof, z_dot):  # type: ignore[no-untyped-def]
    """sum(2 (a - mean(a)) a_dot) / (n - ddof)"""
    sum_slopes(z, a, a_dot, m, n, k, ddof, z_dot, False)


@in_machine_code
def std_value(a, m, n, k, ddof, z):  # type: ignore[no-untyped-def]
    """The root of the variance"""
    write_variances(a, m, n, k, ddof, z, True)


@in_machine_code
def std_adjoint(z_bar, z, a, m, n, k, ddof, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += (a - mean(a)) z_bar / ((n - ddof) z)"""
    add_slopes(z_bar, z, a, m, n, k, ddof, a_bar, True)


@in_machine_code
def std_tangent(z, a, a_dot, m, n, k, ddof, z_dot):  # type: ignore[no-untyped-def]
    """sum((a - mean(a)) a_dot) / ((n - ddof) z)"""
    sum_slopes(z, a, a_dot, m, n, k, ddof, z_dot, True)
