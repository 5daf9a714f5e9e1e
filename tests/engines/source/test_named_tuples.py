"""Named tuples: as arguments that are differentiated, made inside, in branches and loops, one in another."""

from collections import namedtuple

import numpy as np
import pytest
from numba import njit

import contad

Settings = namedtuple("Settings", "rate weights shift")
Nested = namedtuple("Nested", "inner extra nothing")
SETTINGS = Settings(0.7, np.array([1.0, 2.0, 3.0]), 0.4)


@njit
def weighed(p):
    return p.rate * p.weights[1] ** 2 + p.shift * np.sum(p.weights * p.weights)


@njit
def rebuilt(p):
    q = Settings(p.inner.rate * 2.0, p.inner.weights * p.extra, shift=1.5)
    s = 0.0
    for _ in range(3):
        if q.rate > 0.3:
            q = Settings(q.rate * 0.5 + p.extra, q.weights, q.shift * q.rate)
        else:
            q = Settings(q.rate, q.weights, 0.5)
        s += weighed(q)
    return s * p.inner.shift if p.nothing is None else s


@njit
def unpacked(p):
    rate, weights, shift = p
    return weighed(p) * rate + weights[0] * shift * len(p) + p[0] * p[1][2]


CASES = {
    "weighed": (weighed, SETTINGS), "rebuilt": (rebuilt, Nested(SETTINGS, 1.3, None)), "unpacked": (unpacked, SETTINGS),
}  # fmt: skip


def numbers(p):
    return np.concatenate([numbers(x) if isinstance(x, tuple) else np.ravel(x) for x in p if x is not None])


@pytest.mark.parametrize("name", CASES)
def test_the_derivative_is_of_the_same_type(name):
    f, p = CASES[name]
    value, gradient = contad.value_and_grad(f, engine="generated")(p)
    expected_value, expected = contad.value_and_grad(f.py_func)(p)
    assert type(gradient) is type(p)
    assert value == pytest.approx(expected_value, rel=1e-13)
    np.testing.assert_allclose(numbers(gradient), numbers(expected), rtol=1e-12)


@pytest.mark.parametrize("name", [pytest.param("weighed"), pytest.param("rebuilt", marks=pytest.mark.long)])
def test_products_with_hessians_are_too(name):
    f, p = CASES[name]
    found = contad.hvp(f, engine="generated")(p, p)
    assert type(found) is type(p)
    np.testing.assert_allclose(numbers(found), numbers(contad.hvp(f.py_func)(p, p)), rtol=1e-10)


@njit
def constant_fields(x, p):
    q = Settings(x[0], x, x[1]) if p.rate > 1.0 else Settings(x[1], x, x[0])
    return weighed(q) * p.rate + p.weights[2] * x[2]


def test_a_named_tuple_of_constants():
    x = np.array([0.3, 0.5, 0.2])
    found = contad.grad(constant_fields, engine="generated")(x, SETTINGS)
    np.testing.assert_allclose(found, contad.grad(constant_fields.py_func)(x, SETTINGS), rtol=1e-12)
