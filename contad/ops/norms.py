"""Norms of vectors and matrices, and condition numbers."""

from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.cotangents import plain, reduced_axes, scale, spread
from contad.ops.linear_systems import inv
from contad.ops.products import as_array
from contad.ops.singular_spectra import svdvals
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import is_complex
from contad.variables.dtypes import dtype_beside
from contad.variables.number import Carrier, observe

_VECTOR, _MATRIX = [1.3, -0.7, 2.1], [[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]]
_AXES: list[dict[str, Any]] = [{"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1), "keepdims": True}]


# ---- lengths ---------------------------------------------------------------------------------------------------------
@array_rule(points=[(_VECTOR,), (_MATRIX,), *((_MATRIX, options) for options in _AXES)])
def euclidean_norm(x, *, axis=None, keepdims=False):
    """The root of the sum of squares over some axes, or all; np.linalg.norm calls it.

        z = sqrt(sum x^2),     z_dot = sum(u x_dot),     x_bar = u z_bar,     u = x / z, 0 where z = 0

    Shapes:  x (...) -> z without the axes, or with length 1 in them (keepdims).
    Domain:  every x; at 0, a kink, the derivative is the subgradient 0.
    Cost:    O(n) forward and reverse; saves nothing.

    >>> euclidean_norm(np.array([3.0, -4.0]))
    5.0
    """
    if axis is None or np.ndim(axis) == 0:
        return np.linalg.norm(x, axis=axis, keepdims=keepdims)
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


@euclidean_norm.vjp("x")
def euclidean_norm_vjp_x(z, z_bar, x, *, axis=None, keepdims=False):
    return scale(spread(z_bar, np.shape(x), axis), directions(z, x, axis))


@euclidean_norm.jvp
def euclidean_norm_jvp(z, x_dot, x, *, axis=None, keepdims=False):
    return np.sum(scale(x_dot, directions(z, x, axis)), axis=axis, keepdims=keepdims)


def directions(z, x, axis):
    """x over its norm z; 0 where z is 0."""
    if z.__class__ is float and z != 0.0 and x.__class__ is np.ndarray:
        return x / z
    length = spread(z, np.shape(x), axis)
    zero = plain(length) == 0.0
    return np.where(zero, 0.0, x / np.where(zero, 1.0, length))


@array_rule(
    points=[
        (_VECTOR, {"ord": 3}),
        (_VECTOR, {"ord": 0.5}),
        (_VECTOR, {"ord": -1.5}),
        *((_MATRIX, {"ord": 2.5, **options}) for options in _AXES),
    ]
)
def power_norm(x, *, ord, axis=None, keepdims=False):
    """(sum |x|^p)^(1/p) over some axes, or all, for p = ord; np.linalg.norm calls it.

        z_dot = sum(u x_dot),     x_bar = u z_bar,     u = sign(x) (|x| / z)^(p - 1), 0 where z = 0

    Shapes:  x (...) -> z without the axes, or with length 1 in them (keepdims).
    Domain:  every x; at 0 the derivative is the subgradient 0. For p < 1 it is nan for elements that are 0.
    Cost:    O(n) powers forward and reverse; saves nothing.

    >>> power_norm(np.array([1.0, -2.0, 2.0]), ord=3)
    2.571281590658235
    """
    with np.errstate(divide="ignore"):
        return np.sum(np.abs(x) ** ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


@power_norm.vjp("x")
def power_norm_vjp_x(z, z_bar, x, *, ord, axis=None, keepdims=False):
    return scale(spread(z_bar, np.shape(x), axis), power_shares(z, x, ord, axis))


@power_norm.jvp
def power_norm_jvp(z, x_dot, x, *, ord, axis=None, keepdims=False):
    return np.sum(scale(x_dot, power_shares(z, x, ord, axis)), axis=axis, keepdims=keepdims)


def power_shares(z, x, p, axis):
    """sign(x) (|x| / z)^(p - 1); 0 where z is 0."""
    length = spread(z, np.shape(x), axis)
    zero = plain(length) == 0.0
    return np.where(zero, 0.0, np.sign(x) * (np.abs(x) / np.where(zero, 1.0, length)) ** (p - 1.0))


# ---- NumPy's functions -----------------------------------------------------------------------------------------------
def check_order(ord):
    """Refuse an order that carries a derivative, or is a string that NumPy does not accept for vectors."""
    if isinstance(ord, Carrier):
        raise UnsupportedError(
            "np.linalg.norm: ord must be a constant; write np.sum(np.abs(x) ** ord) ** (1 / ord) for an order that is "
            "differentiated"
        )
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order {ord!r} for vectors")


@implements(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of vectors along axes; over all elements if no axis is given."""
    x = magnitudes(as_array(x))
    check_order(ord)
    axes = reduced_axes(np.ndim(x), axis)
    if ord is None or ord == 2:
        return euclidean_norm(x, axis=axes, keepdims=keepdims)
    if np.size(x) == 0 and ord in (np.inf, -np.inf):  # 0 or an error; there is nothing to differentiate
        return observe(np.linalg.vector_norm, x, axis=axes, keepdims=keepdims, ord=ord)
    if ord == np.inf:
        return np.max(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == 0:
        return np.sum(observe(np.not_equal, x, 0.0).astype(dtype_beside(x)), axis=axes, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axes, keepdims=keepdims)
    return power_norm(x, ord=ord, axis=axes, keepdims=keepdims)


def magnitudes(x):
    """|x| of a complex x, whose norms it has."""
    return np.abs(x) if is_complex(x) else x


def norm_of_matrices(x, ord, axes, keepdims):
    """The norm of the matrices in two axes of x."""
    x = x if ord in (2, -2, "nuc") else magnitudes(x)
    rows, columns = axes
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if ord is None or ord in ("fro", "f"):
        return euclidean_norm(x, axis=axes, keepdims=keepdims)
    if np.size(x) == 0:  # 0 or an error, depending on the NumPy version; there is nothing to differentiate
        return observe(np.linalg.norm, x, ord, axes, keepdims)
    if ord in (2, -2, "nuc"):
        s = np.abs(svdvals(np.moveaxis(x, axes, (-2, -1))))  # their derivative is 0 at 0, a kink of every norm
        z = np.sum(s, axis=-1) if ord == "nuc" else np.take(s, 0 if ord == 2 else -1, axis=-1)
    elif ord in (1, -1, np.inf, -np.inf):
        summed, left = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = np.sum(np.abs(x), axis=summed)
        left -= left > summed
        z = np.max(sums, axis=left) if ord > 0 else np.min(sums, axis=left)
    else:
        raise ValueError(f"Invalid norm order {ord!r} for matrices")
    if keepdims:
        z = np.reshape(z, [1 if k in axes else n for k, n in enumerate(np.shape(x))])
    return z


@implements(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of matrices in the last two axes."""
    x = as_array(x)
    return norm_of_matrices(x, ord, reduced_axes(np.ndim(x), (-2, -1)), keepdims)


@implements(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of vectors or matrices: of the whole array, of vectors along one axis, of matrices in two."""
    x = as_array(x)
    if isinstance(ord, Carrier):
        check_order(ord)
    if axis is None and ord is None:
        return euclidean_norm(magnitudes(x), keepdims=keepdims)
    axes = reduced_axes(np.ndim(x), axis)
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)
    if len(axes) == 2:
        return norm_of_matrices(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


@implements(np.linalg.cond, layout="own")
def cond(x, p=None):
    """The condition number of matrices, in the norm p; by singular values for None, 2 and -2."""
    x = as_array(x)
    if np.ndim(x) < 2 or not np.size(x):
        raise np.linalg.LinAlgError(f"np.linalg.cond: x must be matrices with elements, got shape {np.shape(x)}")
    if p is None or p in (2, -2):
        s = svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    axes = (np.ndim(x) - 2, np.ndim(x) - 1)
    return norm_of_matrices(x, p, axes, False) * norm_of_matrices(inv(x), p, axes, False)
