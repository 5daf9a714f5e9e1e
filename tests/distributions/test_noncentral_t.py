"""The noncentral t distribution beside mpmath: in both tails, of few and many degrees of freedom, far off centre."""

import numpy as np
import pytest
from mpmath import mp

import contad
from contad.distributions.noncentral_t import log_mean_below
from contad.scipy import stats
from tests.distributions.reference_tails import log_noncentral_t


def mean(f, nu):
    """Of f(S / sqrt(nu)), where S has a chi distribution."""
    middle = mp.sqrt(nu)
    ends = [0, *(middle + w for w in (-12, -5, -2, 0, 2, 5, 12) if middle + w > 0)]
    scale = (nu / 2 - 1) * mp.log(2) + mp.loggamma(nu / 2)
    size = f(mp.mpf(1))  # without which the quadrature of what is tiny ends too early
    weight = lambda s: mp.exp((nu - 1) * mp.log(s) - s * s / 2 - scale)
    return size * mp.quad(lambda s: weight(s) * (f(s / middle) / size) if s else 0, ends)


def probability(x, nu, delta, upper):
    sign = 1 if upper else -1
    return mean(lambda s: mp.erfc(sign * (x * s - delta) / mp.sqrt(2)) / 2, nu)


POINTS = [(-5.0, 3.3, 5.0), (2.0, 1e6, 37.0), (40.0, 12.0, 2.0)]
MORE = [(100.0, 0.5, 37.0), (-400.0, 0.5, -1.0), (-3.0, 31.0, -3.0), (36.0, 1e6, 37.0), (60.0, 1e4, 37.0)]
ALL = [*POINTS, *(pytest.param(point, marks=pytest.mark.long) for point in MORE)]


@pytest.mark.parametrize("point", ALL)
@pytest.mark.parametrize("upper", [False, True])
@mp.workdps(25)
def test_probabilities(point, upper):
    x, nu, delta = map(mp.mpf, point)
    exact, sign = probability(x, nu, delta, upper), -1 if upper else 1
    f = stats.nct.logsf if upper else stats.nct.logcdf
    assert f(*point) == pytest.approx(float(mp.log(exact)), rel=1e-12, abs=1e-13)
    by_x = sign * mp.exp(log_noncentral_t(x, nu, delta)) / exact
    by_delta = -sign * mean(lambda s: mp.npdf(x * s - delta), nu) / exact
    h = nu / 10**8
    by_nu = (probability(x, nu + h, delta, upper) - probability(x, nu - h, delta, upper)) / (2 * h * exact)
    slopes = contad.grad(f, (0, 1, 2))(*point)
    assert slopes == pytest.approx((float(by_x), float(by_nu), float(by_delta)), rel=1e-9)


@pytest.mark.parametrize("point", [*ALL, (37.0, 1e6, 37.0), (0.0, 2.0, 1.3), (1e150, 1.7, 3.0)])
def test_density(point):
    args = [np.array([x]) for x in point]
    gradient = contad.grad(lambda *args: np.sum(stats.nct.logpdf(*args)), (0, 1, 2))(*args)
    with mp.workdps(60):
        exact = [mp.mpf(x) for x in point]
        assert stats.nct.logpdf(*args)[0] == pytest.approx(float(log_noncentral_t(*exact)), rel=1e-13)
        for k, found in enumerate(gradient):
            h = (abs(exact[k]) or 1) / 10**20
            ends = [log_noncentral_t(*(x + w * (j == k) for j, x in enumerate(exact))) for w in (-h, h)]
            assert found[0] == pytest.approx(float((ends[1] - ends[0]) / (2 * h)), rel=1e-9)


@pytest.mark.parametrize("f", [stats.nct.logpdf, stats.nct.logcdf, log_mean_below])
def test_second_derivatives(f):
    """Against differences of the gradients, which are judged above."""
    point = np.array([0.7, 3.3, -1.2])
    found = contad.hessian(lambda p: f(p[0], p[1], p[2]))(point)
    for k in range(3):
        step = np.eye(3)[k] * 1e-3
        at = {j: np.array(contad.grad(f, (0, 1, 2))(*(point + j * step))) for j in (-2, -1, 1, 2)}
        difference = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / 12e-3
        np.testing.assert_allclose(found[k], difference, rtol=1e-9, atol=1e-12)


def test_central_and_outside():
    """Without a centre it is Student's."""
    for method in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"):
        f, student = getattr(stats.nct, method), getattr(stats.t, method)
        assert f(-1.7, 3.3, 0.0, 0.3, 2.0) == pytest.approx(student(-1.7, 3.3, 0.3, 2.0), rel=1e-13)
        assert np.isnan(f(0.3, -1.0, 0.5)) and np.isnan(f(0.3, 2.0, 0.5, 0.0, -1.0))
    assert stats.nct.cdf(np.inf, 3.0, 1.0) == 1.0 and stats.nct.logsf(np.inf, 3.0, 1.0) == -np.inf
    assert np.isnan(stats.nct.cdf(0.3, 2.0, 1e4)) and np.isnan(stats.nct.cdf(0.3, 1e-3, 1.0))
