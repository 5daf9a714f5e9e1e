"""Operations by elements and sums on more than two axes, in recorded programs: compiled, whatever lies where."""

import itertools
import math

import numpy as np
import pytest

import contad
from contad.engines.stream.sweep import operation_code
from contad.ops import multiply
from contad.programs import plain_runs
from contad.programs.codes import REPEATED
from contad.programs.more_axes import AxisLoops, unroll
from contad.programs.program_display import count_operations
from tests.programs.comparison import compiled, require_derivatives

RNG = np.random.default_rng(29)
X = RNG.uniform(0.2, 1.4, (4, 3, 5))
SQUARE = RNG.uniform(0.2, 1.4, (3, 4, 2, 5))
pytestmark = pytest.mark.usefixtures("memory_of_others")


def require_program(f, *args):
    """A program without calls of Python that agrees with the function and its derivatives at other points."""
    found = compiled(f, *[x * 1.1 for x in args])
    assert found.python_rules == ()
    engine = "closures" if args[0].size < 70 else None
    require_derivatives(found, f, args, engine, slope_digits=(1e-10, 1e-10))
    return found


def repeated(found):
    return int((found.traces[0].code[:, 0] == REPEATED).sum())


BROADCASTS = {
    "a middle axis": lambda x: np.sum((x[:, :1, :] - x) ** 2),
    "pairs of rows": lambda x: np.sum(np.exp(x[0][:, None, :] - x[1][None, :, :])),
    "pairs of matrices": lambda x: np.sum((x[:, None] * x[None]) ** 2),
    "outer ones": lambda x: np.sum(np.sin(x[:, :1, :1] * x[:1, :, :1] + x[:1, :1, :])),
    "a constant": lambda x: np.sum((x * X[:, :1, :] + X[:1, :, :1] / x) ** 2),
    "one twice": lambda x: np.sum(x[:, :1] * x[:, :1] * x[:, None, 0] + np.sum(x[:, :1] * x)),
    "turned": lambda x: np.sum(x.transpose(2, 0, 1)[:, :, :1] * x.transpose(2, 0, 1) ** 2),
    "differently turned": lambda x: np.sum(x.transpose(2, 0, 1)[:3] * x.transpose(1, 0, 2)[..., :3]),
    "powers": lambda x: np.sum(x[:, :1, :] ** x),
    "comparisons": lambda x: np.sum(np.where(x[:, :1, :] > 0.8, x, x[:, :, :1] * x)),
    "maxima": lambda x: np.sum(np.maximum(x[:, :1, :], x) * x),
    "inside": lambda x: np.sum((x.reshape(2, 2, 3, 5)[:, :1] * x.reshape(2, 2, 3, 5)[:, :, :1]) ** 2),
}


@pytest.mark.parametrize("name", BROADCASTS)
def test_broadcasts_on_more_axes(name):
    require_program(BROADCASTS[name], X)


@pytest.mark.parametrize("reduce", [np.sum, np.mean])
def test_sums_over_any_axes(reduce):
    for n in range(1, 4):
        for axis in itertools.combinations(range(3), n):
            for keepdims in (False, True):
                require_program(lambda x, a=axis, k=keepdims: np.sum(reduce(x, axis=a, keepdims=k) ** 2), X)
    require_program(lambda x: np.sum(reduce(x, axis=-2) ** 2), X)
    for axis in itertools.combinations(range(4), 2):
        require_program(lambda x, a=axis: np.sum(np.exp(reduce(x, axis=a))), SQUARE)


def test_sums_over_three_axes_apart_are_left_to_python():
    x = RNG.normal(size=(2, 3, 2, 3, 2))
    found = contad.record(lambda x: np.sum(np.sum(x, axis=(0, 2, 4)) ** 2), x)
    assert found.python_rules == ("sum",)
    np.testing.assert_allclose(found.gradient(2.0 * x), 2.0 * np.broadcast_to(
        2.0 * np.sum(x, axis=(0, 2, 4), keepdims=True), x.shape))  # fmt: skip


RULES = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "var": np.var, "std": np.std, "cumsum": np.cumsum,
    "cumprod": np.cumprod, "logsumexp": contad.logsumexp, "softmax": contad.softmax,
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rules_along_axes_take_arrays_as_they_lie(name):
    """No cell is gathered, and the result lies in memory as NumPy has it: views of it share what theirs do."""
    rule = RULES[name]
    for order in itertools.permutations(range(3)):
        for axis in (0, 1, -1, None, (1, 2)):
            if isinstance(axis, tuple) and name not in ("sum", "mean"):  # whose axes may be apart in memory
                continue
            if axis is None and name in ("cumsum", "cumprod"):
                continue
            for keeps in ({}, {"keepdims": True}) if name in ("sum", "var", "logsumexp") else ({},):
                met = []

                def f(x, order=order, axis=axis, keeps=keeps, met=met):
                    z = rule(x.transpose(order), axis=axis, **keeps)
                    met.append(z)
                    return np.sum(np.sin(z))

                found = require_program(f, X)
                assert "gather" not in count_operations(found.traces[0])
                plain = rule(X.transpose(order), axis=axis, **keeps)
                contad.grad(f)(X)
                assert order_of(met[-1]._value) == order_of(plain)


def order_of(a):
    """The axes of an array that have several elements, by the order of memory."""
    return sorted((k for k in range(np.ndim(a)) if a.shape[k] > 1), key=lambda k: -a.strides[k])


def test_axes_are_joined_and_sums_stay_whole_in_a_kernel():
    def kernels(shape, z, x, y):
        made = AxisLoops(operation_code(multiply, "vv"), shape, z, x, y).write(100, 200, 300)
        return None if made is None else (made[1:3], len(unroll(made)))

    assert kernels((2, 3, 4), (12, 4, 1), (12, 4, 1), (12, 4, 1)) == ([1, 24], 1)
    assert kernels((5, 3, 4), (12, 4, 1), (4, 0, 1), (0, 4, 1)) == ([5, 4], 3)  # the longer axis beside the last
    assert kernels((5, 3, 4), (4, 0, 1), (12, 4, 1), (0, 0, 0)) == ([3, 4], 5)  # the axis of a sum, and the last
    assert kernels((5, 3, 4), (0, 1, 0), (12, 4, 1), (0, 0, 0)) == ([5, 4], 3)
    assert kernels((2, 3, 2, 3, 2), (0, 3, 0, 1, 0), (36, 12, 6, 2, 1), (0, 0, 0, 0, 0)) is None
    shape = AxisLoops(operation_code(multiply, "vv"), (2, 3, 4, 5), (60, 20, 5, 1), (0, 20, 0, 1), (30, 0, 5, 0))
    places = {(one[0], one[5], one[8]) for one in unroll(shape.write(0, 1000, 2000))}
    assert places == {(60 * i + 20 * j, 1000 + 20 * j, 2000 + 30 * i) for i in range(2) for j in range(3)}


def test_how_many_records_there_are():
    found = contad.record(lambda x: np.sum((x[:, None] - x[None]) ** 2) + np.sum(np.sum(x, axis=1) ** 2), X[:, :, 0])
    assert repeated(found) == 1 and found.python_rules == ()  # of pairs; sums of a matrix have two axes
    found = contad.record(lambda x: np.sum(np.mean(x, axis=1) ** 2), X)
    assert repeated(found) == 1 and count_operations(found.traces[0]).get("linear (array)") == 2


def test_first_runs_in_plain_python_do_the_same(monkeypatch):
    monkeypatch.setattr(plain_runs.OF_PROGRAMS, "seconds_left", lambda missing, spent: math.inf)
    for f in (*BROADCASTS.values(), lambda x: np.sum(np.mean(x, axis=1) ** 2), lambda x: np.sum(x.sum((0, 2)) ** 2)):
        found = contad.record(f, 1.1 * X)
        value, bar = contad.value_and_grad(f)(X)
        got, gradient = found.value_and_grad(X)
        assert found._interpreter is None
        np.testing.assert_allclose(got, value, rtol=1e-12)
        np.testing.assert_allclose(gradient, bar, rtol=1e-11, atol=1e-13)
        along = np.cos(X)
        np.testing.assert_allclose(found.jvp((X,), (along,))[1], np.vdot(bar, along), rtol=1e-11)


def test_zeros_mask_what_is_not_finite():
    at = np.where(X > 1.0, np.inf, X)
    shown = np.isfinite(at[:, :1, :] * at)
    found = contad.record(lambda x: np.sum((x[:, :1, :] * x)[shown]), X)
    gradient = found.gradient(at)
    assert 5 < shown.sum() < X.size and np.isfinite(gradient).all()
    np.testing.assert_allclose(gradient, contad.grad(lambda x: np.sum((x[:, :1, :] * x)[shown]))(at), rtol=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_random_shapes_and_orders(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 4, 4))
    orders = [rng.permutation(4) for _ in range(2)]
    dropped = [tuple(rng.random(4) < 0.4) for _ in range(2)]
    axis = tuple(np.flatnonzero(rng.random(4) < 0.5).tolist()) or (0,)

    def operand(x, k):
        back = np.argsort(orders[k])
        y = x.transpose(orders[k]).transpose(back)  # the shape of x, in another order of memory where it is copied
        y = (y.transpose(orders[k]) * 1.0).transpose(back)
        for n, drops in enumerate(dropped[k]):
            if drops:
                y = np.sum(y, axis=n, keepdims=True)
        return y

    def f(x):
        z = operand(x, 0) * np.exp(operand(x, 1)) - x
        return np.sum(np.sin(np.sum(z, axis=axis))) + np.sum(np.cos(np.mean(z * z, axis=axis[0])))

    x = rng.uniform(-0.6, 0.6, shape)
    found = contad.record(f, x * 0.9)
    value, bar = contad.value_and_grad(f, engine="closures")(x)
    got, gradient = found.value_and_grad(x)
    np.testing.assert_allclose(got, value, rtol=1e-11)
    np.testing.assert_allclose(gradient, bar, rtol=1e-9, atol=1e-11)
    assert set(found.python_rules) <= {"sum", "mean"}


def test_empty_arrays():
    for shape in ((0, 3, 2), (2, 0, 3), (2, 3, 0)):
        x = np.ones(shape)
        found = contad.record(lambda x: np.sum(x[:, :1] * x) + np.sum(np.sum(x, axis=1)) + 1.0, x)
        assert found(x) == 1.0 and found.gradient(x).shape == shape


def test_an_array_of_one_element_has_a_record():
    """Of a rule that only programs compile."""
    f = lambda x: np.sum(contad.ops.log_expit(x.reshape(1, 1, 1)) * x)  # noqa: E731
    program = contad.record(f, np.array([0.7]))
    assert program.python_rules == ()
    x = np.array([-1.6])
    value, slope = program.value_and_grad(x)
    assert value == f(x)
    np.testing.assert_allclose(slope, contad.grad(f)(x), rtol=1e-14)
