"""Complex numbers in a differentiated function: pairs of variables, or of duals.

Operators and functions are the forms of `contad.protocols.complex_forms`, compiled. In place of the helpers of these
that look at values of any kind they get those of this file. Operands are pairs, plain complex numbers and real numbers.
"""

import cmath
import operator
from types import FunctionType
from typing import Any

import numpy as np
from numba import types

from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload, add_overload_attribute, add_overload_method, overload_by_text
from contad.compiled_rules.elementwise_calls import PLAIN
from contad.engines.tape.arrays import zeros_of
from contad.engines.tape.conversions import value
from contad.engines.tape.variables import COMPLEX_OF, Active, ActivePair, Variable, pair
from contad.protocols import complex_forms
from contad.rules.scalar_rule import rule

_OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
NUMBERS = (Active, ActivePair, types.Complex, *PLAIN)


def is_complex(kind: Any) -> bool:
    """Whether a type is that of a complex number or an array of them."""
    return isinstance(getattr(kind, "dtype", kind), (ActivePair, types.Complex))


def meets(*kinds: Any) -> bool:
    """Whether an operation on numbers of these types is one of complex numbers that carry derivatives."""
    active = any(isinstance(x, (Active, ActivePair)) for x in kinds)
    return active and any(map(is_complex, kinds)) and all(isinstance(x, NUMBERS) for x in kinds)


# ---- parts -----------------------------------------------------------------------------------------------------------
def split(z: Any) -> Any:
    """The parts of a number inside njit; the imaginary part of a real one is 0.0."""
    return z.real, z.imag


@add_overload(split)
def _split(z: Any) -> Any:
    return (lambda z: (z.real, z.imag)) if is_complex(z) else lambda z: (z, 0.0)


def join(x: Any, y: Any) -> Any:
    """x + iy of numbers or arrays inside njit."""
    return complex(x, y)


@add_overload(join)
def _join(x: Any, y: Any) -> Any:
    if isinstance(x, types.Array):
        return _join_arrays(zeros_of[COMPLEX_OF[x.dtype]])
    plain = not isinstance(x, Active) and not isinstance(y, Active)
    return (lambda x, y: complex(x, y)) if plain else lambda x, y: pair(x, y)


def _join_arrays(zeros: Any) -> Any:
    def implementation(x: Any, y: Any) -> Any:
        made = zeros(x.shape)
        for k in np.ndindex(x.shape):
            made[k] = pair(x[k], y[k])
        return made

    return implementation


# ---- the forms, compiled ---------------------------------------------------------------------------------------------
def is_zero(y: Any) -> Any:
    """Whether y is the imaginary part of a real operand."""
    return y == 0.0


@add_overload(is_zero)
def _is_zero(y: Any) -> Any:
    if isinstance(y, Variable):
        return lambda y: y.value == 0.0 and y.cell == 0
    return (lambda y: y.value == 0.0 and y.tangent == 0.0) if isinstance(y, Active) else lambda y: y == 0.0


def observe(function: Any, x: Any, y: Any = 0.0) -> Any:
    """A function of the plain numbers."""
    return function(x, y)


@add_overload(observe)
def _observe(function: Any, x: Any, y: Any = 0.0) -> Any:
    if y == 0.0 or isinstance(y, types.Omitted):
        return lambda function, x, y=0.0: function(value(x))
    return lambda function, x, y=0.0: function(value(x), value(y))


@njit(**_OPTIONS)
def _whole_power(x: Any, y: Any, n: Any) -> Any:
    """z^n by squaring."""
    rest, is_first = abs(n), True
    p, q = x, y
    while rest:
        if rest & 1:
            p, q = (x, y) if is_first else _multiply(p, q, x, y)
            is_first = False
        rest >>= 1
        if rest:
            x, y = _square(x, y)
    return (p, q) if n > 0 else _reciprocal(p, q)


def _compile_forms() -> dict[str, Any]:
    """Compiled functions of parts, by the names of the functions that state them."""
    known: dict[str, Any] = dict(vars(complex_forms))
    for name, form in vars(complex_forms).items():
        if isinstance(form, FunctionType) and form.__module__ == complex_forms.__name__ and not form.__closure__:
            known[name] = njit(**_OPTIONS)(FunctionType(form.__code__, known, name))
    choose, same = njit(**_OPTIONS)(lambda condition, x, y: x if condition else y), njit(**_OPTIONS)(lambda x: x)
    known |= {"_is_zero": is_zero, "observe": observe, "_is": observe, "select": choose, "_any": same}
    known["_holds_zero"] = njit(**_OPTIONS)(lambda x, y=1.0: value(x) == 0.0 or value(y) == 0.0)
    return {name: known[form.__name__] for name, form in complex_forms.FORMS.items()}


FORMS = _compile_forms()
_multiply, _square, _reciprocal = FORMS["multiply"], FORMS["square"], FORMS["reciprocal"]


def power(z: Any, w: Any) -> Any:
    """z^w inside njit: products for a whole w below 100, otherwise exp(w log z)."""
    return z**w


@add_overload(power)
def _power(z: Any, w: Any) -> Any:
    """The power, for operands of these types."""
    logarithm, exponential, root, most = FORMS["log"], FORMS["exp"], FORMS["sqrt"], complex_forms.MOST
    is_real = isinstance(w, (types.Float, types.Integer))

    def implementation(z: Any, w: Any) -> Any:
        """The power, which at 0 has an infinite slope below the exponent 1."""
        x, y = split(z)
        u, v = split(w)
        if is_real and float(w) == int(w) and abs(w) < most:
            n = int(w)
            if n == 0:
                x, y = x * 0.0 + 1.0, y * 0.0
            else:
                x, y = _whole_power(x, y, n)
            return join(x, y)
        if is_real and w == 0.5:
            x, y = root(x, y)
            return join(x, y)
        if value(x) == 0.0 and value(y) == 0.0:
            if value(u) <= 0.0:
                raise ZeroDivisionError("0.0 to a negative or complex power")
            if value(u) <= 1.0:
                x, y = root(x, y)  # 0, with an infinite slope
            return join(x, y)
        p, q = logarithm(x, y)
        p, q = _multiply(u, v, p, q)
        p, q = exponential(p, q)
        return join(p, q)

    return implementation


def declare(function: Any, arity: int, text: str, **known: Any) -> None:
    """Let compiled code call a function of complex numbers: an expression of z and w, or of their parts x, y, u, v."""
    names = ("z", "w")[:arity]
    lines = [f"{a}, {b} = split({name})" for name, a, b in (("z", "x", "y"), ("w", "u", "v"))[:arity]]
    known |= {"split": split, "join": join, "value": value, "np": np, "power": power}
    if "form(" in text:
        lines.append(f"p, q = {text}")
        text = "join(p, q)"

    def write(*kinds: Any) -> Any:
        n = getattr(kinds[-1], "literal_value", None)
        if not meets(*kinds):
            return None
        return (["return z * z"], known) if "power" in text and n == 2 else ([*lines, f"return {text}"], known)

    overload_by_text(function, ", ".join(names), write, prefer_literal="power" in text)


_IN_CMATH = {"arccos": "acos", "arcsin": "asin", "arctan": "atan", "arcsinh": "asinh", "arctanh": "atanh",
             "arccosh": "acosh"}  # fmt: skip
_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "power": "pow", "negative": "neg",
}  # fmt: skip


def _spellings(name: str) -> list[Any]:
    """The functions that spell an operation."""
    found = [u for u in rule(name).ufuncs if not isinstance(u, str)]
    if name in _OPERATORS:
        own = _OPERATORS[name]
        found += [getattr(operator, x) for x in (own, f"i{own}") if hasattr(operator, x)]
    in_cmath = getattr(cmath, _IN_CMATH.get(name, name), None)
    return found if in_cmath is None else [*found, in_cmath]


for _name, _form in FORMS.items():
    _arity = 2 if _name in ("add", "subtract", "multiply", "divide", "power") else 1
    _text = "power(z, w)" if _name == "power" else f"form({'x, y, u, v' if _arity == 2 else 'x, y'})"
    for _function in _spellings(_name):
        declare(_function, _arity, _text, form=_form)
_PARTS: dict[str, tuple[Any, ...]] = {  # expressions of the parts
    "np.hypot(x, y)": (abs, np.absolute), "join(+x, -y)": (np.conjugate,), "join(+x, +y)": (operator.pos, np.positive),
    "np.arctan2(y, x)": (np.angle, cmath.phase), "(np.hypot(x, y), np.arctan2(y, x))": (cmath.polar,),
    "x": (np.real,), "y": (np.imag,), "value(x) != 0.0 or value(y) != 0.0": (bool,),
    "value(x) == 0.0 and value(y) == 0.0": (operator.not_,),
    **{f"np.{f.__name__}(value(x)) {word} np.{f.__name__}(value(y))": (f, getattr(cmath, f.__name__))
       for f, word in ((np.isfinite, "and"), (np.isnan, "or"), (np.isinf, "or"))},
}  # fmt: skip
for _text, _functions in _PARTS.items():
    for _function in _functions:
        declare(_function, 1, _text)
for _symbol, _word, _op in ((operator.eq, "and", "=="), (operator.ne, "or", "!=")):
    declare(_symbol, 2, f"value(x) {_op} value(u) {_word} value(y) {_op} value(v)")


@add_overload(cmath.rect)
def _rect(r: Any, phi: Any) -> Any:
    if not isinstance(r, Active) and not isinstance(phi, Active):
        return None
    return lambda r, phi: join(r * np.cos(phi), r * np.sin(phi))


@add_overload(complex)
def _complex(real: Any, imag: Any = 0.0) -> Any:
    if not any(isinstance(x, (Active, ActivePair)) for x in (real, imag)):
        return None
    if is_complex(real) or is_complex(imag):
        return lambda real, imag=0.0: real + 1j * imag
    return lambda real, imag=0.0: join(real, imag)


for _kind in (Active, ActivePair):
    for _name in ("conjugate", "conj"):
        add_overload_method(_kind, _name)(lambda z: (lambda z: np.conj(z)) if is_complex(z) else lambda z: z)
add_overload(np.conjugate)(lambda z: (lambda z: z) if isinstance(z, Active) else None)
add_overload_attribute(Active, "real")(lambda x: (lambda x: x))
add_overload_attribute(Active, "imag")(lambda x: (lambda x: 0.0))
