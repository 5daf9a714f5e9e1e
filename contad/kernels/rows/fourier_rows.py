"""Kernels of Fourier transforms and of transforms by cosines and sines, along rows: `row_tables` specifies them.

The rules are those of `contad.ops.fourier_transforms` and `real_transforms`. `scale` is the factor of the transform.
"""

from contad.compile.overloads import in_machine_code
from contad.kernels.complex_arrays import add_rows, join_rows, write_parts
from contad.kernels.fourier_lines import complete_rows, cosines, cosines_back, halve_rows, transform_rows
from contad.ops.fourier_transforms import half_weights

weights_of = in_machine_code(half_weights)


# ---- Fourier transforms ----------------------------------------------------------------------------------------------
@in_machine_code
def fourier_value(a, b, scale, inverse, real, imag):  # type: ignore[no-untyped-def]
    """The transform of a + i b."""
    write_parts(transform_rows(join_rows(a, b, 1.0), inverse), scale[0, 0], 1.0, real, imag)


@in_machine_code
def fourier_adjoint(real_bar, imag_bar, scale, inverse, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """The transform in the opposite direction, with the same factor."""
    found = transform_rows(join_rows(real_bar, imag_bar, 1.0), not inverse)
    add_rows(found.real, scale[0, 0], a_bar)
    add_rows(found.imag, scale[0, 0], b_bar)


@in_machine_code
def half_fourier_value(a, scale, inverse, real, imag):  # type: ignore[no-untyped-def]
    """The elements k <= N / 2 of the transform of real rows."""
    write_parts(halve_rows(a), scale[0, 0], -1.0 if inverse else 1.0, real, imag)


@in_machine_code
def half_fourier_adjoint(real_bar, imag_bar, scale, inverse, count, a_bar):  # type: ignore[no-untyped-def]
    """The transform back to real rows, of half of the elements that stand for two"""
    n = a_bar.shape[1]
    halves = weights_of(n, 0.5) * join_rows(real_bar, imag_bar, -1.0 if inverse else 1.0)
    add_rows(complete_rows(halves, n), scale[0, 0], a_bar)


@in_machine_code
def real_fourier_value(a, b, scale, inverse, count, z):  # type: ignore[no-untyped-def]
    """The real rows of `count` elements whose half spectrum is a + i b."""
    found = complete_rows(join_rows(a, b, 1.0 if inverse else -1.0), count)
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] = scale[0, 0] * found[i, j]


@in_machine_code
def real_fourier_adjoint(z_bar, scale, inverse, count, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """The half spectrum, with twice the elements that stand for two"""
    doubled = weights_of(count, 2.0) * halve_rows(z_bar)
    add_rows(doubled.real, scale[0, 0], a_bar)
    add_rows(doubled.imag, scale[0, 0] if inverse else -scale[0, 0], b_bar)


# ---- cosines and sines -----------------------------------------------------------------------------------------------
@in_machine_code
def cosines_value(a, kind, norm, sine, orthogonal, z):  # type: ignore[no-untyped-def]
    """The transform by cosines or sines."""
    z[...] = cosines(a, kind, norm, sine, orthogonal)


@in_machine_code
def cosines_adjoint(z_bar, kind, norm, sine, orthogonal, a_bar):  # type: ignore[no-untyped-def]
    """The transform of the transposed kind, weighted"""
    add_rows(cosines_back(z_bar, kind, norm, sine, orthogonal), 1.0, a_bar)
