"""Functions of Python's C API that machine code calls, and lists of Python floats that it reads."""

import ctypes
from typing import Any

from numba import types

from contad.compile.emitting import name_address
from contad.compile.image_code import inline
from contad.compile.words import array_at, word


def python_function(name: str, result: Any, *kinds: Any) -> Any:
    """A function of Python's C API on words and numbers; an object is a word, its address."""
    name_address(f"contad_{name}", ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    return types.ExternalFunction(f"contad_{name}", result(*kinds))


as_integer = python_function("PyLong_AsLongLong", types.int64, types.int64)
as_number = python_function("PyFloat_AsDouble", types.float64, types.int64)
from_integer = python_function("PyLong_FromLongLong", types.int64, types.int64)
give_lock_up = python_function("PyEval_SaveThread", types.int64)
take_lock = python_function("PyEval_RestoreThread", types.void, types.int64)
allocate = python_function("PyMem_RawMalloc", types.int64, types.int64)  # 0 if there is no memory
release = python_function("PyMem_RawFree", types.void, types.int64)


# ---- lists of numbers ------------------------------------------------------------------------------------------------
# The second word of an object is its type. The third word of a list is its length, and the fourth points to its items.
# The third word of a float is its value. Python converts other numbers, and its lock is held meanwhile.
_KIND, _ITEMS, _VALUE = 1, 3, 2  # words of an object, of a list, of a float


as_double = python_function("PyLong_AsDouble", types.float64, types.int64)
raised = python_function("PyErr_Occurred", types.int64)
clear = python_function("PyErr_Clear", types.void)
_is_subtype = python_function("PyType_IsSubtype", types.int32, types.int64, types.int64)


@inline
def read_numbers(floats, integers, numbers, n, rows):  # type: ignore[no-untyped-def]
    """Write the first n numbers of a list to rows of four; return whether all are plain.

    The first three are addresses: of the classes float and int, and of the list.
    """
    items = word(numbers, _ITEMS)
    for k in range(n):
        item = word(items, k)
        kind = word(item, _KIND)
        if kind == integers:
            value = as_double(item)
            if value == -1.0 and raised() != 0:
                clear()
                return False
        elif kind == floats or _is_subtype(kind, floats):
            value = array_at(item + 8 * _VALUE, 1)[0]
        else:
            return False
        rows[k >> 2, k & 3] = value
    return True
