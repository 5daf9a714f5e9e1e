"""0-dimensional arrays, as arrays of one element. As in NumPy, operations on them give numbers."""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.source.ir.entries import DTYPES, Grid, Method, Object, Point, constant, is_array, is_number
from contad.engines.source.ir.known_functions import OPERATORS
from contad.engines.source.ir.ssa import NEW_AXIS, Accumulate, Value, kind_of_elements
from contad.engines.source.reading.builder import Builder
from contad.engines.source.reading.elementwise import WholeArrays
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader

_FIRST = [constant(0)]


def make(builder: Builder, fill: str, base: str) -> Point:
    """A new 0-dimensional array."""
    return Point(builder.create(fill, [constant(1)], base))


def hold(arrays: WholeArrays, number: Value, base: str) -> Point:
    """A new 0-dimensional array with this element."""
    made = make(arrays.builder, "empty", base)
    arrays.put(made.array, _FIRST, number)
    return made


def copy(arrays: WholeArrays, point: Point) -> Point:
    """A copy of a 0-dimensional array."""
    if point.array.kind.narrow:
        arrays.progress.stop("a copy of an array of fewer than 64 bits", "make it int64 or float64")
    return hold(arrays, element(arrays, point), point.array.kind.elements)


def element(arrays: WholeArrays, entry: Any) -> Any:
    """The element of a 0-dimensional array; other entries unchanged."""
    return arrays.builder.load(entry.array, _FIRST) if isinstance(entry, Point) else entry


def vector(entry: Any) -> Any:
    """A 0-dimensional array as one of one axis, in the same memory; other entries unchanged."""
    return entry.array if isinstance(entry, Point) else entry


def compute(arrays: WholeArrays, operands: list[Any], function: Callable[..., Any]) -> Any:
    """The result of an elementwise function with 0-dimensional operands: a number, unless others have axes."""
    if any(map(is_array, operands)):
        return function(*(element(arrays, x) for x in operands))
    return arrays.element(function(*map(vector, operands)), _FIRST)


def read_attribute(point: Point, name: str) -> Any:
    """An attribute or a method."""
    kind = point.array.kind
    found = {"shape": (), "ndim": constant(0), "size": constant(1), "T": point, "flat": Grid("flat", [], point)}
    if name == "dtype" and not kind.narrow:
        return Object(np.dtype(DTYPES[kind.elements]))
    return found.get(name, Method(point, name))


def read_part(reader: Reader, point: Point, node: ast.Subscript, env: Environment) -> Any:
    """point[()], its element, or point[None], a view with axes of length 1."""
    index = reader.expression(node.slice, env)
    parts = index if isinstance(index, tuple) else (index,)
    if not parts:
        return element(reader.arrays, point)
    if not all(isinstance(x, Object) and x.value is None for x in parts):
        _refuse(reader, node)
    return reader.builder.view(point.array, [*[NEW_AXIS] * (len(parts) - 1), (None, None, None)])


def find_place(reader: Reader, point: Point, target: ast.Subscript, env: Environment) -> tuple[Value, list[Any]]:
    """The array and index of point[()] = x and point[...] = x."""
    index = reader.expression(target.slice, env)
    if index != () and not (isinstance(index, Object) and index.value is Ellipsis):
        _refuse(reader, target)
    return point.array, _FIRST


def _refuse(reader: Reader, node: ast.Subscript) -> None:
    name = ast.unparse(node.value)
    reader.refuse(node, "the subscript {node} of an array of no axes", f"write {name}[()]")


def update(reader: Reader, point: Point, operator: str, statement: ast.AugAssign, entry: Any) -> None:
    """point op= entry, in place."""
    base = kind_of_elements(point.array.kind.elements)
    value = element(reader.arrays, entry)
    new = reader.binary(operator, point, value, statement)
    if not is_number(new) or (new.kind.base == "float" and base.base != "float") or point.array.kind.narrow:
        what = "{node}, whose result is no number of the array's type"
        reader.refuse(statement, what, "assign to [()] what has been converted")
    if operator in ("Add", "Sub") and base.base == "float" and operator in OPERATORS:
        number = reader.builder.convert(value, base)
        reader.builder.add(Accumulate(point.array, _FIRST, number, "+" if operator == "Add" else "-"))
        return
    reader.arrays.put(point.array, _FIRST, new)
