"""Derivatives of a function as one operation, closed under differentiation.

    parts = grad of D^m g(x)[d_1, ..., d_m]        by some of the arguments x, along tangents of some of them

of a function g that returns a number; of m = 0 with the value of g, too. The tangent of it is made of such operations:

    grad of D^(m+1) g(x)[d_1, ..., d_m, x_dot]  +  the sum over i of grad of D^m g(x)[..., d_i_dot, ...]

and so is its reverse, with w for the adjoints of the parts: <parts, w> = D^(m+1) g(x)[d_1, ..., d_m, w], whose
gradient, by the arguments and by the directions, is what is added to their adjoints.
"""

from typing import Any, NamedTuple

from contad.engines.source.ir.known_matrix_functions import MatrixFunction
from contad.engines.source.ir.single_assignment import FLOAT, MatrixCall, Value


class DerivativeSite(NamedTuple):
    """What all derivatives of one function, called in one place, have in common."""

    what: str  # how messages name the call
    function: Any  # the Numba function, of numbers and arrays
    types: tuple[Any, ...]  # of its arguments

    def place(self, k: int) -> int:
        """Where argument k stands among what is read: floats come first."""
        return self.order().index(k)

    def floats(self) -> list[int]:
        """The arguments that can have derivatives."""
        return [k for k, t in enumerate(self.types) if str(getattr(t, "dtype", t)) == "float64"]

    def order(self) -> list[int]:
        """The arguments, floats before others."""
        floats = self.floats()
        return [*floats, *(k for k in range(len(self.types)) if k not in floats)]


class DerivativeCall(MatrixCall):
    """The gradient by the arguments at `by` of the derivative along `directions` of the arguments at `along`.

    `along` has the arguments of each order of differentiation, `directions` one value for each of these, in their
    order. Parts that are arrays are filled; numbers are results, behind the value where `along` is empty.
    """

    def __init__(
        self, site: DerivativeSite, arguments: list[Value], along: tuple[tuple[int, ...], ...],
        directions: list[Value], by: tuple[int, ...], filled: list[Value], results: list[Value],
    ) -> None:  # fmt: skip
        floats = site.floats()
        others = [x for k, x in enumerate(arguments) if k not in floats]
        count = len(floats) + len(directions)
        function = MatrixFunction(site.what, count, reads_all=False, is_finite=False, plain=None)
        super().__init__(function, [*(arguments[k] for k in floats), *directions, *others], filled, results)
        self.site, self.along, self.by = site, along, by

    @property
    def arguments(self) -> list[Value]:
        """The arguments of the function, in their order."""
        floats, found = self.site.floats(), self.read
        others = iter(found[self.function.operands :])
        return [found[floats.index(k)] if k in floats else next(others) for k in range(len(self.site.types))]

    @property
    def directions(self) -> list[Value]:
        """All directions, one order after the other."""
        return self.operands[len(self.site.floats()) :]

    @property
    def value(self) -> Value | None:
        """The value of the function, which is there where `along` is empty."""
        return None if self.along else self.results[0]

    @property
    def parts(self) -> list[Value]:
        """The gradients, in the order of `by`."""
        arrays, numbers = iter(self.filled), iter(self.results[0 if self.along else 1 :])
        return [next(arrays) if hasattr(self.site.types[k], "ndim") else next(numbers) for k in self.by]


def number_of(hint: str) -> Value:
    """A number that is computed."""
    return Value(FLOAT, hint)
