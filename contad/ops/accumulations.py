"""Cumulative sums and products, and the linear recurrence that is the derivative of a cumulative product."""

import numpy as np

from contad.ops.cotangents import in_range, previous, scale
from contad.ops.shape import refuse_given
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.array import is_plain
from contad.variables.dtypes import COMPLEX, dtype_beside

_ZEROS = [[1.3, 0.0, 2.1], [0.0, 1.9, -1.1], [0.6, 0.0, 0.0]]  # one and several along either axis


def along(a, axis):
    """(a, axis) in the form that NumPy accumulates: flattened if no axis is given, and scalars with one axis.

    >>> along(np.ones((2, 3)), None)[0].shape
    (6,)
    """
    return (np.reshape(a, (-1,)), 0) if axis is None or np.ndim(a) == 0 else (a, axis)


# ---- sums ------------------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    numpy=np.cumsum,
    parameters="a axis dtype out",
    linear=("a",),
    points=[
        ([1.3, -0.7, 2.1],),
        ([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]], {"axis": 1}),
        ([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]], {"axis": -2}),
        ([[1.3, -0.7], [0.4, 1.9]],),
    ],
)
def cumsum(a, *, axis=None):
    """Cumulative sum along an axis, or of the flattened array.

        z_i = sum_{k <= i} a_k,     z_dot = cumsum(a_dot),     a_bar_i = sum_{k >= i} z_bar_k

    Shapes:  a (...) -> z (...); (n,) with axis=None.
    Cost:    O(n) forward and reverse; saves nothing.

    >>> cumsum(np.array([1.0, 2.0, 4.0]))
    array([1., 3., 7.])
    """
    return np.cumsum(a, axis)


@cumsum.structure("a")
def cumsum_structure_a(a, *, axis=None):
    rows, k = along(np.arange(np.size(a)).reshape(np.shape(a)), axis)
    lines = np.moveaxis(rows, k, -1).reshape(-1, rows.shape[k])  # results in the memory order of the elements
    if lines.shape[1] * lines.size > 20_000_000:
        return None
    later, earlier = np.tril_indices(rows.shape[k])
    return lines[:, later].reshape(-1), lines[:, earlier].reshape(-1)


@cumsum.vjp("a")
def cumsum_vjp_a(z, z_bar, a, *, axis=None):
    return np.reshape(reverse_cumsum(z_bar, axis), np.shape(a))


def reverse_cumsum(x, axis):
    """Sums from each element to the last one along an axis.

    >>> reverse_cumsum(np.array([1.0, 2.0, 4.0]), 0)
    array([7., 6., 4.])
    """
    rows, k = along(x, axis)
    return np.flip(np.cumsum(np.flip(rows, k), k), k)


# ---- recurrences -----------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    points=[
        ([0.3, -0.7, 2.1], [1.3, 0.8, -0.4]),
        ([[0.3, -0.7], [1.2, 0.5]], [[1.3, 0.8], [-0.4, 0.9]]),
        ([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]], [[0.6, 1.7, -0.2], [2.3, 0.9, -1.6]], {"axis": 0}),
    ]
)
def linear_recurrence(a, b, *, axis=-1):
    """Linear recurrence of first order along an axis.

        z_0 = b_0,     z_i = a_i z_{i-1} + b_i
        z_dot = linear_recurrence(a, b_dot + a_dot z_{i-1})
        b_bar_i = z_bar_i + a_{i+1} b_bar_{i+1},     a_bar_i = b_bar_i z_{i-1}

    Shapes:  a (...), b of the same shape -> z of that shape; a_0 is not used.
    Domain:  a zero term z_{i-1} masks an infinite a_i.
    Cost:    O(n) forward and reverse; saves nothing.

    >>> linear_recurrence(np.array([0.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]))
    array([ 1.,  3., 10.])
    """
    rows, z = np.moveaxis(a, axis, 0), np.moveaxis(np.array(b, dtype_beside(a, b)), axis, 0)
    if z.ndim == 1:  # one at a time, Python's floats are faster than NumPy's
        last, found = 0.0, []
        for p, q in zip(rows.tolist(), z.tolist(), strict=True):
            last = p * last + q if last != 0.0 else q
            found.append(last)
        return np.array(found, z.dtype)
    for i in range(1, len(z)):
        z[i] += scale(z[i - 1], rows[i])
    return np.moveaxis(z, 0, axis)


@linear_recurrence.vjp("a")
def linear_recurrence_vjp_a(z, z_bar, a, b, *, axis=-1):
    return scale(reverse_recurrence(a, z_bar, axis), previous(z, 0.0, axis))


@linear_recurrence.vjp("b")
def linear_recurrence_vjp_b(z, z_bar, a, b, *, axis=-1):
    return reverse_recurrence(a, z_bar, axis)


@linear_recurrence.jvp
def linear_recurrence_jvp(z, a_dot, b_dot, a, b, *, axis=-1):
    return linear_recurrence(a, b_dot + scale(a_dot, previous(z, 0.0, axis)), axis=axis)


def reverse_recurrence(a, b, axis):
    """The transpose of `linear_recurrence` in b: z_i = b_i + a_{i+1} z_{i+1}, from the last element.

    >>> reverse_recurrence(np.array([0.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]), 0)
    array([9., 4., 1.])
    """
    return np.flip(linear_recurrence(np.roll(np.flip(a, axis), 1, axis), np.flip(b, axis), axis=axis), axis)


# ---- products --------------------------------------------------------------------------------------------------------
@array_rule(
    dtypes=COMPLEX,
    numpy=np.cumprod,
    parameters="a axis dtype out",
    points=[
        ([1.3, -0.7, 2.1],),
        ([1.3, 0.0, 2.1, 0.0, 0.6],),
        ([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]], {"axis": 1}),
        ([[1.3, -0.7], [0.4, 1.9]],),
        (_ZEROS, {"axis": 0}),
        (_ZEROS, {"axis": 1}),
    ],
)
def cumprod(a, *, axis=None):
    """Cumulative product along an axis, or of the flattened array.

        z_i = prod_{k <= i} a_k,     z_dot_i = a_i z_dot_{i-1} + a_dot_i z_{i-1}
        a_bar_i = z_{i-1} r_i,     r_i = z_bar_i + a_{i+1} r_{i+1}

    Shapes:  a (...) -> z (...); (n,) with axis=None.
    Domain:  every a, with zeros too.
    Cost:    O(n) forward and reverse; by a cumulative sum, or by a recurrence if a product is zero, tiny or infinite.

    >>> cumprod(np.array([1.5, 2.0, 3.0]))
    array([1.5, 3. , 9. ])
    """
    return np.cumprod(a, axis)


@cumprod.vjp("a")
def cumprod_vjp_a(z, z_bar, a, *, axis=None):
    return cumprod_cotangent(z, z_bar, a, axis)


@cumprod.jvp
def cumprod_jvp(z, a_dot, a, *, axis=None):
    return cumprod_tangent(z, a_dot, a, axis)


def cumprod_cotangent(z, z_bar, a, axis):
    """The cotangent of a in z = cumprod(a, axis)."""
    rows, k = along(a, axis)
    if is_plain(a) and in_range(z):  # on variables, the derivative of a quotient would cancel
        found = reverse_cumsum(z_bar * z, k) / rows
    else:
        found = scale(reverse_recurrence(rows, z_bar, k), previous(z, 1.0, k))
    return np.reshape(found, np.shape(a))


def cumprod_tangent(z, a_dot, a, axis):
    """The tangent of z = cumprod(a, axis)."""
    rows, k = along(a, axis)
    dots = np.reshape(a_dot, np.shape(rows))
    if is_plain(a) and in_range(z):
        return z * np.cumsum(dots / rows, k)
    return linear_recurrence(rows, scale(dots, previous(z, 1.0, k)), axis=k)


# ---- NumPy's other names ---------------------------------------------------------------------------------------------
def cumulative(function, accumulate, first):
    """Declare np.cumulative_sum or np.cumulative_prod, which may begin with the empty sum or product."""

    def implementation(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        refuse_given(function, dtype=dtype, out=out)
        x = np.reshape(x, (1,)) if np.ndim(x) == 0 else x
        if axis is None and np.ndim(x) != 1:
            raise ValueError(f"np.{function.__name__}: axis must be given for an array of shape {np.shape(x)}")
        k = 0 if axis is None else axis
        z = accumulate(x, axis=k)
        if include_initial:
            one = tuple(1 if j == k % z.ndim else n for j, n in enumerate(z.shape))
            z = np.concatenate([np.full(one, first), z], axis=k)
        return z

    implements(function)(implementation)


if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    cumulative(np.cumulative_sum, cumsum, 0.0)
    cumulative(np.cumulative_prod, cumprod, 1.0)
