"""`tanhsinh`, `cubature` and Stan's `hcubature`: twelve integrals with difficult ends, boxes, limits, second order."""


import numba
import numpy as np
import pytest
import scipy.integrate
import scipy.special

import contad
from contad import stan
from contad.engines import engine_names
from contad.errors import UnsupportedError
from contad.scipy.integrate import cubature, tanhsinh
from tests.judges.ways import differences

pytestmark = pytest.mark.skipif(not hasattr(scipy.integrate, "cubature"), reason="SciPy has them since 1.15")

# (integrand of x and p, from, to, its integral in p): infinite ends, infinite integrands, slow decay, peaks
DIFFICULT = [
    (lambda x, p: x ** (p - 1.0), 0.0, 1.0, lambda p: 1.0 / p, 0.2),
    (lambda x, p: -np.log(x) * x**p, 0.0, 1.0, lambda p: 1.0 / (p + 1.0) ** 2, 0.7),
    (lambda x, p: np.exp(-p * x), 0.0, np.inf, lambda p: 1.0 / p, 1.7),
    (lambda x, p: x ** (p - 1.0) * np.exp(-x), 0.0, np.inf, lambda p: contad.ops.exp(contad.gammaln(p)), 1.6),
    (lambda x, p: np.exp(-p * x * x), -np.inf, np.inf, lambda p: np.sqrt(np.pi / p), 2.3),
    (lambda x, p: np.exp(p * x), -np.inf, 0.5, lambda p: np.exp(0.5 * p) / p, 1.1),
    (lambda x, p: 1.0 / (1.0 + p * x * x), 0.0, np.inf, lambda p: 0.5 * np.pi / np.sqrt(p), 3.0),
    (lambda x, p: x**-p, 1.0, np.inf, lambda p: 1.0 / (p - 1.0), 3.5),
    (lambda x, p: p / (p * p + (x - 0.3) ** 2), 0.0, 1.0, lambda p: np.arctan(0.7 / p) + np.arctan(0.3 / p), 0.05),
    (lambda x, p: np.log(p + x) / np.sqrt(x), 0.0, 1.0,
     lambda p: 2.0 * np.log(p + 1.0) - 4.0 + 4.0 * np.sqrt(p) * np.arctan(1.0 / np.sqrt(p)), 0.6),
    (lambda x, p: 2.0 * np.exp(-p * x) / (1.0 + np.exp(-2.0 * p * x)), 0.0, np.inf, lambda p: 0.5 * np.pi / p, 0.9),
    (lambda x, p: np.sqrt(x) * np.exp(-p * np.sqrt(x)), 0.0, np.inf, lambda p: 4.0 / p**3, 2.0),
]  # fmt: skip


@pytest.mark.parametrize("case", DIFFICULT, ids=range(len(DIFFICULT)))
def test_difficult_ends(case):
    f, a, b, closed, p = case
    by_scipy = lambda p: tanhsinh(f, a, b, args=(p,)).integral
    for integral in (by_scipy, lambda p: stan.integrate_1d(lambda x, xc, p: f(x, p), a, b, p)):
        assert integral(p) == pytest.approx(float(closed(p)), rel=1e-7)
        assert contad.grad(integral)(p) == pytest.approx(contad.grad(closed)(p), rel=1e-6)
    assert contad.derivative(contad.grad(by_scipy))(p) == pytest.approx(contad.grad(contad.grad(closed))(p), rel=1e-5)


def test_the_complement_argument():
    """1 - x near 1 has digits only as the distance: the integral of (1 - x)^(p - 1), infinite at 1, by two rules."""
    near = lambda x, xc, p: (xc if xc > 0.0 else 1.0 - x) ** (p - 1.0)
    for rule in (stan.integrate_1d, stan.integrate_1d_double_exponential):
        f = lambda p: rule(near, 0.0, 1.0, p)  # noqa: B023
        assert f(0.05) == pytest.approx(20.0, rel=1e-9) and contad.grad(f)(0.05) == pytest.approx(-400.0, rel=1e-8)
    smooth = lambda x, xc, p: np.exp(-p * x) if np.isnan(xc) else np.nan
    assert stan.integrate_1d_gauss_kronrod(smooth, 0.0, 1.0, 2.0) == pytest.approx(0.5 * (1.0 - np.exp(-2.0)), rel=1e-9)


def test_limits_of_tanhsinh():
    f = lambda v: tanhsinh(lambda x: np.exp(-v[0] * x), v[1], v[2]).integral
    closed = lambda v: (np.exp(-v[0] * v[1]) - np.exp(-v[0] * v[2])) / v[0]
    for v in (np.array([1.3, 0.2, 2.0]), np.array([1.3, 2.0, 0.2])):
        for engine in engine_names():
            np.testing.assert_allclose(contad.grad(f, engine=engine)(v), contad.grad(closed)(v), rtol=1e-9)
        np.testing.assert_allclose(contad.hessian(f)(v), contad.hessian(closed)(v), rtol=1e-8)
    endless = contad.grad(f)(np.array([1.3, 0.2, np.inf]))
    np.testing.assert_allclose(endless, [-np.exp(-0.26) * (0.2 / 1.3 + 1.0 / 1.69), -np.exp(-0.26), 0.0], rtol=1e-9)
    np.testing.assert_allclose(contad.grad(f)(np.array([1.3, 0.5, 0.5])), [0.0, -np.exp(-0.65), np.exp(-0.65)])


def test_arrays_of_integrands():
    f = lambda p: tanhsinh(lambda x: x**p, 0.0, 1.0).integral
    p = np.array([-0.5, 0.7, 2.0])
    np.testing.assert_allclose(contad.jacobian(f)(p), np.diag(-1.0 / (p + 1.0) ** 2), rtol=1e-8, atol=1e-12)
    found, expected = tanhsinh(np.exp, [0.0, 1.0], 2.0), scipy.integrate.tanhsinh(np.exp, [0.0, 1.0], 2.0)
    np.testing.assert_array_equal(found.integral, expected.integral)


# ---- boxes -----------------------------------------------------------------------------------------------------------
def of_box(v):
    """exp(-v0 x) sin(v1 y) over a box with the limits v2 to v5."""
    integrand = lambda x: np.exp(-v[0] * x[:, 0]) * np.sin(v[1] * x[:, 1])
    return cubature(integrand, v[2:4], v[4:6], rule="gk15", rtol=1e-6).estimate


def of_hcubature(v):
    integrand = lambda x, p, q: np.exp(-p * x[0]) * np.sin(q * x[1])
    return stan.hcubature(integrand, (v[0], v[1]), 2, v[2:4], v[4:6], 0, 0.0, 1e-7)


def closed_box(v):
    first = (np.exp(-v[0] * v[2]) - np.exp(-v[0] * v[4])) / v[0]
    return first * (np.cos(v[1] * v[3]) - np.cos(v[1] * v[5])) / v[1]


@pytest.mark.parametrize("f", [of_box, of_hcubature])
def test_products_of_integrals(f):
    v = np.array([1.2, 0.9, 0.1, 0.3, 1.4, 1.1])
    assert f(v) == pytest.approx(closed_box(v), rel=1e-7)
    np.testing.assert_allclose(contad.grad(f)(v), contad.grad(closed_box)(v), rtol=1e-6)
    np.testing.assert_allclose(contad.jacfwd(f)(v), contad.grad(closed_box)(v), rtol=1e-6)


@pytest.mark.long
def test_second_order_of_a_box():
    v = np.array([1.2, 0.9, 0.1, 0.3, 1.4, 1.1])
    second = contad.hvp(closed_box)(v, np.ones(6))
    np.testing.assert_allclose(contad.hvp(of_box)(v, np.ones(6)), second, rtol=1e-6, atol=1e-8)


def test_second_order_in_one_dimension():
    f = lambda v: cubature(lambda x: np.exp(-v[0] * x[:, 0]), [0.0], v[1:], rule="gk15").estimate
    closed = lambda v: (1.0 - np.exp(-v[0] * v[1])) / v[0]
    v = np.array([1.2, 0.9])
    np.testing.assert_allclose(contad.hessian(f)(v), contad.hessian(closed)(v), rtol=1e-7)


def test_infinite_boxes_args_and_numba_functions():
    @numba.njit
    def compiled(x, p):
        y = np.empty(x.shape[0])
        for k in range(x.shape[0]):
            y[k] = np.exp(-p * (x[k, 0] ** 2 + x[k, 1]))
        return y

    plain = lambda x, p: np.exp(-p * (x[:, 0] ** 2 + x[:, 1]))
    closed = lambda p, b: np.sqrt(np.pi / p) * np.exp(-p * b) / p
    for f in (plain, compiled):
        settings = {"rtol": 1e-3, "rule": "gk15"}
        ends = [np.inf, np.inf]
        of = lambda p, b: cubature(f, [-np.inf, b], ends, args=(p,), **settings).estimate  # noqa: B023
        assert of(1.5, 0.2) == pytest.approx(closed(1.5, 0.2), rel=1e-2)
        np.testing.assert_allclose(contad.grad(of, (0, 1))(1.5, 0.2), contad.grad(closed, (0, 1))(1.5, 0.2), rtol=1e-2)


def test_half_infinite_ends_of_each_side():
    f = lambda v: cubature(lambda x: np.exp(-x[:, 0] ** 2), v[:1], [np.inf]).estimate
    g = lambda v: cubature(lambda x: np.exp(-x[:, 0] ** 2), [-np.inf], v[:1]).estimate
    np.testing.assert_allclose(contad.grad(f)(np.array([0.4])), [-np.exp(-0.16)], rtol=1e-7)
    np.testing.assert_allclose(contad.grad(g)(np.array([0.4])), [np.exp(-0.16)], rtol=1e-7)


def test_vectors_in_one_dimension():
    f = lambda p: cubature(lambda x: x ** np.reshape(p, (1, -1)), [0.0], [1.0]).estimate
    p = np.array([0.5, 2.0])
    np.testing.assert_allclose(contad.jacobian(f)(p), np.diag(-1.0 / (p + 1.0) ** 2), rtol=1e-6, atol=1e-9)
    one = lambda p: stan.hcubature(lambda x, p: np.exp(-p * x[0]), (p,), 1, [0.0], [1.0])
    assert contad.grad(one)(0.8) == pytest.approx(differences(lambda v: one(v[0]), np.array([0.8]), 1e-4)[0], rel=1e-7)


# ---- what is refused -------------------------------------------------------------------------------------------------
def test_bad_integrals_are_refused(monkeypatch):
    with pytest.raises(UnsupportedError, match="tanhsinh: log= is not supported on variables"):
        contad.grad(lambda p: tanhsinh(lambda x: p * x, 0.0, 1.0, log=True).integral)(1.0)
    with pytest.raises(UnsupportedError, match="cubature: points= is not supported on variables"):
        contad.grad(lambda p: cubature(lambda x: p * x[:, 0], [0.0], [1.0], points=[[0.5]]).estimate)(1.0)
    with pytest.raises(RuntimeError, match="tanhsinh: the integral of the derivative does not converge"):
        contad.grad(lambda p: tanhsinh(lambda x: np.sin(p * x) / x, 0.0, np.inf, maxlevel=3).integral)(1.0)
    with pytest.raises(ValueError, match="cubature: a must be a vector of the length of b, got"):
        contad.grad(lambda p: cubature(lambda x: p * x[:, 0], [0.0], [1.0, 1.0]).estimate)(1.0)
    with pytest.raises(ValueError, match=r"hcubature: a must have 2 numbers, got shape \(1,\)"):
        stan.hcubature(lambda x: x[0], (), 2, np.zeros(1), np.ones(2))
    with pytest.raises(ValueError, match="hcubature: reqRelError must not be negative, got -1.0"):
        stan.hcubature(lambda x: x[0], (), 1, np.zeros(1), np.ones(1), 0, 0.0, -1.0)
    with pytest.raises(RuntimeError, match="hcubature: the integral is not found in max_eval = 50 evaluations"):
        stan.hcubature(lambda x: np.abs(x[0] - 0.3) ** 0.1 * x[1], (), 2, np.zeros(2), np.ones(2), 50)
    for name, call in (
        ("tanhsinh", lambda: tanhsinh(np.exp, 0.0, 1.0)),
        ("cubature", lambda: cubature(lambda x: x[:, 0], [0.0], [1.0])),
    ):
        monkeypatch.delattr(scipy.integrate, name)
        with pytest.raises(UnsupportedError, match=f"{name}: it needs SciPy 1.15 or later, and "):
            call()
    assert contad.stack().top <= 1
