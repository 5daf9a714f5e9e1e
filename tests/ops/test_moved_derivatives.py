"""Movement and selection differentiated once and twice, in both modes, against differences."""

import numpy as np
import pytest

import contad
from tests.judges.samples import sampled
from tests.ops import movement_calls as movement, selection_calls as selection
from tests.ops.plain_calls import split_calls

# calls with arithmetic in them, beside those that only move
COMPUTED = split_calls("""
np.clip(v, 1.5, 3.5); np.clip(m, v[:4] * 3, None); np.clip(c, v, 2 * v); np.ptp(v); np.ptp(m, 1, keepdims=True)
np.nansum(np.where(v > 3, v * v, np.nan)); np.nansum(np.where(m > 9, m, np.nan), axis=0, keepdims=True)
np.nanprod(np.where(v > 3, v, np.nan)); np.nancumsum(np.where(m > 9, m, np.nan), axis=1)
np.nancumprod(np.where(v > 3, v, np.nan)) * v; np.nanmean(np.where(m > 9, m * v[:4], np.nan), axis=0)
np.nanmean(np.where(v > 3, v * v, np.nan), keepdims=True); np.nanmax(np.where(m > 9, m * m, np.nan), 0)
np.round(v * 1.26, 1) * v; np.around(v * 126, decimals=-1) * v; np.fix(-v * 1.26) * v; np.quantile(v, 0.3)
np.quantile(t, [[0.3, 0.99]], axis=(0, 2)); np.percentile(m, 37.0, axis=1, keepdims=True); np.median(m)
np.median(t, axis=(0, 1)); np.ediff1d(m); np.ediff1d(v, to_end=[v[0], 1.0], to_begin=m[0])
np.sort(np.partition(v, 2)); np.ones_like(v) * v; np.piecewise(v, [v < 2, v > 4], [lambda x: x * x, 1.0, np.sin])
np.where(v > 2, np.log(v), v * v); np.max(np.sin(m) * v[:4], axis=0); np.concatenate([m * v[:4], np.sin(m)])[::-1]
np.concatenate([v, np.array([v[0], v[1] * m[0, 1], 1.0], dtype=object)]); np.stack([v[0] * m[0, 1], v[2]])
np.hstack([v[0] * v[1], v, 2.0]); np.where(v > 2, v[0] * m[0, 1], v)
np.select([v > 3, v > 2], [v[0] * v[1] * v, t[0, 0, 0]], m[0, 1]); np.append(v * v, [v[0], 1.0])
np.insert(v * v, 2, [v[0], m[0, 2]]); np.pad(v * v, 2, constant_values=v[1] * v[2]); np.full_like(v, m[0, 1] * v[0])
after(np.put, np.zeros_like(v), [0, 2], v[3:] * m[0, :2]); after(np.put, v * v, [1, 3, 4], m[1])
after(np.copyto, v.copy(), v[::-1] * v, "same_kind", v > 2); after(np.copyto, m * v[0], v[:4])
after(np.place, m * v[0], m > 8, v * v); after(np.putmask, m * v[0], m > 8, v * v)
after(np.put_along_axis, m * v[0], np.array([[3], [0], [2]]), v[:3, None] * v[0], 1)
np.apply_along_axis(lambda x: np.cumsum(x) * v[0], 1, m * v[1])
np.apply_along_axis(lambda x: x[0] * x[1], 0, m * v[2]); after(np.fill_diagonal, m * v[0], v[:2] * v[1])
""")

# on an integer array NumPy rounds what it inserts
CALLS = [call for call in [*movement.CALLS, *selection.PICKS, *COMPUTED] if not call.startswith("np.insert(np.array")]

CONSTANT_ARRAY = {call for call in CALLS if call.startswith("np.pad(m") and "v[" in call}  # NumPy asks the array alone
CONSTANT = {call for call in CALLS if call.startswith(("np.zeros_like", "np.full_like(v, -2", "np.imag"))}


def after(assign, z, *args):
    """The array that a function has assigned to."""
    assert assign(z, *args) is None
    return z


def function_and_point(call):
    """The sum of weighted squares and values of all results of a call, as a function of its inputs, and a point."""
    moving = call in movement.CALLS
    names = "vmtqcd" if moving else "vmtc"
    point = movement.inputs() if moving else [selection.V, selection.M, selection.T, selection.C]
    active = 4 if moving else 3
    point, constants = point[:active], point[active:]

    def f(*inputs):
        arrays = dict(zip(names, [*inputs, *constants], strict=True))
        result = eval(call, {"np": np, "MASK": movement.MASK, "after": after} | arrays)
        total = 0.0
        for k, z in enumerate(result if isinstance(result, (list, tuple)) else [result]):
            if not np.ndim(z):
                total = total + z * z + 0.7 * z
            elif np.size(z):
                w = np.cos(np.arange(np.size(z)) + k).reshape(np.shape(z))
                total = total + np.sum(w * z * z) + np.sum(0.7 * w * w * z)
        return total

    return f, point


def directions(point, seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=x.shape) for x in point]


def difference(f, point, direction, h=1e-5):
    ends = [f(*(x + s * h * d for x, d in zip(point, direction, strict=True))) for s in (1.0, -1.0)]
    return (ends[0] - ends[1]) / (2.0 * h)


def inner(xs, ys):
    return sum(np.sum(x * y) for x, y in zip(xs, ys, strict=True))


def gradient_of(f, point):
    return contad.grad(f, tuple(range(len(point))), engine="matrix")


@pytest.mark.parametrize("call", sampled(CALLS, 3))
def test_first_derivatives(call):
    f, point = function_and_point(call)
    d = directions(point, 1)
    expected = difference(f, point, d)
    assert (expected == 0.0) == (call in CONSTANT)
    scale = 1e-7 * (1.0 + abs(f(*point)))
    np.testing.assert_allclose(inner(gradient_of(f, point)(*point), d), expected, rtol=1e-6, atol=scale)
    np.testing.assert_allclose(contad.jvp(f, tuple(point), tuple(d))[1], expected, rtol=1e-6, atol=scale)


@pytest.mark.parametrize("call", sampled(CALLS, 3))
def test_second_derivatives(call):
    f, point = function_and_point(call)
    d, e = directions(point, 1), directions(point, 2)
    gradient = gradient_of(f, point)
    expected = difference(lambda *x: inner(gradient(*x), e), point, d)
    scale = 1e-7 * (1.0 + abs(inner(gradient(*point), e)))
    forward_over_reverse = inner(contad.jvp(gradient, tuple(point), tuple(d))[1], e)
    reverse_over_reverse = inner(gradient_of(lambda *x: inner(gradient(*x), e), point)(*point), d)
    reverse_over_forward = inner(gradient_of(lambda *x: contad.jvp(f, x, tuple(e))[1], point)(*point), d)
    for found in (forward_over_reverse, reverse_over_reverse, reverse_over_forward):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=scale)


@pytest.mark.parametrize("call", [call for call in CALLS if call not in CONSTANT_ARRAY])
def test_arrays_of_two_levels_meet(call):
    """The derivative of the gradient in one input along the others: movement mixes arrays of both levels."""
    f, point = function_and_point(call)
    d, (e, *_) = directions(point, 3), directions(point, 4)
    slope = lambda *others: np.sum(contad.grad(f, engine="matrix")(point[0], *others) * e)
    expected = difference(slope, point[1:], d[1:])
    scale = 1e-7 * (1.0 + abs(slope(*point[1:])))
    found = inner(gradient_of(slope, point[1:])(*point[1:]), d[1:])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=scale)
    np.testing.assert_allclose(contad.jvp(slope, tuple(point[1:]), tuple(d[1:]))[1], expected, rtol=1e-6, atol=scale)
