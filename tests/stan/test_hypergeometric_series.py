"""Stan's hypergeometric functions: value, first and second derivatives by mpmath, and what is refused."""

import numpy as np
import pytest
from mpmath import mp
from numba import njit

import contad
from contad import stan
from contad.testing import expect_ad

# (numbers above, numbers below, z)
POINTS = [
    ([1.3, 0.7, 2.1], [1.9, 2.4], 0.6), ([1.3, 0.7, -2.1], [1.9, 0.4], -0.9), ([3.0, 2.0, 1.0], [4.0, 5.0], 0.95),
    ([-2.0, 1.2, 1.4], [2.3, 1.7], 0.3), ([1.3, 0.7], [2.1, 1.9], -6.0), ([1.3, 0.7], [2.1, 1.9], 300.0),
    ([1.3], [2.1, 1.9], -3.0), ([], [0.7], 2.3), ([0.4], [], 0.7),
]  # fmt: skip


def call(x, p, q):
    above, below, z = x[:p], x[p : p + q], x[p + q]
    function = stan.hypergeometric_3F2 if (p, q) == (3, 2) else stan.hypergeometric_pFq
    return function(above, below, z)


@pytest.mark.parametrize(("above", "below", "z"), POINTS)
def test_values_and_derivatives(above, below, z):
    p, q, x = len(above), len(below), np.array([*above, *below, z])
    n = p + q + 1
    g = lambda *v: mp.hyper(v[:p], v[p : p + q], v[-1])
    f = lambda x: call(x, p, q)
    exact = lambda *places: float(mp.diff(g, tuple(map(mp.mpf, x)), tuple(places.count(k) for k in range(n))))
    with mp.workdps(40):
        assert f(x) == pytest.approx(float(g(*map(mp.mpf, x))), rel=1e-13)
        np.testing.assert_allclose(contad.grad(f)(x), [exact(k) for k in range(n)], rtol=1e-13)
        np.testing.assert_allclose(contad.hessian(f)(x)[0], [exact(0, k) for k in range(n)], rtol=1e-12)


def test_series_that_end():
    assert stan.hypergeometric_pFq([-2.0, 3.0], [-4.0], 2.0) == pytest.approx(float(mp.hyp2f1(-2, 3, -4, 2)), rel=1e-14)
    assert stan.hypergeometric_3F2([-2.0, 1.0, 2.0], [3.0, 4.0], 1.0) == pytest.approx(0.7166666666666667, rel=1e-14)


def test_gauss():
    assert stan.hypergeometric_2F1(1.3, 0.7, 2.1, 0.4) == pytest.approx(float(mp.hyp2f1(1.3, 0.7, 2.1, 0.4)), rel=1e-14)
    assert contad.grad(stan.hypergeometric_2F1, 2)(1.3, 0.7, 2.1, 0.4) == pytest.approx(
        float(mp.diff(lambda c: mp.hyp2f1(1.3, 0.7, c, 0.4), 2.1)), rel=1e-13
    )
    with pytest.raises(ValueError, match=r"hypergeometric_2F1: 2F1 must converge, got z = 1.5"):
        stan.hypergeometric_2F1(1.3, 0.7, 2.1, 1.5)


@pytest.mark.long
def test_every_eager_engine():
    expect_ad(lambda a, b, z: stan.hypergeometric_3F2(a, b, z), np.array([1.3, 0.7, 2.1]), np.array([1.9, 2.4]), 0.6)


@pytest.mark.parametrize(("above", "below", "z", "message"), [
    ([1.0, 1.0, 1.0], [2.0, 0.5], 1.0, "hypergeometric_3F2: 3F2 must converge, got z = 1.0"),
    ([1.0, 2.0, 3.0], [-2.0, 1.0], 0.5, "hypergeometric_3F2: 3F2 must not be at a pole"),
    ([30.0, 20.0, 1.0], [0.1, 0.2], -0.99, "hypergeometric_3F2: the series must converge without loss"),
    ([1.0], [2.0, 3.0], 0.5, "hypergeometric_3F2: a and b must have 3 and 2 elements"),
])  # fmt: skip
def test_refusals(above, below, z, message):
    with pytest.raises(ValueError) as refused:
        stan.hypergeometric_3F2(above, below, z)
    assert str(refused.value).startswith(message)


def test_refusals_of_any_number():
    with pytest.raises(ValueError, match=r"hypergeometric_pFq: \|z\| must be less than 1"):
        stan.hypergeometric_pFq([1.0, 2.0], [3.0], 1.2)
    with pytest.raises(ValueError, match="hypergeometric_pFq: a must be a vector with at most one element more than b"):
        stan.hypergeometric_pFq([1.0, 2.0, 3.0], [3.0], 0.2)


# ---- inside njit -----------------------------------------------------------------------------------------------------
X = np.array([1.3, 0.7, 2.1, 1.9, 2.4])


def of_any_number(x):
    return stan.hypergeometric_pFq(x[:1], x[1:3], 3.0 * x[4]) * stan.hypergeometric_pFq(x[:2], x[3:4], 0.2)


def of_three(x):
    return stan.hypergeometric_3F2((x[0], x[1], x[2]), x[3:], 0.3 * x[0]) * x[1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("f", "engine"), [(of_any_number, "generated"), (of_any_number, "tape"), (of_three, "generated")]
)
def test_gradients_inside_njit(f, engine):
    value, gradient = contad.value_and_grad(f)(X)
    found, slopes = contad.value_and_grad(njit(f), engine=engine)(X)
    assert found == pytest.approx(value, rel=1e-15)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-14)


@pytest.mark.long
def test_second_derivatives_inside_njit():
    np.testing.assert_allclose(contad.hessian(njit(of_three))(X), contad.hessian(of_three)(X), rtol=1e-13)


@pytest.mark.parametrize(
    ("above", "below", "z"), [POINTS[0], *(pytest.param(*point, marks=pytest.mark.long) for point in POINTS[1:])]
)
def test_all_cases_inside_njit(above, below, z):
    f = njit(lambda a, b, z: stan.hypergeometric_pFq(a, b, z))
    assert f(np.array(above), np.array(below), z) == stan.hypergeometric_pFq(above, below, z)
