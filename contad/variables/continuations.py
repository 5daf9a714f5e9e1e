"""Manual use of the stack: variables, your own continuations, and one sweep from a result."""

from collections.abc import Callable, Sequence

import numpy as np

from contad.errors import ForeignVariableError, NestingError, UnsupportedError
from contad.variables.adjoints import Adjoints
from contad.variables.arguments import operand, require_callable
from contad.variables.array import Array, numbers_in
from contad.variables.dtypes import KEPT, PRECISION
from contad.variables.kept_dtypes import round_to
from contad.variables.number import Carrier, Number, as_float, stands_for_float
from contad.variables.open_types import Value
from contad.variables.stack import THREAD, stack
from contad.variables.trees import real_leaf
from contad.variables.var import Var


def var(value: Value) -> Value:
    """A new independent variable on this thread's stack, or an array of them.

    >>> import contad
    >>> with contad.nested():
    ...     contad.var(10.3).value
    10.3
    """
    _require_outer("var", value)
    if PRECISION.keeps and getattr(value, "dtype", None) in KEPT:
        return round_to(var(np.float64(value)), value.dtype)
    if isinstance(value, (np.ndarray, Array)):
        return stack().array_variable(real_leaf(value, "var"))
    x = stack().variable(operand("var", "value", value))
    return as_float(x) if stands_for_float(value) else x


def _require_outer(function: str, value: Value) -> None:
    level = max([n._owner.level for n in numbers_in(value)], default=-1)
    if level >= stack().level:
        raise NestingError(f"{function}: value must be a constant of this stack, got a variable of it; use x.value")


def _require_reverse(function: str) -> None:
    """Refuse continuations in forward mode, where the tangent would be lost."""
    if THREAD.forward and THREAD.forward[-1].level > stack().level:
        raise UnsupportedError(
            f"{function}: forward mode has no continuations, and the tangent would be lost; write a rule with "
            "contad.scalar_rule or contad.array_rule"
        )


def reverse_pass_callback(f: Callable[[Adjoints], None]) -> None:
    """Push a continuation of your own: f(adj) runs when a sweep reaches it.

    `adj[x]` reads an adjoint, `adj.add(x, v)` accumulates. Push the continuation of z before z is used. In `grad` and
    the other transforms z may be the result; `gradient(z, xs)` does not reach continuations pushed after z.

    >>> import contad
    >>> with contad.nested():
    ...     x = contad.var(3.0)
    ...     z = contad.var(9.0)
    ...     contad.reverse_pass_callback(lambda adj: adj.add(x, adj[z] * 6.0))
    ...     contad.gradient(z * 1.0, [x])
    [6.0]
    """
    require_callable("reverse_pass_callback", "f", f)
    _require_reverse("reverse_pass_callback")
    s = stack()
    s.last_continuation = s.push_callback(f, 0.0)._index


def make_callback_var(value: Value, f: Callable[[Value, Adjoints], None]) -> Value:
    """A variable with this value, a number or an array, whose continuation is f(z, adj), where z is the variable.

    >>> import contad
    >>> with contad.nested():
    ...     x = contad.var(3.0)
    ...     z = contad.make_callback_var(9.0, lambda z, adj: adj.add(x, adj[z] * 6.0))
    ...     contad.gradient(z, [x])
    [6.0]
    """
    require_callable("make_callback_var", "f", f)
    _require_reverse("make_callback_var")
    _require_outer("make_callback_var", value)
    plain = real_leaf(value, "make_callback_var: value")
    s = stack()
    if isinstance(plain, np.ndarray) and not s.has_arrays:
        raise UnsupportedError(
            f"make_callback_var: the engine {s.engine!r} has no array variables; leave engine= out, or write the "
            "function as a rule, contad.custom_vjp"
        )
    z = s.push_callback(lambda adj: f(z, adj), plain)
    return z


def gradient(y: Value, xs: Sequence[Value]) -> list[Value]:
    """The gradient of a variable y with respect to variables xs of its stack, by one sweep from y.

    A constant y, and variables that y does not depend on, give 0.0. The adjoints can be read afterwards as `x.adj`.

    Raises:  StaleVariableError, OtherThreadError, ForeignVariableError if y or xs may not be used here.
    Cost:    one pass over the records up to y.

    >>> import contad
    >>> with contad.nested():
    ...     x1, x2 = contad.var(10.3), contad.var(1.1)
    ...     y = x1 * x2 * 2.0 + 7.0
    ...     round(y.value, 2), contad.gradient(y, [x1, x2])
    (29.66, [2.2, 20.6])
    """
    if isinstance(xs, Carrier):
        raise TypeError("gradient: xs must be a sequence of variables, got one; write [x]")
    if not isinstance(y, Var):
        operand("gradient", "y", y)
        if isinstance(y, Number) and any(isinstance(x, Carrier) and x._owner.level < y._owner.level for x in xs):
            raise ForeignVariableError("gradient: y is a dual of a jvp call inside, no variable; use the parts of y")
        for x in xs:
            if isinstance(x, Carrier):
                x._owner.require_none_caught()
        return [np.zeros(x.shape) if isinstance(x, Array) else 0.0 for x in xs]
    y._owner.check_usable("gradient")
    return y._owner.gradient(y, xs)
