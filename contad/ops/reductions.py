"""Sums, products, means and variances along axes."""

import numpy as np

from contad.ops.accumulations import cumprod
from contad.ops.arithmetic import add, multiply
from contad.ops.cotangents import from_lanes, in_range, kept_shape, lanes, previous, reduction_structure, scale, spread
from contad.ops.shape import refuse_given
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.array import is_plain
from contad.variables.dtypes import COMPLEX, dtype_beside
from contad.variables.number import map_numbers, observe, primal

_VECTOR, _MATRIX = [1.3, -0.7, 2.1], [[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]]
_POINTS = [
    (_VECTOR,),
    (_MATRIX,),
    (_MATRIX, {"axis": 0}),
    (_MATRIX, {"axis": -1, "keepdims": True}),
    ([_MATRIX, [[0.6, 1.7, -0.2], [2.3, -1.4, 0.9]]], {"axis": (0, -1)}),
]
_ZEROS = [[1.3, 0.0, 2.1], [0.0, 1.9, -1.1], [0.6, 0.0, 0.0]]  # one and several along either axis


# ---- sum and mean ----------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX, numpy=np.sum, parameters="a axis dtype out keepdims initial where", linear=("a",), points=_POINTS
)
def sum(a, *, axis=None, keepdims=False):
    """Sum over some axes, or all.

        z = sum_i a_i,     z_dot = sum_i a_dot_i,     a_bar_i = z_bar

    Shapes:  a (...) -> z without the axes, or with length 1 in them (keepdims); an empty sum is 0.
    Cost:    O(n) forward and reverse; saves nothing.

    >>> sum(np.array([1.5, 2.0, 4.0]))
    7.5
    """
    return np.sum(a, axis, keepdims=keepdims)


@sum.structure("a")
def sum_structure_a(a, *, axis=None, keepdims=False):
    return reduction_structure(np.shape(a), axis)


@sum.vjp("a")
def sum_vjp_a(z, z_bar, a, *, axis=None, keepdims=False):
    return spread(z_bar, np.shape(a), axis)


def with_initial(rule, combine, neutral):
    """Let a sum or product start with a number, and take only the elements where a mask holds."""

    def reduce(a, *, axis=None, keepdims=False, initial=None, where=True):
        z = rule(a if where is True else np.where(mask_of(where, a), a, neutral), axis=axis, keepdims=keepdims)
        return z if initial is None else combine(z, initial)

    rule.further = reduce


def mask_of(where, a):
    """The argument where= of a reduction of a, in the shape of a."""
    mask = np.asarray(map_numbers(primal, where))
    if mask.dtype != bool:
        raise TypeError(f"where must be an array of bool, got {mask.dtype}")
    return np.broadcast_to(mask, np.shape(a))


with_initial(sum, add, 0.0)


@array_rule(dtypes=COMPLEX, numpy=np.mean, parameters="a axis dtype out keepdims where", linear=("a",), points=_POINTS)
def mean(a, *, axis=None, keepdims=False):
    """Arithmetic mean over some axes, or all.

        z = (1/n) sum_i a_i,     z_dot = (1/n) sum_i a_dot_i,     a_bar_i = z_bar / n

    Shapes:  a (...) -> z without the axes, or with length 1 in them (keepdims).
    Domain:  n >= 1; NumPy warns at n = 0, and z is nan.
    Cost:    O(n) forward and reverse; saves nothing.

    >>> mean(np.array([1.5, 2.0, 4.0]))
    2.5
    """
    return np.mean(a, axis, keepdims=keepdims)


@mean.structure("a")
def mean_structure_a(a, *, axis=None, keepdims=False):
    return reduction_structure(np.shape(a), axis)


@mean.vjp("a")
def mean_vjp_a(z, z_bar, a, *, axis=None, keepdims=False):
    return spread(z_bar / count(a, axis), np.shape(a), axis)


def mean_where(a, *, axis=None, keepdims=False, where=True):
    """The mean of the elements where a mask holds."""
    mask = mask_of(where, a)
    number = np.sum(mask, axis, keepdims=keepdims)
    return sum(np.where(mask, a, 0.0), axis=axis, keepdims=keepdims) / np.where(number == 0, np.nan, number)[()]


mean.further = mean_where


def count(a, axis):
    """The number of elements of a in one element of a reduction, as a float; at least 1.

    >>> count(np.ones((2, 3, 4)), (0, 2))
    8.0
    """
    shape = np.shape(a)
    return float(max(np.size(a) // max(int(np.prod(kept_shape(shape, axis))), 1), 1))


@implements(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """Weighted mean: sum_i w_i a_i / sum_i w_i; weights of one dimension lie along the axis."""
    keepdims = keepdims is True
    if axis is not None and np.ndim(a) == 0:
        np.lib.array_utils.normalize_axis_tuple(axis, 0)  # which raises
    if weights is None:
        z = np.mean(a, axis=axis, keepdims=keepdims)
        total = z * 0.0 + count(a, axis)
    else:
        w = weights if hasattr(weights, "shape") else np.asarray(weights)
        if w.shape != np.shape(a):
            w = _place(w, np.shape(a), axis)
        w = w + np.zeros(np.shape(a))
        total = np.sum(w, axis=axis, keepdims=keepdims)
        if np.any(observe(np.equal, total, 0.0)):
            raise ZeroDivisionError("np.average: weights must not sum to zero, got a sum of 0.0")
        z = np.sum(a * w, axis=axis, keepdims=keepdims) / total
    return (z, total) if returned else z


def _place(w, shape, axis):
    """Weights with the shape of the given axes, made to broadcast with the array."""
    axes = () if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, len(shape))
    if axis is None:
        raise TypeError(f"np.average: without an axis weights must have the shape of a, {shape}, got shape {w.shape}")
    if w.shape != tuple(shape[k] for k in axes):
        raise ValueError(f"np.average: weights must have the shape of a along axis {axis}, got shape {w.shape}")
    ordered = np.transpose(w, np.argsort(axes))
    return np.reshape(ordered, tuple(n if k in axes else 1 for k, n in enumerate(shape)))


@implements(np.trace, layout="own")
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """Sum of a diagonal, one number for each matrix in two axes."""
    refuse_given(np.trace, dtype=dtype, out=out)
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1)


@implements(np.linalg.trace, layout="own")
def matrix_trace(x, /, *, offset=0, dtype=None):
    """Sum of a diagonal, for the matrices in the last two axes."""
    return trace(x, offset, -2, -1, dtype)


# ---- variance --------------------------------------------------------------------------------------------------------
_SPREAD_POINTS = [*_POINTS, (_MATRIX, {"axis": 1, "ddof": 1})]


@array_rule(numpy=np.var, parameters="a axis dtype out ddof keepdims where", points=_SPREAD_POINTS)
def var(a, *, axis=None, ddof=0, keepdims=False):
    """Variance over some axes, or all.

        z = (1/m) sum_i (a_i - mean a)^2,     m = n - ddof
        z_dot = (2/m) sum_i (a_i - mean a) a_dot_i,     a_bar_i = (2/m) (a_i - mean a) z_bar

    Shapes:  a (...) -> z without the axes, or with length 1 in them (keepdims).
    Domain:  n > ddof; otherwise NumPy warns, and z is nan or inf.
    Cost:    O(n) forward and reverse; saves nothing.

    >>> var(np.array([1.0, 2.0, 6.0]))
    4.666666666666667
    """
    return np.var(a, axis, ddof=ddof, keepdims=keepdims)


@var.vjp("a")
def var_vjp_a(z, z_bar, a, *, axis=None, ddof=0, keepdims=False):
    return scale(spread(z_bar, np.shape(a), axis), deviation(a, axis) * (2.0 / freedom(a, axis, ddof)))


@var.jvp
def var_jvp(z, a_dot, a, *, axis=None, ddof=0, keepdims=False):
    slope = deviation(a, axis) * (2.0 / freedom(a, axis, ddof))
    return np.sum(scale(a_dot, slope), axis=axis, keepdims=keepdims)


@array_rule(numpy=np.std, parameters="a axis dtype out ddof keepdims where", points=_SPREAD_POINTS)
def std(a, *, axis=None, ddof=0, keepdims=False):
    """Standard deviation over some axes, or all.

        z = sqrt((1/m) sum_i (a_i - mean a)^2),     m = n - ddof
        z_dot = (1 / (m z)) sum_i (a_i - mean a) a_dot_i,     a_bar_i = z_bar (a_i - mean a) / (m z)

    Shapes:  a (...) -> z without the axes, or with length 1 in them (keepdims).
    Domain:  n > ddof; otherwise NumPy warns, and z is nan or inf. Equal elements have z = 0, a kink, and derivative 0.
    Cost:    O(n) forward and reverse; saves nothing.

    >>> std(np.array([1.0, 2.0, 6.0]))
    2.160246899469287
    """
    return np.std(a, axis, ddof=ddof, keepdims=keepdims)


@std.vjp("a")
def std_vjp_a(z, z_bar, a, *, axis=None, ddof=0, keepdims=False):
    return scale(spread(z_bar, np.shape(a), axis), direction(z, a, axis, ddof))


@std.jvp
def std_jvp(z, a_dot, a, *, axis=None, ddof=0, keepdims=False):
    return np.sum(scale(a_dot, direction(z, a, axis, ddof)), axis=axis, keepdims=keepdims)


def freedom(a, axis, ddof):
    """n - ddof as NumPy's float, which divides by zero without raising; at least 0."""
    n = np.size(a) // max(int(np.prod(kept_shape(np.shape(a), axis))), 1)
    return dtype_beside(a).type(max(n - ddof, 0))


def deviation(a, axis):
    """a - mean(a).

    >>> deviation(np.array([1.0, 2.0, 6.0]), None)
    array([-2., -1.,  3.])
    """
    return a - np.mean(a, axis=axis, keepdims=True)


def direction(z, a, axis, ddof):
    """The gradient of the standard deviation z: (a - mean a) / (m z), and 0 where z = 0.

    It removes the rounding error of the mean, which for equal elements may be all of a - mean a, and of z.
    """
    length = spread(z, np.shape(a), axis)
    kink = observe(np.equal, length, 0.0)
    centred = deviation(deviation(a, axis), axis)
    return np.where(kink, 0.0, centred / (np.where(kink, 1.0, length) * freedom(a, axis, ddof)))


def squares_where(a, mask, axis, keepdims, mean=None):
    """The sums of squares about the means of the elements where a mask holds, and the numbers of these elements."""
    x, number = np.where(mask, a, 0.0), np.sum(mask, axis, keepdims=True)
    if mean is None:
        mean = np.sum(x, axis=axis, keepdims=True) / np.maximum(number, 1)
    centred = np.where(mask, x - mean, 0.0)
    return np.sum(centred * centred, axis=axis, keepdims=keepdims), np.sum(mask, axis, keepdims=keepdims)


def var_where(a, *, axis=None, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    """The variance with the further options of np.var: a mask, known means, and the standard's name of ddof."""
    ddof = ddof if correction is None else correction
    if where is True and mean is None:
        return var(a, axis=axis, ddof=ddof, keepdims=keepdims)
    squares, number = squares_where(a, mask_of(where, a), axis, keepdims, mean)
    freedom = np.maximum(number - ddof, 0)
    return squares / np.where(freedom == 0, np.nan, freedom)[()]


def std_where(a, *, axis=None, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    """The standard deviation with the further options of np.std."""
    if where is True and mean is None:
        return std(a, axis=axis, ddof=ddof if correction is None else correction, keepdims=keepdims)
    return root_of(var_where(a, axis=axis, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction))


def root_of(variance):
    """The root of a variance; 0 with derivative 0 where that is 0."""
    kink = observe(np.equal, variance, 0.0)
    return np.where(kink, 0.0, np.sqrt(np.where(kink, 1.0, variance)))[()]


var.further, std.further = var_where, std_where


# ---- product ---------------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    numpy=np.prod,
    parameters="a axis dtype out keepdims initial where",
    points=[
        *_POINTS,
        ([1.3, 0.0, 2.1],),
        ([[1.3, 0.0, 2.1], [0.0, 1.9, 0.0]], {"axis": 1}),
        (_ZEROS, {"axis": 0}),
        ([_ZEROS, [[1.3, -0.7, 2.1], [0.4, 1.9, -1.1], [0.6, 1.7, -0.2]]], {"axis": (0, 2)}),
    ],
)
def prod(a, *, axis=None, keepdims=False):
    """Product over some axes, or all.

        z = prod_i a_i,     z_dot = sum_i a_dot_i prod_{k != i} a_k,     a_bar_i = z_bar prod_{k != i} a_k

    Shapes:  a (...) -> z without the axes, or with length 1 in them (keepdims); an empty product is 1.
    Domain:  every a, with zeros too.
    Cost:    O(n) forward and reverse; saves nothing.

    >>> prod(np.array([1.5, 2.0, 4.0]))
    12.0
    """
    return np.prod(a, axis, keepdims=keepdims)


@prod.vjp("a")
def prod_vjp_a(z, z_bar, a, *, axis=None, keepdims=False):
    return scale(spread(z_bar, np.shape(a), axis), others(z, a, axis))


@prod.jvp
def prod_jvp(z, a_dot, a, *, axis=None, keepdims=False):
    return np.sum(scale(a_dot, others(z, a, axis)), axis=axis, keepdims=keepdims)


def others(z, a, axis):
    """The product of the other elements, for each element of a; z is the product of all.

    >>> others(0.0, np.array([2.0, 0.0, 3.0]), None)
    array([0., 6., 0.])
    """
    if is_plain(a) and in_range(z):  # on variables, the derivative of a quotient would cancel
        return spread(z, np.shape(a), axis) / a
    rows = lanes(a, axis)
    before = previous(cumprod(rows, axis=-1), 1.0)
    after = np.flip(previous(cumprod(np.flip(rows, -1), axis=-1), 1.0), -1)
    return from_lanes(before * after, np.shape(a), axis)


with_initial(prod, multiply, 1.0)


@implements(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    """The results of a function of an array and an axis, for several axes in turn; a lost axis comes back."""
    axes = (axes,) if np.ndim(axes) == 0 else axes
    n = np.ndim(a)
    for axis in axes:
        k = axis + n if axis < 0 else axis
        z = func(a, k)
        a = z if np.ndim(z) == np.ndim(a) else np.expand_dims(z, k)
        if np.ndim(a) != n:
            raise ValueError("function is not returning an array of the correct shape")
    return a
