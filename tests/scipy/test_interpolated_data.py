"""Interpolants of data and splines in FITPACK's forms: SciPy's values, derivatives of both orders, refusals."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.optimize

import contad
import contad.scipy.interpolate as mirror
from contad.errors import UnsupportedError
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)
X, AT, FAR = np.array([0.0, 0.7, 1.1, 2.3, 2.9, 4.0]), np.array([0.3, 1.5, 2.6, 3.7]), np.array([-0.4, 1.5, 4.3])
Y, YS, W = RNG.normal(size=6), RNG.normal(size=(6, 2)), RNG.uniform(0.5, 1.5, 6)
POINTS, PLACES, DATA = RNG.normal(size=(7, 2)), RNG.normal(size=(3, 2)), RNG.normal(size=(7, 2))
V, GX, GY = RNG.normal(size=(5, 4)), np.array([0.0, 1.0, 1.7, 3.0, 3.4]), np.array([-0.7, 0.5, 1.2, 2.0])
KERNELS = ["linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "inverse_multiquadric",
           "inverse_quadratic", "gaussian"]  # fmt: skip


def of_tck(m, x, y, at, **options):
    return m.splev(at, m.splrep(x, y, **options))


CASES = {
    "interp1d": (lambda m, x, y, at: m.interp1d(x, y, axis=0)(at), X, YS, AT),
    "interp1d, cubic": (lambda m, x, y, at: m.interp1d(x, y, "cubic")(at), X, YS.T.copy(), AT),
    "interp1d, quadratic": (lambda m, x, y, at: m.interp1d(x, y, 2, bounds_error=False)(at[1:2]), X, Y, FAR),
    "interp1d, out of order": (lambda m, x, y, at: m.interp1d(x, y)(at), X[::-1].copy(), Y, AT),
    "interp1d, outside": (lambda m, x, y, at: m.interp1d(x, y, fill_value="extrapolate")(at), X, Y, FAR),
    "interp1d, filled": (lambda m, x, y, a: m.interp1d(x, y, bounds_error=False, fill_value=(a, 2.0))(FAR), X, Y, 0.4),
    **{f"RBF, {kernel}": (
        lambda m, y, d, x, kernel=kernel: m.RBFInterpolator(y, d, kernel=kernel, epsilon=0.7)(x), POINTS, DATA, PLACES
    ) for kernel in KERNELS},
    "RBF, scale": (lambda m, s, e: m.RBFInterpolator(POINTS, DATA[:, 0], smoothing=s, kernel="gaussian", epsilon=e,
                                                     degree=1)(PLACES), RNG.uniform(0.1, 0.2, 7), 0.8),
    "splrep": (of_tck, X, Y, AT),
    "splrep, quadratic": (lambda m, x, y, at: of_tck(m, x, y, at, k=2), X, Y, FAR),
    "splrep, knots": (lambda m, x, y, w, t: of_tck(m, x, y, AT, w=w, t=t, task=-1, k=2), X, Y, W, np.array([1.7])),
    "splprep": (lambda m, x, y: np.stack(m.splev(AT / 4.0, m.splprep([x, y], s=0)[0])), X, Y),
    "splev, edge": (lambda m, y, at: m.splev(at, m.splrep(X, y), ext=3), Y, FAR),
    "splev, zero": (lambda m, y, at: m.splev(at, m.splrep(X, y), ext=1), Y, FAR),
    "splev, slope": (lambda m, y, at: m.splev(at, m.splrep(X, y), der=1), Y, AT),
    "splint": (lambda m, y, a, b: m.splint(a, b, m.splrep(X, y)), Y, 0.3, 2.2),
    "splder": (lambda m, y, at: m.splev(at, m.splder(m.splantider(m.splrep(X, y)), 2)), Y, AT),
    "make_lsq_spline": (lambda m, x, y, t: m.make_lsq_spline(x, y, np.concatenate([[0.0] * 3, t, [4.0] * 3]), k=2)(AT),
                        X, YS, np.array([1.7])),
    "Interpolated": (lambda m, x, y, at: m.InterpolatedUnivariateSpline(x, y, k=3)(at), X, Y, AT),
    "Interpolated, integral": (lambda m, x, y: m.InterpolatedUnivariateSpline(x, y).integral(0.2, 3.0), X, Y),
    "LSQ": (lambda m, x, y, t: m.LSQUnivariateSpline(x, y, t, k=2)(AT), X, Y, np.array([1.7])),
    "Univariate, derivatives": (lambda m, y, at: m.UnivariateSpline(X, y, s=0).derivatives(at), Y, 0.9),
    "Univariate, antiderivative": (lambda m, y, at: m.UnivariateSpline(X, y, s=0).antiderivative()(at), Y, AT),
    "Univariate, a line": (lambda m, y, at: m.UnivariateSpline(X, y, k=1, s=100.0)(at), Y, AT),
    "Rect": (lambda m, x, y, z: m.RectBivariateSpline(x, y, z)([0.4, 3.1], [0.3, 1.3]), GX, GY, V),
    "Rect, pairs": (lambda m, z, at, to: m.RectBivariateSpline(GX, GY, z, kx=2, ky=1).ev(at, to, dx=1), V,
                    np.array([0.4, 3.1]), np.array([0.3, 1.3])),
    "Rect, integral": (lambda m, z, a: m.RectBivariateSpline(GX, GY, z).integral(a, 2.0, 0.3, 1.9), V, 0.4),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.interpolate, mirror, exact="lsq" not in name, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("kind", ["nearest", "nearest-up", "previous", "next", "zero"])
def test_neighbours(kind):
    at = np.concatenate([X, AT, 0.5 * (X[1:] + X[:-1])])
    expected = scipy.interpolate.interp1d(X, Y, kind)(at)
    value, slope = contad.jvp(lambda y: mirror.interp1d(X, y, kind)(at), (Y,), (Y,))
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(slope, expected)
    assert not np.any(contad.grad(lambda at: np.sum(mirror.interp1d(X, Y, kind)(at)) + 0.0 * np.sum(at))(AT))


# ---- smoothing -------------------------------------------------------------------------------------------------------
PLACE = np.linspace(0.0, 3.0, 25)
NOISY = np.sin(2.0 * PLACE) + 0.1 * RNG.normal(size=25)


def solve_smoothing(x, y, w, s, k, places):
    """The spline of these knots with a sum of squares s, by bisection of the weight of its jumps."""
    t = np.concatenate([[x[0]] * k, x[places], [x[-1]] * k])
    n = len(t) - k - 1
    basis = lambda at, nu=0: np.stack([scipy.interpolate.BSpline(t, e, k)(at, nu) for e in np.eye(n)], axis=1)
    inner = x[places]
    a, b = w[:, None] * basis(x), np.diff(basis(0.5 * (inner[1:] + inner[:-1]), k), axis=0)
    fit = lambda log_q: np.linalg.solve(a.T @ a + np.exp(log_q) * b.T @ b, a.T @ (w * y))
    rest = lambda log_q: np.sum((w * y - a @ fit(log_q)) ** 2) - s
    return scipy.interpolate.BSpline(t, fit(scipy.optimize.brentq(rest, -30.0, 20.0, xtol=1e-15, rtol=1e-14)), k)


@pytest.mark.parametrize("k", [1, 3])
def test_smoothing_splines(k):
    """By differences of the spline that has exactly the sum of squares which FITPACK found."""
    s, w = 0.12, 1.0 + 0.3 * np.cos(PLACE)
    plain = scipy.interpolate.UnivariateSpline(PLACE, NOISY, w, k=k, s=s)
    places = np.searchsorted(PLACE, plain.get_knots())
    assert len(places) > 2

    def exact(x, y, w, scale):
        return solve_smoothing(x, y, w, plain.get_residual() * scale / s, k, places)(AT / 1.4)

    args = PLACE, NOISY, w, s
    dots = np.sin(PLACE), np.cos(PLACE), np.sin(3.0 * PLACE), 0.7
    for i, (x, dot) in enumerate(zip(args, dots, strict=True)):
        rest = lambda x, i=i: (*args[:i], x, *args[i + 1 :])
        f = lambda x, rest=rest: mirror.UnivariateSpline(*rest(x)[:3], k=k, s=rest(x)[3])(AT / 1.4)
        value, slope = contad.jvp(f, (x,), (dot,))
        np.testing.assert_allclose(value, plain(AT / 1.4), rtol=1e-9)
        h = 1e-5
        differences = (exact(*rest(x + h * dot)) - exact(*rest(x - h * dot))) / (2.0 * h)
        np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-6)
        back = contad.grad(lambda x, f=f: np.sum(np.array([1.0, -2.0, 0.5, 3.0]) * f(x)))(x)
        assert np.sum(back * dot) == pytest.approx(slope @ [1.0, -2.0, 0.5, 3.0], rel=1e-9)


def test_second_derivatives_of_a_smoothing_spline():
    """They keep the knots and the sum of squares, so they are those of the exact solution."""
    f = lambda y: mirror.UnivariateSpline(PLACE, y, s=0.12)(1.1)
    residual = scipy.interpolate.UnivariateSpline(PLACE, NOISY, s=0.12)
    places = np.searchsorted(PLACE, residual.get_knots())
    dot = np.cos(3.0 * PLACE)
    found = contad.jvp(contad.grad(f), (NOISY,), (dot,))[1] @ dot
    exact = lambda y: solve_smoothing(PLACE, y, np.ones(25), residual.get_residual(), 3, places)(1.1)
    h = 2e-3
    assert found == pytest.approx((exact(NOISY + h * dot) - 2 * exact(NOISY) + exact(NOISY - h * dot)) / h**2, rel=1e-3)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda y: mirror.interp1d(X, y)(FAR), ValueError, "below the interpolation range"),
    (lambda y: mirror.interp1d(X, y, "sine")(AT), UnsupportedError, "sine is unsupported"),
    (lambda y: mirror.interp1d(X[1:], y)(AT), ValueError, "n values in axis"),
    (lambda y: mirror.RBFInterpolator(POINTS[:6], y, neighbors=3)(PLACES), UnsupportedError, "neighbors="),
    (lambda y: mirror.RBFInterpolator(POINTS[:6], y, kernel="gaussian")(PLACES), ValueError, "epsilon"),
    (lambda y: mirror.splrep(X, y, per=1)[1], UnsupportedError, "per= is not supported"),
    (lambda y: mirror.splprep([X, y])[1], UnsupportedError, "s must be 0"),
    (lambda y: mirror.splev(FAR, mirror.splrep(X, y), ext=2), ValueError, "between the ends"),
    (lambda y: mirror.UnivariateSpline(X, y, s=0).roots(), AttributeError, "no 'roots' that is differentiated"),
    (lambda y: mirror.UnivariateSpline(y, X, k=2, s=0.01)(AT), ValueError, "increasing"),
])  # fmt: skip
def test_fails(call, error, message):
    with pytest.raises(error, match=message):
        contad.jvp(call, (Y,), (Y,))
