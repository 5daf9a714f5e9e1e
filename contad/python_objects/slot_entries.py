"""Machine code that Python calls: in the slots of classes, for an operator in place of the methods; and to copy an
object whose attributes are slots."""

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.compile.emitting import link_text
from contad.compile.machine_code import cfunc
from contad.compile.words import set_word, word
from contad.python_objects.laid_records import OPTIONS, increase, new_object
from contad.python_objects.python_objects import (
    BYTES_CONTENT,
    KIND,
    ONE_ARGUMENT,
    SLOTS,
    Definition,
    make_builtin,
    read_word,
    slot_of,
    words_at,
)

_ENTRY = """\
define i64 @operate({parameters}) {{
  %code = inttoptr i64 {code} to i64 ({kinds})*
  %result = call i64 %code({arguments})
  ret i64 %result
}}
"""
_kept: list[Any] = []


def keep(*objects: Any) -> None:
    """Keep objects alive whose addresses machine code holds; the code lives as long as the process."""
    _kept.extend(objects)


@functools.cache
def compile_words(function: Callable[..., int]) -> int:
    """The address of a function of words, compiled or loaded."""
    words = ["int64"] * function.__code__.co_argcount
    return int(cfunc(f"int64({', '.join(words)})", cache=True, **OPTIONS)(function).address)


def write_entry(
    function: Callable[..., int], table: np.ndarray, is_given: Sequence[bool], otherwise: Sequence[object]
) -> int:
    """The address of a C function of operands. It calls a function with the address of a table and the operands.

    is_given     for each operand, whether Python passes it to the slot
    otherwise    for each operand, the object in its place
    """
    keep(table, *otherwise)
    pairs = list(zip(is_given, otherwise, strict=True))
    operands = [f"i64 %x{k}" if given else f"i64 {id(x)}" for k, (given, x) in enumerate(pairs)]
    text = _ENTRY.format(
        code=compile_words(function), kinds=", ".join(["i64"] * (1 + len(operands))),
        parameters=", ".join(x for x, given in zip(operands, is_given, strict=True) if given),
        arguments=", ".join([f"i64 {table.ctypes.data}", *operands]),
    )  # fmt: skip
    entry, kept = link_text(text, "operate")
    keep(kept)
    return entry


def set_slot(cls: type[Any], name: str, entry: int) -> None:
    """Let Python call the machine code at an address for an operator of a class. The methods of the class do not
    change.

    Assigning a method removes the machine code again; subclasses use the methods.
    """
    slot = slot_of(name)
    assert slot is not None
    words_at(read_word(id(cls), SLOTS))[slot] = entry


# ---- copies of objects -----------------------------------------------------------------------------------------------
_CLASS, _WORDS, _WEAK = range(3)  # facts that a copier knows: class, size, the word of weak references
_HEAD = 2  # words of any object


def _copy(own, x):  # type: ignore[no-untyped-def]
    """A copy of an object, described by the bytes `own`; 0 if there is no memory, or if it has another class."""
    known = own + 8 * BYTES_CONTENT
    if word(x, KIND) != word(known, _CLASS):
        return 0
    made = new_object(word(x, KIND), 0)
    if made != 0:
        for k in range(_HEAD, word(known, _WORDS)):
            attribute = word(x, k)
            if attribute != 0 and k != word(known, _WEAK):
                increase(attribute)
                set_word(made, k, attribute)
    return made


@functools.cache
def _define() -> Definition:
    return Definition(b"copy", compile_words(_copy), ONE_ARGUMENT, None)


def make_copier(cls: Any) -> Any:
    """A builtin function that copies an object of a class whose attributes are all slots, without its `__init__`.

    Python would set one attribute after another.
    """
    words = id(cls), cls.__basicsize__ // 8, cls.__weakrefoffset__ // 8
    return make_builtin(_define(), bytes((ctypes.c_int64 * len(words))(*words)))
