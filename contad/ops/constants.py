"""NumPy functions whose results carry no derivative: positions, counts, truth values, types and text."""

import math

import numpy as np

from contad.rules.numpy_functions import constant, implements
from contad.variables.number import map_numbers, peek
from contad.variables.open_types import Option, Value

constant(
    # positions
    np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.argsort, np.argpartition, np.argwhere, np.nonzero,
    np.flatnonzero, np.searchsorted, np.digitize, np.lexsort, np.diag_indices_from, np.tril_indices_from,
    np.triu_indices_from,
    # counts and shapes
    np.count_nonzero, np.result_type, np.can_cast, np.common_type, np.min_scalar_type,
    # truth values
    np.any, np.all, np.isclose, np.allclose, np.array_equal, np.array_equiv, np.isin, np.isneginf, np.isposinf,
    np.angle, np.iscomplex, np.isreal, np.may_share_memory, np.shares_memory,
    # text
    np.array_str, np.array_repr, np.array2string,
)  # fmt: skip


@implements(np.iscomplexobj, layout="own")
def iscomplexobj(x: Value) -> bool:
    """False: arrays of this kind are real."""
    return False


@implements(np.isrealobj, layout="own")
def isrealobj(x: Value) -> bool:
    """True."""
    return True


@implements(np.shape, layout="own")
def shape(a: Value) -> tuple[int, ...]:
    """The length of every axis."""
    found: tuple[int, ...] = a.shape if hasattr(a, "shape") else np.asarray(map_numbers(peek, a)).shape
    return found


@implements(np.ndim, layout="own")
def ndim(a: Value) -> int:
    """The number of axes."""
    return len(shape(a))


@implements(np.size, layout="own")
def size(a: Value, axis: Option = None) -> int:
    """The number of elements, in all or along an axis."""
    lengths = shape(a)
    return math.prod(lengths) if axis is None else lengths[axis]


@implements(np.real, np.real_if_close, layout="own")
def real(val: Value, tol: float = 100.0) -> Value:
    """The array itself: arrays are real."""
    return val


@implements(np.imag, layout="own")
def imag(val: Value) -> Value:
    """Zeros: arrays are real."""
    return val.imag
