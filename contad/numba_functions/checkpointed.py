"""A mark for loops of which the gradient keeps only a few states: `for t in checkpointed(range(n))`."""

from typing import Any

from numba import types

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.overloads import add_overload


def checkpointed(iterable: range) -> range:
    """The range itself; a gradient of the loop over it keeps about sqrt(n) states and recomputes the others.

        for t in contad.checkpointed(range(n)):

    It is for long loops in Numba functions: the gradient on the engine `generated` divides the n iterations into
    segments of about sqrt(n). At the beginning of each segment it keeps the loop-carried values, and the parts of
    arrays that the segment writes. When the reverse sweep reaches a segment, it runs the segment again, stores its
    values, and reverses it. The results are those without the mark, bit for bit. Elsewhere `checkpointed` is a plain
    range without cost: in calls of the function itself, in forward mode, and on other engines.

    In a nest of marked loops, only the outermost is checkpointed. `contad.explain` says for each loop whether it is
    checkpointed.

    Raises:  TypeError if the argument is not a range.
    Cost:    O(sqrt(n)) numbers in place of O(n), for one more run of the loop.
    Ref:     Griewank & Walther (2000), Algorithm 799: revolve.

    >>> import contad
    >>> from numba import njit
    >>> @njit
    ... def decay(x, n):
    ...     for _ in contad.checkpointed(range(n)):
    ...         x -= 0.001 * x * x
    ...     return x
    >>> round(contad.grad(decay)(1.0, 1000), 4)
    0.2497
    """
    if not isinstance(iterable, range):
        raise TypeError(f"checkpointed: iterable must be a range, got {type(iterable).__name__}")
    return iterable


@add_overload(checkpointed, inline="always", jit_options=INTERNAL_OPTIONS)
def _checkpointed(iterable: Any) -> Any:
    """In compiled code."""
    if not isinstance(iterable, types.RangeType):
        return None

    def implementation(iterable: Any) -> Any:
        return iterable

    return implementation
