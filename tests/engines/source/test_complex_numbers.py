"""Numba functions with complex numbers: gradients against differences, twins in pairs of real numbers, refusals."""

import cmath
import math

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from tests.engines.source.plain_text import generate, require_right
from tests.judges.written import function_of

KNOWN = {"np": np, "math": math, "cmath": cmath}
Z, W, X = 0.7 - 0.4j, np.array([0.3 + 0.5j, -0.8 + 0.1j, 1.2 - 0.6j]), np.array([0.4, -1.1, 0.9])
HEAD = "f(z, w, x)"


NUMBERS = [
    "abs(z)", "abs(z) ** 2", "np.abs(z * z) ** 2", "(z * w[0]).real", "(z / w[1]).imag", "((2 - 3j) / z).real",
    "(z ** 3).imag", "(z ** -2).real", "(z ** 0).real + z.imag", "(z ** 2.5).real", "(z ** (1 - 2j)).imag",
    "(2.0 ** z).real", "(z ** x[0]).imag", "np.angle(z)", "cmath.phase(z)", "cmath.polar(z)[0] * cmath.polar(z)[1]",
    "cmath.rect(x[0], x[1]).imag", "complex(x[0], x[1]).imag + complex(z).real", "np.conj(z).imag * x[0]",
    "z.conjugate().imag", "(1j * z).real", "(-z).imag", "(z - 1j * x[0] + x[1]).imag", "np.real(z) * np.imag(z)",
    "np.complex128(x[0]).real + z.real", "x[0].conjugate() * x[1].imag + x[0]", "(z == w[0]) + abs(z) + (z != w[0])",
    "float(z.real) * 2 + (x[1] if z else x[0])", "sum((z, 2j, w[0])).imag", "abs(np.square(z) * np.reciprocal(w[2]))",
    "np.isfinite(z) * z.real + np.isnan(z) + cmath.isinf(z)", "np.add(z, 1j).imag * np.multiply(z, z).real",
    "(lambda u: u * u)(z).imag", "np.hypot(z.real, z.imag) ** 2",
]  # fmt: skip
FUNCTIONS = (
    "exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh",
    "arctanh", "log2",
)  # fmt: skip
ARRAYS = [
    "np.sum(np.abs(w) ** 2)", "np.sum(w * x).imag", "np.vdot(w, x * w).real", "(w @ (w + z)).imag",
    "np.sum(w / x).imag", "np.sum(1.0 / (w + 3.0)).imag", "np.sum(np.exp(-1j * x * 0.3) * w).real",
    "np.sum((x + 1j * x[::-1]) * w).imag", "np.dot(w, x).imag", "np.mean(w * w).real", "np.prod(w).imag",
    "np.linalg.norm(w * z)", "np.cumsum(w)[1].imag * 2", "np.outer(w, np.conj(w))[0, 1].imag",
    "np.where(x > 0.0, w, z).sum().imag", "w.real.sum() * w.imag.max()",
    "np.concatenate((w, 1j * x)).sum().imag + x[0]", "np.abs(w).sum() + np.angle(w)[2]", "w[::-1][0].imag * w.size",
    "(w[1:] * w[:-1]).sum().imag", "np.array([z, 1.0, w[0]])[2].imag * x[0]",
    "np.array([[z, 1j], [w[0], 2]])[1, 0].imag", "np.sum(w[x > 0.0]).imag", "w[np.array([2, 0])][0].imag * z.real",
    "np.sum(w ** 2).imag", "np.sqrt(w).sum().real", "np.linalg.solve(np.outer(w, x) + 2j * np.eye(3), w)[1].real",
    "np.linalg.inv(np.outer(w, x) + 2j * np.eye(3))[1, 2].imag", "(np.outer(w, x) @ w)[0].imag",
    "np.roll(w, 1)[0].imag", "np.full(3, z).sum().imag", "w.astype(np.complex128)[1].imag",
    "x.astype(np.complex128)[1].real * z.real", "np.real(w)[1] + np.imag(w)[0] * np.conj(x)[1]",
    "w.conj()[0].imag + w.T[1].real",
    "(x[:, None] + 1j * x[None, :]).imag.sum() + (x[:, None] + 1j * x[None, :]).real.sum()",
    "np.var(w) + np.std(w * z) + np.argmax(np.abs(w)) * np.sum(w[np.argsort(np.abs(w))] * x).imag",
    "np.full_like(w, z)[1].imag + np.eye(2, dtype=np.complex128)[1, 1].real * x[0]",
    "np.identity(2, dtype=complex)[0, 1].real + abs(z)",
    "np.convolve(w, w[:2])[1].imag + np.correlate(w, x)[0].imag + np.convolve(w, x, 'same')[2].real",
    "np.linspace(z, 2.0, 4)[1].imag + np.trapezoid(w, x).imag + np.trapezoid(w).real + np.cumprod(w)[2].imag",
    "np.append(w, x)[1].imag + np.triu(np.outer(w, w))[0, 1].imag + np.tril(np.outer(w, w), -1)[2, 0].real",
    "np.expm1(z).real + np.log1p(z).imag + np.exp2(w)[0].imag + np.angle(z, True) * 0.1 + np.angle(w, deg=False)[1]",
    "np.sum(w.view(np.float64)[::2] * x) + x[:2].copy().view(np.complex128)[0].imag * x[1]",
    "len([abs(v) for v in w]) * x[0] + np.sum(np.array([abs(v) ** 2 for v in w]))",
    "len(w) * np.zeros_like(w)[0].real + np.ones(2, np.complex128)[0].real * x[0]",
]  # fmt: skip
STATEMENTS = [
    "u = x + 1j * x; u[0] = z; u.imag[1] = 2.0; v = u.real; v[2] = x[0] * x[0]; np.sum(u * u).imag + x.sum()",
    "u = np.conj(w); u[0] = z; v = w.real * 1.0; v[1] = 3.0; t = w.copy().imag; t[0] = x[1]; (w @ u * t[0]).imag",
    "a = (x + 1j * x[::-1]).real; a[0] = 2.0; b = (x + 0j).imag; b[1] = x[0]; np.sum(a * a * b) + x.sum()",
    "w = w.copy(); w[0] *= z; w[1] += 1j * w[0]; w[2] -= w[1]; w[0] /= 2.0 + z; abs(w[0] * w[1] + w[2])",
    "w = w.copy(); w[1:] = w[:-1] * z; w[:2] += w[1:] * 1j; np.sum(w * w).imag",
    "w = w.copy(); w.real[:] = x; w.imag[1] = x[0] * x[1]; w *= z; w.fill(w[1]); np.sum(w * w).real",
    "w = w.copy(); w[:] = w[::-1] * w; w[np.array([0, 2])] += z; w[x > 0.0] = 1j * z; np.sum(w * w).imag",
    "u = np.zeros((2, 3), np.complex128); u[0] = w; u[1, :2] = z; u[:, 1] *= 1j; abs(np.sum(u * u)) + u[0, 0].real",
    "u = np.empty(3, dtype=complex); u[:] = 2.0; u[0] = x[0]; v = u; v[1] = z; abs(u[0] + u[1] * u[2])",
    "u = np.empty_like(w); np.multiply(w, 2j, u); np.add(u, w, out=u); np.exp(0.1 * u, u); np.conj(u, u); u.sum().imag",
    "r = np.empty(3); np.abs(w, r); np.square(w * r, w.copy()).sum().imag + r[0]",
    "a, b, c = w; a, b = b, a * c; (a * z + b).imag",
    "t = (z, (w, x)); abs(t[0] * t[1][0][1]) + t[1][1][0]",
    "s = z; s *= s; s -= 1j; s /= w[0]; s **= 2; s.real",
]  # fmt: skip


@pytest.mark.parametrize("row", [*NUMBERS, *ARRAYS, *STATEMENTS])
def test_a_row(row):
    require_right(njit(function_of(row, KNOWN, HEAD)), (Z, W, X), (0, 1, 2))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("z", [Z, -0.7 - 0.4j, -0.3 + 1.4j, 0.2 + 0.9j])
def test_a_function_of_a_complex_number(name, z):
    row = f"(np.{name}(z) * (1.3 - 0.4j)).real + np.sum(np.{name}(0.5 * w)).imag"
    require_right(njit(function_of(row, KNOWN, HEAD)), (z, W, X), (0, 1))


def test_values_on_cuts_are_those_of_numpy():
    """The sign of a zero says on which side of a cut a number is."""
    for name in ("sqrt", "log", "arcsin", "arctan", "arctanh"):
        f = njit(function_of(f"(np.{name}(z)).real - 2.0 * (np.{name}(z)).imag", KNOWN, HEAD))
        for z in (complex(-4.0, 0.0), complex(-4.0, -0.0), complex(3.0, -0.0), complex(0.0, 2.0), complex(-0.0, 2.0)):
            with np.errstate(all="ignore"):
                value, _ = generate(f, (z, W, X), (0,))(z, W, X)
            assert value == pytest.approx(f.py_func(z, W, X), rel=1e-14), (name, z)


# ---- twins in pairs of real numbers ----------------------------------------------------------------------------------
@njit
def evolve(a, b, angles):
    for k in range(angles.size):
        c, s = math.cos(angles[k]), math.sin(angles[k])
        a, b = c * a - 1j * s * b, c * b - 1j * s * a
        if abs(a) > 0.9:
            a *= np.exp(1j * angles[k])
    return abs(a) ** 2 - 0.3 * (a * b.conjugate()).imag


@njit
def evolve_pairs(p, q, r, t, angles):
    for k in range(angles.size):
        c, s = math.cos(angles[k]), math.sin(angles[k])
        p, q, r, t = c * p + s * t, c * q - s * r, c * r + s * q, c * t - s * p
        if math.hypot(p, q) > 0.9:
            u, v = math.cos(angles[k]), math.sin(angles[k])
            p, q = p * u - q * v, p * v + q * u
    return p * p + q * q - 0.3 * (q * r - p * t)


@njit
def escape(c):
    z, n = 0j, 0
    while n < 50:
        z = z * z + c
        n += 1
        if abs(z) > 20.0:
            break
    return n + 1.0 - math.log(math.log(abs(z))) / math.log(2.0)


@njit
def escape_pairs(x, y):
    a, b, n = 0.0, 0.0, 0
    while n < 50:
        a, b = a * a - b * b + x, 2.0 * a * b + y
        n += 1
        if math.hypot(a, b) > 20.0:
            break
    return n + 1.0 - math.log(math.log(math.hypot(a, b))) / math.log(2.0)


def test_a_state_is_a_pair_of_real_numbers():
    a, b, angles = 0.6 + 0.3j, -0.2 + 0.7j, np.linspace(0.1, 2.0, 9)
    value, found = generate(evolve, (a, b, angles), (0, 1, 2))(a, b, angles)
    parts = a.real, a.imag, b.real, b.imag, angles
    expected, pairs = generate(evolve_pairs, parts, (0, 1, 2, 3, 4))(*parts)
    assert value == pytest.approx(expected, rel=1e-13)
    right = complex(pairs[0], pairs[1]), complex(pairs[2], pairs[3])
    np.testing.assert_allclose(found[:2], right, rtol=1e-12)
    np.testing.assert_allclose(found[2], pairs[4], rtol=1e-12, atol=1e-14)


def test_an_escape_is_that_of_pairs():
    c = 0.5 + 0.6j
    value, (found,) = generate(escape, (c,), (0,))(c)
    expected, pairs = generate(escape_pairs, (c.real, c.imag), (0, 1))(c.real, c.imag)
    assert (value, found) == (pytest.approx(expected, rel=1e-13), pytest.approx(complex(*pairs), rel=1e-12))


# ---- promotion -------------------------------------------------------------------------------------------------------
@njit
def promoted(x, flag):
    total = 0.0
    first = 1
    for k in range(x.size):
        total += x[k] * np.exp(1j * x[k])
        if k == 1:
            first = total * 2.0
    z = x[0] if flag else 1j * x[1]
    if x[0] > 0.0:  # noqa: SIM108  (a branch)
        y = x[0]
    else:
        y = x[1] * 1j
    return abs(total * z) + abs(first - y)


@pytest.mark.parametrize("flag", [True, False])
def test_a_real_number_becomes_complex_where_it_meets_one(flag):
    require_right(promoted, (X, flag), (0,))


# ---- refusals --------------------------------------------------------------------------------------------------------
REFUSED = {
    "z": "it returns a complex number; return a real one, such as np.abs(z) or z.real, or ask for contad.vjp",
    "z < w[0]": "the comparison 'z < w[0]' of complex numbers; compare their real parts or moduli",
    "max(z, 1.0)": "of complex numbers; give real numbers",
    "z // 2": "the operator FloorDiv on complex numbers; give real numbers",
    "np.vander(w)[0, 0].real": "the call of 'vander' with complex numbers",
    "[v * z for v in w][0].real": "of what is no number",
    "u = w.copy(); v = u.view(np.float64); v[0] = 2.0; u[0].real": "may be another one or a copy of it",
    "np.sort(w)[0].real": "the call of 'sort' with complex numbers",
    "r = [z]; r.append(z); abs(r[0])": "the complex number 'z' where a real one is needed",
    "x = x.copy(); x[0] = z; x[0]": "",
    "np.array(w, np.float64)[0]": "drops imaginary parts; take .real",
}


@pytest.mark.parametrize("row", REFUSED)
def test_a_refusal_names_what_and_where(row):
    f = njit(function_of(row, KNOWN, HEAD))
    with pytest.raises(UnsupportedError, match="<row .*: f: ") as error:
        generate(f, (Z, W, X), (0, 1))
    assert REFUSED[row] in str(error.value)


def test_extreme_divisors_are_left_to_another_engine():
    f = njit(function_of("(1.0 / (z * 1e-200)).real", KNOWN, HEAD))
    with pytest.raises(contad.errors.EngineLimitError, match="extremely large or small"):
        generate(f, (Z, W, X), (0,))(Z, W, X)
    with pytest.raises(ZeroDivisionError, match="complex division by zero"):
        generate(f, (0j, W, X), (0,))(0j, W, X)
