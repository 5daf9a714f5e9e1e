"""Derivatives of Numba functions with complex arguments and results, as users call them."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from tests.judges.complex_differences import differences

Z, W = 0.7 - 0.4j, np.array([0.3 + 0.5j, -0.8 + 0.1j, 1.2 - 0.6j])


@njit
def energy(w, x):
    w = w * x
    return np.sum(np.abs(w) ** 4) + np.vdot(w, w[::-1].copy()).imag


@njit
def square(z, x):
    return z * z * x, np.exp(1j * x) * z


@njit
def scaled(w, x):
    return w * x


@njit
def with_more(z):
    return abs(z) ** 2, z * 2.0


@njit
def of_tuple(p, factor=2.0):
    return abs(p[0] * p[1][0] * factor) ** 2 + p[2]


@njit
def multivalued(w):
    upper = np.sqrt(w) + 2.0 * np.arcsin(w) + 3.0 * np.arccos(w) + 4.0 * np.arctan(w) + 5.0 * np.arctanh(w) + np.log(w)
    return np.sum(upper.imag)


@njit
def overwritten(w):
    w *= 1j + w[0]
    return np.sum(w * w).imag


@njit
def along_derivative(w):
    return contad.grad(energy)(w, 2.0)[0].imag


def test_a_gradient_pairs_real_and_imaginary_derivatives():
    value, (by_w, by_x) = contad.value_and_grad(energy, (0, 1), engine="generated")(W, 1.5)
    assert value == pytest.approx(energy(W, 1.5))
    np.testing.assert_allclose(by_w, differences(energy, (W, 1.5), 0), rtol=1e-9)
    assert by_x == pytest.approx(differences(energy, (W, 1.5), 1).real)
    assert isinstance(by_x, float)


def test_derivatives_on_the_axes():
    """The sign of a zero says on which side of a branch cut a point is; elsewhere it has no effect."""
    w = np.array([complex(*xy) for t in (0.5, -0.5, 2.0, -2.0) for o in (0.0, -0.0) for xy in ((t, o), (o, t))])
    beside = np.where(w.real == 0.0, np.copysign(1e-12, w.real), w.real) + 1j * (
        np.where(w.imag == 0.0, np.copysign(1e-12, w.imag), w.imag)
    )
    s = 1.0 / np.sqrt(1.0 - beside**2)
    slope = 0.5 / np.sqrt(beside) - s + 4.0 / (1.0 + beside**2) + 5.0 / (1.0 - beside**2) + 1.0 / beside
    np.testing.assert_allclose(contad.grad(multivalued)(w), slope.imag + 1j * slope.real, rtol=1e-10, atol=1e-10)


def test_arguments_of_other_layouts_and_precisions():
    gradient = contad.grad(energy, engine="generated")
    right = gradient(W, 1.5)
    strided = np.repeat(W, 2)[::2]
    frozen = W.copy()
    frozen.flags.writeable = False
    for w in (strided, frozen):
        np.testing.assert_array_equal(gradient(w, 1.5), right)
    single = gradient(W.astype(np.complex64), 1.5)
    assert single.dtype == np.complex128
    np.testing.assert_allclose(single, right, rtol=1e-6)


def test_real_arguments_beside_complex_data():
    gradient = contad.grad(energy, 1, engine="generated")
    assert gradient(W, 1.5) == pytest.approx(differences(energy, (W, 1.5), 1).real)
    assert gradient(W.astype(np.complex64), 1.5) == pytest.approx(gradient(W, 1.5), rel=1e-6)
    hessian = contad.hessian(energy, 1, engine="generated")
    assert hessian(W, 1.5) == pytest.approx((gradient(W, 1.5 + 1e-6) - gradient(W, 1.5 - 1e-6)) / 2e-6)


def test_pullbacks_and_tangents_agree():
    """Re(conj(z_bar) z_dot) is the same both ways."""
    value, pullback = contad.vjp(square, Z, 1.3)
    assert value == pytest.approx(square(Z, 1.3))
    z_bar, z_dot, x_dot = (0.3 + 1j, -2.0 + 0.5j), 0.7 + 0.2j, 0.4
    by_z, by_x = pullback(z_bar)
    _, dots = contad.jvp(square, (Z, 1.3), (z_dot, x_dot))
    one = (np.conj(by_z) * z_dot).real + by_x * x_dot
    assert one == pytest.approx(sum((np.conj(bar) * dot).real for bar, dot in zip(z_bar, dots, strict=True)))
    np.testing.assert_allclose(dots, [2.0 * Z * 1.3 * z_dot + Z * Z * x_dot, np.exp(1.3j) * (z_dot + 1j * Z * x_dot)])


def test_a_pullback_of_an_array():
    value, pullback = contad.vjp(scaled, W, 2.0)
    np.testing.assert_array_equal(value, 2.0 * W)
    by_w, by_x = pullback(1j * W)
    np.testing.assert_allclose(by_w, 2j * W)
    assert by_x == pytest.approx(np.sum(np.conj(1j * W) * W).real, abs=1e-14)


def test_second_derivatives_along_a_complex_vector():
    v = np.array([0.2j, 1.0, -0.3 + 0.1j])
    gradient = contad.grad(energy, engine="generated")
    right = (gradient(W + 1e-6 * v, 1.5) - gradient(W - 1e-6 * v, 1.5)) / 2e-6
    np.testing.assert_allclose(contad.hvp(energy, engine="generated")(W, 1.5, v), right, rtol=1e-7)


def test_what_is_returned_beside_the_value_may_be_complex():
    gradient, more = contad.grad(with_more, has_aux=True, engine="generated")(Z)
    assert (gradient, more) == (pytest.approx(2.0 * Z), pytest.approx(2.0 * Z))


def test_tuples_hold_complex_numbers():
    by_z, by_w, by_x = contad.grad(of_tuple, engine="generated")((Z, W, 3.0))
    assert by_z == pytest.approx(8.0 * Z * abs(W[0]) ** 2)
    np.testing.assert_allclose(by_w, [8.0 * W[0] * abs(Z) ** 2, 0.0, 0.0])
    assert by_x == 1.0


def test_an_argument_that_is_overwritten_stays_the_same():
    w = W.copy()
    found = contad.grad(overwritten, engine="generated")(w)
    np.testing.assert_array_equal(w, W)
    np.testing.assert_allclose(found, differences(lambda w: overwritten(w.copy()), (W,), 0), rtol=1e-9)


def test_gradients_in_compiled_code():
    gradient = contad.grad(energy)

    @njit
    def descend(w, x):
        for _ in range(3):
            w = w - 0.01 * gradient(w, x)
        return w

    w = W
    for _ in range(3):
        w = w - 0.01 * contad.grad(energy, engine="generated")(w, 1.5)
    np.testing.assert_allclose(descend(W, 1.5), w)


def test_what_is_not_compiled_is_refused_by_name():
    for made, what in (
        (lambda: contad.grad(with_more, engine="generated")(Z), "must return one number"),
        (lambda: contad.grad(scaled_number, engine="generated")(Z), "it returns a complex number; return a real one"),
    ):
        with pytest.raises(UnsupportedError, match=what):
            made()


@njit
def scaled_number(z):
    return 2.0 * z
