"""Functions of Python and NumPy that are no functions of numbers: creation, ranges, conversions, reductions."""

import ast
import builtins
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Object, constant, is_array, is_number
from contad.engines.source.ir.single_assignment import INT, Kind, Value
from contad.engines.source.reading.call_reader import Calls, Iteration, Range


def _creation(fill: str) -> Callable[..., Any]:
    def create(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        shape, dtype = self.take("shape dtype", arguments, keywords, node)
        return self.create(fill, self.lengths(shape, node), self.dtype(dtype, node))

    return create


def _creation_like(fill: str) -> Callable[..., Any]:
    def create(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        array, dtype = self.take("a dtype", arguments, keywords, node)
        if not is_array(array):
            self.refuse(node, f"{ast.unparse(node)!r} of something that is no array")
        if dtype is None and array.kind.narrow:
            self.refuse(node, f"{ast.unparse(node)!r} of an array of small integers", "give a dtype")
        return self.create(fill, self.shape(array), self.dtype(dtype, node, array.kind.base))

    return create


def _full(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    shape, value, dtype = self.take("shape fill_value dtype", arguments, keywords, node)
    if not is_number(value):
        self.refuse(node, f"the value in {ast.unparse(node)!r}")
    array = self.create("empty", self.lengths(shape, node), self.dtype(dtype, node, value.kind.base))
    self.fill(array, value, node)
    return array


def _array(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.array of a list of numbers, or of lists of them; of an array, its copy."""
    given, dtype = self.take("object dtype", arguments, keywords, node)
    if is_array(given):
        return _copy(self, [given], {}, node)
    rows = [row if isinstance(row, tuple) else (row,) for row in given] if isinstance(given, tuple) else []
    nested = bool(rows) and all(isinstance(row, tuple) for row in given)
    numbers = [x for row in rows for x in row]
    if not numbers or not all(map(is_number, numbers)) or len({len(row) for row in rows}) != 1:
        self.refuse(node, f"{ast.unparse(node)!r}", "give a list of numbers, or of lists of numbers of one length")
    bases = {x.kind.base for x in numbers}
    base = self.dtype(dtype, node, next(b for b in ("float", "int", "bool") if b in bases))
    if "float" in bases and base != "float":
        self.refuse(node, f"{ast.unparse(node)!r}, which rounds", "leave the dtype away")
    shape = [len(rows), len(rows[0])] if nested else [len(rows)]
    array = self.create("empty", list(map(constant, shape)), base)
    for k, row in enumerate(rows):
        for j, x in enumerate(row):
            self.put(array, [constant(k), constant(j)][: len(shape)], x)
    return array


def _arange(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    if keywords or not 1 <= len(arguments) <= 2 or not all(is_number(x) and x.kind == INT for x in arguments):
        self.refuse(node, f"{ast.unparse(node)!r}", "give one or two integers, and count in a loop else")
    start, stop = [constant(0), *arguments][-2:]
    n = self.apply(known_functions.SUBTRACT, stop, start)
    some = self.apply(known_functions.COMPARISONS["Gt"], n, constant(0))
    array = self.create("empty", [self.apply(known_functions.SELECT, some, n, constant(0))], "int")
    self.over(self.shape(array), lambda at: self.put(array, at, self.apply(known_functions.ADD, start, at[0])))
    return array


def _identity(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    (n,) = self.take("N", arguments, keywords, node)
    array = self.create("zeros", [*self.lengths(n, node), *self.lengths(n, node)][:2], "float")
    self.over(self.shape(array)[:1], lambda at: self.put(array, [at[0], at[0]], constant(1.0)))
    return array


def _copy(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    (array,) = self.take("a", arguments, keywords, node)
    if not is_array(array):
        self.refuse(node, f"{ast.unparse(node)!r} of something that is no array")
    return self.copied(array)


def _length(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    (x,) = self.take("x", arguments, keywords, node)
    if isinstance(x, tuple):
        return constant(len(x))
    return self.shape(x)[0] if is_array(x) else self.refuse(node, f"{ast.unparse(node)!r}")


def _range(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    if keywords or not 1 <= len(arguments) <= 3 or not all(is_number(x) and x.kind.base != "float" for x in arguments):
        self.refuse(node, f"{ast.unparse(node)!r}", "give one to three integers")
    start, stop, step = [constant(0), *arguments, constant(1)] if len(arguments) == 1 else [*arguments, constant(1)][:3]
    return Range(start, stop, step)


def _iteration(kind: str) -> Callable[..., Any]:
    def iterate(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        start = constant(0)
        if kind == "enumerate":
            array, given = self.take("iterable start", arguments, keywords, node)
            arguments, keywords, start = [array], {}, start if given is None else given
        if keywords or not arguments or arguments[0] is None or not is_number(start) or start.kind != INT:
            self.refuse(node, f"{ast.unparse(node)!r}", "give the arrays only, and count in the loop")
        return Iteration(kind, arguments, start)

    return iterate


def _conversion(function: known_functions.Function) -> Callable[..., Any]:
    def convert(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        (x,) = arguments if len(arguments) == 1 and not keywords else (None,)
        to_float = function is known_functions.TO_FLOAT
        if to_float and isinstance(x, Object) and str(x.value).strip("+-") in ("inf", "nan"):
            return constant(float(x.value))
        if not is_number(x):
            self.refuse(node, f"the conversion {ast.unparse(node)!r}")
        return self.apply(function, arguments[0])

    return convert


def _extreme(symbol: str) -> Callable[..., Any]:
    """The builtins max and min: of ties the first."""

    def choose(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        if keywords or len(arguments) < 2 or not all(map(is_number, arguments)):
            self.refuse(node, f"{ast.unparse(node)!r}", "give two numbers or more, or use np.max")
        kind = "float" if any(x.kind.base == "float" for x in arguments) else "int"
        found, *rest = [self.converted(x, Kind(kind)) for x in arguments]
        for x in rest:
            better = self.apply(known_functions.COMPARISONS["Gt" if symbol == ">" else "Lt"], x, found)
            found = self.apply(known_functions.SELECT, better, x, found)
        return found

    return choose


def _reduction(reduce: Callable[[Any, Any], Value]) -> Callable[..., Any]:
    def apply(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        array, axis = self.take("a axis", arguments, keywords, node)
        if not is_array(array):
            self.refuse(node, f"{ast.unparse(node)!r} of something that is no array")
        if axis is not None and array.kind.ndim > 1:
            return self.along(array, axis, reduce, node)
        return reduce(self, array)

    return apply


def _dot(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    a, b = self.take("a b", arguments, keywords, node)
    return self.product(a, b, node)


def _where(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    condition, x, y = self.take("condition x y", arguments, keywords, node)
    if not all(is_number(v) or is_array(v) for v in (condition, x, y)):
        self.refuse(node, f"{ast.unparse(node)!r}", "give a condition and two numbers or arrays")
    return self.apply(known_functions.SELECT, condition, self.as_float(x), self.as_float(y))


def _type(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """type(x) of a number, which is called to convert others."""
    (x,) = self.take("x", arguments, keywords, node)
    if not is_number(x):
        self.refuse(node, f"{ast.unparse(node)!r} of something that is no number")
    return Object({"float": np.float64, "int": np.int64, "bool": np.bool_}[x.kind.base])


def _divmod(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    x, y = self.take("x y", arguments, keywords, node)
    if not (is_number(x) and is_number(y)):
        self.refuse(node, f"{ast.unparse(node)!r} of something that is no number")
    return self.divide(known_functions.FLOOR_DIVIDE, x, y), self.divide(known_functions.REMAINDER, x, y)


_REDUCTIONS = {
    "sum": _reduction(lambda self, a: self.total(a)),
    "mean": _reduction(lambda self, a: self.apply(known_functions.DIVIDE, self.total(a), self.size(a))),
    "max": _reduction(lambda self, a: self.extreme(a, ">")),
    "min": _reduction(lambda self, a: self.extreme(a, "<")),
}
_SPECIAL: dict[Any, Callable[..., Any]] = {
    np.zeros: _creation("zeros"), np.ones: _creation("ones"), np.empty: _creation("empty"), np.full: _full,
    np.zeros_like: _creation_like("zeros"), np.ones_like: _creation_like("ones"),
    np.empty_like: _creation_like("empty"), np.copy: _copy,
    np.array: _array, np.arange: _arange, np.eye: _identity, np.identity: _identity,
    builtins.len: _length, builtins.range: _range, numba.prange: _range,
    builtins.enumerate: _iteration("enumerate"), builtins.zip: _iteration("zip"),
    builtins.float: _conversion(known_functions.TO_FLOAT), np.float64: _conversion(known_functions.TO_FLOAT),
    builtins.int: _conversion(known_functions.TO_INT), np.int64: _conversion(known_functions.TO_INT),
    builtins.bool: _conversion(known_functions.TO_BOOL), np.bool_: _conversion(known_functions.TO_BOOL),
    builtins.type: _type, builtins.divmod: _divmod,
    builtins.max: _extreme(">"), builtins.min: _extreme("<"),
    np.sum: _REDUCTIONS["sum"], np.mean: _REDUCTIONS["mean"],
    np.max: _REDUCTIONS["max"], np.min: _REDUCTIONS["min"],
    np.dot: _dot, np.where: _where,
}  # fmt: skip


class Library(Calls):
    """Knows the functions."""

    special = _SPECIAL
    reductions = _REDUCTIONS
