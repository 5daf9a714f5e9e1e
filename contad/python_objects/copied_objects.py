"""Copies objects whose attributes are slots in one call, where Python would set one attribute after another."""

import ctypes
import functools
from typing import Any

from contad.compile.words import set_word, word
from contad.python_objects.builtin_functions import BYTES_CONTENT, ONE_ARGUMENT, Definition, make_builtin
from contad.python_objects.laid_records import increase, new_object
from contad.python_objects.python_objects import KIND
from contad.python_objects.slot_entries import compile_words

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
    """A builtin function that copies an object of a class whose attributes are all slots, without its `__init__`."""
    words = id(cls), cls.__basicsize__ // 8, cls.__weakrefoffset__ // 8
    return make_builtin(_define(), bytes((ctypes.c_int64 * len(words))(*words)))
