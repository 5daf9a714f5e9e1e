"""Initial value problems in compiled code: plain Numba functions, which contad differentiates like a user's.

Derivatives hold the control of a solver (step lengths, Newton matrices) fixed. They are the derivatives of the computed
numbers: the discrete adjoint in reverse mode, at any order.
"""

import math

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.ops.logic import stop_gradient
from contad.scipy.linalg import solve_banded
from contad.scipy.mirroring import refuse_plain_functions
from contad.variables.open_types import NumbaFunction

_OPTIONS = {
    name: value for name, value in INTERNAL_OPTIONS.items() if name not in ("no_cpython_wrapper", "no_cfunc_wrapper")
}
_ULP = 2.0**-52
_FEW = 16.0 * _ULP  # of the time: the shortest step
_ITERATIONS = 14  # of Newton's method
_REDUCED = 1e-11  # limit of an increment relative to the first, so that derivatives have converged as well

# Hairer & Wanner, Solving Ordinary Differential Equations II, table IV.6.5: L-stable, order 4, an estimate of order 3
_GAMMA = 0.25
_SDIRK_C = np.array([1 / 4, 3 / 4, 11 / 20, 1 / 2, 1.0])
_SDIRK_A = np.array(
    [
        [1 / 4, 0.0, 0.0, 0.0, 0.0],
        [1 / 2, 1 / 4, 0.0, 0.0, 0.0],
        [17 / 50, -1 / 25, 1 / 4, 0.0, 0.0],
        [371 / 1360, -137 / 2720, 15 / 544, 1 / 4, 0.0],
        [25 / 24, -49 / 48, 125 / 16, -85 / 12, 1 / 4],
    ]
)
_SDIRK_E = _SDIRK_A[4] - np.array([59 / 48, -17 / 96, 225 / 32, -85 / 12, 0.0])


# ---- step control ----------------------------------------------------------------------------------------------------
@njit(**_OPTIONS)
def _norm(x, y, z, rtol, atol):  # type: ignore[no-untyped-def]
    """The root mean square of x relative to the tolerances at y and z."""
    total = 0.0
    for j in range(len(x)):
        scale = atol + rtol * max(abs(stop_gradient(y[j])), abs(stop_gradient(z[j])))
        total += (stop_gradient(x[j]) / scale) ** 2
    return math.sqrt(total / len(x))


@njit(**_OPTIONS)
def _first_step(fun, t, direction, y, slope, args, rtol, atol, order):  # type: ignore[no-untyped-def]
    """The length of the first step, from the sizes of y, of its slope and of the change of the slope."""
    size, speed = _norm(y, y, y, rtol, atol), _norm(slope, y, y, rtol, atol)
    h = 0.01 * size / speed if size > 1e-5 and speed > 1e-5 else 1e-6
    change = _norm(fun(t + direction * h, y + direction * h * slope, *args) - slope, y, y, rtol, atol) / h
    most = max(speed, change)
    if not math.isfinite(most):
        return h
    return min(100.0 * h, (0.01 / most) ** (1.0 / (order + 1.0)) if most > 1e-15 else max(1e-6, 1e-3 * h))


@njit(**_OPTIONS)
def _factor(norm, order):  # type: ignore[no-untyped-def]
    """The factor for the length of the next step; nan makes it smaller."""
    if not norm <= 1.0:
        return max(0.2, 0.9 * norm ** (-1.0 / order)) if math.isfinite(norm) else 0.2
    return min(8.0, 0.9 * max(norm, 1e-10) ** (-1.0 / order))


# ---- refusals --------------------------------------------------------------------------------------------------------
def _make_checks(solver: str) -> tuple[NumbaFunction, NumbaFunction]:
    """Refusals of arguments and steps, with the name of the solver in their messages."""
    solver = f"contad.scipy.integrate.{solver}"
    tolerances = f"{solver}: rtol and atol must be positive"
    no_steps = f"{solver}: max_steps must be positive"
    length = f"{solver}: fun must give as many numbers as y0 has, got"
    not_finite = f"{solver}: y0 must be finite"
    values = f"{solver}: fun must give finite numbers, got others at t ="
    times = f"{solver}: t must be finite, and go in one direction"
    steps_taken = f"{solver}: more than max_steps steps are needed, which have come to t ="
    shortest = f"{solver}: no step is short enough at t ="

    @njit(**_OPTIONS)
    def require(t, y0, slope, rtol, atol, max_steps):  # type: ignore[no-untyped-def]
        """Refuse arguments that no solver can start with; returns the direction of time, 1.0 or -1.0."""
        if not (rtol > 0.0 and atol > 0.0):
            raise ValueError(tolerances)
        if max_steps < 1:
            raise ValueError(no_steps)
        given, start = len(slope), stop_gradient(t[0])
        if given != len(y0):
            raise ValueError(length, given)
        for j in range(len(y0)):
            if not math.isfinite(stop_gradient(y0[j])):
                raise ValueError(not_finite)
            if not math.isfinite(stop_gradient(slope[j])):
                raise ValueError(values, start)
        direction = 1.0 if stop_gradient(t[len(t) - 1] - t[0]) >= 0.0 else -1.0
        for m in range(len(t)):
            if not math.isfinite(stop_gradient(t[m])) or (m > 0 and direction * stop_gradient(t[m] - t[m - 1]) < 0.0):
                raise ValueError(times)
        return direction

    @njit(**_OPTIONS)
    def require_progress(t, h, end, steps, max_steps, slope_sum):  # type: ignore[no-untyped-def]
        """Refuse another step if there were too many, or if it would be too short."""
        if steps >= max_steps:
            raise RuntimeError(steps_taken, t)
        if h < _FEW * max(abs(t), abs(end)):
            if not math.isfinite(slope_sum):
                raise ValueError(values, t)
            raise RuntimeError(shortest, t)

    return require, require_progress


_require_dopri5, _require_progress_dopri5 = _make_checks("dopri5")
_require_sdirk4, _require_progress_sdirk4 = _make_checks("sdirk4")


# ---- explicit --------------------------------------------------------------------------------------------------------
@njit(**_OPTIONS)
def dopri5(fun, t, y0, args=(), rtol=1e-6, atol=1e-6, max_steps=100_000):  # type: ignore[no-untyped-def]
    """The solution of y' = fun(t, y, *args) at the times t, y(t[0]) = y0, by the method of Dormand and Prince.

        y_k+1 = y_k + h sum of b_i k_i,     k_i = f(t_k + c_i h, y_k + h sum of a_ij k_j)

    A Numba function that takes a Numba function; call it in `@njit` functions or from Python. Derivatives in y0, t,
    args and values in fun are those of the steps as taken, with fixed lengths. Steps end at the times t.

    Shapes:  t (T,), y0 (n,), fun(t, y, *args) a new array (n,) -> (T, n).
    Domain:  increasing or decreasing t; a fun that is differentiable along the solution.
    Raises:  ValueError for tolerances that are not positive, times that are not ordered, a wrong length of fun's result
             and numbers that are not finite; RuntimeError beyond max_steps steps. Messages name the time.
    Cost:    six evaluations of fun for each step; reverse mode stores about 8 n numbers for each.
    Ref:     Dormand & Prince (1980); Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.5.

    >>> import numba
    >>> @numba.njit
    ... def decay(t, y, rate):
    ...     return -rate * y
    >>> dopri5(decay, np.array([0.0, 2.0]), np.array([3.0]), (0.5,), 1e-9, 1e-9).round(6)
    array([[3.      ],
           [1.103638]])
    """
    n, now, y = len(y0), t[0] + 0.0, y0 + 0.0
    k1 = fun(now, y, *args)
    direction = _require_dopri5(t, y0, k1, rtol, atol, max_steps)
    found = np.empty((len(t), n))
    for j in range(n):
        found[0, j] = y[j]
    h, steps = _first_step(fun, now, direction, y, k1, args, rtol, atol, 4.0), 0
    for m in range(1, len(t)):
        end, slope_sum = t[m], 0.0
        while direction * stop_gradient(end - now) > 0.0:
            _require_progress_dopri5(stop_gradient(now), h, stop_gradient(end), steps, max_steps, slope_sum)
            steps += 1
            left = abs(stop_gradient(end - now))
            last = 1.01 * h >= left
            s = direction * h
            if last:
                s = end - now
            k2 = fun(now + s / 5.0, y + s * (1.0 / 5.0 * k1), *args)
            k3 = fun(now + s * 0.3, y + s * (3.0 / 40.0 * k1 + 9.0 / 40.0 * k2), *args)
            k4 = fun(now + s * 0.8, y + s * (44.0 / 45.0 * k1 - 56.0 / 15.0 * k2 + 32.0 / 9.0 * k3), *args)
            k5 = fun(
                now + s * (8.0 / 9.0),
                y
                + s
                * (19372.0 / 6561.0 * k1 - 25360.0 / 2187.0 * k2 + 64448.0 / 6561.0 * k3 - 212.0 / 729.0 * k4),
                *args,
            )
            k6 = fun(
                now + s,
                y
                + s
                * (
                    9017.0 / 3168.0 * k1 - 355.0 / 33.0 * k2 + 46732.0 / 5247.0 * k3
                    + 49.0 / 176.0 * k4 - 5103.0 / 18656.0 * k5
                ),
                *args,
            )  # fmt: skip
            new = y + s * (
                35.0 / 384.0 * k1 + 500.0 / 1113.0 * k3 + 125.0 / 192.0 * k4 - 2187.0 / 6784.0 * k5 + 11.0 / 84.0 * k6
            )
            k7 = fun(now + s, new, *args)
            total, slope_sum = 0.0, 0.0
            length = stop_gradient(s)
            for j in range(n):
                a, b = abs(stop_gradient(y[j])), abs(stop_gradient(new[j]))
                slope = stop_gradient(k7[j])
                error = (
                    71.0 / 57600.0 * stop_gradient(k1[j]) - 71.0 / 16695.0 * stop_gradient(k3[j])
                    + 71.0 / 1920.0 * stop_gradient(k4[j]) - 17253.0 / 339200.0 * stop_gradient(k5[j])
                    + 22.0 / 525.0 * stop_gradient(k6[j]) - 1.0 / 40.0 * slope
                )  # fmt: skip
                total += (length * error / (atol + rtol * max(a, b))) ** 2
                slope_sum += slope
            norm = math.sqrt(total / n)
            factor = _factor(norm, 5.0)
            if norm <= 1.0:
                now = now + s
                y = new
                k1 = k7
                h = max(h, factor * left) if last else factor * h
            else:
                h = factor * min(h, left)
        for j in range(n):
            found[m, j] = y[j]
    return found


# ---- implicit --------------------------------------------------------------------------------------------------------
@njit(**_OPTIONS)
def _find_jacobian(fun, t, y, slope, args, lband, uband):  # type: ignore[no-untyped-def]
    """df/dy by differences, which affects only the speed of convergence of Newton's method, not its limit.

    In a band, in SciPy's form, columns that share no row are computed together.
    """
    n, now = len(y), stop_gradient(t)
    width = n if lband < 0 else min(n, lband + uband + 1)
    found, moved, steps = np.zeros((n if lband < 0 else lband + uband + 1, n)), stop_gradient(y) + 0.0, np.zeros(n)
    for first in range(width):
        for j in range(first, n, width):
            there = stop_gradient(y[j])
            steps[j] = math.sqrt(_ULP * max(1e-5, abs(there)))
            moved[j] = there + stop_gradient(steps[j])
        values = fun(now, moved, *args)
        for j in range(first, n, width):
            for i in range(0 if lband < 0 else max(0, j - uband), n if lband < 0 else min(n, j + lband + 1)):
                change = (stop_gradient(values[i]) - stop_gradient(slope[i])) / stop_gradient(steps[j])
                found[i if lband < 0 else uband + i - j, j] = change
            moved[j] = stop_gradient(y[j])
    return found


@njit(**_OPTIONS)
def _prepare(jacobian, factor, lband, uband):  # type: ignore[no-untyped-def]
    """(1 - factor J)^-1, or the band 1 - factor J; nan in the first element if J is not finite."""
    rows, n = jacobian.shape
    matrix, is_finite = np.empty((rows, n)), True
    for i in range(rows):
        for j in range(n):
            is_diagonal = i == j if lband < 0 else i == uband
            matrix[i, j] = (1.0 if is_diagonal else 0.0) - factor * jacobian[i, j]
            is_finite = is_finite and math.isfinite(matrix[i, j])
    if not is_finite:
        matrix[0, 0] = np.nan
    elif lband < 0:
        matrix[:, :] = np.linalg.inv(matrix)
    return matrix


@njit(**_OPTIONS)
def _apply(matrix, x, lband, uband):  # type: ignore[no-untyped-def]
    """(1 - factor J)^-1 x."""
    return matrix @ x if lband < 0 else solve_banded((lband, uband), matrix, x)


@njit(**_OPTIONS)
def sdirk4(fun, t, y0, args=(), rtol=1e-6, atol=1e-6, max_steps=100_000, lband=-1, uband=-1):  # type: ignore[no-untyped-def]
    """Like `dopri5`, for stiff equations: a singly diagonally implicit Runge-Kutta method, L-stable, of order 4.

        Y_i = y_k + h sum of a_ij f(t_k + c_j h, Y_j),  j <= i,     y_k+1 = Y_5

    Newton's iteration for each Y is recorded as it runs, and continues until its derivative has converged too. So
    derivatives are those of the solution of the implicit equations, and need no second derivatives of fun. Step lengths
    and Newton matrices, by differences of fun, are held fixed. `lband` and `uband`, as in SciPy's LSODA, say that
    component i of fun depends only on y[i - lband] to y[i + uband]; a band that is too narrow only makes the iteration
    slower.

    Shapes:  t (T,), y0 (n,), fun(t, y, *args) a new array (n,) -> (T, n).
    Domain:  that of `dopri5`.
    Raises:  like `dopri5`; ValueError for an invalid band.
    Cost:    for each step, n evaluations of fun, the inverse of a matrix (n, n), and about 30 evaluations with a
             matrix-vector product; reverse mode stores the matrix. With a band, lband + uband + 1 evaluations and
             banded systems instead.
    Ref:     Hairer & Wanner, Solving Ordinary Differential Equations II, IV.6.

    >>> import numba
    >>> @numba.njit
    ... def relax(t, y, rate):
    ...     return -rate * (y - np.cos(t))
    >>> sdirk4(relax, np.array([0.0, 1.0]), np.array([0.0]), (1e3,), 1e-8, 1e-8).round(6)
    array([[0.      ],
           [0.541143]])
    """
    now = t[0] + 0.0
    slope = fun(now, y0 + 0.0, *args)
    direction = _require_sdirk4(t, y0, slope, rtol, atol, max_steps)
    n = len(slope)  # that of y0, which may be a slice of unknown length
    y = np.zeros(n) + y0
    if (lband < 0) != (uband < 0) or lband >= n or uband >= n:
        raise ValueError("contad.scipy.integrate.sdirk4: lband and uband must be below the number of unknowns, got", n)
    found = np.empty((len(t), n))
    for j in range(n):
        found[0, j] = y[j]
    h, steps = _first_step(fun, now, direction, y, slope, args, rtol, atol, 3.0), 0
    jacobian = _find_jacobian(fun, now, y, slope, args, lband, uband)
    for m in range(1, len(t)):
        end, slope_sum = t[m], 0.0
        while direction * stop_gradient(end - now) > 0.0:
            _require_progress_sdirk4(stop_gradient(now), h, stop_gradient(end), steps, max_steps, slope_sum)
            steps += 1
            left = abs(stop_gradient(end - now))
            last = 1.01 * h >= left
            s = direction * h
            if last:
                s = end - now
            matrix = _prepare(jacobian, _GAMMA * stop_gradient(s), lband, uband)
            converged = math.isfinite(stop_gradient(matrix[0, 0]))
            ks, guess, new = np.zeros((5, n)), slope + 0.0, y + 0.0
            for i in range(5):
                base = y + 0.0
                for j in range(i):
                    base = base + s * _SDIRK_A[i, j] * ks[j]
                new = base + s * _GAMMA * guess
                first, norm, before, count, going = 0.0, 0.0, 0.0, 0, converged
                while going:
                    wrong = base + s * _GAMMA * fun(now + s * _SDIRK_C[i], new, *args) - new
                    move = _apply(matrix, wrong, lband, uband)
                    new = new + move
                    before, norm = norm, _norm(move, y, new, rtol, atol)
                    if count == 0:
                        first = norm
                    count += 1
                    is_small = norm <= 4.0 * _ULP * _norm(new, y, new, rtol, atol)
                    going = not (count > 2 and (norm <= _REDUCED * first or is_small))
                    if count >= _ITERATIONS or not math.isfinite(norm) or (count > 2 and norm > before and norm > 1e-3):
                        converged = norm <= 1e-3
                        going = False
                guess = (new - base) / (s * _GAMMA)
                for j in range(n):
                    ks[i, j] = guess[j]
            slope_sum = 0.0
            norm = 0.0
            if converged:
                error = np.zeros(n)
                for i in range(5):
                    for j in range(n):
                        error[j] += stop_gradient(s) * _SDIRK_E[i] * stop_gradient(ks[i, j])
                norm = _norm(_apply(matrix, error, lband, uband), y, new, rtol, atol)
            for j in range(n):
                slope_sum += stop_gradient(guess[j])
            factor = _factor(norm, 4.0) if converged else 0.25
            if converged and norm <= 1.0:
                now = now + s
                y = new
                slope = guess
                h = max(h, factor * left) if last else factor * h
                jacobian = _find_jacobian(fun, now, y, slope, args, lband, uband)
            else:
                h = factor * min(h, left)
        for j in range(n):
            found[m, j] = y[j]
    return found


for _solver in (dopri5, sdirk4):
    refuse_plain_functions(_solver, "fun", "contad.scipy.integrate.solve_ivp takes functions of Python")
