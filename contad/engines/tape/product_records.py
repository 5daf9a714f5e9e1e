"""The product of two matrices as one record: the operands are copied to the tape, the sweep multiplies their adjoints.

A product of an m x p and a p x n matrix takes m p + p n + m n + 2 records, not m p n. In the order of their cells:
the elements of the operands, one each, as (value, cell); the elements of the result; the sizes; the record of the
product itself, which names the one before it. The header of the arena names the last.
"""

from typing import Any

import numpy as np
from numba import carray, types

from contad.engines.tape.arrays import is_active_array, values, zeros_of
from contad.engines.tape.variables import VARIABLE, Variable, variable
from contad.native.arena import ADJOINTS, INTERNAL_OPTIONS, PRODUCT, RECORDS, USED, arena, reserve_cells
from contad.native.machine_code import njit
from contad.native.overloads import add_overload
from contad.native.product_adjoints import add_left, add_right
from contad.native.rules import PLAIN
from contad.native.words import pointer, set_word, word

_OF_A, _OF_B = 1, 2  # which operands have variables
_zeros = zeros_of[VARIABLE]


# ---- on the way forward ----------------------------------------------------------------------------------------------
def cell_of(x: Any) -> Any:
    """The cell of a variable, which exists inside njit only; 0 of a constant."""
    return 0


@add_overload(cell_of)
def _cell_of(x: Any) -> Any:
    if isinstance(x, Variable):
        return lambda x: x.cell
    return (lambda x: 0) if isinstance(x, PLAIN) else None


def numbers_of(a: Any) -> Any:
    """A copy of the plain numbers of an array, in C order."""
    return np.array(a, np.float64, order="C")


@add_overload(numbers_of)
def _numbers_of(a: Any) -> Any:
    if not isinstance(a, types.Array):
        return None
    return (lambda a: values(a)) if is_active_array(a) else lambda a: a.astype(np.float64).copy()


@njit(**INTERNAL_OPTIONS)
def multiply(a, b):  # type: ignore[no-untyped-def]
    """The product of two matrices, of which one or both hold variables."""
    m, p = a.shape
    n = b.shape[1]
    made = _zeros((m, n))
    if made.size == 0 or p == 0:
        return made
    x, y = numbers_of(a), numbers_of(b)
    z = np.dot(x, y)
    header = arena()
    first = word(header, USED)
    reserve_cells(header, first + m * p + p * n + m * n + 2)
    a_is_active = _copy_elements(header, first, a, x)
    b_is_active = _copy_elements(header, first + m * p, b, y)
    cell = first + m * p + p * n
    if not a_is_active and not b_is_active:
        for i in range(m):
            for j in range(n):
                made[i, j] = variable(z[i, j], 0, 0)
        return made
    for i in range(m):
        for j in range(n):
            _set_record(header, cell, 0.0, 0.0, 0, 0)
            made[i, j] = variable(z[i, j], cell, header)
            cell += 1
    _set_record(header, cell, float(m), float(p), n, a_is_active * _OF_A + b_is_active * _OF_B)
    _set_record(header, cell + 1, 0.0, 0.0, word(header, PRODUCT), 0)
    set_word(header, PRODUCT, cell + 1)
    set_word(header, USED, cell + 2)
    return made


@njit(**INTERNAL_OPTIONS)
def _copy_elements(header, first, a, numbers):  # type: ignore[no-untyped-def]
    """Copy the elements of an operand to the records from `first`; whether any is a variable."""
    found = 0
    k = first
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            cell = cell_of(a[i, j])
            found |= cell
            _set_record(header, k, numbers[i, j], 0.0, cell, 0)
            k += 1
    return found != 0


@njit(**INTERNAL_OPTIONS)
def _set_record(header, k, p, q, x, y):  # type: ignore[no-untyped-def]
    at = pointer(word(header, RECORDS))
    partials = carray(at, (k + 1, 3), np.float64)
    cells = carray(at, (k + 1, 6), np.int32)
    partials[k, 0] = p
    partials[k, 1] = q
    cells[k, 4] = x
    cells[k, 5] = y


# ---- on the way back -------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def before(header, product):  # type: ignore[no-untyped-def]
    """(the record of the product before this one, the first cell of its result)"""
    at = pointer(word(header, RECORDS))
    partials = carray(at, (product + 1, 3), np.float64)
    cells = carray(at, (product + 1, 6), np.int32)
    size = int(partials[product - 1, 0]) * cells[product - 1, 4]
    return np.int64(cells[product, 4]), product - 1 - size


@njit(**INTERNAL_OPTIONS)
def propagate(header, product):  # type: ignore[no-untyped-def]
    """Pass the adjoints of a product on to its operands, and leave them zero; the first cell of its records."""
    at = pointer(word(header, RECORDS))
    partials = carray(at, (product + 1, 3), np.float64)
    cells = carray(at, (product + 1, 6), np.int32)
    adjoint = carray(pointer(word(header, ADJOINTS)), product + 1, np.float64)
    m, p, n = int(partials[product - 1, 0]), int(partials[product - 1, 1]), np.int64(cells[product - 1, 4])
    active = cells[product - 1, 5]
    of_z = product - 1 - m * n
    of_b = of_z - p * n
    of_a = of_b - m * p
    a, b, z_bar = np.empty((m, p)), np.empty((p, n)), np.empty((m, n))
    for i in range(m):
        for k in range(p):
            a[i, k] = partials[of_a + i * p + k, 0]
    for k in range(p):
        for j in range(n):
            b[k, j] = partials[of_b + k * n + j, 0]
    for i in range(m):
        for j in range(n):
            z_bar[i, j] = adjoint[of_z + i * n + j]
            adjoint[of_z + i * n + j] = 0.0
    a_bar, b_bar = np.zeros((m, p)), np.zeros((p, n))
    if active & _OF_A:
        add_left(z_bar, b, a_bar)
    if active & _OF_B:
        add_right(z_bar, a, b_bar)
    for i in range(m):
        for k in range(p):
            adjoint[cells[of_a + i * p + k, 4]] += a_bar[i, k]
    for k in range(p):
        for j in range(n):
            adjoint[cells[of_b + k * n + j, 4]] += b_bar[k, j]
    adjoint[0] = 0.0
    return of_a
