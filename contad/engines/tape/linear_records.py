"""Operations of linear algebra on variables and on duals: their kernels, which calculate in a block of records.

Each has three: of the values, of the adjoints, and of values and tangents. The sizes are those of a (m x n) and the
number of columns of b.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.tape.block_kernels import address_of_kernel
from contad.engines.tape.block_records import (
    TANGENT,
    VALUE,
    add_to_operand,
    push_block,
    push_duals,
    read_block,
    read_elements,
    read_saved,
    sizes_of,
    take_adjoints,
    write_elements,
    write_saved,
)
from contad.engines.tape.variables import DUAL, VARIABLE
from contad.native.arena import INTERNAL_OPTIONS
from contad.native.factor_kernels import (
    add_cholesky,
    add_inv,
    add_solve,
    cholesky_tangent,
    cofactors,
    inv_tangent,
    solve_tangent,
    transposed_inverse,
    write_cholesky,
)
from contad.native.machine_code import njit
from contad.native.matrix_loops import masked_sum
from contad.native.small_systems import factor_slogdet, find_det, invert, solve_forward


def sized_operation(
    calculate: Callable[..., Any], pull: Callable[..., Any], push: Callable[..., Any]
) -> dict[Any, Any]:
    """By the active type, the njit function (a, b, three sizes, how many results, how many numbers to save) that gives
    the results as one vector.

    The kernels are those of the values, of the adjoints, and of values and tangents.
    """
    values, adjoints, tangents = (address_of_kernel(kernel) for kernel in (calculate, pull, push))

    @njit(**INTERNAL_OPTIONS)
    def of_variables(a, b, sizes, results, saved):  # type: ignore[no-untyped-def]
        return push_block(values(), adjoints(), sizes, a, b, results, saved)

    @njit(**INTERNAL_OPTIONS)
    def of_duals(a, b, sizes, results, saved):  # type: ignore[no-untyped-def]
        return push_duals(tangents(), 0, sizes, a, b, results, saved)

    return {VARIABLE: of_variables, DUAL: of_duals}


def operation(calculate: Callable[..., Any], pull: Callable[..., Any], push: Callable[..., Any]) -> dict[Any, Any]:
    """Likewise, of (a, b, how many results, how many numbers to save): the sizes are those of the operands."""

    def by_shapes(sized: Any) -> Any:
        @njit(**INTERNAL_OPTIONS)
        def compute(a, b, results, saved):  # type: ignore[no-untyped-def]
            return sized(a, b, (a.shape[0], a.shape[1], b.shape[1]), results, saved)

        return compute

    return {active: by_shapes(sized) for active, sized in sized_operation(calculate, pull, push).items()}


@njit(**INTERNAL_OPTIONS)
def operand(header, block, place):  # type: ignore[no-untyped-def]
    """The VALUE or the TANGENT of a."""
    m, n, _, _ = sizes_of(header, block)
    return read_elements(header, read_block(header, block)[1], (m, n), place)


@njit(**INTERNAL_OPTIONS)
def columns(header, block, place):  # type: ignore[no-untyped-def]
    """The VALUE or the TANGENT of b, which has as many rows as a."""
    m, n, k, _ = sizes_of(header, block)
    return read_elements(header, read_block(header, block)[1] + m * n, (m, k), place)


# ---- systems ---------------------------------------------------------------------------------------------------------
def calculate_solve(header, block):  # type: ignore[no-untyped-def]
    """The value; the factors and the exchanges of rows are saved."""
    of_z = read_block(header, block)[2]
    z, factors, exchanges = solve_forward(operand(header, block, VALUE), columns(header, block, VALUE))
    of_saved = write_elements(header, of_z, z, VALUE)
    write_saved(header, of_saved, 0, factors)
    write_saved(header, of_saved, factors.size, exchanges)


def pull_solve(header, block):  # type: ignore[no-untyped-def]
    """The adjoints of both operands."""
    n, _, k, _ = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    a_bar, b_bar = np.zeros((n, n)), np.zeros((n, k))
    of_saved = of_z + n * k
    factors, exchanges = read_saved(header, of_saved, 0, (n, n)), read_saved(header, of_saved, n * n, n)
    z = read_elements(header, of_z, (n, k), VALUE)
    add_solve(take_adjoints(header, of_z, (n, k)), z, factors, exchanges, a_bar, b_bar)
    add_to_operand(header, first, a_bar)
    add_to_operand(header, first + n * n, b_bar)


def push_solve(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    of_z = read_block(header, block)[2]
    z, factors, exchanges = solve_forward(operand(header, block, VALUE), columns(header, block, VALUE))
    z_dot = solve_tangent(z, factors, exchanges, operand(header, block, TANGENT), columns(header, block, TANGENT))
    write_elements(header, of_z, z, VALUE)
    write_elements(header, of_z, z_dot, TANGENT)


solve = operation(calculate_solve, pull_solve, push_solve)


# ---- inverses --------------------------------------------------------------------------------------------------------
def calculate_inv(header, block):  # type: ignore[no-untyped-def]
    """The value."""
    write_elements(header, read_block(header, block)[2], invert(operand(header, block, VALUE)), VALUE)


def pull_inv(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    a_bar, z = np.zeros((n, n)), read_elements(header, of_z, (n, n), VALUE)
    add_inv(take_adjoints(header, of_z, (n, n)), z, a_bar)
    add_to_operand(header, first, a_bar)


def push_inv(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    of_z = read_block(header, block)[2]
    z = invert(operand(header, block, VALUE))
    write_elements(header, of_z, z, VALUE)
    write_elements(header, of_z, inv_tangent(z, operand(header, block, TANGENT)), TANGENT)


inv = operation(calculate_inv, pull_inv, push_inv)


# ---- determinants ----------------------------------------------------------------------------------------------------
def calculate_slogdet(header, block):  # type: ignore[no-untyped-def]
    """The logarithm, then the sign, which is constant; the factors and the exchanges of rows are saved."""
    sign, log, factors, exchanges = factor_slogdet(operand(header, block, VALUE))
    of_saved = write_elements(header, read_block(header, block)[2], np.array([log, sign]), VALUE)
    write_saved(header, of_saved, 0, factors)
    write_saved(header, of_saved, factors.size, exchanges)


def pull_slogdet(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    log, of_saved = read_elements(header, of_z, 1, VALUE)[0], of_z + 2
    z_bar = take_adjoints(header, of_z, 2)[0]
    if z_bar != 0.0:  # the other adjoint is that of the sign
        factors, exchanges = read_saved(header, of_saved, 0, (n, n)), read_saved(header, of_saved, n * n, n + 1)
        add_to_operand(header, first, z_bar * transposed_inverse(log, factors, exchanges))


def push_slogdet(header, block):  # type: ignore[no-untyped-def]
    """The values and their tangents."""
    of_z = read_block(header, block)[2]
    sign, log, factors, exchanges = factor_slogdet(operand(header, block, VALUE))
    write_elements(header, of_z, np.array([log, sign]), VALUE)
    log_dot = masked_sum(transposed_inverse(log, factors, exchanges), operand(header, block, TANGENT))
    write_elements(header, of_z, np.array([log_dot, 0.0]), TANGENT)


slogdet = operation(calculate_slogdet, pull_slogdet, push_slogdet)


def calculate_det(header, block):  # type: ignore[no-untyped-def]
    """The value."""
    z = find_det(operand(header, block, VALUE))
    write_elements(header, read_block(header, block)[2], np.array([z]), VALUE)


def pull_det(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    _, first, of_z, _ = read_block(header, block)
    z, z_bar = read_elements(header, of_z, 1, VALUE)[0], take_adjoints(header, of_z, 1)[0]
    add_to_operand(header, first, z_bar * cofactors(z, operand(header, block, VALUE)))


def push_det(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    of_z, a = read_block(header, block)[2], operand(header, block, VALUE)
    z = find_det(a)
    write_elements(header, of_z, np.array([z]), VALUE)
    z_dot = masked_sum(cofactors(z, a), operand(header, block, TANGENT))
    write_elements(header, of_z, np.array([z_dot]), TANGENT)


det = operation(calculate_det, pull_det, push_det)


# ---- Cholesky's factor -----------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def cholesky_factor(a):  # type: ignore[no-untyped-def]
    """The factor, new."""
    z = np.empty(a.shape)
    write_cholesky(a, z)
    return z


def calculate_cholesky(header, block):  # type: ignore[no-untyped-def]
    """The value."""
    write_elements(header, read_block(header, block)[2], cholesky_factor(operand(header, block, VALUE)), VALUE)


def pull_cholesky(header, block):  # type: ignore[no-untyped-def]
    """The adjoint."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    a_bar, z = np.zeros((n, n)), read_elements(header, of_z, (n, n), VALUE)
    add_cholesky(take_adjoints(header, of_z, (n, n)), z, a_bar)
    add_to_operand(header, first, a_bar)


def push_cholesky(header, block):  # type: ignore[no-untyped-def]
    """The value and its tangent."""
    of_z, z = read_block(header, block)[2], cholesky_factor(operand(header, block, VALUE))
    write_elements(header, of_z, z, VALUE)
    write_elements(header, of_z, cholesky_tangent(z, operand(header, block, TANGENT)), TANGENT)


cholesky = operation(calculate_cholesky, pull_cholesky, push_cholesky)
