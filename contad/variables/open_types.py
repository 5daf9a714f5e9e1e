"""Names for open types: a type checker sees `Any`, and a reader sees what a signature takes.

Use a class where there is one. These names are for values from the user's code, or of any level.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

# One real number: a float, an int, a NumPy number, or a `Number` of any level.
Real: TypeAlias = Any

# An array of real numbers: an ndarray of floats or of `Number`s, or an `Array` of any level.
ArrayValue: TypeAlias = Any

# A Real or an ArrayValue: the operands and results of an operation.
Value: TypeAlias = Any

# Lists, tuples and dicts of Values, a single Value, or something without a derivative: arguments and results of a
# user's function, and their tangents and cotangents.
Nested: TypeAlias = Any

# An option of a NumPy function: axis=, dtype=, out= and the like.
Option: TypeAlias = Any

# An index of an array: an int, a slice, an array, a tuple of these.
Key: TypeAlias = Any

# The cell of a number, or the cells of an array's elements.
CellIndex: TypeAlias = Any

# The adjoints of a sweep by cell: an ndarray of floats, a list of Reals, or an engine's own sequence of them.
AdjointVector: TypeAlias = Any

# The data that the forward part of a rule saves for its derivatives, of any kind.
Saved: TypeAlias = Any

# A rule of contad.rules, `ScalarRule` or `ArrayRule`, for the packages below it.
Rule: TypeAlias = Any

# The level that owns a number: a `Level`, used with attributes that only its kind has.
Owner: TypeAlias = Any

# The sources of a function that moves elements, by position or name: arrays, numbers, and lists of these.
Sources: TypeAlias = dict[Any, Any]

# A Numba type. Numba's own annotations of its types are incomplete, so type checkers do not follow them.
NumbaType: TypeAlias = Any

# A function made by numba.njit, whose class is imported only when needed.
NumbaFunction: TypeAlias = Any

# A function whose arguments and results are open: a user's, a body of a rule, an implementation of a NumPy function.
Function: TypeAlias = Callable[..., Any]

# Keyword arguments by name: options of a NumPy function, or of a user's.
Options: TypeAlias = dict[str, Any]
