"""Arrays that compiled code would read as other numbers than NumPy: those with a mask, and those of swapped bytes."""

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.open_types import Nested


def require_read(x: Nested, what: str = "a compiled derivative") -> None:
    """UnsupportedError where x is an array that Numba tells from others when it compiles, but not at later calls."""
    if isinstance(x, np.ma.MaskedArray):
        raise UnsupportedError(
            f"{what}: expected plain arrays, got {type(x).__name__}, whose mask compiled code does not read; pass "
            "x.filled(value), or x.data and weights of 0 and 1"
        )
    if isinstance(x, np.ndarray) and not x.dtype.isnative:
        raise UnsupportedError(
            f"{what}: expected arrays in the order of bytes of this machine, got {x.dtype.str!r}, whose bytes compiled "
            f"code does not swap; pass x.astype({x.dtype.newbyteorder('=').str!r})"
        )
