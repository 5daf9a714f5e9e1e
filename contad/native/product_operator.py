"""The operator `@` of array variables as machine code, for factors of few numbers.

It makes the product by NumPy's own function, in the slab, and lays the record into the stream, as the method does
(`contad.engines.matrix.matrix_products`), to which everything else is left: arrays that are no runs of cells, constants
that have not been met, large products, errors.
"""

import ctypes
import functools
import threading
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from contad.native.laid_records import (
    OPTIONS,
    append,
    as_integer,
    call_python,
    clear,
    decrease,
    increase,
    is_open,
    lay,
    make_room,
    new_float,
    new_integer,
    new_object,
)
from contad.native.machine_code import cfunc, has_machine_code, njit
from contad.native.python_functions import python_function
from contad.native.python_objects import KIND, LENGTH, places_of, read_word
from contad.native.slot_entries import keep, write_entry
from contad.native.words import WORD, array_at, set_word, word

(
    ARRAY_CLASS, NUMBER_CLASS, STACK_CLASS, BUFFERS_CLASS, LOCK_CLASS, BUILTIN_CLASS, INT, NDARRAY, DESCRIPTION,
    NONE, TRUE, ZERO,  # objects: a record's value is 0.0 where its values are in the slab
    OWNER, VALUE, INDEX, BASE, SPAN, NUMBER_OWNER, NUMBER_VALUE, NUMBER_INDEX,  # which words attributes are
    PUSH, STREAM, TOP, BRIM, LIMIT, LOCK, BUFFERS, SLAB, CALLBACKS, VAR_CLASS,
    SHAPES, SHAPES_TOP, FACTORS,
    HEAD, CELLS, DOT, MOST,  # the head of a product without its cells, what a cell adds, that of two vectors; `MOST`
    FORWARD, REFLECTED, NEW_ARRAY, SET_BASE, MULTIPLY,  # methods of Python, functions of NumPy's
    EXTENTS, _, SIZE,  # room for the lengths of a new array
) = range(45)  # fmt: skip

_FIELDS, _FIELDS_OF_DOT = 11, 2  # of the shape of a record
_DATA, _AXES, _LENGTHS, _KIND_OF_NUMBERS = 2, 3, 4, 7  # words of NumPy's arrays
_TUPLE = 3  # the word where the items of a tuple begin
_IN_C_ORDER = 0x501  # NumPy's NPY_ARRAY_CARRAY: in C order, aligned, writable
_new_tuple = python_function("PyTuple_New", types.int64, types.int64)
_find = python_function("PyDict_GetItemWithError", types.int64, types.int64, types.int64)
_call_class = python_function("PyObject_CallNoArgs", types.int64, types.int64)


@intrinsic
def _call_address(typingctx, address, args):  # type: ignore[no-untyped-def]
    """Call the C function of words at an address."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        given = cgutils.unpack_tuple(builder, args[1])
        function = ir.FunctionType(WORD, [WORD] * len(given)).as_pointer()
        return builder.call(builder.inttoptr(args[0], function), given)

    return types.int64(types.int64, args), codegen


@njit(**OPTIONS)
def _length(x, k):  # type: ignore[no-untyped-def]
    """The length of an axis of an array."""
    return word(word(x, _LENGTHS), k)


@njit(**OPTIONS)
def _integer(table, x):  # type: ignore[no-untyped-def]
    """An attribute that is an integer; 0 where it is none."""
    return as_integer(x) if x != 0 and word(x, KIND) == word(table, INT) else 0


@njit(**OPTIONS)
def _cell_of(table, a):  # type: ignore[no-untyped-def]
    """The first cell of an array variable, or minus that of the array that it is the transpose of; 0 if neither."""
    cell, base = _integer(table, word(a, word(table, INDEX))), word(a, word(table, BASE))
    if base == word(table, NONE):
        return max(cell, 0)
    if base == 0 or word(base, KIND) != word(table, ARRAY_CLASS):
        return 0
    if _integer(table, word(base, word(table, INDEX))) <= 0:
        return 0
    return cell if cell > 0 else min(cell + 1, 0)


@njit(**OPTIONS)
def _is_matrix(table, x):  # type: ignore[no-untyped-def]
    """Whether an object is a plain array of float64 numbers with one axis or two."""
    if x == 0 or word(x, KIND) != word(table, NDARRAY) or word(x, _KIND_OF_NUMBERS) != word(table, DESCRIPTION):
        return False
    return 0 < (word(x, _AXES) & 0xFFFFFFFF) <= 2


@njit(**OPTIONS)
def _array_of(table, slab, first, axes):  # type: ignore[no-untyped-def]
    """An array of the cells from `first` on, of the lengths in the table; 0 where there is no memory."""
    description = word(table, DESCRIPTION)
    increase(description)
    cls, data, lengths = word(table, NDARRAY), word(slab, _DATA) + 8 * first, table + 8 * EXTENTS
    made = _call_address(word(table, NEW_ARRAY), (cls, description, axes, lengths, 0, data, _IN_C_ORDER, 0))
    if made != 0:
        increase(slab)
        if _call_address(word(table, SET_BASE), (made, slab)) & 0xFFFFFFFF != 0:
            decrease(made)
            made = 0
    if made == 0:
        clear()
    return made


@njit(**OPTIONS)
def _attempt(table, a, b):  # type: ignore[no-untyped-def]
    """The product, or 0 where Python has to look, with nothing done."""
    arrays = word(table, ARRAY_CLASS)
    if word(a, KIND) != arrays:
        return 0
    x_cell, y_cell = _cell_of(table, a), 0
    x, y, s = word(a, word(table, VALUE)), b, word(a, word(table, OWNER))
    if x_cell == 0 or s == 0 or word(s, KIND) != word(table, STACK_CLASS):
        return 0
    if word(b, KIND) == arrays:
        y_cell, y = _cell_of(table, b), word(b, word(table, VALUE))
        if y_cell == 0 or word(b, word(table, OWNER)) != s:
            return 0
    if not _is_matrix(table, x) or not _is_matrix(table, y):
        return 0
    x_axes, y_axes = word(x, _AXES) & 0xFFFFFFFF, word(y, _AXES) & 0xFFFFFFFF
    p = _length(x, x_axes - 1)
    rows, columns = _length(x, 0) if x_axes == 2 else 1, _length(y, 1) if y_axes == 2 else 1
    n, axes = rows * columns, x_axes + y_axes - 2
    if p != _length(y, 0) or n == 0 or p == 0 or n * p > word(table, MOST):
        return 0
    push, lock, stream = word(s, word(table, PUSH)), word(s, word(table, LOCK)), word(s, word(table, STREAM))
    buffers, slab = word(s, word(table, BUFFERS)), word(s, word(table, SLAB))
    if not is_open(push, word(table, BUILTIN_CLASS), stream, lock, word(table, LOCK_CLASS)):
        return 0
    if buffers == 0 or word(buffers, KIND) != word(table, BUFFERS_CLASS) or slab == 0:
        return 0
    y_at, y_is_turned, constant = 0, y_cell < 0, 0
    if y_cell == 0:
        if axes == 0:
            return 0
        key = new_integer(y)
        if key == 0:
            clear()
            return 0
        factor = _find(word(buffers, word(table, FACTORS)), key)  # constant, place, whether turned, whether in order
        decrease(key)
        if factor == 0 or word(factor, _TUPLE + 3) != word(table, TRUE):
            return 0
        constant, y_at = word(factor, _TUPLE), as_integer(word(factor, _TUPLE + 1))
        y_is_turned = word(factor, _TUPLE + 2) == word(table, TRUE)
    is_number = axes == 0
    cls = word(table, NUMBER_CLASS) if is_number else arrays
    if is_number and word(s, word(table, VAR_CLASS)) != cls:
        return 0
    found = new_object(cls, 0) if is_number else _call_class(cls)  # Python's collector may run here, and not below
    if found == 0:
        clear()
        return 0
    top = word(s, word(table, TOP))
    first, slot = _integer(table, top), _integer(table, word(buffers, word(table, SHAPES_TOP)))
    fields = _FIELDS_OF_DOT if is_number else _FIELDS
    if (
        first <= 0 or slot <= 0 or first + n > _integer(table, word(s, word(table, BRIM)))
        or (is_number and first >= _integer(table, word(s, word(table, LIMIT))))
        or slot + fields > _length(word(buffers, word(table, SHAPES)), 0)
        or not make_room(stream, word(table, ZERO))
    ):  # fmt: skip
        decrease(found)
        return 0
    set_word(table, EXTENTS, rows if x_axes == 2 else columns)
    set_word(table, EXTENTS + 1, columns)
    z = _array_of(table, slab, first, axes)
    if z == 0:
        decrease(found)
        return 0
    again = _call_address(word(table, MULTIPLY), (x, y, z))
    if again == 0:
        clear()
        decrease(z)
        decrease(found)
        return 0
    decrease(again)
    # what is new: numbers of the record and of the result, and the continuation of a constant
    head = new_integer(word(table, DOT) if is_number else word(table, HEAD) - word(table, CELLS) * n)
    place, end, after = new_integer(slot), new_integer(first + n), new_integer(slot + fields)
    callbacks = word(s, word(table, CALLBACKS))
    if is_number:
        k = new_integer(x_cell)
        span = new_float(array_at(word(slab, _DATA) + 8 * first, 1)[0])
    else:
        k = new_integer(word(callbacks, LENGTH) if constant != 0 else -slot)
        span = new_integer(n if axes == 1 else 0)
    kept = _new_tuple(2) if constant != 0 else 0
    is_whole = head != 0 and place != 0 and end != 0 and after != 0 and k != 0 and span != 0
    if is_whole and constant != 0:
        is_whole = kept != 0
        if is_whole:
            increase(place)
            increase(constant)
            set_word(kept, _TUPLE, place)
            set_word(kept, _TUPLE + 1, constant)
            is_whole = append(callbacks, kept) == 0
    if kept != 0:
        decrease(kept)
    if not is_whole:
        clear()
        for x in (head, place, end, after, k, span, z, found):
            if x != 0:
                decrease(x)
        return 0
    shape = word(word(buffers, word(table, SHAPES)), _DATA) + 8 * slot
    if is_number:
        set_word(shape, 0, y_cell)
        set_word(shape, 1, p)
        decrease(z)
        set_word(found, word(table, NUMBER_VALUE), span)
        set_word(found, word(table, NUMBER_OWNER), s)
        set_word(found, word(table, NUMBER_INDEX), top)  # the reference that the stack has had
    else:
        set_word(shape, 0, first)
        set_word(shape, 1, rows)
        set_word(shape, 2, columns)
        set_word(shape, 3, 0)
        set_word(shape, 4, abs(x_cell))
        set_word(shape, 5, y_at)
        set_word(shape, 6, abs(y_cell))
        set_word(shape, 7, p)
        set_word(shape, 8, x_cell < 0)
        set_word(shape, 9, y_is_turned)
        set_word(shape, 10, 10 * x_axes + y_axes)
        increase(word(table, NONE))
        set_word(found, word(table, VALUE), z)
        set_word(found, word(table, OWNER), s)
        set_word(found, word(table, INDEX), top)
        set_word(found, word(table, BASE), word(table, NONE))
        set_word(found, word(table, SPAN), span)
    increase(s)
    before = word(buffers, word(table, SHAPES_TOP))
    set_word(buffers, word(table, SHAPES_TOP), after)
    decrease(before)
    set_word(s, word(table, TOP), end)
    increase(word(table, ZERO))
    lay(stream, head, k, place, word(table, ZERO))
    return found


def _operate(table, a, b):  # type: ignore[no-untyped-def]
    """a @ b, at least one of which is an array variable; 0 where Python has raised."""
    found = _attempt(table, a, b)
    if found != 0:
        return found
    if word(a, KIND) == word(table, ARRAY_CLASS):
        return call_python(word(table, FORWARD), 2, a, b)
    return call_python(word(table, REFLECTED), 2, b, a)


@functools.cache
def _compile() -> int:
    """The address of `_operate`, compiled or loaded."""
    return int(cfunc("int64(int64, int64, int64)", cache=True, **OPTIONS)(_operate).address)


def is_on_disk() -> bool:
    """Whether the machine code has been compiled before."""
    return has_machine_code(_operate)


# functions in NumPy's table: PyArray_NewFromDescr, PyArray_SetBaseObject, PyArray_MatrixProduct2
_CREATE, _REBASE, _DOT = 94, 282, 280


def _functions_of_numpy() -> list[int]:
    """The addresses of NumPy's functions, which it publishes for modules in C."""
    read_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    read_pointer.restype, read_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    published: Any = np._core.multiarray._ARRAY_API  # type: ignore[attr-defined]
    address = read_pointer(published, None)
    return [read_word(address, k) for k in (_CREATE, _REBASE, _DOT)]


def has_known_arrays() -> bool:
    """Whether NumPy's arrays and functions lie as they are read here."""
    a = np.arange(6.0).reshape(2, 3)
    at = id(a)
    words = [read_word(at, k) for k in (_DATA, _KIND_OF_NUMBERS)], read_word(at, _AXES) & 0xFFFFFFFF
    lengths = [read_word(read_word(at, _LENGTHS), k) for k in range(2)]
    return words == ([a.ctypes.data, id(a.dtype)], 2) and lengths == [2, 3]


def make_product_entry(
    array_class: type[Any], number_class: type[Any], stack_class: type[Any], buffers_class: type[Any],
    heads: tuple[int, int, int], most: int,
) -> int:  # fmt: skip
    """The address of machine code for `@` of a class of array variables, which calls its methods as they are.

    heads    of the record of a product, without its cells; what a cell adds; of the product of two vectors
    most     multiplications, up to which the record is that of a small product
    """
    methods = [getattr(array_class, name) for name in ("__matmul__", "__rmatmul__")]
    zero = 0.0
    known: tuple[object, ...] = (type(threading.RLock()), type([].extend), int, np.ndarray, np.dtype(np.float64))
    table = np.array([
        *map(id, (array_class, number_class, stack_class, buffers_class, *known, None, True, zero)),
        *places_of(array_class, "_owner", "_value", "_index", "_base", "_length"),
        *places_of(number_class, "_owner", "_value", "_index"),
        *places_of(stack_class, "push", "stream", "top", "brim", "limit", "lock", "buffers", "slab", "callbacks"),
        *places_of(stack_class, "var_class"), *places_of(buffers_class, "shapes", "shapes_top", "factors"),
        *heads, most, *map(id, methods), *_functions_of_numpy(), 0, 0,
    ], np.int64)  # fmt: skip
    assert len(table) == SIZE
    keep(table, methods, zero)
    return write_entry(_compile(), table, [True, True], [None, None])
