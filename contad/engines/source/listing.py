"""The source of a derivative, to read or to run without Numba; includes the global arrays that it reads."""

import math
import sys
import textwrap
from types import FunctionType
from typing import Any

import numpy as np

from contad.engines.source.build import derivative_of

_SHORT = 64  # longer arrays are not written out


def source(request: Any) -> str:
    """The source of `run`, as a module that imports only NumPy and contad."""
    derivative = derivative_of(request)
    head, separator, body = derivative.source().partition("\n\n\ndef run(")
    arrays = [_definition(name, array, request.function) for name, array in derivative.constants().items()]
    return "\n".join([head, *(["", *arrays] if arrays else [])]) + separator + body


def _definition(name: str, array: Any, function: FunctionType) -> str:
    """A statement that binds the name to an array, written out, or to a function, imported."""
    what = f"an array of {array.dtype}, shape {array.shape}" if isinstance(array, np.ndarray) else "a function"
    if isinstance(array, np.ndarray) and array.size <= _SHORT:
        text = f'{name} = np.array({_numbers(array.tolist())}, "{array.dtype}")'
        return "\n    ".join(textwrap.wrap(text, 116))
    module = sys.modules.get(function.__module__)
    for known, value in vars(module).items() if module is not None else ():
        if value is array:
            return f"from {function.__module__} import {known}" + (f" as {name}" if known != name else "")
    return f"# {name} is {what}, which {function.__name__} {'reads' if isinstance(array, np.ndarray) else 'calls'}"


def _numbers(x: Any) -> str:
    """Nested lists of numbers as source."""
    if isinstance(x, list):
        return f"[{', '.join(map(_numbers, x))}]"
    return repr(x) if math.isfinite(x) else f"{'-' if x < 0.0 else ''}np.{'nan' if x != x else 'inf'}"
