"""Forward mode: dual numbers, from the same partials as the reverse engines."""

from collections.abc import Sequence
from typing import Any

from contad.number import Number, scale
from contad.stack import Level


class Dual(Number):
    """A value and its tangent on one forward level; either may be a number of an outer level.

    z = op(x, y) has z_dot = dz/dx x_dot + dz/dy y_dot.
    """

    __slots__ = ("_tangent",)
    kind = "dual"
    _tangent: Any

    @property
    def tangent(self) -> Any:
        """The directional derivative carried along."""
        return self._tangent

    def __repr__(self) -> str:
        return f"Dual({self._value!r}, tangent={self._tangent!r})"


class ForwardLevel(Level):
    """A level of forward mode; it owns the duals of one `jvp` call."""

    __slots__ = ()

    def dual(self, value: Any, tangent: Any) -> Dual:
        z = object.__new__(Dual)
        z._value = value
        z._tangent = tangent
        z._owner = self
        return z

    def apply(self, rule: Any, args: Sequence[Any]) -> Dual:
        values = [x._value if isinstance(x, Dual) and x._owner is self else x for x in args]
        z = rule(*values)
        z_dot = None
        for k, x in enumerate(args):
            if isinstance(x, Dual) and x._owner is self:
                term = scale(x._tangent, rule.partial(k)(z, *values))
                z_dot = term if z_dot is None else z_dot + term
        return self.dual(z, z_dot)
