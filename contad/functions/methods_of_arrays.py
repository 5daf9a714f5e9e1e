"""Methods of plain arrays of which variables ask more than NumPy gives, as the copy of a function calls them.

`dot` would convert a variable that is passed to it; `copy` makes an array, to which variables may be assigned. Of an
object array of variables `tobytes` and `from_buffer` read the references.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from contad.functions.array_making import CREATIONS
from contad.functions.object_arrays import require_no_references


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


class _Bytes:
    """x.tobytes for any x."""

    def __getitem__(self, x: Any) -> Any:
        require_no_references("tobytes", x)
        return x.tobytes


class _FromBuffer:
    """x.from_buffer, or another method of this name, of a class of ctypes or what else has it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, x: Any) -> Any:
        return functools.partial(self._call, getattr(x, self.name))

    def _call(self, method: Any, *args: Any, **options: Any) -> Any:
        for y in args:
            require_no_references(self.name, y)
        return method(*args, **options)


METHODS: Mapping[str, Any] = {"dot": _Dot(), "tobytes": _Bytes()} | {
    name: _FromBuffer(name) for name in ("from_buffer", "from_buffer_copy")
}
ASSIGNABLE_METHODS = {**METHODS, "copy": _Copy()}  # where variables are assigned to elements
