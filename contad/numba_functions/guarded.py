"""Machine code that checks that names and arrays are unchanged before it calls a compiled function for Python.

A table of words lists the things to check. Its head holds the Python function to call after a change, the address of a
counter, the value of the counter then, and the number of entries of each kind. The entries follow:

    names   dictionary, key, earlier value               a global, or an attribute of a module
    held    cell or dictionary, its earlier word         the value of a captured variable; the number of compiled
                                                         signatures of a Numba function
    arrays  array, data, descriptor, number of dimensions, address of its earlier dimensions and strides, address of
            a copy of its contents, number of bytes, where to look next

Values are compared by address: the owner of the table keeps them alive. An array of up to SMALL bytes is compared at
every call. For a larger array, each call compares SAMPLES evenly spaced words, others at each call, so that words /
SAMPLES calls cover the whole array.
"""

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.extending import intrinsic

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.emitting import cgutils, ir
from contad.compile.machine_code import cfunc
from contad.compile.words import WORD, external_function, place, word
from contad.ops.close_values import LOSSES
from contad.python_objects.python_functions import python_function
from contad.python_objects.python_objects import (
    ARGUMENTS_AND_KEYWORDS,
    BYTES_CONTENT,
    NO_ARGUMENTS,
    Definition,
    make_builtin,
)

SMALL = 1024
SAMPLES = 32
HEAD = 6
LOOK, COUNTER, COUNT, NAMES, HELD, ARRAYS = range(HEAD)
NAME, HOLDER, ARRAY = 3, 2, 8  # words of an entry
_CONTENT = 2  # the word of a cell, of a dictionary's size
_DATA, _DIMENSIONS, _DESCRIPTOR = 2, 3, 7  # words of NumPy's array object; 4 and 5 are addresses
_DATA_HELD, _DESCRIPTOR_HELD, _DIMENSIONS_HELD, _EXTENTS, _COPY, _BYTES, _NEXT = range(1, ARRAY)


def _python(name: str, arity: int) -> Any:
    """A function of Python's C API on words."""
    return python_function(name, types.int64, *[types.int64] * arity)


_python("PyDict_GetItemWithError", 2)
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


# This IR is emitted directly: compiling it by Numba would take as long as the rest of a small derivative.
@intrinsic
def _same(typingctx, table):  # type: ignore[no-untyped-def]
    """Whether everything that a table names is unchanged, as far as this checks."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _Look(builder).same(args[0])

    return types.boolean(types.int64), codegen


@intrinsic
def has_its_place(typingctx, entry):  # type: ignore[no-untyped-def]
    """Whether an array is where it was, with the shape that it had."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        look = _Look(builder)
        look.place(args[0])
        return look.is_same()

    return types.boolean(types.int64), codegen


class _Look:
    """Emits code that compares the words of a table with the words at the addresses that it names."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self.different = cgutils.alloca_once_value(builder, WORD(0))  # all bits in which words differ

    def same(self, table: Any) -> Any:
        """Whether a table holds."""
        builder, look = self.builder, self.word
        self.compare(look(look(table, COUNTER), 0), look(table, COUNT))
        entry = builder.add(table, WORD(8 * HEAD))
        find = external_function(builder.module, "contad_PyDict_GetItemWithError", 2)  # keys are texts: none fails
        with self.entries(entry, look(table, NAMES), NAME) as one:
            self.compare(builder.call(find, [look(one, 0), look(one, 1)]), look(one, 2))
        entry = self.end_of(entry, look(table, NAMES), NAME)
        with self.entries(entry, look(table, HELD), HOLDER) as one:
            self.compare(look(look(one, 0), _CONTENT), look(one, 1))
        entry = self.end_of(entry, look(table, HELD), HOLDER)
        with self.entries(entry, look(table, ARRAYS), ARRAY) as one:
            self.array(one)
        return self.is_same()

    def array(self, entry: Any) -> None:
        """Compare an array, as far as this checks; it does not read one that was resized."""
        self.place(entry)
        with self.builder.if_then(self.is_same()):
            self.contents(entry)

    def place(self, entry: Any) -> None:
        """Compare where an array is, and its shape."""
        builder, look = self.builder, self.word
        array, extents = look(entry, 0), look(entry, _EXTENTS)
        dimensions = look(entry, _DIMENSIONS_HELD)
        self.compare(look(array, _DATA), look(entry, _DATA_HELD))
        self.compare(look(array, _DESCRIPTOR), look(entry, _DESCRIPTOR_HELD))
        self.compare(builder.and_(look(array, _DIMENSIONS), WORD(0x7FFFFFFF)), dimensions)
        with builder.if_then(self.is_same()), cgutils.for_range(builder, dimensions) as loop:
            self.compare(look(look(array, _DIMENSIONS + 1), loop.index), look(extents, loop.index))
            strides = builder.add(dimensions, loop.index)
            self.compare(look(look(array, _DIMENSIONS + 2), loop.index), look(extents, strides))

    def contents(self, entry: Any) -> None:
        """Compare the bytes of an array; for a large one, a sample of words that changes with each call."""
        builder, look = self.builder, self.word
        data, copy, size = (look(entry, k) for k in (_DATA_HELD, _COPY, _BYTES))
        words = builder.udiv(size, WORD(8))
        is_small = builder.icmp_unsigned("<=", size, WORD(SMALL))
        increment = builder.udiv(builder.add(words, WORD(SAMPLES - 1)), WORD(SAMPLES))
        increment = builder.select(is_small, WORD(1), increment)
        first = builder.select(is_small, WORD(0), look(entry, _NEXT))
        following = builder.add(first, WORD(1))
        following = builder.select(builder.icmp_unsigned("<", following, increment), following, WORD(0))
        builder.store(following, place(builder, entry, _NEXT))
        with cgutils.for_range_slice(builder, first, words, increment, WORD) as (k, _):
            self.compare(look(data, k), look(copy, k))
        with cgutils.for_range_slice(builder, builder.mul(words, WORD(8)), size, WORD(1), WORD) as (k, _):
            self.compare(self.byte(data, k), self.byte(copy, k))

    def compare(self, x: Any, y: Any) -> None:
        """Note whether two words differ."""
        builder = self.builder
        builder.store(builder.or_(builder.load(self.different), builder.xor(x, y)), self.different)

    def is_same(self) -> Any:
        """Whether no words differed so far."""
        return self.builder.icmp_unsigned("==", self.builder.load(self.different), WORD(0))

    def word(self, address: Any, k: Any) -> Any:
        """Word k at an address."""
        return self.builder.load(place(self.builder, address, k))

    def byte(self, address: Any, k: Any) -> Any:
        """Byte k at an address, as a word."""
        start = self.builder.inttoptr(address, cgutils.voidptr_t)
        return self.builder.zext(self.builder.load(self.builder.gep(start, [k])), WORD)

    @contextmanager
    def entries(self, first: Any, count: Any, size: int) -> Iterator[Any]:
        """A loop over entries of the given number of words: yields the address of each."""
        with cgutils.for_range(self.builder, count) as loop:
            yield self.end_of(first, loop.index, size)

    def end_of(self, first: Any, count: Any, size: int) -> Any:
        """The address after the given number of entries."""
        return self.builder.add(first, self.builder.mul(count, WORD(8 * size)))


def _call_guarded(own, args, keywords):  # type: ignore[no-untyped-def]
    """A builtin function: check, then call the function whose address and object are in the bytes `own`.

    If that raises the exception in the next word, this calls the object in the word after it instead. If digits are
    lost, it calls the object after that; the last word holds the address of the counter of lost digits.

    Without `own` it only checks the table `args`, and returns 1 if nothing has changed.
    """
    if own == 0:
        return 1 if _same(args) else 0
    words = own + 8 * BYTES_CONTENT
    table = word(word(words, 2), 0)
    if not _same(table):
        none = _call(word(table, LOOK), 0)
        if none == 0:
            return 0  # it has raised
        _release(none)
    losses = word(word(words, 6), 0)
    result = _call_address(word(words, 0), word(words, 1), args, keywords)
    if result != 0 and word(words, 5) != 0 and word(word(words, 6), 0) != losses:
        _release(result)
        return _call_otherwise(word(words, 5), args, keywords)
    if result == 0 and word(words, 3) != 0 and _raised(word(words, 3)) & 0xFFFFFFFF != 0:
        _clear()
        return _call_otherwise(word(words, 4), args, keywords)
    return result


def _call_bound(own, _):  # type: ignore[no-untyped-def]
    """A builtin function without arguments: call the function whose address and object are in the bytes `own`.

    The next word holds the tuple of its arguments.
    """
    words = own + 8 * BYTES_CONTENT
    return _call_address(word(words, 0), word(words, 1), word(words, 2), 0)


_OPTIONS = {name: value for name, value in NJIT_OPTIONS.items() if name != "nogil"}
_guarded_c = cfunc("int64(int64, int64, int64)", **_OPTIONS)(_call_guarded)
_definition = Definition(b"guarded", _guarded_c.address, ARGUMENTS_AND_KEYWORDS, None)
_looking = ctypes.PYFUNCTYPE(*[ctypes.c_int64] * 4)(_guarded_c.address)  # it must not release Python's lock
_address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCFunction_GetFunction", ctypes.pythonapi))
_object_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCFunction_GetSelf", ctypes.pythonapi))


def is_as_it_was(table: int) -> bool:
    """Whether everything that the table at an address names is unchanged, as far as this checks."""
    return bool(_looking(0, table, 0))


def guard(entry: Any, table: Any, at: Any = None, otherwise: Any = None, lost: Any = None) -> Any:
    """A builtin function that checks a table and calls `entry`, which Numba has compiled.

    `table` is a word with the address of the table. `at` is a class of exceptions of `entry`; `otherwise` is called
    with the same arguments if it raises one, and `lost` if it loses digits. All must live as long as the result.
    """
    others = [0 if x is None else id(x) for x in (at, otherwise, lost)]
    words = [_address_of(entry), _object_of(entry) or 0, ctypes.addressof(table), *others, ctypes.addressof(LOSSES)]
    return make_builtin(_definition, bytes((ctypes.c_int64 * len(words))(*words)))


@functools.cache
def _define_bound() -> Definition:
    code = cfunc("int64(int64, int64)", **_OPTIONS)(_call_bound)
    return Definition(b"bound", code.address, NO_ARGUMENTS, None)


def call_with(arguments: tuple[Any, ...], entry: Any) -> bytes:
    """The words by which a function of `bind_to` calls `entry`; the words and `entry` must outlive it."""
    words = _address_of(entry), _object_of(entry) or 0, id(arguments)
    return bytes((ctypes.c_int64 * len(words))(*words))


def bind_to(own: bytes) -> Any:
    """A builtin function without arguments that makes the call in these words."""
    return make_builtin(_define_bound(), own)
