"""The operator `@` of array variables as machine code, for factors of few numbers.

The code computes the product by NumPy's own function, in the slab, and pushes the record into the stream, as the method
does (`contad.engines.matrix.matrix_products`). All other cases call the method: arrays that are not contiguous runs of
cells, constants seen for the first time, large products, errors.
"""


import numpy as np
from numba import types

from contad.compile.machine_code import njit
from contad.compile.words import array_at, set_word, word
from contad.python_objects import laid_arrays as laid
from contad.python_objects.laid_records import (
    OPTIONS,
    append,
    call_python,
    decrease,
    increase,
    lay,
    make_room,
    new_float,
    new_object,
)
from contad.python_objects.python_functions import as_integer, clear, from_integer, python_function
from contad.python_objects.python_objects import KIND, LENGTH
from contad.python_objects.slot_entries import keep, write_entry

# After the common words of the table: the head of a product without its cells, its increment for each cell, the head
# for two vectors; the maximal number of multiplications; Python methods; room for the lengths of a new array.
HEAD, CELLS, DOT, MOST, FORWARD, REFLECTED, EXTENTS, _, SIZE = range(laid.COMMON, laid.COMMON + 9)

_FIELDS, _FIELDS_OF_DOT = 11, 2  # of the shape of a record
_TUPLE = 3  # the word of the first item of a tuple
_new_tuple = python_function("PyTuple_New", types.int64, types.int64)
_find = python_function("PyDict_GetItemWithError", types.int64, types.int64, types.int64)
call_class = python_function("PyObject_CallNoArgs", types.int64, types.int64)


@njit(**OPTIONS)
def _read(table, a, b):  # type: ignore[no-untyped-def]
    """The parts of a product; no class of a result if Python has to decide."""
    nothing = 0, 0, 0, 0, 0, 0, 0, 0, 0
    arrays = word(table, laid.ARRAY_CLASS)
    if word(a, KIND) != arrays:
        return nothing
    x_cell, y_cell = laid.cell_of(table, a), 0
    x, y, s = word(a, word(table, laid.VALUE)), b, word(a, word(table, laid.OWNER))
    if x_cell == 0 or s == 0 or word(s, KIND) != word(table, laid.STACK_CLASS):
        return nothing
    if word(b, KIND) == arrays:
        y_cell, y = laid.cell_of(table, b), word(b, word(table, laid.VALUE))
        if y_cell == 0 or word(b, word(table, laid.OWNER)) != s:
            return nothing
    if not laid.has_numbers(table, x) or not laid.has_numbers(table, y) or laid.axes_of(x) > 2 or laid.axes_of(y) > 2:
        return nothing
    p, n = laid.length_of(x, laid.axes_of(x) - 1), _rows(x) * _columns(y)
    if p != laid.length_of(y, 0) or n == 0 or p == 0 or n * p > word(table, MOST) or not laid.is_recording(table, s):
        return nothing
    cls = arrays if laid.axes_of(x) + laid.axes_of(y) > 2 else word(table, laid.NUMPY_CLASS)
    if cls != arrays and word(s, word(table, laid.VAR_CLASS)) != cls:
        return nothing
    constant, y_at, y_is_turned = 0, 0, int(y_cell < 0)
    if y_cell == 0:
        key = from_integer(y) if cls == arrays else 0
        if key == 0:
            clear()
            return nothing
        # constant, place, whether transposed, whether in C order
        factor = _find(word(word(s, word(table, laid.BUFFERS)), word(table, laid.FACTORS)), key)
        decrease(key)
        if factor == 0 or word(factor, _TUPLE + 3) != word(table, laid.TRUE):
            return nothing
        constant, y_at = word(factor, _TUPLE), as_integer(word(factor, _TUPLE + 1))
        y_is_turned = int(word(factor, _TUPLE + 2) == word(table, laid.TRUE))
    return cls, s, x, y, x_cell, y_cell, constant, y_at, y_is_turned


@njit(**OPTIONS)
def _rows(x):  # type: ignore[no-untyped-def]
    """The length of the first axis of the first factor of two, or 1 for a vector."""
    return laid.length_of(x, 0) if laid.axes_of(x) == 2 else 1


@njit(**OPTIONS)
def _columns(y):  # type: ignore[no-untyped-def]
    """The length of the last axis of the second factor of two, or 1 for a vector."""
    return laid.length_of(y, 1) if laid.axes_of(y) == 2 else 1


@njit(**OPTIONS)
def _attempt(table, a, b):  # type: ignore[no-untyped-def]
    """The product, or 0 without side effects if Python has to decide.

    Making objects may start Python's garbage collector, whose finalizers may write to arrays. So this reads values
    again afterwards.
    """
    cls, _, _, _, _, _, constant, _, _ = _read(table, a, b)
    if cls == 0:
        return 0
    found = new_object(cls, 0) if cls == word(table, laid.NUMPY_CLASS) else call_class(cls)
    kept = _new_tuple(2) if constant != 0 else 0
    is_done = found != 0 and (constant == 0 or kept != 0) and _lay_product(table, a, b, cls, constant, found, kept)
    if kept != 0:
        decrease(kept)
    if is_done:
        return found
    clear()
    if found != 0:
        decrease(found)
    return 0


@njit(**OPTIONS)
def _lay_product(table, a, b, cls, constant, found, kept):  # type: ignore[no-untyped-def]
    """Compute a product and push its record, into the still empty result and the tuple for a constant."""
    cls_now, s, x, y, x_cell, y_cell, constant_now, y_at, y_is_turned = _read(table, a, b)
    if cls_now != cls or constant_now != constant:
        return False
    stream, slab = word(s, word(table, laid.STREAM)), word(s, word(table, laid.SLAB))
    buffers = word(s, word(table, laid.BUFFERS))
    is_number = cls != word(table, laid.ARRAY_CLASS)
    x_axes, y_axes, rows, columns, p = laid.axes_of(x), laid.axes_of(y), _rows(x), _columns(y), laid.length_of(y, 0)
    n, axes = rows * columns, x_axes + y_axes - 2
    top = word(s, word(table, laid.TOP))
    first, slot = laid.integer_of(table, top), laid.integer_of(table, word(buffers, word(table, laid.SHAPES_TOP)))
    fields = _FIELDS_OF_DOT if is_number else _FIELDS
    if (
        first <= 0 or slot <= 0 or first + n > laid.integer_of(table, word(s, word(table, laid.BRIM)))
        or (is_number and first >= laid.integer_of(table, word(s, word(table, laid.LIMIT))))
        or slot + fields > laid.length_of(word(buffers, word(table, laid.SHAPES)), 0)
        or not make_room(stream, word(table, laid.ZERO))
    ):  # fmt: skip
        return False
    set_word(table, EXTENTS, rows if x_axes == 2 else columns)
    set_word(table, EXTENTS + 1, columns)
    z = laid.array_of(table, slab, first, axes, table + 8 * EXTENTS)
    if z == 0:
        return False
    again = laid.call_address(word(table, laid.MULTIPLY), (x, y, z))
    if again == 0:
        decrease(z)
        return False
    decrease(again)
    # new objects: numbers of the record and of the result, and the continuation of a constant
    head = from_integer(word(table, DOT) if is_number else word(table, HEAD) - word(table, CELLS) * n)
    place, end, after = from_integer(slot), from_integer(first + n), from_integer(slot + fields)
    callbacks = word(s, word(table, laid.CALLBACKS))
    if is_number:
        k = from_integer(x_cell)
        span = new_float(array_at(word(slab, laid.DATA) + 8 * first, 1)[0])
    else:
        k = from_integer(word(callbacks, LENGTH) if constant != 0 else -slot)
        span = from_integer(n if axes == 1 else 0)
    is_whole = head != 0 and place != 0 and end != 0 and after != 0 and k != 0 and span != 0
    if is_whole and constant != 0:
        increase(place)
        increase(constant)
        set_word(kept, _TUPLE, place)
        set_word(kept, _TUPLE + 1, constant)
        is_whole = append(callbacks, kept) == 0
    if not is_whole:
        for made in (head, place, end, after, k, span, z):
            if made != 0:
                decrease(made)
        return False
    shape = word(word(buffers, word(table, laid.SHAPES)), laid.DATA) + 8 * slot
    if is_number:
        set_word(shape, 0, y_cell)
        set_word(shape, 1, p)
        decrease(z)
        set_word(found, word(table, laid.NUMBER_VALUE), span)
        set_word(found, word(table, laid.NUMBER_OWNER), s)
        set_word(found, word(table, laid.NUMBER_INDEX), top)  # the reference that the stack held
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
        increase(word(table, laid.NONE))
        set_word(found, word(table, laid.VALUE), z)
        set_word(found, word(table, laid.OWNER), s)
        set_word(found, word(table, laid.INDEX), top)
        set_word(found, word(table, laid.BASE), word(table, laid.NONE))
        set_word(found, word(table, laid.SPAN), span)
    increase(s)
    before = word(buffers, word(table, laid.SHAPES_TOP))
    set_word(buffers, word(table, laid.SHAPES_TOP), after)
    decrease(before)
    set_word(s, word(table, laid.TOP), end)
    increase(word(table, laid.ZERO))
    lay(stream, head, k, place, word(table, laid.ZERO))
    return True


def multiply_matrices(table, a, b):  # type: ignore[no-untyped-def]
    """a @ b with at least one array variable; 0 if Python has raised."""
    found = _attempt(table, a, b)
    if found != 0:
        return found
    if word(a, KIND) == word(table, laid.ARRAY_CLASS):
        return call_python(word(table, FORWARD), 2, a, b)
    return call_python(word(table, REFLECTED), 2, b, a)


def make_product_entry(classes: laid.Classes, heads: tuple[int, int, int], most: int) -> int:
    """The address of machine code for `@` of a class of array variables. It calls the present methods of the class.

    heads    of the record of a product, without its cells; the increment for each cell; of the product of two vectors
    most     multiplications in a product with the record of a small product
    """
    methods = [getattr(classes.array, name) for name in ("__matmul__", "__rmatmul__")]
    table = np.array([*laid.describe(classes), *heads, most, *map(id, methods), 0, 0], np.int64)
    assert len(table) == SIZE
    keep(table, methods)
    return write_entry(multiply_matrices, table, [True, True], [None, None])
