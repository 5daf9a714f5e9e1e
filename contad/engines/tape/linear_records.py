"""Whole-array operations of linear algebra on variables and on duals: what is recorded, and the kernels.

Each is given as a function of the operands' numbers that gives its results as one vector and what it saves as another,
a kernel, and a function that gives the tangent of the results.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.tape.arrays import is_active_array, tangents, zeros_of
from contad.engines.tape.block_kernels import address_of_kernel
from contad.engines.tape.block_records import (
    NUMBERS,
    add_to_operand,
    numbers_of,
    push_block,
    read_block,
    read_elements,
    read_saved,
    sizes_of,
    take_adjoints,
)
from contad.engines.tape.variables import DUAL, VARIABLE, dual
from contad.native.arena import INTERNAL_OPTIONS
from contad.native.factor_kernels import (
    add_cholesky,
    add_inv,
    add_solve,
    cholesky_tangent,
    cofactors,
    inv_tangent,
    solve_forward,
    solve_tangent,
    transposed_inverse,
)
from contad.native.machine_code import njit
from contad.native.overloads import add_overload

_zero_duals = zeros_of[DUAL]


def tangents_of(a: Any) -> Any:
    """The tangents of an array, which exist inside njit only; zeros of constants."""
    return np.zeros(np.shape(a))


@add_overload(tangents_of)
def _tangents_of(a: Any) -> Any:
    return (lambda a: tangents(a)) if is_active_array(a) else lambda a: np.zeros(a.shape)


@njit(**INTERNAL_OPTIONS)
def _pair(z, z_dot):  # type: ignore[no-untyped-def]
    made = _zero_duals(z.size)
    flat = z_dot.reshape(z.size)
    for k in range(z.size):
        made[k] = dual(z[k], flat[k])
    return made


def operation(forward: Any, kernel: Callable[..., Any], tangent: Any) -> dict[Any, Any]:
    """For variables and for duals, the njit function of two matrices that gives the results as one vector."""
    address = address_of_kernel(kernel)

    @njit(**INTERNAL_OPTIONS)
    def of_variables(a, b):  # type: ignore[no-untyped-def]
        x, y = numbers_of(a), numbers_of(b)
        z, saved = forward(x, y)
        return push_block(address(), (x.shape[0], x.shape[1], y.shape[1]), a, x, b, y, z, saved)

    @njit(**INTERNAL_OPTIONS)
    def of_duals(a, b):  # type: ignore[no-untyped-def]
        x, y = numbers_of(a), numbers_of(b)
        z, saved = forward(x, y)
        return _pair(z, tangent(z, saved, x, y, tangents_of(a), tangents_of(b)))

    return {VARIABLE: of_variables, DUAL: of_duals}


# ---- systems ---------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def _solve_forward(x, y):  # type: ignore[no-untyped-def]
    z, factors, exchanges = solve_forward(x, y)
    n = x.size
    saved = np.empty(n + exchanges.size)
    saved[:n] = factors.reshape(n)
    for k in range(exchanges.size):
        saved[n + k] = exchanges[k]
    return z.reshape(z.size), saved


def propagate_solve(header, block):  # type: ignore[no-untyped-def]
    """The kernel of the solution of a system."""
    n, _, k, _ = sizes_of(header, block)
    _, first, of_z, _ = read_block(header, block)
    of_saved = of_z + n * k
    a_bar, b_bar = np.zeros((n, n)), np.zeros((n, k))
    factors, exchanges = read_saved(header, of_saved, 0, (n, n)), read_saved(header, of_saved, n * n, (n,))
    z = read_elements(header, of_z, (n, k))
    add_solve(take_adjoints(header, of_z, (n, k)), z, factors, exchanges, a_bar, b_bar)
    add_to_operand(header, first, a_bar)
    add_to_operand(header, first + n * n, b_bar)


@njit(**INTERNAL_OPTIONS)
def _solve_tangent(z, saved, x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    return solve_tangent(z.reshape(y.shape), saved[: x.size].reshape(x.shape), saved[x.size :], x_dot, y_dot)


solve = operation(_solve_forward, propagate_solve, _solve_tangent)


# ---- inverses --------------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def _inv_forward(x, y):  # type: ignore[no-untyped-def]
    return np.ascontiguousarray(np.linalg.inv(x)).reshape(x.size), np.empty(0)


def propagate_inv(header, block):  # type: ignore[no-untyped-def]
    """The kernel of an inverse."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    a_bar, z = np.zeros((n, n)), read_elements(header, of_z, (n, n))
    add_inv(take_adjoints(header, of_z, (n, n)), z, a_bar)
    add_to_operand(header, first, a_bar)


@njit(**INTERNAL_OPTIONS)
def _inv_tangent(z, saved, x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    return inv_tangent(z.reshape(x.shape), x_dot)


inv = operation(_inv_forward, propagate_inv, _inv_tangent)


# ---- determinants ----------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def _log_forward(x, y):  # type: ignore[no-untyped-def]
    sign, log = np.linalg.slogdet(x)
    return np.array([log]), np.array([sign])


def propagate_log_determinant(header, block):  # type: ignore[no-untyped-def]
    """The kernel of the logarithm of a determinant."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    log = read_elements(header, of_z, (1,))[0]
    z_bar = take_adjoints(header, of_z, (1,))[0]
    add_to_operand(header, first, z_bar * transposed_inverse(log, read_elements(header, first, (n, n))))


@njit(**INTERNAL_OPTIONS)
def _log_tangent(z, saved, x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    return np.array([np.sum(transposed_inverse(z[0], x) * x_dot)])


log_determinant = operation(_log_forward, propagate_log_determinant, _log_tangent)


@njit(**INTERNAL_OPTIONS)
def _det_forward(x, y):  # type: ignore[no-untyped-def]
    return np.array([np.linalg.det(x)]), np.empty(0)


def propagate_det(header, block):  # type: ignore[no-untyped-def]
    """The kernel of a determinant."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    z = read_elements(header, of_z, (1,))[0]
    z_bar = take_adjoints(header, of_z, (1,))[0]
    add_to_operand(header, first, z_bar * cofactors(z, read_elements(header, first, (n, n))))


@njit(**INTERNAL_OPTIONS)
def _det_tangent(z, saved, x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    return np.array([np.sum(cofactors(z[0], x) * x_dot)])


det = operation(_det_forward, propagate_det, _det_tangent)


# ---- Cholesky's factor -----------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def _cholesky_forward(x, y):  # type: ignore[no-untyped-def]
    return np.linalg.cholesky(x).reshape(x.size), np.empty(0)


def propagate_cholesky(header, block):  # type: ignore[no-untyped-def]
    """The kernel of Cholesky's factor."""
    n = sizes_of(header, block)[0]
    _, first, of_z, _ = read_block(header, block)
    a_bar, z = np.zeros((n, n)), read_elements(header, of_z, (n, n))
    add_cholesky(take_adjoints(header, of_z, (n, n)), z, a_bar)
    add_to_operand(header, first, a_bar)


@njit(**INTERNAL_OPTIONS)
def _cholesky_tangent(z, saved, x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    return cholesky_tangent(z.reshape(x.shape), x_dot)


cholesky = operation(_cholesky_forward, propagate_cholesky, _cholesky_tangent)
