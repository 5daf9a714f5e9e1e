"""What a name of the user's program may stand for while it is read, and how two possibilities become one.

A name stands for a value, a tuple of entries, an array expression not yet computed, a list, dict or set of values, or
an object of Python (a function, a module, a string). Where control flow meets, the entries of a name are merged.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from contad.engines.source.ir.known_functions import Function
from contad.engines.source.ir.single_assignment import BOOL, FLOAT, INT, Block, Kind, Value


class Object:
    """A Python object that the program does not compute: a function, a module, a string, None."""

    def __init__(self, value: Any) -> None:
        self.value = value


class OpaqueKind:
    """The kind of an argument of a Numba type that the program does not compute with."""

    def __init__(self, type: Any) -> None:
        self.type = type


class Opaque:
    """An argument of a type that the program does not compute with; what Numba computes may read it."""

    def __init__(self, value: Value, type: Any) -> None:
        self.value, self.type = value, type


class Local:
    """A function or lambda inside the function, with the names and defaults as they were when it was defined."""

    def __init__(self, scope: Any, names: dict[str, Any], defaults: dict[str, Any]) -> None:
        self.scope, self.names, self.defaults = scope, names, defaults


class Instance:
    """An instance of a jitclass that is made in a block: its fields, of which numbers are arrays of one element."""

    def __init__(self, type: Any, fields: dict[str, Any], block: Block) -> None:
        self.type, self.fields, self.block = type, fields, block


class Method:
    """A method of an array, a list or an instance, about to be called."""

    def __init__(self, array: Any, name: str) -> None:
        self.array, self.name = array, name


class Rows:
    """A list of lists of numbers, all of one length, and the matrix that holds them."""

    def __init__(self, array: Value) -> None:
        self.array = array


class StructuredArray:
    """An array of records, or one of them: an array for each field, the axes, and the index of what has none.

    The name of an `argument` stands with what lies in its memory, which must not be written.
    """

    def __init__(
        self, fields: Mapping[str, Value], ndim: int, type: str, index: list[Value] | None = None, argument: str = ""
    ) -> None:
        """Hold the fields, of which some may be missing, as those that are text."""
        self.fields, self.ndim, self.type, self.index, self.argument = fields, ndim, type, index or [], argument


class Point(NamedTuple):
    """A 0-dimensional array, as the array of one element that holds it.

    A named tuple: where control flow meets, where it is handed over and where it is returned, it is what its part is.
    """

    array: Any  # a value; its kind, or what else a tuple of kinds or of values is turned into


class Elementwise:
    """function(operands), element by element, not yet computed."""

    def __init__(self, function: Function, operands: list[Any]) -> None:
        self.function, self.operands = function, operands
        kinds = [operand.kind for operand in operands]
        base = function.kind([Kind(kind.base) for kind in kinds]).base
        self.kind = Kind(base, max(kind.ndim for kind in kinds))


class Range:
    """range(...) before it is iterated over."""

    def __init__(self, start: Value, stop: Value, step: Value) -> None:
        self.limits = [start, stop, step]
        self.is_parallel = False  # whether it is a prange whose iterations may run at the same time
        self.checkpointed = False


class Iteration:
    """enumerate(...) or zip(...) before it is iterated over."""

    def __init__(self, kind: str, arguments: list[Any], start: Value) -> None:
        self.kind, self.arguments, self.start = kind, arguments, start


class Yielding:
    """A generator before it is looped over: its function, its arguments, and in how many loops it was made."""

    used = False  # whether it was looped over

    def __init__(self, scope: Any, flags: Any, given: dict[str, Any], depth: int) -> None:
        self.scope, self.flags, self.given, self.depth = scope, flags, given, depth


class Grid:
    """np.ndindex(...), np.ndenumerate(array) or array.flat before it is iterated over."""

    def __init__(self, kind: str, shape: list[Value], array: Value | Point | None = None) -> None:
        self.kind, self.shape, self.array = kind, shape, array


class Unknown:
    """A name that has no single meaning here; reading it is refused, for the reason given."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


# types of elements that are widened where they are read, and how Kind has them
SMALL = {"float32": "single"} | dict.fromkeys(("uint8", "uint16", "uint32"), "unsigned")
UNDEFINED = Unknown("it is not assigned on every path")


def constant(x: Any) -> Value:
    """A number as a value."""
    if isinstance(x, bool):
        return Value(BOOL, constant=x)
    return Value(INT, constant=x) if isinstance(x, int) else Value(FLOAT, constant=float(x))


def default(kind: Kind) -> Value:
    """What a variable holds that is not assigned yet: zero."""
    return constant({"float": 0.0, "int": 0, "bool": False}[kind.base])


def join_kinds(a: Kind, b: Kind) -> Kind:
    """The kind of a number that is either of two kinds, as Numba unifies them."""
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
    """Whether two entries are one and the same, so that there is nothing to merge."""
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
