"""Arrays among the arguments of a call: those that compiled code would misread, and those that a gradient goes into.

Compiled code would misread masked arrays, and arrays with swapped bytes. Numba recognises them when it compiles, but
not at later calls.
"""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.errors import UnsupportedError
from contad.variables.open_types import Nested
from contad.variables.trees import leaves_of

Returned = Literal["all", "first", "nothing"]  # the part of the result that a bound call returns
OVERLAPS = "overlaps in memory with another array of the call; give memory of its own"


# ---- arrays that compiled code would misread -------------------------------------------------------------------------
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

    return "".join(f"[{key!r}]" for key in optree.tree_paths(x, none_is_leaf=True)[k])


# ---- arrays into which a gradient is written -------------------------------------------------------------------------
@in_machine_code
def fill_with_zeros(a):  # type: ignore[no-untyped-def]
    """The array itself, filled with zeros."""
    flat = a.reshape(a.size)
    for k in range(flat.size):
        flat[k] = 0.0
    return a


def write_gradients(what: str, found: Any, out: Any, xs: list[np.ndarray]) -> Any:
    """Write gradients, one or several, into arrays, and return these; ValueError or TypeError if they do not fit."""
    several = isinstance(found, tuple)
    if several and not (isinstance(out, tuple) and len(out) == len(found)):
        raise TypeError(f"{what}: {describe_tuple(len(found))}")
    outs = out if several else (out,)
    for k, (gradient, made) in enumerate(zip(found if several else (found,), outs, strict=True)):
        name = f"out[{k}]" if several else "out"
        if not isinstance(gradient, (np.ndarray, float, np.floating)):
            got = f"{name} would be that of a {type(gradient).__name__}"
            raise TypeError(f"{what}: out takes the gradients of arrays and numbers, and {got}")
        require_fits(what, name, made, np.ndim(gradient), getattr(gradient, "dtype", np.float64))
        shape = np.shape(gradient)
        if made.shape != shape:
            raise ValueError(f"{what}: {name} must have the shape of its argument, {shape}, got {made.shape}")
        if any(np.shares_memory(made, x) for x in (*xs, *outs[:k])):
            raise ValueError(f"{what}: {name} {OVERLAPS}")
    for gradient, made in zip(found if several else (found,), outs, strict=True):
        made[...] = gradient
    return out


def require_fits(what: str, name: str, made: Any, ndim: int, dtype: Any = np.float64) -> None:
    """TypeError unless an array can take a gradient with this number of axes and of this dtype."""
    is_array = isinstance(made, np.ndarray)
    fits = is_array and made.dtype in (np.float64, dtype) and made.ndim == ndim
    if not (fits and made.flags.c_contiguous and made.flags.writeable):
        got = type(made).__name__
        if is_array:
            layout = "" if made.flags.c_contiguous else ", not contiguous"
            got = f"{made.dtype} with {made.ndim} axes{layout}{'' if made.flags.writeable else ', read-only'}"
        raise TypeError(f"{what}: {name} {describe_needed(ndim)}, got {got}")


def describe_tuple(n: int) -> str:
    """The requirement on several arrays, in words."""
    return f"out must be a tuple of {n} arrays, one for each argument of argnums"


def describe_needed(ndim: int) -> str:
    """The requirement on an array, in words."""
    return f"must be a writable float64 array in C order with {ndim} axes"


def name_returned(out: bool, value: bool) -> Returned:
    """Names the part of a gradient that a bound call returns: written into arrays or not, with the value or without."""
    return "all" if not out else "first" if value else "nothing"


def take_returned(result: Any, returned: Returned) -> Any:
    """That part of a result."""
    return result if returned == "all" else result[0] if returned == "first" else None
