"""Stan's integrals of one variable, whose integrand also receives its distance to the nearest end."""

import functools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import scipy.integrate

from contad.distributions.docstrings import with_rest_of
from contad.scipy.integrate.integral_operation import Rule, freeze, integrate
from contad.scipy.integrate.recent_quadrature import integrate_box, require_scipy
from contad.variables import arguments
from contad.variables.arguments import require_positive_size
from contad.variables.number import peek
from contad.variables.open_types import ArrayValue, Function, Nested, Real

__all__ = ["hcubature", "integrate_1d", "integrate_1d_double_exponential", "integrate_1d_gauss_kronrod"]

ROOT_OF_EPSILON = float(np.sqrt(np.finfo(float).eps))
REACH = 6.0  # range of the unmapped nodes: beyond it, double exponential weights leave the range of doubles
LEVELS = range(1, 11)  # halvings of the distance between nodes


def integrate_1d_double_exponential(
    f: Function, a: Real, b: Real, *args: Nested, relative_tolerance: float = ROOT_OF_EPSILON
) -> Real:
    """The integral of f(x, xc, *args) from a to b by a double exponential rule, also if f is infinite at the ends.

        z = integral of f,     z_dot = f(b) b_dot - f(a) a_dot + integral of f_p p_dot

    xc is the distance to the nearest end without the rounding error of a subtraction: a - x on the left, b - x on the
    right, nan if an end is infinite. Intervals that contain 0 are split there, and 0 is an end of both parts.
    Derivatives in a, b, args and captured values are integrals by the same rule to the same tolerance; an infinite
    limit has the derivative 0.

    Shapes:  a, b numbers, f(x, xc, *args) a number -> a number.
    Domain:  a <= b.
    Raises:  ValueError if a > b, if both are the same infinity, for a tolerance that is not positive, if f returns nan,
             and if the estimated error exceeds relative_tolerance times the integral of |f|.
    Cost:    50 evaluations of f for smooth functions, 400 with singular ends; a gradient takes as many gradients of f.
    Ref:     Takahasi & Mori (1974), Publications of RIMS 9; Stan's integrate_1d.

    >>> import contad
    >>> def beta(p, q):
    ...     def f(x, xc):
    ...         return x ** (p - 1.0) * (xc if xc > 0.0 else 1.0 - x) ** (q - 1.0)
    ...     return integrate_1d_double_exponential(f, 0.0, 1.0)
    >>> round(beta(0.2, 0.1), 6), round(contad.grad(beta)(0.2, 0.1), 5)
    (14.599371, -26.08201)
    """
    return _integrate("integrate_1d_double_exponential", _double_exponential, f, a, b, args, relative_tolerance)


@with_rest_of(integrate_1d_double_exponential)
def integrate_1d(f: Function, a: Real, b: Real, *args: Nested, relative_tolerance: float = ROOT_OF_EPSILON) -> Real:
    """The integral of f(x, xc, *args) from a to b, like `integrate_1d_double_exponential`.

        z = integral of f from a to b,     z_dot = f(b) b_dot - f(a) a_dot + integral of f_p p_dot

    Ref:     Takahasi & Mori (1974), Publications of RIMS 9; Stan Functions Reference, 1D integrator.

    >>> round(integrate_1d(lambda x, xc, s: np.exp(-0.5 * (x / s) ** 2), -np.inf, np.inf, 2.0) ** 2 / 8.0, 6)
    3.141593
    """
    return _integrate("integrate_1d", _double_exponential, f, a, b, args, relative_tolerance)


@with_rest_of(integrate_1d)
def integrate_1d_gauss_kronrod(
    f: Function, a: Real, b: Real, *args: Nested, relative_tolerance: float = ROOT_OF_EPSILON
) -> Real:
    """The integral of f(x, xc, *args) from a to b by adaptive Gauss-Kronrod rules, for smooth integrands.

    Like `integrate_1d_double_exponential`, but without the split at 0, and xc is nan because the rule has no such
    distance.

    Cost:    21 evaluations of f for each part of the interval; a gradient takes as many gradients of f.
    Ref:     scipy.integrate.quad_vec; Stan's integrate_1d_gauss_kronrod.

    >>> round(integrate_1d_gauss_kronrod(lambda x, xc, k: np.cos(k * x), 0.0, 1.0, 20.0), 9)
    0.045647263
    """
    return _integrate("integrate_1d_gauss_kronrod", _gauss_kronrod, f, a, b, args, relative_tolerance)


def hcubature(
    integrand: Function, pars: Sequence[Nested], dim: int, a: ArrayValue, b: ArrayValue, max_eval: int = 0,
    reqAbsError: float = 0.0, reqRelError: float = 1e-8,
) -> Real:  # fmt: skip
    """The integral of integrand(x, *pars) over the box from a to b, where x is a point: a vector of dim numbers.

        z = integral of f,     z_dot = integral of f_p p_dot

    The part with the largest error is split in two until the error is below one of the tolerances, by the rules of Genz
    and Malik, or in one dimension that of Gauss and Kronrod. Derivatives in pars, captured variables, a and b are
    integrals by the same rule.

    Shapes:  a, b (dim,), integrand(x, *pars) a number -> a number.
    Domain:  every box on which the integrand is finite.
    Raises:  ValueError for limits of another length; RuntimeError if more than max_eval evaluations of the integrand
             would be needed (0: no limit), and UnsupportedError with SciPy before 1.15.
    Cost:    1 + 4 dim + 2 dim (dim - 1) + 2^dim evaluations for each part; a gradient takes as many gradients.
    Ref:     Genz & Malik (1980), Journal of Computational and Applied Mathematics 6; Stan Math's hcubature.

    >>> import contad
    >>> def f(p):
    ...     return hcubature(lambda x, p: np.exp(-p * x[0] * x[1]), (p,), 2, np.zeros(2), np.ones(2))
    >>> round(f(2.0), 7), round(contad.grad(f)(2.0), 7)
    (0.6596317, -0.1136497)
    """
    require_positive_size("hcubature", "dim", dim)
    for name, tolerance in (("reqAbsError", reqAbsError), ("reqRelError", reqRelError), ("max_eval", max_eval)):
        if not tolerance >= 0.0:
            arguments.fail("hcubature", name, "not be negative", tolerance)
    for name, x in (("a", a), ("b", b)):
        if np.shape(x) != (dim,):
            arguments.fail("hcubature", name, f"have {dim} numbers", f"shape {np.shape(x)}")
    solver = require_scipy("hcubature", "cubature")
    points = 21 if dim == 1 else 1 + 4 * dim + 2 * dim * (dim - 1) + 2**dim
    cuts = 10**6 if not max_eval else max(0, max_eval // (2 * points))
    settings = {"atol": reqAbsError, "rtol": reqRelError, "rule": "gk21" if dim == 1 else "genz-malik"}

    def over_box(g: Function, low: np.ndarray, high: np.ndarray) -> ArrayValue:
        def rows(xs: np.ndarray) -> np.ndarray:
            return np.stack([np.asarray(g(x), float) for x in xs])

        found = solver(rows, low, high, max_subdivisions=cuts, **settings)
        if found.status != "converged":
            raise RuntimeError(
                f"hcubature: the integral is not found in max_eval = {max_eval} evaluations: the estimated error is "
                f"{np.max(found.error):.1e}"
            )
        return np.asarray(found.estimate)

    frozen = freeze(integrand, "hcubature")
    return integrate_box("hcubature", over_box, frozen, a, b, tuple(pars), as_rows=False)


def _integrate(
    name: str, integrate_plain: Function, f: Function, a: Real, b: Real, args: Sequence[Nested], tolerance: float
) -> Real:
    arguments.operand(name, "a", a)
    arguments.operand(name, "b", b)
    low, high = peek(a), peek(b)
    if not low <= high:
        arguments.fail(name, "a", f"be at most b, {high}", low)
    if low == high and np.isinf(low):
        arguments.fail(name, "a", "be another infinity than b", low)
    if not tolerance > 0.0:
        arguments.fail(name, "relative_tolerance", "be positive", tolerance)
    of_array = functools.partial(integrate_plain, name, tolerance)

    def of_number(g: Function, low: float, high: float) -> float:
        return float(of_array(lambda *x: np.array([g(*x)], float), low, high)[0])

    infinite = np.isinf(low) or np.isinf(high)
    frozen = freeze(f, name)
    rule = Rule(name, of_number, of_array, lambda x: (x, np.nan if infinite else 0.0), frozen.later)
    return integrate(rule, frozen.call, a, b, (args, frozen.captured))


# ---- rules -----------------------------------------------------------------------------------------------------------
def _double_exponential(name: str, tolerance: float, f: Function, a: float, b: float) -> Any:
    if a == b:
        return np.zeros(np.shape(f(a, 0.0)))
    if a < 0.0 < b and not (np.isinf(a) and np.isinf(b)):
        below, above = (_by_nodes(name, tolerance, f, *part, (a, b)) for part in ((a, 0.0), (0.0, b)))
        return below + above
    return _by_nodes(name, tolerance, f, a, b, (a, b))


def _by_nodes(name: str, tolerance: float, f: Function, a: float, b: float, whole: tuple[float, float]) -> ArrayValue:
    """The trapezoidal rule after a double exponential map; the distance between nodes is halved until two sums
    agree."""
    known = not np.isinf(whole).any()
    total: Any = None
    size: Any = None
    previous: Any = None
    for level in LEVELS:
        h = 2.0**-level
        count = int(REACH / h)
        for k in range(-count, count + 1):
            if level > LEVELS[0] and k % 2 == 0:
                continue
            x, distance, weight = _node(k * h, a, b)
            y = f(x, distance if known else np.nan)
            if x in (a, b) and not np.isfinite(y).all():  # x is rounded to the end, and f does not use xc
                continue
            _require_finite(name, y, x)
            term = weight * y
            total = term if total is None else total + term
            size = np.abs(term) if size is None else size + np.abs(term)
        estimate, norm = h * total, h * np.max(size)
        if previous is not None and level > 3:
            error = np.max(np.abs(estimate - previous))
            if error <= tolerance * norm:
                return estimate
        previous = estimate
    _fail_to_converge(name, error, tolerance, norm)


def _node(t: float, a: float, b: float) -> tuple[float, float, float]:
    """(x, xc, weight) of the node t."""
    u = 0.5 * np.pi * np.sinh(t)
    slope = 0.5 * np.pi * np.cosh(t)
    if np.isinf(a) and np.isinf(b):
        return float(np.sinh(u)), np.nan, float(np.cosh(u) * slope)
    if np.isinf(b):
        distance = float(np.exp(u))
        return a + distance, np.nan, float(distance * slope)
    if np.isinf(a):
        distance = float(np.exp(-u))
        return b - distance, np.nan, float(distance * slope)
    e = np.exp(-2.0 * abs(u))
    distance = float((b - a) * e / (1.0 + e))
    weight = float((b - a) * slope * 2.0 * e / (1.0 + e) ** 2)
    return (b - distance, distance, weight) if t > 0.0 else (a + distance, -distance, weight)


def _gauss_kronrod(name: str, tolerance: float, f: Function, a: float, b: float) -> Any:
    def with_size(x: float) -> ArrayValue:
        """The values of f, and their absolute values; the tolerance is relative to the integrals of these."""
        y = f(x, np.nan)
        _require_finite(name, y, x)
        return np.stack([y, np.abs(y)])

    if a == b:
        return np.zeros(np.shape(f(a, np.nan)))
    value, error, info = scipy.integrate.quad_vec(
        with_size, a, b, epsabs=1e-300, epsrel=tolerance, norm="max", full_output=True
    )
    norm = np.max(value[1])
    if info.status != 0 and error > tolerance * norm:
        _fail_to_converge(name, error, tolerance, norm)
    return value[0]


def _require_finite(name: str, y: ArrayValue, x: float) -> None:
    bad = np.ravel(y)[~np.isfinite(np.ravel(y))]
    if bad.size:
        arguments.fail(name, "f", "give finite numbers", f"{bad[0]} at {x!r}")


def _fail_to_converge(name: str, error: float, tolerance: float, norm: float) -> NoReturn:
    raise ValueError(
        f"{name}: the error estimate of the integral, {error:.1e}, exceeds the relative tolerance {tolerance:.1e} "
        f"times the norm of the integral, {norm:.3g}"
    )
