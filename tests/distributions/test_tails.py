"""Logarithms of densities and probabilities where the arguments are tiny or huge, and their derivatives."""

import numpy as np
import pytest
from mpmath import mp

import contad
from tests.distributions.mirror_points import BY_NAME, CONTINUOUS, shapes_of
from tests.distributions.reference_forms import TAILS

FAR = [1e-300, 1e-160, 1e-20, 1e-9, 40.0, 800.0, 1e9, 1e160, 1e300]
MORE = [1e-200, 1e-100, 1e-3, 0.3, 0.9999999, 1.0000001, 1.3, 7.0, 100.0, 1e4, 1e20, 1e100, 1e200]
SHAPES = {"genpareto": [(0.0,), (30.0,), (-0.6,)], "genextreme": [(0.0,), (0.6,), (-0.6,)], "truncnorm": [(30.0, 31.0)],
          "nct": [(3.3, 0.8), (0.2, -3.0), (60.0, 4.0)]}  # fmt: skip
SIZES = (0.02, 1.0, 60.0)  # of shapes, over those of the other tests
CANCELLING = ("exponnorm", "invgauss", "wald", "recipinvgauss")  # the definitions
METHODS = ("logpdf", "logcdf", "logsf")


def methods_of(name):
    return [method for method in METHODS if hasattr(BY_NAME[name], method)]


def is_representable(x):
    return x == 0 or 1e-290 < abs(x) < 1e305


def judge(name, method, x, shapes, every=False):
    """Values by the definition, and the slope by the density; with `every`, those of shapes by differences as well."""
    f, reference = getattr(BY_NAME[name], method), TAILS[name][METHODS.index(method)]
    logarithm = TAILS[name][0]
    given = [x, *(np.full(len(x), shape) for shape in shapes), np.zeros(len(x)), np.ones(len(x))]
    found, slopes = f(*given), [np.zeros(len(x))]
    if every or method != "logpdf":
        slopes = contad.grad(lambda *args: np.sum(f(*args)), tuple(range(len(given))) if every else (0,))(*given)
    for k, at in enumerate(x):
        point, where = [mp.mpf(at), *map(mp.mpf, shapes)], f"{name}.{method} at {at}, {shapes}"
        density = logarithm(*point)
        if not mp.isfinite(density) or abs(density) > mp.mpf(10) ** 300 or not reference:
            continue
        digits = 45 + int(mp.log10(1 + abs(density)))
        with mp.workdps(digits + abs(int(mp.log10(abs(at)))) if name in CANCELLING else digits):
            value, moves = reference(*point), 1.0  # how much the value moves with a relative change of x
            if not mp.isfinite(value):
                continue
            if method != "logpdf":
                slope = mp.exp(logarithm(*point) - value) * (1 if method == "logcdf" else -1)
                moves = abs(at * slope)
                if 1e-140 < moves < 1e290 and is_representable(slope):
                    assert slopes[0][k] == pytest.approx(float(slope), rel=1e-8), where
                    assert not every or slopes[-1][k] == pytest.approx(float(-at * slope), rel=1e-8), where
            if is_representable(value) and moves < 1e300:
                assert found[k] == pytest.approx(float(value), rel=1e-10, abs=1e-14 * float(moves)), where
            for j in range(1, len(point)) if every and moves > 1e-140 and point[0] else ():
                h = abs(point[j]) * mp.mpf(10) ** -20
                if h:
                    moved = [p + h * (i == j) for i, p in enumerate(point)]
                    change = (reference(*moved) - value) / h
                    if is_representable(change):
                        rounded = 1e-13 * abs(float(value / point[j]))
                        assert slopes[j][k] == pytest.approx(float(change), rel=1e-7, abs=rounded), where


def inside(name, x, shapes):
    """Those of x at which the density is not 0."""
    with np.errstate(all="ignore"):
        return x[BY_NAME[name].logpdf(x, *shapes) > -np.inf]


@pytest.mark.parametrize("name", CONTINUOUS)
def test_tails(name):
    """A new distribution needs its definition in `TAILS`."""
    shapes = SHAPES.get(name, [shapes_of(name)])[0]
    x = inside(name, np.array([*FAR, *(-x for x in FAR)]), shapes)
    for method in methods_of(name):
        judge(name, method, x, shapes)


@pytest.mark.long
@pytest.mark.parametrize("name", CONTINUOUS)
def test_tails_of_shapes(name):
    x = np.array([*FAR, *MORE])
    own = [tuple(size * shape for shape in shapes_of(name)) for size in SIZES] if BY_NAME[name].shapes else [()]
    for shapes in SHAPES.get(name, own):
        if name != "triang" or shapes[0] < 1.0:
            for method in methods_of(name):
                judge(name, method, inside(name, np.concatenate([x, -x]), shapes), shapes, every=True)


@pytest.mark.parametrize(
    "name", [n if n in ("gumbel_r", "fisk") else pytest.param(n, marks=pytest.mark.long) for n in CONTINUOUS]
)
def test_constant_where_nothing_is_left(name):
    """Densities and probabilities that underflow have slopes of 0, not products of 0 and infinity."""
    x, shapes = np.array([-1e300, -1e160, -800.0, 800.0, 1e160, 1e300]), shapes_of(name)
    for method in [method for method in ("pdf", "cdf", "sf") if hasattr(BY_NAME[name], method)]:
        f = getattr(BY_NAME[name], method)
        slopes = contad.grad(lambda x, *args, f=f: np.sum(f(x, *args)), tuple(range(len(shapes) + 3)))
        for slope in slopes(x, *shapes, 0.0, 1.0):
            assert np.all(np.isfinite(slope)), method
