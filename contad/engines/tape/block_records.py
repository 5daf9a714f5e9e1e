"""An operation on whole arrays as one block of records, in which a kernel passes the adjoints on.

A block has, in the order of the cells: the elements of the operands a and b, one record each, as (value, cell); the
elements of the results, as (value); the numbers that the operation saves, three to a record; and its two last records:

    address of the kernel, size, first cell of the block and of the results
    size, size, the last record of the block before this one, which operands have variables

So a product of an m x p and a p x n matrix takes m p + p n + m n + 2 records, not m p n. The header of the arena names
the last block. What the three sizes mean is between an operation and its kernel.
"""

from typing import Any

import numpy as np
from numba import carray, types

from contad.engines.tape.arrays import is_active_array, values, zeros_of
from contad.engines.tape.variables import VARIABLE, Variable, variable
from contad.native.arena import ADJOINTS, BLOCK, INTERNAL_OPTIONS, RECORDS, USED, arena, reserve_cells
from contad.native.machine_code import njit
from contad.native.overloads import add_overload
from contad.native.rules import PLAIN
from contad.native.words import pointer, set_word, word

OF_A, OF_B = 1, 2  # which operands have variables
NUMBERS = 3  # in a record
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
    if is_active_array(a):
        return lambda a: values(a)

    def copy(a: Any) -> Any:
        made = np.empty(a.shape)
        made[...] = a
        return made

    return copy


@njit(**INTERNAL_OPTIONS)
def push_block(kernel, sizes, a, x, b, y, z, saved):  # type: ignore[no-untyped-def]
    """The results z of an operation as variables, by a block of records unless both operands hold constants.

    a and b are the operands, x and y their numbers in C order; z and the saved numbers are vectors.
    """
    made = _zeros(z.size)
    header = arena()
    first = word(header, USED)
    of_z = first + x.size + y.size
    of_saved = of_z + z.size
    last = of_saved + (saved.size + NUMBERS - 1) // NUMBERS + 1
    reserve_cells(header, last + 1)
    active = _copy_elements(header, first, a, x) * OF_A + _copy_elements(header, first + x.size, b, y) * OF_B
    if active == 0:
        for k in range(z.size):
            made[k] = variable(z[k], 0, 0)
        return made
    at = pointer(word(header, RECORDS))
    numbers = carray(at, (last + 1, NUMBERS), np.float64)
    words = carray(at, (last + 1, NUMBERS), np.int64)
    cells = carray(at, (last + 1, 2 * NUMBERS), np.int32)
    for k in range(z.size):
        _set_element(numbers, cells, of_z + k, z[k], 0)
        made[k] = variable(z[k], of_z + k, header)
    for k in range(saved.size):
        numbers[of_saved + k // NUMBERS, k % NUMBERS] = saved[k]
    words[last - 1, 0], words[last - 1, 1] = kernel, sizes[0]
    cells[last - 1, 4], cells[last - 1, 5] = first, of_z
    words[last, 0], words[last, 1] = sizes[1], sizes[2]
    cells[last, 4], cells[last, 5] = word(header, BLOCK), active
    set_word(header, BLOCK, last)
    set_word(header, USED, last + 1)
    return made


@njit(**INTERNAL_OPTIONS)
def _set_element(numbers, cells, k, value, cell):  # type: ignore[no-untyped-def]
    numbers[k, 0] = value
    numbers[k, 1] = 0.0
    cells[k, 4] = cell
    cells[k, 5] = 0


@njit(**INTERNAL_OPTIONS)
def _copy_elements(header, first, a, x):  # type: ignore[no-untyped-def]
    """Copy the elements of an operand to the records from `first`; whether any is a variable."""
    at = pointer(word(header, RECORDS))
    numbers = carray(at, (first + x.size, NUMBERS), np.float64)
    cells = carray(at, (first + x.size, 2 * NUMBERS), np.int32)
    found = 0
    flat = x.reshape(x.size)
    k = 0
    for element in a.flat:
        cell = cell_of(element)
        found |= cell
        _set_element(numbers, cells, first + k, flat[k], cell)
        k += 1
    return found != 0


# ---- on the way back -------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def read_block(header, block):  # type: ignore[no-untyped-def]
    """Of the block with that last record: (the last record of the one before, its first cell, the first of its results,
    its kernel).
    """
    at = pointer(word(header, RECORDS))
    words = carray(at, (block + 1, NUMBERS), np.int64)
    cells = carray(at, (block + 1, 2 * NUMBERS), np.int32)
    previous, first, of_z = np.int64(cells[block, 4]), np.int64(cells[block - 1, 4]), np.int64(cells[block - 1, 5])
    return previous, first, of_z, words[block - 1, 0]


@njit(**INTERNAL_OPTIONS)
def sizes_of(header, block):  # type: ignore[no-untyped-def]
    """(its three sizes, which operands have variables)"""
    at = pointer(word(header, RECORDS))
    words = carray(at, (block + 1, NUMBERS), np.int64)
    cells = carray(at, (block + 1, 2 * NUMBERS), np.int32)
    return words[block - 1, 1], words[block, 0], words[block, 1], cells[block, 5]


@njit(**INTERNAL_OPTIONS)
def read_elements(header, first, shape):  # type: ignore[no-untyped-def]
    """The numbers of operands or results whose records begin at `first`."""
    made = np.empty(shape)
    flat = made.reshape(made.size)
    numbers = carray(pointer(word(header, RECORDS)), (first + flat.size, NUMBERS), np.float64)
    for k in range(flat.size):
        flat[k] = numbers[first + k, 0]
    return made


@njit(**INTERNAL_OPTIONS)
def read_saved(header, first, start, shape):  # type: ignore[no-untyped-def]
    """The saved numbers from the one at `start`, of those whose records begin at `first`."""
    made = np.empty(shape)
    flat = made.reshape(made.size)
    end = NUMBERS * first + start
    numbers = carray(pointer(word(header, RECORDS)), end + flat.size, np.float64)
    for k in range(flat.size):
        flat[k] = numbers[end + k]
    return made


@njit(**INTERNAL_OPTIONS)
def take_adjoints(header, first, shape):  # type: ignore[no-untyped-def]
    """The adjoints of the cells from `first`, which are left zero."""
    made = np.empty(shape)
    flat = made.reshape(made.size)
    adjoint = carray(pointer(word(header, ADJOINTS)), first + flat.size, np.float64)
    for k in range(flat.size):
        flat[k] = adjoint[first + k]
        adjoint[first + k] = 0.0
    return made


@njit(**INTERNAL_OPTIONS)
def add_to_operand(header, first, x_bar):  # type: ignore[no-untyped-def]
    """Add x_bar to the adjoints of the operand whose records begin at `first`."""
    flat = x_bar.reshape(x_bar.size)
    cells = carray(pointer(word(header, RECORDS)), (first + flat.size, 2 * NUMBERS), np.int32)
    adjoint = carray(pointer(word(header, ADJOINTS)), first + flat.size, np.float64)
    for k in range(flat.size):
        adjoint[cells[first + k, 4]] += flat[k]
    adjoint[0] = 0.0


@njit(**INTERNAL_OPTIONS)
def has_adjoints(header, first, end):  # type: ignore[no-untyped-def]
    """Whether an adjoint of the cells from `first` up to `end` is not zero."""
    adjoint = carray(pointer(word(header, ADJOINTS)), end, np.float64)
    for k in range(first, end):
        if adjoint[k] != 0.0:
            return True
    return False
