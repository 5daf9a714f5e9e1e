"""`contad.scipy.stats`: SciPy's values and edges, derivatives against differences, and compiled code."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.stats

import contad
from contad.scipy import stats
from contad.testing import expect_ad
from tests.distributions.mirror_points import BY_NAME, CONTINUOUS, DISCRETE, INSIDE, K, X, is_lost, shapes_of


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_are_scipys(name):
    own, theirs, shapes = BY_NAME[name], getattr(scipy.stats, name), shapes_of(name)
    for loc, scale in ((0.0, 1.0), (0.3, 2.0), (0.3, -2.0), (0.0, 0.0)):
        for method in ("logpdf", "pdf"):
            with np.errstate(all="ignore"):
                expected = getattr(theirs, method)(X, *shapes, loc, scale)
            found = getattr(own, method)(X, *shapes, loc, scale)
            expected = np.where(is_lost(found, expected) & (scale > 0.0), found, expected)
            np.testing.assert_allclose(found, expected, rtol=2e-11, err_msg=f"{method} {loc} {scale}")
    found = own.logpdf(np.array([0.4]), *shapes, 0.0, 2.0)[0]
    assert own.logpdf(0.4, *shapes, scale=2.0) == pytest.approx(found, rel=1e-14)
    assert np.isnan(own.pdf(np.nan, *shapes))


@pytest.mark.parametrize("name", DISCRETE)
def test_masses_are_scipys(name):
    own, theirs, shapes = BY_NAME[name], getattr(scipy.stats, name), shapes_of(name)
    for method in ("logpmf", "pmf"):
        with np.errstate(all="ignore"):
            expected = getattr(theirs, method)(K, *shapes, 1)
        np.testing.assert_allclose(getattr(own, method)(K, *shapes, 1), expected, rtol=1e-10, err_msg=method)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_derivatives_in_every_argument(name):
    own, shapes = BY_NAME[name], shapes_of(name)
    x = INSIDE.get(name, 0.47)
    f = lambda *args: own.logpdf(*args) + own.pdf(*args)
    point = (x, *shapes, 0.1, 1.3)
    found = contad.grad(f, tuple(range(len(point))))(*point)
    for k in range(len(point)):
        along = lambda t, k=k: f(*(t if j == k else v for j, v in enumerate(point)))
        h = 1e-5
        difference = 8 * (along(point[k] + h) - along(point[k] - h)) - (
            along(point[k] + 2 * h) - along(point[k] - 2 * h)
        )
        assert found[k] == pytest.approx(difference / (12 * h), rel=1e-8, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("name", ["gamma", "t", "truncnorm"])
def test_every_mode_and_engine(name):
    own, shapes = BY_NAME[name], shapes_of(name)
    expect_ad(lambda x, loc, scale: own.logpdf(x, *shapes, loc, scale), 0.47, 0.1, 1.3)
    expect_ad(lambda x, scale: own.logpdf(x, *shapes, 0.1, scale), np.array([0.47, 0.9]), 1.3)


@pytest.mark.parametrize("engine", ["generated", "tape"])
def test_compiled_code(engine):
    numba = pytest.importorskip("numba")
    y = np.array([0.3, 0.7, -1.2])

    @numba.njit
    def f(mu, sigma):
        return stats.norm.logpdf(0.3, scale=sigma) + np.sum(stats.norm.logpdf(y, mu, sigma))

    expected = contad.grad(f.py_func, (0, 1))(0.4, 1.3)
    assert f(0.4, 1.3) == pytest.approx(f.py_func(0.4, 1.3), rel=1e-14)
    assert contad.grad(f, (0, 1), engine=engine)(0.4, 1.3) == pytest.approx(expected, rel=1e-12)


def test_nothing_is_imported_before_it_is_used():
    code = (
        "import contad, sys; print([m for m in sys.modules if m.startswith(('contad.dist', 'contad.stan', 'numba'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
