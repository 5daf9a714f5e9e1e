"""One operation for all derivatives of a function. Its tangent and its reverse are operations of the same kind.

    parts = grad of D^m g(x)[d_1, ..., d_m]        by some of the arguments x, along tangents of some of them

The function g returns a number. For m = 0 the operation also computes the value of g. Its tangent is a sum of two:

    grad of D^(m+1) g(x)[d_1, ..., d_m, x_dot]  +  the sum over i of grad of D^m g(x)[..., d_i_dot, ...]

For its reverse, let w be the adjoints of the parts: <parts, w> = D^(m+1) g(x)[d_1, ..., d_m, w]. The reverse adds the
gradient of that number to the adjoints of the arguments and of the directions.
"""

from typing import Any, NamedTuple

from contad.engines.source.ir.runtime_functions import MatrixFunction
from contad.engines.source.ir.ssa import FLOAT, MatrixCall, Value


class DerivativeSite(NamedTuple):
    """The facts that all derivatives of one function at one call site share."""

    what: str  # the name of the call in messages
    function: Any  # the Numba function, of numbers and arrays
    types: tuple[Any, ...]  # of its arguments

    def place(self, k: int) -> int:
        """The position of argument k among the inputs, where floats come first."""
        return self.order().index(k)

    def floats(self) -> list[int]:
        """The arguments that can have derivatives."""
        return [k for k, t in enumerate(self.types) if str(getattr(t, "dtype", t)) == "float64"]

    def order(self) -> list[int]:
        """The arguments, floats first."""
        floats = self.floats()
        return [*floats, *(k for k in range(len(self.types)) if k not in floats)]


class DerivativeCall(MatrixCall):
    """The gradient with respect to the arguments in `by` of the derivative along `directions` of those in `along`.

    `along` lists the arguments for each order of differentiation; `directions` has one value for each of them, in the
    same order. Array parts are filled. Numbers are results; the value comes first if `along` is empty.
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
        """The arguments of the function, in order."""
        floats, found = self.site.floats(), self.read
        others = iter(found[self.function.operands :])
        return [found[floats.index(k)] if k in floats else next(others) for k in range(len(self.site.types))]

    @property
    def directions(self) -> list[Value]:
        """All directions, order by order."""
        return self.operands[len(self.site.floats()) :]

    @property
    def value(self) -> Value | None:
        """The value of the function, if `along` is empty."""
        return None if self.along else self.results[0]

    @property
    def parts(self) -> list[Value]:
        """The gradients, in the order of `by`."""
        arrays, numbers = iter(self.filled), iter(self.results[0 if self.along else 1 :])
        return [next(arrays) if hasattr(self.site.types[k], "ndim") else next(numbers) for k in self.by]


def number_of(hint: str) -> Value:
    """A new value for a computed number."""
    return Value(FLOAT, hint)
