"""Integrals over regions of several dimensions as integrals of integrals, and Gauss's rule of fixed order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.scipy.integrate.adaptive_quadrature import quad
from contad.variables.open_types import ArrayValue, Function, Nested, Real


def _limit(of: Any, args: tuple[Any, ...]) -> Any:
    return of(*args) if callable(of) else of


def nquad(
    func: Function, ranges: Sequence[Any], args: Sequence[Nested] = (), opts: Any = None, full_output: bool = False
) -> tuple[Any, Any]:
    """scipy.integrate.nquad of func(x_0, ..., x_n, *args), differentiable in the limits, args and captured values.

        z = integral ... integral of f dx_0 ... dx_n,     each an integral of `quad`

    A range is a pair, or a function of the later coordinates and args that returns one. The result is (value, error
    estimate of the outermost integral).

    Shapes:  numbers -> a number.
    Domain:  that of `quad`.
    Raises:  like `quad`; UnsupportedError for `opts` that are functions and for `full_output`.
    Cost:    that of nested quads; a gradient takes a gradient of the inner integral at each node of the outer one.
    Ref:     scipy.integrate.nquad.

    >>> import contad
    >>> f = lambda p: nquad(lambda x, y: p * x * y**2, [(0.0, 1.0), (0.0, p)])[0]
    >>> value, slope = contad.value_and_grad(f)(3.0)
    >>> round(value, 6), round(slope, 6)
    (13.5, 18.0)
    """
    if full_output or callable(opts) or any(map(callable, opts if isinstance(opts, (list, tuple)) else ())):
        raise UnsupportedError("nquad: full_output and opts that are functions are not supported")
    args = args if isinstance(args, tuple) else (args,)
    last = len(ranges) - 1
    settings = [opts or {}] * len(ranges) if not isinstance(opts, (list, tuple)) else list(opts)

    def integrate(level: int, later: tuple[Any, ...]) -> tuple[Any, ...]:
        low, high = _limit(ranges[level], (*later, *args))

        def inner(x: Any, *rest: Any) -> Any:
            if level == 0:
                return func(x, *later, *args)
            return integrate(level - 1, (x, *later))[0]

        return quad(inner, low, high, **settings[level])

    value, error = integrate(last, ())[:2]
    return value, error


def dblquad(
    func: Function, a: Real, b: Real, gfun: Any, hfun: Any, args: Sequence[Nested] = (), epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:  # fmt: skip
    """scipy.integrate.dblquad of func(y, x, *args) for x from a to b and y from gfun(x) to hfun(x); see `nquad`.

        z = integral from a to b of integral from g(x) to h(x) of f(y, x) dy dx

    Shapes:  numbers -> a number.
    Domain:  that of `quad`.
    Raises:  like `quad`.
    Cost:    that of `nquad`.
    Ref:     scipy.integrate.dblquad.

    >>> round(dblquad(lambda y, x: x * y, 0.0, 1.0, 0.0, lambda x: x)[0], 9)
    0.125
    """
    opts = {"epsabs": epsabs, "epsrel": epsrel}
    inner = lambda x, *_: (_limit(gfun, (x,)), _limit(hfun, (x,)))  # noqa: E731
    return nquad(func, [inner, (a, b)], args, opts)


def tplquad(
    func: Function, a: Real, b: Real, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Sequence[Nested] = (),
    epsabs: float = 1.49e-8, epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:  # fmt: skip
    """scipy.integrate.tplquad of func(z, y, x, *args), z from qfun(x, y) to rfun(x, y), otherwise like `dblquad`.

        integral from a to b of integral from g(x) to h(x) of integral from q(x, y) to r(x, y) of f(z, y, x) dz dy dx

    Shapes:  numbers -> a number.
    Domain:  that of `quad`.
    Raises:  like `quad`.
    Cost:    that of `nquad`.
    Ref:     scipy.integrate.tplquad.

    >>> round(tplquad(lambda z, y, x: x + 0.0 * z, 0.0, 1.0, 0.0, 2.0, 0.0, lambda x, y: y)[0], 9)
    1.0
    """
    opts = {"epsabs": epsabs, "epsrel": epsrel}
    innermost = lambda y, x, *_: (_limit(qfun, (x, y)), _limit(rfun, (x, y)))  # noqa: E731
    inner = lambda x, *_: (_limit(gfun, (x,)), _limit(hfun, (x,)))  # noqa: E731
    return nquad(func, [innermost, inner, (a, b)], args, opts)


def fixed_quad(
    func: Function, a: ArrayValue, b: ArrayValue, args: Sequence[Nested] = (), n: int = 5
) -> tuple[Any, None]:
    """scipy.integrate.fixed_quad: (value, None) of func(x, *args) by Gauss's rule of n nodes, in which it is exact up
    to degree 2 n - 1.

        z = (b - a) / 2 sum_i w_i f((b - a) (x_i + 1) / 2 + a)

    Shapes:  func of nodes (n,) gives (..., n) -> (...).
    Domain:  finite a and b.
    Raises:  ValueError for infinite limits.
    Cost:    one evaluation of func at n nodes; a derivative is that of the sum.
    Ref:     scipy.integrate.fixed_quad.

    >>> import contad
    >>> contad.derivative(lambda p: fixed_quad(lambda x: p * x**3, 0.0, p)[0])(2.0)
    20.0
    """
    if np.any(np.isinf(a)) or np.any(np.isinf(b)):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    nodes, weights = np.polynomial.legendre.leggauss(n)
    half = 0.5 * (b - a)
    args = args if isinstance(args, tuple) else (args,)
    return half * np.sum(weights * func(half * (nodes + 1.0) + a, *args), axis=-1), None
