"""Array variables in the slab of a stack: machine code makes them and reads them.

The table of each operator begins with the facts about classes and NumPy that this code needs.
"""

import threading
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from contad.compile.array_objects import published_functions
from contad.compile.emitting import cgutils, ir
from contad.compile.machine_code import njit
from contad.compile.words import WORD, word
from contad.python_objects.laid_records import OPTIONS, decrease, increase, is_open
from contad.python_objects.python_functions import as_integer, clear
from contad.python_objects.python_objects import KIND, places_of, read_word

(
    ARRAY_CLASS, FLOAT_CLASS, NUMPY_CLASS, STACK_CLASS, BUFFERS_CLASS, LOCK_CLASS, BUILTIN_CLASS, FLOAT, INT, FLOAT64,
    NDARRAY, DESCRIPTION, NONE, TRUE, ZERO,  # objects: a record's value is 0.0 where its values are in the slab
    OWNER, VALUE, INDEX, BASE, SPAN, NUMBER_OWNER, NUMBER_VALUE, NUMBER_INDEX,  # the words of attributes
    PUSH, STREAM, TOP, BRIM, LIMIT, LOCK, BUFFERS, SLAB, CALLBACKS, VAR_CLASS, SHAPES, SHAPES_TOP, FACTORS,
    NEW_ARRAY, SET_BASE, MULTIPLY,  # NumPy functions
    COMMON,
) = range(40)  # fmt: skip

DATA, AXES, LENGTHS, KIND_OF_NUMBERS, FLAGS = 2, 3, 4, 7, 8  # words of NumPy's arrays
PLAIN = 0x101  # flags: in C order and aligned
_IN_C_ORDER = 0x501  # likewise and writable: NumPy's NPY_ARRAY_CARRAY
_HALF = 0xFFFFFFFF  # the position of a C int in a word
# functions in NumPy's table: PyArray_NewFromDescr, PyArray_SetBaseObject, PyArray_MatrixProduct2
_CREATE, _REBASE, _DOT = 94, 282, 280


class Classes(NamedTuple):
    """The classes that machine code knows."""

    array: Any
    number: Any  # of a variable that stands for a Python float
    numpy_number: Any
    stack: Any
    buffers: Any


def describe(classes: Classes) -> list[int]:
    """The beginning of a table."""
    array, number, _, stack, buffers = classes
    known: tuple[object, ...] = (type(threading.RLock()), type([].extend), float, int, np.float64)
    return [
        *map(id, (*classes, *known, np.ndarray, np.dtype(np.float64), None, True, ZERO_OBJECT)),
        *places_of(array, "_owner", "_value", "_index", "_base", "_length"),
        *places_of(number, "_owner", "_value", "_index"),
        *places_of(stack, "push", "stream", "top", "brim", "limit", "lock", "buffers", "slab", "callbacks"),
        *places_of(stack, "var_class"), *places_of(buffers, "shapes", "shapes_top", "factors"),
        *published_functions(_CREATE, _REBASE, _DOT),
    ]  # fmt: skip


ZERO_OBJECT = 0.0


def has_known_arrays() -> bool:
    """Whether NumPy's arrays have the memory layout that this code reads."""
    a = np.arange(6.0).reshape(2, 3)
    at = id(a)
    words = [read_word(at, k) for k in (DATA, KIND_OF_NUMBERS)], read_word(at, AXES) & _HALF
    lengths = [read_word(read_word(at, LENGTHS), k) for k in range(2)]
    flags = [read_word(id(x), FLAGS) & PLAIN for x in (a, a.T)]
    return words == ([a.ctypes.data, id(a.dtype)], 2) and lengths == [2, 3] and flags == [PLAIN, PLAIN & ~1]


# ---- machine code ----------------------------------------------------------------------------------------------------
@intrinsic
def call_address(typingctx, address, args):  # type: ignore[no-untyped-def]
    """Call the C function of words at an address."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        given = cgutils.unpack_tuple(builder, args[1])
        function = ir.FunctionType(WORD, [WORD] * len(given)).as_pointer()
        return builder.call(builder.inttoptr(args[0], function), given)

    return types.int64(types.int64, args), codegen


@njit(**OPTIONS)
def axes_of(x):  # type: ignore[no-untyped-def]
    """The number of axes of an array."""
    return word(x, AXES) & _HALF


@njit(**OPTIONS)
def length_of(x, k):  # type: ignore[no-untyped-def]
    """The length of an axis of an array."""
    return word(word(x, LENGTHS), k)


@njit(**OPTIONS)
def integer_of(table, x):  # type: ignore[no-untyped-def]
    """An integer attribute; 0 if it is not an integer."""
    return as_integer(x) if x != 0 and word(x, KIND) == word(table, INT) else 0


@njit(**OPTIONS)
def cell_of(table, a):  # type: ignore[no-untyped-def]
    """The first cell of an array variable; for a transpose, minus the first cell of the original; 0 for other views."""
    cell, base = integer_of(table, word(a, word(table, INDEX))), word(a, word(table, BASE))
    if base == word(table, NONE):
        return max(cell, 0)
    if base == 0 or word(base, KIND) != word(table, ARRAY_CLASS):
        return 0
    if integer_of(table, word(base, word(table, INDEX))) <= 0:
        return 0
    return cell if cell > 0 else min(cell + 1, 0)


@njit(**OPTIONS)
def has_numbers(table, x):  # type: ignore[no-untyped-def]
    """Whether an object is a plain array of float64 numbers with axes."""
    if x == 0 or word(x, KIND) != word(table, NDARRAY) or word(x, KIND_OF_NUMBERS) != word(table, DESCRIPTION):
        return False
    return axes_of(x) > 0


@njit(**OPTIONS)
def is_recording(table, s):  # type: ignore[no-untyped-def]
    """Whether a stack takes records on this thread, directly into its stream."""
    push, stream, lock = word(s, word(table, PUSH)), word(s, word(table, STREAM)), word(s, word(table, LOCK))
    buffers = word(s, word(table, BUFFERS))
    return (
        is_open(push, word(table, BUILTIN_CLASS), stream, lock, word(table, LOCK_CLASS))
        and word(s, word(table, SLAB)) != 0 and buffers != 0 and word(buffers, KIND) == word(table, BUFFERS_CLASS)
    )  # fmt: skip


@njit(**OPTIONS)
def array_of(table, slab, first, axes, lengths):  # type: ignore[no-untyped-def]
    """An array of the cells from `first` on, with the lengths at an address; 0 if there is no memory."""
    description = word(table, DESCRIPTION)
    increase(description)
    cls, data = word(table, NDARRAY), word(slab, DATA) + 8 * first
    made = call_address(word(table, NEW_ARRAY), (cls, description, axes, lengths, 0, data, _IN_C_ORDER, 0))
    if made != 0:
        increase(slab)
        if call_address(word(table, SET_BASE), (made, slab)) & _HALF != 0:
            decrease(made)
            made = 0
    if made == 0:
        clear()
    return made
