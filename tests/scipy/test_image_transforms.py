"""Geometry, slopes and regions of images: SciPy's values, derivatives of both orders, and what is refused."""

import numpy as np
import pytest
import scipy.ndimage

import contad
import contad.scipy.ndimage as mirror
from contad.errors import UnsupportedError
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)
IMAGE = RNG.normal(size=(6, 5))
MATRIX, OFFSET = np.array([[0.8, 0.1], [-0.2, 0.9]]), np.array([0.33, 0.47])
LABELS = np.arange(30).reshape(6, 5) % 4

CASES = {
    "affine_transform": (lambda m, x, a, b: m.affine_transform(x, a, b, mode="mirror"), IMAGE, MATRIX, OFFSET),
    "affine_transform, constant": (lambda m, x, a: m.affine_transform(x, a, (0.41, 0.37), (3, 3), order=1), IMAGE,
                                   np.array([[0.85, 0.05], [0.05, 0.9]])),
    "affine_transform, diagonal": (lambda m, x, a: m.affine_transform(x, a, order=1, mode="nearest"), IMAGE,
                                   np.array([0.83, 1.07])),
    "affine_transform, homogeneous": (
        lambda m, x, a: m.affine_transform(x, a, mode="mirror"), IMAGE, np.column_stack([MATRIX, OFFSET])),
    "shift": (lambda m, x, s: m.shift(x, s, mode="mirror"), IMAGE, OFFSET),
    "shift, one": (lambda m, x, s: m.shift(x, s, order=1, cval=0.3), IMAGE, 0.37),
    "zoom": (lambda m, x: m.zoom(x, (1.5, 0.8), mode="mirror"), IMAGE),
    "rotate": (lambda m, x, a: m.rotate(x, a, mode="mirror"), IMAGE, 23.0),
    "rotate, in place": (lambda m, x, a: m.rotate(x, a, axes=(2, 0), reshape=False, order=1, mode="nearest"),
                         RNG.normal(size=(4, 2, 3)), 40.0),
    "sobel": (lambda m, x: m.sobel(x, 0, mode="nearest"), IMAGE),
    "prewitt": (lambda m, x: m.prewitt(x), IMAGE),
    "laplace": (lambda m, x: m.laplace(x, mode="constant", cval=0.2), IMAGE),
    "gaussian_laplace": (lambda m, x: m.gaussian_laplace(x, 0.8), IMAGE),
    "gaussian_gradient_magnitude": (lambda m, x: m.gaussian_gradient_magnitude(x, (0.8, 1.1)), IMAGE),
    **{f"{name}{label}": (lambda m, x, name=name, args=args: getattr(m, name)(x, *args), IMAGE)
       for name in ("sum_labels", "mean", "variance", "standard_deviation")
       for label, args in (("", ()), (", some", (LABELS, [[1], [3]])), (", marked", (LABELS,)))},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.ndimage, mirror, rtol=1e-10)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: mirror.shift(x, 0.5, output=x), UnsupportedError, "output= is not supported"),
    (lambda x: mirror.zoom(x, 2.0, grid_mode=True), UnsupportedError, "grid_mode="),
    (lambda x: mirror.rotate(x[0], 2.0), ValueError, "at least 2D"),
    (lambda x: mirror.affine_transform(x, np.eye(4)), RuntimeError, "wrong number of rows"),
    (lambda x: mirror.median_filter(x, 3), AttributeError, "has no median_filter, because it has no derivative here"),
])  # fmt: skip
def test_fails(call, error, message):
    with pytest.raises(error, match=message):
        contad.jvp(call, (IMAGE,), (IMAGE,))
