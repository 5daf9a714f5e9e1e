"""A reverse mode as micro-libraries have it: an object of Python's for each operation, and a walk from the result.

It is nobody's library, but what micrograd and its like do, written here so that the benchmarks have such a one: each
result keeps its operands and the partials, the walk sorts the graph, and adjoints are attributes. It works on numbers;
arrays are NumPy's object arrays of them.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.comparison.program import Run


class Value:
    """A number with what it was made of: pairs of an operand and the partial with respect to it."""

    __slots__ = ("adjoint", "operands", "x")
    __array_ufunc__: Any

    def __init__(self, x: float, operands: tuple[tuple["Value", float], ...] = ()) -> None:
        self.x = x
        self.operands = operands
        self.adjoint = 0.0

    def __add__(self, other: Any) -> "Value":
        if isinstance(other, Value):
            return Value(self.x + other.x, ((self, 1.0), (other, 1.0)))
        return Value(self.x + other, ((self, 1.0),))

    __radd__ = __add__

    def __mul__(self, other: Any) -> "Value":
        if isinstance(other, Value):
            return Value(self.x * other.x, ((self, other.x), (other, self.x)))
        return Value(self.x * other, ((self, other),))

    __rmul__ = __mul__

    def sin(self) -> "Value":
        """Called by np.sin."""
        return Value(math.sin(self.x), ((self, math.cos(self.x)),))

    def sweep(self) -> None:
        """Add up the adjoints of all that this number depends on."""
        order: list[Value] = []
        met: set[int] = set()
        waiting = [(self, False)]
        while waiting:  # the result last; micrograd calls itself instead, and reaches no more than 1000 operations
            z, is_done = waiting.pop()
            if is_done:
                order.append(z)
            elif id(z) not in met:
                met.add(id(z))
                waiting.append((z, True))
                waiting.extend((x, False) for x, _ in z.operands)
        self.adjoint = 1.0
        for z in reversed(order):
            for x, partial in z.operands:
                x.adjoint += z.adjoint * partial


def with_values(write: Callable[[Any], Any], argnums: tuple[int, ...], kind: Any = Value) -> Callable[..., Run]:
    """The version of a program on numbers of a kind: of an array, or a list, one of each element."""
    make = np.frompyfunc(kind, 1, 1)
    read = np.frompyfunc(lambda v: v.adjoint, 1, 1)

    def version(*args: Any) -> Run:
        f = write(np)

        def run() -> Any:
            own = list(args)
            for n in argnums:
                x = args[n]
                own[n] = make(x) if isinstance(x, np.ndarray) else [*map(kind, x)] if isinstance(x, list) else kind(x)
            y = f(*own)
            y.sweep()
            found = [
                read(v).astype(float) if isinstance(v, np.ndarray) else [x.adjoint for x in v] if isinstance(v, list)
                else v.adjoint
                for v in (own[n] for n in argnums)
            ]  # fmt: skip
            return y.x, found

        return run

    return version
