"""NumPy arrays that machine code makes for Python, with memory of their own.

Numba returns an array over its own memory and an object that frees this memory. For a few numbers, making both takes
longer than copying the numbers into memory that NumPy keeps ready.
"""

import ctypes
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from contad.compile.words import WORD, external_words, place

FEW = 2048  # numbers that are copied: in the first cache
_TYPE, _NEW = 2, 93  # places in the table of NumPy's functions for C
_DOUBLE = 12  # NPY_DOUBLE
_DATA = 2  # the word of an array object


def published_functions(*places: int) -> list[int]:
    """The addresses in NumPy's C API, by their places in its table."""
    find = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    held: Any = np  # whose module for C has no types
    table = (ctypes.c_void_p * (max(places) + 1)).from_address(find(held._core._multiarray_umath._ARRAY_API, None))
    return [int(table[k] or 0) for k in places]


def _register() -> None:
    """Give machine code NumPy's class of arrays, and the function that makes one."""
    of_arrays, new = published_functions(_TYPE, _NEW)
    assert of_arrays == id(np.ndarray)
    llvm.add_symbol("contad_array_class", of_arrays)
    llvm.add_symbol("contad_new_array", new)


_register()


def is_copied(kind: Any) -> bool:
    """Whether small arrays of this type may be copied for Python."""
    return (
        isinstance(kind, types.Array)
        and kind.dtype == types.float64
        and kind.layout == "C"
        and kind.mutable
        and kind.box_type is np.ndarray
    )


def emit_copy(builder: Any, kind: Any, array: Any, object_type: Any) -> Any:
    """Emit a new array object with the numbers of a native array; NULL if memory is exhausted."""
    integer, address, words = ir.IntType(32), cgutils.voidptr_t, WORD.as_pointer()
    arguments = [address, integer, words, integer, words, address, integer, integer, address]
    new = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(object_type, arguments), "contad_new_array"
    )
    null = ir.Constant(address, None)
    shape = builder.bitcast(array._get_ptr_by_name("shape"), words)
    of_class = builder.bitcast(external_words(builder.module, "contad_array_class", 1), address)
    made = builder.call(
        new,
        [of_class, integer(kind.ndim), shape, integer(_DOUBLE), ir.Constant(words, None), null, integer(0), integer(0),
         null],
    )  # fmt: skip
    with builder.if_then(cgutils.is_not_null(builder, made)):
        data = builder.load(place(builder, builder.ptrtoint(made, WORD), _DATA))
        size = builder.mul(array.nitems, WORD(8))
        cgutils.raw_memcpy(builder, builder.inttoptr(data, address), array.data, size, 1)
    return made
