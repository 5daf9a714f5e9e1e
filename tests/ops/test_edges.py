"""Core rules at kinks, jumps, edges of domains and special floats: the chosen partials, and NumPy's values."""

import itertools
import math
import warnings

import numba
import numpy as np
import pytest
import scipy.special

import contad
from contad import derivative, grad, stan
from contad.ops import arctan2, hypot, logaddexp, maximum, power, tanh
from contad.rules.scalar_rule import rule, rule_of_ufunc, rules

INF, NAN = math.inf, math.nan
TINY = 5e-324
ROUNDING = ("sign", "floor", "ceil", "trunc", "rint")
OPERATORS = {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "abs"}
CORE = sorted(r.name for r in rules() if r.core and r.__module__.startswith("contad.ops."))


def same(x, y, ulps=0):
    """Equal to some ulps, with the same infinities, nan for nan."""
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return x == y or (math.isfinite(x) and math.isfinite(y) and abs(x - y) <= ulps * math.ulp(y))


# ---- chosen partials -------------------------------------------------------------------------------------------------
EDGES = [
    # kinks: the smallest of the possible slopes, or the mean of the two sides
    ("absolute", (0.0,), (0.0,)), ("absolute", (-0.0,), (0.0,)), ("copysign", (0.0, -2.0), (0.0, 0.0)),
    ("copysign", (-3.0, 0.0), (-1.0, 0.0)), ("copysign", (-3.0, -0.0), (1.0, 0.0)), ("hypot", (0.0, 0.0), (0.0, 0.0)),
    ("hypot", (-0.0, 0.0), (0.0, 0.0)), ("hypot", (TINY, 0.0), (1.0, 0.0)),
    ("hypot", (-3 * TINY, 4 * TINY), (-0.6, 0.8)), ("hypot", (3e307, -4e307), (0.6, -0.8)),
    ("maximum", (1.5, 1.5), (0.5, 0.5)), ("maximum", (0.0, -0.0), (0.5, 0.5)), ("maximum", (INF, INF), (0.5, 0.5)),
    ("maximum", (-INF, 1.0), (0.0, 1.0)), ("minimum", (1.5, 1.5), (0.5, 0.5)), ("minimum", (-INF, 1.0), (1.0, 0.0)),
    # jumps: zero, or the branch that holds the value
    *((name, (x,), (0.0,)) for name in ROUNDING for x in (0.0, -0.0, 0.5, 3.0, 1e300)),
    ("floor_divide", (6.0, 3.0), (0.0, 0.0)), ("remainder", (6.0, 3.0), (1.0, -2.0)),
    ("remainder", (-6.0, 3.0), (1.0, 2.0)),
    ("remainder", (1.0, 0.1), (1.0, -9.0)),  # 1.0 / 0.1 rounds to 10
    # powers
    ("power", (0.0, 0.0), (0.0, 0.0)), ("power", (0.0, 1.0), (1.0, 0.0)), ("power", (0.0, 2.0), (0.0, 0.0)),
    ("power", (-0.0, 3.0), (0.0, 0.0)), ("power", (0.0, 0.5), (INF, 0.0)), ("power", (3.0, 0.0), (0.0, math.log(3.0))),
    ("power", (-3.0, 0.0), (0.0, NAN)), ("power", (-2.0, 3.0), (12.0, NAN)), ("power", (-2.0, -1.0), (-0.25, NAN)),
    ("power", (TINY, 0.0), (0.0, math.log(TINY))), ("power", (1e-300, 1e-300), (1.0, math.log(1e-300))),
    # the origin and the cut of the angle
    ("arctan2", (0.0, 0.0), (NAN, NAN)), ("arctan2", (0.0, -2.0), (-0.5, 0.0)),
    ("arctan2", (1e-300, 1e-300), (5e299, -5e299)), ("arctan2", (1e300, 1e300), (5e-301, -5e-301)),
    ("arctan2", (3.0, INF), (0.0, 0.0)),
    # infinite arguments
    ("logaddexp", (INF, INF), (0.5, 0.5)), ("logaddexp", (-INF, -INF), (0.5, 0.5)),
    ("logaddexp", (-INF, 0.0), (0.0, 1.0)), ("logaddexp", (INF, 0.0), (1.0, 0.0)),
    ("logaddexp", (1e308, 1e308), (0.5, 0.5)), ("exp", (-INF,), (0.0,)), ("expm1", (-INF,), (0.0,)),
    ("expm1", (-700.0,), (math.exp(-700.0),)), ("log", (INF,), (0.0,)), ("tanh", (INF,), (0.0,)),
    ("tanh", (-800.0,), (0.0,)), ("arctan", (-INF,), (0.0,)), ("arcsinh", (1e300,), (1e-300,)),
    ("arcsinh", (INF,), (0.0,)), ("arccosh", (1e300,), (1e-300,)),
    # ends of the domain: the one-sided slope
    ("log", (0.0,), (INF,)), ("log2", (0.0,), (INF,)), ("log10", (0.0,), (INF,)), ("log1p", (-1.0,), (INF,)),
    ("sqrt", (0.0,), (INF,)), ("sqrt", (-1.0,), (NAN,)), ("cbrt", (0.0,), (INF,)), ("arcsin", (1.0,), (INF,)),
    ("arcsin", (-1.0,), (INF,)), ("arcsin", (2.0,), (NAN,)), ("arccos", (1.0,), (-INF,)), ("arccos", (-1.0,), (-INF,)),
    ("arccosh", (1.0,), (INF,)), ("arccosh", (0.5,), (NAN,)), ("arctanh", (1.0,), (INF,)), ("arctanh", (-1.0,), (INF,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "partials"), EDGES)
def test_partials_at_edges(name, args, partials):
    at = rule(name)
    z = at(*args)
    found = tuple(at.partial(k)(z, *args) for k in range(at.arity))
    assert all(same(p, q, ulps=4) for p, q in zip(found, partials, strict=True)), (found, partials)


@pytest.mark.parametrize(("f", "args", "hessian"), [
    (power, (2.0, 0.0), ((0.0, 0.5), (0.5, math.log(2.0) ** 2))),
    (power, (0.0, 2.0), ((2.0, 0.0), (0.0, 0.0))),
    (power, (0.0, 3.0), ((0.0, 0.0), (0.0, 0.0))),
    (logaddexp, (1.5, 1.5), ((0.25, -0.25), (-0.25, 0.25))),
    (logaddexp, (0.0, 900.0), ((0.0, 0.0), (0.0, 0.0))),
    (maximum, (1.5, 1.5), ((0.0, 0.0), (0.0, 0.0))),
    (hypot, (3.0, -4.0), ((0.128, 0.096), (0.096, 0.072))),
    (hypot, (0.0, 0.0), ((0.0, 0.0), (0.0, 0.0))),
    (arctan2, (2.0, 2.0), ((-0.125, 0.0), (0.0, 0.125))),
    (lambda x, y: tanh(x) * y, (900.0, 1.0), ((0.0, 0.0), (0.0, 0.0))),
    (lambda x, y: tanh(x) * y, (0.0, 1.0), ((0.0, 1.0), (1.0, 0.0))),
])  # fmt: skip
@pytest.mark.parametrize("outer", [derivative, grad])
@pytest.mark.parametrize("inner", [derivative, grad])
def test_second_derivatives_at_edges(f, args, hessian, inner, outer):
    for j, k in itertools.product((0, 1), repeat=2):
        assert outer(inner(f, j), k)(*args) == pytest.approx(hessian[j][k], rel=1e-14), (j, k)


@pytest.mark.parametrize("engine", ["closures", "records", "matrix", "generated", "tape", "record"])
def test_a_root_of_what_has_underflowed(engine):
    """Its slope is inf times 0: nan in reverse mode, on every engine; forward mode knows that the operand rests."""
    x = np.array([-1000.0, 0.5])

    def f(x):
        return math.sqrt(math.exp(x[0])) + x[1]

    if engine == "record":
        found = contad.grad(contad.record(f, np.array([0.0, 0.5])))(x)
    else:
        found = grad(numba.njit(f) if engine in ("generated", "tape") else f, engine=engine)(x)
    np.testing.assert_array_equal(found, [NAN, 1.0])
    assert contad.jvp(f, (x,), (np.ones(2),)) == (0.5, 1.0)


@pytest.mark.parametrize("engine", ["closures", "records", "matrix", "generated", "tape", "record"])
def test_roots_of_stan_rest_at_0(engine):
    """In both modes, of numbers and arrays."""
    x = np.array([-1000.0, 0.0, 4.0])

    def f(x):
        return stan.sqrt(math.exp(x[0])) + stan.sqrt(x[1]) + stan.sqrt(x[2])

    if engine == "record":
        found = contad.record(f, np.array([0.0, 0.5, 1.0])).gradient(x)
    else:
        found = grad(numba.njit(f) if engine in ("generated", "tape") else f, engine=engine)(x)
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.25])
    for g in (f, numba.njit(f)):
        assert contad.jvp(g, (x,), (np.ones(3),)) == (2.0, 0.25)
    np.testing.assert_array_equal(grad(lambda x: np.sum(stan.sqrt(np.exp(x))))(x)[:2], [0.0, 0.5])


def test_roots_of_stan_have_no_second_derivative_at_0():
    def even(x):
        return stan.sqrt(x * x) ** 2

    assert np.isnan(contad.hvp(even)(0.0, 1.0)) and np.isnan(contad.hvp(numba.njit(even))(0.0, 1.0))


def test_an_unused_nan_partial_stays_out():
    assert grad(lambda x: x**3)(-2.0) == 12.0
    assert grad(lambda x: power(x, 3.0))(-2.0) == 12.0


# ---- values ----------------------------------------------------------------------------------------------------------
SPECIAL = [0.0, 0.5, 1.0, 1 + 2**-52, 1.5, math.pi / 2, 2.0, 2.5, 3.0, 7.0, 710.0, 1e16, 1e154, 1e200, 1.7e308, INF]
SPECIAL += [1 - 2**-53, 0.3, 1e-5, 1e-17, 1e-154, 1e-300, 2.3e-308, 1e-310, TINY]
SPECIAL += [-x for x in SPECIAL] + [NAN]
# NumPy takes sqrt(x) for x ** 0.5, against C's pow and its own float_power
NOT_NUMPY = {(np.power, (-0.0, 0.5)), (np.power, (-INF, 0.5))}


@pytest.mark.parametrize("name", CORE)
def test_values_are_those_of_numpy(name):
    at = rule(name)
    ufuncs = [u if not isinstance(u, str) else getattr(scipy.special, u.rpartition(".")[2]) for u in at.ufuncs]
    assert ufuncs
    for ufunc, args in itertools.product(ufuncs, itertools.product(SPECIAL, repeat=at.arity)):
        if (ufunc, args) in NOT_NUMPY:
            continue
        z = at(*args)
        with np.errstate(all="ignore"):
            expected = float(ufunc(*args))
        assert type(z) is float
        assert same(z, expected, ulps=4), (ufunc, args, z, expected)
        if expected == 0.0:
            tie = name in {"maximum", "minimum"} and args[0] == args[1]  # NumPy leaves the zero's sign to the processor
            assert tie or math.copysign(1.0, z) == math.copysign(1.0, expected), (ufunc, args, z, expected)


@pytest.mark.parametrize("name", CORE)
def test_no_warning_and_no_error_at_special_floats(name):
    at = rule(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for args in itertools.product(SPECIAL, repeat=at.arity):
            z = at(*args)
            for k in range(at.arity):
                assert type(at.partial(k)(z, *args)) is float, (args, k)


@pytest.mark.parametrize("name", CORE)
def test_interior_points(name):
    at = rule(name)
    assert at.points
    for point in at.points:
        assert len(point) == at.arity and all(x not in (0.0, 1.0, -1.0) for x in point) and math.isfinite(at(*point))


# ---- dispatch --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("ufunc", "name"), [
    (np.divide, "divide"), (np.mod, "remainder"), (np.float_power, "power"), (np.abs, "absolute"),
    (np.fabs, "absolute"), (np.degrees, "rad2deg"), (np.radians, "deg2rad"), (np.atan2, "arctan2"),
    (np.pow, "power"),
])  # fmt: skip
def test_ufuncs_of_several_names(ufunc, name):
    assert rule_of_ufunc(ufunc).name == name


def test_fmax_ignores_nan_which_maximum_does_not():
    assert rule_of_ufunc(np.fmax).name == "fmax"
    for name in ("fmax", "fmin"):
        found = rule(name)
        for x, y, partials in ((0.5, NAN, (1.0, 0.0)), (NAN, -0.5, (0.0, 1.0)), (1.5, 1.5, (0.5, 0.5))):
            assert contad.grad(found, (0, 1))(x, y) == partials and found(x, y) == getattr(np, name)(x, y)


def test_operators():
    assert {rule(name).operator for name in CORE} == OPERATORS | {None}
