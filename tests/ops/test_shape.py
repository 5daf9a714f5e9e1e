"""Movement: on values, on positions, and through views, every function does what NumPy does."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import contad.ops  # noqa: F401  (registers NumPy's functions)
from contad.errors import UnsupportedError
from contad.rules.numpy_functions import entries, entry_of
from contad.variables.array import Array
from tests.ops.plain_calls import accepted
from tests.ops.position_arrays import PositionLevel

RNG = np.random.default_rng(5)
VALUES = RNG.permutation(np.arange(1.0, 200.0))
MASK = np.array([True, False, True, True])


def inputs(order="C"):
    """Plain arrays: v (4,), m (3, 4), t (2, 3, 4), q (3, 3), and constants c (3, 4), d (4,)."""
    shapes = [(4,), (3, 4), (2, 3, 4), (3, 3)]
    ends = np.cumsum([np.prod(s) for s in shapes])
    parts = [np.array(VALUES[e - np.prod(s) : e].reshape(s), order=order) for s, e in zip(shapes, ends, strict=True)]
    constants = [-np.arange(12.0).reshape(3, 4), -np.arange(4.0)]
    return [*parts, *constants]


# calls with the arguments that NumPy users give
CALLS = """
np.reshape(m, 12)
np.reshape(m, (2, -1), order="F")
np.reshape(t, shape=(4, 6))
np.reshape(t, (4, 6), copy=True)
np.reshape(m.T, (6, 2))
np.ravel(m)
np.ravel(t, order="F")
np.transpose(m)
np.transpose(t, (1, 2, 0))
np.transpose(t, axes=(2, 0, 1))
np.moveaxis(t, 0, -1)
np.moveaxis(t, source=[0, 1], destination=[-1, 0])
np.rollaxis(t, 2)
np.rollaxis(t, 0, start=2)
np.swapaxes(t, 0, 2)
np.swapaxes(t, axis1=1, axis2=-1)
np.squeeze(m[:, None, :, None])
np.squeeze(m[:, None, :, None], axis=1)
np.expand_dims(m, 1)
np.expand_dims(v, axis=(0, 2))
np.matrix_transpose(t)
np.linalg.matrix_transpose(t)
np.broadcast_to(v, (3, 4))
np.broadcast_to(m[:, :1], shape=(2, 3, 5))
np.broadcast_arrays(v, m, t)
np.broadcast_arrays(c, v, -2.0)
np.tile(v, 3)
np.tile(m, (2, 1, 2))
np.repeat(m, 2)
np.repeat(m, [1, 0, 3], axis=0)
np.repeat(m, 2, 1)
np.roll(v, 1)
np.roll(m, (1, -2), axis=(0, 1))
np.roll(m, 2, 1)
np.rot90(m)
np.rot90(t, k=3, axes=(1, 2))
np.flip(t)
np.flip(m, 1)
np.flip(t, axis=(0, 2))
np.fliplr(m)
np.flipud(m)
np.take(m, [5, 0, 5])
np.take(m, [[3, 0], [1, 1]], axis=1)
np.take(v, 2)
np.take(v, [5, -7], mode="wrap")
np.take(m, 1, 0)
np.take_along_axis(m, np.array([[2, 0], [1, 1], [0, 3]]), 1)
np.take_along_axis(m, np.array([7, 7, 1]), axis=None)
np.diag(v)
np.diag(v, k=-1)
np.diag(m, 1)
np.diagflat(m, 1)
np.diagonal(m)
np.diagonal(t, offset=1, axis1=1, axis2=2)
np.diagonal(t, -1, 2, 1)
np.linalg.diagonal(t, offset=1)
np.tril(t)
np.tril(m, k=-1)
np.triu(t)
np.triu(m, 1)
np.delete(m, 1, axis=0)
np.delete(v, [0, 2])
np.resize(m, (5, 3))
np.resize(v, new_shape=3)
np.copy(m)
np.copy(m, order="F")
np.compress(MASK, m, axis=1)
np.compress([0, 1, 1], m, 0)
np.compress(m.ravel() > 20.0, m)
np.extract(m > 50.0, m)
np.extract(c < -3.0, m)
np.choose([0, 2, 1, 0], [v, m[1], d])
np.choose([0, 4, 1, -1], choices=(v, d), mode="wrap")
np.append(m, v)
np.append(m, c, axis=0)
np.append(v, [m[0, 0], -3.0])
np.insert(v, 1, -5.0)
np.insert(m, [0, 2], v, axis=0)
np.insert(np.array([-1, -2, -3, -4]), 2, v)
np.insert(v, slice(None, None, 2), m[0, 0])
np.pad(m, 1)
np.pad(m, ((1, 2), (0, 1)), "constant", constant_values=-3.0)
np.pad(m, 2, constant_values=v[1])
np.pad(m, 1, mode="constant", constant_values=((v[0], -2.0), (-1.0, v[3])))
np.pad(m, (2, 3), "edge")
np.pad(m, 5, mode="wrap")
np.pad(m, 2, mode="reflect", reflect_type="even")
np.pad(m, (1, 0), mode="symmetric")
np.where(c < -5.0, m, v)
np.where(m > 60.0, m, c)
np.where(m > 100.0, -1, m[0, 0])
np.where(v > 60.0, v[1], t)
np.concatenate([m, c, m])
np.concatenate((m, q), axis=1)
np.concatenate([m, d], axis=None)
np.concatenate([c[0], v], 0)
np.concatenate(m)
np.stack([v, d, v])
np.stack((m, c), axis=-1)
np.stack([m[0], v], 1)
np.stack(arrays=t, axis=1)
np.vstack([v, m, d])
np.vstack(tup=(m, c))
np.hstack([v, d, m[0, 0]])
np.hstack(tup=(m, c))
np.dstack([m, c])
np.dstack((v, d))
np.column_stack([v, d, m.T])
np.block([[q, m], [m, q[:, ::-1]]])
np.block([v, -1.0, v[2]])
np.array_split(v, 3)
np.array_split(m, [1, 3], axis=1)
np.array_split(v, 6)
np.array_split(v, [-1, 2, 9], 0)
np.split(v, 2)
np.split(m, [2], axis=-1)
np.split(t, indices_or_sections=3, axis=1)
np.hsplit(m, 2)
np.hsplit(v, [1])
np.vsplit(m, 3)
np.dsplit(t, [1, 2])
np.atleast_1d(v)
np.atleast_1d(m, -2.0, d)
np.atleast_2d(v)
np.atleast_2d(t, v, d)
np.atleast_3d(v)
np.atleast_3d(m, t, d)
np.meshgrid(v, m[0, :3])
np.meshgrid(v, d[:2], m[:, 0], indexing="ij")
np.meshgrid(v, d[:2], m[:, 0], sparse=True)
np.meshgrid(v, d[:3], copy=False)
np.meshgrid(v)
np.fft.fftshift(m)
np.fft.ifftshift(t, axes=(1, 2))
np.apply_along_axis(lambda x: x[::-1], 0, m)
np.apply_along_axis(lambda x, k: x[k], axis=1, arr=t, k=2)
np.apply_along_axis(lambda x: np.stack([x[:2], x[1:3]]), 1, t)
np.astype(m, float)
np.unstack(m)
np.unstack(t, axis=2)
""".strip().splitlines()
NEWER = {"np.reshape(t, shape=(4, 6))", "np.reshape(t, (4, 6), copy=True)"}  # NumPy 2.1, as these two functions:
EVERY = [call for call in CALLS if hasattr(np, "unstack") or not call.startswith(("np.unst", "np.ast"))]


def evaluate(call, arrays):
    names = dict(zip("vmtqcd", arrays, strict=True))
    return eval(call, {"np": np, "MASK": MASK} | names)


CALLS = accepted(EVERY, lambda call: evaluate(call, inputs()))


def function_of(call):
    return eval(call[: call.index("(")])


def test_every_movement_has_a_call():
    declared = {
        e.function for e in entries() if e.kind == "movement" or e.implementation.__module__ == "contad.ops.shape"
    }
    assert declared == {np.ediff1d, *map(function_of, CALLS)}


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
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.concatenate([x, x], out=np.zeros(8)), "np.concatenate: out= is not supported"),
        (lambda x: np.concatenate([x, x], dtype=np.float32), "np.concatenate: dtype must be .* got float32"),
        (lambda x: np.stack([x, x], dtype=int), "np.stack: dtype must be float64"),
        (lambda x: np.reshape(x, (2, 2), order="A"), "np.reshape: order must be 'C' or 'F' on variables, got 'A'"),
        (lambda x: np.ravel(x, "K"), "np.ravel: order must be 'C' or 'F' on variables, got 'K'"),
        (lambda x: np.take(x, [0], out=np.zeros(1)), "np.take: out= is not supported"),
        (lambda x: np.pad(x, 1, "linear_ramp"), "np.pad: mode must be one of constant, .* got 'linear_ramp'"),
        (lambda x: np.pad(x, 1, "reflect", reflect_type="odd"), "np.pad: reflect_type must be 'even'"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused_by_name(call, message):
    with pytest.raises(UnsupportedError, match=message):
        call(PositionLevel().input([1.0, 2.0, 3.0, 4.0]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.split(x, 3), "np.split: array split does not result in an equal division"),
        (lambda x: np.array_split(x, 0), "np.array_split: the number of sections must be positive, got 0"),
        (lambda x: np.vsplit(x, 2), r"np.vsplit: the array must have 2 or more axes, got shape \(4,\)"),
        (lambda x: np.meshgrid(x, indexing="yx"), "np.meshgrid: indexing must be 'xy' or 'ij', got 'yx'"),
        (lambda x: np.reshape(x, 3), "cannot reshape"),
    ],
)
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
