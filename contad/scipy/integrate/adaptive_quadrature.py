"""Integrals of one variable by SciPy, differentiable in their limits, arguments and captured values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate

from contad.errors import UnsupportedError
from contad.scipy.integrate.integral_operation import (
    ConvertedFunction,
    Rule,
    freeze,
    gauss_kronrod_of_array,
    integrate,
    watch_result,
)
from contad.variables.number import map_numbers, primal
from contad.variables.open_types import ArrayValue, Function, Nested, Option, Real
from contad.variables.trees import holds_number


def quad(
    func: Any, a: Real, b: Real, args: Sequence[Nested] = (), *, epsabs: float = 1.49e-8, epsrel: float = 1.49e-8,
    limit: int = 50, points: Sequence[float] | None = None, **options: Option,
) -> tuple[Any, ...]:  # fmt: skip
    """scipy.integrate.quad of func(x, *args) from a to b, differentiable in a, b, args and captured values.

        z = integral of f,     z_dot = f(b) b_dot - f(a) a_dot + integral of f_p p_dot

    The result is (value, error estimate), like SciPy's. The derivatives in all parameters are one integral of a vector,
    by scipy.integrate.quad_vec to the same tolerances; those of higher order are integrals of higher derivatives.
    Limits may be infinite; an infinite limit has the derivative 0.

    Shapes:  a, b numbers, func(x, *args) a number -> a number.
    Domain:  every a and b; a func whose integral exists, and for derivatives also the integrals of its derivatives.
    Raises:  ValueError if a limit is nan; RuntimeError if the integral of a derivative does not converge;
             UnsupportedError on variables for `weight`, `complex_func` and `full_output`; RuleError for a variable that
             func captures in an unusual place.
    Cost:    SciPy's; a gradient takes one more integration, of gradients of func.
    Ref:     scipy.integrate.quad.

    >>> import contad
    >>> def f(p, b):
    ...     return quad(lambda x: np.exp(-p * x), 0.0, b)[0]
    >>> round(f(2.0, np.inf), 8), round(contad.grad(f)(2.0, np.inf), 8)
    (0.5, -0.25)
    >>> round(contad.grad(f, 1)(2.0, 1.0), 8)
    0.13533528
    """
    args = args if isinstance(args, tuple) else (args,)
    settings: dict[str, Any] = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points}
    if not callable(func):  # C code
        return tuple(scipy.integrate.quad(func, a, b, args, **settings, **options))
    frozen = freeze(func, "quad")
    if not frozen.captured and not holds_number((a, b, points, args)):
        return tuple(scipy.integrate.quad(watch_result("quad", func), a, b, args, **settings, **options))
    for name, given in options.items():
        if given not in (None, False, 0):
            raise UnsupportedError(f"quad: {name}= is not supported on variables")
    points = settings["points"] = None if points is None else map_numbers(primal, points)
    errors: list[float] = []

    def of_number(f: Function, low: float, high: float) -> float:
        value, error = scipy.integrate.quad(lambda x: float(f(x)), low, high, **settings)[:2]
        errors.append(error)
        return float(value)

    rule = _rule("quad", of_number, epsabs, epsrel, limit, points, frozen)
    value = integrate(rule, frozen.call, a, b, (args, frozen.captured))
    return value, errors[0]


def quad_vec(
    f: Function, a: Real, b: Real, epsabs: float = 1e-200, epsrel: float = 1e-8, *, limit: int = 10000,
    points: Sequence[float] | None = None, args: Sequence[Nested] = (), **options: Option,
) -> tuple[Any, ...]:  # fmt: skip
    """scipy.integrate.quad_vec of an array f(x, *args), differentiable like `quad`.

        z = integral of f,     z_dot = f(b) b_dot - f(a) a_dot + integral of f_p p_dot

    Other options are SciPy's, on plain numbers only; the error is measured by its largest element.

    Shapes:  a, b numbers, f(x, *args) an array -> an array of that shape, and a number.
    Domain:  that of `quad`.
    Raises:  like `quad`.
    Cost:    that of `quad`.
    Ref:     scipy.integrate.quad_vec.

    >>> import contad
    >>> def f(p):
    ...     return quad_vec(lambda x: np.exp(-p * x), 0.0, np.inf)[0]
    >>> contad.jacobian(f)(np.array([1.0, 2.0])).round(6)
    array([[-1.  ,  0.  ],
           [ 0.  , -0.25]])
    """
    args = args if isinstance(args, tuple) else (args,)
    frozen = freeze(f, "quad_vec")
    if not frozen.captured and not holds_number((a, b, points, args)):
        plain = watch_result("quad_vec", f)
        return tuple(
            scipy.integrate.quad_vec(plain, a, b, epsabs, epsrel, limit=limit, points=points, args=args, **options)
        )
    for name, given in options.items():
        if given not in (None, False) and (name, given) != ("norm", "max"):
            raise UnsupportedError(f"quad_vec: {name}= is not supported on variables")
    points = None if points is None else map_numbers(primal, points)

    def of_number(f: Function, low: float, high: float) -> float:
        return float(rule.of_array(lambda x: np.array([f(x)], float), low, high)[0])

    rule = _rule("quad_vec", of_number, epsabs, epsrel, limit, points, frozen)
    value = integrate(rule, frozen.call, a, b, (args, frozen.captured))
    return value, max(epsabs, epsrel * float(np.max(np.abs(map_numbers(primal, value)), initial=0.0)))


def _rule(
    name: str, of_number: Any, epsabs: float, epsrel: float, limit: int, points: Sequence[float] | None,
    frozen: ConvertedFunction,
) -> Rule:
    def of_array(f: Function, low: float, high: float) -> ArrayValue:
        inner = None if points is None else [x for x in points if min(low, high) < x < max(low, high)]
        options = {"epsabs": epsabs, "epsrel": epsrel, "limit": max(limit, 1000), "points": inner or None}
        return gauss_kronrod_of_array(name, f, low, high, **options)

    return Rule(name, of_number, of_array, lambda x: (x,), frozen.later)
