"""np.vectorize, of variables."""

from typing import Any

import numpy as np

from contad.variables.array import Array, as_objects
from contad.variables.creation import array
from contad.variables.number import Number
from contad.variables.open_types import Function, Nested
from contad.variables.trees import holds_number


class Vectorized:
    """np.vectorize(f), with f called for each element of arrays of variables."""

    def __init__(self, pyfunc: Function, *args: Any, **options: Any) -> None:
        self.of_numbers = np.vectorize(pyfunc, *args, **options)
        self.of_objects = np.vectorize(pyfunc, *args, **options)
        types = self.of_numbers.otypes
        self.of_objects.otypes = types and "O" * len(types)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of_numbers, name)

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        if not holds_number((args, kwargs)):
            return self.of_numbers(*args, **kwargs)
        boxes = {name: _as_objects(x) for name, x in kwargs.items()}
        result = self.of_objects(*map(_as_objects, args), **boxes)
        return tuple(map(_as_array, result)) if isinstance(result, tuple) else _as_array(result)


def stand_for_vectorized(x: np.vectorize, pyfunc: Function) -> Vectorized:
    """What stands for an object that np.vectorize has made, with another function."""
    new = Vectorized(pyfunc, x.otypes, None, x.excluded, x.cache, x.signature)
    new.of_numbers.__doc__ = x.__doc__
    return new


def _as_objects(x: Nested) -> Nested:
    return as_objects(x) if isinstance(x, (Array, Number)) else x


def _as_array(z: Nested) -> Nested:
    return array(z) if isinstance(z, np.ndarray) and z.dtype == object else z
