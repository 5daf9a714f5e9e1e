"""The mirror of scipy.ndimage: SciPy's values, derivatives of both orders, and what is refused."""

import numpy as np
import pytest
import scipy.ndimage

import contad
import contad.scipy.ndimage as mirror
from contad.errors import UnsupportedError
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)


def a(*shape):
    return RNG.normal(size=shape)


IMAGE, AT = a(25, 24), np.array([[0.3, 1.7, 3.2], [2.6, 0.4, 1.3]])
FAR = np.array([[-0.7, 25.3, 12.2, -2.3, 3.2], [12.6, 24.4, -1.3, 39.7, 5.7]])
MODES = ("constant", "nearest", "mirror", "reflect", "wrap", "grid-wrap", "grid-mirror")


def mapped(order, mode, where):
    call = lambda m, x, at: m.map_coordinates(x, at, order=order, mode=mode, cval=0.3) * (1.0 + 0.01 * np.sum(at))
    return call, IMAGE, where


CASES = {
    **{
        f"map, {order}, {mode}{label}": mapped(order, mode, where)
        for order in (0, 1, 3)
        for mode in MODES
        for label, where in (("", AT), (", far", FAR))
        if (order, mode) != (3, "grid-wrap") and (order, mode, label) != (3, "nearest", ", far")
    },
    "map, beside the image": mapped(3, "nearest", np.array([[-2.7, 26.3, 3.2], [12.6, 24.4, -1.7]])),
    "map, one axis": (lambda m, x, at: m.map_coordinates(x, at[None]), a(7), np.array([0.3, 2.2, 5.1])),
    "map, three axes": (
        lambda m, x, at: m.map_coordinates(x, at, mode="mirror"), a(3, 4, 3),
        np.array([[[0.3, 1.2]], [[1.1, 0.7]], [[0.2, 1.6]]]),
    ),
    "map, coefficients": (lambda m, x, at: m.map_coordinates(x, at, prefilter=False), IMAGE, AT),
    "spline_filter": (lambda m, x: m.spline_filter(x), a(5, 4)),
    "spline_filter1d": (lambda m, x: m.spline_filter1d(x, mode="reflect", axis=0), a(30, 2)),
    **{
        f"correlate1d, {mode}": (
            lambda m, x, w, mode=mode: m.correlate1d(x, w, axis=0, mode=mode, cval=0.2, origin=1), a(5, 4), a(3)
        )
        for mode in MODES
    },
    "convolve1d": (lambda m, x, w: m.convolve1d(x, w, origin=-1), a(5, 4), a(4)),
    "correlate": (lambda m, x, w: m.correlate(x, w), a(5, 4), a(3, 2)),
    "convolve": (lambda m, x, w: m.convolve(x, w, mode="mirror", origin=(1, 0)), a(5, 4), a(3, 2)),
    "convolve, large": (lambda m, x, w: m.convolve(x, w), a(5, 4), a(9, 2)),
    "gaussian_filter": (lambda m, x: m.gaussian_filter(x, (0.7, 1.2), order=(1, 0), mode="nearest"), a(5, 4)),
    "gaussian_filter, one axis": (lambda m, x: m.gaussian_filter(x, 0.9, axes=(1,)), a(5, 4)),
    "gaussian_filter1d": (lambda m, x: m.gaussian_filter1d(x, 1.5, order=1, radius=3), a(5, 4)),
    "uniform_filter": (lambda m, x: m.uniform_filter(x, (2, 3), origin=(0, 1)), a(5, 4)),
    "uniform_filter1d": (lambda m, x: m.uniform_filter1d(x, 4), a(5, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.ndimage, mirror)


def test_a_spline_goes_through_the_image():
    image = a(4, 5)
    at = np.indices(image.shape).astype(float)
    for mode in ("reflect", "mirror", "nearest"):
        value, _ = contad.jvp(lambda x, mode=mode: mirror.map_coordinates(x, at, mode=mode), (image,), (image,))
        np.testing.assert_allclose(value, image, atol=1e-13)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: mirror.map_coordinates(x, AT, order=2), UnsupportedError, "order must be 0, 1 or 3, got 2"),
    (lambda x: mirror.map_coordinates(x, AT, mode="grid-wrap"), UnsupportedError, "not 'grid-wrap'"),
    (lambda x: mirror.map_coordinates(x, AT[:1]), RuntimeError, "invalid shape for coordinate array"),
    (lambda x: mirror.map_coordinates(x, AT, np.zeros(3)), UnsupportedError, "output= is not supported"),
    (lambda x: mirror.correlate1d(x, [1.0], origin=1), ValueError, "invalid origin"),
    (lambda x: mirror.correlate(x, [1.0]), RuntimeError, "incorrect shape"),
    (lambda x: mirror.gaussian_filter(x, x[0, 0]), UnsupportedError, "sigma must be a constant"),
    (lambda x: mirror.median_filter(x, 3), AttributeError, "contad.scipy.ndimage has no median_filter"),
])  # fmt: skip
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda x: np.sum(call(x)))(IMAGE)
