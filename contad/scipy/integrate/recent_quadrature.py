"""The integrals `tanhsinh` and `cubature`, in SciPy since 1.15, as operations with derivatives."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate

from contad.errors import UnsupportedError
from contad.scipy.integrate.integral_operation import (
    ConvertedFunction,
    Rule,
    freeze,
    inner_point,
    integrate,
    watch_result,
)
from contad.variables import arguments
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.number import map_numbers, primal
from contad.variables.open_types import ArrayValue, Function, Nested, Option, Value
from contad.variables.trees import holds_number

_RTOL = float(np.finfo(float).eps ** 0.75)  # SciPy's for tanhsinh
_HALF_OF_DIGITS = 1.5e-8  # error relative to the integral of |f| if SciPy's nodes are too close to an end for more
_ROUGH = 4  # the level of nodes for estimating the size of an integrand


def tanhsinh(
    f: Function, a: Value, b: Value, *, args: Sequence[Nested] = (), rtol: float | None = None,
    atol: float | None = None, minlevel: int = 2, maxlevel: int | None = None, **options: Option,
) -> Any:  # fmt: skip
    """scipy.integrate.tanhsinh of f(x, *args) from a to b, with `integral` differentiable in a, b, args and captured
    values.

        z = integral of f,     z_dot = f(b) b_dot - f(a) a_dot + integral of f_p p_dot

    The rule converges fast even if f is infinite at the ends. On plain numbers it is SciPy's, including arrays of
    integrals. With variables, a and b are numbers, possibly infinite (with the derivative 0), and f is called with one
    x at a time; it may return an array. Derivatives are integrals by the same rule.

    Shapes:  a, b numbers, f(x, *args) a number or an array -> `integral` of its shape.
    Domain:  every a and b; an f whose integral exists, possibly infinite at the ends.
    Raises:  UnsupportedError with SciPy before 1.15, and on variables for `log` and `preserve_shape`; RuntimeError if
             the integral of a derivative does not converge; ValueError like `quad`.
    Cost:    SciPy's; on variables about 100 to 400 calls of f, and as many of its gradient.
    Ref:     scipy.integrate.tanhsinh; Takahasi & Mori (1974), Publications of RIMS 9.

    >>> import contad
    >>> def f(p):
    ...     return tanhsinh(lambda x: x ** (p - 1.0) * np.exp(-x), 0.0, np.inf).integral
    >>> round(float(f(0.5)), 6), round(contad.grad(f)(0.5), 5)  # Gamma(1/2) and its derivative
    (1.772454, -3.48023)
    """
    solver = require_scipy("tanhsinh")
    args = args if isinstance(args, tuple) else (args,)
    settings = {"rtol": rtol, "atol": atol, "minlevel": minlevel, "maxlevel": maxlevel}
    frozen = freeze(f, "tanhsinh")
    if not frozen.captured and not holds_number((a, b, args)):
        return solver(watch_result("tanhsinh", f), a, b, args=args, **settings, **options)
    _refuse("tanhsinh", options)
    for name, limit in (("a", a), ("b", b)):
        arguments.operand("tanhsinh", name, limit)
    first: list[Any] = []

    def of_array(g: Function, low: float, high: float) -> ArrayValue:
        """Each element separately, at shared nodes."""
        known: dict[float, np.ndarray] = {}

        def at(x: float) -> np.ndarray:
            if x not in known:
                known[x] = np.asarray(g(np.float64(x)), float)  # as np.float64, whose powers give inf
            return known[x]

        shape = at(inner_point(low, high)).shape
        places = np.arange(int(np.prod(shape)))

        def elements(xs: np.ndarray, which: np.ndarray) -> np.ndarray:
            pairs = zip(np.ravel(xs), np.ravel(np.broadcast_to(which, np.shape(xs))), strict=True)
            return np.reshape([at(float(x)).flat[int(k)] for x, k in pairs], np.shape(xs))

        if low == high or not places.size:
            return np.zeros(shape)
        with np.errstate(all="ignore"):
            ask = settings
            if first:  # a derivative may be zero, so errors are relative to the largest integral of |f|
                sizes = solver(lambda *x: np.abs(elements(*x)), low, high, args=(places,), maxlevel=_ROUGH).integral
                size = float(np.max(sizes))
                least = (_RTOL if rtol is None else rtol) * size + np.finfo(float).tiny
                ask = settings | {"atol": max(atol or 0.0, least)}
            found = solver(elements, low, high, args=(places,), **ask)
        if not first:
            first.append(found)
        elif not (np.all(found.success) or np.max(found.error) <= _HALF_OF_DIGITS * size):
            raise RuntimeError(
                "tanhsinh: the integral of the derivative does not converge (estimated error "
                f"{np.max(found.error):.1e})"
            )
        return np.reshape(found.integral, shape)

    def of_number(g: Function, low: float, high: float) -> float:
        return float(of_array(lambda x: np.array([g(x)], float), low, high)[0])

    rule = Rule("tanhsinh", of_number, of_array, lambda x: (x,), frozen.later)
    value = integrate(rule, frozen.call, a, b, (args, frozen.captured))
    if not first:  # equal limits
        first.append(solver(lambda x: 0.0 * x, 0.0, 0.0, **settings))
    result = first[0]
    result.integral = value
    return result


def cubature(
    f: Function, a: ArrayValue, b: ArrayValue, *, rule: str = "gk21", rtol: float = 1e-8, atol: float = 0.0,
    max_subdivisions: int | None = 10000, args: Sequence[Nested] = (), **options: Option,
) -> Any:  # fmt: skip
    """scipy.integrate.cubature of f(x, *args) over a box, with `estimate` differentiable in a, b, args and captured
    values.

        z = integral of f,     z_dot = integral of f_p p_dot

    f takes points as rows, as in SciPy. Variable limits are parameters of a map from a fixed box, through which f is
    differentiated in x; infinite limits carry no derivative.

    Shapes:  a, b (n,), f((k, n), *args) (k, ...) -> `estimate` (...).
    Domain:  every box; an f whose integral exists, and for derivatives also the integrals of its derivatives.
    Raises:  UnsupportedError with SciPy before 1.15, and on variables for `workers` and `points`; RuntimeError if the
             integral of a derivative does not converge.
    Cost:    SciPy's; a gradient takes one more integration, with a gradient of f at each point.
    Ref:     scipy.integrate.cubature; Genz & Malik (1980), Journal of Computational and Applied Mathematics 6.

    >>> import contad
    >>> def f(p, b):
    ...     return cubature(lambda x: np.exp(-p * x[:, 0] * x[:, 1]), [0.0, 0.0], [1.0, b]).estimate
    >>> round(float(f(2.0, 1.0)), 8), [round(x, 8) for x in contad.grad(f, (0, 1))(2.0, 1.0)]
    (0.65963168, [-0.11364966, 0.43233236])
    """
    solver = require_scipy("cubature")
    args = args if isinstance(args, tuple) else (args,)
    settings = {"rule": rule, "rtol": rtol, "atol": atol, "max_subdivisions": max_subdivisions}
    frozen = freeze(f, "cubature")
    if not frozen.captured and not holds_number((a, b, args)):
        return solver(watch_result("cubature", f), a, b, args=args, **settings, **options)
    _refuse("cubature", options)
    first: list[Any] = []

    def over_box(g: Function, low: np.ndarray, high: np.ndarray) -> ArrayValue:
        def rows(xs: np.ndarray) -> np.ndarray:
            return np.stack([np.asarray(g(x), float) for x in xs])

        found = solver(rows if first else g, low, high, **settings)  # f itself takes all points at once
        if not first:
            first.append(found)
        elif found.status != "converged":
            raise RuntimeError(
                "cubature: the integral of the derivative does not converge (estimated error "
                f"{np.max(found.error):.1e})"
            )
        return np.asarray(found.estimate)

    value = integrate_box("cubature", over_box, frozen, a, b, args)
    result = first[0]
    result.estimate = value
    return result


def integrate_box(
    name: str, over_box: Function, frozen: ConvertedFunction, a: Nested, b: Nested, args: tuple[Nested, ...],
    as_rows: bool = True,
) -> Value:  # fmt: skip
    """The integral over the box from a to b; over_box(g, low, high) integrates a plain function of one point.

    `as_rows`: the user's function takes a matrix of points and receives one; a plain g also takes a matrix.
    """
    a, b = array(a), array(b)
    low, high = (np.asarray(map_numbers(primal, x), float) for x in (a, b))
    if np.ndim(low) != 1 or np.shape(low) != np.shape(high):
        arguments.fail(name, "a", "be a vector of the length of b", f"shapes {np.shape(low)} and {np.shape(high)}")
    if np.isnan(low).any() or np.isnan(high).any():
        arguments.fail(name, "a", "be numbers, as b", f"{low} and {high}")
    is_mapped = bool(numbers_in(a) or numbers_in(b))
    kinds = [(np.isinf(x), np.isinf(y)) for x, y in zip(low, high, strict=True)]
    if is_mapped:
        low_of = np.array([-np.inf if all(k) else 0.0 for k in kinds])
        high_of = np.array([np.inf if any(k) else 1.0 for k in kinds])
    else:
        low_of, high_of = low, high

    def call(point: tuple[ArrayValue], params: Any) -> Value:
        u, (given, captured, ends) = point[0], params
        scale: Any = 1.0
        if is_mapped:
            coordinates = []
            for k, (is_open, is_endless) in enumerate(kinds):
                start, end, t = ends[0][k], ends[1][k], u[k] if np.ndim(u) == 1 else u[:, k]
                if is_open and is_endless:
                    coordinates.append(t)
                elif is_endless:
                    coordinates.append(start + t)
                elif is_open:
                    coordinates.append(end - t)
                else:
                    coordinates.append(start + (end - start) * t)
                    scale = scale * (end - start)
            u = array(coordinates) if np.ndim(u) == 1 else np.stack(coordinates, axis=-1)
        if not as_rows or np.ndim(u) == 2:
            return frozen.call((u,), (given, captured)) * scale
        return frozen.call((np.reshape(u, (1, -1)),), (given, captured))[0] * scale

    def of_array(g: Function, start: float, end: float) -> ArrayValue:
        return over_box(g, low_of, high_of)

    def of_number(g: Function, start: float, end: float) -> float:
        return float(over_box(g, low_of, high_of))

    middle = np.array([inner_point(x, y) for x, y in zip(low_of, high_of, strict=True)])
    rule = Rule(name, of_number, of_array, lambda x: (middle,), frozen.later)
    ends = (a, b) if is_mapped else ()
    return integrate(rule, call, 0.0, 1.0, (args, frozen.captured, ends))


def require_scipy(name: str, calls: str | None = None) -> Function:
    """SciPy's function of that name, or its implementation under another name."""
    solver: Function | None = getattr(scipy.integrate, calls or name, None)
    if solver is None:
        raise UnsupportedError(f"{name}: it needs SciPy 1.15 or later, and {scipy.__version__} is installed")
    return solver


def _refuse(what: str, options: dict[str, Option]) -> None:
    for name, given in options.items():
        if given is not None and given is not False and (name, given) != ("workers", 1):
            raise UnsupportedError(f"{what}: {name}= is not supported on variables")
