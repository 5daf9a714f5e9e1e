"""SciPy's ufuncs that are written with rules: functions of variables that stand for them, by SciPy's names."""

import sys
from collections.abc import Callable

import numpy as np

from contad.variables.open_types import Function

_by_name: dict[str, Function] = {}
_by_ufunc: dict[np.ufunc, Function | None] = {}


def stands_for(*ufuncs: str | np.ufunc) -> Callable[[Function], Function]:
    """Declare a function of numbers and arrays, with a ufunc's arguments, to stand for ufuncs.

    Those of scipy.special go by name; a name that begins with an underscore is that of a ufunc that a function of
    SciPy's calls.
    """

    def declare(function: Function) -> Function:
        for ufunc in ufuncs:
            if isinstance(ufunc, str):
                _by_name[ufunc] = function
            else:
                _by_ufunc[ufunc] = function
        return function

    return declare


def written_functions() -> dict[str, Function]:
    """Every such function by SciPy's name."""
    return dict(_by_name)


def written_for(ufunc: np.ufunc) -> Function | None:
    """The function that stands for a ufunc of SciPy, if any; SciPy is not imported for the look-up."""
    if ufunc not in _by_ufunc:
        modules = [sys.modules.get("scipy.special"), sys.modules.get("scipy.special._ufuncs")]
        names = (n for n in _by_name if any(getattr(module, n, None) is ufunc for module in modules))
        _by_ufunc[ufunc] = next((_by_name[name] for name in names), None)
    return _by_ufunc[ufunc]
