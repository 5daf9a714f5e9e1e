"""Roots in compiled code: plain Numba functions, which contad differentiates like a user's.

The root z is found with plain numbers. Then steps z - J^-1 f(z, p) are recorded, with the Jacobian J at the root held
fixed. They do not change z. Each step makes derivatives of one more order equal to those of the implicit function
theorem, up to the relative error of J, which comes from differences. Enough steps make three orders right up to
rounding.
"""

import math

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.errors import SingularPointError
from contad.ops.logic import stop_gradient
from contad.scipy.mirroring import refuse_plain_functions

_OPTIONS = {
    name: value for name, value in INTERNAL_OPTIONS.items() if name not in ("no_cpython_wrapper", "no_cfunc_wrapper")
}
_ULP = 2.0**-52
_STEP = 6e-6  # relative step of two-sided differences: the cube root of an ulp
_ONE_SIDED = 1.5e-8  # of one-sided differences
_WRONG = 0.1  # largest difference of slopes at different steps; beyond it there is no slope
_LEAST_SCALE = 1e-12  # smallest scale of a halved step


@njit(**_OPTIONS)
def _count_steps(rate):  # type: ignore[no-untyped-def]
    """The number of steps that make three orders right, if a step reduces the error by `rate`: rate^(n - 2) <=
    1e-16."""
    return 2 + int(16.0 / max(-math.log10(max(rate, 1e-8)), 1.0))


# ---- one equation ----------------------------------------------------------------------------------------------------
@njit(**_OPTIONS)
def _slope_at(f, x, h, low, high, args):  # type: ignore[no-untyped-def]
    """df/dx at a root, on [low, high], and how much it changes with the step; nan if there is no slope."""
    up, down = min(x + h, high), max(x - h, low)
    far_up, far_down = min(x + 2.0 * h, high), max(x - 2.0 * h, low)
    here = stop_gradient(f(x, *args))
    above, below = stop_gradient(f(up, *args)), stop_gradient(f(down, *args))
    far_above, far_below = stop_gradient(f(far_up, *args)), stop_gradient(f(far_down, *args))
    slope, other = math.nan, math.nan
    has_right = up > x and far_up > up and math.isfinite(above) and math.isfinite(far_above)
    has_left = down < x and far_down < down and math.isfinite(below) and math.isfinite(far_below)
    if has_right and has_left:
        slope, other = (above - below) / (up - down), (far_above - far_below) / (far_up - far_down)
        right, left = (above - here) / (up - x), (here - below) / (x - down)
        if not abs(right - left) <= _WRONG * abs(slope):
            slope = math.nan
    elif has_right:
        slope, other = (above - here) / (up - x), (far_above - here) / (far_up - x)
    elif has_left:
        slope, other = (here - below) / (x - down), (here - far_below) / (x - far_down)
    if slope == 0.0 or not math.isfinite(slope):
        return math.nan, 1.0
    return slope, abs(other - slope) / abs(slope)


@njit(**_OPTIONS)
def _find_slope(f, x, least, low, high, args):  # type: ignore[no-untyped-def]
    """df/dx by steps relative to x, or to `least` if that is enough; and how much it changes."""
    slope, rate = _slope_at(f, x, _STEP * max(abs(x), least), low, high, args)
    if rate > 1e-4 and 1e-8 * least < abs(x) < least:  # a nonzero root, and not a rounded 0
        finer, its = _slope_at(f, x, _STEP * abs(x), low, high, args)
        if its < rate:
            return finer, its
    return slope, rate


@njit(**_OPTIONS)
def brentq(f, a, b, args=(), max_steps=200):  # type: ignore[no-untyped-def]
    """The root of f(x, *args) between a and b, where f has different signs, by Brent's method.

        f(z, p) = 0,     z_dot = -f_p p_dot / f_z

    A Numba function that takes a Numba function; call it in `@njit` functions, also in loops, or from Python.
    Derivatives in args are those of the implicit function theorem, up to the third; a and b carry none. f is not called
    outside the interval, except for rounding.

    Shapes:  a, b numbers, f(x, *args) a number -> a number.
    Domain:  f(a) and f(b) with different signs; a root where the slope of f is not 0.
    Raises:  ValueError if f(a) and f(b) have the same sign, and if f is nan, with the place; SingularPointError if the
             slope at the root is zero, infinite, or jumps; RuntimeError beyond max_steps steps.
    Cost:    about ten evaluations of f, five for the slope, and four that reverse mode stores.
    Ref:     Brent (1973), Algorithms for Minimization without Derivatives, chapter 4; scipy.optimize.brentq.

    >>> import numba
    >>> @numba.njit
    ... def cubic(x, p):
    ...     return x**3 + x - p
    >>> import contad
    >>> contad.value_and_grad(numba.njit(lambda p: brentq(cubic, 0.0, 5.0, (p,))))(10.0)
    (2.0, 0.07692307692307693)
    """
    low, high = stop_gradient(a) + 0.0, stop_gradient(b) + 0.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError("contad.scipy.optimize.brentq: a and b must be finite")
    x, y = low, high  # y is the best; the root is between y and w
    fx, fy = stop_gradient(f(x, *args)) + 0.0, stop_gradient(f(y, *args)) + 0.0
    if math.isnan(fx):
        raise ValueError("contad.scipy.optimize.brentq: f must give numbers, got nan at x =", low)
    if math.isnan(fy):
        raise ValueError("contad.scipy.optimize.brentq: f must give numbers, got nan at x =", high)
    if (fx > 0.0 and fy > 0.0) or (fx < 0.0 and fy < 0.0):
        raise ValueError("contad.scipy.optimize.brentq: f(a) and f(b) must have different signs, got", fx, fy)
    if high < low:
        low, high = high, low
    if fx == 0.0:
        y, fy = x, fx
    w, fw = x, fx
    step, before = y - x, y - x
    steps, width = 0, high - low
    least = 1e-3 * _ULP * width
    while fy != 0.0:
        if abs(fw) < abs(fy):
            x, fx = y, fy
            y, fy = w, fw
            w, fw = x, fx
        tolerance, half = 2.0 * _ULP * abs(y) + least, 0.5 * (w - y)
        if abs(half) <= tolerance:
            break
        if steps >= max_steps:
            raise RuntimeError("contad.scipy.optimize.brentq: no root in max_steps steps, which have come to x =", y)
        steps += 1
        is_bisected = True
        if abs(before) >= tolerance and abs(fx) > abs(fy):
            s = fy / fx
            p, q = 2.0 * half * s, 1.0 - s
            if x != w:  # through three points
                q, r = fx / fw, fy / fw
                p, q = s * (2.0 * half * q * (q - r) - (y - x) * (r - 1.0)), (q - 1.0) * (r - 1.0) * (s - 1.0)
            if p > 0.0:
                q = -q
            p = abs(p)
            if 2.0 * p < min(3.0 * half * q - abs(tolerance * q), abs(before * q)):
                before, step, is_bisected = step, p / q, False
        if is_bisected:
            step, before = half, half
        x, fx = y, fy
        y = y + (step if abs(step) > tolerance else math.copysign(tolerance, half))
        fy = stop_gradient(f(y, *args)) + 0.0
        if math.isnan(fy):
            raise ValueError("contad.scipy.optimize.brentq: f must give numbers, got nan at x =", y)
        if (fy > 0.0) == (fw > 0.0):
            w, fw = x, fx
            step, before = y - x, y - x
    slope, rate = _find_slope(f, y, 1e-3 * width, low, high, args)
    if not rate <= _WRONG:
        raise SingularPointError(
            "contad.scipy.optimize.brentq: the slope of f at the root is zero, infinite, or jumps: the root is not a "
            "smooth function of its parameters, at x =", y,
        )  # fmt: skip
    z = y
    for _ in range(_count_steps(rate)):
        z = z - f(z, *args) / slope
    return z


@njit(**_OPTIONS)
def newton(f, x0, args=(), max_steps=100):  # type: ignore[no-untyped-def]
    """The root of f(x, *args) near x0, by Newton's method, whose steps are halved until |f| decreases.

        f(z, p) = 0,     z_dot = -f_p p_dot / f_z

    Otherwise like `brentq`. Slopes are computed by differences.

    Shapes:  x0 a number, f(x, *args) a number -> a number.
    Domain:  an f with a root near x0 where its slope is not 0.
    Raises:  ValueError if f is not finite at x0; SingularPointError if the slope is zero along the way, or zero,
             infinite or jumping at the root; RuntimeError if no step makes |f| smaller, and beyond max_steps steps. All
             name the place.
    Cost:    three evaluations of f for each step, five for the slope at the root, and four that reverse mode stores.
    Ref:     Dennis & Schnabel (1996), chapter 2.

    >>> import numba
    >>> @numba.njit
    ... def cubic(x, p):
    ...     return x**3 + x - p
    >>> newton(cubic, 1.0, (10.0,))
    2.0
    """
    x = stop_gradient(x0) + 0.0
    fx = stop_gradient(f(x, *args)) + 0.0
    if not (math.isfinite(x) and math.isfinite(fx)):
        raise ValueError("contad.scipy.optimize.newton: x0 and f(x0) must be finite, got", x, fx)
    size, steps, going = abs(x), 0, fx != 0.0
    while going:
        if steps >= max_steps:
            raise RuntimeError("contad.scipy.optimize.newton: no root in max_steps steps, which have come to x =", x)
        steps += 1
        h = _STEP * max(abs(x), 1e-3 * size) if size > 0.0 else _STEP
        above, below = stop_gradient(f(x + h, *args)), stop_gradient(f(x - h, *args))
        slope = (above - below) / (2.0 * h)
        if not math.isfinite(slope):
            slope = (above - fx) / h if math.isfinite(above) else (fx - below) / h
        if slope == 0.0 or not math.isfinite(slope):
            raise SingularPointError(
                "contad.scipy.optimize.newton: the slope of f is zero or not finite on the way, at x =", x
            )
        move = fx / slope
        size = max(size, min(abs(move), abs(x - move)))
        is_small = abs(move) <= 1e-9 * abs(x - move) + 1e-13 * size
        going = not is_small
        ahead = stop_gradient(f(x - move, *args)) + 0.0
        scale = 1.0
        while not (abs(ahead) < abs(fx) or is_small):
            scale *= 0.5
            if scale < _LEAST_SCALE:
                raise RuntimeError("contad.scipy.optimize.newton: no step makes |f| smaller, from x =", x)
            ahead = stop_gradient(f(x - scale * move, *args)) + 0.0
        if math.isfinite(ahead):
            x, fx = x - scale * move, ahead
        going = going and fx != 0.0
    slope, rate = _find_slope(f, x, 1e-3 * size if size > 0.0 else 1.0, -math.inf, math.inf, args)
    if not rate <= _WRONG:
        raise SingularPointError(
            "contad.scipy.optimize.newton: the slope of f at the root is zero, infinite, or jumps: the root is not a "
            "smooth function of its parameters, at x =", x,
        )  # fmt: skip
    z = x
    for _ in range(_count_steps(rate)):
        z = z - f(z, *args) / slope
    return z


# ---- systems ---------------------------------------------------------------------------------------------------------
# on the tape, arrays made here hold variables although they are constants, so reads go through stop_gradient
@njit(**_OPTIONS)
def _norm(x):  # type: ignore[no-untyped-def]
    """The largest |x|; nan if any is nan."""
    found = 0.0
    for j in range(len(x)):
        size = abs(stop_gradient(x[j]))
        if not size <= found:
            found = size
    return found


@njit(**_OPTIONS)
def _evaluate(f, x, args, found):  # type: ignore[no-untyped-def]
    """f(x), checked to have n numbers."""
    values = f(x, *args)
    for j in range(min(len(x), len(values))):
        found[j] = stop_gradient(values[j]) + 0.0
    return len(values)


@njit(**_OPTIONS)
def _fill_differences(f, x, here, size, step, sides, found, forward, args):  # type: ignore[no-untyped-def]
    """df/dx by one-sided or two-sided differences, with steps relative to x, or to the size of x where an element is
    nearly 0."""
    n, column = len(x), np.empty(len(x))
    for j in range(n):
        old = stop_gradient(x[j])
        h = step * _scale(old, size)
        x[j] = old + h
        _evaluate(f, x, args, column)
        for i in range(n):
            forward[i, j] = (stop_gradient(column[i]) - stop_gradient(here[i])) / h
            found[i, j] = stop_gradient(forward[i, j])
        if sides == 2:
            x[j] = old - h
            _evaluate(f, x, args, column)
            for i in range(n):
                behind = (stop_gradient(here[i]) - stop_gradient(column[i])) / h
                found[i, j] = 0.5 * (stop_gradient(forward[i, j]) + behind)
        x[j] = old


@njit(**_OPTIONS)
def _scale(x, size):  # type: ignore[no-untyped-def]
    """The size of x, for the steps of differences."""
    return max(abs(x), 1e-3 * size) if size > 0.0 else 1.0


@njit(**_OPTIONS)
def _invert(matrix, found):  # type: ignore[no-untyped-def]
    """Compute the inverse; False if the matrix is singular or not finite."""
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            if not math.isfinite(stop_gradient(matrix[i, j])):
                return False
    sign, _ = np.linalg.slogdet(matrix)
    if stop_gradient(sign) == 0.0:
        return False
    found[:, :] = np.linalg.inv(matrix)
    return True


@njit(**_OPTIONS)
def _compare(inverse, matrix, x, size):  # type: ignore[no-untyped-def]
    """The norm of 1 - inverse @ matrix, with x in units of its size."""
    n, most = len(matrix), 0.0
    product = inverse @ matrix
    for i in range(n):
        total = 0.0
        for j in range(n):
            wrong = abs((1.0 if i == j else 0.0) - stop_gradient(product[i, j]))
            total += wrong * _scale(stop_gradient(x[j]), size) / _scale(stop_gradient(x[i]), size)
        if not total <= most:
            most = total
    return most


@njit(**_OPTIONS)
def newton_system(f, x0, args=(), max_steps=100):  # type: ignore[no-untyped-def]
    """The root of the system f(x, *args) near x0, by Newton's method, whose steps are halved until max |f| decreases.

        f(z, p) = 0,     z_dot = -f_z^-1 f_p p_dot,     p_bar = -f_p^T f_z^-T z_bar

    A Numba function that takes a Numba function; call it in `@njit` functions, also in loops, or from Python.
    Derivatives in args are those of the implicit function theorem, up to the third; x0 carries none. Jacobians are
    computed by differences; if those at two step sizes disagree, there is no derivative.

    Shapes:  x0 (n,), f(x, *args) a new array (n,) -> (n,).
    Domain:  an f with a root near x0 where its Jacobian is nonsingular.
    Raises:  ValueError if f is not finite at x0 or does not return n numbers; SingularPointError if the Jacobian is
             singular along the way or at the root; RuntimeError if no step makes max |f| smaller, and beyond max_steps
             steps.
    Cost:    n evaluations of f and the inverse of a matrix (n, n) for each step, 4 n evaluations and two inverses at
             the root, and four evaluations with a matrix-vector product, which reverse mode stores.
    Ref:     Dennis & Schnabel (1996), chapter 6; Griewank & Walther (2008), section 15.1.

    >>> import numba
    >>> @numba.njit
    ... def system(x, p):
    ...     return np.array([x[0] * x[1] - p[0], x[0] - x[1] - p[1]])
    >>> newton_system(system, np.ones(2), (np.array([6.0, 1.0]),)).round(6)
    array([3., 2.])
    """
    n = len(x0)
    x, fx, move, new, ahead = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for j in range(n):
        x[j] = stop_gradient(x0[j]) + 0.0
    given = _evaluate(f, x, args, fx)
    if given != n or n == 0:
        raise ValueError("contad.scipy.optimize.newton_system: f must give as many numbers as x0 has, got", given)
    residual, size = _norm(fx), _norm(x)
    if not (math.isfinite(size) and math.isfinite(residual)):
        raise ValueError("contad.scipy.optimize.newton_system: x0 and f(x0) must be finite, got max |f| =", residual)
    jacobian, forward, inverse = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    steps, going = 0, residual != 0.0
    while going:
        if steps >= max_steps:
            raise RuntimeError(
                "contad.scipy.optimize.newton_system: no root in max_steps steps, which have come to max |f| =",
                residual,
            )
        steps += 1
        _fill_differences(f, x, fx, size, _ONE_SIDED, 1, jacobian, forward, args)
        if not _invert(jacobian, inverse):
            raise SingularPointError(
                "contad.scipy.optimize.newton_system: the Jacobian is singular or not finite on the way, in step", steps
            )
        move[:] = inverse @ fx
        is_small = True
        for j in range(n):
            there, by = stop_gradient(x[j]), stop_gradient(move[j])
            new[j] = there - by
            is_small = is_small and abs(by) <= 1e-9 * abs(there - by) + 1e-13 * size
        _evaluate(f, new, args, ahead)
        norm, scale = _norm(ahead), 1.0
        while not (norm < residual or is_small):
            scale *= 0.5
            if scale < _LEAST_SCALE:
                raise RuntimeError(
                    "contad.scipy.optimize.newton_system: no step makes f smaller, from max |f| =", residual
                )
            for j in range(n):
                new[j] = stop_gradient(x[j]) - scale * stop_gradient(move[j])
            _evaluate(f, new, args, ahead)
            norm = _norm(ahead)
        if math.isfinite(norm):
            for j in range(n):
                x[j], fx[j] = stop_gradient(new[j]), stop_gradient(ahead[j])
            residual, size = norm, max(size, min(scale * _norm(move), _norm(new)))
        going = not is_small and residual != 0.0
    twice = np.empty((n, n))
    _fill_differences(f, x, fx, size, 2.0 * _STEP, 2, twice, forward, args)
    _fill_differences(f, x, fx, size, _STEP, 2, jacobian, forward, args)
    rate = 1.0
    if _invert(jacobian, inverse) and _compare(inverse, forward, x, size) <= _WRONG:  # otherwise there is a kink
        rate = _compare(inverse, twice, x, size)
    if not rate <= _WRONG:
        raise SingularPointError(
            "contad.scipy.optimize.newton_system: the Jacobian of f at the root is singular, nearly so, or jumps: the "
            "root is not a smooth function of its parameters; max |f| =", residual,
        )  # fmt: skip
    z = x - inverse @ f(x, *args)
    for _ in range(_count_steps(rate) - 1):
        z = z - inverse @ f(z, *args)
    return z


for _solver, _mirror in ((brentq, "root_scalar"), (newton, "root_scalar"), (newton_system, "root")):
    refuse_plain_functions(_solver, "f", f"contad.scipy.optimize.{_mirror} takes functions of Python")
