"""Fourier transforms in Numba functions: SciPy's values, gradients against differences, second orders, refusals."""

import numpy as np
import pytest
from numba import njit

import contad
import contad.scipy.fft as transforms
from contad.errors import UnsupportedError
from contad.kernels.rows import fourier_rows
from tests.engines.source.plain_text import generate, numbers, require_lanes, require_right
from tests.judges.written import function_of

KNOWN = {"np": np, **{name: getattr(transforms, name) for name in transforms.__all__}}
RNG = np.random.default_rng(8)
Z, A = (RNG.normal(size=n) + 1j * RNG.normal(size=n) for n in (5, (2, 4)))
X = RNG.normal(size=6)
HEAD = "f(z, a, x)"


def loss(*calls):
    """A row whose value depends on all parts of the results."""
    terms = [f"np.sum(({call}).real ** 2) + np.sum(({call}).imag * 0.3) + np.sum(({call}).imag ** 3)" for call in calls]
    return " + ".join(terms)


ROWS = [
    loss("fft(z * z)", "ifft(z, norm='ortho')", "fft(x)"),
    loss("fft(z, 3)", "fft(z, 8)", "ifft(z, n=4, norm='forward')"),
    loss("rfft(x * x)", "rfft(x, 5)", "ihfft(x, norm='ortho')", "rfft(x, 9, norm='forward')"),
    "np.sum(irfft(z) ** 2) + np.sum(irfft(z, 5) ** 3) + np.sum(hfft(z, 12, norm='ortho') * np.arange(12.0))",
    loss("fft(a, axis=0)", "ifft(a, 3, 1)", "fft2(a)", "ifft2(a, (3, 3), (1, 0))", "fftn(a, norm='ortho')"),
    "np.sum(irfft2(rfft2(a.real, norm='ortho') * 1j, (3, 5)) ** 2) + np.sum(irfftn(a, axes=(1, 0)) ** 2)",
    "np.sum(dct(x * x) ** 2) + np.sum(idct(x, 3, norm='ortho') ** 3) + np.sum(dst(x, 1) * x) + dct(x, 2, 9)[3]",
    "np.sum(idst(a.real, type=4, axis=0) ** 2) + np.sum(dct(x, orthogonalize=True) ** 3)",
    loss("fftshift(z)", "ifftshift(z) * z", "fftshift(a)", "ifftshift(a, 1) * a") + " + np.sum(fftshift(x) * x)",
    loss("fft(a.reshape(2, 2, 2), axis=0)", "fftn(a.reshape(2, 1, 4))"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_a_row(row):
    require_right(njit(function_of(row, KNOWN, HEAD)), (Z, A, X), (0, 1, 2))


def test_a_wrong_weight_is_noticed(monkeypatch):
    """Of the elements of a half spectrum that stand for two."""
    monkeypatch.setattr(fourier_rows, "weights_of", lambda n, weight: np.ones(n // 2 + 1))
    for row in (ROWS[2], ROWS[3]):
        with pytest.raises(AssertionError):
            test_a_row(row)


def spread(v, x):
    psi = np.exp(1j * v)
    for _ in range(2):
        psi = transforms.ifft(x[:5] * transforms.fft(psi) + 0.1 * psi)
    return np.sum(np.abs(psi) ** 2 * v) + np.sum(transforms.irfft(transforms.rfft(v * v), 5) ** 2)


def test_second_orders_and_lanes():
    f, args = njit(spread), (X[:5].copy(), X)
    run, gradient = generate(f, args, (0,), "hvp"), generate(f, args, (0,))
    w, h = np.array([0.3, -1.0, 0.2, 0.5, 0.7]), 1e-5
    one, other = (gradient(args[0] + s * w, X)[1][0] for s in (h, -h))
    np.testing.assert_allclose(numbers(run(args, (w,)))[-5:], (one - other) / (2.0 * h), rtol=1e-6, atol=1e-7)
    require_lanes(f, args, (0,), "hvp", [(w,), (w[::-1].copy(),)])


@njit
def spectral_loss(x):
    return np.sum(np.abs(transforms.rfft(x)) ** 4) + transforms.dct(x)[1] ** 2


def test_compiled_code_calls_python_for_the_transforms():
    value, gradient = contad.value_and_grad(spectral_loss, engine="generated")(X)
    right = contad.value_and_grad(spectral_loss.py_func)(X)
    assert value == pytest.approx(right[0], rel=1e-12)
    np.testing.assert_allclose(gradient, right[1], rtol=1e-11, atol=1e-12)


REFUSED = {
    "fft(z, norm='other')[0].real": "the norm in \"fft(z, norm='other')\"", "rfft(z)[0].real": "of complex numbers",
    "fftn(a, axes=(0, 0))[0, 0].real": "the axes in", "dct(z)[0].real": "give a real array, and constants",
}  # fmt: skip


@pytest.mark.parametrize("row", REFUSED)
def test_a_refusal_says_what(row):
    with pytest.raises(UnsupportedError) as error:
        generate(njit(function_of(row, KNOWN, HEAD)), (Z, A, X), (0, 1))
    assert REFUSED[row] in str(error.value)


def test_no_points_are_an_error():
    f = njit(function_of("fft(z, 0)[0].real", KNOWN, HEAD))
    with pytest.raises(ValueError, match="number of data points"):
        generate(f, (Z, A, X), (0,))(Z, A, X)
