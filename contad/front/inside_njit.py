"""What contad prepares for Numba before anybody imports Numba, which takes longer than importing contad.

Numba finds the types of rules, and tells of its compilations. A limit of memory holds for all compiled gradients.
"""

import functools
import os
from typing import Any

from contad.compile.dispatchers import begin_numbers, tell_of_compilations
from contad.functions.transformed import Decorated
from contad.rules.compilable import Compilable, MakesRules, WithParts
from contad.rules.scalar_rule import ScalarRule
from contad.variables.open_types import NumbaType


def _numba_type(rule: ScalarRule) -> NumbaType:
    """Numba asks a rule for its type if an njit function names it."""
    from contad.compiled_rules.rules import numba_type

    return numba_type(rule)


def _type_of_function(function: Compilable) -> NumbaType:
    """Likewise for other functions of contad."""
    if function.stands_for is not None:
        return function.stands_for._numba_type_
    from contad.compiled_rules.callables import numba_type

    return numba_type(function)


def _type_of_rule(rule: WithParts) -> NumbaType:
    """Likewise for operations whose reverse rule a user has written."""
    from contad.compiled_rules.user_rules import numba_type

    return numba_type(rule)


def _type_of_maker(function: MakesRules) -> NumbaType:
    """Likewise for makers of such operations."""
    from contad.compiled_rules.user_rules import type_of_maker

    return type_of_maker(function)


def _type_of_decorated(x: Decorated) -> NumbaType:
    """Likewise for an object that stands for one Numba function."""
    from contad.compiled_rules.callables import type_of_decorated

    return type_of_decorated(x)


ScalarRule._numba_type_ = property(_numba_type)  # type: ignore[attr-defined]
Compilable._numba_type_ = property(_type_of_function)  # type: ignore[attr-defined]
MakesRules._numba_type_ = property(_type_of_maker)  # type: ignore[attr-defined]
WithParts._numba_type_ = property(_type_of_rule)  # type: ignore[attr-defined]
Decorated._numba_type_ = property(_type_of_decorated)  # type: ignore[attr-defined]


# ---- compilations ----------------------------------------------------------------------------------------------------
@functools.cache
def watch_compilations() -> None:
    """From now on, once Numba is imported, note the values that it freezes whenever it compiles a function.

    Numba keeps no copy of a global array or a module attribute that it makes a constant. So when a derivative is
    requested later, nobody could tell whether they have changed.
    """
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


# ---- memory ----------------------------------------------------------------------------------------------------------
def set_memory_limit(limit: int | None) -> None:
    """Limit the memory of compiled gradients for the reverse sweep to this many bytes, for all threads together.

    None, the initial setting, means 0.8 of the machine's memory. A gradient that needs more raises MemoryError, and
    leaves everything usable. An operation takes 32 bytes on a tape; a generated derivative takes 8 for each number that
    it stores. A thread keeps the memory of its largest call for the next one, and frees it when it ends.

    Raises:  ValueError for a negative number.

    >>> set_memory_limit(2**30)
    >>> set_memory_limit(None)
    """
    from contad.memory import arena

    arena.set_memory_limit(limit)
