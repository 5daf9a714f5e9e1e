"""Functions of Python's own, which machine code calls."""

import ctypes
from typing import Any

from numba import types

from contad.compile.emitting import name_address


def python_function(name: str, result: Any, *kinds: Any) -> Any:
    """A function of Python's own, of words and numbers; an object is a word, its address."""
    name_address(f"contad_{name}", ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    return types.ExternalFunction(f"contad_{name}", result(*kinds))


as_integer = python_function("PyLong_AsLongLong", types.int64, types.int64)
as_number = python_function("PyFloat_AsDouble", types.float64, types.int64)
from_integer = python_function("PyLong_FromLongLong", types.int64, types.int64)
give_lock_up = python_function("PyEval_SaveThread", types.int64)
take_lock = python_function("PyEval_RestoreThread", types.void, types.int64)
allocate = python_function("PyMem_RawMalloc", types.int64, types.int64)  # 0 where there is no memory
release = python_function("PyMem_RawFree", types.void, types.int64)
