"""A mark for loops of which the gradient keeps only a few states: `for t in checkpointed(range(n))`."""

from typing import Any

from numba import types

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.overloads import add_overload


def checkpointed(iterable: range) -> range:
    """The range itself; a gradient of the loop over it keeps about sqrt(n) states, and computes the rest again.

        for t in contad.checkpointed(range(n)):

    It is for long loops in Numba functions: the gradient on the engine `generated` divides the n iterations into
    segments of about sqrt(n). It keeps what the loop carries where a segment begins, and the parts of arrays that the
    segment writes; when the reverse sweep comes to a segment it runs it again, storing, and reverses it. The numbers
    are those without the mark, bit for bit. Elsewhere it is a plain range, at no cost: in calls of the function itself,
    in forward mode, and on other engines.

    Of marked loops in one another the outermost is checkpointed. `contad.explain` tells of each loop whether it is.

    Raises:  TypeError where it is given something else than a range.
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
