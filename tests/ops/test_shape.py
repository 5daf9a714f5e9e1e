"""Movement: on values, on positions, and through views, every function does what NumPy does."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import contad
from contad.errors import UnsupportedError
from contad.rules.numpy_functions import entries, entry_of
from contad.variables.array import Array
from tests.ops.movement_calls import CALLS, EVERY, NEWER, VALUES, evaluate, inputs
from tests.ops.position_arrays import PositionLevel


def function_of(call):
    return eval(call[: call.index("(")])


def test_every_movement_has_a_call():
    declared = {
        e.function for e in entries() if e.kind == "movement" or e.implementation.__module__ == "contad.ops.shape"
    }
    declared |= {np.pad}  # which moves elements in most modes
    assert declared == {np.ediff1d, np.lib.stride_tricks.sliding_window_view, *map(function_of, CALLS)}


def test_only_calls_that_are_newer_than_the_installed_numpy_do_not_run():
    assert set(EVERY) - set(CALLS) == (set() if hasattr(np, "unstack") else NEWER)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("call", CALLS)
def test_positions_move_with_the_values(call, order):
    plain = inputs(order)
    level = PositionLevel()
    level.check(evaluate(call, variables(level, plain)), evaluate(call, plain))


def variables(level, plain):
    """The inputs on a level; the last two are constants."""
    return [*map(level.input, plain[:-2]), *(x.copy() for x in plain[-2:])]


@pytest.mark.parametrize("call", CALLS)
def test_an_assignment_to_the_result_reaches_what_numpy_lets_it_reach(call):
    plain = inputs()
    level = PositionLevel()
    active = variables(level, plain)
    for result, expected in zip(flat(evaluate(call, active)), flat(evaluate(call, plain)), strict=True):
        if not isinstance(result, Array):
            continue
        try:
            assign(expected)
        except ValueError:
            with pytest.raises(ValueError, match="read-only"):
                result[...] = -9.0
        else:
            result[...] = -9.0
    for x, expected in zip(active, plain, strict=True):
        level.check(x, expected)


def assign(z):
    """Assign to a plain array; ValueError if it is read-only, or NumPy warns that it will be and its elements overlap.

    NumPy 2.0 gives the warning for every result of np.broadcast_arrays, a later one for those that overlap.
    """
    try:
        z[...] = -9.0
    except DeprecationWarning as warning:
        if 0 in z.strides:
            raise ValueError("read-only in a later NumPy") from warning
        with warnings.catch_warnings(action="ignore"):
            z[...] = -9.0


def flat(result):
    return result if isinstance(result, (list, tuple)) else [result]


def test_a_function_that_moves_values_only_is_noticed():
    level = PositionLevel()
    x = level.input([3.0, 1.0, 2.0])
    y = level.writable(np.array([1.0, 3.0]))
    y._positions[...] = [1, 2]
    with pytest.raises(AssertionError):
        level.check(y, np.array([1.0, 3.0]))
    with pytest.raises(AssertionError):
        level.check(np.array([3.0]), np.array([3.0]))  # an input that has become a constant
    level.check(x, np.array([3.0, 1.0, 2.0]))


# ---- random shapes and arguments -------------------------------------------------------------------------------------
def input_of(shape):
    """A plain array and the inputs of a level, of one shape."""
    plain = VALUES[: int(np.prod(shape))].reshape(shape)
    level = PositionLevel()
    return level, plain, level.input(plain)


@given(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5), st.data())
def test_random_rearrangements(shape, data):
    level, plain, x = input_of(shape)
    n = len(shape)
    axis = data.draw(st.integers(-n, n - 1), "axis")
    other = data.draw(st.integers(-n, n - 1), "other")
    k = data.draw(st.integers(-7, 7), "k")
    for f in (
        lambda a: np.roll(a, k, axis),
        lambda a: np.flip(a, axis),
        lambda a: np.swapaxes(a, axis, other),
        lambda a: np.moveaxis(a, axis, other),
        lambda a: np.repeat(a, abs(k), axis),
        lambda a: np.expand_dims(a, axis),
        lambda a: np.array_split(a, abs(k) + 1, axis),
        lambda a: np.concatenate([a, -plain, a], axis),
        lambda a: np.stack([a, a[::-1]], axis),
        lambda a: np.pad(a, abs(k)),
        lambda a: np.tile(a, (2, abs(k))),
        lambda a: np.resize(a, (abs(k), 2)),
        lambda a: np.ravel(np.transpose(a)),
        lambda a: np.delete(a, [], axis),
        lambda a: np.where(plain > 50.0, a, -1.0),
        lambda a: np.broadcast_to(a, (2, *plain.shape)),
    ):
        level.check(f(x), f(plain))


@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3))
def test_random_broadcasts(shapes):
    level = PositionLevel()
    sizes = [int(np.prod(s)) for s in shapes.input_shapes]
    parts = np.split(VALUES[: sum(sizes)], np.cumsum(sizes)[:-1])
    plain = [p.reshape(s) for p, s in zip(parts, shapes.input_shapes, strict=True)]
    x, y = map(level.input, plain[:2])
    condition = plain[2] > 100.0
    level.check(np.where(condition, x, y), np.where(condition, plain[0], plain[1]))
    level.check(np.broadcast_arrays(x, y, condition * -1.0), np.broadcast_arrays(*plain[:2], condition * -1.0))


# ---- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("call", "message"), [
    (lambda x: np.concatenate([x, x], dtype=np.float32), "np.concatenate: dtype must be .* got float32"),
    (lambda x: np.stack([x, x], dtype=int), "np.stack: dtype must be float64"),
    (lambda x: np.reshape(x, (2, 2), order="A"), "np.reshape: order must be 'C' or 'F' on variables, got 'A'"),
    (lambda x: np.ravel(x, "K"), "np.ravel: order must be 'C' or 'F' on variables, got 'K'"),
])  # fmt: skip
def test_unsupported_calls_are_refused_by_name(call, message):
    with pytest.raises(UnsupportedError, match=message):
        call(PositionLevel().input([1.0, 2.0, 3.0, 4.0]))


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: np.split(x, 3), "np.split: array split does not result in an equal division"),
    (lambda x: np.array_split(x, 0), "np.array_split: the number of sections must be positive, got 0"),
    (lambda x: np.vsplit(x, 2), r"np.vsplit: the array must have 2 or more axes, got shape \(4,\)"),
    (lambda x: np.meshgrid(x, indexing="yx"), "np.meshgrid: indexing must be 'xy' or 'ij', got 'yx'"),
    (lambda x: np.reshape(x, 3), "cannot reshape"),
])  # fmt: skip
def test_wrong_arguments_raise_where_numpy_raises(call, message):
    with pytest.raises(ValueError):
        call(np.array([1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(ValueError, match=message):
        call(PositionLevel().input([1.0, 2.0, 3.0, 4.0]))


def test_parameters_are_those_of_numpy():
    """`moves` passes by position what it was given by position, so the names must be complete and in order."""
    for function in map(function_of, CALLS):
        closure = inspect.getclosurevars(entry_of(function).implementation).nonlocals
        if names := closure.get("names"):
            kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            parameters = inspect.signature(function).parameters.values()
            assert names == tuple(p.name for p in parameters if p.kind in kinds), function


def test_an_integer_that_is_appended_is_an_element():
    x = np.array([0.5, 1.1, 0.4])
    expected = [[1.0, 0.0, 0.0], [0.0, 2.2, 0.0], [0.0, 0.0, 0.8], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(contad.jacobian(lambda x: np.append(x, 4) ** 2)(x), expected)
    np.testing.assert_allclose(contad.jvp(lambda x: np.append(x, 4) ** 2, (x,), (np.ones(3),))[1], [1.0, 2.2, 0.8, 0.0])


def windows_of_what_is_written(x):
    """The windows share the memory of u, and show what is written to it."""
    u = 1.0 * x
    windows = np.lib.stride_tricks.sliding_window_view(u, 3)
    before = np.sum(windows, axis=1)
    u[1] = u[0] * u[2]
    u[3:] *= u[:-3]
    return np.sum(windows * before[:, None]) + np.sum(np.sin(windows) ** 2)


@pytest.mark.parametrize("engine", ["matrix", "records"])
def test_windows_are_views(engine):
    x = np.array([0.5, -1.5, 2.0, 0.7, 1.1, -0.3])
    value, gradient = contad.value_and_grad(windows_of_what_is_written, engine=engine)(x)
    assert value == pytest.approx(windows_of_what_is_written(x), rel=1e-14)
    for k, step in enumerate(1e-6 * np.eye(6)):
        above, below = windows_of_what_is_written(x + step), windows_of_what_is_written(x - step)
        assert gradient[k] == pytest.approx((above - below) / 2e-6, rel=1e-6)
