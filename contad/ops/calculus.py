"""Differences, finite-difference gradients, integrals and interpolation of sampled functions."""

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.cotangents import plain, scale
from contad.ops.products import as_array
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import NO_VALUE, implements
from contad.variables.array import Array, lower_constants
from contad.variables.complex_pair import holds_complex, join, split
from contad.variables.dtypes import dtype_beside
from contad.variables.number import Carrier, Number, observe


def cut(a, axis, start, stop=None):
    """A slice of a along one axis.

    >>> cut(np.arange(5.0), 0, 1, -1)
    array([1., 2., 3.])
    """
    return a[(slice(None),) * (axis % a.ndim) + (slice(start, stop),)]


# ---- differences -----------------------------------------------------------------------------------------------------
@implements(np.diff, layout="own")
def diff(a, n=1, axis=-1, prepend=NO_VALUE, append=NO_VALUE):
    """Differences of neighbours along an axis, n times, with optional elements before and after."""
    if n < 0:
        raise ValueError(f"np.diff: n must be at least 0, got {n}")
    a = as_array(a)
    if a.__class__ is np.ndarray and a.dtype == bool and prepend is append is NO_VALUE:
        return np.diff(a, n, axis)  # whether neighbours differ
    if np.ndim(a) == 0:
        raise ValueError("np.diff: a must have one or more dimensions, got shape ()")
    k = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    if n == 0:
        return a
    one = (*a.shape[:k], 1, *a.shape[k + 1 :])
    ends = [None if x is NO_VALUE else np.broadcast_to(x, one) if np.ndim(x) == 0 else x for x in (prepend, append)]
    if any(x is not None for x in ends):
        a = np.concatenate([x for x in (ends[0], a, ends[1]) if x is not None], axis=k)
    for _ in range(n):
        a = cut(a, k, 1) - cut(a, k, 0, -1)
    return a


@implements(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    """Derivatives of samples by central differences, along each axis; spacings are numbers or coordinates."""
    f = as_array(f)
    axes = range(f.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, f.ndim)
    one = not varargs or (len(varargs) == 1 and np.ndim(varargs[0]) == 0)
    spacings = list(varargs or (1.0,)) * len(axes) if one else list(varargs)
    if len(spacings) != len(axes):
        raise TypeError(f"np.gradient: expected one number, or {len(axes)} spacing(s), got {len(varargs)}")
    if edge_order not in (1, 2):
        raise ValueError(f"np.gradient: edge_order must be 1 or 2, got {edge_order}")
    if any(map(holds_complex, spacings)):
        raise TypeError("np.gradient: spacings must be real, got complex numbers")
    found = tuple(_along(f, as_array(x), k, edge_order) for k, x in zip(axes, spacings, strict=True))
    return found[0] if len(found) == 1 else found


def _along(f, spacing, axis, edge_order):
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(f"np.gradient: axis {axis} must have {edge_order + 1} or more elements, got shape {f.shape}")
    if np.ndim(spacing) == 0:
        h = as_array(np.broadcast_to(spacing, (n - 1,)))
        even = uniform = True
    else:
        if np.shape(spacing) != (n,):
            raise ValueError(f"np.gradient: coordinates must have shape ({n},), got {np.shape(spacing)}")
        h = diff(spacing)
        even = bool(np.all(observe(np.equal, h, h[0])))
        uniform = even and not isinstance(h, Carrier)
    slopes = _space(cut(f, axis, 1) - cut(f, axis, 0, -1), h, axis)
    first, last = cut(slopes, axis, 0, 1), cut(slopes, axis, n - 2)
    if n == 2:
        return np.concatenate([first, last], axis=axis)
    if uniform:
        inner = (cut(f, axis, 2) - cut(f, axis, 0, -2)) / (2.0 * h[0])
    else:
        # from the elements, like NumPy: of the two slopes at an infinite element, one would be inf and one -inf
        left, right = h[:-1], h[1:]
        inner = _times(cut(f, axis, 0, -2), -right / (left * (left + right)), axis)
        middle, weight = cut(f, axis, 1, -1), _column((right - left) / (left * right), f, axis)
        inner = inner + (scale(weight, middle) if even else weight * middle)
        inner = inner + _times(cut(f, axis, 2), left / (right * (left + right)), axis)
    if edge_order == 2:
        bend = _space(cut(slopes, axis, 1) - cut(slopes, axis, 0, -1), h[:-1] + h[1:], axis)
        first = first - cut(bend, axis, 0, 1) * h[0]
        last = last + cut(bend, axis, n - 3) * h[n - 2]
    return np.concatenate([first, inner, last], axis=axis)


def _column(h, a, axis):
    return np.reshape(h, [-1 if k == axis else 1 for k in range(a.ndim)])


def _space(a, h, axis):
    return a / _column(h, a, axis)


def _times(a, h, axis):
    return a * _column(h, a, axis)


@implements(np.unwrap, layout="own")
def unwrap(p, discont=None, axis=-1, *, period=2.0 * np.pi):
    """Angles without jumps: each gets a multiple of the period added, which is a constant."""
    p = as_array(p)
    if isinstance(period, Carrier) or isinstance(discont, Carrier):
        raise UnsupportedError("np.unwrap: discont and period must be constants; contad.value_of gives their values")
    found = observe(np.unwrap, p, discont, axis, period=period)
    change = found - observe(np.positive, p)
    moves = np.where(np.isfinite(change), np.rint(np.where(np.isfinite(change), change, 0.0) / period) * period, 0.0)
    return p + np.where(np.isnan(found), np.nan, moves)


# ---- integrals -------------------------------------------------------------------------------------------------------
@implements(np.trapezoid, layout="own")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """Integral of samples along an axis by the trapezoidal rule."""
    y = as_array(y)
    k = np.lib.array_utils.normalize_axis_index(axis, np.ndim(y))
    h = dx
    if x is not None:
        x = as_array(x)
        h = diff(x, axis=axis if x.ndim > 1 else -1)
        h = _column(h, y, k) if x.ndim == 1 else h
    return np.sum(h * (cut(y, k, 1) + cut(y, k, 0, -1)) / 2.0, axis=axis)  # x may have more axes than y


# ---- sums by position ------------------------------------------------------------------------------------------------
@array_rule(
    numpy=np.bincount,
    parameters="x weights minlength",
    linear=("weights",),
    points=[([1.3, -0.7, 2.1, 0.4], {"x": [2, 0, 2, 1]})],
)
def bincount(weights, *, x, minlength=0):
    """Sums of weights by their position.

        z_k = sum of weights_i over x_i = k,     z_dot = bincount(weights_dot),     weights_bar_i = z_bar_{x_i}

    Shapes:  weights (n,), x (n,) integers -> z (max(max x + 1, minlength),).
    Cost:    O(n) forward and reverse; saves nothing.

    >>> bincount(np.array([1.5, 2.0, 4.0]), x=np.array([1, 0, 1]))
    array([2. , 5.5])
    """
    return np.bincount(x, weights, minlength).astype(dtype_beside(weights), copy=False)


@bincount.vjp("weights")
def bincount_vjp_weights(z, z_bar, weights, *, x, minlength=0):
    return np.take(z_bar, x)


# ---- interpolation ---------------------------------------------------------------------------------------------------
_XP = [-1.0, 0.5, 1.2, 3.0]


@array_rule(
    numpy=np.interp,
    parameters="x xp fp left right period",
    points=[
        ([0.3, 2.1, -0.4], [0.6, 1.7, -0.2, 2.3], {"xp": _XP}),
        ([0.3, 2.1, -1.4, 3.5], [0.6, 1.7, -0.2, 2.3], {"xp": _XP, "left": 0.2, "right": -0.3}),
    ],
)
def interp(x, fp, *, xp, left=None, right=None):
    """Piecewise linear interpolation through the points (xp, fp).

        z = fp_j + s_j (x - xp_j),     s_j = (fp_{j+1} - fp_j) / (xp_{j+1} - xp_j),     xp_j <= x < xp_{j+1}
        z_dot = s_j x_dot + interp(x, fp_dot),     x_bar = s_j z_bar,     fp_bar is z_bar shared between both ends

    Shapes:  x (...), fp (n,), xp (n,) increasing constants -> z (...).
    Domain:  outside xp, z is fp_0 or fp_{n-1}, or the constant left or right, and x_bar = 0. At a point of xp the
             derivative is that of the piece on its right, and at the last point that of the piece on its left.
             np.interp also accepts variables as xp, left and right: see `interp_of_points`.
    Cost:    O(log n) for each x, and O(n) in reverse; saves nothing.

    >>> interp(np.array([1.5]), np.array([0.0, 10.0, 30.0]), xp=np.array([0.0, 1.0, 2.0]))
    array([20.])
    """
    return np.interp(x, xp, fp, left, right).astype(dtype_beside(x, fp), copy=False)


@interp.vjp("x")
def interp_vjp_x(z, z_bar, x, fp, *, xp, left=None, right=None):
    return scale(z_bar, slope(x, fp, xp))


@interp.vjp("fp")
def interp_vjp_fp(z, z_bar, x, fp, *, xp, left=None, right=None):
    return interp_cotangent(z_bar, x, np.shape(fp), xp, left, right)


@interp.jvp
def interp_jvp(z, x_dot, fp_dot, x, fp, *, xp, left=None, right=None):
    return scale(x_dot, slope(x, fp, xp)) + interp(x, fp_dot, xp=xp, left=at_end(left), right=at_end(right))


def at_end(value):
    """The tangent of the value beyond one end: 0.0 for a constant, and None if the value follows fp."""
    return None if value is None else 0.0


def _piece(x, xp):
    """For each x, the piece j of the table that contains it, and whether x is inside the table."""
    v, table = np.asarray(plain(x)), np.asarray(xp, dtype_beside(x))
    j = np.clip(np.searchsorted(table, v, side="right") - 1, 0, max(len(table) - 2, 0))
    return j, (v >= table[0]) & (v <= table[-1]) & (len(table) > 1), table


def slope(x, fp, xp):
    """The derivative of the interpolating function at x; 0 outside of the table.

    >>> slope(np.array([0.5, 1.5, 5.0]), np.array([0.0, 10.0, 30.0]), np.array([0.0, 1.0, 2.0]))
    array([10., 20.,  0.])
    """
    j, inside, table = _piece(x, xp)
    if len(table) == 1:
        return np.zeros(j.shape, dtype_beside(x))
    steps = (fp[1:] - fp[:-1]) / np.diff(table)
    return np.where(inside, steps[j], 0.0)


def interp_cotangent(z_bar, x, shape, xp, left, right):
    """The cotangent of fp: z_bar shared between both ends of the piece by distance."""
    j, inside, table = _piece(x, xp)
    v = np.asarray(plain(x))
    n = len(table)
    if n > 1:
        t = np.where(inside, (x - table[j]) / (table[j + 1] - table[j]), (v > table[-1]).astype(table.dtype))
    else:
        t = np.zeros(j.shape, dtype_beside(x))
    lost = (v < table[0]) & (left is not None) | (v > table[-1]) & (right is not None) | np.isnan(v)
    d = np.reshape(np.where(lost, 0.0, z_bar), (-1,))
    far = np.reshape(t, (-1,)) * d
    k = np.minimum(j + 1, n - 1).reshape(-1)
    found = bincount(d - far, x=j.reshape(-1), minlength=n) + bincount(far, x=k, minlength=n)
    return np.reshape(found, shape)


def _in_one_period(x, xp, fp, period):
    """The arguments of np.interp in one period, with an extra point on both sides; the period is a constant."""
    if isinstance(lower_constants(period), Carrier):
        raise UnsupportedError("np.interp: period must be a constant; contad.value_of gives its value")
    if period == 0:
        raise ValueError("np.interp: period must be a non-zero value")
    period = abs(period)
    x, xp, fp = map(as_array, (x, xp, fp))
    if np.ndim(xp) != 1 or np.shape(xp) != np.shape(fp):
        raise ValueError(f"np.interp: xp and fp must be of one length, got shapes {np.shape(xp)} and {np.shape(fp)}")
    x, xp = x % period, xp % period
    order = observe(np.argsort, xp)
    xp, fp = xp[order], fp[order]
    ends = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, ends, np.concatenate([fp[-1:], fp, fp[:1]])


@implements(np.interp)
def interp_of_points(x, xp, fp, left=None, right=None, period=None):
    """np.interp: the rule, or operations on the pieces if the points or the ends are variables."""
    for name, v in (("x", x), ("xp", xp)):
        if holds_complex(v):
            raise TypeError(f"np.interp: {name} must be real, got complex numbers")
    if holds_complex(fp):
        ends = [(v, v) if v is None else split(v) for v in (left, right)]
        parts = zip(split(fp), *ends, strict=True)
        return join(*(interp_of_points(x, xp, part, *given, period) for part, *given in parts))
    if period is not None:
        x, xp, fp = _in_one_period(x, xp, fp, period)
        left = right = None
    if not any(isinstance(v, Array | Number) for v in (lower_constants(xp), left, right)):
        return interp(x, fp, xp=xp, left=left, right=right)
    x, xp, fp = map(as_array, (x, xp, fp))
    fp = fp.astype(np.float64) if fp.__class__ is np.ndarray and fp.dtype == bool else fp
    for name, end in (("left", left), ("right", right)):
        if end is not None and np.ndim(end):
            raise TypeError(f"np.interp: {name} must be a number, got an array of shape {np.shape(end)}")
    if np.ndim(xp) != 1 or np.shape(xp) != np.shape(fp) or not np.size(xp):
        raise ValueError(
            f"np.interp: xp and fp must be of one length, got shapes {np.shape(xp)} and {np.shape(fp)}"
            if np.size(xp)
            else "np.interp: array of sample points is empty"
        )
    n = np.size(xp)
    at = np.clip(observe(np.searchsorted, xp, x, "right") - 1, 0, n - 1)
    j = np.minimum(at, max(n - 2, 0))
    k = np.minimum(j + 1, n - 1)
    steps = 0.0 if n == 1 else (fp[k] - fp[j]) / (xp[k] - xp[j])
    z = fp[j] + steps * (x - xp[j])
    lost = observe(np.isnan, z) & ~observe(np.isnan, x)
    if np.any(lost):  # at equal points and next to infinite ones, NumPy tries the other end of the piece
        other = fp[k] + steps * (x - xp[k])
        z = np.where(lost, np.where(observe(np.equal, x, xp[at]), fp[at], other), z)
    z = np.where(observe(np.less, x, xp[0]), fp[0] if left is None else left, z)
    return np.where(observe(np.greater, x, xp[-1]), fp[-1] if right is None else right, z)
