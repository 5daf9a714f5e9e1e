"""Quadrature: Simpson's and the trapezoidal rule for sampled functions, and the points of Gauss's rule."""

import numpy as np

from contad.ops.calculus import cut
from contad.ops.products import as_array


def spacings(x, dx, axis):
    """The distances of samples along the last axis, shaped to multiply y, or one number."""
    if x is None:
        return dx
    x = as_array(x)
    if np.ndim(x) == 1:
        return x[1:] - x[:-1]
    x = np.moveaxis(x, axis, -1)
    return x[..., 1:] - x[..., :-1]


def check_samples(name, y, x, axis):
    """y with its axis last; ValueError if the points do not fit."""
    y = as_array(y)
    if np.ndim(y) == 0 or np.shape(y)[axis] == 0:
        raise ValueError(f"{name}: at least one point is required along axis {axis}, got shape {np.shape(y)}")
    if x is not None:
        ndim = np.ndim(x)
        if ndim not in (1, np.ndim(y)) or np.shape(x)[axis if ndim > 1 else 0] != np.shape(y)[axis]:
            raise ValueError(
                f"{name}: x must be of shape {np.shape(y)} or of the length of y along axis {axis}, got {np.shape(x)}"
            )
    return np.moveaxis(y, axis, -1)


def simpson_integral(y, h):
    """The integral of samples along the last axis by parabolas, with Cartwright's correction for an even number.

    Ref: Cartwright (2017), Simpson's rule cumulative integration with MS Excel and irregularly-spaced data.
    """
    n = np.shape(y)[-1]
    even_spaced = np.ndim(h) == 0
    if n == 2:
        return 0.5 * (h if even_spaced else h[..., 0]) * (y[..., 0] + y[..., 1])
    stop = n - 2 if n % 2 else n - 3
    first, middle, last = (y[..., k : stop + k : 2] for k in range(3))
    if even_spaced:
        z = np.sum(first + 4.0 * middle + last, axis=-1) * (h / 3.0)
    else:
        a, b = h[..., 0:stop:2], h[..., 1 : stop + 1 : 2]
        both, ratio = a + b, a / b
        ends = first * (2.0 - 1.0 / ratio) + last * (2.0 - ratio)
        z = np.sum(both / 6.0 * (ends + middle * (both * both / (a * b))), axis=-1)
    if n % 2:
        return z
    a, b = (h, h) if even_spaced else (h[..., -2], h[..., -1])
    z = z + (2.0 * b * b + 3.0 * a * b) / (6.0 * (a + b)) * y[..., -1]
    z = z + (b * b + 3.0 * a * b) / (6.0 * a) * y[..., -2]
    return z - b * b * b / (6.0 * a * (a + b)) * y[..., -3]


def running_integral(y, h):
    """The integrals up to each sample but the first, by the trapezoidal rule."""
    axis = np.ndim(y) - 1
    return np.cumsum(h * (cut(y, axis, 1) + cut(y, axis, 0, -1)) / 2.0, axis=-1)


# ---- Gauss's rule ----------------------------------------------------------------------------------------------------
# with 40 points on (-1, 1), for the integrals behind derivatives of special functions: the points above 0, and their
# weights
NODES = (
    0.03877241750605082, 0.11608407067525521, 0.1926975807013711, 0.2681521850072537, 0.3419940908257585,
    0.413779204371605, 0.4830758016861787, 0.5494671250951282, 0.6125538896679802, 0.6719566846141796,
    0.7273182551899271, 0.7783056514265194, 0.8246122308333117, 0.8659595032122595, 0.9020988069688743,
    0.9328128082786765, 0.9579168192137917, 0.9772599499837743, 0.990726238699457, 0.9982377097105593,
)  # fmt: skip
WEIGHTS = (
    0.0775059479784248, 0.07703981816424797, 0.07611036190062624, 0.07472316905796826, 0.07288658239580406,
    0.07061164739128678, 0.0679120458152339, 0.06480401345660104, 0.06130624249292894, 0.05743976909939155,
    0.05322784698393682, 0.04869580763507223, 0.04387090818567327, 0.038782167974472016, 0.033460195282547844,
    0.0279370069800234, 0.02224584919416696, 0.01642105838190789, 0.010498284531152813, 0.004521277098533191,
)  # fmt: skip
