"""Formulas for the tangents of Fourier transforms, and of functions of complex matrices a + i b: see `matrix_formulas`.

A complex number is a pair of real ones; so are operands, results and their tangents here.
"""

import numpy as np
from numba import njit

from contad.engines.source.tangents.matrix_formulas import mark_near
from contad.kernels import fourier_lines
from contad.variables.open_types import ArrayValue, Real

Array = ArrayValue


# ---- linear transforms -----------------------------------------------------------------------------------------------
def fourier(
    a: Array, b: Array, scale: Real, inverse: bool, real: Array, imag: Array, a_dot: Array, b_dot: Array
) -> tuple[Array, Array]:
    """The same transform."""
    return fourier_lines.fourier(a_dot, b_dot, scale, inverse)


def half_fourier(
    a: Array, scale: Real, inverse: bool, count: int, real: Array, imag: Array, a_dot: Array
) -> tuple[Array, Array]:
    """The same transform."""
    return fourier_lines.half_fourier(a_dot, scale, inverse, count)


def real_fourier(
    a: Array, b: Array, scale: Real, inverse: bool, count: int, z: Array, a_dot: Array, b_dot: Array
) -> Array:
    """The same transform."""
    return fourier_lines.real_fourier(a_dot, b_dot, scale, inverse, count)


def cosines(a: Array, kind: int, norm: int, sine: bool, orthogonal: bool, z: Array, a_dot: Array) -> Array:
    """The same transform."""
    return fourier_lines.cosines(a_dot, kind, norm, sine, orthogonal)


# ---- determinants ----------------------------------------------------------------------------------------------------
@njit
def _relative_change(a: Array, a_dot: Array) -> complex:
    """tr(a^-1 a_dot)"""
    moved = np.linalg.solve(a, a_dot)
    total = 0j
    for i in range(a.shape[0]):
        total += moved[i, i]
    return total


def complex_det(a: Array, b: Array, real: Real, imag: Real, a_dot: Array, b_dot: Array) -> tuple[Real, Real]:
    """z tr(a^-1 a_dot); the products of two rows and columns, which need no inverse, are written out"""
    n = a.shape[0]
    if n == 2:
        z_dot = (a_dot[0, 0] + 1j * b_dot[0, 0]) * (a[1, 1] + 1j * b[1, 1])
        z_dot += (a_dot[1, 1] + 1j * b_dot[1, 1]) * (a[0, 0] + 1j * b[0, 0])
        z_dot -= (a_dot[0, 1] + 1j * b_dot[0, 1]) * (a[1, 0] + 1j * b[1, 0])
        z_dot -= (a_dot[1, 0] + 1j * b_dot[1, 0]) * (a[0, 1] + 1j * b[0, 1])
    else:
        z_dot = (real + 1j * imag) * _relative_change(a + 1j * b, a_dot + 1j * b_dot)
    return z_dot.real, z_dot.imag


def complex_slogdet(
    a: Array, b: Array, real: Real, imag: Real, log: Real, a_dot: Array, b_dot: Array
) -> tuple[Real, Real, Real]:
    """log_dot = Re t, and the phase turns by Im t, t = tr(a^-1 a_dot)"""
    t = _relative_change(a + 1j * b, a_dot + 1j * b_dot)
    return -imag * t.imag, real * t.imag, t.real


# ---- spectra ---------------------------------------------------------------------------------------------------------
@njit
def _turn_back(x: Array, v: Array, place: int, j: int) -> None:
    """Column j of x, the tangent of a vector, without the change of phase of its element that LAPACK makes real."""
    if abs(v[place, j]) > 1e-13:
        angle = (x[place, j] / v[place, j]).imag
        for i in range(v.shape[0]):
            x[i, j] -= 1j * angle * v[i, j]


def complex_eigh(
    a: Array, b: Array, w: Array, real: Array, imag: Array, a_dot: Array, b_dot: Array, again: bool
) -> tuple[Array, Array, Array]:
    """w_dot = diag(c), v_dot = v (f c) up to phases, c = v^H a_dot v, f_ij = 1 / (w_j - w_i)"""
    n = a.shape[0]
    v = real + 1j * imag
    moved = np.zeros((n, n), np.complex128)
    for i in range(n):
        for j in range(i):
            moved[i, j] = a_dot[i, j] + 1j * b_dot[i, j]
            moved[j, i] = a_dot[i, j] - 1j * b_dot[i, j]
        moved[i, i] = a_dot[i, i]
    c = np.conj(v.T) @ (moved @ v)
    values = np.empty(n)
    turned = np.zeros((n, n), np.complex128)
    for i in range(n):
        values[i] = c[i, i].real
        for j in range(n):
            if i != j:
                turned[i, j] = c[i, j] * (1.0 / (w[j] - w[i]))
    x = v @ turned
    for j in range(n):
        _turn_back(x, v, 0, j)
    if again:
        mark_near(values, w)
    return values, x.real, x.imag


def complex_eig(
    a: Array, b: Array, w_real: Array, w_imag: Array, real: Array, imag: Array, a_dot: Array, b_dot: Array, again: bool
) -> tuple[Array, Array, Array, Array]:
    """w_dot = diag(c), v_dot = x - v Re diag(v^H x) up to phases, x = v (f c), c = v^-1 a_dot v"""
    n = a.shape[0]
    v = real + 1j * imag
    w = w_real + 1j * w_imag
    c = np.linalg.solve(v, (a_dot + 1j * b_dot) @ v)
    values = np.zeros(n, np.complex128)
    turned = np.zeros((n, n), np.complex128)
    for i in range(n):
        values[i] = c[i, i]
        for j in range(n):
            if i != j:
                turned[i, j] = c[i, j] / (w[j] - w[i])
    x = v @ turned
    for j in range(n):
        along, place, most = 0.0, 0, -1.0
        for i in range(n):
            along += (v[i, j].conjugate() * x[i, j]).real
            size = (real[i, j] ** 2 + imag[i, j] ** 2) * (4.0 if imag[i, j] == 0.0 else 1.0)
            if size > most:
                most, place = size, i
        for i in range(n):
            x[i, j] -= v[i, j] * along
        _turn_back(x, v, place, j)
    if again:
        mark_near(values, w)
    return values.real, values.imag, x.real, x.imag
