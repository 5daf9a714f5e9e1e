"""Entries: the things that a name in the user's function may be bound to while the function is read.

An entry is a value, a tuple of entries, an array expression not yet computed, a list, dict or set of values, or a
Python object (a function, a module, a string). Where control flow joins, the entries of a name are merged.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from contad.engines.source.ir.known_functions import Function
from contad.engines.source.ir.ssa import BOOL, FLOAT, INT, Block, Kind, Value, kind_of_elements


class Object:
    """A Python object that no operation computes: a function, a module, a string, None."""

    def __init__(self, value: Any) -> None:
        self.value = value


class OpaqueKind:
    """The kind of an argument whose Numba type the engine does not compute with."""

    def __init__(self, type: Any) -> None:
        self.type = type


class Opaque:
    """An argument whose type the engine does not compute with; expressions that are left to Numba may read it."""

    def __init__(self, value: Value, type: Any) -> None:
        self.value, self.type = value, type


class Local:
    """A nested function or lambda, with the names and defaults at its definition."""

    def __init__(self, scope: Any, names: dict[str, Any], defaults: dict[str, Any]) -> None:
        self.scope, self.names, self.defaults = scope, names, defaults


class Instance:
    """An instance of a jitclass, created in a block: its fields. A number is an array of one element."""

    def __init__(self, type: Any, fields: dict[str, Any], block: Block) -> None:
        self.type, self.fields, self.block = type, fields, block


class Method:
    """A bound method of an array, a list or an instance."""

    def __init__(self, array: Any, name: str) -> None:
        self.array, self.name = array, name


class Rows:
    """A list of lists of numbers, all of the same length, and the matrix that holds them."""

    def __init__(self, array: Value) -> None:
        self.array = array


class StructuredArray:
    """A structured array, or an element of one: an array for each field, the axes, and the index of an element.

    `argument` is the name of the argument whose memory this is; that memory must not be written.
    """

    def __init__(
        self, fields: Mapping[str, Value], ndim: int, type: str, index: list[Value] | None = None, argument: str = ""
    ) -> None:
        """Hold the fields; some, such as text fields, may be missing."""
        self.fields, self.ndim, self.type, self.index, self.argument = fields, ndim, type, index or [], argument


class Point(NamedTuple):
    """A 0-dimensional array, as an array of one element.

    As it is a named tuple, merging, passing and returning it treat its array like any part of a tuple.
    """

    array: Any  # a value, its kind, or whatever a tuple of kinds or values is mapped to


class Complex(NamedTuple):
    """A complex number, array or array expression: its real and imaginary parts.

    A part that is a number belongs to all elements of an array. Merging, passing and returning it treat the parts like
    those of any tuple.
    """

    real: Any
    imag: Any


class ArrayOfComplex(Complex):
    """A complex array with memory: two arrays of one shape. Other pairs of arrays are expressions."""

    __slots__ = ()


class Elementwise:
    """An array expression, function(operands) element by element, that is not computed yet."""

    def __init__(self, function: Function, operands: list[Any]) -> None:
        self.function, self.operands = function, operands
        kinds = [operand.kind for operand in operands]
        element = function.kind([kind_of_elements(kind.elements) for kind in kinds])
        self.kind = replace(element, ndim=max(kind.ndim for kind in kinds))


class Range:
    """range(...) before it is iterated over."""

    def __init__(self, start: Value, stop: Value, step: Value) -> None:
        self.limits = [start, stop, step]
        self.is_parallel = False  # whether it is a prange whose iterations may run in parallel
        self.checkpointed = False


class Iteration:
    """enumerate(...) or zip(...), before a loop iterates over it."""

    def __init__(self, kind: str, arguments: list[Any], start: Value) -> None:
        self.kind, self.arguments, self.start = kind, arguments, start


class Yielding:
    """A generator before it is iterated over: its function, its arguments, and how many loops enclose its creation."""

    used = False  # whether a loop has consumed it

    def __init__(self, scope: Any, flags: Any, given: dict[str, Any], depth: int) -> None:
        self.scope, self.flags, self.given, self.depth = scope, flags, given, depth


class Grid:
    """np.ndindex(...), np.ndenumerate(array) or array.flat, before a loop iterates over it."""

    def __init__(self, kind: str, shape: list[Value], array: Value | Point | None = None) -> None:
        self.kind, self.shape, self.array = kind, shape, array


class Unknown:
    """A name whose value is not known here; reading the name is refused, for the reason given."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


# element types that are widened when read, with their names in Kind
SMALL = {"float32": "single"} | dict.fromkeys(("uint8", "uint16", "uint32"), "unsigned")
DTYPES = {"float": np.float64, "single": np.float32, "int": np.int64, "bool": np.bool_}  # by `Kind.elements`
UNDEFINED = Unknown("it is not assigned on every path")


def constant(x: Any) -> Value:
    """A constant value."""
    if isinstance(x, bool):
        return Value(BOOL, constant=x)
    return Value(INT, constant=x) if isinstance(x, int) else Value(FLOAT, constant=float(x))


def default(kind: Kind) -> Value:
    """The zero that an unassigned variable holds."""
    return constant({"float": 0.0, "int": 0, "bool": False}[kind.base])


def join_kinds(a: Kind, b: Kind) -> Kind:
    """The kind to which Numba unifies two kinds of numbers."""
    if a == b:
        return a
    if BOOL in (a, b) and (a.small or b.small):
        return a if a.small else b
    order = ("bool", "int", "float")
    return Kind(order[max(order.index(a.base), order.index(b.base))])


def is_number(entry: Any) -> bool:
    """Whether an entry is a number."""
    return isinstance(entry, Value) and not entry.is_array


def is_array(entry: Any) -> bool:
    """Whether an entry is an array or an array expression."""
    return (isinstance(entry, Value) and entry.is_array) or isinstance(entry, Elementwise)


def same(a: Any, b: Any) -> bool:
    """Whether two entries are identical, so that no merge is needed."""
    if a is b:
        return True
    if isinstance(a, Object) and isinstance(b, Object):
        return a.value is b.value
    if isinstance(a, Opaque) and isinstance(b, Opaque):
        return a.value is b.value
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Value) and isinstance(b, Value) and a.constant is not None and b.constant is not None:
        return a.kind == b.kind and repr(a.constant) == repr(b.constant)
    return False
