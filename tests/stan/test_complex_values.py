"""Stan's functions of complex numbers against central differences along both parts, and against dense transforms."""

import numpy as np
import pytest

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
