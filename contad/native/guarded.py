"""Machine code that looks whether names and arrays are as they were before it calls a compiled function for Python.

A table of words tells where to look. Its head is the function of Python to call where something has changed, the
address of a counter, what the counter was, and how many entries of each kind follow:

    names   dictionary, key, value that it had       a global, or an attribute of a module
    cells   cell, value that it had                  a captured variable
    sizes   dictionary, size that it had             the versions of a Numba function that are compiled
    arrays  array, data, descriptor, number of dimensions, address of the dimensions and strides that it had, address of
            a copy of its contents, number of bytes, where to look next

Values are compared by address: who owns the table keeps them alive. Of an array up to SMALL bytes are compared at every
call; of a larger one SAMPLES words that lie evenly over it, others at every call, so that all of it has been looked at
after words / SAMPLES calls.
"""

import ctypes
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from contad.native.compiling import NJIT_OPTIONS
from contad.native.machine_code import cfunc, njit
from contad.native.words import WORD, pointer, set_word, word

SMALL = 1024
SAMPLES = 32
HEAD = 7
LOOK, COUNTER, COUNT, NAMES, CELLS, SIZES, ARRAYS = range(HEAD)
NAME, CELL, SIZE, ARRAY = 3, 2, 2, 8  # words of an entry
_CONTENT, _BYTES_CONTENT = 2, 4  # the word of a cell, of a dictionary's size, of what bytes hold
_DATA, _DIMENSIONS, _DESCRIPTOR = 2, 3, 7  # words of NumPy's array object; 4 and 5 are addresses
_DATA_HELD, _DESCRIPTOR_HELD, _DIMENSIONS_HELD, _EXTENTS, _COPY, _BYTES, _NEXT = range(1, ARRAY)


def _python(name: str, arity: int) -> Any:
    """A function of Python's own of words."""
    llvm.add_symbol(f"contad_{name}", ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    return types.ExternalFunction(f"contad_{name}", types.int64(*[types.int64] * arity))


_dict_get = _python("PyDict_GetItemWithError", 2)  # keys are texts, so there are none
_release = _python("Py_DecRef", 1)
_call = _python("PyObject_CallObject", 2)
_call_otherwise = _python("PyObject_Call", 3)
_raised = _python("PyErr_ExceptionMatches", 1)
_clear = _python("PyErr_Clear", 0)


@intrinsic
def _call_address(typingctx, address, a, b, c):  # type: ignore[no-untyped-def]
    """Call the C function at an address with three words."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        function = ir.FunctionType(WORD, [WORD] * 3).as_pointer()
        return builder.call(builder.inttoptr(args[0], function), args[1:])

    return types.int64(*[types.int64] * 4), codegen


_OPTIONS = {name: value for name, value in NJIT_OPTIONS.items() if name != "nogil"}


@njit(**_OPTIONS)
def _same_bytes(a, b, n):  # type: ignore[no-untyped-def]
    """Whether n bytes at two addresses are the same."""
    words = n // 8
    x, y = carray(pointer(a), (words,), types.int64), carray(pointer(b), (words,), types.int64)
    different = 0
    for i in range(words):  # without a branch, so that it is vector code
        different |= x[i] ^ y[i]
    if n % 8:
        rest = 8 * words
        u, v = carray(pointer(a + rest), (n % 8,), types.uint8), carray(pointer(b + rest), (n % 8,), types.uint8)
        for i in range(n % 8):
            different |= u[i] ^ v[i]
    return different == 0


@njit(**_OPTIONS)
def has_its_place(entry):  # type: ignore[no-untyped-def]
    """Whether an array is where it was, with the shape that it had."""
    array = word(entry, 0)
    dimensions = word(array, _DIMENSIONS) & 0x7FFFFFFF
    if (
        word(array, _DATA) != word(entry, _DATA_HELD)
        or dimensions != word(entry, _DIMENSIONS_HELD)
        or word(array, _DESCRIPTOR) != word(entry, _DESCRIPTOR_HELD)
    ):
        return False
    extents = word(entry, _EXTENTS)
    for i in range(dimensions):
        if word(word(array, _DIMENSIONS + 1), i) != word(extents, i) or word(word(array, _DIMENSIONS + 2), i) != word(
            extents, dimensions + i
        ):
            return False
    return True


@njit(**_OPTIONS)
def _same_array(entry):  # type: ignore[no-untyped-def]
    """Whether an array is as it was, as far as is looked at."""
    if not has_its_place(entry):
        return False
    data, copy, size = word(entry, _DATA_HELD), word(entry, _COPY), word(entry, _BYTES)
    if size <= SMALL:
        return _same_bytes(data, copy, size)
    step = (size // 8 + SAMPLES - 1) // SAMPLES
    k = word(entry, _NEXT)
    set_word(entry, _NEXT, (k + 1) % step)
    words = size // 8
    different = 0
    while k < words:
        different |= word(data, k) ^ word(copy, k)
        k += step
    return different == 0 and _same_bytes(data + 8 * words, copy + 8 * words, size - 8 * words)


@njit(**_OPTIONS)
def _same(table):  # type: ignore[no-untyped-def]
    """Whether all that a table names is as it was, as far as is looked at."""
    if word(word(table, COUNTER), 0) != word(table, COUNT):
        return 0
    entry = table + 8 * HEAD
    for _ in range(word(table, NAMES)):
        if _dict_get(word(entry, 0), word(entry, 1)) != word(entry, 2):
            return 0
        entry += 8 * NAME
    for _ in range(word(table, CELLS)):
        if word(word(entry, 0), _CONTENT) != word(entry, 1):
            return 0
        entry += 8 * CELL
    for _ in range(word(table, SIZES)):
        if word(word(entry, 0), _CONTENT) != word(entry, 1):
            return 0
        entry += 8 * SIZE
    for _ in range(word(table, ARRAYS)):
        if not _same_array(entry):
            return 0
        entry += 8 * ARRAY
    return 1


def _call_guarded(own, args, keywords):  # type: ignore[no-untyped-def]
    """A function of Python's: look, then call the one whose address and object are in the bytes `own`.

    Where that raises the exception of the next word, the object of the word after it is called instead.
    """
    words = own + 8 * _BYTES_CONTENT
    table = word(word(words, 2), 0)
    if _same(table) == 0:
        none = _call(word(table, LOOK), 0)
        if none == 0:
            return 0  # it has raised
        _release(none)
    result = _call_address(word(words, 0), word(words, 1), args, keywords)
    if result == 0 and word(words, 3) != 0 and _raised(word(words, 3)) & 0xFFFFFFFF != 0:
        _clear()
        return _call_otherwise(word(words, 4), args, keywords)
    return result


def _call_bound(own, _):  # type: ignore[no-untyped-def]
    """A function of Python's without arguments: call the one whose address and object are in the bytes `own`.

    The next word is the tuple of its arguments.
    """
    words = own + 8 * _BYTES_CONTENT
    return _call_address(word(words, 0), word(words, 1), word(words, 2), 0)


class _Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


def _is_same(table):  # type: ignore[no-untyped-def]
    return _same(table)


_same_c = cfunc("int64(int64)", **_OPTIONS)(_is_same)
is_as_it_was = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_same_c.address)  # it must not release Python's lock
_guarded_c = cfunc("int64(int64, int64, int64)", **_OPTIONS)(_call_guarded)
_bound_c = cfunc("int64(int64, int64)", **_OPTIONS)(_call_bound)
_ARGUMENTS_AND_KEYWORDS = 3  # METH_VARARGS | METH_KEYWORDS
_NO_ARGUMENTS = 4  # METH_NOARGS
_definition = _Definition(b"guarded", _guarded_c.address, _ARGUMENTS_AND_KEYWORDS, None)
_bound_definition = _Definition(b"bound", _bound_c.address, _NO_ARGUMENTS, None)
_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
_address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCFunction_GetFunction", ctypes.pythonapi))
_object_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCFunction_GetSelf", ctypes.pythonapi))


def guard(entry: Any, table: Any, limit: tuple[Any, Any] | None = None) -> Any:
    """A builtin function that looks at a table and calls `entry`, which Numba has compiled.

    `table` is a word with the address of the table. `limit` is a class of exceptions of `entry`, and what is called
    with the same arguments where it raises one. All must live as long as the result.
    """
    words = [_address_of(entry), _object_of(entry) or 0, ctypes.addressof(table), *map(id, limit or ()), 0]
    return _new_function(ctypes.addressof(_definition), bytes((ctypes.c_int64 * len(words))(*words)), None)


def call_with(arguments: tuple[Any, ...], entry: Any) -> bytes:
    """The words by which a function that `bind_to` gives calls `entry`, both of which must outlive it."""
    words = _address_of(entry), _object_of(entry) or 0, id(arguments)
    return bytes((ctypes.c_int64 * len(words))(*words))


def bind_to(own: bytes) -> Any:
    """A builtin function without arguments that calls what these words say."""
    return _new_function(ctypes.addressof(_bound_definition), own, None)
