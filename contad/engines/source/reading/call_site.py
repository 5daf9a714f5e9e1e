"""A call that is being read, and the table of functions with special readers."""

import ast
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numba import types

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Object, Point, constant, is_array, is_number
from contad.engines.source.ir.ssa import INT, MOST_AXES, Value
from contad.engines.source.reading import points
from contad.engines.source.reading.elementwise import arrays_of, overlaps
from contad.engines.source.reading.progress import TAPE, Environment
from contad.engines.source.reading.reader import Reader

_DTYPES: dict[Any, str] = {
    float: "float", np.float64: "float", np.float32: "single", int: "int", np.int64: "int", bool: "bool",
    np.bool_: "bool",
    "float64": "float", "f8": "float", "<f8": "float", "d": "float", "int64": "int", "i8": "int", "bool": "bool",
    "bool_": "bool", "float32": "single", "f4": "single", "<f4": "single", "f": "single",
}  # fmt: skip


class CallSite:
    """A call whose arguments have been read."""

    def __init__(
        self, reader: Reader, node: ast.Call, arguments: list[Any], keywords: dict[str, Any], env: Environment
    ) -> None:
        self.reader, self.node, self.env = reader, node, env
        self.arguments, self.keywords = arguments, keywords
        self.builder, self.arrays, self.progress = reader.builder, reader.arrays, reader.progress
        self.apply = reader.builder.apply

    def refuse(self, construct: str = "the arguments of {node}", remedy: str = TAPE) -> NoReturn:
        self.progress.refuse(self.node, construct, remedy)

    def again(self, function: Any, *arguments: Any, **keywords: Any) -> Any:
        """The result of another function, as if it were called here."""
        return self.reader.library(function, self.with_arguments(*arguments, **keywords))

    def with_arguments(self, *arguments: Any, **keywords: Any) -> "CallSite":
        """The same call with other arguments."""
        return CallSite(self.reader, self.node, [*arguments], keywords, self.env)

    def inline(self, function: Any, arguments: list[Any], keywords: dict[str, Any] | None = None) -> Any:
        """Inline the body of a function."""
        return self.reader.inline(function, arguments, keywords or {}, self.node, self.env)

    # ---- arguments ---------------------------------------------------------------------------------------------------
    def take(self, names: str) -> list[Any]:
        """Arguments by position or keyword, in the order of the names; None for missing ones."""
        found: dict[str, Any] = dict.fromkeys(names.split())
        if len(self.arguments) > len(found) or not set(self.keywords) <= set(found):
            self.refuse(remedy=f"give only {names}")
        return list((found | dict(zip(found, self.arguments, strict=False)) | self.keywords).values())

    def only(self) -> Any:
        """The only argument; None if there are several."""
        return self.arguments[0] if len(self.arguments) == 1 and not self.keywords else None

    def dtype(self, given: Any, otherwise: str = "float") -> str:
        """The base of a dtype argument."""
        if given is None:
            return otherwise
        x = given.value if isinstance(given, Object) else None
        x = _DTYPES.get(str(x)) if isinstance(x, (str, np.dtype, types.Type)) else _DTYPES.get(x)
        if x is None:
            self.refuse("the dtype in {node}", "use float64, float32, int64 or bool")
        return x

    def lengths(self, given: Any) -> list[Value]:
        """The lengths of a shape argument."""
        shape = list(given) if isinstance(given, tuple) else [given]
        if not 1 <= len(shape) <= MOST_AXES or not all(is_number(x) and x.kind == INT for x in shape):
            self.refuse("the shape in {node}", "give one to five integers")
        return shape

    def axis(self, entry: Any, ndim: int) -> int:
        """A constant axis, counted from the first one; other axes are refused."""
        axis = entry.constant if is_number(entry) and entry.kind == INT else None
        if axis is None:
            self.refuse("the axis in {node}", "give it as a constant")
        if not -ndim <= axis < ndim:
            self.refuse("the axis in {node}", "give one that the array has")
        return int(axis) % ndim

    def array(self, entry: Any) -> Value:
        """An argument as an array."""
        entry = points.vector(entry)
        if not is_array(entry):
            self.refuse("{node} of something that is no array", "give an array")
        return self.arrays.compute(entry)

    def wide_array(self, entry: Any) -> Value:
        """An argument as an array of 64-bit numbers."""
        if not is_array(entry) or entry.kind.narrow:
            self.refuse("{node} of something that is no array of 64 bits", "give an array of float64, int64 or bool")
        return self.arrays.compute(entry)

    # ---- results -----------------------------------------------------------------------------------------------------
    def compute_by(self, function: known_functions.Function, operands: list[Any]) -> Any:
        """Apply a scalar function to numbers or, elementwise, to arrays."""
        if any(isinstance(x, Point) for x in operands):
            return points.compute(self.arrays, operands, lambda *given: self.compute_by(function, list(given)))
        if not all(is_number(x) or is_array(x) for x in operands):
            self.refuse(f"{function.name} of something that is no number or array", "give numbers and arrays")
        if function.name == "power":
            x, y = operands
            return self.builder.power(x, y, function.template.startswith("np."))
        if function.result == "float":
            operands = [self.builder.as_float(x) for x in operands]
        return self.apply(function, *operands)

    def compute_into(self, out: Any, found: Any) -> Any:
        """The result of a NumPy function, in its `out` array if that is given."""
        if isinstance(out, Point) and is_number(found):
            self.arrays.put(out.array, [constant(0)], found)
            return out
        if not isinstance(out, Value) or out.kind.base != "float" or not out.is_array or found.kind.base != "float":
            self.refuse("the last argument of {node}", "give an array of floats")
        if any(overlaps(out, operand) for operand in arrays_of(found)):
            self.refuse("{node} of overlapping parts, where Numba and NumPy differ", "copy them first")
        self.arrays.fill(out, found, self.node)
        return out


# ---- functions with special readers ----------------------------------------------------------------------------------
READERS: dict[Any, Callable[[CallSite], Any]] = {}  # by function
COMPLEX_READERS: dict[Any, Callable[[CallSite], Any]] = {}  # those of calls with complex arguments
METHODS: dict[str, Callable[[CallSite], Any]] = {}  # by name of the array method; the array is the first argument


def reads(
    names: str | None, *functions: Any, method: str = "", **facts: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function read calls of these functions, and of an array method.

    It gets the call, its arguments by these names (None for missing ones), and the facts. Without names it takes the
    arguments from the call.
    """

    def declare(read: Callable[..., Any]) -> Callable[..., Any]:
        def take(site: CallSite) -> Any:
            return read(site, *(() if names is None else site.take(names)), **facts)

        READERS.update(dict.fromkeys(functions, take))
        if method:
            METHODS[method] = take
        return read

    return declare


def is_none(x: Any) -> bool:
    """Whether an argument is None or missing."""
    return x is None or (isinstance(x, Object) and x.value is None)
