"""Compiled code that users see besides derivatives: rules as Numba functions, and the memory that they take.

Numba is imported on first use.
"""

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
