"""Functions of Python's own, which machine code calls, and builtin functions that are machine code."""

import ctypes
from typing import Any

import llvmlite.binding as llvm
from numba import types

# how a builtin function takes its arguments: METH_VARARGS | METH_KEYWORDS, METH_NOARGS, METH_O
ARGUMENTS_AND_KEYWORDS, NO_ARGUMENTS, ONE_ARGUMENT = 3, 4, 8
BYTES_CONTENT = 4  # the word of what bytes hold


def python_function(name: str, result: Any, *kinds: Any) -> Any:
    """A function of Python's own, of words and numbers; an object is a word, its address."""
    llvm.add_symbol(f"contad_{name}", ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    return types.ExternalFunction(f"contad_{name}", result(*kinds))


allocate = python_function("PyMem_RawMalloc", types.int64, types.int64)  # 0 where there is no memory
release = python_function("PyMem_RawFree", types.void, types.int64)


class Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def make_builtin(definition: Definition, own: bytes) -> Any:
    """A builtin function by its definition, which must outlive it, whose machine code is given the words `own`."""
    return _new_function(ctypes.addressof(definition), own, None)
