"""Counts and quantiles where arguments are tiny, huge or at an edge of their domain, by their definitions in mpmath."""

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.stats
from mpmath import mp

import contad
from contad import stan
from contad.distributions.counts import binomial_logit_log_mass
from contad.distributions.incomplete_logarithms import beta_hazard, gamma_hazard
from contad.scipy import special, stats
from tests.distributions.reference_forms import TAILS


def log_tail_of_zeta(a, low):
    return mp.log(mp.zeta(a, low))


def log_hypergeometric(k, total, n, drawn):
    return mp.log(mp.binomial(n, k)) + mp.log(mp.binomial(total - n, drawn - k)) - mp.log(mp.binomial(total, drawn))


@pytest.mark.parametrize(
    ("k", "a"), [(3.0, 1.0 + 2.0**-40), (1e15, 1.0 + 1e-8), (10.0, 2.4), (1e9, 7.0), (100.0, 40.0), (2.0, 12.0)]
)
@mp.workdps(60)
def test_zipf(k, a):
    of_complement = lambda s: log_tail_of_zeta(s, mp.mpf(k) + 1) - log_tail_of_zeta(s, 1)
    for method, reference in (("logcdf", lambda s: mp.log1p(-mp.exp(of_complement(s)))), ("logsf", of_complement)):
        f, exact = getattr(stats.zipf, method), mp.mpf(a)
        h = (exact - 1) * mp.mpf(10) ** -20
        assert f(k, a) == pytest.approx(float(reference(exact)), rel=1e-13)
        slope = (reference(exact + h) - reference(exact - h)) / (2 * h)
        assert contad.grad(f, 1)(k, a) == pytest.approx(float(slope), rel=1e-12)


def test_zipf_of_underflowing_sums():
    """The first term of the sum is all of it, and the logarithm of it is -a log(k + 1)."""
    for k, a in ((1e9, 300.0), (3.0, 1e5), (1e300, 40.0)):
        whole = 1.0 + k / (a - 1.0) if k > a else 1.0
        expected = -a * math.log(k + 1.0) + math.log(whole)
        assert stats.zipf.logsf(k, a) == pytest.approx(expected, rel=1e-6)
        assert contad.grad(stats.zipf.logsf, 1)(k, a) == pytest.approx(-math.log(k + 1.0), rel=0.01)
    assert stats.zipf.logpmf(1.0, 40.0) == pytest.approx(-float(2.0**-40 + 3.0**-40), rel=1e-12)


@mp.workdps(60)
def test_hypergeometric_of_large_numbers():
    for k, total, n, drawn in ((6.0, 1e15, 60.0, 1e14), (4.0, 1e9, 40.0, 1e8), (0.0, 10.0, 3.0, 4.0)):
        exact = log_hypergeometric(*map(mp.mpf, (k, total, n, drawn)))
        assert stats.hypergeom.logpmf(k, total, n, drawn) == pytest.approx(float(exact), rel=1e-13)
    assert stats.hypergeom.logpmf(7.0, 50.0, 50.0, 7.0) == pytest.approx(0.0, abs=1e-15)


def test_counts_at_tiny_and_huge_parameters():
    with mp.workdps(400):
        a, b = mp.mpf(3.3), mp.mpf(1e-300)
        below = mp.fsum(mp.binomial(7, k) * mp.beta(k + a, 7 - k + b) / mp.beta(a, b) for k in range(4))
        assert stats.betabinom.logcdf(3.0, 7.0, 3.3, 1e-300) == pytest.approx(float(mp.log(below)), rel=1e-14)
        first = (10**9 + 1) * mp.log(mp.mpf(1e-300)) - mp.loggamma(10**9 + 2)
        assert stats.poisson.logsf(1e9, 1e-300) == pytest.approx(float(first), rel=1e-14)
    for f, point in ((stats.poisson.pmf, (1e9, 1e-300)), (stats.binom.pmf, (5e8, 1e9, 1e-300))):
        assert contad.grad(f, len(point) - 1)(*point) == 0.0  # of a mass that underflows


def test_counts_of_tiny_probabilities():
    assert contad.grad(stats.binom.logcdf, 2)(0.0, 5.0, 1e-300) == pytest.approx(-5.0, rel=1e-12)
    with mp.workdps(30):
        rest = float(-mp.log(mp.mpf(1e-300)) - mp.harmonic(10**9))  # of the complement, over n
    k, n, p = 1e9, 1e-300, 1e-300
    assert stats.nbinom.logsf(k, n, p) == pytest.approx(math.log(n) + math.log(rest), rel=1e-14)
    assert contad.grad(stats.nbinom.logsf, (1, 2))(k, n, p) == pytest.approx((1.0 / n, -1.0 / p / rest), rel=1e-12)
    assert contad.grad(stats.nbinom.sf, (1, 2))(k, n, p) == pytest.approx((rest, -1.0), rel=1e-12)


@pytest.mark.parametrize("size", [1.0, 8.0, 33.0, 1e6])
@pytest.mark.parametrize("form", [float, lambda x: np.full(3, x)])
def test_counts_that_are_nearly_certain(size, form):
    """The logarithm of a mass near 1 is as small as that of its complement."""
    alpha, p = -700.0, 1e-30
    for f, args, exact in (
        (binomial_logit_log_mass, (0.0, size, alpha), -size * math.exp(alpha)),
        (binomial_logit_log_mass, (size, size, -alpha), -size * math.exp(alpha)),
        (stats.binom.logpmf, (0.0, size, p), -size * p), (stats.poisson.logpmf, (0.0, p), -p),
        (stats.nbinom.logpmf, (0.0, p, 0.5), -p * math.log(2.0)), (stats.bernoulli.logpmf, (0.0, p), -p),
    ):  # fmt: skip
        assert f(*map(form, args)) == pytest.approx(form(exact), rel=1e-13, abs=0.0)


@mp.workdps(40)
def test_yulesimon_of_tiny_and_huge_shapes():
    below = lambda k: lambda a: 1 - mp.exp(mp.log(k) + mp.log(mp.beta(k, a + 1)))
    mass = lambda k: lambda a: mp.log(a) + mp.log(mp.beta(k, a + 1))
    for k, a in ((3.0, 1e-12), (1e3, 1e-9), (1e3, 0.3), (1.0, 1e12), (70.0, 1e10), (1.0, 1e-300)):
        for f, reference in ((stats.yulesimon.cdf, below(k)), (stats.yulesimon.logpmf, mass(k))):
            with mp.workdps(340 if a < 1e-99 else 40):
                exact, h = mp.mpf(a), mp.mpf(a) / 10**15
                slope = float((reference(exact + h) - reference(exact - h)) / (2 * h))
                assert f(k, a) == pytest.approx(float(reference(exact)), rel=1e-13)
            assert contad.grad(f, 1)(k, a) == pytest.approx(slope, rel=1e-11)


@pytest.mark.parametrize(("u", "alpha"), [(-7.0, 0.3), (-40.0, -2.0), (-1e8, 1.3), (-1e8, -0.2), (-1e5, 60.0)])
@mp.workdps(40)
def test_skew_normal_far_in_a_tail(u, alpha):
    """By mpmath, of the density over its integral, both relative to the density: their exponentials cancel."""
    x, a = mp.mpf(u), mp.mpf(alpha)
    whole = mp.erfc(-a * x / mp.sqrt(2))
    unit = -1 / x / (1 + a * a if a > 0 else 1)
    ratio = lambda s: mp.exp(x * s - s * s / 2) * mp.erfc(-a * (x - s) / mp.sqrt(2)) / whole
    mills = unit * mp.quad(lambda s: ratio(unit * s), [0, 5, 20, 90])
    by_alpha = -mp.exp(-((a * x) ** 2) / 2) * mp.sqrt(2 / mp.pi) / ((1 + a * a) * whole * mills)
    slopes = contad.grad(stats.skewnorm.logcdf, (0, 1))(u, alpha)
    assert slopes == pytest.approx((float(1 / mills), float(by_alpha)), rel=1e-12)
    above = contad.grad(stats.skewnorm.logsf, (0, 1))(-u, -alpha)
    assert above == pytest.approx((-slopes[0], -slopes[1]), rel=1e-14)


def test_skew_normal_where_squares_overflow():
    assert contad.grad(stats.skewnorm.logcdf)(-1e160, 1.3) == pytest.approx(2.69e160, rel=1e-13)
    assert contad.grad(stats.skewnorm.logsf)(1e160, 1.3) == pytest.approx(-1e160, rel=1e-13)


@pytest.mark.parametrize("y", [1e155, -1e200, 1e300])
def test_heavy_tails_where_squares_overflow(y):
    """The density is a power of y there: nu sigma^nu |y|^-(nu + 1), and factors of nu."""
    for f, nu in ((lambda s: stan.student_t_lpdf(y, 0.75, 0.1, s), 0.75), (lambda s: stan.cauchy_lpdf(y, 0.1, s), 1.0)):
        value, slope = contad.value_and_grad(f)(1.3)
        assert value == pytest.approx(f(1.0) + nu * math.log(1.3), rel=1e-14)
        assert slope == pytest.approx(nu / 1.3, rel=1e-13)
        assert contad.hessian(f)(1.3) == pytest.approx(-nu / 1.3**2, rel=1e-13)


def test_slopes_of_hazards_at_tiny_arguments():
    """Of a - a x / (a + 1) + ... and a - (a + b) a x / (a + 1) + ..., whose first terms are constant."""
    a, b, x = 2.3, 1.7, 1e-12
    assert contad.grad(gamma_hazard, 2)(0.0, a, x) == pytest.approx(-a / (a + 1.0), rel=1e-11)
    assert contad.grad(beta_hazard, 2)(a, b, x) == pytest.approx(-a * (a + b) / (a + 1.0), rel=1e-11)


def test_rice_without_a_centre_is_rayleigh():
    for method in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"):
        f, of_rayleigh = getattr(stats.rice, method), getattr(stats.rayleigh, method)
        assert f(0.7, 0.0) == pytest.approx(of_rayleigh(0.7), rel=1e-14)
        assert contad.grad(f, (0, 1))(0.7, 0.0) == pytest.approx((contad.grad(of_rayleigh)(0.7), 0.0), rel=1e-13, abs=0)
    second = contad.grad(lambda b: contad.grad(stats.rice.logpdf, 1)(0.7, b))(0.0)
    assert second == pytest.approx(0.5 * 0.7**2 - 1.0, rel=1e-14)


PROBABILITIES = [1e-300, 1e-100, 1e-8, 0.3, 0.5, 1.0 - 2.0**-53]
QUANTILES = [
    ("betaprime", (0.6, 1.9)), ("f", (0.7, 5.2)), ("burr", (0.9, 1.3)), ("invgamma", (1.3,)), ("t", (0.9,)),
    ("t", (3.3,)), ("exponnorm", (60.0,)),
]  # fmt: skip


@pytest.mark.parametrize("q", [1e-115, 1e-130])
@mp.workdps(60)
def test_f_quantiles_that_scipy_has_not(q):
    """And their slopes, by the first term of the series at infinity: x^(-n / 2) times a constant."""
    x = stats.f.isf(q, 3.5, 7.5)
    tail = mp.betainc(mp.mpf("3.75"), mp.mpf("1.75"), 0, 1 / (1 + mp.mpf(3.5) * x / mp.mpf(7.5)), regularized=True)
    assert float(tail) == pytest.approx(q, rel=1e-11)
    slope = contad.grad(lambda p: stats.f.isf(p, 3.5, 7.5))
    assert slope(q) == pytest.approx(-x / (3.75 * q), rel=1e-11)
    assert contad.grad(slope)(q) == pytest.approx(x / (3.75 * q) / q * (1.0 + 1.0 / 3.75), rel=1e-11)


@pytest.mark.parametrize("nu", [1e13, 1e40])
@pytest.mark.parametrize("x", [0.5, -2.0, 8.0, -30.0])
@mp.workdps(60)
def test_slopes_of_nearly_normal_numbers(nu, x):
    """By the first terms of Fisher's expansion of the distribution function in 1 / nu."""
    density, below, exact = mp.npdf(x), mp.ncdf(x), mp.mpf(nu)
    slope = float(density * (mp.mpf(x) ** 3 + x) / (4 * exact**2))
    assert contad.grad(stats.t.cdf, 1)(x, nu) == pytest.approx(slope, rel=1e-9, abs=0.0)
    assert contad.grad(stats.t.sf, 1)(x, nu) == pytest.approx(-slope, rel=1e-9, abs=0.0)
    assert contad.grad(stats.t.logcdf, 1)(x, nu) == pytest.approx(slope / float(below), rel=1e-9, abs=0.0)
    assert contad.grad(stats.t.logsf, 1)(x, nu) == pytest.approx(-slope / float(1 - below), rel=1e-9, abs=0.0)
    assert contad.hessian(stats.t.cdf, 1)(x, nu) == pytest.approx(-2.0 * slope / nu, rel=1e-9, abs=1e-300)
    assert stats.t.logcdf(x, nu) == pytest.approx(float(mp.log(below)), rel=1e-10)


def test_frozen_distributions():
    """SciPy's way to write parameters first, which may be variables."""
    y = np.array([0.3, 1.5])
    assert stats.norm(0.5, scale=2.0).logpdf(1.5) == stats.norm.logpdf(1.5, 0.5, 2.0)
    assert stats.poisson(2.3).pmf(3) == stats.poisson.pmf(3, 2.3)
    found = contad.grad(lambda nu, m: np.sum(stats.t(nu, loc=m).logsf(y)), (0, 1))(3.0, 0.5)
    assert found == contad.grad(lambda nu, m: np.sum(stats.t.logsf(y, nu, m)), (0, 1))(3.0, 0.5)
    for twin in (copy.deepcopy(stats.norm(0.5, scale=2.0)), pickle.loads(pickle.dumps(stats.norm(0.5, scale=2.0)))):
        assert twin.logpdf(1.5) == stats.norm.logpdf(1.5, 0.5, 2.0)
    for frozen, name in ((stats.norm(), "rvs"), (stats.norm(), "logpmf"), (stats.betabinom(3, 1.0, 2.0), "ppf")):
        with pytest.raises(AttributeError, match=f"a frozen one has no '{name}'"):
            getattr(frozen, name)


INF = math.inf


@pytest.mark.parametrize(("call", "expected"), [
    (lambda: stats.invweibull.ppf(1.0, 1.0), INF),
    (lambda: stats.genextreme.logpdf(2.0, 0.5), -INF), (lambda: stats.genextreme.logpdf(1.0, 1.0), 0.0),
    (lambda: stats.genextreme.logpdf(0.5, 2.0), INF), (lambda: stats.genextreme.pdf(-2.0, -0.5), 0.0),
    (lambda: stats.genextreme.logpdf(-1.0, -1.0), -INF), (lambda: stats.genpareto.logpdf(2.0, -0.5), -INF),
    (lambda: stats.genpareto.logpdf(1.0, -1.0), 0.0), (lambda: stats.genpareto.pdf(1.0, -1.0), 1.0),
    (lambda: stats.genextreme.ppf(1.0, 0.3), 1.0 / 0.3), (lambda: stats.genextreme.isf(0.0, 0.3), 1.0 / 0.3),
    (lambda: stats.genextreme.ppf(0.0, 0.3), -INF), (lambda: stats.genextreme.ppf(0.0, -0.3), -1.0 / 0.3),
    (lambda: stats.genextreme.ppf(0.0, 0.0), -INF), (lambda: stats.genextreme.isf(0.0, 0.0), INF),
    (lambda: stats.genpareto.ppf(1.0, -0.3), 1.0 / 0.3), (lambda: stats.genpareto.ppf(1.0, 0.0), INF),
    (lambda: stats.genpareto.isf(0.0, 0.3), INF), (lambda: stats.genpareto.ppf(0.0, 0.3), 0.0),
    (lambda: contad.grad(lambda c: stats.genextreme.ppf(1.0, c))(0.3), -1.0 / 0.09),
    (lambda: contad.grad(lambda c: stats.genextreme.ppf(0.0, c))(-0.3), -1.0 / 0.09),
    (lambda: contad.grad(lambda c: stats.genpareto.isf(0.0, c))(-0.3), 1.0 / 0.09),
    (lambda: contad.grad(lambda c: stats.genpareto.ppf(0.3, c))(0.0), 0.5 * math.log(0.7) ** 2),
    (lambda: stats.f.logsf(1e-300, 1e-8, 5.0), -12.549233579723634),
    (lambda: stats.betaprime.logsf(1e-320, 1e-8, 2.5), -11.820070160227612),
])  # fmt: skip
def test_ends_of_supports(call, expected):
    """Densities at the ends, quantiles of 0 and 1, and their slopes by the shape, which moves the end."""
    assert call() == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("method", ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"])
def test_angles_without_a_mode(method):
    """Uniform, as kappa = 0 says; the slope by kappa is that of the right side."""
    f = getattr(stats.vonmises, method)
    assert f(0.3, 0.0) == pytest.approx(getattr(scipy.stats.vonmises, method)(0.3, 0.0), rel=1e-14)
    by_x, by_kappa = contad.grad(f, (0, 1))(0.3, 0.0)
    h = 1e-4
    slope = (-3.0 * f(0.3, 0.0) + 4.0 * f(0.3, h) - f(0.3, 2.0 * h)) / (2.0 * h)
    assert by_kappa == pytest.approx(slope, rel=1e-6)
    assert by_x == pytest.approx((f(0.3 + h, 0.0) - f(0.3 - h, 0.0)) / (2.0 * h), rel=1e-6, abs=1e-9)
    assert contad.hessian(f, 1)(0.3, 0.0) == pytest.approx(contad.hessian(f, 1)(0.3, 1e-7), rel=1e-5, abs=1e-6)


def test_quantiles_of_angles_without_a_mode():
    assert stats.vonmises.ppf(0.25, 0.0) == pytest.approx(-0.5 * math.pi, rel=1e-14)
    np.testing.assert_allclose(contad.grad(stats.vonmises.ppf, (0, 1))(0.3, 0.0), (math.tau, math.sin(0.4 * math.pi)))


@pytest.mark.parametrize("x", [-1e308, -1e160, -1e100, 1e160, 1e308])
@pytest.mark.parametrize(("name", "shape"), [("exponnorm", 0.3), ("rice", 0.3), ("skewnorm", 2.5), ("skewnorm", -2.0)])
def test_huge_numbers_are_beyond_every_tail(name, shape, x):
    one = getattr(stats, name)
    below = (0.0, 1.0) if x < 0.0 else (1.0, 0.0)
    assert (one.cdf(x, shape), one.sf(x, shape)) == below and contad.grad(one.cdf)(x, shape) == 0.0
    assert (one.logsf if x < 0.0 else one.logcdf)(x, shape) == 0.0
    assert (one.logcdf if x < 0.0 else one.logsf)(x, shape) < -1e99


@pytest.mark.parametrize("p", [1e-120, 7e-305])
@pytest.mark.parametrize(("method", "a", "b"), [("ppf", 3.75, 1.75), ("isf", 1.75, 3.75)])
@mp.workdps(60)
def test_beta_quantiles_that_scipy_has_not(method, a, b, p):
    """And their slopes, by the first term of the series, on numbers and on arrays; near 1 the quantile is 1."""
    quantile = getattr(stats.beta, method)
    tail, other = (a, b) if method == "ppf" else (b, a)
    small = mp.exp((mp.log(p) + mp.log(tail) + mp.log(mp.beta(a, b))) / tail)
    x = small if method == "ppf" else 1 - small
    assert quantile(p, a, b) == pytest.approx(float(x), rel=1e-13)
    assert quantile(np.array([p, 0.3]), a, b)[0] == quantile(p, a, b)
    sign = 1.0 if method == "ppf" else -1.0
    assert contad.grad(quantile)(p, a, b) == pytest.approx(sign * float(small / (tail * mp.mpf(p))), rel=1e-12)
    psi = mp.digamma(tail) - mp.digamma(a + b)
    by_tail = sign * float(small * (1 / mp.mpf(tail) + psi - mp.log(small)) / tail)
    by_other = sign * float(small * (mp.digamma(other) - mp.digamma(a + b)) / tail)
    found = contad.grad(quantile, (1, 2))(p, a, b)
    assert found == pytest.approx((by_tail, by_other) if method == "ppf" else (by_other, by_tail), rel=1e-12)


@pytest.mark.parametrize(("method", "y", "a", "b"), [("cdf", 8.0, -1.0, 9.0), ("sf", -8.0, -9.0, 1.0)])
@mp.workdps(60)
def test_truncated_normal_probabilities_of_nearly_one(method, y, a, b):
    """Their slopes are as small as what is missing, and have all digits."""

    def reference(*args):
        y, a, b = args
        part = mp.ncdf(b) - mp.ncdf(y) if method == "cdf" else mp.ncdf(y) - mp.ncdf(a)
        return -part / (mp.ncdf(b) - mp.ncdf(a))

    f, point = getattr(stats.truncnorm, method), tuple(map(mp.mpf, (y, a, b)))
    expected = [float(mp.diff(reference, point, tuple(int(k == j) for k in range(3)))) for j in range(3)]
    slopes = contad.grad(lambda *args: f(*args, 0.0, 1.0), (0, 1, 2))(y, a, b)
    assert slopes == pytest.approx(expected, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize(("name", "shapes"), QUANTILES)
@pytest.mark.parametrize("method", ["ppf", "isf"])
@mp.workdps(120)
def test_quantiles_of_small_probabilities(name, shapes, method):
    """The probability at the quantile is q, and its slopes are those of the inverse function."""
    log_density, below, above = TAILS[name]
    log_part, sign = (below, 1) if method == "ppf" else (above, -1)
    q = np.array(PROBABILITIES)
    f = getattr(getattr(stats, name), method)
    args = [q, *(np.full(len(q), shape) for shape in shapes)]
    x = f(*args)
    slopes = contad.grad(lambda *args: np.sum(f(*args)), tuple(range(len(args))))(*args)
    for k, p in enumerate(PROBABILITIES):
        if x[k] == 0.0 or not np.isfinite(x[k]):
            continue
        at, exact = mp.mpf(x[k]), [mp.mpf(shape) for shape in shapes]
        logarithm = log_density(at, *exact)
        off = (log_part(at, *exact) - mp.log(mp.mpf(p))) * p / mp.exp(logarithm)
        assert abs(off) <= 1e-12 * abs(at)
        by_q = sign * mp.exp(-logarithm)
        if abs(by_q) < 1e300:
            assert slopes[0][k] == pytest.approx(float(by_q), rel=1e-9)
        for j, shape in enumerate(exact):
            h = shape * mp.mpf(10) ** -30
            ends = [log_part(at, *(s + w * (i == j) for i, s in enumerate(exact))) for w in (-h, h)]
            by_shape = -sign * p * (ends[1] - ends[0]) / (2 * h) / mp.exp(logarithm)
            assert slopes[1 + j][k] == pytest.approx(float(by_shape), rel=1e-9, abs=1e-12 * abs(x[k]))


def test_quantiles_that_overflow():
    assert stats.t.ppf(1e-300, 0.066) == -math.inf and stats.t.isf(1e-300, 0.066) == math.inf
    assert stats.betaprime.ppf(1e-300, 0.044, 0.038) == 0.0 and stats.betaprime.isf(1e-300, 0.044, 0.038) == math.inf


@pytest.mark.long
@pytest.mark.parametrize("engine", ["generated", "tape"])
@pytest.mark.parametrize(
    ("name", "method", "args"),
    [("gamma", "logcdf", (1.7, 2.3)), ("beta", "logsf", (0.3, 2.3, 1.7)), ("t", "ppf", (0.01, 3.3)),
     ("rice", "ppf", (0.3, 1.3)), ("vonmises", "logcdf", (0.3, 1.3)), ("zipf", "logsf", (40.0, 1.3)),
     ("poisson", "logcdf", (3.0, 2.4)), ("f", "isf", (0.3, 3.1, 5.2)), ("invgamma", "ppf", (0.3, 1.3)),
     ("nct", "logpdf", (0.3, 3.1, 0.8)), ("nct", "logcdf", (0.3, 3.1, 0.8)), ("nct", "sf", (0.3, 3.1, 0.8))],
)  # fmt: skip
def test_compiled_distribution_functions(name, method, args, engine):
    numba = pytest.importorskip("numba")
    f = getattr(getattr(stats, name), method)
    whole = (0,) if name in ("zipf", "poisson") else ()
    free = tuple(k for k in range(len(args)) if k not in whole)
    compiled = numba.njit((lambda x, a: f(x, a)) if len(args) == 2 else (lambda x, a, b: f(x, a, b)))
    assert compiled(*args) == pytest.approx(f(*args), rel=1e-13)
    assert contad.grad(compiled, free, engine=engine)(*args) == pytest.approx(contad.grad(f, free)(*args), rel=1e-12)


@pytest.mark.parametrize(
    ("f", "at"),
    [(stats.gamma.logcdf, (1e-90, 4.0)), (stats.gamma.logsf, (900.0, 3.1)), (stats.beta.logcdf, (1e-120, 3.1, 0.8)),
     (stats.cauchy.logsf, (1e9,)), (stats.t.logsf, (1e120, 3.2)), (stats.gumbel_r.logsf, (55.0,))],
)  # fmt: skip
def test_second_derivatives_in_tails(f, at):
    """Of the logarithm of a power of x, or of an exponential of it."""
    second = contad.grad(contad.grad(f))(*at)
    expected = {
        stats.gamma.logcdf: -4.0 * 1e180, stats.beta.logcdf: -3.1 * 1e240, stats.cauchy.logsf: 1e-18,
        stats.t.logsf: 3.2e-240, stats.gumbel_r.logsf: 0.0,
    }.get(f)  # fmt: skip
    if f is stats.gamma.logsf:
        a, x = 3.1, mp.mpf(900)
        with mp.workdps(40):
            expected = float(mp.diff(lambda t: mp.log(mp.gammainc(a, t)), x, 2, h=mp.mpf("1e-9")))
    assert second == pytest.approx(expected, rel=1e-8, abs=1e-23 if expected == 0.0 else 0.0)


def first_term_of_gamma(p, a):
    """x where x^a / Gamma(a + 1) is p."""
    return mp.exp((mp.log(p) + mp.loggamma(a + 1)) / a)


def first_term_of_beta(p, a, b):
    return mp.exp((mp.log(p) + mp.log(a) + mp.log(mp.beta(a, b))) / a)


@pytest.mark.parametrize(
    ("f", "at", "reference"),
    [(stats.gamma.ppf, (0.07, 0.018), first_term_of_gamma),
     (stats.gamma.isf, (0.878, 0.0064), lambda q, a: first_term_of_gamma(1 - q, a)),
     (stats.chi2.ppf, (1e-64, 0.62), lambda p, nu: 2 * first_term_of_gamma(p, nu / 2)),
     (stats.chi.ppf, (0.063, 0.01), lambda p, nu: mp.sqrt(2 * first_term_of_gamma(p, nu / 2))),
     (stats.chi.isf, (0.1, 0.00036), lambda q, nu: mp.sqrt(2 * first_term_of_gamma(1 - q, nu / 2))),
     (stats.maxwell.ppf, (1e-120,), lambda p: mp.sqrt(2 * first_term_of_gamma(p, mp.mpf(1.5)))),
     (stats.beta.ppf, (1e-80, 0.3, 1.7), first_term_of_beta),
     (stats.beta.isf, (0.5, 0.004, 1.7), lambda q, a, b: first_term_of_beta(1 - q, a, b)),
     (stats.f.ppf, (1e-30, 0.3, 1.7), lambda p, m, n: n / m * first_term_of_beta(p, m / 2, n / 2)),
     (stats.t.ppf, (1e-60, 0.7), lambda p, nu: -mp.sqrt(nu / first_term_of_beta(2 * p, nu / 2, mp.mpf(0.5)))),
     (special.betaincinv, (0.0082, 0.0178, 0.9),  # 1 less what has no digit left of it
      lambda a, b, p: -first_term_of_beta(1 - p, b, a))],
)  # fmt: skip
@mp.workdps(60)
def test_quantiles_that_are_tiny(f, at, reference):
    """The squares of slopes, and slopes over the quantile, overflow."""
    exact, n = [*map(mp.mpf, at)], len(at)
    slopes = contad.grad(f, tuple(range(n)))(*at)
    second = contad.hessian(lambda x: f(*x))(np.array(at))

    def scaled(*factors):  # steps of differences are absolute
        return reference(*(x * factor for x, factor in zip(exact, factors, strict=True)))

    for j in range(n):
        orders = [int(i == j) for i in range(n)]
        slope = mp.diff(scaled, [1] * n, orders) / exact[j]
        assert slopes[j] == pytest.approx(float(slope), rel=1e-11, abs=0.0)
        for k in range(n):
            twice = [order + (i == k) for i, order in enumerate(orders)]
            curvature = mp.diff(scaled, [1] * n, twice) / exact[j] / exact[k]
            assert second[j, k] == pytest.approx(float(curvature), rel=1e-11, abs=0.0)
