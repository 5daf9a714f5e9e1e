"""What recordings accumulate along lines: running sums and products, the rules of `contad.ops.accumulations`.

How lines lie is told in `contad.native.recorded_lines`.
"""

from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.elementary.rows import place
from contad.native.machine_code import njit
from contad.native.recorded_lines import dots_of, lines_of, numbers, put_whole, room, whole
from contad.native.recorded_operands import adjoint, fields, give
from contad.native.step_fields import FIRST, SECOND, A, N


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


KERNELS = {
    "cumsum": (cumsum_value, cumsum_adjoint, cumsum_push),
    "cumprod": (cumprod_value, cumprod_adjoint, cumprod_push),
}
