"""Checks of shapes: Stan's functions never broadcast, so a wrong length is an error and does not give another
matrix."""


import numpy as np

from contad.ops.products import as_array
from contad.variables.open_types import ArrayValue


def matrices(function: str, **given: ArrayValue) -> list[ArrayValue]:
    """The arguments as matrices or stacks of them."""
    found = list(map(as_array, given.values()))
    for name, x in zip(given, found, strict=True):
        if np.ndim(x) < 2:
            raise ValueError(f"{function}: {name} must be a matrix or a stack of matrices, got shape {np.shape(x)}")
    return found


def require_same_shape(function: str, first: str, x: ArrayValue, second: str, y: ArrayValue) -> None:
    """Raise ValueError unless two arguments have one shape."""
    if np.shape(x) != np.shape(y):
        raise ValueError(f"{function}: {second} must have the shape of {first}, {np.shape(x)}, got {np.shape(y)}")


def require_length(function: str, name: str, x: ArrayValue, axis: int, n: int, of: str) -> None:
    """Raise ValueError unless x has n elements along an axis, as another argument requires."""
    if np.ndim(x) < -axis or np.shape(x)[axis] != n:
        raise ValueError(f"{function}: {name} must have length {n} in axis {axis}, as {of}, got shape {np.shape(x)}")
