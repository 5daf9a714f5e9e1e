"""Kernels of Fourier transforms and of transforms by cosines and sines, along rows: `row_tables` specifies them.

The rules are those of `contad.ops.fourier_transforms` and `real_transforms`. `scale` is the factor of the transform.
"""

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.kernels.fourier_lines import complete_rows, cosines, cosines_back, halve_rows, transform_rows
from contad.ops.fourier_transforms import half_weights

weights_of = in_machine_code(half_weights)


# ---- parts -----------------------------------------------------------------------------------------------------------
@in_machine_code
def _join(x, y, sign):  # type: ignore[no-untyped-def]
    """x + i y, or x - i y."""
    z = np.empty(x.shape, np.complex128)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            z[i, j] = complex(x[i, j], sign * y[i, j])
    return z


@in_machine_code
def _write(z, scale, sign, real, imag):  # type: ignore[no-untyped-def]
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            real[i, j] = scale * z[i, j].real
            imag[i, j] = sign * scale * z[i, j].imag


@in_machine_code
def _add(x, scale, x_bar):  # type: ignore[no-untyped-def]
    if x_bar.size != 0:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x_bar[i, j] += scale * x[i, j]


# ---- Fourier transforms ----------------------------------------------------------------------------------------------
@in_machine_code
def fourier_value(a, b, scale, inverse, real, imag):  # type: ignore[no-untyped-def]
    """The transform of a + i b."""
    _write(transform_rows(_join(a, b, 1.0), inverse), scale[0, 0], 1.0, real, imag)


@in_machine_code
def fourier_adjoint(real_bar, imag_bar, scale, inverse, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """The transform in the opposite direction, with the same factor."""
    found = transform_rows(_join(real_bar, imag_bar, 1.0), not inverse)
    _add(found.real, scale[0, 0], a_bar)
    _add(found.imag, scale[0, 0], b_bar)


@in_machine_code
def half_fourier_value(a, scale, inverse, real, imag):  # type: ignore[no-untyped-def]
    """The elements k <= N / 2 of the transform of real rows."""
    _write(halve_rows(a), scale[0, 0], -1.0 if inverse else 1.0, real, imag)


@in_machine_code
def half_fourier_adjoint(real_bar, imag_bar, scale, inverse, count, a_bar):  # type: ignore[no-untyped-def]
    """The transform back to real rows, of half of the elements that stand for two"""
    n = a_bar.shape[1]
    halves = weights_of(n, 0.5) * _join(real_bar, imag_bar, -1.0 if inverse else 1.0)
    _add(complete_rows(halves, n), scale[0, 0], a_bar)


@in_machine_code
def real_fourier_value(a, b, scale, inverse, count, z):  # type: ignore[no-untyped-def]
    """The real rows of `count` elements whose half spectrum is a + i b."""
    found = complete_rows(_join(a, b, 1.0 if inverse else -1.0), count)
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] = scale[0, 0] * found[i, j]


@in_machine_code
def real_fourier_adjoint(z_bar, scale, inverse, count, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """The half spectrum, with twice the elements that stand for two"""
    doubled = weights_of(count, 2.0) * halve_rows(z_bar)
    _add(doubled.real, scale[0, 0], a_bar)
    _add(doubled.imag, scale[0, 0] if inverse else -scale[0, 0], b_bar)


# ---- cosines and sines -----------------------------------------------------------------------------------------------
@in_machine_code
def cosines_value(a, kind, norm, sine, orthogonal, z):  # type: ignore[no-untyped-def]
    """The transform by cosines or sines."""
    z[...] = cosines(a, kind, norm, sine, orthogonal)


@in_machine_code
def cosines_adjoint(z_bar, kind, norm, sine, orthogonal, a_bar):  # type: ignore[no-untyped-def]
    """The transform of the transposed kind, weighted"""
    _add(cosines_back(z_bar, kind, norm, sine, orthogonal), 1.0, a_bar)
