"""The memory layout of objects, classes and locks of this Python, for machine code that reads and writes them; and
builtin functions that are machine code."""

import ctypes
import functools
import sys
import threading
from typing import Any

from contad.compile.images import has_known_layout

# Words of objects: the class of any object; of a list; of a float; the `self` of a builtin method; the thread that
# holds a lock; the number slots of a class; the definition of a slot attribute.
KIND, LENGTH, ITEMS, ROOM, NUMBER, SELF, HOLDER, SLOTS, MEMBER = 1, 2, 3, 4, 2, 3, 3, 12, 5


def words_at(address: int) -> Any:
    """The words at an address, to read and to write."""
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


def read_word(address: int, k: int) -> int:
    """Word k at an address."""
    return words_at(address)[k] or 0


def places_of(cls: type[Any], *names: str) -> list[int]:
    """The words of the attributes in an object of a class."""
    found = []
    for name in names:
        member = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
        offset = ctypes.cast(read_word(id(member), MEMBER) + 16, ctypes.POINTER(ctypes.c_ssize_t))[0]
        found.append(offset // 8)
    return found


class _Example:
    __slots__ = ("first", "second")
    first: object
    second: object


def slot_of(name: str) -> int | None:
    """The word of an operator in the number slots of a class; None if it is not a plain slot."""
    with_operator = type("WithOperator", (), {f"__{name}__": lambda *_: None})
    there, nowhere = words_at(read_word(id(with_operator), SLOTS)), words_at(read_word(id(_Example), SLOTS))
    found = [k for k in range(36) if there[k] != nowhere[k]]
    return found[0] if len(found) == 1 else None


@functools.cache
def has_known_objects() -> bool:
    """Whether objects, classes and locks of this Python have the memory layout that this code reads."""
    if sys.implementation.name != "cpython" or not has_known_layout():
        return False
    this_thread = ctypes.PYFUNCTYPE(ctypes.c_uint64)(("PyThread_get_thread_ident", ctypes.pythonapi))
    lock, numbers, example = threading.RLock(), [1.0, 2.0, 3.0], _Example()
    extend = numbers.extend
    example.first, example.second = lock, numbers
    with lock:
        holder = read_word(id(lock), HOLDER)
    return (
        holder == this_thread() == threading.get_ident() and read_word(id(lock), HOLDER) == 0
        and (read_word(id(numbers), LENGTH), read_word(read_word(id(numbers), ITEMS), 2)) == (3, id(numbers[2]))
        and 8 * read_word(id(numbers), ROOM) == sys.getsizeof(numbers) - sys.getsizeof([])
        and ctypes.cast(id(numbers[2]), ctypes.POINTER(ctypes.c_double))[NUMBER] == 3.0
        and read_word(id(extend), SELF) == id(numbers) and read_word(id(extend), KIND) == id(type(extend))
        and [read_word(id(example), k) for k in places_of(_Example, "first", "second")] == [id(lock), id(numbers)]
        and slot_of("add") is not None and slot_of("neg") is not None
    )  # fmt: skip


# ---- builtin functions -----------------------------------------------------------------------------------------------
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
