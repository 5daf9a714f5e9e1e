"""Notes the values that Numba freezes whenever it compiles a function; and names of this process.

Numba keeps no copy of a global array or a module attribute that it makes a constant. So when a derivative is requested
later, nobody could tell whether they have changed. This module does not import Numba, which would take longer than
importing contad.
"""

import functools
import os
from typing import Any

from contad.compile.dispatchers import begin_numbers, tell_of_compilations


@functools.cache
def watch_compilations() -> None:
    """From now on, once Numba is imported, note frozen values."""
    tell_of_compilations(lambda: _number_functions(os.getpid()), _note)


def _note(dispatcher: Any, args: Any) -> None:
    """Note the frozen values of a function that has just been compiled."""
    if not (getattr(dispatcher.py_func, "__module__", None) or "").startswith("contad."):
        from contad.numba_functions.fingerprint import note_untold

        note_untold(dispatcher, args)


@functools.lru_cache(1)
def _number_functions(process: int) -> None:
    """Make Numba number functions from a start that no other process uses, nor the parent of a fork.

    In machine code, a function's name contains its number, and cached code of a caller contains its callees. Numba
    counts from 1. So two processes may cache two functions of one name, such as closures, under the same number. A
    third process would then run the one that it loads first in place of the other.
    """
    begin_numbers(int.from_bytes(os.urandom(7), "big"))
