"""Methods of plain arrays of which variables ask more than NumPy gives, as the copy of a function calls them.

`dot` would convert a variable that is passed to it; `copy` makes an array, to which variables may be assigned.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from contad.functions.array_making import CREATIONS


class _Dot:
    """x.dot for any x: of a plain array it is NumPy's function, which asks its arguments what it means."""

    def __getitem__(self, x: Any) -> Any:
        return functools.partial(np.dot, x) if x.__class__ is np.ndarray else x.dot


class _Copy:
    """x.copy for any x: of a plain array it is np.copy as functions that assign to elements find it."""

    def __getitem__(self, x: Any) -> Any:
        return functools.partial(_copy, x) if x.__class__ is np.ndarray else x.copy


def _copy(x: Any, order: str = "C") -> Any:
    return CREATIONS["copy"](x, order)


METHODS: Mapping[str, Any] = {"dot": _Dot()}
ASSIGNABLE_METHODS = {**METHODS, "copy": _Copy()}  # where variables are assigned to elements
