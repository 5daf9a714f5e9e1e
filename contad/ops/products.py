"""Products of vectors, matrices and stacks of matrices: one primitive, `matmul`, and products built from it."""

import math

import numpy as np

from contad.ops.cotangents import all_finite, fold, plain, scale
from contad.ops.shape import refuse_given
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import ComplexPair, is_complex
from contad.variables.dtypes import COMPLEX, FLOAT
from contad.variables.number import Carrier, peek

_A, _B = [[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]], [[0.6, 1.7], [-0.2, 2.3], [-1.4, 0.9]]


# ---- the primitive ---------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    numpy=(np.matmul, np.linalg.matmul),
    linear=("a", "b"),
    points=[
        (_A, _B),
        (_A, [0.6, 1.7, -0.2]),
        ([0.4, -1.9], _A),
        ([0.4, -1.9, 0.7], [1.2, 0.3, 2.2]),
        ([_A, [[0.3, 1.1, -0.8], [2.4, 0.5, 1.6]]], _B),
        (_A, [_B, [[0.3, 1.1], [-0.8, 2.4], [0.5, 1.6]]]),
        ([0.6, 1.7, -0.2], [_B, [[0.3, 1.1], [-0.8, 2.4], [0.5, 1.6]]]),
    ],
)
def matmul(a, b):
    """Matrix product, also of stacks; vectors are rows on the left and columns on the right.

        z = a b,     z_dot = a_dot b + a b_dot,     a_bar = z_bar b^T,     b_bar = a^T z_bar

    Shapes:  a (..., n, p), b (..., p, m) -> z (..., n, m); the stacks broadcast. Without n or m, a vector (p,).
    Domain:  a zero of z_bar masks infinite elements of the other factor.
    Raises:  ValueError if the lengths p differ or the stacks do not broadcast.
    Cost:    O(n m p) forward, twice that in reverse; saves nothing.
    Ref:     Giles (2008), section 2.2.2.

    >>> matmul(np.array([[1.0, 2.0], [0.5, 1.0]]), np.array([3.0, 4.0]))
    array([11. ,  5.5])
    """
    return np.matmul(a, b)


@matmul.structure("a")
def matmul_structure_a(a, b):
    elements, _, results = _terms(a, b)
    return results, elements


@matmul.structure("b")
def matmul_structure_b(a, b):
    _, elements, results = _terms(a, b)
    return results, elements


def _terms(a, b):
    """The indices of a_ik, b_kj and z_ij for each product of two elements."""
    x, y = (np.arange(np.size(p)).reshape(np.shape(p)) for p in (a, b))
    x, y = x[None, :] if x.ndim == 1 else x, y[:, None] if y.ndim == 1 else y
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    shape = *lead, x.shape[-2], y.shape[-1]
    z = np.arange(math.prod(shape)).reshape(shape)
    found = np.broadcast_arrays(x[..., :, :, None], y[..., None, :, :], z[..., :, None, :])
    return tuple(numbers.reshape(-1) for numbers in found)


@matmul.vjp("a")
def matmul_vjp_a(z, z_bar, a, b):
    return left_cotangent(z_bar, np.shape(a), b)


@matmul.vjp("b")
def matmul_vjp_b(z, z_bar, a, b):
    return right_cotangent(z_bar, a, np.shape(b))


def masked_product(d, p):
    """d @ p, where zeros of d mask non-finite elements of p; p has two or more dimensions.

    >>> with np.errstate(invalid="ignore"):
    ...     masked_product(np.array([[0.0, 2.0]]), np.array([[np.inf], [3.0]]))
    array([[6.]])
    """
    if d.__class__ is p.__class__ is np.ndarray and d.dtype is p.dtype is FLOAT:
        z = d.dot(p) if d.ndim == p.ndim == 2 else np.matmul(d, p)  # the ufunc takes longer than a small product
    else:
        with np.errstate(invalid="ignore"):  # for an adjoint from a pole
            z = matmul(d, p)
    if all_finite(z):
        return z
    v = plain(p)
    if np.isfinite(v).all() or (plain(d) != 0.0).all():
        return z
    if np.ndim(d) == 1:
        return masked_product(d[None, :], p)[..., 0, :]
    bad = ~np.isfinite(v).all(axis=(*range(v.ndim - 2), v.ndim - 1))
    good = np.flatnonzero(~bad)
    z = matmul(d[..., good], p[..., good, :])
    for k in np.flatnonzero(bad):
        z = z + scale(d[..., k, None], p[..., k, None, :])
    return z


def left_cotangent(z_bar, shape, b):
    """The cotangent of a in z = a @ b, where a has the given shape."""
    if b.ndim == 1:
        return scale(z_bar, b) if len(shape) == 1 else scale(np.expand_dims(z_bar, -1), b)
    if len(shape) <= 2 < b.ndim:  # one matrix times a stack: its cotangent is one product that also sums over the stack
        row = np.expand_dims(z_bar, -2) if len(shape) == 1 else z_bar
        wide = np.reshape(np.moveaxis(row, -2, 0), (row.shape[-2], -1))
        tall = np.swapaxes(np.reshape(np.moveaxis(b, -2, 0), (b.shape[-2], -1)), 0, 1)
        return np.reshape(masked_product(wide, tall), shape)
    return fold(masked_product(z_bar, np.swapaxes(b, -1, -2)), shape)


def right_cotangent(z_bar, a, shape):
    """The cotangent of b in z = a @ b, where b has the given shape."""
    if a.ndim == 1:
        return scale(z_bar, a) if len(shape) == 1 else scale(np.expand_dims(z_bar, -2), a[:, None])
    if len(shape) <= 2:
        tall = np.reshape(a, (-1, a.shape[-1])) if a.ndim > 2 else a
        if len(shape) == 1:
            return masked_product(np.reshape(z_bar, (-1,)), tall)
        wide = np.reshape(z_bar, (-1, z_bar.shape[-1])) if a.ndim > 2 else z_bar
        return np.swapaxes(masked_product(np.swapaxes(wide, 0, 1), tall), 0, 1)
    return fold(np.swapaxes(masked_product(np.swapaxes(z_bar, -1, -2), a), -1, -2), shape)


# ---- products of vectors and of many dimensions ----------------------------------------------------------------------
def as_array(x):
    """x itself if it is an array of some level or of NumPy, or a number of a level; otherwise a NumPy array of it."""
    return x if isinstance(x, (Carrier, np.ndarray, ComplexPair)) else np.asarray(x)


def multiple(a, b):
    """a b, where one of them is a number; matrices are in C order, like NumPy's products, other arrays need not be."""
    z = a * b
    return z if np.ndim(z) != 2 or peek(z).flags.c_contiguous else z.copy()


@implements(np.dot, layout="own")
def dot(a, b, out=None):
    """Product of vectors and matrices; with three or more dimensions, over the last of a and the last but one of b."""
    if out is not None:
        refuse_given(np.dot, out=out)
    a, b = as_array(a), as_array(b)
    n, m = getattr(a, "ndim", 0), getattr(b, "ndim", 0)
    if n == 0 or m == 0:
        return multiple(a, b)
    if m == 1 or (n <= 2 and m == 2):
        return matmul(a, b)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,)))


@implements(np.vdot, layout="own")
def vdot(a, b, /):
    """Inner product of the elements of two arrays, the first one conjugated."""
    a = as_array(a)
    return dot(np.reshape(np.conj(a) if is_complex(a) else a, (-1,)), np.reshape(as_array(b), (-1,)))


@implements(np.inner, layout="own")
def inner(a, b, /):
    """Sum of products over the last axes."""
    a, b = as_array(a), as_array(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return multiple(a, b)
    if b.ndim == 1:
        return matmul(a, b)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@implements(np.outer, layout="own")
def outer(a, b, out=None):
    """Products of all pairs of elements, as a matrix."""
    refuse_given(np.outer, out=out)
    return np.reshape(as_array(a), (-1, 1)) * np.reshape(as_array(b), (1, -1))


@implements(np.linalg.outer, layout="own")
def outer_of_vectors(x1, x2, /):
    """Products of all pairs of elements of two vectors."""
    x1, x2 = as_array(x1), as_array(x2)
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(
            f"np.linalg.outer: x1 and x2 must be vectors, got shapes {np.shape(x1)} and {np.shape(x2)}; np.outer takes "
            "any arrays"
        )
    return outer(x1, x2)


@implements(np.kron, layout="own")
def kron(a, b):
    """Kronecker product: blocks of b, each scaled by an element of a."""
    a, b = as_array(a), as_array(b)
    n = max(np.ndim(a), np.ndim(b))
    rows = (1,) * (n - np.ndim(a)) + np.shape(a)
    columns = (1,) * (n - np.ndim(b)) + np.shape(b)
    spaced = np.reshape(a, [m for pair in zip(rows, (1,) * n, strict=True) for m in pair])
    spaced = spaced * np.reshape(b, [m for pair in zip((1,) * n, columns, strict=True) for m in pair])
    return np.reshape(spaced, [m * k for m, k in zip(rows, columns, strict=True)])


@implements(np.tensordot, np.linalg.tensordot, layout="asked on corners")
def tensordot(a, b, axes=2):
    """Sum of products over pairs of axes."""
    a, b = as_array(a), as_array(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:  # a number, which has no axes
        if np.ndim(axes) == 0 and axes == 0:
            return np.reshape(np.reshape(a * b, -1), a.shape or b.shape)  # an array even if both are numbers
        raise ValueError(
            f"np.tensordot: a and b must have the axes that are summed over, {axes!r}, got shapes {np.shape(a)} and "
            f"{np.shape(b)}; write a * b for the product with a number"
        )
    if np.ndim(axes) == 0 and not isinstance(axes, (list, tuple)):
        over_a, over_b = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        over_a, over_b = (tuple(np.atleast_1d(k).tolist()) for k in axes)
    over_a = np.lib.array_utils.normalize_axis_tuple(over_a, a.ndim, "axes of a")
    over_b = np.lib.array_utils.normalize_axis_tuple(over_b, b.ndim, "axes of b")
    lengths = [a.shape[k] for k in over_a]
    if lengths != [b.shape[k] for k in over_b]:
        raise ValueError(f"np.tensordot: shape-mismatch for sum: {a.shape} over {over_a} and {b.shape} over {over_b}")
    free_a = [k for k in range(a.ndim) if k not in over_a]
    free_b = [k for k in range(b.ndim) if k not in over_b]
    p = math.prod(lengths)
    left = _reorder(a, (*free_a, *over_a), (math.prod(a.shape[k] for k in free_a), p))
    right = _reorder(b, (*over_b, *free_b), (p, math.prod(b.shape[k] for k in free_b)))
    shape = [a.shape[k] for k in free_a] + [b.shape[k] for k in free_b]
    z = matmul(left, right)
    return z if list(z.shape) == shape else np.reshape(z, shape)


def _reorder(a, order, shape):
    """a with its axes in another order and then another shape; a itself if neither changes."""
    if order != tuple(range(len(order))):
        a = np.transpose(a, order)
    return a if a.shape == shape else np.reshape(a, shape)


if hasattr(np, "vecdot"):

    @implements(np.vecdot, np.linalg.vecdot, layout="own")
    def vecdot(x1, x2, /, *, axis=-1):
        """Sum of products along an axis of two arrays whose other axes broadcast."""
        x1, x2 = as_array(x1), as_array(x2)
        lengths = [np.shape(x)[axis] if np.ndim(x) else None for x in (x1, x2)]
        if None in lengths or lengths[0] != lengths[1]:
            raise ValueError(
                f"np.vecdot: x1 and x2 must have one length along axis {axis}, got shapes {np.shape(x1)} and "
                f"{np.shape(x2)}"
            )
        return np.sum((np.conj(x1) if is_complex(x1) else x1) * x2, axis=axis)


if hasattr(np, "matvec"):  # NumPy 2.2

    @implements(np.matvec, layout="own")
    def matvec(x1, x2, /):
        """Products of matrices in the last two axes with vectors in the last one."""
        x1, x2 = as_array(x1), as_array(x2)
        _require_axes("np.matvec", x1, 2, x2, 1)
        return matmul(x1, x2[..., None])[..., 0]

    @implements(np.vecmat, layout="own")
    def vecmat(x1, x2, /):
        """Products of vectors in the last axis, conjugated, with matrices in the last two."""
        x1, x2 = as_array(x1), as_array(x2)
        _require_axes("np.vecmat", x1, 1, x2, 2)
        return matmul((np.conj(x1) if is_complex(x1) else x1)[..., None, :], x2)[..., 0, :]


def _require_axes(name, x1, n, x2, m):
    if np.ndim(x1) < n or np.ndim(x2) < m:
        raise ValueError(f"{name}: expected {n} and {m} or more axes, got shapes {np.shape(x1)} and {np.shape(x2)}")


# ---- the cross product -----------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    numpy=np.cross,
    parameters="a b axisa axisb axisc axis",
    linear=("a", "b"),
    points=[
        ([1.3, -0.7, 2.1], [0.4, 1.9, -1.1]),
        (_A, [0.4, 1.9, -1.1]),
        (_B, [0.4, 1.9, -1.1], {"axisa": 0}),
        (_B, [[0.3, 1.1], [-0.8, 2.4], [0.5, 1.6]], {"axis": 0}),
    ],
)
def cross(a, b, *, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Cross product of vectors with three elements.

        z = a x b,     z_dot = a_dot x b + a x b_dot,     a_bar = b x z_bar,     b_bar = z_bar x a

    Shapes:  a, b with 3 elements along their axes and other axes that broadcast -> z.
    Raises:  ValueError if the length along an axis is not 3.
    Cost:    O(n) forward and reverse; saves nothing.

    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0]))
    array([0., 0., 2.])
    """
    axes = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    for name, x, k in (("a", a, axes[0]), ("b", b, axes[1])):
        if not np.ndim(x) or np.shape(x)[k] != 3:
            raise ValueError(
                f"np.cross: {name} must have 3 elements along axis {k}, got shape {np.shape(x)}; of vectors with 2 "
                "elements the product is a[0] * b[1] - a[1] * b[0]"
            )
    return np.cross(a, b, *axes)


@cross.vjp("a")
def cross_vjp_a(z, z_bar, a, b, *, axisa=-1, axisb=-1, axisc=-1, axis=None):
    return -cross_cotangent(z_bar, b, np.shape(a), axisc, axisb, axisa, axis)


@cross.vjp("b")
def cross_vjp_b(z, z_bar, a, b, *, axisa=-1, axisb=-1, axisc=-1, axis=None):
    return cross_cotangent(z_bar, a, np.shape(b), axisc, axisa, axisb, axis)


_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


def cross_cotangent(z_bar, p, shape, axis_z, axis_p, axis_out, axis):
    """z_bar x p, where zeros of z_bar mask p, summed to the shape of the argument."""
    if axis is not None:
        axis_z = axis_p = axis_out = axis
    d, q = np.moveaxis(z_bar, axis_z, -1), np.moveaxis(p, axis_p, -1)
    found = scale(d[..., _NEXT], q[..., _LAST]) - scale(d[..., _LAST], q[..., _NEXT])
    k = axis_out % len(shape)
    rows = (*shape[:k], *shape[k + 1 :], shape[k])
    return np.moveaxis(fold(found, rows), -1, axis_out)


@implements(np.linalg.cross, layout="own")
def cross_along(x1, x2, /, *, axis=-1):
    """Cross product of vectors with three elements along one axis."""
    return cross(x1, x2, axis=axis)
