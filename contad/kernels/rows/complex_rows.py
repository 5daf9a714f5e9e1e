"""Kernels of determinants and decompositions of complex matrices a + i b: `row_tables` specifies them."""

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.kernels.complex_arrays import add_rows, join_rows, write_parts
from contad.kernels.complex_matrices import pull_det, pull_eig, pull_eigh, pull_qr, pull_slogdet, pull_svd
from contad.kernels.matrix_loops import write_vector


@in_machine_code
def _join(x, y):  # type: ignore[no-untyped-def]
    return join_rows(x, y, 1.0)


@in_machine_code
def _add(found, a_bar, b_bar):  # type: ignore[no-untyped-def]
    add_rows(found.real, 1.0, a_bar)
    add_rows(found.imag, 1.0, b_bar)


@in_machine_code
def _number(x, y):  # type: ignore[no-untyped-def]
    return complex(x[0, 0], y[0, 0])


@in_machine_code
def _vector(x, y):  # type: ignore[no-untyped-def]
    made = np.empty(x.size, np.complex128)
    for i in range(x.size):
        made[i] = complex(x[i], y[i])
    return made


# ---- determinants ----------------------------------------------------------------------------------------------------
@in_machine_code
def complex_det_value(a, b, real, imag):  # type: ignore[no-untyped-def]
    """The determinant."""
    z = np.linalg.det(_join(a, b))
    real[0, 0], imag[0, 0] = z.real, z.imag


@in_machine_code
def complex_det_adjoint(real_bar, imag_bar, real, imag, a, b, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """By `pull_det`."""
    _add(pull_det(_number(real_bar, imag_bar), _number(real, imag), _join(a, b)), a_bar, b_bar)


@in_machine_code
def complex_slogdet_value(a, b, real, imag, log):  # type: ignore[no-untyped-def]
    """Its phase, and the logarithm of its magnitude."""
    sign, size = np.linalg.slogdet(_join(a, b))
    real[0, 0], imag[0, 0], log[0, 0] = sign.real, sign.imag, size


@in_machine_code
def complex_slogdet_adjoint(  # type: ignore[no-untyped-def]
    real_bar, imag_bar, log_bar, real, imag, log, a, b, a_bar, b_bar
):
    """By `pull_slogdet`."""
    bar, sign = _number(real_bar, imag_bar), _number(real, imag)
    _add(pull_slogdet(bar, log_bar[0, 0], sign, log[0, 0], _join(a, b)), a_bar, b_bar)


# ---- spectra ---------------------------------------------------------------------------------------------------------
@in_machine_code
def complex_eigh_value(a, b, w, real, imag):  # type: ignore[no-untyped-def]
    """Those of the lower triangle."""
    values, vectors = np.linalg.eigh(_join(a, b))
    write_vector(w, values)
    write_parts(vectors, 1.0, 1.0, real, imag)


@in_machine_code
def complex_eigh_adjoint(w_bar, real_bar, imag_bar, w, real, imag, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """By `pull_eigh`."""
    _add(pull_eigh(w_bar, _join(real_bar, imag_bar), w, _join(real, imag)), a_bar, b_bar)


@in_machine_code
def complex_eig_value(a, b, w_real, w_imag, real, imag):  # type: ignore[no-untyped-def]
    """Eigenvalues and eigenvectors."""
    values, vectors = np.linalg.eig(_join(a, b))
    for i in range(values.size):
        w_real[i], w_imag[i] = values[i].real, values[i].imag
    write_parts(vectors, 1.0, 1.0, real, imag)


@in_machine_code
def complex_eig_adjoint(  # type: ignore[no-untyped-def]
    w_real_bar, w_imag_bar, real_bar, imag_bar, w_real, w_imag, real, imag, a_bar, b_bar
):
    """By `pull_eig`."""
    bar, w = _vector(w_real_bar, w_imag_bar), _vector(w_real, w_imag)
    _add(pull_eig(bar, _join(real_bar, imag_bar), w, _join(real, imag)), a_bar, b_bar)


# ---- factors ---------------------------------------------------------------------------------------------------------
@in_machine_code
def complex_svd_value(a, b, u_real, u_imag, s, real, imag):  # type: ignore[no-untyped-def]
    """Reduced to the shorter side."""
    u, values, vh = np.linalg.svd(_join(a, b), False)
    write_parts(u, 1.0, 1.0, u_real, u_imag)
    write_vector(s, values)
    write_parts(vh, 1.0, 1.0, real, imag)


@in_machine_code
def complex_svd_adjoint(  # type: ignore[no-untyped-def]
    u_real_bar, u_imag_bar, s_bar, real_bar, imag_bar, u_real, u_imag, s, real, imag, a_bar, b_bar
):
    """By `pull_svd`."""
    u_bar, vh_bar = _join(u_real_bar, u_imag_bar), _join(real_bar, imag_bar)
    _add(pull_svd(u_bar, s_bar, vh_bar, _join(u_real, u_imag), s, _join(real, imag)), a_bar, b_bar)


@in_machine_code
def complex_qr_value(a, b, q_real, q_imag, real, imag):  # type: ignore[no-untyped-def]
    """Reduced to the shorter side."""
    q, r = np.linalg.qr(_join(a, b))
    write_parts(q, 1.0, 1.0, q_real, q_imag)
    write_parts(r, 1.0, 1.0, real, imag)


@in_machine_code
def complex_qr_adjoint(  # type: ignore[no-untyped-def]
    q_real_bar, q_imag_bar, real_bar, imag_bar, q_real, q_imag, real, imag, a, b, a_bar, b_bar
):
    """By `pull_qr`."""
    q_bar, r_bar = _join(q_real_bar, q_imag_bar), _join(real_bar, imag_bar)
    _add(pull_qr(q_bar, r_bar, _join(q_real, q_imag), _join(real, imag), _join(a, b)), a_bar, b_bar)
