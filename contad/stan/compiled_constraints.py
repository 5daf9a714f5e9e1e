"""The functions of a constraint, which Numba functions may also call."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.linalg import cholesky

from contad.distributions.faces import function_of_text
from contad.ops.triangular_factors import cholesky_factor
from contad.rules.compilable import Compilable
from contad.stan import bodies, constraint_bodies
from contad.stan.recorded_checks import is_cholesky_factor, is_symmetric
from contad.variables.open_types import ArrayValue

# the remedy if compiled code has no function: for arguments that are arrays or variables
WRITTEN_OUT = {
    "lower_bound": ("lower", "lower + np.exp(u)"),
    "upper_bound": ("upper", "upper - np.exp(u)"),
    "lower_upper_bound": ("lower and upper", "lower + (upper - lower) * contad.expit(u)"),
    "offset_multiplier": ("offset and multiplier", "offset + multiplier * u"),
}


def as_shape(value: str, shape: tuple[int, ...]) -> str:
    """An expression of a vector, reshaped to the shape of the value; expressions of matrices already have it."""
    if not shape:
        return f"({value})[0]" if value else ""
    of_vector = value.startswith("bounded_of(") or "_of(" not in value
    return f"({value}).reshape(({shape[0]}, {shape[1]}))" if value and len(shape) == 2 and of_vector else value


_KNOWN = vars(bodies) | vars(constraint_bodies) | {"np": np, "cholesky": cholesky}
_IN_PYTHON = _KNOWN | {
    "cholesky": cholesky_factor, "is_cholesky_factor": is_cholesky_factor, "is_symmetric": is_symmetric
}


def evaluate(argument: str, expression: str) -> Callable[[ArrayValue], Any]:
    """The Python function of an expression."""
    found: Callable[[ArrayValue], Any] = eval(f"lambda {argument}: {expression}", _IN_PYTHON)
    return found


class Constrained(Protocol):
    """The attributes that the functions of a constraint use: see `Constraint`."""

    __name__: str
    name: str
    size: int
    shape: tuple[int, ...]
    expected: str


class ConstraintFunction(Compilable):
    """One of these functions: a Python function of one argument, and the expression for compiled code."""

    has_bodies = True

    def __init__(
        self, constraint: Constrained, function: Callable[..., Any], argument: str, loops: str, test: str = "True"
    ) -> None:
        super().__init__(function)
        self.constraint, self.loops, self.test = constraint, loops, test
        self.argument = argument
        self.signature = inspect.Signature([inspect.Parameter(argument, inspect.Parameter.POSITIONAL_OR_KEYWORD)])
        self.__name__ = function.__name__.removeprefix("_")
        self.__qualname__ = f"{constraint.__name__}.{self.__name__}"
        self._body: Any = None

    def __repr__(self) -> str:
        return f"<{self.__name__} of {self.constraint!r}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: make the constraint where it is used")

    def body(self, given: tuple[Any, ...]) -> Any:
        """The function for a vector u, or for a value y of the shape of the constraint; None for other arguments."""
        shape = self.constraint.shape
        if not self.loops or given != (1 if self.argument == "u" else len(shape),):
            return None
        if self._body is None:
            self._body = self._write()
        return self._body

    def _write(self) -> Any:
        name, shape = self.constraint.name, self.constraint.shape
        lines = [f"def {self.__name__}({self.argument}):"]
        if self.argument == "u":
            lines.append(f"    if len(u) != {self.constraint.size}:")
            lines.append(f"        raise ValueError({f'{name}: u must have {self.constraint.size} elements'!r})")
        else:
            for axis, length in enumerate(shape):
                lines.append(f"    if y.shape[{axis}] != {length}:")
                lines.append(f"        raise ValueError({f'{name}: y must have the shape {shape}'!r})")
            test = self.test.replace("np.all(", "(") if not shape else self.test
            lines.append(f"    if not ({test}):")
            lines.append(f"        raise ValueError({f'{name}: y must {self.constraint.expected}'!r})")
        lines += self._results(shape)
        return function_of_text("\n".join(lines) + "\n", self.__name__, _KNOWN)

    def _results(self, shape: tuple[int, ...]) -> list[str]:
        if self.argument == "u":
            return [f"    return {self.loops}"]
        if not shape:
            return ["    made = np.zeros(1)", f"    made[0] = {self.loops}", "    return made"]
        if len(shape) == 2 and "_of" not in self.loops:
            return [f"    made = {self.loops}", f"    return made.reshape(({self.constraint.size},))"]
        return [f"    return {self.loops}"]

    def refuse(self) -> str:
        """The message for other arguments."""
        name, size, shape = self.constraint.name, self.constraint.size, self.constraint.shape
        if not self.loops:
            names, formula = WRITTEN_OUT.get(name, ("its arguments", "the formula of its docstring"))
            return f"{name}: inside njit, {names} must be finite numbers, not variables; write {formula}"
        what = f"u, a vector of {size} float64 numbers" if self.argument == "u" else f"y of shape {shape}"
        return f"{name}: inside njit {self.__name__} takes {what}"
