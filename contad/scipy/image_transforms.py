"""Geometry, slopes and regions of images, by the names of `scipy.ndimage`.

Images and also matrices, offsets, shifts and angles may be variables. Values between elements are those of
`contad.scipy.ndimage.map_coordinates`, whose orders and modes are available.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import ndimage
from contad.scipy.mirroring import as_one, mirror_of
from contad.scipy.ndimage import correlate1d, gaussian_filter, map_coordinates
from contad.variables.array import numbers_in
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Function, Option, Real

_mirror = mirror_of(ndimage)


def _refuse(name: str, output: Option) -> None:
    if output is not None:
        raise UnsupportedError(f"contad.scipy.ndimage.{name}: output= is not supported on variables")


# ---- geometry --------------------------------------------------------------------------------------------------------
@_mirror
def affine_transform(
    input: ArrayValue, matrix: ArrayValue, offset: Any = 0.0, output_shape: Sequence[int] | None = None,
    output: Option = None, order: int = 3, mode: str = "constant", cval: float = 0.0, prefilter: bool = True,
) -> ArrayValue:  # fmt: skip
    """The image at the places that an affine map gives for each element of the result.

        z_o = f(matrix o + offset),     f the spline of `map_coordinates`

    Shapes:  input with d axes, matrix (d, d), its diagonal (d,), or with the offset (d, d + 1) or (d + 1, d + 1) ->
             output_shape, by default that of input.
    Domain:  that of `map_coordinates`.
    Raises:  RuntimeError for another shape of matrix; UnsupportedError on variables for `output` and like
             `map_coordinates`.
    Cost:    that of `map_coordinates` for each element of the result.
    Ref:     scipy.ndimage.affine_transform.

    >>> affine_transform(np.array([0.0, 1.0, 3.0]), np.array([0.5]), 0.5, order=1)
    array([0.5, 1. , 2. ])
    """
    _refuse("affine_transform", output)
    input, matrix = as_one(input), as_one(matrix)
    d = np.ndim(input)
    shape = np.shape(input) if output_shape is None else tuple(output_shape)
    if np.ndim(matrix) == 2 and np.shape(matrix)[1] == d + 1 and np.shape(matrix)[0] in (d, d + 1):
        matrix, offset = matrix[:d, :d], matrix[:d, d]
    if np.shape(matrix) not in ((d,), (d, d)):
        raise RuntimeError("affine matrix has wrong number of rows")
    grid = np.reshape(np.indices(shape).astype(float), (d, -1))
    moved = matrix[:, None] * grid if np.ndim(matrix) == 1 else np.matmul(matrix, grid)
    offset = as_one(offset)
    places = moved + (offset if np.ndim(offset) == 0 else np.reshape(offset, (-1, 1)))
    return map_coordinates.implementation(
        input, np.reshape(places, (d, *shape)), order=order, mode=mode, cval=cval, prefilter=prefilter
    )


@_mirror
def shift(
    input: ArrayValue, shift: Any, output: Option = None, order: int = 3, mode: str = "constant", cval: float = 0.0,
    prefilter: bool = True,
) -> ArrayValue:  # fmt: skip
    """The image shifted by a number, or by one for each axis.

        z_o = f(o - shift)

    Shapes:  input with d axes, shift () or (d,) -> like input.
    Domain:  that of `map_coordinates`.
    Raises:  like `affine_transform`.
    Cost:    that of `map_coordinates` for each element.
    Ref:     scipy.ndimage.shift.

    >>> shift(np.array([0.0, 1.0, 3.0]), 0.5, order=1)
    array([0. , 0.5, 2. ])
    """
    _refuse("shift", output)
    input = as_one(input)
    back = -1.0 * as_one(shift)
    return affine_transform.implementation(
        input, np.ones(np.ndim(input)), back, order=order, mode=mode, cval=cval, prefilter=prefilter
    )


@_mirror
def zoom(
    input: ArrayValue, zoom: Any, output: Option = None, order: int = 3, mode: str = "constant", cval: float = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> ArrayValue:  # fmt: skip
    """The image at more or fewer elements; the factors are constants, because they only give the shape of the result.

        z_o = f(o (n - 1) / (m - 1)),     n and m the numbers of elements of input and result along an axis

    Shapes:  input (n_1, ..., n_d), zoom () or (d,) -> (round(n_1 zoom_1), ...).
    Domain:  that of `map_coordinates`.
    Raises:  UnsupportedError on variables for `grid_mode` and a zoom that is a variable; else like `affine_transform`.
    Cost:    that of `map_coordinates` for each element of the result.
    Ref:     scipy.ndimage.zoom.

    >>> zoom(np.array([0.0, 1.0, 3.0]), 5.0 / 3.0, order=1)
    array([0. , 0.5, 1. , 2. , 3. ])
    """
    _refuse("zoom", output)
    if grid_mode or numbers_in(zoom):
        raise UnsupportedError("contad.scipy.ndimage.zoom: grid_mode= and a variable zoom are not supported")
    input = as_one(input)
    factors = np.broadcast_to(np.asarray(zoom, float), (np.ndim(input),))
    shape = tuple(round(n * float(k)) for n, k in zip(np.shape(input), factors, strict=True))
    steps = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(np.shape(input), shape, strict=True)]
    return affine_transform.implementation(
        input, np.array(steps), 0.0, shape, order=order, mode=mode, cval=cval, prefilter=prefilter
    )


@_mirror
def rotate(
    input: ArrayValue, angle: Real, axes: tuple[int, int] = (1, 0), reshape: bool = True, output: Option = None,
    order: int = 3, mode: str = "constant", cval: float = 0.0, prefilter: bool = True,
) -> ArrayValue:  # fmt: skip
    """The image rotated in the plane of two axes, by an angle in degrees, which may be a variable.

        z_o = f(r (o - c') + c),     r = [[cos, sin], [-sin, cos]], c and c' the centres of input and result

    Shapes:  input with d >= 2 axes -> one that holds all of it, or like input unless `reshape`.
    Domain:  that of `map_coordinates`; the shape jumps where a side reaches another whole number.
    Raises:  ValueError for fewer axes and for equal ones; UnsupportedError like `affine_transform`.
    Cost:    that of `map_coordinates` for each element of the result.
    Ref:     scipy.ndimage.rotate.

    >>> rotate(np.array([[1.0, 2.0], [3.0, 4.0]]), 90.0, order=1).round(12)
    array([[2., 4.],
           [1., 3.]])
    """
    _refuse("rotate", output)
    input = as_one(input)
    d = np.ndim(input)
    if d < 2:
        raise ValueError("input array should be at least 2D")
    first, second = sorted(np.lib.array_utils.normalize_axis_tuple(axes, d))
    turn = angle * (np.pi / 180.0)
    c, s = np.cos(turn), np.sin(turn)
    r = np.reshape(np.stack([c, s, -s, c]), (2, 2))
    plane = np.array([np.shape(input)[first], np.shape(input)[second]], float)

    def find_shape(r: np.ndarray) -> np.ndarray:
        r = np.where(np.abs(r) < 1e-15, 0.0, r)
        bounds = r @ np.array([[0.0, 0.0, plane[0], plane[0]], [0.0, plane[1], 0.0, plane[1]]])
        return (np.ptp(bounds, axis=1) + 0.5).astype(int)

    sides = observe(find_shape, r) if reshape else plane.astype(int)
    offset = 0.5 * (plane - 1.0) - np.matmul(r, 0.5 * (sides - 1.0))
    moved = np.moveaxis(input, (first, second), (0, 1))
    rest = np.shape(moved)[2:]
    planes = np.reshape(moved, (*np.shape(moved)[:2], -1))
    turned = [
        affine_transform.implementation(
            planes[:, :, k], r, offset, tuple(sides), order=order, mode=mode, cval=cval, prefilter=prefilter
        )
        for k in range(np.shape(planes)[2])
    ]
    return np.moveaxis(np.reshape(np.stack(turned, axis=2), (*sides, *rest)), (0, 1), (first, second))


# ---- slopes ----------------------------------------------------------------------------------------------------------
def _slope(input: ArrayValue, across: list[float], axis: int, mode: str, cval: float) -> ArrayValue:
    z = correlate1d.implementation(input, [-1.0, 0.0, 1.0], axis, None, mode, cval)
    for k in range(np.ndim(z)):
        if k != axis % np.ndim(z):
            z = correlate1d.implementation(z, across, k, None, mode, cval)
    return z


@_mirror
def sobel(
    input: ArrayValue, axis: int = -1, output: Option = None, mode: str = "reflect", cval: float = 0.0
) -> ArrayValue:
    """Sobel's slope of an image along an axis.

        z = d x,     d = [-1, 0, 1] along the axis times [1, 2, 1] along all others

    Shapes:  input (n_1, ..., n_d) -> like input.
    Domain:  every image.
    Raises:  UnsupportedError on variables for `output`; RuntimeError for an unknown mode.
    Cost:    O(d) for each element, and so is a sweep.
    Ref:     scipy.ndimage.sobel.

    >>> sobel(np.array([[1.0, 2.0], [1.0, 5.0]]))
    array([[ 7.,  7.],
           [13., 13.]])
    """
    _refuse("sobel", output)
    return _slope(as_one(input), [1.0, 2.0, 1.0], axis, mode, cval)


@_mirror
def prewitt(
    input: ArrayValue, axis: int = -1, output: Option = None, mode: str = "reflect", cval: float = 0.0
) -> ArrayValue:
    """Prewitt's slope of an image along an axis.

        z = d x,     d = [-1, 0, 1] along the axis times [1, 1, 1] along all others

    Shapes:  input (n_1, ..., n_d) -> like input.
    Domain:  every image.
    Raises:  like `sobel`.
    Cost:    O(d) for each element, and so is a sweep.
    Ref:     scipy.ndimage.prewitt.

    >>> prewitt(np.array([[1.0, 2.0], [1.0, 5.0]]))
    array([[6., 6.],
           [9., 9.]])
    """
    _refuse("prewitt", output)
    return _slope(as_one(input), [1.0, 1.0, 1.0], axis, mode, cval)


@_mirror
def laplace(input: ArrayValue, output: Option = None, mode: str = "reflect", cval: float = 0.0) -> ArrayValue:
    """The sum of second differences along all axes.

        z = sum_k [1, -2, 1] along axis k of x

    Shapes:  input (n_1, ..., n_d) -> like input.
    Domain:  every image.
    Raises:  like `sobel`.
    Cost:    O(d) for each element, and so is a sweep.
    Ref:     scipy.ndimage.laplace.

    >>> laplace(np.array([1.0, 2.0, 6.0]))
    array([ 1.,  3., -4.])
    """
    _refuse("laplace", output)
    x = as_one(input)
    return _sum(correlate1d.implementation(x, [1.0, -2.0, 1.0], k, None, mode, cval) for k in range(np.ndim(x)))


def _sum(parts: Any) -> ArrayValue:
    first, *rest = parts
    for one in rest:
        first = first + one
    return first


def _derive(input: ArrayValue, sigma: Any, order: int, mode: Any, cval: float, options: Any) -> list[ArrayValue]:
    """The image smoothed by a derivative of a Gaussian along each axis."""
    d = np.ndim(input)
    return [
        gaussian_filter.implementation(
            input, sigma, [order if j == k else 0 for j in range(d)], None, mode, cval, **options
        )
        for k in range(d)
    ]


@_mirror
def gaussian_laplace(
    input: ArrayValue, sigma: Any, output: Option = None, mode: Any = "reflect", cval: float = 0.0, **options: Any
) -> ArrayValue:
    """The sum of second derivatives of a smoothed image; sigma is a constant.

        z = sum_k G''_k x,     G''_k: `gaussian_filter` with order 2 along axis k

    Shapes:  input (n_1, ..., n_d) -> like input.
    Domain:  every image, sigma > 0.
    Raises:  like `gaussian_filter`.
    Cost:    that of `gaussian_filter` for each axis.
    Ref:     scipy.ndimage.gaussian_laplace.

    >>> gaussian_laplace(np.array([0.0, 1.0, 0.0]), 1.0).round(6)
    array([ 0.163981, -0.328034,  0.163981])
    """
    _refuse("gaussian_laplace", output)
    return _sum(_derive(as_one(input), sigma, 2, mode, cval, options))


@_mirror
def gaussian_gradient_magnitude(
    input: ArrayValue, sigma: Any, output: Option = None, mode: Any = "reflect", cval: float = 0.0, **options: Any
) -> ArrayValue:
    """The size of the gradient of a smoothed image; sigma is a constant.

        z = sqrt(sum_k (G'_k x)^2),     G'_k: `gaussian_filter` with order 1 along axis k

    Shapes:  input (n_1, ..., n_d) -> like input.
    Domain:  every image, sigma > 0; the derivative is 0 where the gradient is 0.
    Raises:  like `gaussian_filter`.
    Cost:    that of `gaussian_filter` for each axis.
    Ref:     scipy.ndimage.gaussian_gradient_magnitude.

    >>> gaussian_gradient_magnitude(np.array([0.0, 1.0, 3.0]), 1.0).round(6)
    array([0.456865, 1.048255, 0.59139 ])
    """
    _refuse("gaussian_gradient_magnitude", output)
    return np.linalg.norm(np.stack(_derive(as_one(input), sigma, 1, mode, cval, options)), axis=0)


# ---- regions ---------------------------------------------------------------------------------------------------------
def _by_region(f: Function, input: ArrayValue, labels: Any, index: Any) -> ArrayValue:
    """f of the elements of each region."""
    x = as_one(input)
    if labels is None:
        return f(np.reshape(x, (-1,)))
    flat, marks = np.reshape(x, (-1,)), np.broadcast_to(np.asarray(labels), np.shape(x)).reshape(-1)
    if index is None:
        return f(flat[np.flatnonzero(marks > 0)])
    found = [f(flat[np.flatnonzero(marks == k)]) for k in np.reshape(index, (-1,))]
    return np.reshape(np.stack(found), np.shape(index)) if np.ndim(index) else found[0]


@_mirror
def sum_labels(input: ArrayValue, labels: Any = None, index: Any = None) -> ArrayValue:
    """The sums of regions, which are the elements with a label.

        z_k = sum of x_i where labels_i = index_k

    Shapes:  input and labels alike, index (...) -> (...); without an index one number, for all labels above 0.
    Domain:  every image.
    Cost:    O(size of input) for each region.
    Ref:     scipy.ndimage.sum_labels.

    >>> sum_labels(np.array([1.0, 2.0, 4.0]), np.array([1, 2, 1]), [1, 2])
    array([5., 2.])
    """
    return _by_region(np.sum, input, labels, index)


@_mirror
def mean(input: ArrayValue, labels: Any = None, index: Any = None) -> ArrayValue:
    """The means of regions, which are the elements with a label.

        z_k = mean of x_i where labels_i = index_k

    Shapes:  that of `sum_labels`.
    Domain:  every image; regions that are not empty.
    Cost:    O(size of input) for each region.
    Ref:     scipy.ndimage.mean.

    >>> mean(np.array([1.0, 2.0, 4.0]), np.array([1, 2, 1]), [1, 2])
    array([2.5, 2. ])
    """
    return _by_region(np.mean, input, labels, index)


@_mirror
def variance(input: ArrayValue, labels: Any = None, index: Any = None) -> ArrayValue:
    """The variances of regions, which are the elements with a label.

        z_k = var of x_i where labels_i = index_k

    Shapes:  that of `sum_labels`.
    Domain:  every image; regions that are not empty.
    Cost:    O(size of input) for each region.
    Ref:     scipy.ndimage.variance.

    >>> variance(np.array([1.0, 2.0, 4.0, 5.0]), np.array([0, 1, 0, 1]), [0, 1])
    array([2.25, 2.25])
    """
    return _by_region(np.var, input, labels, index)


@_mirror
def standard_deviation(input: ArrayValue, labels: Any = None, index: Any = None) -> ArrayValue:
    """The standard deviations of regions, which are the elements with a label.

        z_k = std of x_i where labels_i = index_k

    Shapes:  that of `sum_labels`.
    Domain:  every image; regions that are not constant.
    Cost:    O(size of input) for each region.
    Ref:     scipy.ndimage.standard_deviation.

    >>> standard_deviation(np.array([1.0, 2.0, 4.0, 5.0]), np.array([0, 1, 0, 1]), [0, 1])
    array([1.5, 1.5])
    """
    return _by_region(np.std, input, labels, index)
