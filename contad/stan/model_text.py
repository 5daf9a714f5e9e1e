"""The text of a model: statements that constrain all parameters, in their order, and the values that they name."""

import linecache
import math
import re
from collections import namedtuple
from collections.abc import Mapping
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from contad.front.user_function import primitive_of
from contad.functions.user_call import numba_function
from contad.stan.compiled_constraints import IN_PYTHON, KNOWN, write_free, write_value
from contad.stan.declarations import Expression, python_name
from contad.stan.transforms import Constraint

LITERAL = 32  # longer axes are values in compiled code, so that a model of another size has the same machine code


class Size(int):
    """A length with its expression; sums and products have expressions, too."""

    text: str

    def __new__(cls, n: int, text: str) -> "Size":
        made = super().__new__(cls, n)
        made.text = text
        return made

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def __add__(self, other: int) -> "Size":
        return Size(int(self) + int(other), f"({self} + {other})")

    def __mul__(self, other: int) -> "Size":
        return Size(int(self) * int(other), f"({self} * {other})")

    __radd__, __rmul__ = __add__, __mul__


class ModelText:
    """The statements for parameters with these constraints, in Python or in compiled code.

    statements   they assign the values to their names, from a vector _u, and add the log-Jacobians to _logs
    known        the globals of a function of them
    given        further names in them: data, and values of expressions of data
    """

    def __init__(
        self, parameters: Mapping[str, Constraint], data: Mapping[str, Any], is_compiled: bool, copies: bool = True
    ) -> None:
        self.data, self.is_compiled = {python_name(name): x for name, x in data.items()}, is_compiled
        self.known: dict[str, Any] = dict(KNOWN if is_compiled else IN_PYTHON)
        self.given: dict[str, Any] = {}
        self.statements: list[str] = []
        self.bounds: dict[str, list[str]] = {}
        self.size = 0
        for name, c in parameters.items():
            self.bounds[name] = [self._write_bound(x) for x in c.arguments]
            shaped = self._with_sizes(c) if is_compiled else c
            self.statements += write_value(python_name(name), shaped, self.bounds[name], "_u", self.size, copies)
            self.size += shaped.size

    def _name(self, x: Any) -> str:
        """A new name for a value of data."""
        name = f"_{len(self.given)}_"
        is_places = np.ndim(x) and np.asarray(x).dtype.kind in "iu"
        number = np.ascontiguousarray(x, dtype=np.int64 if is_places else np.float64)
        self.given[name] = number if np.ndim(x) else float(x)
        return name

    def _with_sizes(self, c: Constraint) -> Any:
        """A constraint for `write_value`, whose long axes are values of `given`."""
        named: dict[int, Size] = {}
        for n in (*c.shape, *c.free_shape):
            if n > LITERAL and n not in named:
                named[n] = Size(n, f"_{len(self.given)}_")
                self.given[named[n].text] = n
        shape, free, array = (tuple(named.get(n, n) for n in axes) for axes in (c.shape, c.free_shape, c.array_shape))
        return SimpleNamespace(
            transform=c.transform, order=c.order, shape=shape, free_shape=free, array_shape=array,
            size=math.prod(free) * math.prod(array),
        )  # fmt: skip

    def _write_bound(self, x: Any) -> str:
        """The expression of an argument of a constraint."""
        if isinstance(x, Expression):
            names = {}
            for name, value in x.known.items():
                names[name] = self._name(value) if not callable(value) else f"_{name}"
                if callable(value):
                    self.known[names[name]] = self._as_called(value)
            return re.sub(r"\b_\w+", lambda found: names[found[0]], f"({x.text})")
        if callable(x):
            return self._write_call(x)
        return repr(x) if isinstance(x, (int, float)) and math.isfinite(x) else self._name(x)

    def _as_called(self, function: Any) -> Any:
        """A function of the user as the statements call it; one of contad's as it is."""
        if isinstance(function, FunctionType) and self.is_compiled:
            import numba

            return numba.njit(function)
        is_compiled = numba_function(function) is not None
        return primitive_of(function) if is_compiled and not self.is_compiled else function

    def _write_call(self, function: Any) -> str:
        """The call of a function of a namespace of the parameters declared before, and of the data that it names."""
        dispatcher = numba_function(function)
        code = (dispatcher.py_func if dispatcher else function).__code__
        used = [name for name in self.data if name in code.co_names]
        self.given |= {name: self.data[name] for name in used}
        fields = [*used, *(python_name(name) for name in self.bounds)]
        number = len(self.known)
        self.known[f"_function_{number}"] = self._as_called(function)
        self.known[f"_values_{number}"] = namedtuple("Values", fields)
        return f"_function_{number}(_values_{number}({', '.join(fields)}))"

    def write_inverse(self, name: str, c: Constraint) -> list[str]:
        """The statements that assign the unconstrained numbers of a parameter to _u."""
        return write_free("_u", c, self.bounds[name], python_name(name))

    def make(self, name: str, arguments: list[str], statements: list[str], module: str, **known: Any) -> FunctionType:
        """A function with these arguments, followed by the names of `given`; its source can be read."""
        text = "\n    ".join([f"def {name}({', '.join(dict.fromkeys([*arguments, *self.given]))}):", *statements, ""])
        file = f"<model {name} {len(linecache.cache)}>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        names = self.known | known | {"__name__": module}
        exec(compile(text, file, "exec", dont_inherit=True), names)
        made: FunctionType = names[name]
        return made
