"""Checks of shapes: Stan's functions never broadcast, so a wrong length is an error and does not give another
matrix."""

import math
from typing import Any

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


def read_data(name: str, value: Any, shape: tuple[int, ...] = (), whole: bool = False) -> Any:
    """Data as a translated Stan program declares them: a number, or an array of float64, or of int64 if they are whole.

    Raises:  ValueError if the shape is another one, or a number is not whole.

    >>> read_data("y", [1, 2], (2,))
    array([1., 2.])
    """
    found = np.asarray(value)
    is_single = shape == (1,) and found.shape == ()
    if found.shape != shape and not is_single and (found.size or math.prod(shape)):
        raise ValueError(f"{name} must have shape {shape}, got shape {found.shape}")
    if whole and not np.all(found == np.floor(found)):
        raise ValueError(f"{name} must be whole, got {value}")
    made = found.astype(np.int64 if whole else np.float64).reshape(shape)
    return made if shape else made.item()
