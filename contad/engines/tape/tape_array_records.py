"""An operation on whole arrays as one array record, in which kernels compute values, adjoints and tangents.

An array record is several records in a row. It contains, in the order of the cells: the elements of the operands a and
b, one record each, as (value, tangent, cell); the elements of the results, as (value, tangent); the numbers that the
operation saves, three to a record; and two last records:

    address of the kernel of the adjoints, size, first cell of the array record and of the results
    size, size, the last record of the array record before this one, which operands have variables

So a product of an m x p and a p x n matrix takes m p + p n + m n + 2 records, not m p n. The header of the arena names
the last array record. Each operation and its kernels define the meaning of the three sizes. Operations on duals compute
in the free memory of the tape, and leave no records.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.named_code import compiled_address, emit_address, emit_call, name_of
from contad.compile.overloads import add_overload
from contad.compile.words import array_at, integers_at, set_word, short_integers_at, word
from contad.compiled_rules.elementwise_calls import PLAIN
from contad.engines.tape.arrays import zeros_of
from contad.engines.tape.conversions import value
from contad.engines.tape.variables import DUAL, VARIABLE, DualNumber, Variable, dual, variable
from contad.memory.arena import ADJOINTS, ARRAY_RECORD, RECORDS, USED, arena, reserve_cells

OF_A, OF_B = 1, 2  # which operands have variables
VALUE, TANGENT = 0, 1  # the place in a record
NUMBERS = 3  # in a record
_zero_variables, _zero_duals = zeros_of[VARIABLE], zeros_of[DUAL]


# ---- the forward pass ------------------------------------------------------------------------------------------------
def cell_of(x: Any) -> Any:
    """The cell of a variable, which exists only inside njit; 0 for a constant."""
    return 0


@add_overload(cell_of)
def _cell_of(x: Any) -> Any:
    if isinstance(x, Variable):
        return lambda x: x.cell
    return (lambda x: 0) if isinstance(x, (DualNumber, *PLAIN)) else None


def tangent_of(x: Any) -> Any:
    """The tangent of a dual, which exists only inside njit; 0.0 for a constant."""
    return 0.0


@add_overload(tangent_of)
def _tangent_of(x: Any) -> Any:
    return (lambda x: x.tangent) if isinstance(x, DualNumber) else lambda x: 0.0


@njit(**INTERNAL_OPTIONS)
def _write_array_record(calculate, pull, sizes, a, b, results, saved):  # type: ignore[no-untyped-def]
    """Write an array record behind the tape without pushing it: (its last record, which operands have variables)."""
    header = arena()
    first = word(header, USED)
    of_z = first + a.size + b.size
    last = of_z + results + (saved + NUMBERS - 1) // NUMBERS + 1
    reserve_cells(header, last + 1)
    active = _copy_elements(header, first, a) * OF_A + _copy_elements(header, first + a.size, b) * OF_B
    at = word(header, RECORDS)
    words = integers_at(at, (last + 1, NUMBERS))
    cells = short_integers_at(at, (last + 1, 2 * NUMBERS))
    words[last - 1, 0], words[last - 1, 1] = pull, sizes[0]
    cells[last - 1, 4], cells[last - 1, 5] = first, of_z
    words[last, 0], words[last, 1] = sizes[1], sizes[2]
    cells[last, 4], cells[last, 5] = word(header, ARRAY_RECORD), active
    call_kernel(calculate, header, last)
    return last, active


@njit(**INTERNAL_OPTIONS)
def push_array_record(calculate, pull, sizes, a, b, results, saved):  # type: ignore[no-untyped-def]
    """The results of an operation as a vector of variables, by an array record unless all elements are constants.

    `calculate` and `pull` are the addresses of the kernels of the values and of the adjoints; `results` and `saved` are
    the numbers of results and of saved numbers.
    """
    last, active = _write_array_record(calculate, pull, sizes, a, b, results, saved)
    made = _zero_variables(results)
    header = arena()
    of_z = word(header, USED) + a.size + b.size
    numbers = array_at(word(header, RECORDS), (last + 1, NUMBERS))
    for k in range(results):
        made[k] = variable(numbers[of_z + k, 0], of_z + k if active else 0, header if active else 0)
    if active:
        set_word(header, ARRAY_RECORD, last)
        set_word(header, USED, last + 1)
    return made


@njit(**INTERNAL_OPTIONS)
def push_duals(calculate, pull, sizes, a, b, results, saved):  # type: ignore[no-untyped-def]
    """The results of an operation as a vector of duals; `calculate` is the address of the kernel of the tangents."""
    last, _ = _write_array_record(calculate, pull, sizes, a, b, results, saved)
    made = _zero_duals(results)
    header = arena()
    of_z = word(header, USED) + a.size + b.size
    numbers = array_at(word(header, RECORDS), (last + 1, NUMBERS))
    for k in range(results):
        made[k] = dual(numbers[of_z + k, 0], numbers[of_z + k, 1])
    return made


@njit(**INTERNAL_OPTIONS)
def _copy_elements(header, first, a):  # type: ignore[no-untyped-def]
    """Copy the elements of an operand to the records from `first`; returns whether any is a variable."""
    at = word(header, RECORDS)
    numbers = array_at(at, (first + a.size, NUMBERS))
    cells = short_integers_at(at, (first + a.size, 2 * NUMBERS))
    found = 0
    k = first
    for element in a.flat:
        cell = cell_of(element)
        found |= cell
        numbers[k, 0] = value(element)
        numbers[k, 1] = tangent_of(element)
        cells[k, 4] = cell
        cells[k, 5] = 0
        k += 1
    return found != 0


# ---- writes of the kernels of values and tangents --------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def write_elements(header, first, z, place):  # type: ignore[no-untyped-def]
    """Write results, or their tangents if `place` is TANGENT, to the records from `first`; returns the next record."""
    numbers = array_at(word(header, RECORDS), (first + z.size, NUMBERS))
    k = first
    for element in z.flat:
        numbers[k, place] = element
        k += 1
    return k


# ---- reads of kernels ------------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def read_array_record(header, record):  # type: ignore[no-untyped-def]
    """(last record of the array record before, first cell, first cell of the results, kernel) of one that ends here."""
    at = word(header, RECORDS)
    words = integers_at(at, (record + 1, NUMBERS))
    cells = short_integers_at(at, (record + 1, 2 * NUMBERS))
    previous, first, of_z = np.int64(cells[record, 4]), np.int64(cells[record - 1, 4]), np.int64(cells[record - 1, 5])
    return previous, first, of_z, words[record - 1, 0]


@njit(**INTERNAL_OPTIONS)
def sizes_of(header, record):  # type: ignore[no-untyped-def]
    """(its three sizes, which operands have variables)"""
    at = word(header, RECORDS)
    words = integers_at(at, (record + 1, NUMBERS))
    cells = short_integers_at(at, (record + 1, 2 * NUMBERS))
    return words[record - 1, 1], words[record, 0], words[record, 1], cells[record, 5]


@njit(**INTERNAL_OPTIONS)
def read_elements(header, first, made, place):  # type: ignore[no-untyped-def]
    """Write the VALUE or the TANGENT of operands or results whose records begin at `first` into an array in C order."""
    flat = array_at(made.ctypes.data, made.size)
    numbers = array_at(word(header, RECORDS), (first + flat.size, NUMBERS))
    for k in range(flat.size):
        flat[k] = numbers[first + k, place]
    return made


@njit(**INTERNAL_OPTIONS)
def values_at(header, first, n):  # type: ignore[no-untyped-def]
    """A view of the values of n records from `first` on."""
    return array_at(word(header, RECORDS), (first + n, NUMBERS))[first:, VALUE]


@njit(**INTERNAL_OPTIONS)
def take_adjoint(header, cell):  # type: ignore[no-untyped-def]
    """Return the adjoint of a cell, and set it to zero."""
    adjoint = array_at(word(header, ADJOINTS), cell + 1)
    d, adjoint[cell] = adjoint[cell], 0.0
    return d


@njit(**INTERNAL_OPTIONS)
def take_adjoints(header, first, made):  # type: ignore[no-untyped-def]
    """Move the adjoints of the cells from `first` into an array in C order, and leave zeros."""
    flat = array_at(made.ctypes.data, made.size)
    adjoint = array_at(word(header, ADJOINTS), first + flat.size)
    for k in range(flat.size):
        flat[k] = adjoint[first + k]
        adjoint[first + k] = 0.0
    return made


@njit(**INTERNAL_OPTIONS)
def take_pairs(header, first, shape):  # type: ignore[no-untyped-def]
    """Move the adjoints of pairs, whose cells begin at `first`, into an array for each part, and leave zeros."""
    both = take_adjoints(header, first, np.empty(shape + (2,)))  # noqa: RUF005  (Numba)
    return both[..., 0].copy(), both[..., 1].copy()


@njit(**INTERNAL_OPTIONS)
def place_of_saved(header, first, start):  # type: ignore[no-untyped-def]
    """The address of saved number `start`, where the records of saved numbers begin at `first`."""
    return word(header, RECORDS) + 8 * (NUMBERS * first + start)


@njit(**INTERNAL_OPTIONS)
def add_to_operand(header, first, x_bar):  # type: ignore[no-untyped-def]
    """Add x_bar to the adjoints of the operand whose records begin at `first`."""
    cells = short_integers_at(word(header, RECORDS), (first + x_bar.size, 2 * NUMBERS))
    adjoint = array_at(word(header, ADJOINTS), first + x_bar.size)
    k = first
    for element in x_bar.flat:
        adjoint[cells[k, 4]] += element
        k += 1
    adjoint[0] = 0.0


@njit(**INTERNAL_OPTIONS)
def has_adjoints(header, first, end):  # type: ignore[no-untyped-def]
    """Whether an adjoint of the cells from `first` up to `end` is not zero."""
    adjoint = array_at(word(header, ADJOINTS), end)
    return np.any(adjoint[first:end])


# ---- kernels ---------------------------------------------------------------------------------------------------------
# A kernel of adjoints is compiled with the first operation that needs it, and has its own file on disk: it is part
# neither of the sweep nor of a derivative. The machine code of an operation finds its address by name, and writes it to
# the tape.
_ARGUMENTS = (types.int64, types.int64)
_SIGNATURE = types.none(*_ARGUMENTS)
NAMES: set[str] = set()  # of all kernels


def find_kernel(name: str) -> int:
    """The address of a kernel, compiled or loaded."""
    return compiled_address(name, _SIGNATURE)


def address_of_kernel(function: Callable[..., Any]) -> Callable[[], int]:
    """An njit function that gives the address of a kernel, which is a function of a module.

    A kernel takes the address of the arena and the last record of an array record. It propagates the adjoints of the
    results to the cells of the operands, and leaves the adjoints of the results zero.
    """
    NAMES.add(name_of(function))

    @intrinsic
    def address(typingctx):  # type: ignore[no-untyped-def]
        """The address of the compiled kernel."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return emit_address(context, builder, find_kernel, name_of(function))

        return types.int64(), codegen

    made: Callable[[], int] = address
    return made


@intrinsic
def call_kernel(typingctx, address, header, record):  # type: ignore[no-untyped-def]
    """Call the kernel at an address, and raise its exceptions."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emit_call(context, builder, args[0], _SIGNATURE, args[1:])
        return context.get_dummy_value()

    return types.none(types.int64, *_ARGUMENTS), codegen
