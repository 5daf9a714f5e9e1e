"""Selection by value, constants, arrays like a given one, and assignment: as NumPy on plain arrays."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import contad
from contad.errors import LostDerivativeError, UnsupportedError
from contad.rules.numpy_functions import entries
from contad.variables.array import Array
from contad.variables.number import primal
from tests.ops.plain_calls import split_calls
from tests.ops.position_arrays import PositionLevel, PositionNumber
from tests.ops.selection_calls import EVERY_PICK, NEWER, PICKS, M, V, evaluate

CONSTANTS = split_calls("""
np.argmax(m); np.argmax(m, 1); np.argmax(m, axis=1, keepdims=True); np.argmin(t, axis=2); np.nanargmax(m)
np.nanargmin(m, 0); np.argsort(m, axis=0, kind="stable"); np.argpartition(v, 1)[1]; np.argwhere(v > 2); np.argwhere(m)
np.nonzero(m); np.flatnonzero(m); np.searchsorted(c[::-1], v); np.searchsorted(np.sort(v), 2.5, side="right")
np.digitize(m, [6.5, 9.0]); np.digitize(c, np.sort(v)); np.lexsort((v, c)); np.diag_indices_from(m[:, :3])
np.tril_indices_from(m, k=1); np.triu_indices_from(m); np.count_nonzero(m, axis=0); np.shape(m); np.ndim(t)
np.size(m); np.size(m, 1); np.result_type(m, np.float32); np.common_type(m); np.any(m)
np.any(m, axis=0, keepdims=True); np.all(m, 1); np.isclose(m, 8.0, atol=1.5); np.allclose(v, v)
np.allclose(v, c, rtol=0.1); np.array_equal(m, m); np.array_equal(m, t); np.array_equiv(v, v); np.isin(m, [7.0, 9.0])
np.isin([1.0, 99.0], v); np.isneginf(m); np.isposinf(m); np.iscomplex(m); np.isreal(m); np.angle(m); np.iscomplexobj(m)
np.isrealobj(m); np.shares_memory(m, m[0]); np.may_share_memory(v, m); np.array_str(m); np.array_repr(v)
np.array2string(m, precision=2, separator=","); np.where(v > 2.0); np.bincount(v.astype(int))
np.bincount(v.astype(int), minlength=9); np.histogram(m, bins=[6.0, 8.5, 17.5])
np.histogram(m, bins=3, range=(6.0, 18.0)); np.histogram(m, 3, (6.0, 18.0), density=True)
""")

# destination d (5,) or e (3, 4); what is assigned is variable or constant
ASSIGNMENTS = split_calls("""
np.copyto(d, v); np.copyto(d, v, where=v > 2.0); np.copyto(e, v[:4], where=[True, False, True, True])
np.copyto(e, v[0]); np.copyto(d, -1.5); np.put(d, [0, 2], [v[3], -1.0]); np.put(d, [0, 2, 7], v, mode="wrap")
np.put(e, [11, 3, 4], v[:2]); np.put(e.T, 5, v[1]); np.place(d, v > 2.0, v[:2])
np.place(e, m > 8.0, [v[0], -1.0, v[2]]); np.putmask(d, v > 2.0, v); np.putmask(e, m > 8.0, v[:3])
np.fill_diagonal(e, v[0]); np.fill_diagonal(e, v[:2]); np.fill_diagonal(e.T, v[:3])
np.fill_diagonal(f, v[:3], wrap=True); np.fill_diagonal(g, v[:2])
np.put_along_axis(e, np.array([[3], [0], [2]]), v[:3, None], 1)
np.put_along_axis(e, np.array([[2, 0, 1, 1], [0, 1, 1, 2]]), v[:4], axis=0)
np.put_along_axis(e, np.array([7, 3]), v[3:], None); np.put_along_axis(e, np.array([[0, 1, 1, 2]]), v[0], -2)
""")


def function_of(call):
    return eval(call[: call.index("(")])


def test_every_selection_and_constant_has_a_call():
    modules = {"contad.ops.selection", "contad.ops.quantiles", "contad.ops.constants", "contad.ops.assignment"}
    declared = {e.function for e in entries() if e.implementation.__module__ in modules or e.kind == "constant"}
    elsewhere = {
        np.ptp, np.partition, np.round, np.around, np.fix, np.ones_like, np.empty_like, np.can_cast,
        np.linalg.matrix_rank, np.nansum, np.nanprod, np.nancumsum, np.nancumprod, np.nanmean, np.nanmedian,
        np.nanpercentile, np.nanquantile, np.nanstd, np.nanvar,
    }  # fmt: skip
    elsewhere |= {np.min_scalar_type}
    assert declared == {*map(function_of, EVERY_PICK + CONSTANTS + ASSIGNMENTS), *elsewhere} - {
        np.where, np.bincount, np.histogram,
    }  # fmt: skip


def test_only_calls_that_are_newer_than_the_installed_numpy_do_not_run():
    assert set(EVERY_PICK) - set(PICKS) == (set() if hasattr(np, "unstack") else NEWER)


@pytest.mark.parametrize("call", PICKS)
def test_picked_elements_keep_their_positions(call):
    level = PositionLevel()
    level.check(evaluate(call, level), evaluate(call))


@pytest.mark.parametrize("call", CONSTANTS)
def test_constants_are_those_of_numpy(call):
    result, expected = evaluate(call, PositionLevel()), evaluate(call)
    assert type(result) is type(expected)
    for r, e in zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]:
        np.testing.assert_array_equal(r, e)


@pytest.mark.parametrize("call", ASSIGNMENTS)
def test_assignments_store_positions(call):
    plain = {"d": -np.arange(5.0), "e": -np.arange(12.0).reshape(3, 4), "f": np.zeros((7, 3)), "g": np.zeros((3, 3, 3))}
    level = PositionLevel()
    written = {name: level.writable(x) for name, x in plain.items()}
    assert eval(call, {"np": np, "v": level.input(V), "m": M} | written) is None
    eval(call, {"np": np, "v": V, "m": M} | plain)
    for name, x in written.items():
        level.check(x, plain[name])


def test_a_number_is_read_without_an_array():
    level = PositionLevel()
    x = level.input(V)
    for z, k in ((np.max(x), np.argmax(V)), (np.min(x, 0), np.argmin(V)), (np.median(x), np.argsort(V)[2])):
        assert type(z) is PositionNumber and z._position == k + 1


# ---- infinite elements -----------------------------------------------------------------------------------------------
@given(hnp.arrays(float, (2, 4), elements=st.sampled_from([np.inf, -np.inf, 0.3, 1.7, -0.9])), st.floats(0.0, 1.0))
def test_order_statistics_of_infinite_elements_are_those_of_numpy(a, q):
    """To the last bit, with a nan only where NumPy gives one."""
    for f in (
        lambda y: np.median(y, axis=1),
        lambda y: np.median(y[:, :3], axis=1),
        lambda y: np.quantile(y, [q, 0.5, 1.0], axis=1),
        lambda y: np.percentile(y, 100.0 * q),
        lambda y: np.quantile(y, 0.5, axis=0),
    ):
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(contad.vjp(f, a, engine="matrix")[0], f(a))


def test_an_infinite_element_far_from_the_quantile_leaves_its_derivative():
    x = np.array([0.4, np.inf, 1.3, -0.7, 2.1, 0.9])
    np.testing.assert_allclose(contad.grad(np.median, engine="matrix")(x), [0.0, 0.0, 0.5, 0.0, 0.0, 0.5])
    quantile = contad.grad(lambda x: np.quantile(x, 0.3), engine="matrix")(x)
    np.testing.assert_allclose(quantile, [0.5, 0.0, 0.0, 0.0, 0.0, 0.5])


# ---- ties, nan, random shapes ----------------------------------------------------------------------------------------
def test_of_equal_elements_the_first_is_picked():
    level = PositionLevel()
    x = level.input([1.0, 3.0, 3.0, 1.0])
    assert (np.max(x)._position, np.min(x)._position, np.nanmax(x)._position) == (2, 1, 2)
    assert np.sort(x)._positions.tolist() == [1, 4, 2, 3]


@pytest.mark.parametrize("function", [np.max, np.min, np.nanmax, np.nanmin, np.sort, np.median])
@pytest.mark.parametrize(
    "row", [[2.0, np.nan, 1.0], [np.nan, -np.inf, np.nan], [-np.inf, np.nan, 5.0], [np.inf, np.nan, 2.0]]
)
def test_nan_is_treated_as_numpy_does(function, row):
    x = PositionLevel().input(row)
    z = function(x)
    np.testing.assert_array_equal(primal(z), function(np.array(row)))
    position = z._positions if isinstance(z, Array) else z._position
    np.testing.assert_array_equal(np.array([np.nan, *row])[position], primal(z))


@given(hnp.arrays(float, hnp.array_shapes(max_dims=3, max_side=4), elements=st.integers(1, 6).map(float)), st.data())
def test_random_selections(a, data):
    """Elements tie, so a position is right if the element there has the value."""
    axes = st.integers(-a.ndim, a.ndim - 1)
    axis = data.draw(axes, "axis")
    some = data.draw(st.none() | axes | st.lists(axes, unique_by=lambda k: k % a.ndim, min_size=1).map(tuple), "axes")
    keepdims = data.draw(st.booleans(), "keepdims")
    kth = data.draw(st.integers(0, a.shape[axis] - 1), "kth")
    level = PositionLevel()
    x = level.input(a)
    for f in (
        lambda y: np.max(y, some, keepdims=keepdims),
        lambda y: np.min(y, axis=some, keepdims=keepdims),
        lambda y: np.nanmax(y, some, keepdims=keepdims),
        lambda y: np.quantile(y, 1.0, some, keepdims=keepdims),
        lambda y: np.percentile(y, [0, 100], some, keepdims=keepdims),
        lambda y: np.sort(y, axis),
    ):
        level.check(f(x), f(a))
    z = np.partition(x, kth, axis)
    level.check(z, primal(z))
    np.testing.assert_array_equal(np.sort(primal(z), axis), np.sort(a, axis))
    np.testing.assert_array_equal(np.take(primal(z), kth, axis), np.take(np.sort(a, axis), kth, axis))


# ---- arrays like a given one -----------------------------------------------------------------------------------------
def test_arrays_like_a_variable_can_be_assigned_to():
    level = PositionLevel()
    x = level.input(V)
    for make, fill in ((np.zeros_like, 0.0), (np.ones_like, 1.0), (np.empty_like, 0.0)):
        z = make(x)
        assert z._positions.tolist() == [0] * 5 and primal(z).tolist() == [fill] * 5
        z[1] = x[3]
        assert z._positions.tolist() == [0, 4, 0, 0, 0]
    assert type(np.ones_like(x, dtype=bool)) is np.ndarray and type(np.full_like(x, 2, dtype=int)) is np.ndarray
    assert np.can_cast(x.dtype, float) and np.min_scalar_type(x) == np.float64


# ---- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("call", "error", "message"), [
    ("np.max(v, where=v > 1)", UnsupportedError, "np.max: where= is not supported"),
    ("np.max(v[:0])", ValueError, r"np.max: a must have elements along the axis, got shape \(0,\)"),
    ("np.max(v, axis=3)", ValueError, "axis 3 is out of bounds"),
    ("np.sort(v, order='a')", UnsupportedError, "np.sort: order= is not supported"),
    ("np.quantile(v, 50)", ValueError, r"np.quantile: q must be in \[0, 1\], got 50"),
    ("np.percentile(v, 101)", ValueError, r"np.percentile: q must be in \[0, 100\]"),
    ("np.median(v[:0])", ValueError, "np.median: a must have elements along the axis"),
    ("np.quantile(v, 0.5, weights=v)", UnsupportedError, "np.quantile: weights must be constants"),
    ("np.bincount(v)", TypeError, "bincount: missing argument weights"),
    ("np.bincount(v, v)", UnsupportedError, "bincount: x must be a constant"),
    ("np.nan_to_num(v, copy=False)", UnsupportedError, "np.nan_to_num: copy must be True"),
    ("np.copyto(np.zeros(5), v)", LostDerivativeError, "np.copyto: an array of floats cannot hold a variable"),
    ("np.put(np.zeros(5), [1], v)", LostDerivativeError, "np.put: an array of floats"),
    ("np.place(np.zeros(5), np.ones(5), v)", LostDerivativeError, "np.place: an array of floats"),
    ("np.putmask(np.zeros(5), np.ones(5), v)", LostDerivativeError, "np.putmask: an array of floats"),
    ("np.put(v, [9], 0.0)", IndexError, "out of bounds"),
    ("np.fill_diagonal(v, 0.0)", ValueError, "np.fill_diagonal: a must have two or more axes"),
    ("np.fill_diagonal(t, 0.0)", ValueError, "np.fill_diagonal: the axes of a must have one length"),
    ("np.piecewise(v, [v > 1], [1, 2, 3])", ValueError, "np.piecewise: expected 1 or 2 functions, got 3"),
])  # fmt: skip
def test_unsupported_calls_are_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        evaluate(call, PositionLevel())
