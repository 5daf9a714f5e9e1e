"""The workspace: the float64 memory in which a derivative keeps the numbers of iterations until they are reversed."""

import numpy as np
from numba import njit

FIRST = 256  # numbers in a workspace at first


@njit(nogil=True)
def workspace():  # type: ignore[no-untyped-def]
    """An empty workspace."""
    return np.empty(FIRST)


@njit(nogil=True)
def grow(work, n):  # type: ignore[no-untyped-def]
    """A workspace of at least n numbers that begins with those of `work`."""
    larger = np.empty(max(n, 2 * work.size))
    larger[: work.size] = work
    return larger
