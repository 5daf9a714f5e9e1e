"""Reverse mode before and after the refactoring: a stack of objects, and a stack of continuations.

In the older design of Stan Math an operation makes an object, which holds the value, its adjoint, the operands and a
virtual method `chain` that adds to the adjoints of the operands (Carpenter et al. 2015). After the refactoring
(Carpenter 2019) a variable is a value and an index, adjoints are a vector, and an operation pushes a closure. Both are
written here without anything else, so that a table compares designs rather than libraries.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

OBJECTS: list["Vari"] = []
CONTINUATIONS: list[Callable[[list[float]], None]] = []


# ---- a stack of objects ----------------------------------------------------------------------------------------------
class Vari:
    """A value with its adjoint, on the stack from when it is made."""

    __slots__ = ("adjoint", "operands", "x")

    def __init__(self, x: float, *operands: Any) -> None:
        self.x, self.adjoint, self.operands = x, 0.0, operands
        OBJECTS.append(self)

    def chain(self) -> None:
        """Add to the adjoints of the operands; an input has none."""

    def __add__(self, other: Any) -> "Vari":
        return Sum(self.x + other.x, self, other) if isinstance(other, Vari) else Shifted(self.x + other, self)

    def __mul__(self, other: Any) -> "Vari":
        if isinstance(other, Vari):
            return Product(self.x * other.x, self, other)
        return Scaled(self.x * other, self, other)

    __radd__, __rmul__ = __add__, __mul__

    def sin(self) -> "Vari":
        """Called by np.sin."""
        return Sine(math.sin(self.x), self)

    def sweep(self) -> None:
        """Call `chain` of every object, the newest first, and clear the stack."""
        self.adjoint = 1.0
        for vari in reversed(OBJECTS):
            vari.chain()
        OBJECTS.clear()


class Sum(Vari):
    __slots__ = ()

    def chain(self) -> None:
        x, y = self.operands
        x.adjoint += self.adjoint
        y.adjoint += self.adjoint


class Shifted(Vari):
    __slots__ = ()

    def chain(self) -> None:
        (x,) = self.operands
        x.adjoint += self.adjoint


class Product(Vari):
    __slots__ = ()

    def chain(self) -> None:
        x, y = self.operands
        x.adjoint += self.adjoint * y.x
        y.adjoint += self.adjoint * x.x


class Scaled(Vari):
    __slots__ = ()

    def chain(self) -> None:
        x, factor = self.operands
        x.adjoint += self.adjoint * factor


class Sine(Vari):
    __slots__ = ()

    def chain(self) -> None:
        (x,) = self.operands
        x.adjoint += self.adjoint * math.cos(x.x)


# ---- a stack of continuations ----------------------------------------------------------------------------------------
class Indexed:
    """A value and an index into the adjoints of the last sweep."""

    __slots__ = ("i", "x")
    adjoints: ClassVar[list[float]] = []

    def __init__(self, x: float, chain: Callable[[list[float]], None] = lambda adj: None) -> None:
        self.x, self.i = x, len(CONTINUATIONS)
        CONTINUATIONS.append(chain)

    def __add__(self, other: Any) -> "Indexed":
        k, i = len(CONTINUATIONS), self.i
        if isinstance(other, Indexed):
            j = other.i

            def add_chain(adj: list[float]) -> None:
                adj[i] += adj[k]
                adj[j] += adj[k]

            return Indexed(self.x + other.x, add_chain)

        def shift_chain(adj: list[float]) -> None:
            adj[i] += adj[k]

        return Indexed(self.x + other, shift_chain)

    def __mul__(self, other: Any) -> "Indexed":
        k, i, x = len(CONTINUATIONS), self.i, self.x
        if isinstance(other, Indexed):
            j, y = other.i, other.x

            def multiply_chain(adj: list[float]) -> None:
                adj[i] += adj[k] * y
                adj[j] += adj[k] * x

            return Indexed(x * y, multiply_chain)

        def scale_chain(adj: list[float]) -> None:
            adj[i] += adj[k] * other

        return Indexed(x * other, scale_chain)

    __radd__, __rmul__ = __add__, __mul__

    def sin(self) -> "Indexed":
        """Called by np.sin."""
        k, i, x = len(CONTINUATIONS), self.i, self.x

        def sin_chain(adj: list[float]) -> None:
            adj[i] += adj[k] * math.cos(x)

        return Indexed(math.sin(x), sin_chain)

    @property
    def adjoint(self) -> float:
        return self.adjoints[self.i]

    def sweep(self) -> None:
        """Run the continuations, the newest first, and clear the stack."""
        Indexed.adjoints = adj = [0.0] * len(CONTINUATIONS)
        adj[self.i] = 1.0
        for chain in reversed(CONTINUATIONS):
            chain(adj)
        CONTINUATIONS.clear()
