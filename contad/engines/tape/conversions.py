"""Other uses of a number in Python and Numba: truth, comparison, int, float, round, min, max, tests for nan."""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import infer_getattr, lower_builtin, models, register_model, typeof_impl

from contad.compile.emitting import cgutils, lower_constant, pack
from contad.compile.overloads import add_overload
from contad.compile.typing_rules import AttributeTemplate, make_callable_template, signature
from contad.compiled_rules.elementwise_calls import PLAIN
from contad.engines.tape.operations import register_plain
from contad.engines.tape.variables import COMPLEX_OF, Active, ActivePair


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
    """print(x) shows the plain number. Variables never become Python objects, which would lose the derivative."""
    number = cgutils.create_struct_proxy(sig.args[0])(context, builder, args[0]).value
    return context.get_function("print_item", signature(types.none, types.float64))(builder, [number])


@add_overload(float)
def _float(x: Any) -> Any:
    return (lambda x: x) if isinstance(x, Active) else None


@add_overload(operator.pos)
def _pos(x: Any) -> Any:
    return (lambda x: x) if isinstance(x, Active) else None


@add_overload(round)
def _round(number: Any, ndigits: Any = None) -> Any:
    """Rounding has derivative zero; the result is plain."""
    if not isinstance(number, Active):
        return None
    if ndigits is None or isinstance(ndigits, (types.Omitted, types.NoneType)):
        return lambda number, ndigits=None: round(number.value)
    return lambda number, ndigits=None: round(number.value, ndigits)


@add_overload(divmod)
def _divmod(x: Any, y: Any) -> Any:
    if not (_number(x) and _number(y)) or not (isinstance(x, Active) or isinstance(y, Active)):
        return None
    return lambda x, y: (x // y, x % y)


def value(x: Any) -> Any:
    """The plain number under an active one, which exists only inside njit; any other number unchanged."""
    return x


@add_overload(value)
def _value(x: Any) -> Any:
    if isinstance(x, ActivePair):
        return lambda x: complex(x.real.value, x.imag.value)
    return (lambda x: x.value) if isinstance(x, Active) else lambda x: x


def _extremum(function: Callable[..., Any], wins: Callable[..., Any]) -> None:
    """Python's max or min: it returns one of the arguments, the first of equal ones, and records nothing."""

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

    add_overload(function, strict=False)(typing)


_extremum(max, operator.gt)
_extremum(min, operator.lt)


# ---- np.float64 and type(x) of a variable: as a function, and as a dtype ---------------------------------------------
class FloatClass(types.NumberClass):
    """The type of `np.float64` or `np.complex128` in a differentiated function: a call with a variable gives one."""

    def __init__(self, made: Any) -> None:
        super().__init__(made)
        self.name = f"contad.{made}"


class RoundingClass(FloatClass):
    """The type of `np.float32`: a call with a variable rounds the value and keeps the cell, or the tangent."""


FLOAT_CLASS = FloatClass(types.float64)
register_model(FloatClass)(models.OpaqueModel)
register_model(RoundingClass)(models.OpaqueModel)


class FloatConversion:
    """The replacement for np.float64 and the like among the globals of a differentiated function."""

    def __init__(self, made: FloatClass) -> None:
        self.made = made


FLOAT_CONVERSIONS = {
    np.float64: FloatConversion(FLOAT_CLASS),
    np.complex128: FloatConversion(FloatClass(types.complex128)),
    np.float32: FloatConversion(RoundingClass(types.float32)),
}


@typeof_impl.register(FloatConversion)
def _type_of(x: Any, c: Any) -> Any:
    return x.made


@lower_constant(FloatClass)
def _float_class(context: Any, builder: Any, kind: Any, x: Any) -> Any:
    return context.get_dummy_value()


@infer_getattr
class _FloatClassAttribute(AttributeTemplate):
    """The attributes of the class of a variable: its call."""

    key = FloatClass

    def resolve___call__(self, kind: Any) -> Any:
        """The type of np.float64(x), np.float32(x) or np.complex128(x)."""
        made = kind.instance_type
        plain = self.context.resolve_getattr(types.NumberClass(made), "__call__")

        def typer(val: Any) -> Any:
            if isinstance(val, Active) or (isinstance(val, ActivePair) and made != types.float32):
                return COMPLEX_OF[val] if made == types.complex128 and isinstance(val, Active) else val
            found = plain.get_call_type(self.context, (val,), {})
            return found.return_type if found is not None else None

        return types.Function(make_callable_template(key=made, typer=typer))


@lower_builtin(RoundingClass, types.Any)
def _as_single(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    if not isinstance(sig.return_type, Active):
        return context.cast(builder, args[0], sig.args[0], sig.return_type)
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder, args[0])
    rounded = context.cast(builder, made.value, types.float64, types.float32)
    made.value = context.cast(builder, rounded, types.float32, types.float64)
    return pack(made)


@lower_builtin(FloatClass, types.Any)
def _as_float(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.cast(builder, args[0], sig.args[0], sig.return_type)


@infer_getattr
class _ActiveAttribute(AttributeTemplate):
    """The attributes of a variable: its class."""

    key = Active

    def resolve___class__(self, kind: Any) -> Any:
        """The type of type(x), which converts as np.float64 does."""
        return FLOAT_CLASS
