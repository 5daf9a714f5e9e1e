"""Linear algebra of complex matrices in Numba functions: gradients against differences, second orders, refusals."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from contad.kernels.rows import complex_rows
from tests.engines.source.plain_text import generate, numbers, require_lanes, require_right
from tests.judges.complex_differences import differences
from tests.judges.written import function_of

RNG = np.random.default_rng(0)
A, B, C, V = (RNG.normal(size=n) + 1j * RNG.normal(size=n) for n in ((3, 3), (4, 3), (2, 4), 3))
KNOWN, HEAD = {"np": np}, "f(a, b, c, v)"
ROWS = [
    "np.linalg.det(a).imag * v[0].real + np.linalg.det(a[:1, :1]).imag",
    "abs(np.linalg.slogdet(a)[0] - 1j) + np.linalg.slogdet(a)[1]",
    "np.linalg.eigvalsh(a + a.conj().T)[1]", "np.linalg.eigvals(a)[1].imag",
    "w, u = np.linalg.eigh(a + a.conj().T); np.sum(w * np.abs(u[0]) ** 2) * w[0] + u[1, 2].imag + u[2, 0].real",
    "w, u = np.linalg.eig(a); abs(u[0, 1]) * w[0].real + u[1, 1].imag + u[2, 0].real",
    "u, s, t = np.linalg.svd(b, False); s[0] * s[1] + abs(u[0, 1] * t[1, 0]) + u[2, 0].imag",
    "u, s, t = np.linalg.svd(c, False); s[1] + abs(u[0, 1] * t[1, 0]) + np.linalg.svd(a, True)[1][2]",
    "q, r = np.linalg.qr(b); abs(r[0, 1]) ** 2 + q[1, 2].imag * r[2, 2].real",
    "q, r = np.linalg.qr(c); abs(r[0, 3]) ** 2 + q[1, 1].imag", "np.linalg.pinv(b)[1, 2].imag",
    "np.linalg.pinv(c, 1e-14)[1, 0].imag",
    "x, squares, rank, s = np.linalg.lstsq(b, c[0]); x[1].imag + squares[0] + s[1] + rank",
    "z = np.linalg.cholesky(a @ a.conj().T + np.eye(3)); z[2, 1].imag + z[1, 1].real * abs(z[2, 0])",
    "np.linalg.norm(a) + np.linalg.norm(v, 1) + np.linalg.norm(a, 2)",
    "np.linalg.norm(v, np.inf) + np.linalg.norm(a, 1)",
    "np.linalg.matrix_power(a, 3)[0, 1].imag + np.linalg.matrix_power(a, -2)[0, 1].imag",
    "np.kron(a, b)[4, 5].imag + np.kron(v, v)[3].imag + np.trace(a).imag",
    "np.roots(v)[0].imag + np.roots(c[0])[1].imag",
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_a_row(row):
    require_right(njit(function_of(row, KNOWN, HEAD)), (A, B, C, V), (0, 1, 2, 3))


@pytest.mark.parametrize("name", ["det", "eigh", "svd"])
def test_a_cotangent_without_its_conjugate_is_noticed(name, monkeypatch):
    pull = getattr(complex_rows, f"pull_{name}")
    monkeypatch.setattr(complex_rows, f"pull_{name}", lambda *given: np.conj(pull(*given)))
    with pytest.raises(AssertionError):
        test_a_row(next(row for row in ROWS if f"linalg.{name}(" in row))


SECOND = {
    "det": "b = a * x[0] + 1j * a.T * x[1]; np.linalg.det(b).imag + abs(np.linalg.det(b[:2, :2].copy())) ** 2",
    "slogdet": "s, z = np.linalg.slogdet(a * x[0] + 1j * a.T * x[1]); (s * s).imag + z * z",
    "eigh": "b = a * x[0] + a * a * x[1]; w, v = np.linalg.eigh(b + b.conj().T); "
            "np.sum(w ** 3) * w[0] + abs(v[0, 1] * v[2, 1]) ** 2 * x[0] + (v[1, 2] * v[2, 0]).imag",
    "eig": "w, v = np.linalg.eig(a * x[0] + a * a * x[1]); "
           "abs(w[0] * w[1]) ** 2 + abs(v[0, 1] * v[2, 1]) ** 2 * x[0] + (v[1, 2] * v[2, 0]).imag",
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_orders_and_lanes(name):
    f, args = njit(function_of(SECOND[name], KNOWN, "f(a, x)")), (A, np.array([0.7, -0.4]))
    run, gradient = generate(f, args, (1,), "hvp"), generate(f, args, (1,))
    w, h = np.array([0.3, -1.0]), 1e-5
    one, other = (gradient(A, args[1] + s * w)[1][0] for s in (h, -h))
    np.testing.assert_allclose(numbers(run(args, (w,)))[-2:], (one - other) / (2.0 * h), rtol=1e-6)
    require_lanes(f, args, (1,), "hvp", [(w,), (w[::-1].copy(),)], tolerance=1e-9)


@njit
def of_spectrum(a):
    w, v = np.linalg.eigh(a @ a.conj().T)
    return np.log(w[0]) + abs(v[0, 1]) ** 2 + np.linalg.det(a).real


def test_compiled_code_calls_python_for_adjoints():
    value, gradient = contad.value_and_grad(of_spectrum, engine="generated")(A)
    assert value == pytest.approx(of_spectrum(A), rel=1e-12)
    np.testing.assert_allclose(gradient, differences(of_spectrum.py_func, (A,), 0), rtol=1e-8, atol=1e-9)


REFUSED = {
    "np.linalg.svd(b)[1][0]": "pass full_matrices=False", "np.linalg.matrix_power(a, 0)[0, 0].real": "that is not 0",
    "np.linalg.det(v).real": "something that is no matrix", "np.kron(a, v)[0, 0].real": "the same number of axes",
}  # fmt: skip


@pytest.mark.parametrize("row", REFUSED)
def test_a_refusal_says_what(row):
    with pytest.raises(UnsupportedError) as error:
        generate(njit(function_of(row, KNOWN, HEAD)), (A, B, C, V), (0, 1))
    assert REFUSED[row] in str(error.value)


def test_tangents_of_singular_vectors_are_refused_by_name():
    f = njit(function_of("np.linalg.svd(a, False)[1][0]", KNOWN, HEAD))
    with pytest.raises(UnsupportedError, match=r"np\.linalg\.svd of a complex matrix: it has no tangents"):
        generate(f, (A, B, C, V), (0,), "hvp")
