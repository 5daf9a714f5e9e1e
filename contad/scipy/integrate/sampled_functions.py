"""Integrals of sampled functions from `scipy.integrate`: samples, points and spacings may be variables."""

from typing import Any

import numpy as np

from contad.ops._scipy import integrate
from contad.ops.quadrature import check_samples, running_integral, simpson_integral, spacings
from contad.scipy.mirroring import as_one, inside_njit, mirror_of
from contad.variables.open_types import ArrayValue

_mirror = mirror_of(integrate)


@inside_njit({"n": "0.5 * np.sum(y[1:] + y[:-1])", "n n": "0.5 * np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]))"})
@_mirror
def trapezoid(y: ArrayValue, x: ArrayValue = None, dx: Any = 1.0, axis: int = -1) -> ArrayValue:
    """The integral of samples along an axis by the trapezoidal rule.

        z = sum_i h_i (y_i + y_(i+1)) / 2,     h_i = x_(i+1) - x_i or dx

    Shapes:  y (..., n, ...), x (n,) or like y -> without the axis.
    Domain:  every y and x.
    Raises:  ValueError if y and x do not fit.
    Cost:    O(n), and so is a sweep.
    Ref:     scipy.integrate.trapezoid.

    >>> float(trapezoid(np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.5, 2.0])))
    4.0
    """
    return np.trapezoid(as_one(y), None if x is None else as_one(x), dx, axis)


@_mirror
def simpson(y: ArrayValue, x: ArrayValue = None, *, dx: Any = 1.0, axis: int = -1) -> ArrayValue:
    """The integral of samples along an axis by Simpson's rule, for even and odd numbers of samples.

        z = sum over pairs of spacings h, k of (h + k) / 6 ((2 - k / h) y_0 + (h + k)^2 / (h k) y_1 + (2 - h / k) y_2),
        a leftover spacing by the parabola through the last three

    Shapes:  y (..., n, ...), x (n,) or like y -> without the axis.
    Domain:  every y, x that increases.
    Raises:  ValueError if y and x do not fit.
    Cost:    O(n), and so is a sweep.
    Ref:     Cartwright (2017), Journal of Mathematical Sciences and Mathematics Education 12; scipy.integrate.simpson.

    >>> round(float(simpson(np.array([0.0, 1.0, 4.0, 5.0]), np.array([0.0, 0.5, 2.0, 2.5]))), 6)
    6.25
    """
    x = None if x is None else as_one(x)
    y = check_samples("contad.scipy.integrate.simpson", as_one(y), x, axis)
    return simpson_integral(y, spacings(x, dx, axis))


@inside_njit(
    {"n": "0.5 * np.cumsum(y[1:] + y[:-1])", "n n": "0.5 * np.cumsum((x[1:] - x[:-1]) * (y[1:] + y[:-1]))"}
)
@_mirror
def cumulative_trapezoid(
    y: ArrayValue, x: ArrayValue = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> ArrayValue:
    """The integrals of samples up to each one along an axis, by the trapezoidal rule; from `initial`, None or 0.

        z_k = sum_(i < k) h_i (y_i + y_(i+1)) / 2,     h_i = x_(i+1) - x_i or dx

    Shapes:  y (..., n, ...), x (n,) or like y -> (..., n - 1, ...), with `initial` (..., n, ...).
    Domain:  every y and x.
    Raises:  ValueError if y and x do not fit, and for another `initial`.
    Cost:    O(n), and so is a sweep.
    Ref:     scipy.integrate.cumulative_trapezoid.

    >>> cumulative_trapezoid(np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.5, 2.0]), initial=0)
    array([0.  , 0.25, 4.  ])
    """
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    x = None if x is None else as_one(x)
    y = check_samples("contad.scipy.integrate.cumulative_trapezoid", as_one(y), x, axis)
    z = running_integral(y, spacings(x, dx, axis))
    if initial is not None:
        z = np.concatenate([np.zeros((*np.shape(z)[:-1], 1)), z], axis=-1)
    return np.moveaxis(z, -1, axis)


@_mirror
def cumulative_simpson(
    y: ArrayValue, *, x: ArrayValue = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> ArrayValue:
    """The integrals of samples up to each one along an axis, by Simpson's rule.

        z_k = sum_(i < k) of the parabola through samples i, i + 1, i + 2 (i - 1, i, i + 1 for odd i and the last) in
        interval i

    Shapes:  y (..., n, ...), x (n,) or like y -> (..., n - 1, ...), with `initial` (..., n, ...).
    Domain:  every y, x that increases.
    Raises:  ValueError if y and x do not fit.
    Cost:    O(n), and so is a sweep.
    Ref:     Cartwright (2017), Journal of Mathematical Sciences and Mathematics Education 12; scipy's function.

    >>> cumulative_simpson(np.array([0.0, 1.0, 4.0]))
    array([0.33333333, 2.66666667])
    """
    x = None if x is None else as_one(x)
    y = check_samples("contad.scipy.integrate.cumulative_simpson", as_one(y), x, axis)
    n = np.shape(y)[-1]
    h = np.broadcast_to(spacings(x, dx, axis), (*np.shape(y)[:-1], n - 1))
    if n < 3:
        z = running_integral(y, h)
    else:
        parts = [_first_interval(*one) for one in ((y, h), (y[..., ::-1], h[..., ::-1]))]
        both = np.concatenate([parts[0], parts[1][..., ::-1]], axis=-1)
        interval = np.arange(n - 1)
        second = (interval % 2 == 1) | (interval == n - 2)
        z = np.cumsum(both[..., np.where(second, n - 2 + interval - 1, interval)], axis=-1)
    if initial is not None:
        start = np.broadcast_to(as_one(initial), (*np.shape(z)[:-1], 1))
        z = np.concatenate([start, z + start], axis=-1)
    return np.moveaxis(z, -1, axis)


def _first_interval(y: ArrayValue, h: ArrayValue) -> ArrayValue:
    """The integrals over the first of two intervals, by the parabola through three samples."""
    first, second = h[..., :-1], h[..., 1:]
    share, ratio = first / (first + second), first / second
    weights = 3.0 - share, 3.0 + share * ratio + share, -share * ratio
    return first / 6.0 * (weights[0] * y[..., :-2] + weights[1] * y[..., 1:-1] + weights[2] * y[..., 2:])


@_mirror
def romb(y: ArrayValue, dx: Any = 1.0, axis: int = -1, show: bool = False) -> ArrayValue:
    """The integral of 2^k + 1 equally spaced samples by Romberg's rule.

        r_i0: the trapezoidal rule with 2^i intervals,     r_ij = r_i(j-1) + (r_i(j-1) - r_(i-1)(j-1)) / (4^j - 1)

    Shapes:  y (..., 2^k + 1, ...) -> without the axis.
    Domain:  every y.
    Raises:  ValueError for another number of samples.
    Cost:    O(n), and so is a sweep.
    Ref:     scipy.integrate.romb.

    >>> float(romb(np.array([0.0, 1.0, 4.0]), 0.5))
    1.3333333333333333
    """
    y = np.moveaxis(as_one(y), axis, -1)
    n = np.shape(y)[-1] - 1
    if n < 1 or n & (n - 1):
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    row: list[ArrayValue] = []
    for i in range(n.bit_length()):
        step = n >> i
        found = [np.trapezoid(y[..., ::step], None, dx * step)]
        for j, before in enumerate(row, 1):
            found.append(found[-1] + (found[-1] - before) / (4.0**j - 1.0))
        row = found
    return row[-1]
