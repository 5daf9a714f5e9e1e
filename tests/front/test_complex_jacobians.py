"""Compiled matrices of derivatives by complex numbers, and of complex results, are those of plain functions."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import NotHolomorphicError, OutputError, UnsupportedError
from contad.front import layouts
from contad.front.derivative import Derivative
from contad.variables.trees import leaves_of

W, X = np.array([0.3 + 0.5j, -0.8 + 0.1j, 1.2 - 0.6j]), np.array([0.4, -1.1])
ONLY = {"engine": "generated"}


@njit
def energy(w, x):
    return np.sum(np.abs(w) ** 4) * x[0] + (w[0] * w[1]).imag * x[1], np.abs(w) * x[0]


@njit
def waves(w, x):
    return w * w[::-1] * x[0], (w[0] * w[1] * x[1], x * 1j)


@njit
def total(w, x):
    return np.sum(np.abs(w) ** 4) * x[0] * x[1] + (w[0] * w[1]).imag


@njit
def cubed(z):
    return z * z * z


def require_same(found, expected):
    a, b = leaves_of(found), leaves_of(expected)
    assert [(np.shape(x), np.iscomplexobj(x)) for x in a] == [(np.shape(x), np.iscomplexobj(x)) for x in b]
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("transform", "f", "options"),
    [
        (contad.jacrev, energy, {"argnums": (0, 1)}),
        (contad.jacfwd, energy, {"argnums": 0}),
        (contad.jacobian, waves, {"argnums": 1}),
        (contad.jacrev, waves, {"argnums": (0, 1), "holomorphic": True}),
        (contad.jacfwd, waves, {"argnums": 0, "holomorphic": True}),
    ],
)
def test_a_jacobian_is_that_of_the_plain_function(transform, f, options):
    only = {} if transform is contad.jacfwd else ONLY
    derivative = transform(f, **options, **only)
    assert isinstance(derivative, Derivative)
    require_same(derivative(W, X), transform(f.py_func, **options)(W, X))
    assert {choice.engine for choice in derivative.choices.values()} == {"generated"}


def test_holomorphic_derivatives_are_found_in_compiled_code():
    derivative = contad.jacobian(cubed, holomorphic=True)

    @njit
    def newton(z):
        for _ in range(40):
            z = z - (cubed(z) - 1.0) / derivative(z)
        return z

    assert newton(0.3 + 1.0j) ** 3 == pytest.approx(1.0)
    assert contad.derivative(cubed)(0.5 + 1j) == pytest.approx(3.0 * (0.5 + 1j) ** 2)


def test_errors_are_those_of_plain_functions():
    with pytest.raises(OutputError, match="waves returned a complex result, and the argument is complex"):
        contad.jacobian(waves, **ONLY)(W, X)
    with pytest.raises(NotHolomorphicError, match="energy is not holomorphic at this point"):
        contad.jacobian(energy, holomorphic=True, **ONLY)(W, X)
    with pytest.raises(UnsupportedError, match="must be real, got complex numbers; pass the parts"):
        contad.hessian(total, **ONLY)(W, X)


def test_second_derivatives_and_several_tangents():
    assert contad.laplacian(total, **ONLY)(W, X) == pytest.approx(contad.laplacian(total.py_func)(W, X))
    require_same(contad.hessian(total, 1, **ONLY)(W, X), contad.hessian(total.py_func, 1)(W, X))
    tangents = np.stack([1j * W, W[::-1]]), np.stack([X, X * X])
    require_same(
        contad.jvp(waves, (W, X), tangents, several=True), contad.jvp(waves.py_func, (W, X), tangents, several=True)
    )


def test_a_wrong_imaginary_part_is_noticed(monkeypatch):
    """The fault: the imaginary part of every matrix has the other sign."""
    monkeypatch.setattr(layouts, "_join", lambda real, imag, x, y: f"({real} - 1j * {imag})")
    f = njit(lambda w: np.abs(w) ** 2)
    with pytest.raises(AssertionError):
        require_same(contad.jacrev(f, **ONLY)(W), contad.jacrev(f.py_func)(W))
