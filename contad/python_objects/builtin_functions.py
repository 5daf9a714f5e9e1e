"""Builtin functions that are machine code."""

import ctypes
from typing import Any

# how a builtin function takes its arguments: METH_VARARGS | METH_KEYWORDS, METH_NOARGS, METH_O, METH_FASTCALL
ARGUMENTS_AND_KEYWORDS, NO_ARGUMENTS, ONE_ARGUMENT, ARRAY_OF_ARGUMENTS = 3, 4, 8, 128
BYTES_CONTENT = 4  # the first word of the contents of bytes


class Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def make_builtin(definition: Definition, own: bytes) -> Any:
    """A builtin function by its definition, which must outlive it. Its machine code gets the words `own`."""
    return _new_function(ctypes.addressof(definition), own, None)


_definitions: list[Definition] = []  # which functions need as long as they exist


def make_function(name: str, address: int) -> Any:
    """An immortal builtin function, from machine code that takes its arguments as an array of objects."""
    definition = Definition(name.encode(), address, ARRAY_OF_ARGUMENTS, None)
    _definitions.append(definition)
    return _new_function(ctypes.addressof(definition), None, None)
