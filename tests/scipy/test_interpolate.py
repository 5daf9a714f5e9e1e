"""The mirror of scipy.interpolate: SciPy's values, derivatives of both orders, and what is refused."""

import numpy as np
import pytest
import scipy.interpolate

import contad
import contad.scipy.interpolate as mirror
from contad.errors import UnsupportedError
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)


def a(*shape):
    return RNG.normal(size=shape)


X, AT = np.array([0.0, 0.7, 1.1, 2.3, 2.9, 4.0]), np.array([0.3, 1.5, 2.6, 3.7])
FAR = np.array([[-0.4, 1.5], [2.5, 4.3]])
Y, YS = a(6), a(6, 2)
RISING = np.cumsum(Y**2)
GRID = np.array([0.0, 1.0, 1.7, 3.0, 3.4]), np.array([2.0, 1.2, 0.5, -0.7])
V, PLACES = a(5, 4), np.array([[0.4, 0.3], [2.1, 1.3], [3.1, -0.2]])


def closed(y):
    """Values of which the last is the first."""
    return np.concatenate([y, y[:1]])


def knots(t):
    return np.concatenate([t[:1], t[:1], t[:1], t, t[-1:], t[-1:], t[-1:]])


def on_grid(m, v, **options):
    return m.RegularGridInterpolator(GRID, v, **options)


CASES = {
    **{
        f"CubicSpline, {bc}": (lambda m, x, y, at, bc=bc: m.CubicSpline(x, y, bc_type=bc)(at), X, YS, AT)
        for bc in ("not-a-knot", "natural", "clamped")
    },
    "CubicSpline, conditions": (lambda m, x, y, at: m.CubicSpline(x, y, bc_type=((1, 0.3), (2, -0.4)))(at), X, Y, AT),
    "CubicSpline, periodic": (lambda m, x, y, at: m.CubicSpline(x, closed(y), bc_type="periodic")(at), X, Y[:-1], FAR),
    "CubicSpline, axis": (lambda m, x, y, at: m.CubicSpline(x, y, axis=1)(at, 1), X, YS.T.copy(), FAR),
    "CubicSpline, inside": (lambda m, x, y, at: m.CubicSpline(x, y, extrapolate=False)(at), X, YS, AT),
    "CubicSpline, integral": (lambda m, x, y, at: m.CubicSpline(x, y).antiderivative()(at), X, YS, FAR),
    "CubicSpline, slope": (lambda m, x, y, at: m.CubicSpline(x, y).derivative()(0.3 * at), X, 0.1 * Y, AT),
    "CubicSpline, integrate": (lambda m, x, y, at: m.CubicSpline(x, y).integrate(at[0], at[1]), X, YS, AT),
    "CubicSpline, a number": (lambda m, x, y, at: m.CubicSpline(x, y)(at[0]), X, Y, AT),
    "CubicSpline, 2 points": (lambda m, x, y, at: m.CubicSpline(x, y)(at), X[:2], YS[:2], AT),
    "CubicSpline, 3 points": (lambda m, x, y, at: m.CubicSpline(x, y)(at), X[:3], YS[:3], AT),
    "CubicHermiteSpline": (lambda m, x, y, d, at: m.CubicHermiteSpline(x, y, d)(at), X, Y, a(6), FAR),
    "PchipInterpolator": (lambda m, x, y, at: m.PchipInterpolator(x, y)(at), X, YS, FAR),
    "PchipInterpolator, monotone": (lambda m, x, y, at: m.PchipInterpolator(x, y)(at), X, RISING, FAR),
    "pchip_interpolate": (lambda m, x, y, at: m.pchip_interpolate(x, y, at), X, RISING, FAR),
    "Akima1DInterpolator": (lambda m, x, y, at: m.Akima1DInterpolator(x, y)(at), X, YS, AT),
    "Akima1DInterpolator, modified": (
        lambda m, x, y, at: m.Akima1DInterpolator(x, y, method="makima", extrapolate=True)(at), X, YS, FAR
    ),
    **{
        f"make_interp_spline, {k}": (lambda m, x, y, at, k=k: m.make_interp_spline(x, y, k=k)(at), X, YS, FAR)
        for k in (1, 2, 3, 4, 5)
    },
    "make_interp_spline, natural": (lambda m, x, y, at: m.make_interp_spline(x, y, bc_type="natural")(at), X, YS, FAR),
    "make_interp_spline, clamped": (
        lambda m, x, y, at: m.make_interp_spline(x, y, bc_type="clamped", axis=1)(at), X, YS.T.copy(), FAR
    ),
    "make_interp_spline, coefficients": (lambda m, x, y: m.make_interp_spline(x, y).c, X, YS),
    "BSpline": (lambda m, t, c, at: m.BSpline(knots(t), c, 3)(at), X, a(8, 2), AT),
    "BSpline, slope": (lambda m, c, at: m.BSpline(knots(X), c, 3)(at, 1), a(8), AT),
    "BSpline, derivative": (lambda m, t, c, at: m.BSpline(knots(t), c, 3).derivative()(at), X, a(8, 2), AT),
    "BSpline, integral": (lambda m, t, c, at: m.BSpline(knots(t), c, 3).antiderivative()(at), X, a(8, 2), AT),
    "BSpline, integrate": (lambda m, t, c, at: m.BSpline(knots(t), c, 3).integrate(at[0], at[2]), X, a(8, 2), AT),
    "grid": (lambda m, v, at: on_grid(m, v)(at), V, PLACES),
    "grid, coordinates": (
        lambda m, v, at: on_grid(m, v, bounds_error=False, fill_value=None)((at[:, 0], at[:, 1] + 3)), a(5, 4, 2),
        PLACES,
    ),
    "grid, filled": (
        lambda m, v, at: on_grid(m, v, bounds_error=False, fill_value=0.3)(at + np.array([0.0, 1.0])), V, PLACES
    ),
    "grid, slinear": (lambda m, v, at: on_grid(m, v, method="slinear")(at), V, PLACES),
    "grid, cubic": (lambda m, v, at: on_grid(m, v, method="cubic")(at), V, PLACES),
    "grid, nearest": (lambda m, v, at: on_grid(m, v, method="nearest")(at) * np.sum(at), V, PLACES),
    "grid, one axis": (lambda m, v, at: m.RegularGridInterpolator(GRID[:1], v)(at), V[:, 0].copy(), AT[:3]),
    "interpn": (lambda m, v, at: m.interpn(GRID, v, at), V, PLACES),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    rtol = 1e-6 if "cubic" in name else 1e-12  # SciPy finds these coefficients by iteration
    check_mirror(call, args, scipy.interpolate, mirror, False, rtol)


def test_a_tensor_of_splines_is_exact_at_the_grid():
    points = np.stack(np.meshgrid(*GRID, indexing="ij"), axis=-1)
    value, _ = contad.jvp(lambda v: on_grid(mirror, v, method="cubic")(points), (V,), (V,))
    np.testing.assert_allclose(value, V, atol=1e-14)


def test_interpolants_of_numbers_are_scipys():
    spline = mirror.CubicSpline(X, Y)
    np.testing.assert_array_equal(spline.roots(), scipy.interpolate.CubicSpline(X, Y).roots())
    assert mirror.make_interp_spline(X, Y).tck[2] == 3


def test_many_points_take_linear_memory():
    x = np.linspace(0.0, 1.0, 100_000)
    gradient = contad.grad(lambda y: np.sum(mirror.CubicSpline(x, y)(x[:-1] + 3e-6)))(np.sin(7.0 * x))
    assert abs(np.sum(gradient) - 99_999) < 1e-6  # the weights of each value add up to 1


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda y: mirror.CubicSpline(X[::-1], y)(0.3), ValueError, "x must be strictly increasing"),
    (lambda y: mirror.CubicSpline(X[:4], y)(0.3), ValueError, "y must have 4 values in axis 0"),
    (lambda y: mirror.CubicSpline(X, y / 0.0)(0.3), ValueError, "y must contain only finite values"),
    (lambda y: mirror.CubicSpline(X, y, bc_type="free")(0.3), ValueError, "bc_type must be"),
    (lambda y: mirror.CubicSpline(X, y, bc_type="periodic")(0.3), ValueError, "must be identical"),
    (lambda y: mirror.CubicSpline(X, y).roots()[0], AttributeError, "no attribute 'roots' that is differentiated"),
    (lambda y: mirror.make_interp_spline(X, y, bc_type="periodic")(0.3), UnsupportedError, "CubicSpline can be"),
    (lambda y: mirror.BSpline(X, y, 3)(0.3), ValueError, "n > k expected"),
    (lambda y: mirror.RegularGridInterpolator((X,), y)(9.0)[0], ValueError, "out of bounds in dimension 0"),
    (lambda y: mirror.RegularGridInterpolator((X,), y, method="pchip")(1.0)[0], UnsupportedError, "'pchip'"),
    (lambda y: mirror.UnivariateSpline(X, y)(0.3), AttributeError, "has no UnivariateSpline"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(call)(Y)
