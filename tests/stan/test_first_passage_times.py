"""Wiener's first passage times: density, probabilities and derivatives by the series in mpmath."""

import numpy as np
import pytest
from mpmath import mp

import contad
from contad import stan


def density(t, a, w, v, spread=0):
    """At the upper end, by images; the average over a normal drift by quadrature."""
    u, w, v = t / a**2, 1 - w, -v  # as seen from that end
    images = (w + 2 * k for k in range(-20, 21))
    series = sum(x * mp.exp(-(x**2) / (2 * u)) for x in images) / mp.sqrt(2 * mp.pi * u**3)
    drift = lambda v: mp.exp(-v * a * w - v * v * t / 2)
    if spread:
        ends = mp.linspace(v - 10 * spread, v + 10 * spread, 9)
        return series / a**2 * mp.quad(lambda x: mp.npdf(x, v, spread) * drift(x), ends)
    return series / a**2 * drift(v)


def probability(t, a, w, v):
    return mp.quad(lambda s: density(s, a, w, v), [0, *(t * mp.mpf(2) ** -k for k in range(6, -1, -1))])


def hit(a, w, v):
    w, v = 1 - w, -v
    return mp.expm1(2 * v * a * (w - 1)) / mp.expm1(-2 * v * a) * mp.exp(-2 * v * a * w)


POINTS = [(0.7, 1.4, 0.1, 0.5, 0.3), (2.1, 0.8, 0.3, 0.6, -1.2), (0.15, 1.4, 0.1, 0.3, 0.5), (3.0, 1.0, 0.1, 0.4, 0.5)]


def slopes(f, point):
    return [float(mp.diff(f, tuple(map(mp.mpf, point)), tuple(int(j == k) for j in range(5)))) for k in range(5)]


@pytest.mark.parametrize("point", POINTS)
def test_densities(point):
    exact = lambda y, a, tau, w, v: mp.log(density(y - tau, a, w, v))
    with mp.workdps(40):
        assert stan.wiener_lpdf(*point) == pytest.approx(float(exact(*map(mp.mpf, point))), rel=1e-14)
        found = contad.grad(stan.wiener_lpdf, tuple(range(5)))(*point)
        np.testing.assert_allclose(found, slopes(exact, point), rtol=1e-13)


def test_second_derivatives():
    exact = lambda *x: mp.log(density(x[0] - x[2], x[1], x[3], x[4]))
    point = POINTS[0]
    found = contad.hessian(lambda x: stan.wiener_lpdf(*x))(np.array(point))
    with mp.workdps(40):
        for i, j in ((0, 0), (0, 3), (1, 2), (3, 3), (3, 4)):
            orders = tuple((k == i) + (k == j) for k in range(5))
            assert found[i, j] == pytest.approx(float(mp.diff(exact, tuple(map(mp.mpf, point)), orders)), rel=1e-11)


@pytest.mark.long  # fewer are in tests/distributions/published_values.py
@pytest.mark.parametrize("point", POINTS[:3])
def test_probabilities(point):
    with mp.workdps(25):
        judge_probabilities(point)


def judge_probabilities(point):
    y, a, tau, w, v = map(mp.mpf, point)
    below = probability(y - tau, a, w, v)
    assert stan.wiener_lcdf_unnorm(*point) == pytest.approx(float(mp.log(below)), rel=1e-12)
    assert stan.wiener_lccdf_unnorm(*point) == pytest.approx(float(mp.log(hit(a, w, v) - below)), rel=1e-11)
    found = contad.grad(stan.wiener_lcdf_unnorm, (0, 1, 4))(*point)
    scale = np.exp(stan.wiener_lpdf(*point) - stan.wiener_lcdf_unnorm(*point))
    assert found[0] == pytest.approx(scale, rel=1e-10)
    if point is not POINTS[1]:
        return
    h = mp.mpf("1e-6")
    by_a = (mp.log(probability(y - tau, a + h, w, v)) - mp.log(probability(y - tau, a - h, w, v))) / (2 * h)
    by_v = (mp.log(probability(y - tau, a, w, v + h)) - mp.log(probability(y - tau, a, w, v - h))) / (2 * h)
    assert found[1:] == pytest.approx((float(by_a), float(by_v)), rel=1e-8)


def test_arguments_that_vary():
    y, a, tau, w, v = POINTS[0]
    spread = stan.wiener_lpdf(y, a, tau, w, v, 0.4)
    assert spread == pytest.approx(float(mp.log(density(y - tau, a, w, v, 0.4))), rel=1e-12)
    starts = mp.quad(lambda s: density(y - tau, a, s, v, 0), [w - 0.1, w + 0.1]) / 0.2
    assert stan.wiener_lpdf(y, a, tau, w, v, 0.0, 0.2) == pytest.approx(float(mp.log(starts)), rel=1e-12)
    delays = mp.quad(lambda s: density(y - s, a, w, v, 0), [tau, tau + 0.3]) / 0.3
    assert stan.wiener_lpdf(y, a, tau, w, v, var_tau=0.3) == pytest.approx(float(mp.log(delays)), rel=1e-12)
    x, weights = np.polynomial.legendre.leggauss(400)  # up to y itself
    inner = [stan.wiener_lpdf(y, a, tau + 0.5 * (y - tau) * (s + 1.0), w, v) for s in x]
    late = np.log(np.sum(0.5 * weights * np.exp(inner)) * (y - tau) / 0.9)
    assert stan.wiener_lpdf(y, a, tau, w, v, var_tau=0.9) == pytest.approx(late, rel=1e-11)


@pytest.mark.long
def test_everything_varies():
    y, a, tau, w, v = POINTS[0]
    full = (y, a, tau, w, v, 0.4, 0.2, 0.3)
    slope = contad.grad(stan.wiener_lpdf, tuple(range(8)))(*full)
    for k in range(8):
        h = 1e-4
        ends = [stan.wiener_lpdf(*(x + j * h if i == k else x for i, x in enumerate(full))) for j in (-2, -1, 1, 2)]
        assert slope[k] == pytest.approx((8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / (12 * h), rel=1e-7, abs=1e-9)
    for function in (stan.wiener_lcdf_unnorm, stan.wiener_lccdf_unnorm):
        assert function(y, a, tau, w, v, 0.4, 0.2, 0.3) < 0.0
    assert np.exp(stan.wiener_lcdf_unnorm(*full)) + np.exp(stan.wiener_lccdf_unnorm(*full)) == pytest.approx(
        np.exp(stan.wiener_lccdf_unnorm(0.41, a, 0.4, w, v, 0.4, 0.2, 0.0))
        + np.exp(stan.wiener_lcdf_unnorm(0.41, a, 0.4, w, v, 0.4, 0.2, 0.0)), rel=1e-9
    )  # fmt: skip


def test_data():
    y = np.array([0.7, 2.1, 0.4])
    each = sum(stan.wiener_lpdf(t, 1.4, 0.1, 0.5, 0.3, 0.0, 0.1) for t in y)
    assert stan.wiener_lpdf(y, 1.4, 0.1, 0.5, 0.3, 0.0, 0.1) == pytest.approx(each, rel=1e-14)
    assert stan.wiener_lpdf(y, 1.4, 0.1, 0.5, 0.3) == pytest.approx(
        sum(stan.wiener_lpdf(t, 1.4, 0.1, 0.5, 0.3) for t in y), rel=1e-14
    )
    with pytest.raises(ValueError, match="wiener_lpdf: y must be greater than tau, got 0.1"):
        stan.wiener_lpdf(0.1, 1.4, 0.2, 0.5, 0.3)
    with pytest.raises(ValueError, match="wiener_lpdf: beta - var_beta / 2 must be greater than"):
        stan.wiener_lpdf(0.7, 1.4, 0.2, 0.1, 0.3, 0.0, 0.3)
    with pytest.raises(ValueError, match="wiener_lccdf_unnorm: var_tau must be at most y - tau"):
        stan.wiener_lccdf_unnorm(0.7, 1.4, 0.2, 0.5, 0.3, 0.0, 0.0, 0.8)


@pytest.mark.long
def test_compiled_code():
    numba = pytest.importorskip("numba")
    f = numba.njit(lambda a, w: stan.wiener_lpdf(0.7, a, 0.1, w, 0.3))
    assert contad.grad(f, (0, 1))(1.4, 0.5) == pytest.approx(contad.grad(f.py_func, (0, 1))(1.4, 0.5), rel=1e-12)
