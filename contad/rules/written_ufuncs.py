"""Replacements of SciPy's ufuncs for variables, written with rules, under SciPy's names."""

import sys
from collections.abc import Callable

import numpy as np

from contad.variables.open_types import Function

_by_name: dict[str, Function] = {}
_by_ufunc: dict[np.ufunc, Function | None] = {}


def stands_for(*ufuncs: str | np.ufunc) -> Callable[[Function], Function]:
    """Declare that a function of numbers and arrays, with a ufunc's arguments, replaces ufuncs on variables.

    Ufuncs of scipy.special are given by name; a name with a leading underscore is a ufunc that a SciPy function calls.
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
    """The replacement of a SciPy ufunc, if any; SciPy is not imported for the look-up."""
    if ufunc not in _by_ufunc:
        modules = [sys.modules.get("scipy.special"), sys.modules.get("scipy.special._ufuncs")]
        names = (n for n in _by_name if any(getattr(module, n, None) is ufunc for module in modules))
        _by_ufunc[ufunc] = next((_by_name[name] for name in names), None)
    return _by_ufunc[ufunc]
