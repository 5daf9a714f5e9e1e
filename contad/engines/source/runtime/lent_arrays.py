"""Arrays that a derivative makes once and nobody sees after it: large ones in memory that the thread keeps.

They are named by a number, one for each array of the source. In a loop, or in a function that is called, arrays are
NumPy's: there is more than one of the same number.
"""

from typing import Any

import numpy as np
from numba import types

from contad.native.arena import INTERNAL_OPTIONS, MOST_NUMBERS, lend
from contad.native.machine_code import njit
from contad.native.overloads import add_overload
from contad.native.words import array_at, set_word

_LARGE = 1 << 14  # numbers, from which on the system is asked for memory, and given it back


def lent_empty(k: int, shape: tuple[int, ...]) -> Any:
    """np.empty(shape)"""
    return np.empty(shape)


def lent_zeros(k: int, shape: tuple[int, ...]) -> Any:
    """np.zeros(shape)"""
    return np.zeros(shape)


@njit(**INTERNAL_OPTIONS)
def _size_to_lend(shape):  # type: ignore[no-untyped-def]
    """The number of elements of an array of this shape, 0 where NumPy makes it; as a float it does not overflow."""
    size = 1.0
    for length in shape:
        if length < 0:
            return 0
        size *= length
    return np.int64(size) if _LARGE <= size <= MOST_NUMBERS else 0


@add_overload(lent_empty, jit_options=INTERNAL_OPTIONS)
def _lent_empty(k: Any, shape: Any) -> Any:
    """In compiled code."""
    if not isinstance(shape, types.BaseTuple):
        return None

    def implementation(k: Any, shape: Any) -> Any:
        """An array that the thread lends, unless it is small, not an array, or there is no memory to be had."""
        size = _size_to_lend(shape)
        if size == 0:
            return np.empty(shape)
        address = lend(k, size)
        return np.empty(shape) if address == 0 else array_at(address, shape)

    return implementation


@add_overload(lent_zeros, jit_options=INTERNAL_OPTIONS)
def _lent_zeros(k: Any, shape: Any) -> Any:
    """In compiled code."""
    if not isinstance(shape, types.BaseTuple):
        return None

    def implementation(k: Any, shape: Any) -> Any:
        """Likewise, with zeros in it."""
        size = _size_to_lend(shape)
        if size == 0:
            return np.zeros(shape)
        address = lend(k, size)
        if address == 0:
            return np.zeros(shape)
        for i in range(size):
            set_word(address, i, 0)  # the bits of 0.0
        return array_at(address, shape)

    return implementation
