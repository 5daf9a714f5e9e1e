"""Arguments as operations take them, and their checks.

A check returns None, or raises an error that names the fault: ValueError for a wrong value, TypeError for what is not a
real number, integer or function. Values are numbers, variables and duals (judged by their primal), arrays, and nested
lists of these; empty arrays pass.

>>> require_positive("normal_lpdf", "sigma", [1.0, 2.0, 0.5])
>>> require_positive("normal_lpdf", "sigma", [1.0, 2.0, -0.5])
Traceback (most recent call last):
ValueError: normal_lpdf: sigma must be positive, got -0.5 at index 2
"""

from typing import Any, NoReturn

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.complex_pair import ComplexPair
from contad.variables.layout import plain_form, subclass_of_arrays
from contad.variables.number import Carrier, Number, is_real, map_numbers, primal
from contad.variables.open_types import Nested, Real, Value

SCALAR = (float, int, Number)
INTEGER = (int, np.integer, np.bool_)


def fail(function: str, name: str, expected: str, got: object, error: type[Exception] = ValueError) -> NoReturn:
    """Raise in the form of every message: function, argument, expected, got."""
    raise error(f"{function}: {name} must {expected}, got {got}")


def require_plain(function: str, name: str, x: Nested) -> None:
    """Refuse arrays of a class with its own semantics, which would be lost."""
    if subclass_of_arrays(x):
        fail(function, name, f"be a plain array, {plain_form(x)}", subclass_of_arrays(x), UnsupportedError)


def operand(function: str, name: str, value: Nested) -> Real:
    """One real number as an operation takes it: a Python float, or an unchanged number of a level.

    Raises UnsupportedError for complex numbers and for non-numbers.
    """
    if value.__class__ is float or isinstance(value, Number):
        return value
    if not is_real(value):
        fail(function, name, "be a real number", kind_of(value), UnsupportedError)
    return float(value)


def kind_of(x: Any) -> str:
    """The type of a value that is not a real number, with a remedy if one is known."""
    if isinstance(x, np.ndarray):
        return f"an array of {x.dtype}" + (f"; {_PARTS}" if x.dtype.kind == "c" else "")
    if isinstance(x, (complex, np.complexfloating, ComplexPair)):
        return f"{type(x).__name__}; {_PARTS}"
    return type(x).__name__ + ("; pass its numbers, x.to_numpy()" if hasattr(x, "to_numpy") else "")  # pandas and kin


def require_real(function: str, name: str, z: Value, remedy: str = "") -> None:
    """Refuse complex numbers in a number, an array, or a tuple of these; elements of object arrays have been
    checked."""
    for x in z if isinstance(z, tuple) else (z,):
        if x.__class__ is not float and isinstance(x, (complex, np.complexfloating, np.ndarray)):
            if not isinstance(x, np.ndarray) or x.dtype.kind == "c":
                fail(function, name, "be real", f"{kind_of(x)}{remedy}", UnsupportedError)


_PARTS = "take z.real, z.imag or np.abs(z)"


def dtype_of(a: np.ndarray) -> str:
    """The dtype of an array that does not hold real numbers, with a remedy if one is known."""
    return f"dtype {a.dtype}" + (f"; {_PARTS}" if a.dtype.kind == "c" else "")


def constant(function: str, name: str, x: Value) -> Value:
    """A constant operand, in double precision: its own precision would round derivatives."""
    if x.__class__ is float:
        return x
    require_plain(function, name, x)
    if not isinstance(x, np.ndarray):
        return operand(function, name, x) if isinstance(x, (int, np.generic)) else x
    if x.dtype == np.float64:
        return x
    if x.dtype == object:  # in which Python copies of Numba functions hold numbers
        if any(isinstance(v, Carrier) for v in x.flat):
            return x
        return np.array([operand(function, name, v) for v in x.flat], dtype=np.float64).reshape(x.shape)
    if x.dtype.kind not in "iubf":
        fail(function, name, "be an array of real numbers", dtype_of(x), UnsupportedError)
    return x.astype(np.float64)


def at(index: tuple[int | np.integer, ...]) -> str:
    """The position in the value: the end of a message.

    >>> at((3,)), at((1, 0)), at(())
    (' at index 3', ' at index (1, 0)', '')
    """
    numbers = ", ".join(str(i) for i in index)
    return f" at index {numbers if len(index) == 1 else f'({numbers})'}" if index else ""


def array(function: str, name: str, value: Nested, expected: str = "be real", kinds: str = "biuf") -> np.ndarray:
    """The primals as an array whose dtype is one of `kinds` (NumPy's letters for bool, int, unsigned, float)."""
    x = map_numbers(primal, value) if "f" in kinds else value
    try:
        a = np.asarray(x)
        if a.dtype.kind in kinds:
            return a
        a = np.asarray(x, dtype=object)
    except ValueError:
        fail(function, name, "be rectangular", "nested lists of unequal lengths")
    for index, element in np.ndenumerate(a):
        if not (is_real(element) if "f" in kinds else isinstance(element, INTEGER)):
            got = element.kind if isinstance(element, Number) else type(element).__name__
            fail(function, name, expected, got + at(index), TypeError)
    return a.astype(np.float64)


# ---- checks ----------------------------------------------------------------------------------------------------------
def require_positive(function: str, name: str, value: Nested) -> None:
    """Every element is > 0."""
    if isinstance(value, SCALAR) and value > 0:  # type: ignore[operator]
        return
    a = array(function, name, value)
    good = a > 0
    if not good.all():
        first = np.unravel_index(np.argmin(good), a.shape)
        fail(function, name, "be positive", f"{a[first]}{at(first)}")


def require_integer(function: str, name: str, value: Nested) -> None:
    """Every element is an integer by type; True and False count as 1 and 0."""
    if not isinstance(value, INTEGER):
        array(function, name, value, "be an integer", "biu")


def require_callable(function: str, name: str, value: object) -> None:
    """The value can be called."""
    if not callable(value):
        fail(function, name, "be callable", type(value).__name__, TypeError)


def require_positive_size(function: str, name: str, value: Nested) -> None:
    """Every element is an integer >= 1."""
    require_integer(function, name, value)
    require_positive(function, name, value)
