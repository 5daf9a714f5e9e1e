"""Selections route the adjoint: what was not selected gets exactly 0, even of an infinite one, on every engine."""

import math
from itertools import product

import numba
import numpy as np
import pytest

import contad
from contad.engines.stream import record_stream
from contad.rules.scalar_rule import rule, rules
from tests.engines.source.programs.harness import functions_of
from tests.judges.array_agreement import Endless
from tests.judges.planted import registered
from tests.judges.samples import sampled

EAGER = ("closures", "records", "matrix")


SCALAR = functions_of("""\
# maximum: return np.sqrt(np.maximum(v, 0.0)) + v * v
# minimum: return np.sqrt(-np.minimum(-v, 0.0)) + v * v
# max: return np.sqrt(max(v, 0.0)) + v * v
# fmax: return np.sqrt(-np.fmin(-np.fmax(v, 0.0), math.nan)) + v * v
# min: return np.sqrt(-min(-v, 0.0)) + v * v
# where: return np.where(v > 0.0, np.sqrt(np.maximum(v, 0.0)), 0.0) + v * v
# expression: return math.sqrt(v if v > 0.0 else 0.0) + v * v
# absolute: return np.sqrt(np.abs(np.maximum(v, 0.0))) + v * v
# copysign: return np.sqrt(np.copysign(np.maximum(v, 0.0), 1.0)) + v * v
# two: return np.sqrt(np.minimum(np.maximum(v, 0.0), 1.0)) + v * v
# infinity: return np.where(v > 0.0, v * np.inf, v * v)
# remainder: return np.sqrt(np.remainder(0.0, -v)) + v * v
""", "v")  # fmt: skip
ARRAYS = functions_of("""\
# maximum: return np.sum(np.sqrt(np.maximum(x, 0.0)))
# clip: return np.sum(np.sqrt(np.clip(x, 0.0, 9.0)))
# where: return np.sum(np.sqrt(np.where(x > 0.0, x, 0.0)))
""", "x")  # fmt: skip


@pytest.mark.parametrize("engine", EAGER)
@pytest.mark.parametrize("name", SCALAR)
def test_numbers_on_eager_engines(name, engine):
    grad = contad.grad(SCALAR[name], engine=engine)
    assert grad(-1.5) == -3.0
    assert contad.grad(grad, engine=engine)(-1.5) == 2.0


@pytest.mark.parametrize("name", SCALAR)
def test_numbers_forward_and_mixed(name):
    function = SCALAR[name]
    assert contad.jvp(function, (-1.5,), (1.0,))[1] == -3.0
    assert contad.jvp(contad.grad(function), (-1.5,), (1.0,))[1] == 2.0
    assert contad.grad(lambda v: contad.jvp(function, (v,), (1.0,))[1])(-1.5) == 2.0


@pytest.mark.parametrize(
    ("name", "engine"), sampled(product(SCALAR, ["tape", "generated"]), 6, family=lambda case: case[1])
)
def test_numbers_on_compiled_engines(name, engine):
    compiled = numba.njit(SCALAR[name])
    assert contad.grad(compiled, engine=engine)(-1.5) == -3.0
    if engine == "tape":
        assert contad.jvp(compiled, (-1.5,), (1.0,))[1] == -3.0
        assert contad.grad(contad.grad(compiled))(-1.5) == 2.0


@pytest.mark.parametrize("engine", [pytest.param("tape", marks=pytest.mark.long), None])  # the tape runs Heston's below
@pytest.mark.parametrize("name", sampled(ARRAYS, 3))
def test_arrays(name, engine):
    function = ARRAYS[name]
    x, expected, second = np.array([-1.0, 4.0, -3.0]), [0.0, 0.25, 0.0], [0.0, -1.0 / 32.0, 0.0]
    np.testing.assert_array_equal(contad.grad(function)(x), expected)
    np.testing.assert_array_equal(np.diag(contad.hessian(function)(x)), second)
    assert contad.jvp(function, (x,), (np.ones(3),))[1] == 0.25
    grad = contad.grad(numba.njit(function), **({} if engine is None else {"engine": engine}))
    np.testing.assert_array_equal(grad(x), expected)


def heston(p, z):
    """A path of Heston's model, full truncation: the variance is cut off at zero under the root."""
    s, v = 1.0, p[0]
    for k in range(z.shape[0]):
        root = np.sqrt(np.maximum(v, 0.0))
        s = s + s * (0.01 * 0.1 + root * math.sqrt(0.1) * z[k, 0])
        v = v + p[1] * (p[2] - np.maximum(v, 0.0)) * 0.1 + p[3] * root * math.sqrt(0.1) * z[k, 1]
    return np.maximum(s - 0.9, 0.0)


def test_heston_with_full_truncation():
    p, z = np.array([0.04, 1.0, 0.04, 0.9]), np.random.default_rng(3).normal(size=(40, 2))
    variances, v = [], p[0]
    for k in range(len(z)):
        root = np.sqrt(max(v, 0.0))
        v = v + p[1] * (p[2] - max(v, 0.0)) * 0.1 + p[3] * root * math.sqrt(0.1) * z[k, 1]
        variances.append(v)
    assert min(variances) < 0.0  # the scheme truncates on this path
    steps = 1e-6 * np.eye(4)
    expected = [(heston(p + h, z) - heston(p - h, z)) / 2e-6 for h in steps]
    found = [contad.grad(lambda p: heston(p, z))(p)]
    found += [contad.grad(numba.njit(heston), engine=engine)(p, z) for engine in ("generated", "tape")]
    for gradient in found:
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(gradient, found[0], rtol=1e-12)


def test_which_rules_route():
    """Partials of a selection are constant but for jumps; those of other functions may be 0 by chance."""
    for name in ("maximum", "minimum", "absolute", "copysign"):
        assert rule(name).body.routes(0)
    for name in ("square", "multiply", "sin", "hypot", "add", "power", "deg2rad"):
        assert not rule(name).body.routes(0)


@pytest.mark.parametrize("engine", EAGER)
def test_a_rule_of_the_users_routes(engine):
    with registered():

        @contad.scalar_rule
        def ramp(x):
            return x if x > 0.0 else 0.0

        @ramp.partials
        def ramp_partials(z, x):
            return contad.select(x > 0.0, 1.0, 0.0)

        assert contad.grad(lambda v: np.sqrt(ramp(v)) + v * v, engine=engine)(-1.5) == -3.0
        if engine == "matrix":
            x = np.array([-1.5, 4.0])
            np.testing.assert_array_equal(contad.grad(lambda v: np.sum(np.sqrt(ramp(v))))(x), [0.0, 0.25])


@pytest.mark.parametrize("engine", EAGER)
def test_an_undefined_derivative_stays_undefined(engine):
    """sqrt(x^2) at 0 has no derivative, and is no selection."""
    with np.errstate(all="ignore"):
        assert math.isnan(contad.grad(lambda x: np.sqrt(x * x), engine=engine)(0.0))


def masked(data, x):
    total = 0.0
    for k in range(len(data)):
        total += np.where(np.isnan(data[k]), 0.0, data[k] * x)
    return total


@pytest.mark.parametrize("engine", ["tape", "generated"])
def test_data_that_are_missing(engine):
    assert contad.grad(numba.njit(masked), 1, engine=engine)(np.array([1.0, np.nan, 3.0]), 2.0) == 4.0


Y = np.array([1.0, np.nan, 2.5, -0.7])
SELECTIONS = sorted(
    (r for r in rules() if r.arity <= 2 and any(map(r.body.routes, range(r.arity)))), key=lambda r: r.name
)


def loss(selection, y, mu):
    """A sum over the data that are there, of a selection of all."""
    r = y - mu
    z = selection(r) if selection.arity == 1 else selection(r, 0.4 * r)
    return np.sum(np.where(np.isnan(y), 0.0, z))


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("way", ["compiled", "plain", "records", "closures", "forward", "recorded"])
@pytest.mark.parametrize("selection", SELECTIONS, ids=lambda r: r.name)
def test_selections_of_data_that_are_missing(selection, way, monkeypatch):
    """The slope of a selection at nan is nan, and of a number that nobody reads passes nothing on."""

    def f(y):
        return lambda mu: loss(selection, y, mu)

    if way == "plain":
        monkeypatch.setattr(record_stream, "PATIENCE", Endless())
    take = {
        "forward": contad.derivative, "recorded": lambda f: contad.record(f, 0.3).gradient,
    }.get(way, lambda f: contad.grad(f, engine=way if way in ("records", "closures") else "matrix"))  # fmt: skip
    assert take(f(Y))(0.3) == take(f(Y[~np.isnan(Y)]))(0.3)
