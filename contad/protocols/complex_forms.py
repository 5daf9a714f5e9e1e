"""Operators and elementwise functions of complex variables, written with real operations on their parts.

The formulas serve numbers and arrays, plain and of variables, on every engine. Values are those of NumPy within a few
ulp, branch cuts included; products with a real operand keep infinities, where NumPy makes nan of infinity times 0i.
"""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from contad.errors import LostDerivativeError, UnsupportedError
from contad.ops import (
    arctan2,
    copysign,
    cos,
    cosh,
    exp,
    expm1,
    holomorphic as parts,
    hypot,
    log1p,
    select,
    sin,
    sinh,
)
from contad.rules.array_rule import _by_ufunc
from contad.rules.numpy_functions import find_exported_name
from contad.rules.scalar_rule import rule, rule_of_ufunc
from contad.variables.complex_pair import ComplexNumber, ComplexPair, join, split
from contad.variables.number import map_numbers, observe, peek, stands_for_float
from contad.variables.open_types import Function, Nested, Value

Parts = tuple[Value, Value]
LOG_2, LOG_10 = math.log(2.0), math.log(10.0)
LARGEST = float(np.finfo(np.float64).max)
_any = np.any
MOST = 100  # as in NumPy: whole exponents below it are products


def _is_zero(y: Value) -> bool:
    """Whether y is the imaginary part of a real operand."""
    return y.__class__ is float and y == 0.0


# ---- arithmetic ------------------------------------------------------------------------------------------------------
# No part of a result shares memory with an operand, to which the user may write; +x is a copy. The sign of a zero says
# on which side of a branch cut a point is. To NumPy the imaginary part of a real operand is 0.0, which decides the
# signs of zeros: products and quotients follow it where a part is 0, and leave its products out elsewhere.
def add(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """z + w."""
    return x + u, y + v  # 0.0 makes 0.0 of -0.0


def subtract(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """z - w."""
    return x - u, +y if _is_zero(v) else y - v


def multiply(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """z w."""
    if _is_zero(v) and not _holds_zero(x, y):
        return x * u, y * u
    if _is_zero(y) and not _holds_zero(u, v):
        return x * u, x * v
    return x * u - y * v, x * v + y * u


def divide(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """z / w, as z times 1 / w."""
    if _is_zero(v):
        if not _holds_zero(x, y):
            return x / u, y / u
        zero = copysign(0.0, u)
        return (x + y * zero) / u, (y - x * zero) / u
    if _is_zero(y) and _holds_zero(v):
        flat = _is(operator.eq, v, 0.0)
        t = select(flat, v / select(flat, u, 1.0), 0.0)
        p, q = parts.reciprocal_real(u, v), parts.reciprocal_real(v, u)
        return x * p, select(flat, (0.0 - x * t) * p, -(x * q))
    return multiply(x, y, *reciprocal(u, v))


def _holds_zero(*parts: Value) -> bool:
    """Whether a part is 0 somewhere."""
    return not all(bool(v) if v.__class__ is float else np.all(v) for v in map(peek, parts))


def reciprocal(x: Value, y: Value) -> Parts:
    """1 / z."""
    return parts.reciprocal_real(x, y), -parts.reciprocal_real(y, x)


def square(x: Value, y: Value) -> Parts:
    """z^2."""
    xy = x * y
    return (x - y) * (x + y), xy + xy


def power(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """z^w: products for a whole w below 100, otherwise exp(w log z)."""
    if _is_zero(v) and isinstance(u, (int, float, np.integer, np.floating)):
        if u == 0.5:
            return sqrt(x, y)
        exponent = float(u)
        if exponent.is_integer() and abs(exponent) < MOST:
            return _whole_power(x, y, int(exponent))
    empty = _is(operator.eq, x, 0.0) & _is(operator.eq, y, 0.0)
    z = exponential(*multiply(u, v, *log(select(empty, 1.0, x), y)))
    if not np.any(empty):
        return z
    edge = _power_of_zero(x, y, u, v)
    return select(empty, edge[0], z[0]), select(empty, edge[1], z[1])


def _is(compare: Function, x: Value, y: float) -> Any:
    """A comparison of values, of NumPy's kind."""
    return np.asarray(observe(compare, x, y))[()]


def _power_of_zero(x: Value, y: Value, u: Value, v: Value) -> Parts:
    """z^w at z = 0: z for w = 1, 0 for Re w > 0 with the slope of the power, 1 for w = 0, otherwise nan."""
    real = _is(operator.eq, v, 0.0)
    one, large, none = _is(operator.eq, u, 1.0) & real, _is(operator.gt, u, 1.0), _is(operator.eq, u, 0.0) & real
    steep = _is(operator.gt, u, 0.0) & ~large & ~one
    defined = one | large | none | steep
    if not np.all(defined) and stands_for_float(x) and stands_for_float(y):
        raise ZeroDivisionError("power: 0 has no power with an exponent whose real part is not positive")
    near, unit = sqrt(x, y), 1.0 + parts.sqrt_real(u, v)  # 0 and 1, with infinite slopes

    def pick(straight: Value, root: Value, whole: Value) -> Value:
        other = select(none, whole, math.nan)
        return select(one, straight, select(large, 0.0, select(steep, root, other)))

    return pick(x, near[0], unit), pick(y, near[1], 0.0)


def _whole_power(x: Value, y: Value, n: int) -> Parts:
    if n < 0:
        return reciprocal(*_whole_power(x, y, -n))
    if n == 0:
        return (np.ones_like(x), np.zeros_like(x)) if np.ndim(x) else (1.0, 0.0)
    found: Parts | None = None
    base = x, y
    while True:
        if n % 2:
            found = base if found is None else multiply(*found, *base)
        n //= 2
        if not n:
            assert found is not None
            return (+x, +y) if found[0] is x else found
        base = square(*base)


def negative(x: Value, y: Value) -> Parts:
    """-z."""
    return -x, -y


def positive(x: Value, y: Value) -> Parts:
    """z."""
    return +x, +y


def conjugate(x: Value, y: Value) -> Parts:
    """x - iy."""
    return +x, -y


# ---- functions -------------------------------------------------------------------------------------------------------
def exponential(x: Value, y: Value) -> Parts:
    """e^z = e^x (cos y + i sin y)."""
    r = exp(x)
    return r * cos(y), _times(r, sin(y))


def _times(r: Value, s: Value) -> Value:
    """r s, and 0 where s is 0 and r has overflowed."""
    lost = observe(np.isinf, r) & observe(operator.eq, s, 0.0)
    return select(lost, LARGEST * s, r * s) if _any(lost) else r * s


def exp2(x: Value, y: Value) -> Parts:
    """2^z."""
    return exponential(x * LOG_2, y * LOG_2)


def exp_minus_one(x: Value, y: Value) -> Parts:
    """e^z - 1, without cancellation near 0."""
    half = sin(0.5 * y)
    return expm1(x) * cos(y) - 2.0 * half * half, exp(x) * sin(y)


def log(x: Value, y: Value) -> Parts:
    """log |z| + i arg z."""
    return parts.log_abs(x, y), arctan2(y, x)


def log2(x: Value, y: Value) -> Parts:
    """log z / log 2."""
    return parts.log_abs(x, y) / LOG_2, arctan2(y, x) / LOG_2


def log10(x: Value, y: Value) -> Parts:
    """log z / log 10."""
    return parts.log_abs(x, y) / LOG_10, arctan2(y, x) / LOG_10


def log_one_plus(x: Value, y: Value) -> Parts:
    """log(1 + z), without cancellation near 0."""
    near = observe(operator.lt, hypot(x, y), 0.5)
    small = 0.5 * log1p(select(near, x * (2.0 + x) + y * y, 0.0))
    return select(near, small, parts.log_abs(1.0 + x, y)), arctan2(y, 1.0 + x)


def sqrt(x: Value, y: Value) -> Parts:
    """The root with a real part that is not negative."""
    return parts.sqrt_real(x, y), parts.sqrt_imag(x, y)


def sine(x: Value, y: Value) -> Parts:
    """sin z."""
    return _times(cosh(y), sin(x)), cos(x) * sinh(y)


def cosine(x: Value, y: Value) -> Parts:
    """cos z."""
    return cos(x) * cosh(y), -_times(sinh(y), sin(x))


def tangent(x: Value, y: Value) -> Parts:
    """tan z."""
    return parts.tan_real(x, y), parts.tan_imag(x, y)


def hyperbolic_sine(x: Value, y: Value) -> Parts:
    """sinh z."""
    return sinh(x) * cos(y), _times(cosh(x), sin(y))


def hyperbolic_cosine(x: Value, y: Value) -> Parts:
    """cosh z."""
    return cosh(x) * cos(y), _times(sinh(x), sin(y))


def hyperbolic_tangent(x: Value, y: Value) -> Parts:
    """tanh z = -i tan(iz)."""
    return parts.tan_imag(-y, x), -parts.tan_real(-y, x)


def arcsine(x: Value, y: Value) -> Parts:
    """arcsin z."""
    return parts.arcsin_real(x, y), parts.arcsin_imag(x, y)


def arccosine(x: Value, y: Value) -> Parts:
    """arccos z."""
    return parts.arccos_real(x, y), -parts.arcsin_imag(x, y)


def arctangent(x: Value, y: Value) -> Parts:
    """arctan z."""
    return parts.arctan_real(x, y), parts.arctan_imag(x, y)


def inverse_hyperbolic_sine(x: Value, y: Value) -> Parts:
    """arcsinh z = -i arcsin(iz)."""
    return parts.arcsin_imag(-y, x), -parts.arcsin_real(-y, x)


def inverse_hyperbolic_cosine(x: Value, y: Value) -> Parts:
    """arccosh z, which is i arccos z above the real axis and -i arccos z below it."""
    below = copysign(1.0, y)
    return below * parts.arcsin_imag(x, y), below * parts.arccos_real(x, y)


def inverse_hyperbolic_tangent(x: Value, y: Value) -> Parts:
    """arctanh z = -i arctan(iz)."""
    return parts.arctan_imag(-y, x), -parts.arctan_real(-y, x)


def sign(x: Value, y: Value) -> Parts:
    """z / |z|, and 0 with derivative 0 at 0, as in NumPy 2."""
    r = hypot(x, y)
    empty = observe(operator.eq, r, 0.0)
    r = select(empty, 1.0, r)
    return select(empty, 0.0, x / r), select(empty, 0.0, y / r)


FORMS: dict[str, Callable[..., Parts]] = {  # by the name of the real rule
    "add": add, "subtract": subtract, "multiply": multiply, "divide": divide, "negative": negative, "power": power,
    "square": square, "reciprocal": reciprocal, "exp": exponential, "exp2": exp2, "expm1": exp_minus_one, "log": log,
    "log2": log2, "log10": log10, "log1p": log_one_plus, "sqrt": sqrt, "sin": sine, "cos": cosine, "tan": tangent,
    "sinh": hyperbolic_sine, "cosh": hyperbolic_cosine, "tanh": hyperbolic_tangent, "arcsin": arcsine,
    "arccos": arccosine, "arctan": arctangent, "arcsinh": inverse_hyperbolic_sine,
    "arccosh": inverse_hyperbolic_cosine, "arctanh": inverse_hyperbolic_tangent, "sign": sign,
}  # fmt: skip


def _elementwise(form: Callable[..., Parts]) -> Function:
    """A form as a function of complex numbers and arrays."""

    @functools.wraps(form)
    def apply(*args: Nested) -> Any:
        return join(*form(*(part for z in args for part in split(z))))

    return apply


def absolute(z: Nested) -> Value:
    """|z|; at 0 both partials are 0."""
    x, y = split(z)
    return hypot(x, y)


for _name, _form in FORMS.items():
    rule(_name).at_complex = _elementwise(_form)
rule("absolute").at_complex = absolute
for _name in FORMS:  # NumPy evaluates np.exp over an object array as `element.exp()`
    setattr(ComplexNumber, _name, rule(_name).at_complex)

# ---- Python's operators ----------------------------------------------------------------------------------------------
_OPERANDS = (int, float, complex, np.number, np.ndarray, ComplexPair)


def _takes(w: Any) -> bool:
    """Whether w is a number or an array; lists stand for arrays."""
    return isinstance(w, (*_OPERANDS, list, tuple)) or hasattr(w, "_owner")


def _operator(apply: Function, reflected: bool) -> Function:
    def method(z: ComplexPair, w: Any) -> Any:
        if not _takes(w):
            return NotImplemented
        return apply(w, z) if reflected else apply(z, w)

    return method


def _in_place(apply: Function) -> Function:
    def method(z: Any, w: Any) -> Any:
        result = apply(z, w)
        if not z.shape and not hasattr(z._real, "_make_view") and not isinstance(z._real, np.ndarray):
            return result
        if result.shape != z.shape:
            raise ValueError(f"an operation in place: the result must have shape {z.shape}, got {result.shape}")
        z[...] = result
        return z

    return method


for _method, _name in (
    ("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"), ("pow", "power"),
):  # fmt: skip
    _apply = rule(_name).at_complex
    assert _apply is not None
    setattr(ComplexPair, f"__{_method}__", _operator(_apply, False))
    setattr(ComplexPair, f"__r{_method}__", _operator(_apply, True))
    setattr(ComplexPair, f"__i{_method}__", _in_place(_apply))


def equal(z: Any, w: Any) -> Any:
    """Whether both parts are equal: a truth value without a derivative, or an array of them."""
    if not _takes(w):
        return NotImplemented
    (x, y), (u, v) = split(z), split(w)
    return observe(operator.eq, x, u) & observe(operator.eq, y, v)


def _not_equal(z: Any, w: Any) -> Any:
    same = equal(z, w)
    return same if same is NotImplemented else np.logical_not(same)


def _refuse_order(z: Any, w: Any) -> Any:
    raise TypeError("complex numbers have no order; compare np.abs(z), z.real or z.imag")


def _truth(z: ComplexPair) -> bool:
    return bool(observe(bool, z._real)) or bool(observe(bool, z._imag))


def _format(z: ComplexPair, spec: str) -> str:
    return format(map_numbers(peek, z), spec) if spec else str(z)


def _markup(z: ComplexPair) -> str:
    return "".join(getattr(part, "_repr_html_", part.__repr__)() for part in split(z))


_METHODS: dict[str, Any] = {
    "__format__": _format, "_repr_html_": _markup,
    "__neg__": rule("negative").at_complex, "__pos__": _elementwise(positive), "__abs__": absolute, "__eq__": equal,
    "__ne__": _not_equal, "__bool__": _truth, **dict.fromkeys(("__lt__", "__le__", "__gt__", "__ge__"), _refuse_order),
}  # fmt: skip
for _name, _function in _METHODS.items():
    setattr(ComplexPair, _name, _function)


# ---- NumPy's ufuncs --------------------------------------------------------------------------------------------------
_OF_PARTS: dict[Any, Function] = {
    np.positive: _elementwise(positive), np.conjugate: _elementwise(conjugate), np.equal: equal,
    np.not_equal: _not_equal,
    np.isfinite: lambda z: observe(np.isfinite, split(z)[0]) & observe(np.isfinite, split(z)[1]),
    np.isnan: lambda z: observe(np.isnan, split(z)[0]) | observe(np.isnan, split(z)[1]),
    np.isinf: lambda z: observe(np.isinf, split(z)[0]) | observe(np.isinf, split(z)[1]),
    **{ufunc: functools.partial(observe, ufunc)
       for ufunc in (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)},
    np.float_power: _elementwise(power), np.rint: lambda z: join(*map(np.rint, split(z))),
}  # fmt: skip
_REDUCTIONS: dict[tuple[str, Any], Function] = {
    ("reduce", np.add): np.sum, ("reduce", np.multiply): np.prod, ("accumulate", np.add): np.cumsum,
    ("accumulate", np.multiply): np.cumprod,
}  # fmt: skip


def array_ufunc(z: Any, ufunc: np.ufunc, method: str, *inputs: Value, **options: Any) -> Any:
    """Dispatch a ufunc that was called with a complex variable."""
    out = options.pop("out", None)
    name = find_exported_name(ufunc)
    if method == "__call__" and not options:
        result = _call(ufunc, inputs, name)
    elif (method, ufunc) in _REDUCTIONS:
        result = _REDUCTIONS[method, ufunc](*inputs, **{"axis": 0, **options})
    elif method == "at" and ufunc in (np.add, np.subtract) and not options:
        for part, piece in zip(split(inputs[0]), split(inputs[2]), strict=True):
            ufunc.at(part, inputs[1], piece)
        return None
    elif method == "outer" and not options:
        a, b = inputs
        result = ufunc(np.reshape(a, (*np.shape(a), *(1,) * np.ndim(b))), b)
    else:
        raise UnsupportedError(f"{name}{'' if method == '__call__' else '.' + method}: not supported on complex "
                               f"variables{' with ' + ', '.join(options) if options else ''}")  # fmt: skip
    if out is None:
        return result
    (target,) = out
    if isinstance(target, np.ndarray) and target.dtype != object:
        raise LostDerivativeError(
            f"{name}: a plain array cannot hold a complex variable (out=); assign the result to an array that is made "
            "in the function, by np.zeros(n, complex)"
        )
    target[...] = result
    return target


def _call(ufunc: np.ufunc, inputs: tuple[Value, ...], name: str) -> Any:
    if ufunc in _OF_PARTS:
        return _OF_PARTS[ufunc](*inputs)
    found = rule_of_ufunc(ufunc)
    if found is not None and found.at_complex is not None and ufunc is not np.fabs:
        return found.at_complex(*inputs)
    of_arrays = _by_ufunc.get(ufunc)
    if of_arrays is not None:
        return of_arrays(*inputs)
    raise UnsupportedError(f"{name}: not supported on complex variables; use np.abs(z), z.real or z.imag")


ComplexPair.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
