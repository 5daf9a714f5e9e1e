"""Functions of `contad.scipy.linalg` on variables and on duals: their kernels, as in `linear_records`.

The sizes of a triangular system are (n, flags, the columns of b), of a banded one (the packed numbers of diagonals, n,
the columns of b).
"""

import numpy as np

from contad.engines.tape.block_records import (
    OF_A,
    OF_B,
    TANGENT,
    VALUE,
    add_to_operand,
    read_block,
    read_elements,
    sizes_of,
    take_adjoints,
    write_elements,
)
from contad.engines.tape.linear_records import sized_operation
from contad.native.arena import INTERNAL_OPTIONS
from contad.native.exponential_kernels import add_expm, expm_along, expm_forward
from contad.native.machine_code import njit
from contad.native.triangular_kernels import (
    add_cho_factor,
    add_cho_solve,
    add_solve_banded,
    add_solve_triangular,
    cho_factor_forward,
    cho_factor_tangent,
    cho_solve_forward,
    cho_solve_tangent,
    solve_banded_forward,
    solve_banded_tangent,
    solve_triangular_forward,
    solve_triangular_tangent,
)

TRANSPOSED, LOWER, UNIT = 1, 2, 4  # flags
PACKED = 1 << 31  # the diagonals: below the main one times this, and above it


@njit(**INTERNAL_OPTIONS)
def _square(header, block, place):  # type: ignore[no-untyped-def]
    """The VALUE or the TANGENT of the n x n operand a."""
    n, _, _, _ = sizes_of(header, block)
    return read_elements(header, read_block(header, block)[1], (n, n), place)


@njit(**INTERNAL_OPTIONS)
def _columns(header, block, place):  # type: ignore[no-untyped-def]
    """The VALUE or the TANGENT of b, which has as many rows as a."""
    n, _, k, _ = sizes_of(header, block)
    return read_elements(header, read_block(header, block)[1] + n * n, (n, k), place)


@njit(**INTERNAL_OPTIONS)
def _flags(header, block):  # type: ignore[no-untyped-def]
    """(transposed, lower, unit_diagonal)"""
    _, flags, _, _ = sizes_of(header, block)
    return flags & TRANSPOSED != 0, flags & LOWER != 0, flags & UNIT != 0


@njit(**INTERNAL_OPTIONS)
def _add_to_operands(header, block, a_bar, b_bar):  # type: ignore[no-untyped-def]
    _, first, _, _ = read_block(header, block)
    _, _, _, active = sizes_of(header, block)
    if active & OF_A:
        add_to_operand(header, first, a_bar)
    if active & OF_B:
        add_to_operand(header, first + a_bar.size, b_bar)


# ---- triangular systems ----------------------------------------------------------------------------------------------
def calculate_solve_triangular(header, block):  # type: ignore[no-untyped-def]
    """The value."""
    transposed, lower, unit_diagonal = _flags(header, block)
    a, b = _square(header, block, VALUE), _columns(header, block, VALUE)
    z = solve_triangular_forward(a, b, transposed, lower, unit_diagonal)
    write_elements(header, read_block(header, block)[2], z, VALUE)


def pull_solve_triangular(header, block):  # type: ignore[no-untyped-def]
    """The adjoints of both operands."""
    n, _, k, _ = sizes_of(header, block)
    of_z = read_block(header, block)[2]
    transposed, lower, unit_diagonal = _flags(header, block)
    a_bar, b_bar = np.zeros((n, n)), np.zeros((n, k))
    z, z_bar = read_elements(header, of_z, (n, k), VALUE), take_adjoints(header, of_z, (n, k))
    add_solve_triangular(z_bar, z, _square(header, block, VALUE), transposed, lower, unit_diagonal, a_bar, b_bar)
    _add_to_operands(header, block, a_bar, b_bar)


def push_solve_triangular(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    of_z = read_block(header, block)[2]
    transposed, lower, unit_diagonal = _flags(header, block)
    a, a_dot, b_dot = _square(header, block, VALUE), _square(header, block, TANGENT), _columns(header, block, TANGENT)
    z = solve_triangular_forward(a, _columns(header, block, VALUE), transposed, lower, unit_diagonal)
    write_elements(header, of_z, z, VALUE)
    z_dot = solve_triangular_tangent(z, a, transposed, lower, unit_diagonal, a_dot, b_dot)
    write_elements(header, of_z, z_dot, TANGENT)


solve_triangular = sized_operation(calculate_solve_triangular, pull_solve_triangular, push_solve_triangular)


# ---- Cholesky factors ------------------------------------------------------------------------------------------------
def calculate_cho_factor(header, block):  # type: ignore[no-untyped-def]
    """The value."""
    z = cho_factor_forward(_square(header, block, VALUE), _flags(header, block)[1])
    write_elements(header, read_block(header, block)[2], z, VALUE)


def pull_cho_factor(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    n, _, _, _ = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    a_bar = np.zeros((n, n))
    z, z_bar = read_elements(header, of_z, (n, n), VALUE), take_adjoints(header, of_z, (n, n))
    add_cho_factor(z_bar, z, _flags(header, block)[1], a_bar)
    add_to_operand(header, first, a_bar)


def push_cho_factor(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    of_z, lower = read_block(header, block)[2], _flags(header, block)[1]
    z = cho_factor_forward(_square(header, block, VALUE), lower)
    write_elements(header, of_z, z, VALUE)
    write_elements(header, of_z, cho_factor_tangent(z, lower, _square(header, block, TANGENT)), TANGENT)


cho_factor = sized_operation(calculate_cho_factor, pull_cho_factor, push_cho_factor)


def calculate_cho_solve(header, block):  # type: ignore[no-untyped-def]
    """The value."""
    c, b = _square(header, block, VALUE), _columns(header, block, VALUE)
    z = cho_solve_forward(c, b, _flags(header, block)[1])
    write_elements(header, read_block(header, block)[2], z, VALUE)


def pull_cho_solve(header, block):  # type: ignore[no-untyped-def]
    """The adjoints of both operands."""
    n, _, k, _ = sizes_of(header, block)
    c, b, lower = _square(header, block, VALUE), _columns(header, block, VALUE), _flags(header, block)[1]
    c_bar, b_bar = np.zeros((n, n)), np.zeros((n, k))
    z_bar = take_adjoints(header, read_block(header, block)[2], (n, k))
    add_cho_solve(z_bar, c, b, lower, c_bar, b_bar)
    _add_to_operands(header, block, c_bar, b_bar)


def push_cho_solve(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    of_z, lower = read_block(header, block)[2], _flags(header, block)[1]
    c, b = _square(header, block, VALUE), _columns(header, block, VALUE)
    write_elements(header, of_z, cho_solve_forward(c, b, lower), VALUE)
    z_dot = cho_solve_tangent(c, b, lower, _square(header, block, TANGENT), _columns(header, block, TANGENT))
    write_elements(header, of_z, z_dot, TANGENT)


cho_solve = sized_operation(calculate_cho_solve, pull_cho_solve, push_cho_solve)


# ---- banded systems --------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def _diagonals(header, block):  # type: ignore[no-untyped-def]
    """How many are below and above the main one."""
    packed, _, _, _ = sizes_of(header, block)
    return packed // PACKED, packed % PACKED


@njit(**INTERNAL_OPTIONS)
def _band(header, block, place):  # type: ignore[no-untyped-def]
    """The VALUE or the TANGENT of the operand that holds diagonals as rows."""
    lower, upper = _diagonals(header, block)
    _, n, _, _ = sizes_of(header, block)
    return read_elements(header, read_block(header, block)[1], (lower + upper + 1, n), place)


@njit(**INTERNAL_OPTIONS)
def _beside_band(header, block, place):  # type: ignore[no-untyped-def]
    """The VALUE or the TANGENT of b."""
    lower, upper = _diagonals(header, block)
    _, n, k, _ = sizes_of(header, block)
    return read_elements(header, read_block(header, block)[1] + (lower + upper + 1) * n, (n, k), place)


def calculate_solve_banded(header, block):  # type: ignore[no-untyped-def]
    """The value."""
    lower, upper = _diagonals(header, block)
    z = solve_banded_forward(lower, upper, _band(header, block, VALUE), _beside_band(header, block, VALUE))
    write_elements(header, read_block(header, block)[2], z, VALUE)


def pull_solve_banded(header, block):  # type: ignore[no-untyped-def]
    """The adjoints of both operands."""
    lower, upper = _diagonals(header, block)
    _, n, k, _ = sizes_of(header, block)
    of_z = read_block(header, block)[2]
    ab_bar, b_bar = np.zeros((lower + upper + 1, n)), np.zeros((n, k))
    z, z_bar = read_elements(header, of_z, (n, k), VALUE), take_adjoints(header, of_z, (n, k))
    add_solve_banded(z_bar, z, lower, upper, _band(header, block, VALUE), ab_bar, b_bar)
    _add_to_operands(header, block, ab_bar, b_bar)


def push_solve_banded(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    lower, upper = _diagonals(header, block)
    of_z, ab = read_block(header, block)[2], _band(header, block, VALUE)
    z = solve_banded_forward(lower, upper, ab, _beside_band(header, block, VALUE))
    write_elements(header, of_z, z, VALUE)
    ab_dot, b_dot = _band(header, block, TANGENT), _beside_band(header, block, TANGENT)
    write_elements(header, of_z, solve_banded_tangent(z, lower, upper, ab, ab_dot, b_dot), TANGENT)


solve_banded = sized_operation(calculate_solve_banded, pull_solve_banded, push_solve_banded)


# ---- the exponential -------------------------------------------------------------------------------------------------
def calculate_expm(header, block):  # type: ignore[no-untyped-def]
    """The value."""
    write_elements(header, read_block(header, block)[2], expm_forward(_square(header, block, VALUE)), VALUE)


def pull_expm(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    n, _, _, _ = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    a_bar = np.zeros((n, n))
    add_expm(take_adjoints(header, of_z, (n, n)), _square(header, block, VALUE), a_bar)
    add_to_operand(header, first, a_bar)


def push_expm(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    of_z, a = read_block(header, block)[2], _square(header, block, VALUE)
    write_elements(header, of_z, expm_forward(a), VALUE)
    write_elements(header, of_z, expm_along(a, _square(header, block, TANGENT)), TANGENT)


expm = sized_operation(calculate_expm, pull_expm, push_expm)
