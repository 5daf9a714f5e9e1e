"""Variables: immutable pairs of a value and the index of their cell in the adjoint vector."""

from typing import Any

import numpy as np

from contad.variables.number import Carrier, Number, map_numbers, read_primal, require_values, standing_for
from contad.variables.open_types import Nested, Real, Value


class Var(Number):
    """A scalar variable of a chain stack: (value, index), and the stack that owns it.

    Engines subclass it; operator methods come from the rule registry. `contad.var(10.3)` makes one.
    """

    __slots__ = ("_index",)
    kind = "variable"
    _index: int

    @property
    def index(self) -> int:
        """The cell of this variable in its stack's adjoint vector."""
        return self._index

    def in_class(self, cls: type[Number]) -> Number:
        """The same number in another class of its kind."""
        y: Any = object.__new__(cls)
        y._value, y._owner, y._index = self._value, self._owner, self._index
        return y

    @property
    def adj(self) -> Real:
        """The adjoint after the last sweep of this variable's stack."""
        self._owner.check_usable("adj")
        self._owner.check_swept("x.adj")
        return self._owner.adjoint_of(self._index)

    def __repr__(self) -> str:
        place = f"index={self._index}" if self._owner.tracer is None else "recorded"
        return f"Var({self._value!r}, {place})"


def value_of(x: Nested) -> Nested:
    """x lowered by one level: the value of a variable or dual; containers and object arrays element by element.

    >>> value_of([2.0, (3.0,)])
    [2.0, (3.0,)]
    """
    require_values("value_of", x)
    return map_numbers(lambda n: standing_for(n.value, n), x)


def value_of_rec(x: Nested) -> Nested:
    """x lowered through every level to plain floats; containers and object arrays element by element."""
    require_values("value_of_rec", x)
    return map_numbers(_lowest, x)


def _lowest(n: Carrier) -> Value:
    value = read_primal(n)
    return value.copy() if isinstance(value, np.ndarray) else standing_for(value, n)
