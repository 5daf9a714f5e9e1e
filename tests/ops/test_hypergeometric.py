"""Hypergeometric functions of SciPy's names: partials in every regime by mpmath, second derivatives, and njit."""

import math

import numba
import numpy as np
import pytest
import scipy.special
from mpmath import mp

import contad
from contad.rules.scalar_rule import rule
from tests.ops.reference_hypergeometric import REFERENCE

POINTS = {
    "hyp0f1": [(1.7, 0.9), (-0.3, -7.5), (64.0, -52.6), (2.2, 900.0), (0.6, -250.0)],
    "hyp1f1": [(1.3, 2.1, 0.9), (-12.2, -0.15, 23.0), (-18.8, 19.1, -37.2), (2.3, 0.8, -60.0), (0.3, 40.0, 300.0)],
    "hyp2f1": [
        (1.3, 0.7, 2.1, 0.4), (-9.4, 0.3, 7.0, 0.23), (0.6, 1.8, 1.2, -1.3), (1.5, -0.3, 2.0, -2580.0),
        (0.6, 0.7, -0.65, 0.99999), (40.0, 20.0, 30.0, -0.7), (-3.0, 6.0, 4.9, 0.8),
    ],
    "hyperu": [(1.3, 2.1, 0.9), (-9.1, -7.8, 0.26)],
    "wright_bessel": [(2.7, 0.6, 0.0058), (1.5, 0.1, 20.0)],
}  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
def test_partials(name):
    at, reference = rule(name), REFERENCE[name]
    n = at.arity
    fixed = 1e4 if name == "hyperu" else 8.0
    for point in POINTS[name]:
        with mp.workdps(40):
            args = tuple(map(mp.mpf, point))
            z = at(*point)
            slopes = [mp.diff(reference, args, unit(n, k), h=mp.mpf(10) ** -15) for k in range(n)]
            for k, slope in enumerate(slopes):
                parts = [mp.diff(reference, args, unit(n, j, k), h=mp.mpf(10) ** -12) for j in range(n)]
                condition = sum(abs(x * p / slope) for x, p in zip(args, parts, strict=True))
                error = abs(at.partial(k)(z, *point) - slope)
                assert error <= (fixed + 4 * condition) * 2.0**-52 * abs(slope), (point, k, float(slope))


@pytest.mark.parametrize(("name", "point"), [
    ("hyp0f1", (-1.5, 0.7)), ("hyp0f1", (-14.4, 17.8)), ("hyp0f1", (-16.6, -7.9)), ("hyp0f1", (-97.3, 4.0)),
    ("hyp1f1", (0.4, -1.5, 0.7)), ("hyp1f1", (-4.3, -14.4, 17.8)), ("hyp1f1", (2.7, -16.6, -7.9)),
    ("hyp1f1", (0.9, -1.3, 40.0)),
])  # fmt: skip
def test_partials_at_negative_parameters(name, point):
    at, reference = rule(name), REFERENCE[name]
    with mp.workdps(40):
        args = tuple(map(mp.mpf, point))
        exact = [float(mp.diff(reference, args, unit(at.arity, k), h=mp.mpf(10) ** -15)) for k in range(at.arity)]
    found = contad.grad(at, tuple(range(at.arity)))(*point)
    np.testing.assert_allclose(found, exact, rtol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_where_the_series_cancels_there_is_no_partial(seed):
    """At negative parameters a partial is right to seven digits, or nan."""
    rng = np.random.default_rng(seed)
    a, b, x = rng.uniform(-8.0, 8.0), rng.uniform(-20.0, -1.0), rng.uniform(-20.0, 20.0)
    for name, point in (("hyp0f1", (b, x)), ("hyp1f1", (a, b, x)), ("hyp1f1", (a, b, 10.0 * x))):
        with mp.workdps(50):
            args = tuple(map(mp.mpf, point))
            exact = [float(mp.diff(REFERENCE[name], args, unit(len(point), k))) for k in range(len(point))]
        for found, expected in zip(contad.grad(rule(name), tuple(range(len(point))))(*point), exact, strict=True):
            assert math.isnan(found) or found == pytest.approx(expected, rel=1e-6), (name, point)


def unit(n, *places):
    return tuple(places.count(k) for k in range(n))


@pytest.mark.parametrize("name", POINTS)
def test_values(name):
    ufunc = getattr(scipy.special, name)
    for point in POINTS[name]:
        exact = float(REFERENCE[name](*map(mp.mpf, point)))
        assert rule(name)(*point) == pytest.approx(exact, rel=1e-10 if name != "hyp1f1" else 1e-7)
    columns = [np.array(x) for x in zip(*POINTS[name], strict=True)]
    slope = contad.grad(lambda x: np.sum(ufunc(*columns[:-1], x)))(columns[-1])  # by SciPy's name, of arrays
    each = [contad.grad(rule(name), len(point) - 1)(*point) for point in POINTS[name]]
    np.testing.assert_allclose(slope, each, rtol=1e-12)


def test_where_scipy_has_lost_all_digits():
    point = (0.9999978928179947, 1.0000000000001126, 0.9999999999999647)
    exact = float(mp.hyperu(*map(mp.mpf, point)))
    assert abs(scipy.special.hyperu(*point) / exact - 1.0) > 1e-3
    assert rule("hyperu")(*point) == pytest.approx(exact, rel=1e-12)
    assert rule("hyperu")(*map(np.array, point)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(("name", "point"), [("hyp2f1", (1.3, 0.7, 2.1, -1.4)), ("hyperu", (1.3, 2.1, 0.9))])
def test_second_derivatives(name, point):
    n = len(point)
    with mp.workdps(30):
        exact = [[float(mp.diff(REFERENCE[name], tuple(map(mp.mpf, point)), unit(n, i, j))) for i in range(n)]
                 for j in range(n)]  # fmt: skip
    found = contad.hessian(lambda x: rule(name)(*x))(np.array(point))
    np.testing.assert_allclose(found, exact, rtol=1e-11)


def test_where_scipy_divides_by_zero():
    hyp0f1 = contad.ops.hyp0f1
    compiled = numba.njit(lambda v, x: hyp0f1(v, x))
    for x in (1.28e5, 1e20):  # I_0(2 sqrt(x)) is larger than the largest number
        assert hyp0f1(1.0, x) == compiled(1.0, x) == math.inf
    assert hyp0f1(1.0, 1.2e5) == pytest.approx(float(mp.hyp0f1(1, 1.2e5)), rel=1e-13)


def test_values_outside_of_the_domain_are_nan():
    assert math.isnan(contad.grad(rule("hyp2f1"))(1.3, 0.7, -2.4, 0.3))
    assert math.isnan(contad.grad(rule("hyp2f1"))(1.3, 0.7, 2.4, 1.0))
    assert math.isnan(contad.grad(rule("hyperu"))(-3.0, 7.0, 0.3))
    assert math.isnan(contad.grad(rule("wright_bessel"))(0.3, 7.0, 1e9))


@pytest.mark.long
@pytest.mark.parametrize("name", ["hyp2f1", "hyperu"])
def test_compiled_code(name):
    own = contad.ops.__dict__[name]
    point = POINTS[name][0]
    if name == "hyp2f1":
        f = numba.njit(lambda a, b, c, x: own(a, b, c, x) * x)
    else:
        f = numba.njit(lambda a, b, x: own(a, b, x) * x)
    active = tuple(range(len(point)))
    expected = contad.grad(f.py_func, active)(*point)
    assert contad.grad(f, active, engine="generated")(*point) == pytest.approx(expected, rel=1e-13)
