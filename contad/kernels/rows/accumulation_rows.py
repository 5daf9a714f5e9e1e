"""Kernels of running sums and products: `row_tables` specifies them."""

from contad.compile.overloads import in_machine_code
from contad.elementary.rows import place
from contad.kernels.rows.reduction_rows import first_of


# ---- sums ------------------------------------------------------------------------------------------------------------
@in_machine_code
def cumsum_value(a, m, n, k, z):  # type: ignore[no-untyped-def]
    """z_i = a_i + z_{i-1}"""
    for line in range(m * k):
        first, total = first_of(line, n, k), 0.0
        for i in range(n):
            at = place(first + i * k)
            total = a[at] if i == 0 else total + a[at]  # the first may be -0.0
            z[at] = total


@in_machine_code
def cumsum_adjoint(z_bar, m, n, k, a_bar):  # type: ignore[no-untyped-def]
    """a_bar_i += sum_{k >= i} z_bar_k"""
    for line in range(m * k):
        first, total = first_of(line, n, k), 0.0
        for i in range(n):
            at = place(first + (n - 1 - i) * k)
            total += z_bar[at]
            a_bar[at] += total


@in_machine_code
def cumsum_tangent(a_dot, m, n, k, z_dot):  # type: ignore[no-untyped-def]
    """The running sums of the tangent"""
    cumsum_value(a_dot, m, n, k, z_dot)


# ---- products --------------------------------------------------------------------------------------------------------
@in_machine_code
def cumprod_value(a, m, n, k, z):  # type: ignore[no-untyped-def]
    """z_i = a_i z_{i-1}"""
    for line in range(m * k):
        first, product = first_of(line, n, k), 1.0
        for i in range(n):
            at = place(first + i * k)
            product *= a[at]
            z[at] = product


@in_machine_code
def cumprod_adjoint(z_bar, z, a, m, n, k, a_bar):  # type: ignore[no-untyped-def]
    """a_bar_i += z_{i-1} r_i,     r_i = z_bar_i + a_{i+1} r_{i+1}"""
    for line in range(m * k):
        first, r = first_of(line, n, k), 0.0
        for i in range(n - 1, -1, -1):
            at = first + i * k
            factor = a[at + k] if i + 1 < n else 0.0
            r = z_bar[at] + (factor * r if r != 0.0 else 0.0)
            if r != 0.0:
                a_bar[at] += r * (z[at - k] if i > 0 else 1.0)


@in_machine_code
def cumprod_tangent(z, a, a_dot, m, n, k, z_dot):  # type: ignore[no-untyped-def]
    """z_dot_i = a_i z_dot_{i-1} + a_dot_i z_{i-1}"""
    for line in range(m * k):
        first, before = first_of(line, n, k), 0.0
        for i in range(n):
            at = first + i * k
            d = a_dot[at] * (z[at - k] if i > 0 else 1.0) if a_dot[at] != 0.0 else 0.0
            before = (a[at] * before if before != 0.0 else 0.0) + d
            z_dot[at] = before
