"""Stan's functions of numbers against mpmath: the value, and the first and second derivatives in every argument."""

import numpy as np
import pytest
from mpmath import mp
from numba import njit

import contad
from contad import stan
from contad.stan import parity, scalar_functions


def _inc_beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def _root(f, start):
    return mp.findroot(f, start)


def _t_cdf(t, nu):
    return 1 - mp.betainc(nu / 2, mp.mpf(1) / 2, 0, nu / (nu + t * t), regularized=True) / 2


def _expit(x):
    return 1 / (1 + mp.exp(-x))


# by name: arguments, how many of the first are whole numbers without a derivative, the function of mpmath
CASES = {
    "Phi_approx": ((0.7,), 0, lambda x: _expit(mp.mpf(0.07056) * x**3 + mp.mpf(1.5976) * x)),
    "abs": ((-0.7,), 0, abs), "acos": ((0.3,), 0, mp.acos), "acosh": ((1.7,), 0, mp.acosh),
    "asin": ((0.3,), 0, mp.asin), "asinh": ((0.3,), 0, mp.asinh), "atan": ((0.3,), 0, mp.atan),
    "atan2": ((0.3, -1.2), 0, mp.atan2), "atanh": ((0.3,), 0, mp.atanh), "bessel_first_kind": ((2, 1.7), 1, mp.besselj),
    "bessel_second_kind": ((2, 1.7), 1, mp.bessely), "binary_log_loss": ((1, 0.3), 1, lambda k, p: -mp.log(p)),
    "choose": ((5.3, 2.1), 0, mp.binomial), "falling_factorial": ((5.3, 2.1), 0, mp.ff),
    "fdim": ((1.7, 0.4), 0, lambda x, y: x - y), "fma": ((1.7, 0.4, -0.3), 0, lambda x, y, z: x * y + z),
    "fmod": ((5.3, 2.1), 0, mp.fmod),
    "gamma_p": ((1.7, 2.1), 0, lambda a, x: mp.gammainc(a, 0, x, regularized=True)),
    "gamma_q": ((1.7, 2.1), 0, lambda a, x: mp.gammainc(a, x, regularized=True)),
    "hypergeometric_1F0": ((1.7, 0.3), 0, lambda a, z: (1 - z) ** -a), "inc_beta": ((1.7, 2.1, 0.3), 0, _inc_beta),
    "inv": ((1.7,), 0, lambda x: 1 / x), "inv_cloglog": ((0.7,), 0, lambda x: 1 - mp.exp(-mp.exp(x))),
    "inv_erfc": ((0.3,), 0, lambda x: mp.erfinv(1 - x)),
    "inv_inc_beta": ((1.7, 2.1, 0.3), 0, lambda a, b, p: _root(lambda x: _inc_beta(a, b, x) - p, 0.3)),
    "inv_sqrt": ((1.7,), 0, lambda x: 1 / mp.sqrt(x)),
    "inv_square": ((1.7,), 0, lambda x: 1 / x**2),
    "lambert_w0": ((1.7,), 0, lambda x: mp.re(mp.lambertw(x))),
    "lambert_wm1": ((-0.2,), 0, lambda x: mp.re(mp.lambertw(x, -1))),
    "lchoose": ((5.3, 2.1), 0, lambda n, k: mp.log(mp.binomial(n, k))),
    "ldexp": ((1.7, 3), 0, lambda x, n: x * 8),
    "lmgamma": ((3, 4.3), 1, lambda n, x: mp.log(mp.pi ** 1.5 * mp.gamma(x) * mp.gamma(x - 0.5) * mp.gamma(x - 1))),
    "lmultiply": ((1.7, 2.1), 0, lambda x, y: x * mp.log(y)),
    "log1m_inv_logit": ((0.7,), 0, lambda x: mp.log(1 - _expit(x))),
    "log_falling_factorial": ((5.3, 2.1), 0, lambda x, n: mp.log(mp.ff(x, n))),
    "log_inv_logit_diff": ((1.7, 0.4), 0, lambda x, y: mp.log(_expit(x) - _expit(y))),
    "log_mix": ((0.3, 1.7, 0.4), 0, lambda p, x, y: mp.log(p * mp.exp(x) + (1 - p) * mp.exp(y))),
    "log_modified_bessel_first_kind": ((1.3, 2.1), 0, lambda v, x: mp.log(mp.besseli(v, x))),
    "log_rising_factorial": ((5.3, 2.1), 0, lambda x, n: mp.log(mp.rf(x, n))),
    "modified_bessel_first_kind": ((2, 1.7), 1, mp.besseli),
    "modified_bessel_second_kind": ((2, 1.7), 1, mp.besselk),
    "owens_t": ((0.7, 0.4), 0, lambda h, a: mp.quad(
        lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t) / (2 * mp.pi), [0, a])),
    "pow": ((1.7, 2.1), 0, mp.power), "rising_factorial": ((5.3, 2.1), 0, mp.rf), "sqrt": ((1.7,), 0, mp.sqrt),
    "std_normal_log_qf": ((-0.7,), 0, lambda p: _root(lambda x: mp.log(mp.ncdf(x)) - p, 0.0)),
    "student_t_qf": ((0.8, 3.7, 0.4, 1.3), 0, lambda p, nu, m, s: m + s * _root(lambda t: _t_cdf(t, nu) - p, 0.9)),
}  # fmt: skip
OF_VECTORS = {"softmax", "log_softmax", "log_sum_exp"}


def test_every_function_has_a_case():
    """Of those that contad does not have under the same name, whose derivatives the tests of rules look at."""
    own = {n for n in scalar_functions.__all__ if getattr(contad.ops, n, None) is not getattr(scalar_functions, n)}
    sections = [name for section, names in parity.NAMES.items() if section.startswith("Scalar") for name in names]
    assert own - OF_VECTORS <= set(CASES) <= set(stan.__all__) & set(sections)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_to_second_order(name):
    args, whole, exact = CASES[name]
    function = getattr(stan, name)
    free = [float(x) for x in args[whole:]]
    f = lambda *xs: function(*args[:whole], *xs)
    reference = lambda *xs: exact(*args[:whole], *xs)
    with mp.workdps(40):
        point = tuple(map(mp.mpf, free))
        orders = np.eye(len(free), dtype=int)
        assert f(*free) == pytest.approx(float(reference(*point)), rel=1e-12)
        if name == "ldexp":
            free, orders = free[:1], orders[:1]
        for i in range(len(free)):
            slope = float(mp.diff(reference, point, tuple(map(int, orders[i]))))
            assert contad.grad(f, argnums=i)(*map(float, args[whole:])) == pytest.approx(slope, rel=1e-10, abs=1e-14), i
            for j in range(i + 1):
                curvature = float(mp.diff(reference, point, tuple(map(int, orders[i] + orders[j]))))
                found = contad.grad(contad.grad(f, argnums=i), argnums=j)(*map(float, args[whole:]))
                assert found == pytest.approx(curvature, rel=1e-8, abs=1e-12), (i, j)


def test_functions_of_vectors():
    x = np.array([0.3, -1.2, 2.5])
    shares = np.exp(x) / np.sum(np.exp(x))
    np.testing.assert_allclose(stan.log_softmax(x), np.log(shares), rtol=1e-14)
    np.testing.assert_allclose(contad.grad(stan.log_sum_exp)(x), shares, rtol=1e-14)
    np.testing.assert_allclose(contad.jacobian(stan.log_softmax)(x), np.eye(3) - shares, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("function", [stan.log_mix, njit(lambda theta, x: stan.log_mix(theta, x))])
def test_shares_of_zero_have_the_greatest_density(function):
    slopes = contad.grad(function, (0, 1))
    theta = np.array([0.25, 0.0, 0.75])
    for x in np.array([[1.0, 800.0, -2.0], [0.0, 740.0, 3.0], [1.0, 5.0, 2.0]]):
        total = float(mp.log(mp.exp(x[0]) / 4 + 3 * mp.exp(x[2]) / 4))
        assert function(theta, x) == pytest.approx(total, rel=1e-15)
        by_theta, by_x = slopes(theta, x)
        assert by_x == pytest.approx(theta * np.exp(np.minimum(x, 700.0) - total), rel=1e-14)
        assert by_theta[[0, 2]] == pytest.approx(np.exp(x[[0, 2]] - total), rel=1e-14)
        assert by_theta[1] == pytest.approx(np.exp(x[1] - total), rel=1e-14) if x[1] < 700.0 else by_theta[1] > 1e307
    assert function(np.zeros(2), np.ones(2)) == -np.inf


def mixtures(t, x, y, theta, logs):
    each = np.sum(stan.log_mix(t, x, y) ** 2) + np.sum(stan.log_mix(0.3, logs, y)) + np.sum(stan.log_mix(t[0], x, 0.4))
    return each + stan.log_mix(theta, logs)


def test_mixtures_of_arrays():
    theta, logs = np.array([0.2, 0.5, 0.3]), np.array([[1.0, 2.0, 3.0], [-0.4, 0.3, 0.2]])
    args = np.array([0.2, 0.0, 0.9]), np.array([1.0, -2.0, 0.3]), np.array([0.1, 0.2, -0.5]), theta, logs
    assert stan.log_mix(theta, logs) == pytest.approx(np.sum(np.log(np.exp(logs) @ theta)), rel=1e-14)
    assert njit(mixtures)(*args) == pytest.approx(mixtures(*args), rel=1e-14)
    found, expected = (contad.grad(f, (0, 1, 2, 3, 4))(*args) for f in (njit(mixtures), mixtures))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)
    with pytest.raises(ValueError, match="log_mix: x must be a vector as theta"):
        stan.log_mix(theta, logs[:, :2])


def test_a_bessel_function_of_large_numbers_has_a_logarithm():
    z = 1e4
    assert stan.log_modified_bessel_first_kind(2.0, z) == pytest.approx(z - 0.5 * np.log(2.0 * np.pi * z), rel=1e-7)
    slope = contad.grad(lambda x: stan.log_modified_bessel_first_kind(2.0, x))(z)
    assert slope == pytest.approx(1.0 - 0.5 / z, rel=1e-7)
