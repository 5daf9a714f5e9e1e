"""What else Python and Numba do with a number: truth, comparison, int, float, round, min, max, tests for nan."""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import signature
from numba.extending import lower_builtin

from contad.engines.tape.operations import register_plain
from contad.engines.tape.variables import Active
from contad.native.overloads import overloaded
from contad.native.rules import PLAIN


def _number(x: Any) -> bool:
    return isinstance(x, (Active, *PLAIN))


# functions whose result carries no derivative
for _function in (bool, operator.not_, int, math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite,
                  np.isnan, np.isinf, np.isfinite, np.signbit):  # fmt: skip
    register_plain(_function, 1)
for _symbol in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
    register_plain(_symbol, 2)


@lower_builtin("print_item", Active)
def _print(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """print(x) shows the plain number. Variables do not become Python objects: these would lose the derivative."""
    number = cgutils.create_struct_proxy(sig.args[0])(context, builder, args[0]).value
    return context.get_function("print_item", signature(types.none, types.float64))(builder, [number])


@overloaded(float)
def _float(x: Any) -> Any:
    return (lambda x: x) if isinstance(x, Active) else None


@overloaded(operator.pos)
def _pos(x: Any) -> Any:
    return (lambda x: x) if isinstance(x, Active) else None


@overloaded(round)
def _round(number: Any, ndigits: Any = None) -> Any:
    """Rounding has derivative zero; the result is plain."""
    if not isinstance(number, Active):
        return None
    if ndigits is None or isinstance(ndigits, (types.Omitted, types.NoneType)):
        return lambda number, ndigits=None: round(number.value)
    return lambda number, ndigits=None: round(number.value, ndigits)


def value(x: Any) -> Any:
    """The plain number under an active one; any other as it is. For use inside njit."""
    raise NotImplementedError


@overloaded(value)
def _value(x: Any) -> Any:
    return (lambda x: x.value) if isinstance(x, Active) else lambda x: x


def _extremum(function: Callable[..., Any], wins: Callable[..., Any]) -> None:
    """Python's max or min: one of the arguments itself, the first of equal ones. That is no operation."""

    def typing(*args: Any) -> Any:
        if not any(isinstance(x, Active) for x in args) or not all(map(_number, args)):
            return None
        if len(args) == 2:
            return lambda a, b: b if wins(value(b), value(a)) else a
        if len(args) == 3:
            return lambda a, b, c: function(function(a, b), c)
        if len(args) == 4:
            return lambda a, b, c, d: function(function(a, b), function(c, d))
        return None

    overloaded(function, strict=False)(typing)


_extremum(max, operator.gt)
_extremum(min, operator.lt)
