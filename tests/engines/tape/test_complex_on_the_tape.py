"""Complex numbers on the tape: gradients against differences, other modes against the engine `generated`, refusals."""

import cmath

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.tape.building import TapeRecipe
from contad.errors import OutputError, UnsupportedError
from contad.variables.trees import leaves_of
from tests.judges.complex_differences import differences
from tests.judges.written import define, function_of

KNOWN = {"np": np, "cmath": cmath}
Z, W, X = 0.7 - 0.4j, np.array([0.3 + 0.5j, -0.8 + 0.1j, 1.2 - 0.6j]), np.array([0.4, -1.1, 0.9])
TAPE = {"engine": "tape"}
NUMBERS = [
    "abs(z) ** 2", "(z / w[1]).imag", "(z ** 3).imag", "(z ** 2.5).real", "cmath.polar(z)[0]",
    "cmath.rect(x[0], x[1]).imag", "complex(x[0], x[1]).imag", "np.conj(z).imag * x[0]", "(z - 1j * x[0] + x[1]).imag",
    "np.complex128(x[0]).real + z.real", "(z == w[0]) + abs(z) + (z != w[0])", "(x[1] if z else x[0])",
    "abs(np.exp(z) * np.sqrt(w[0]))", "cmath.cosh(z).imag * np.isfinite(z)", "x[0].conjugate() * x[1].imag",
]  # fmt: skip
ARRAYS = [
    "np.sum(np.abs(w) ** 2)", "np.sum((x + 1j * x[::-1]) * w / (w + 3.0)).imag", "np.vdot(w, x * w).real",
    "(np.outer(w, x) @ w)[0].imag", "np.linalg.norm(w * z) * np.mean(w * w).real", "np.prod(w).imag",
    "np.cumsum(w)[1].imag + np.diff(w)[0].real", "np.where(x > 0.0, w, z).sum().imag", "np.angle(w)[2] * w.imag.max()",
    "np.array([z, 1.0, w[0]])[2].imag * x[0]", "np.sum(w[x > 0.0]).imag + np.full(3, z).sum().imag",
    "x.astype(np.complex128)[1].real * z.real", "np.real(w)[1] + np.imag(w)[0] * np.conj(x)[1]",
]  # fmt: skip
STATEMENTS = [
    "u = x + 1j * x; u[0] = z; u.imag[1] = 2.0; v = u.real; v[2] = x[0] * x[0]",
    "a = w.copy(); a[1:] = a[:-1] * z; a[:2] += a[1:] * 1j; a *= z; a[np.array([0, 2])] += z; a.real[1] = x[0]",
    "b = np.zeros((2, 3), np.complex128); b[0] = w; b[1, :2] = z; b[:, 1] *= 1j",
    "s = z; s *= s; s -= 1j; s /= w[0]; t = (s, (w, x))",
]  # fmt: skip
ALL = "np.sum(u * u).imag + np.sum(a * a).real + abs(np.sum(b * b)) + (t[0] * t[1][0][1]).imag + v[1] * t[1][1][0]"


def together(rows):
    """One function that adds multiples of the rows, since each costs seconds to compile."""
    lines = [f"    r{k} = {row}\n" for k, row in enumerate(rows)]
    total = " + ".join(f"{0.3 + 0.37 * k:.2f} * r{k}" for k in range(len(rows)))
    return define(f"def f(z, w, x):\n{''.join(lines)}    return {total}\n", f"<{rows[0]} and more>", KNOWN)["f"]


M = "(np.outer(w, x) + 2j * np.eye(3) * z + np.outer(x, np.conj(w)))"
WHOLE = {
    "numbers": together(NUMBERS), "arrays": together(ARRAYS),
    "statements": function_of("; ".join([*STATEMENTS, ALL]), KNOWN, "f(z, w, x)"),
    "systems": together([
        "np.linalg.solve(np.outer(w, x) + 2j * np.eye(3), w)[1].real",
        "np.linalg.inv(np.outer(w, x) + 2j * np.eye(3))[1, 2].imag",
    ]),
    "determinants": together([f"np.linalg.det({M}).imag", f"np.linalg.eigvalsh({M})[1]"]),
    "decompositions": together([
        f"np.linalg.slogdet({M})[1]", f"abs(np.linalg.eigh({M})[1][0, 1])", f"np.linalg.eigvals({M})[0].imag",
        f"abs(np.linalg.eig({M})[1][1, 0])", f"abs(np.linalg.qr({M}[:, :2])[1][0, 1])",
        f"np.linalg.svd({M}[:, :2], False)[1][1]", f"abs(np.linalg.svd({M})[2][1, 0])",
    ]),
    "pseudoinverses": together([
        f"np.linalg.pinv({M}[:, :2])[1, 2].imag", f"np.linalg.lstsq({M}[:, :2], w)[0][1].imag",
        f"np.linalg.lstsq({M}[:, :2], {M})[0][1, 2].real", f"np.linalg.matrix_power({M}, 5)[1, 2].imag",
        f"np.linalg.matrix_power({M}, -2)[0, 2].real",
        f"np.linalg.cholesky(np.dot(np.conj({M}.T), {M}) + np.eye(3))[2, 1].imag",
    ]),
}  # fmt: skip


LONG = ("systems", "decompositions", "pseudoinverses")


@pytest.mark.parametrize("name", [pytest.param(x, marks=pytest.mark.long) if x in LONG else x for x in WHOLE])
def test_a_gradient_is_that_of_differences(name):
    value, grads = contad.value_and_grad(njit(WHOLE[name]), (0, 1, 2), **TAPE)(Z, W, X)
    assert value == pytest.approx(WHOLE[name](Z, W, X), rel=1e-12)
    for k, bar in enumerate(grads):
        right = differences(WHOLE[name], (Z, W, X), k)
        np.testing.assert_allclose(bar, right, rtol=1e-7, atol=1e-8 * max(1.0, np.max(np.abs(right))))


# ---- other modes -----------------------------------------------------------------------------------------------------
@njit
def waves(w, x):
    return w * w[::-1] * x[0], (w[0] * w[1] * x[1], x * 1j)


def pulled(engine):
    z_bar = W * 1j, (0.3 - 1j, 1j * X)
    return leaves_of(contad.vjp(waves, W, X, engine=engine)[1](z_bar))


def test_a_pullback_is_that_of_generated_source():
    for x, y in zip(pulled("tape"), pulled("generated"), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_a_wrong_conjugate_is_noticed(monkeypatch):
    """The fault: the imaginary part of a cotangent is seeded with the other sign."""
    monkeypatch.setattr(TapeRecipe, "parts", lambda self, text: [f"{text}.real", f"-{text}.imag"])
    pair = contad.vjp(njit(lambda w: w * w), W, engine="tape")[1]
    assert not np.allclose(pair(1j * W)[0], 2.0 * np.conj(W) * 1j * W)


def test_jacobians_have_directions_in_parts():
    f = njit(lambda z, x: z * z * x)
    assert contad.jacobian(f, holomorphic=True, **TAPE)(Z, 0.3) == pytest.approx(0.6 * Z)
    assert contad.jacobian(f, 1, **TAPE)(Z, 0.3) == pytest.approx(Z * Z)


# ---- refusals --------------------------------------------------------------------------------------------------------
def test_what_has_no_derivative_is_refused_by_name():
    with pytest.raises(OutputError, match="returned a complex number; return a real one"):
        contad.grad(njit(lambda z: z * z), **TAPE)(Z)
    for row, what in (
        ("np.linalg.cond(np.outer(w, np.conj(w)))", "no implementation of cond"),
        ("x = x.copy(); x[0] = z; x[0]", "a variable is written where only plain numbers fit"),
    ):
        with pytest.raises(UnsupportedError, match="<row .*: f: .*") as error:
            contad.grad(njit(function_of(row, KNOWN, "f(z, w, x)")), (0, 1, 2), **TAPE)(Z, W, X)
        assert what in str(error.value)
