"""Operators of small array variables as machine code: with one of the same shape, with a number, with a variable.

The code evaluates in the slab and pushes the record into the stream, as the method does
(`contad.engines.matrix.array_operators`). All other cases call the method. So do results that are not finite or have
lost digits to underflow, because NumPy warns its user of those.
"""

import math
from collections.abc import Sequence

import numpy as np

from contad.compile.machine_code import njit
from contad.compile.words import array_at, set_word, word
from contad.python_objects import laid_arrays as laid
from contad.python_objects.laid_records import (
    OPTIONS,
    call_python,
    decrease,
    increase,
    lay,
    make_room,
    new_float,
    number_of,
)
from contad.python_objects.product_operator import call_class
from contad.python_objects.python_functions import as_double, clear, from_integer, raised
from contad.python_objects.python_objects import KIND, NUMBER
from contad.python_objects.slot_entries import keep, write_entry

BINARY = ("add", "sub", "mul", "truediv")
OPERATORS = (*BINARY, "neg", "abs")
_ADD, _SUB, _MUL, _TRUEDIV, _NEG, _ABS = range(len(OPERATORS))
# The kinds of operands, in the order of the heads of their records: two arrays, an array and a number, a number and an
# array, an array and a variable, a variable and an array. A single array counts as the first kind.
FORMS = ("vv", "vy", "yv", "vs", "sv")
_ARRAYS, _Y_NUMBER, _X_NUMBER, _Y_CELL, _X_CELL = range(len(FORMS))
# after the common words of a table: the operator, the number of operands, the heads, their increment for each cell,
# Python methods
OPERATION, ARITY, HEADS, _, _, _, _, CELLS, FORWARD, REFLECTED, SIZE = range(laid.COMMON, laid.COMMON + 11)

MOST = 512  # numbers: above this NumPy's function takes less time
_SMALLEST = 2.2250738585072014e-308  # smallest number with all digits


@njit(**OPTIONS)
def _evaluate(operation, x, stride_x, y, stride_y, z):  # type: ignore[no-untyped-def]
    """Write the results; return whether NumPy would not warn of them."""
    is_plain = True
    if operation == _ADD:
        for k in range(z.size):
            z[k] = x[k * stride_x] + y[k * stride_y]
            is_plain &= abs(z[k]) < math.inf
    elif operation == _SUB:
        for k in range(z.size):
            z[k] = x[k * stride_x] - y[k * stride_y]
            is_plain &= abs(z[k]) < math.inf
    elif operation == _MUL:
        for k in range(z.size):
            p, q = x[k * stride_x], y[k * stride_y]
            z[k] = p * q
            is_plain &= abs(z[k]) < math.inf and (abs(z[k]) >= _SMALLEST or p == 0.0 or q == 0.0)
    elif operation == _TRUEDIV:
        for k in range(z.size):
            p, q = x[k * stride_x], y[k * stride_y]
            z[k] = p / q
            is_plain &= abs(z[k]) < math.inf and (abs(z[k]) >= _SMALLEST or p == 0.0)
    elif operation == _NEG:
        for k in range(z.size):
            z[k] = -x[k]
    else:
        for k in range(z.size):
            z[k] = abs(x[k])
    return is_plain


@njit(**OPTIONS)
def _is_direct(table, a, s):  # type: ignore[no-untyped-def]
    """Whether an array variable of a stack is a contiguous run of cells, in C order."""
    if laid.cell_of(table, a) <= 0 or word(a, word(table, laid.OWNER)) != s:
        return False
    x = word(a, word(table, laid.VALUE))
    return laid.has_numbers(table, x) and word(x, laid.FLAGS) & laid.PLAIN == laid.PLAIN


@njit(**OPTIONS)
def _have_one_shape(x, y):  # type: ignore[no-untyped-def]
    """Whether two arrays have the same lengths."""
    found = laid.axes_of(x) == laid.axes_of(y)
    for k in range(laid.axes_of(x) if found else 0):
        found &= laid.length_of(x, k) == laid.length_of(y, k)
    return found


@njit(**OPTIONS)
def _read(table, a, b):  # type: ignore[no-untyped-def]
    """The parts of an operation; no numbers in the result if Python has to decide.

    For the other operand: the number or the array that is its value, the number if it is converted, whether it has one
    number for each of the result, and its entry in the record, 0 for a number object still to be made.
    """
    nothing = 0, 0, 0, 0, 0, 0.0, 0, 0
    arrays = word(table, laid.ARRAY_CLASS)
    a_is_array = word(a, KIND) == arrays
    array, other = (a, b) if a_is_array else (b, a)
    s = word(array, word(table, laid.OWNER))
    if s == 0 or word(s, KIND) != word(table, laid.STACK_CLASS) or not _is_direct(table, array, s):
        return nothing
    v = word(array, word(table, laid.VALUE))
    n = 1
    for k in range(laid.axes_of(v)):
        n *= laid.length_of(v, k)
    if n == 0 or n > MOST or not laid.is_recording(table, s):
        return nothing
    kind = word(other, KIND)
    form, value, converted, stride, field = _ARRAYS, word(table, laid.ZERO), 0.0, 0, other
    if word(table, ARITY) == 1:
        field = word(table, laid.ZERO)
    elif a_is_array and kind == arrays:
        value = word(other, word(table, laid.VALUE))
        if not _is_direct(table, other, s) or not _have_one_shape(v, value):
            return nothing
        stride, field = 1, word(other, word(table, laid.INDEX))
    elif kind == word(table, laid.FLOAT_CLASS) or kind == word(table, laid.NUMPY_CLASS):
        form = _Y_CELL if a_is_array else _X_CELL
        value, field = word(other, word(table, laid.NUMBER_VALUE)), word(other, word(table, laid.NUMBER_INDEX))
        is_own = word(other, word(table, laid.NUMBER_OWNER)) == s
        if not is_own or value == 0 or field == 0 or word(value, KIND) != word(table, laid.FLOAT):
            return nothing
    else:
        form = _Y_NUMBER if a_is_array else _X_NUMBER
        if kind == word(table, laid.FLOAT):
            value = other
        elif kind == word(table, laid.FLOAT64):
            converted, field = number_of(other), 0
        elif kind == word(table, laid.INT):
            converted, field = as_double(other), 0
            if converted == -1.0 and raised() != 0:
                clear()
                return nothing
        else:
            return nothing
    return n, s, v, form, value, converted, stride, field


@njit(**OPTIONS)
def _attempt(table, a, b):  # type: ignore[no-untyped-def]
    """The result, or 0 without side effects if Python has to decide.

    Making the object may start Python's garbage collector, whose finalizers may write to arrays. So this reads values
    again afterwards.
    """
    if _read(table, a, b)[0] == 0:
        return 0
    found = call_class(word(table, laid.ARRAY_CLASS))
    if found != 0 and _lay_result(table, a, b, found):
        return found
    clear()
    if found != 0:
        decrease(found)
    return 0


@njit(**OPTIONS)
def _lay_result(table, a, b, found):  # type: ignore[no-untyped-def]
    """Evaluate an operation into the still empty result, and push its record."""
    n, s, v, form, value, converted, stride, other_field = _read(table, a, b)
    if n == 0:
        return False
    a_is_array = word(a, KIND) == word(table, laid.ARRAY_CLASS)
    field = word(a if a_is_array else b, word(table, laid.INDEX))
    stream, slab = word(s, word(table, laid.STREAM)), word(s, word(table, laid.SLAB))
    top = word(s, word(table, laid.TOP))
    first = laid.integer_of(table, top)
    has_cells = 0 < first <= laid.integer_of(table, word(s, word(table, laid.BRIM))) - n
    is_there = has_cells and make_room(stream, word(table, laid.ZERO))
    z = laid.array_of(table, slab, first, laid.axes_of(v), word(v, laid.LENGTHS)) if is_there else 0
    if z == 0:
        return False
    if other_field == 0:
        other_field = new_float(converted)
        value = other_field
    else:
        increase(other_field)
    head = new_float(float(word(table, HEADS + form) - word(table, CELLS) * n))
    end, span = from_integer(first + n), from_integer(n if laid.axes_of(v) == 1 else 0)
    is_whole = other_field != 0 and head != 0 and end != 0 and span != 0
    if is_whole:
        own = array_at(word(v, laid.DATA), n)
        values = array_at(word(value, laid.DATA), n) if stride else array_at(value + 8 * NUMBER, 1)
        result = array_at(word(slab, laid.DATA) + 8 * first, n)
        if a_is_array:
            is_whole = _evaluate(word(table, OPERATION), own, 1, values, stride, result)
        else:
            is_whole = _evaluate(word(table, OPERATION), values, stride, own, 1, result)
    if not is_whole:
        for made in (other_field, head, end, span, z):
            if made != 0:
                decrease(made)
        return False
    increase(field)
    increase(s)
    increase(word(table, laid.NONE))
    increase(word(table, laid.ZERO))
    set_word(found, word(table, laid.VALUE), z)
    set_word(found, word(table, laid.OWNER), s)
    set_word(found, word(table, laid.INDEX), top)  # the reference that the stack held
    set_word(found, word(table, laid.BASE), word(table, laid.NONE))
    set_word(found, word(table, laid.SPAN), span)
    set_word(s, word(table, laid.TOP), end)
    if a_is_array:
        lay(stream, head, field, other_field, word(table, laid.ZERO))
    else:
        lay(stream, head, other_field, field, word(table, laid.ZERO))
    return True


def operate_on_arrays(table, a, b):  # type: ignore[no-untyped-def]
    """An operator with at least one array variable among its operands; 0 if Python has raised."""
    found = _attempt(table, a, b)
    if found != 0:
        return found
    if word(a, KIND) == word(table, laid.ARRAY_CLASS):
        return call_python(word(table, FORWARD), word(table, ARITY), a, b)
    return call_python(word(table, REFLECTED), 2, b, a)


def make_elementwise_entry(classes: laid.Classes, name: str, heads: Sequence[int], cells: int) -> int:
    """The address of machine code for an operator of a class of array variables. It calls the present methods of the
    class.

    heads    of the records, by `FORMS`, without the cells of the result; each cell adds `cells`
    """
    names = (f"__{name}__", f"__r{name}__" if name in BINARY else f"__{name}__")
    methods = [getattr(classes.array, method) for method in names]
    table = np.array([
        *laid.describe(classes), OPERATORS.index(name), 2 if name in BINARY else 1, *heads, cells, *map(id, methods)
    ], np.int64)  # fmt: skip
    assert len(table) == SIZE
    keep(table, methods)
    return write_entry(operate_on_arrays, table, [True, name in BINARY], [None, 0.0])
