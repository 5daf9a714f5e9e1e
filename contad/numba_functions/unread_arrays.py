"""Arrays that compiled code would misread: masked arrays, and arrays with swapped bytes.

Numba recognises them when it compiles, but not at later calls.
"""

from collections.abc import Iterable

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.open_types import Nested
from contad.variables.trees import leaves_of


def require_read(what: str, named: Iterable[tuple[str, Nested]]) -> None:
    """UnsupportedError if one of these arguments of `what`, given with names, holds such an array."""
    for name, x in named:
        for k, leaf in enumerate(leaves_of(x)):
            told = _refusal(leaf)
            if told:
                raise UnsupportedError(f"{what}, {name}{_path(x, k)}: expected {told}")


def require_array_read(array: Nested, argument: Nested, what: str, name: str) -> None:
    """The same for one array in an argument; machine code calls this."""
    if _refusal(array):
        require_read(what, [(name, argument)])


def _refusal(x: Nested) -> str:
    """The expected and the actual kind of array; "" if compiled code reads it as NumPy does."""
    if isinstance(x, np.ma.MaskedArray):
        return (
            f"plain arrays, got {type(x).__name__}, whose mask compiled code does not read; pass x.filled(value), or "
            "x.data and weights of 0 and 1"
        )
    if isinstance(x, np.ndarray) and not x.dtype.isnative:
        return (
            f"arrays in the order of bytes of this machine, got {x.dtype.str!r}, whose bytes compiled code does not "
            f"swap; pass x.astype({x.dtype.newbyteorder('=').str!r})"
        )
    return ""


def _path(x: Nested, k: int) -> str:
    """How a leaf is reached in an argument."""
    if isinstance(x, np.ndarray):
        return ""
    import optree

    return "".join(f"[{step!r}]" for step in optree.tree_paths(x, none_is_leaf=True)[k])
