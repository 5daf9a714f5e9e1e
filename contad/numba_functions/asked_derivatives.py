"""A derivative called by a function that is itself differentiated, as an operation on numbers and arrays."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from contad.compile.dispatchers import signature_for
from contad.errors import UnsupportedError
from contad.numba_functions.request import Request
from contad.rules.compilable import functions_of_text


class AskedDerivative:
    """Replaces an engine's `run` in a function that is itself differentiated; it is called like `run`."""

    def __init__(self, request: Request, what: str) -> None:
        self.request, self.what = request, what

    def of_numbers(self, paired: Any = None) -> Any:
        """The differentiated function, as a Numba function of the numbers and arrays in its arguments.

        With has_aux it returns only the value. With `paired`, the type of its result, it also takes cotangents of the
        result, and returns the product.
        """
        request = self.request
        return _of_numbers(request.dispatcher, request.types, request.has_aux, paired)

    def result_type(self) -> Any:
        """The Numba type of the result of the function."""
        f = self.request.dispatcher
        found = signature_for(f, self.request.types)
        if found is None:
            raise UnsupportedError(f"{self.what}: its signatures are given, and none fits")
        return found.return_type


class _Leaves(NamedTuple):
    """Parameters for numbers and arrays, and the trees built from them."""

    names: list[str]
    known: dict[str, Any]

    def tree(self, t: Any, prefix: str) -> str:
        """The text of a value of a type, built from new parameters; for functions and the like the object itself."""
        if isinstance(t, types.BaseTuple):
            parts = [self.tree(part, prefix) for part in t.types]
            if isinstance(t, types.BaseNamedTuple):
                name = f"class_{len(self.known)}"
                self.known[name] = t.instance_class
                return f"{name}({', '.join(parts)})"
            return f"({''.join(f'{part}, ' for part in parts)})"
        if isinstance(t, types.Dispatcher):
            name = f"function_{len(self.known)}"
            self.known[name] = t.dispatcher
            return name
        if isinstance(t, types.NoneType):
            return "None"
        self.names.append(f"{prefix}{len(self.names)}")
        return self.names[-1]


def _of_numbers(dispatcher: Any, given: tuple[Any, ...], has_aux: bool, paired: Any) -> Any:
    known: dict[str, Any] = {"np": np, "of": dispatcher}
    leaves = _Leaves([], known)
    call = f"of({', '.join(leaves.tree(t, 'x_') for t in given)}){'[0]' if has_aux else ''}"
    lines = [f"    return {call}"]
    if paired is not None:
        terms = list(_pair(leaves, paired, "z"))
        lines = [f"    z = {call}", f"    return {' + '.join(terms)}"]
    name = dispatcher.py_func.__name__
    name = name if name.isidentifier() and name not in known else "function"
    text = "\n".join([f"def {name}({', '.join(leaves.names)}):", *lines]) + "\n"
    functions_of_text(text, known)
    return numba.njit(error_model=dispatcher.targetoptions.get("error_model", "python"))(known[name])


def _pair(leaves: _Leaves, t: Any, text: str) -> Any:
    """The products of the parts of a result with cotangents, which become parameters."""
    if isinstance(t, types.BaseTuple):
        for k, part in enumerate(t.types):
            yield from _pair(leaves, part, f"{text}[{k}]")
    elif isinstance(t, types.Array):
        yield f"np.sum({text} * {leaves.tree(t, 'z_bar_')})"
    else:
        yield f"{text} * {leaves.tree(t, 'z_bar_')}"


DERIVE: dict[str, Callable[..., Any]] = {}
"""What makes `run` of these, by name: the engine that generates source puts its own here."""
