"""The functions of a constraint, which Numba functions may also call: source text, for both."""

import inspect
import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from contad.distributions.faces import function_of_text
from contad.errors import UnsupportedError
from contad.rules.compilable import Compilable, functions_of_text
from contad.stan.constraint_bodies import in_a_row, zeros
from contad.stan.transform_functions import FUNCTIONS

# the remedy if compiled code has no function: for arguments that are arrays or variables
WRITTEN_OUT = {
    "lower_bound": "lower", "upper_bound": "upper", "lower_upper_bound": "lower, upper",
    "offset_multiplier": "offset, multiplier",
}  # fmt: skip
KNOWN = {**FUNCTIONS, "_zeros": zeros, "_in_a_row": in_a_row}
IN_PYTHON = KNOWN | {name: function.run for name, function in FUNCTIONS.items()}


class Constrained(Protocol):
    """The attributes of a constraint that its text is made of: see `Constraint`."""

    __name__: str
    name: str
    transform: str
    literal: bool
    size: int
    shape: tuple[int, ...]
    free_shape: tuple[int, ...]
    array_shape: tuple[int, ...]
    order: str

    def write(self, kind: str, literal: bool) -> list[str]:
        """The statements of a function."""

    def name_arguments(self, prefix: str, known: dict[str, Any]) -> list[str]:
        """The expressions of the arguments."""


def _turn(axes: int) -> str:
    """The method that exchanges the last two axes of an array."""
    return ".T" if axes == 2 else f".transpose({(*range(axes - 2), axes - 1, axes - 2)})"


def write_part(u: str, start: str, shape: tuple[int, ...], order: str) -> str:
    """The expression of the numbers of a vector from a place on, as an array; matrices in it are in this order.

    Without a place they are the whole vector.
    """
    if not shape:
        return f"{u}[{start or 0}]"
    end = f"{start} + {math.prod(shape)}" if not start.isdigit() else str(int(start) + math.prod(shape))
    part = f"{u}[{start}:{end}]" if start else u
    if len(shape) == 1:
        return part
    if order == "C":
        return f"{part}.reshape({shape})"
    return f"{part}.reshape({(*shape[:-2], shape[-1], shape[-2])}){_turn(len(shape))}"


def write_row(y: str, axes: int, order: str) -> str:
    """The inverse expression: a vector of the elements of an array."""
    return y if axes == 1 else f"_in_a_row({y}{_turn(axes) if order == 'F' and axes else ''})"


def write_value(
    y: str, c: Constrained, arguments: Sequence[str], u: str, start: int | None = None, copies: bool = True
) -> list[str]:
    """Statements that assign the value of a constraint to y, and add its log-Jacobian to _logs.

    Without a place to start from, they are of the whole vector u. Without copies, arrays of numbers without a
    constraint are views of u.
    """
    place = "" if start is None else str(start)
    rest = "".join(f", {x}" for x in arguments)
    if c.transform == "real":
        part = write_part(u, place, c.shape, c.order)
        return [f"{y} = real_constrain({part})" if copies else f"{y} = {part}"]
    if not c.array_shape:
        part = write_part(u, place, c.free_shape, c.order)
        return [f"{y}, _log = {c.transform}_jacobian({part}{rest})", "_logs = _logs + _log"]
    count, one = math.prod(c.array_shape), c.shape[len(c.array_shape) :]
    part = write_part(u, f"{place or 0} + _k * {math.prod(c.free_shape)}", c.free_shape, c.order)
    return [
        f"{y} = _zeros({u}, {count}, {', '.join(map(str, one))})",
        f"for _k in range({count}):",
        f"    {y}[_k], _log = {c.transform}_jacobian({part}{rest})",
        "    _logs = _logs + _log",
        *([f"{y} = {y}.reshape({c.shape})"] if len(c.array_shape) > 1 else []),
    ]


def write_free(u: str, c: Constrained, arguments: Sequence[str], y: str) -> list[str]:
    """Statements that assign the unconstrained numbers of a value y to u."""
    function = FUNCTIONS[f"{c.transform}_unconstrain"]
    rest = "".join(f", {x}" for x in arguments[: len(function.signature.parameters) - 1])
    if not c.array_shape:
        found = f"{function.__name__}({y}{rest})"
        return [f"{u} = {write_row(found, len(c.free_shape), c.order)}"]
    count, one = math.prod(c.array_shape), c.shape[len(c.array_shape) :]
    found = f"{function.__name__}({y}.reshape({(count, *one)})[_k]{rest})"
    size = math.prod(c.free_shape)
    return [
        f"{u} = _zeros({y}, {c.size})",
        f"for _k in range({count}):",
        f"    {u}[_k * {size} : (_k + 1) * {size}] = {write_row(found, len(c.free_shape), c.order)}",
    ]


class TreeFunction(Compilable):
    """`constrain` of a tree of constraints, which Numba functions may also call: a dict is then a named tuple.

    transforms   the constraints, in the order of u
    tree         the tree of their places in this order
    """

    has_bodies = True
    __name__: str

    def __init__(
        self, function: Callable[..., Any], transforms: Sequence[Constrained], tree: Any, home: str, size: int
    ) -> None:
        super().__init__(function)
        self.transforms, self.tree, self.size = transforms, tree, size
        self.signature = inspect.Signature([inspect.Parameter("u", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
        self.__name__ = function.__name__.removeprefix("_")
        self.__qualname__ = f"{home}.{self.__name__}"
        self._known: dict[str, Any] = dict(KNOWN)
        self._body: Any = None

    def __reduce__(self) -> Any:
        return getattr, (self.function.__self__, self.__name__)

    def body(self, given: tuple[Any, ...]) -> Any:
        """The function of a vector u."""
        if given != (1,):
            return None
        if self._body is None:
            wrong = f"Parameters: u must have {self.size} elements"
            lines = ["def constrain(u):", f"if len(u) != {self.size}: raise ValueError({wrong!r})", "_logs = 0.0"]
            start = 0
            for k, c in enumerate(self.transforms):
                arguments = c.name_arguments(f"_{k}", self._known)
                lines += write_value(f"_y{k}", c, arguments, "u", start)
                start += c.size
            text = "\n    ".join([*lines, f"return {self._write_tree(self.tree)}, _logs"])
            self._body = function_of_text(text, "constrain", self._known)
        return self._body

    def _write_tree(self, tree: Any) -> str:
        """The expression of a tree of values."""
        if isinstance(tree, int):
            return f"_y{tree}"
        _require_tree(tree)
        is_dict = isinstance(tree, dict)
        kind: Any = namedtuple("Values", tree) if is_dict else type(tree)
        items = list(tree.values() if is_dict else tree)
        parts = "".join(f"{self._write_tree(x)}, " for x in items)
        if not hasattr(kind, "_fields"):
            return f"({parts})"
        name = f"_Values{len(self._known)}"
        self._known[name] = kind
        return f"{name}({parts})"

    def refuse(self) -> str:
        """The message for other arguments."""
        return f"Parameters: inside njit constrain takes u, a vector of {self.size} float64 numbers"


class FreeTree(Compilable):
    """`unconstrain` of a tree of constraints. Numba functions call a Numba function instead, whose argument is a tree
    of tuples, with a named tuple for a dict.
    """

    def __init__(self, function: Callable[..., Any], transforms: Sequence[Constrained], tree: Any) -> None:
        super().__init__(function)
        self.transforms, self.tree = transforms, tree
        self.__name__ = function.__name__.removeprefix("_")
        self._compiled: Any = None

    def __reduce__(self) -> Any:
        return getattr, (self.function.__self__, self.__name__)

    @property
    def stands_for(self) -> Any:
        """The Numba function."""
        if self._compiled is None:
            from numba import njit

            known: dict[str, Any] = {**KNOWN, "np": np, "__name__": "unconstrain"}
            lines = ["def unconstrain(values):"]
            for place, k in _list_places(self.tree):
                c = self.transforms[k]
                lines.append(f"_y{k} = values{place}")
                wrong = f"Parameters: values{place} must have the shape {c.shape}"
                tests = " or ".join(f"_y{k}.shape[{axis}] != {n}" for axis, n in enumerate(c.shape))
                lines += [f"if {tests}: raise ValueError({wrong!r})"] * bool(tests)
                lines += write_free(f"_u{k}", c, c.name_arguments(f"_{k}", known), f"_y{k}")
            parts = "".join(f"_u{k}, " for k in range(len(self.transforms)))
            lines.append(f"return np.concatenate(({parts}))" if parts else "return np.zeros(0)")
            self._compiled = njit(functions_of_text("\n    ".join(lines), known)["unconstrain"])
        return self._compiled


def _list_places(tree: Any, place: str = "") -> list[tuple[str, int]]:
    """The leaves of a tree: how compiled code names them, and their numbers."""
    if isinstance(tree, int):
        return [(place, tree)]
    _require_tree(tree)
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return [
        found
        for key, x in items
        for found in _list_places(x, f"{place}.{key}" if isinstance(tree, dict) else f"{place}[{key}]")
    ]


def _require_tree(tree: Any) -> None:
    """Raise UnsupportedError if compiled code has no values of such a tree."""
    if not isinstance(tree, (dict, tuple, list)):
        raise UnsupportedError(f"Parameters: inside njit, a tree consists of dicts and tuples, got {type(tree)}")
    if isinstance(tree, dict) and not all(isinstance(name, str) and name.isidentifier() for name in tree):
        raise UnsupportedError("Parameters: inside njit, the keys of a dict must be names")


class ConstraintFunction(Compilable):
    """One of these functions, of u or of y. Compiled code has it unless an argument of the constraint is a variable."""

    has_bodies = True

    def __init__(self, constraint: Constrained, function: Callable[..., Any], argument: str) -> None:
        super().__init__(function)
        self.constraint, self.argument = constraint, argument
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
        c = self.constraint
        if not c.literal or given != (1 if self.argument == "u" else len(c.shape),):
            return None
        if self._body is None:
            if self.argument == "u":
                tests = {f"len(u) != {c.size}": f"have {c.size} elements"}
            else:
                tests = {f"y.shape[{k}] != {n}": f"have the shape {c.shape}" for k, n in enumerate(c.shape)}
            words = f"{c.name}: {self.argument} must "
            checks = [f"if {test}: raise ValueError({words + what!r})" for test, what in tests.items()]
            lines = [f"def {self.__name__}({self.argument}):", *checks, *c.write(self.__name__, literal=True)]
            text, known = "\n    ".join(lines), dict(KNOWN)
            c.name_arguments("", known)
            self._body = function_of_text(text, self.__name__, known)
        return self._body

    def refuse(self) -> str:
        """The message for other arguments."""
        c = self.constraint
        if not c.literal:
            names = WRITTEN_OUT.get(c.name, "its arguments")
            instead = f"call {c.name}_constrain(u, {names})"
            return f"{c.name}: inside njit, {names} must be numbers or arrays, not variables; {instead}"
        what = f"u, a vector of {c.size} float64 numbers" if self.argument == "u" else f"y of shape {c.shape}"
        return f"{c.name}: inside njit {self.__name__} takes {what}"
