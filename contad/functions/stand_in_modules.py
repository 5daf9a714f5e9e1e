"""`numpy`, `math` and `cmath` as the copy of a function sees them, and the stand-ins for their functions."""

import cmath
import functools
import math
from collections.abc import Mapping
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from contad.functions.array_making import CONVERSIONS, CREATIONS, SELECTIONS, Vectorized
from contad.functions.math_functions import OF_CMATH, OF_MATH
from contad.functions.methods_of_arrays import shuffling
from contad.functions.object_arrays import LISTED, LISTED_OF_LINALG, OF_FFT, OF_LINALG, OF_OBJECTS
from contad.variables.open_types import Function


class StandIns:
    """The stand-ins for modules, and for names imported from them."""

    def __init__(self, of_numpy: Mapping[str, Function]) -> None:
        answers = [
            (np.linalg, OF_LINALG | LISTED_OF_LINALG), (np.fft, OF_FFT), (math, OF_MATH), (cmath, OF_CMATH),
            (np, of_numpy),
        ]  # fmt: skip
        self.modules = [
            (module, ModuleType(module.__name__, module.__doc__), found, {x: getattr(module, x) for x in found})
            for module, found in answers
        ]
        self.of: dict[int, Any] = {id(module): copy for module, copy, *_ in self.modules}
        self.of |= {id(getattr(module, name)): f for module, _, found, _ in self.modules for name, f in found.items()}
        # makes a stand-in for an object of a class, or returns None
        self.of_objects: dict[type, Function] = {MethodType: shuffling, ModuleType: _random_numbers}
        self.submodules: dict[str, ModuleType] = {}  # of NumPy, added when they are named
        self.update()

    def find(self, x: Any) -> Any:
        """The stand-in for x; None if there is none."""
        found = self.of.get(id(x))
        if found is None:
            make = self.of_objects.get(type(x))
            return make and make(x)
        return found

    def update(self) -> None:
        """Take over the present contents of the modules."""
        for module, copy, functions, at_first in self.modules:
            own = vars(module)
            others = {name: own.get(name, x) for name, x in at_first.items() if own.get(name, x) is not x}
            others = {name: self.of.get(id(x), x) for name, x in others.items()}  # that somebody has put there
            vars(copy).update(own, **{**functions, **others})
        vars(self.of[id(np)]).update(self.submodules, linalg=self.of[id(np.linalg)], fft=self.of[id(np.fft)])


def _random_numbers(module: ModuleType) -> ModuleType | None:
    """The stand-in for `numpy.random`, which is imported late; None for another module."""
    return _with_shuffle(module) if getattr(module, "__name__", None) == "numpy.random" else None


@functools.cache
def _with_shuffle(module: ModuleType) -> ModuleType:
    copy = ModuleType(module.__name__, module.__doc__)
    vars(copy).update(vars(module), shuffle=shuffling(module.shuffle))
    return copy


_ALWAYS = OF_OBJECTS | CONVERSIONS | SELECTIONS | {"vectorize": Vectorized}
PLAIN = StandIns(_ALWAYS | LISTED)
ASSIGNABLE = StandIns(_ALWAYS | LISTED | CREATIONS)  # if variables are assigned to elements
ANSWERED = frozenset(_ALWAYS) | frozenset(OF_LINALG) | frozenset(OF_FFT) | {"polynomial"}
ANSWERED_OF_LISTS = frozenset(LISTED) | frozenset(LISTED_OF_LINALG)
MADE = frozenset(CREATIONS)
OF_NUMBERS = frozenset(OF_MATH | OF_CMATH)


def answering(x: Any) -> Any:
    """The stand-in for a module or one of its functions if nothing is assigned; anything else unchanged."""
    found = PLAIN.find(x)
    return x if found is None else found
