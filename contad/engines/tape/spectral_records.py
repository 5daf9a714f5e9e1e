"""Decompositions of a matrix, and least squares, on variables and on duals: their kernels, as in `linear_records`."""

import numpy as np

from contad.engines.tape.block_records import (
    TANGENT,
    VALUE,
    add_to_operand,
    read_block,
    read_elements,
    sizes_of,
    take_adjoints,
    write_elements,
)
from contad.engines.tape.linear_records import columns, operand, operation
from contad.native.arena import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.matrix_loops import in_order, take_block
from contad.native.spectral_kernels import (
    add_eig,
    add_eigh,
    add_lstsq,
    add_pinv,
    add_qr,
    add_svd,
    eig_tangent,
    eigh_tangent,
    find_real_spectrum,
    lstsq_tangent,
    pinv_tangent,
    qr_tangent,
    reduced_svd,
    svd_tangent,
)


# ---- symmetric matrices ----------------------------------------------------------------------------------------------
def calculate_eigh(header, block):  # type: ignore[no-untyped-def]
    """The eigenvalues, then the vectors."""
    w, v = np.linalg.eigh(operand(header, block, VALUE))
    write_elements(header, write_elements(header, read_block(header, block)[2], w, VALUE), v, VALUE)


def pull_eigh(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    w, v = read_elements(header, of_z, n, VALUE), read_elements(header, of_z + n, (n, n), VALUE)
    a_bar, w_bar = np.zeros((n, n)), take_adjoints(header, of_z, n)
    add_eigh(w_bar, take_adjoints(header, of_z + n, (n, n)), w, v, a_bar)
    add_to_operand(header, first, a_bar)


def push_eigh(header, block):  # type: ignore[no-untyped-def]
    """The values and their tangents."""
    of_z = read_block(header, block)[2]
    w, v = np.linalg.eigh(operand(header, block, VALUE))
    w_dot, v_dot = eigh_tangent(w, in_order(v), operand(header, block, TANGENT))
    write_elements(header, write_elements(header, of_z, w, VALUE), v, VALUE)
    write_elements(header, write_elements(header, of_z, w_dot, TANGENT), v_dot, TANGENT)


eigh = operation(calculate_eigh, pull_eigh, push_eigh)


def calculate_eigvalsh(header, block):  # type: ignore[no-untyped-def]
    """The eigenvalues."""
    write_elements(header, read_block(header, block)[2], np.linalg.eigvalsh(operand(header, block, VALUE)), VALUE)


def pull_eigvalsh(header, block):  # type: ignore[no-untyped-def]
    """The adjoint, with vectors that the value does without."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    w, v = np.linalg.eigh(operand(header, block, VALUE))
    a_bar = np.zeros((n, n))
    add_eigh(take_adjoints(header, of_z, n), np.zeros((n, n)), w, in_order(v), a_bar)
    add_to_operand(header, first, a_bar)


def push_eigvalsh(header, block):  # type: ignore[no-untyped-def]
    """The values and their tangents."""
    of_z, a = read_block(header, block)[2], operand(header, block, VALUE)
    write_elements(header, of_z, np.linalg.eigvalsh(a), VALUE)
    w, v = np.linalg.eigh(a)
    v = in_order(v)
    a_dot = operand(header, block, TANGENT)
    write_elements(header, of_z, eigh_tangent(w, v, a_dot)[0], TANGENT)


eigvalsh = operation(calculate_eigvalsh, pull_eigvalsh, push_eigvalsh)


# ---- general matrices ------------------------------------------------------------------------------------------------
def calculate_eig(header, block):  # type: ignore[no-untyped-def]
    """The eigenvalues, then the vectors."""
    w, v = find_real_spectrum(operand(header, block, VALUE), False)
    write_elements(header, write_elements(header, read_block(header, block)[2], w, VALUE), v, VALUE)


def pull_eig(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    w, v = read_elements(header, of_z, n, VALUE), read_elements(header, of_z + n, (n, n), VALUE)
    a_bar, w_bar = np.zeros((n, n)), take_adjoints(header, of_z, n)
    add_eig(w_bar, take_adjoints(header, of_z + n, (n, n)), w, v, a_bar)
    add_to_operand(header, first, a_bar)


def push_eig(header, block):  # type: ignore[no-untyped-def]
    """The values and their tangents."""
    of_z = read_block(header, block)[2]
    w, v = find_real_spectrum(operand(header, block, VALUE), False)
    w_dot, v_dot = eig_tangent(w, v, operand(header, block, TANGENT))
    write_elements(header, write_elements(header, of_z, w, VALUE), v, VALUE)
    write_elements(header, write_elements(header, of_z, w_dot, TANGENT), v_dot, TANGENT)


eig = operation(calculate_eig, pull_eig, push_eig)


# ---- singular values -------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def _write_svd(header, of_z, u, s, vt, place):  # type: ignore[no-untyped-def]
    write_elements(
        header, write_elements(header, write_elements(header, of_z, u, place), s, place), vt, place
    )


def calculate_svd(header, block):  # type: ignore[no-untyped-def]
    """u, s and v^T of the shorter side."""
    u, s, vt = reduced_svd(operand(header, block, VALUE))
    _write_svd(header, read_block(header, block)[2], u, s, vt, VALUE)


def pull_svd(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    m, n, _, _ = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    k = min(m, n)
    of_s = of_z + m * k
    u, s = read_elements(header, of_z, (m, k), VALUE), read_elements(header, of_s, k, VALUE)
    vt = read_elements(header, of_s + k, (k, n), VALUE)
    u_bar, s_bar = take_adjoints(header, of_z, (m, k)), take_adjoints(header, of_s, k)
    a_bar = np.zeros((m, n))
    add_svd(u_bar, s_bar, take_adjoints(header, of_s + k, (k, n)), u, s, vt, a_bar)
    add_to_operand(header, first, a_bar)


def push_svd(header, block):  # type: ignore[no-untyped-def]
    """The values and their tangents."""
    of_z = read_block(header, block)[2]
    u, s, vt = reduced_svd(operand(header, block, VALUE))
    u_dot, s_dot, vt_dot = svd_tangent(u, s, vt, operand(header, block, TANGENT))
    _write_svd(header, of_z, u, s, vt, VALUE)
    _write_svd(header, of_z, u_dot, s_dot, vt_dot, TANGENT)


svd = operation(calculate_svd, pull_svd, push_svd)


# ---- QR factors ------------------------------------------------------------------------------------------------------
def calculate_qr(header, block):  # type: ignore[no-untyped-def]
    """q, then r."""
    q, r = np.linalg.qr(operand(header, block, VALUE))
    write_elements(header, write_elements(header, read_block(header, block)[2], q, VALUE), r, VALUE)


def pull_qr(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    m, n, _, _ = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    k = min(m, n)
    q, r = read_elements(header, of_z, (m, k), VALUE), read_elements(header, of_z + m * k, (k, n), VALUE)
    q_bar, r_bar = take_adjoints(header, of_z, (m, k)), take_adjoints(header, of_z + m * k, (k, n))
    a_bar = np.zeros((m, n))
    rest = take_block(operand(header, block, VALUE), 0, m, k, n)
    add_qr(q_bar, r_bar, q, r, rest, a_bar)
    add_to_operand(header, first, a_bar)


def push_qr(header, block):  # type: ignore[no-untyped-def]
    """The values and their tangents."""
    of_z, a = read_block(header, block)[2], operand(header, block, VALUE)
    q, r = np.linalg.qr(a)
    q_dot, r_dot = qr_tangent(in_order(q), in_order(r), a, operand(header, block, TANGENT))
    write_elements(header, write_elements(header, of_z, q, VALUE), r, VALUE)
    write_elements(header, write_elements(header, of_z, q_dot, TANGENT), r_dot, TANGENT)


qr = operation(calculate_qr, pull_qr, push_qr)


# ---- pseudoinverses and least squares --------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def _limit(header, block):  # type: ignore[no-untyped-def]
    """rcond, which is the only element of b."""
    m, n, _, _ = sizes_of(header, block)
    return read_elements(header, read_block(header, block)[1] + m * n, 1, VALUE)[0]


def calculate_pinv(header, block):  # type: ignore[no-untyped-def]
    """The value."""
    z = np.linalg.pinv(operand(header, block, VALUE), _limit(header, block))
    write_elements(header, read_block(header, block)[2], z, VALUE)


def pull_pinv(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    m, n, _, _ = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    a_bar, z = np.zeros((m, n)), read_elements(header, of_z, (n, m), VALUE)
    z_bar = take_adjoints(header, of_z, (n, m))
    add_pinv(z_bar, z, operand(header, block, VALUE), _limit(header, block), a_bar)
    add_to_operand(header, first, a_bar)


def push_pinv(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    of_z, a = read_block(header, block)[2], operand(header, block, VALUE)
    rcond = _limit(header, block)
    z = in_order(np.linalg.pinv(a, rcond))
    write_elements(header, of_z, z, VALUE)
    write_elements(header, of_z, pinv_tangent(z, a, rcond, operand(header, block, TANGENT)), TANGENT)


pinv = operation(calculate_pinv, pull_pinv, push_pinv)


@njit(**INTERNAL_OPTIONS)
def _write_lstsq(header, block):  # type: ignore[no-untyped-def]
    """Write the solution, the sums of squares, the singular values and the rank; b has rcond in a last column."""
    _, _, more, _ = sizes_of(header, block)
    given = columns(header, block, VALUE)
    x, squares, rank, s = np.linalg.lstsq(
        operand(header, block, VALUE), in_order(given[:, : more - 1]), given[0, more - 1]
    )
    after = write_elements(header, read_block(header, block)[2], x, VALUE)
    write_elements(header, after, squares, VALUE)
    after = write_elements(header, after + more - 1, s, VALUE)
    write_elements(header, after, np.array([float(rank)]), VALUE)
    return in_order(x), rank, in_order(given[:, : more - 1])


def calculate_lstsq(header, block):  # type: ignore[no-untyped-def]
    """The values."""
    _write_lstsq(header, block)


def pull_lstsq(header, block):  # type: ignore[no-untyped-def]
    """The adjoints of both operands."""
    m, n, more, _ = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    k, least = more - 1, min(m, n)
    of_squares = of_z + n * k
    of_s = of_squares + k
    x, rank = read_elements(header, of_z, (n, k), VALUE), read_elements(header, of_s + least, 1, VALUE)[0]
    x_bar, squares_bar = take_adjoints(header, of_z, (n, k)), take_adjoints(header, of_squares, k)
    s_bar = take_adjoints(header, of_s, least)
    take_adjoints(header, of_s + least, 1)
    a_bar, b_bar, given_bar = np.zeros((m, n)), np.zeros((m, k)), np.zeros((m, more))
    b = in_order(columns(header, block, VALUE)[:, :k])
    add_lstsq(x_bar, squares_bar, s_bar, x, int(rank), operand(header, block, VALUE), b, a_bar, b_bar)
    given_bar[:, :k] = b_bar
    add_to_operand(header, first, a_bar)
    add_to_operand(header, first + m * n, given_bar)


def push_lstsq(header, block):  # type: ignore[no-untyped-def]
    """The values and their tangents."""
    _, _, more, _ = sizes_of(header, block)
    x, rank, b = _write_lstsq(header, block)
    a_dot, b_dot = operand(header, block, TANGENT), in_order(columns(header, block, TANGENT)[:, : more - 1])
    x_dot, squares_dot, s_dot = lstsq_tangent(x, rank, operand(header, block, VALUE), b, a_dot, b_dot)
    after = write_elements(header, read_block(header, block)[2], x_dot, TANGENT)
    after = write_elements(header, write_elements(header, after, squares_dot, TANGENT), s_dot, TANGENT)
    write_elements(header, after, np.array([0.0]), TANGENT)


lstsq = operation(calculate_lstsq, pull_lstsq, push_lstsq)
