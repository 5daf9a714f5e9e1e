"""`scipy.ndimage` on variables: values of images at coordinates, and linear filters.

Images, coordinates and weights may be variables. If nothing is a variable, SciPy's own functions are called. Functions
that are not here have no derivative.

>>> import contad
>>> image = np.array([[0.0, 1.0, 2.0], [3.0, 5.0, 4.0]])
>>> contad.grad(lambda at: map_coordinates(image, at, order=1)[0])(np.array([[0.5], [1.25]]))
array([[3.5],
       [0. ]])
"""

import pkgutil
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops import sampled_images as images
from contad.ops._scipy import ndimage
from contad.scipy.mirroring import as_one, mirror_of, refuse_missing
from contad.variables.array import numbers_in
from contad.variables.open_types import ArrayValue, Option

__all__ = ["convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
           "map_coordinates", "spline_filter", "spline_filter1d", "uniform_filter", "uniform_filter1d"]  # fmt: skip
_TRANSFORMS = ("affine_transform", "gaussian_gradient_magnitude", "gaussian_laplace", "laplace", "mean", "prewitt",
               "rotate", "shift", "sobel", "standard_deviation", "sum_labels", "variance", "zoom")  # fmt: skip
__all__ += list(_TRANSFORMS)

_mirror = mirror_of(ndimage)
_MODES = ("constant", "nearest", "mirror", "reflect", "grid-mirror", "wrap", "grid-wrap")
_PAD = 12  # elements that SciPy adds before it computes the spline of an image continued by its edges


def _refuse(name: str, **options: Option) -> None:
    for key, value in options.items():
        if value is not None:
            raise UnsupportedError(f"contad.scipy.ndimage.{name}: {key}= is not supported on variables")


# ---- values between elements -----------------------------------------------------------------------------------------
@_mirror
def map_coordinates(
    input: ArrayValue, coordinates: ArrayValue, output: Option = None, order: int = 3, mode: str = "constant",
    cval: float = 0.0, prefilter: bool = True,
) -> ArrayValue:  # fmt: skip
    """The values of an image with d axes at coordinates (d, ...), by splines of order 0, 1 or 3 on variables.

        z = sum_j c_j prod_i B(x_i - j_i),     B the B-spline; c the image, for order 3 `spline_filter` of it

    Splines of order 3 with mode "reflect" are exact, whereas SciPy's have errors of 1e-6 along axes of ten elements,
    and of 3e-4 along axes of two. Where pieces of order 1 meet, the derivative in a coordinate is that of the upper
    piece.

    Shapes:  input (n_1, ..., n_d), coordinates (d, ...) -> (...).
    Domain:  every image; outside by `mode`.
    Raises:  UnsupportedError on variables for other orders and modes; RuntimeError for coordinates that do not fit.
    Cost:    (order + 1)^d elements for each place; the spline of order 3 is a banded system along each axis.
    Ref:     Unser (1999), IEEE Signal Processing Magazine 16; scipy.ndimage.map_coordinates.

    >>> map_coordinates(np.array([[0.0, 1.0], [3.0, 6.0]]), [[0.25], [0.5]], order=1)
    array([1.5])
    """
    name = "map_coordinates"
    _refuse(name, output=output)
    input, coordinates = as_one(input), as_one(coordinates)
    if order not in (0, 1, 3):
        raise UnsupportedError(f"contad.scipy.ndimage.{name}: on variables order must be 0, 1 or 3, got {order}")
    mode = "reflect" if mode == "grid-mirror" else mode
    if mode not in _MODES or (mode == "grid-wrap" and order == 3):
        raise UnsupportedError(
            f"contad.scipy.ndimage.{name}: on variables mode must be one of {', '.join(_MODES)}, and with order 3 not "
            f"'grid-wrap', got {mode!r}"
        )
    d = np.ndim(input)
    if np.ndim(coordinates) < 1 or np.shape(coordinates)[0] != d or not d:
        raise RuntimeError(f"invalid shape for coordinate array: {np.shape(coordinates)} for an image of {d} axes")
    at = np.reshape(coordinates, (d, -1))
    outside = images.outside_of(np.shape(input), at) if mode == "constant" else None
    if outside is not None:
        at = np.where(outside, 0.0, at)
    c = input
    if order == 3 and prefilter:
        if mode == "nearest":
            c, at = np.pad(c, _PAD, mode="edge"), at + float(_PAD)
        for axis in range(d):
            c = images.cubic_coefficients(c, axis, "reflect" if mode in ("reflect", "nearest") else "mirror")
    z = images.image_values(c, at, order, mode)
    if outside is not None:
        z = np.where(outside, cval, z)
    return np.reshape(z, np.shape(coordinates)[1:])


@_mirror
def spline_filter1d(
    input: ArrayValue, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> ArrayValue:
    """The coefficients of the cubic spline through an image along an axis.

        x_i = (c_(i-1) + 4 c_i + c_(i+1)) / 6, with c beyond the ends by `mode`

    Shapes:  input (..., n, ...) -> like input.
    Domain:  every image.
    Raises:  UnsupportedError on variables for orders other than 3, and modes other than "mirror" and "reflect".
    Cost:    a tridiagonal system, O(n), and another one in reverse.
    Ref:     Unser (1999), IEEE Signal Processing Magazine 16; scipy.ndimage.spline_filter1d.

    >>> spline_filter1d(np.array([1.0, 2.0, 4.0])).round(12)
    array([0.75, 1.5 , 5.25])
    """
    if order != 3 or mode not in ("mirror", "reflect", "grid-mirror"):
        raise UnsupportedError(
            "contad.scipy.ndimage.spline_filter1d: on variables order must be 3 and mode 'mirror' or 'reflect', got "
            f"{order} and {mode!r}"
        )
    return images.cubic_coefficients(as_one(input), axis, "mirror" if mode == "mirror" else "reflect")


@_mirror
def spline_filter(input: ArrayValue, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> ArrayValue:
    """The coefficients of the cubic spline through an image.

        z = S_d ... S_1 x,     S_i: `spline_filter1d` along axis i

    Shapes:  input (n_1, ..., n_d) -> like input.
    Domain:  every image.
    Raises:  like `spline_filter1d`.
    Cost:    that of `spline_filter1d` along each axis.
    Ref:     Unser (1999), IEEE Signal Processing Magazine 16; scipy.ndimage.spline_filter.

    >>> spline_filter(np.array([[1.0, 2.0], [4.0, 3.0]])).round(6)
    array([[-5.,  4.],
           [10.,  1.]])
    """
    z = as_one(input)
    for axis in range(np.ndim(z)):
        z = spline_filter1d(z, order, axis, output, mode)
    return z


# ---- filters ---------------------------------------------------------------------------------------------------------
def _correlate(input: ArrayValue, weights: ArrayValue, mode: str, cval: float, origins: Sequence[int]) -> ArrayValue:
    x = as_one(input)
    if mode not in images.PAD_MODES:
        raise RuntimeError("boundary mode not supported")
    if np.ndim(weights) != np.ndim(x) or 0 in np.shape(weights):
        raise RuntimeError(f"filter weights array has incorrect shape: {np.shape(weights)} for {np.shape(x)}")
    if any(not -(n // 2) <= o <= (n - 1) // 2 for n, o in zip(np.shape(weights), origins, strict=True)):
        raise ValueError("invalid origin")
    return images.correlate_padded(x, weights, mode, cval, origins)


def _along(weights: ArrayValue, ndim: int, axis: int) -> ArrayValue:
    shape = [1] * ndim
    shape[axis] = -1
    return np.reshape(as_one(weights), shape)


def _reverse(weights: ArrayValue, origins: Sequence[int]) -> tuple[ArrayValue, list[int]]:
    """The weights and origins of the correlation that equals a convolution."""
    w = as_one(weights)
    return np.flip(w, None), [-o - (n % 2 == 0) for n, o in zip(np.shape(w), origins, strict=True)]


@_mirror
def correlate1d(
    input: ArrayValue, weights: ArrayValue, axis: int = -1, output: Option = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> ArrayValue:  # fmt: skip
    """The correlation of an image with weights along one axis.

        z_i = sum_j w_j x_(i + j - c), c = n // 2 + origin; x beyond its ends by `mode`

    Shapes:  input (..., m, ...), weights (n,) -> like input.
    Domain:  every image and weights.
    Raises:  RuntimeError for weights that do not fit and an unknown mode, ValueError for an origin beyond them.
    Cost:    O(m n); a sweep twice that.
    Ref:     scipy.ndimage.correlate1d.

    >>> correlate1d(np.array([1.0, 2.0, 4.0]), [0.0, 1.0, 2.0])
    array([ 5., 10., 12.])
    """
    _refuse("correlate1d", output=output)
    ndim = np.ndim(input)
    origins = [origin if k == axis % ndim else 0 for k in range(ndim)]
    return _correlate(input, _along(weights, ndim, axis), mode, cval, origins)


@_mirror
def convolve1d(
    input: ArrayValue, weights: ArrayValue, axis: int = -1, output: Option = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> ArrayValue:  # fmt: skip
    """The convolution of an image with weights along one axis.

        z_i = sum_j w_j x_(i - j + c), c = n // 2 + origin; x beyond its ends by `mode`

    Shapes:  input (..., m, ...), weights (n,) -> like input.
    Domain:  every image and weights.
    Raises:  RuntimeError for weights that do not fit and an unknown mode, ValueError for an origin beyond them.
    Cost:    O(m n); a sweep twice that.
    Ref:     scipy.ndimage.convolve1d.

    >>> convolve1d(np.array([1.0, 2.0, 4.0]), [0.0, 1.0, 2.0])
    array([3., 4., 8.])
    """
    _refuse("convolve1d", output=output)
    w, (origin,) = _reverse(weights, [origin])
    return correlate1d(input, w, axis, None, mode, cval, origin)


@_mirror
def correlate(
    input: ArrayValue, weights: ArrayValue, output: Option = None, mode: str = "reflect", cval: float = 0.0,
    origin: Any = 0, *, axes: Option = None,
) -> ArrayValue:  # fmt: skip
    """The correlation of an image with weights of as many axes.

        z_i = sum_j w_j x_(i + j - c), c = n // 2 + origin in each axis; x beyond its ends by `mode`

    Shapes:  input (m_1, ..., m_d), weights (n_1, ..., n_d) -> like input.
    Domain:  every image and weights.
    Raises:  RuntimeError for weights that do not fit and an unknown mode, ValueError for an origin beyond them.
    Cost:    the product of both numbers of elements; a sweep twice that.
    Ref:     scipy.ndimage.correlate.

    >>> correlate(np.array([[1.0, 2.0], [4.0, 8.0]]), np.array([[0.0, 1.0], [2.0, 0.5]]))
    array([[ 3.5,  5. ],
           [11. , 14. ]])
    """
    _refuse("correlate", output=output, axes=axes)
    origins = [origin] * np.ndim(input) if np.ndim(origin) == 0 else list(origin)
    return _correlate(input, as_one(weights), mode, cval, origins)


@_mirror
def convolve(
    input: ArrayValue, weights: ArrayValue, output: Option = None, mode: str = "reflect", cval: float = 0.0,
    origin: Any = 0, *, axes: Option = None,
) -> ArrayValue:  # fmt: skip
    """The convolution of an image with weights of as many axes.

        z_i = sum_j w_j x_(i - j + c), c = n // 2 + origin in each axis; x beyond its ends by `mode`

    Shapes:  input (m_1, ..., m_d), weights (n_1, ..., n_d) -> like input.
    Domain:  every image and weights.
    Raises:  RuntimeError for weights that do not fit and an unknown mode, ValueError for an origin beyond them.
    Cost:    the product of both numbers of elements; a sweep twice that.
    Ref:     scipy.ndimage.convolve.

    >>> convolve(np.array([[1.0, 2.0], [4.0, 8.0]]), np.array([[0.0, 1.0], [2.0, 0.5]]))
    array([[ 8.5, 13. ],
           [22. , 28. ]])
    """
    _refuse("convolve", output=output, axes=axes)
    origins = [origin] * np.ndim(input) if np.ndim(origin) == 0 else list(origin)
    w, origins = _reverse(weights, origins)
    return _correlate(input, w, mode, cval, origins)


def _impulse_response(name: str, reach: int, /, **options: Any) -> np.ndarray:
    """The correlation weights of a SciPy filter: its reversed impulse response."""
    impulse = np.zeros(2 * reach + 1)
    impulse[reach] = 1.0
    return getattr(ndimage(), name)(impulse, mode="constant", **options)[::-1]


@_mirror
def gaussian_filter1d(
    input: ArrayValue, sigma: float, axis: int = -1, order: int = 0, output: Option = None, mode: str = "reflect",
    cval: float = 0.0, truncate: float = 4.0, *, radius: int | None = None,
) -> ArrayValue:  # fmt: skip
    """An image smoothed by a Gaussian, or by a derivative of it, along one axis; sigma is a constant.

        z_i = sum_(|j| <= r) w_j x_(i+j),     w_j = e^(-j^2 / (2 sigma^2)) / sum_k e^(-k^2 / (2 sigma^2))

    r is truncate sigma, rounded, or `radius`. Derivatives use the derivatives of the Gaussian as weights.

    Shapes:  input (..., m, ...) -> like input.
    Domain:  every image, sigma > 0.
    Raises:  UnsupportedError if sigma is a variable; RuntimeError for an unknown mode.
    Cost:    O(m r), and so is a sweep.
    Ref:     scipy.ndimage.gaussian_filter1d.

    >>> gaussian_filter1d(np.array([0.0, 1.0, 0.0]), 0.5).round(6)
    array([0.106715, 0.786571, 0.106715])
    """
    name = "gaussian_filter1d"
    _refuse(name, output=output)
    if numbers_in(sigma):
        raise UnsupportedError(f"contad.scipy.ndimage.{name}: sigma must be a constant; correlate1d takes weights")
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    more = {} if radius is None else {"radius": radius}
    weights = _impulse_response(name, reach, sigma=sigma, order=order, truncate=truncate, **more)
    return correlate1d(input, weights, axis, None, mode, cval)


@_mirror
def gaussian_filter(
    input: ArrayValue, sigma: Any, order: Any = 0, output: Option = None, mode: Any = "reflect", cval: float = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> ArrayValue:  # fmt: skip
    """An image smoothed by a Gaussian, or by derivatives of it, along its axes; sigma is a constant.

        z = G_d ... G_1 x,     G_i: `gaussian_filter1d` along axis i

    Shapes:  input (m_1, ..., m_d) -> like input.
    Domain:  every image, sigma >= 0.
    Raises:  like `gaussian_filter1d`.
    Cost:    that of `gaussian_filter1d` along each axis.
    Ref:     scipy.ndimage.gaussian_filter.

    >>> gaussian_filter(np.array([[0.0, 1.0], [2.0, 0.0]]), 0.5).round(6)
    array([[0.286602, 0.820376],
           [1.606419, 0.286602]])
    """
    _refuse("gaussian_filter", output=output)
    z = as_one(input)
    chosen = range(np.ndim(z)) if axes is None else np.lib.array_utils.normalize_axis_tuple(axes, np.ndim(z))
    each = [_for_each(x, len(chosen)) for x in (sigma, order, mode, radius)]
    for axis, width, k, how, reach in zip(chosen, *each, strict=True):
        if numbers_in(width) or width > 1e-15:
            z = gaussian_filter1d(z, width, axis, k, None, how, cval, truncate, radius=reach)
    return z


def _for_each(x: Any, n: int) -> list[Any]:
    """An option for each axis, given once for all or for each."""
    return [x] * n if isinstance(x, str) or np.ndim(x) == 0 else list(x)


@_mirror
def uniform_filter1d(
    input: ArrayValue, size: int, axis: int = -1, output: Option = None, mode: str = "reflect", cval: float = 0.0,
    origin: int = 0,
) -> ArrayValue:  # fmt: skip
    """The means of `size` elements along one axis.

        z_i = sum_(j < size) x_(i + j - c) / size,     c = size // 2 + origin; x beyond its ends by `mode`

    Shapes:  input (..., m, ...) -> like input.
    Domain:  every image.
    Raises:  RuntimeError for a size below 1 and an unknown mode, ValueError for an origin beyond the window.
    Cost:    O(m size), and so is a sweep.
    Ref:     scipy.ndimage.uniform_filter1d.

    >>> uniform_filter1d(np.array([1.0, 2.0, 6.0]), 3).round(6)
    array([1.333333, 3.      , 4.666667])
    """
    _refuse("uniform_filter1d", output=output)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    return correlate1d(input, np.full(size, 1.0 / size), axis, None, mode, cval, origin)


@_mirror
def uniform_filter(
    input: ArrayValue, size: Any = 3, output: Option = None, mode: Any = "reflect", cval: float = 0.0, origin: Any = 0,
    *, axes: Any = None,
) -> ArrayValue:  # fmt: skip
    """The means of boxes of elements.

        z = U_d ... U_1 x,     U_i: `uniform_filter1d` along axis i

    Shapes:  input (m_1, ..., m_d) -> like input.
    Domain:  every image.
    Raises:  like `uniform_filter1d`.
    Cost:    that of `uniform_filter1d` along each axis.
    Ref:     scipy.ndimage.uniform_filter.

    >>> uniform_filter(np.array([[1.0, 2.0], [6.0, 4.0]]), 2)
    array([[1.  , 1.5 ],
           [3.5 , 3.25]])
    """
    _refuse("uniform_filter", output=output)
    z = as_one(input)
    chosen = range(np.ndim(z)) if axes is None else np.lib.array_utils.normalize_axis_tuple(axes, np.ndim(z))
    each = [_for_each(x, len(chosen)) for x in (size, mode, origin)]
    for axis, n, how, shift in zip(chosen, *each, strict=True):
        if n > 1:
            z = uniform_filter1d(z, n, axis, None, how, cval, shift)
    return z


def __getattr__(name: str) -> Any:
    """Import geometry, slopes and regions, which are made of the functions here, on first use."""
    if name in _TRANSFORMS:
        return globals().setdefault(name, pkgutil.resolve_name(f"contad.scipy.image_transforms:{name}"))
    refuse_missing(__name__, ndimage, name)
