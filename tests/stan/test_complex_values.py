"""Stan's functions of complex numbers against central differences along both parts, and against dense transforms."""

import numpy as np
import pytest
from numba import njit

import contad
from contad import stan

POINTS = [0.7 - 0.4j, -1.3 + 1.9j, 0.2 + 3.1j]
WEIGHTS = np.array([0.9 - 0.3j, 1.4 + 0.8j, -0.6 + 1.1j, 0.5 + 0.2j, -1.2 - 0.7j, 0.8 + 0.1j])


def weighted(w, weights=None):
    """A real number in which both parts of every element matter, and twice."""
    weights = WEIGHTS[: np.size(w)].reshape(np.shape(w)) if weights is None else weights
    z = w * weights
    return np.sum(np.real(z)) + np.sum(np.imag(z) * np.real(w))


def differences(f, z, h=1e-6):
    """dL/dx + i dL/dy by central differences."""
    z = np.asarray(z, complex)
    found = np.zeros(z.shape, complex)
    for k in np.ndindex(z.shape):
        for direction in (1.0, 1j):
            step = np.zeros(z.shape, complex)
            step[k] = h * direction
            found[k] += direction * (f((z + step)[()]) - f((z - step)[()])) / (2.0 * h)
    return found[()]


@pytest.mark.parametrize("z", POINTS)
@pytest.mark.parametrize(
    "f", [stan.arg, stan.get_real, stan.get_imag, stan.norm, lambda z: weighted(stan.conj(z)),
          lambda z: weighted(stan.proj(z)), lambda z: weighted(stan.polar(stan.norm(z), stan.arg(z))),
          lambda z: weighted(stan.to_complex(stan.get_imag(z), stan.get_real(z) ** 2))],
    ids=["arg", "get_real", "get_imag", "norm", "conj", "proj", "polar", "to_complex"],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
def test_gradients_by_both_parts(f, z, engine):
    assert contad.grad(f, engine=engine)(z) == pytest.approx(differences(f, z), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(
    ("f", "shape"), [(stan.fft, 5), (stan.inv_fft, 5), (stan.fft2, (2, 3)), (stan.inv_fft2, (2, 3))]
)
def test_transforms(f, shape):
    z = np.linspace(-1.0, 2.0, np.prod(shape)).reshape(shape) + 1j * np.cos(np.arange(np.prod(shape))).reshape(shape)
    gradient = contad.grad(lambda z: weighted(f(z)))(z)
    np.testing.assert_allclose(gradient, differences(lambda z: weighted(f(z)), z), rtol=1e-7, atol=1e-8)
    back = {stan.fft: stan.inv_fft, stan.fft2: stan.inv_fft2}.get(f)
    if back is not None:
        np.testing.assert_allclose(back(f(z)), z, rtol=1e-14)


def test_proj_of_infinity():
    assert stan.proj(complex(np.inf, -1.0)) == complex(np.inf, -0.0)
    assert contad.grad(lambda z: stan.get_real(stan.proj(z * np.array([1.0, np.inf]))[0]))(1.0 + 2.0j) == 1.0


@pytest.mark.parametrize("f", [stan.fft, stan.inv_fft])
def test_a_matrix_is_no_vector(f):
    with pytest.raises(ValueError, match=f"{f.__name__}: .* must have one axis, got an array of shape"):
        f(np.ones((2, 2)))


# ---- inside njit -----------------------------------------------------------------------------------------------------
V = np.array([0.7, -1.3, 0.2, -0.4, 1.9, 3.1])


def of_numbers(v):
    z, w = stan.to_complex(v[0], v[3]), stan.to_complex(v[:3], v[3:])
    p, q = stan.proj(stan.conj(z * z)) * stan.to_complex(v[1]), stan.proj(stan.conj(w * w))
    total = stan.arg(p) + stan.get_real(p) * stan.norm(z) + stan.get_imag(p) ** 2 + np.sum(stan.arg(q) * v[:3])
    total += np.sum(stan.get_real(q) * stan.norm(w)) + np.sum(stan.get_imag(q) ** 2)
    s, t = stan.polar(v[2], v[4]) * z, stan.polar(v[:3], v[3:]) * w
    return total + s.real * s.imag + np.sum(t.real * t.imag)


def of_spectra(v):
    z = stan.to_complex(v[:3], v[3:])
    m = stan.to_complex(v.reshape((2, 3)), 2.0)
    p, q, r, s = stan.fft(z), stan.inv_fft(z * z), stan.fft2(m), stan.inv_fft2(m * m)
    total = np.sum(stan.norm(p) * v[:3]) + np.sum(q.real * q.imag) + np.sum(r.real * r.imag * v[:3])
    return total + np.sum(s.real**2) + np.sum(stan.fft(v).imag ** 2)


def of_schur_forms(v):
    a = np.diag(v[:3]) + np.outer(v[3:], v[:3][::-1].copy())
    u, t = stan.complex_schur_decompose(a)
    total = np.sum(np.abs(t) ** 2 * v[:3]) + np.sum(np.abs(u[0]) ** 2 * v[3:])
    return total + stan.complex_schur_decompose_t(a)[1, 1].real + np.abs(stan.complex_schur_decompose_u(a)[2, 0])


@pytest.mark.parametrize(
    ("f", "engine"),
    [
        (of_numbers, "generated"), (of_spectra, "generated"),
        pytest.param(of_numbers, "tape", marks=pytest.mark.long),
        pytest.param(of_schur_forms, "generated", marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_gradients_inside_njit(f, engine):
    value, gradient = contad.value_and_grad(f)(V)
    found, slopes = contad.value_and_grad(njit(f), engine=engine)(V)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-11)


def test_infinite_parts_inside_njit():
    """A product with 1j would make the other part nan."""
    f = njit(lambda x, y: (stan.to_complex(x, y), stan.proj(stan.to_complex(x, y))))
    for x, y in ((1.0, -np.inf), (-np.inf, 2.0), (np.array([1.0, 3.0]), np.array([-np.inf, 4.0]))):
        z = stan.to_complex(x, y)
        for found, expected in zip(f(x, y), (z, stan.proj(z)), strict=True):
            np.testing.assert_array_equal([np.real(found), np.imag(found)], [np.real(expected), np.imag(expected)])


@pytest.mark.parametrize("f", [stan.fft, stan.inv_fft])
def test_a_matrix_is_no_vector_inside_njit(f):
    with pytest.raises(ValueError, match=f"{f.__name__}: . must have one axis"):
        njit(lambda x: f(x))(np.ones((2, 2)))


@pytest.mark.long
def test_a_schur_form_inside_njit_is_right_or_refused():
    rng = np.random.default_rng(3)
    decompose = njit(lambda a: stan.complex_schur_decompose(a))
    for a in (rng.normal(size=(6, 6)), np.eye(3), np.triu(np.ones((4, 4))), np.array([[0.0, 1.0], [-1.0, 0.0]])):
        u, t = decompose(a)
        np.testing.assert_allclose(u @ t @ u.conj().T, a, atol=1e-14)
        np.testing.assert_allclose(np.abs(t), np.abs(stan.complex_schur_decompose_t(a)), atol=1e-13)
    twice = np.kron(np.eye(2), np.eye(4) + np.diag([5.0] * 3, 1))
    q = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    with pytest.raises(ValueError, match="complex_schur_decompose: inside njit no eigenvalues may be too close"):
        decompose(q @ twice @ q.T)
