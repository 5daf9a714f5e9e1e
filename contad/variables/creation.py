"""Arrays of variables: made for assignment, made from numbers, converted from one kind to the other."""

from collections.abc import Sequence

import numpy as np

from contad.variables.arguments import array as float_array, fail
from contad.variables.array import Array, as_objects, level_of, numbers_in
from contad.variables.complex_pair import holds_complex, holds_pairs, imag_part, join, real_part, split
from contad.variables.kept_dtypes import STANDING, perform, stands_in
from contad.variables.layout import remember_immutable
from contad.variables.level import Level
from contad.variables.number import map_numbers, peek, require_values
from contad.variables.open_types import ArrayValue, Nested, Value
from contad.variables.stack import THREAD, stack
from contad.variables.trees import map_lists

Shape = int | Sequence[int]


def zeros(shape: Shape) -> ArrayValue:
    """An array of zeros that variables can be assigned to.

    It belongs to the innermost gradient, vjp or jvp call (or `nested()` level) that is open on this thread, and to the
    base stack if that holds a variable; elsewhere it is a plain float array. So one function runs both plain and
    differentiated.

    >>> zeros(3).shape
    (3,)
    """
    return assignable(_make("zeros", shape))


def empty(shape: Shape) -> ArrayValue:
    """As `zeros`; the elements are meant to be assigned before they are read.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    return assignable(_make("empty", shape))


def full(shape: Shape, value: Value) -> ArrayValue:
    """As `zeros`, with a value, which may be a variable, in every element.

    >>> full(2, 0.5).shape
    (2,)
    """
    filled = assignable(_make("full", shape))
    if isinstance(value, str):
        fail("full", "value", "be a real number", "str", TypeError)
    filled[...] = value
    return filled


def _make(function: str, shape: Shape) -> np.ndarray:
    """Zeros, or an error that names the function."""
    try:
        return np.zeros(shape)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{function}: shape must be a length, or a tuple of lengths, got {shape!r} ({error})"
        ) from None


def array(x: Nested) -> ArrayValue:
    """Numbers, variables and arrays of them, in nested lists, as one array that variables can be assigned to.

    With variables of the engine `matrix` or duals it is an array variable or dual (nothing is recorded: its elements
    are these variables); with variables of other engines an object array; of plain numbers alone a plain float array.

    Raises:  ValueError for lists of unequal lengths, TypeError for anything but real numbers.

    >>> array([1, 2.5])
    array([1. , 2.5])
    """
    if isinstance(x, Array):
        return x.copy()
    if STANDING and stands_in((x,)):
        return perform(array, (x,))
    if holds_complex(x) or holds_pairs(x):
        parts = split(x) if holds_pairs(x) else [map_lists(part, x) for part in (real_part, imag_part)]
        return join(*map(array, parts))
    if any(isinstance(n, Array) for n in numbers_in(x)):
        return np.stack([array(item) if isinstance(item, (list, tuple)) else item for item in x])
    if not numbers_in(x):
        return np.array(float_array("array", "x", x), dtype=np.float64)
    float_array("array", "x", map_numbers(peek, x))  # refuses anything but numbers, and lists of unequal lengths
    return to_varmat(np.array(x, dtype=object))


def to_varmat(x: Nested) -> ArrayValue:
    """An object array of scalar variables as one array variable; its elements are these variables, nothing is recorded.

    Other arrays come back unchanged: all but object arrays of variables of an engine with array variables.
    """
    require_values("to_varmat", x)
    top = max(numbers_in(x), key=level_of, default=None)
    if isinstance(x, Array) or top is None:
        return x
    return top._owner.adopt(x if isinstance(x, np.ndarray) else as_objects(x))


def to_matvar(x: Nested) -> ArrayValue:
    """An array variable as an object array of scalar variables, its elements; nothing is recorded.

    Other arrays, numbers and lists come back unchanged.
    """
    require_values("to_matvar", x)
    return as_objects(x) if isinstance(x, Array) else x


def constant(x: Nested) -> np.ndarray:
    """A copy of a float array that nobody can write to, so that recordings keep it by reference.

    contad copies plain arrays that a reverse sweep needs, because you may write to them. Wrap large ones, such as data,
    once.

    Cost:    one copy.

    >>> constant([1.0, 2.0])
    array([1., 2.])
    """
    a = np.asarray(float_array("constant", "x", x), dtype=np.float64)
    kept: np.ndarray = np.ndarray(a.shape, np.float64, a.tobytes())  # itself the base of its views
    remember_immutable(kept)
    return kept


def assignable(a: np.ndarray) -> ArrayValue:
    """A float array as the innermost level holds it, with room for variables; unchanged if no level is open."""
    level = innermost()
    return a if level is None else level.writable(a)


def makes_arrays_of_variables() -> bool:
    """Whether the engine of the innermost level has array variables."""
    level = innermost()
    return level is not None and bool(level.has_arrays)


def innermost() -> Level | None:
    """The innermost open level on this thread; the base stack only if it holds a record."""
    levels: list[Level] = [*THREAD.open[-1:], *THREAD.forward[-1:]]
    level = max(levels, key=lambda one: one.level, default=None)
    if level is not None and level.level == 0 and stack().top == 1:
        return None
    return level
