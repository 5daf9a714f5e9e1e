"""Integrals of sampled functions, of `scipy.integrate`, on variables: samples, points and spacings may be variables."""

from typing import Any

import numpy as np

from contad.ops._scipy import integrate
from contad.ops.sampled_integrals import check_samples, running_integral, simpson_integral, spacings
from contad.scipy.mirroring import as_one, mirror_of
from contad.variables.open_types import ArrayValue

_mirror = mirror_of(integrate)


@_mirror
def trapezoid(y: ArrayValue, x: ArrayValue = None, dx: Any = 1.0, axis: int = -1) -> ArrayValue:
    """The integral of samples along an axis by the trapezoidal rule.

    >>> float(trapezoid(np.array([0.0, 1.0, 4.0])))
    3.0
    """
    return np.trapezoid(as_one(y), None if x is None else as_one(x), dx, axis)


@_mirror
def simpson(y: ArrayValue, x: ArrayValue = None, *, dx: Any = 1.0, axis: int = -1) -> ArrayValue:
    """The integral of samples along an axis by Simpson's rule, for even and odd numbers of samples.

    >>> round(float(simpson(np.array([0.0, 1.0, 4.0]))), 12)
    2.666666666667
    """
    x = None if x is None else as_one(x)
    y = check_samples("contad.scipy.integrate.simpson", as_one(y), x, axis)
    return simpson_integral(y, spacings(y, x, dx, axis))


@_mirror
def cumulative_trapezoid(
    y: ArrayValue, x: ArrayValue = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> ArrayValue:
    """The integrals of samples up to each one along an axis, by the trapezoidal rule; from `initial`, None or 0.

    >>> cumulative_trapezoid(np.array([0.0, 1.0, 4.0]), initial=0)
    array([0. , 0.5, 3. ])
    """
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    x = None if x is None else as_one(x)
    y = check_samples("contad.scipy.integrate.cumulative_trapezoid", as_one(y), x, axis)
    z = running_integral(y, spacings(y, x, dx, axis))
    if initial is not None:
        z = np.concatenate([np.zeros((*np.shape(z)[:-1], 1)), z], axis=-1)
    return np.moveaxis(z, -1, axis)
