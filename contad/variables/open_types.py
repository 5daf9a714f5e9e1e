"""Names for open types: a type checker sees `Any`, and a reader sees what a signature takes.

Use a class where there is one. These names are for values from the user's code, or of any level.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

# One real number: a float, an int, a NumPy number, or a `Number` of any level.
Real: TypeAlias = Any

# An array of real numbers: an ndarray of floats or of `Number`s, or an `Array` of any level.
ArrayValue: TypeAlias = Any

# A Real or an ArrayValue: what an operation takes and gives.
Value: TypeAlias = Any

# Lists, tuples and dicts of Values, a Value alone, or something without a derivative: what a user's function takes and
# gives, and a tangent or a cotangent of it.
Nested: TypeAlias = Any

# What a function of NumPy takes beside its arrays: axis=, dtype=, out= and their like.
Option: TypeAlias = Any

# What NumPy takes between the brackets of an array: an int, a slice, an array, a tuple of these.
Key: TypeAlias = Any

# The cell of a number, or the cells of an array's elements.
CellIndex: TypeAlias = Any

# The adjoints of a sweep by cell: an ndarray of floats, a list of Reals, or an engine's own sequence of them.
AdjointVector: TypeAlias = Any

# What the forward part of a rule keeps for its derivatives: whatever the rule's author has put there.
Saved: TypeAlias = Any

# A rule of contad.rules, `ScalarRule` or `ArrayRule`, in the rooms below it.
Rule: TypeAlias = Any

# The level that owns a number: a `Level`, used with what only its kind has.
Owner: TypeAlias = Any

# What a function that moves elements takes them from, by position or name: arrays, numbers, and lists of these.
Sources: TypeAlias = dict[Any, Any]

# A Numba type. Numba's own annotations say less of its types than is so, so that they are not followed.
NumbaType: TypeAlias = Any

# A function that numba.njit has made, whose class is imported only where one is met.
NumbaFunction: TypeAlias = Any

# A function whose arguments and results are open: a user's, a body of a rule, an implementation of a NumPy function.
Function: TypeAlias = Callable[..., Any]

# Keyword arguments by name: options of a NumPy function, or of a user's.
Options: TypeAlias = dict[str, Any]
