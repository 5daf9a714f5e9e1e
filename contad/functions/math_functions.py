"""Python's `math` and `cmath` for numbers that carry derivatives. On plain numbers each function behaves as that of
these modules does, errors included.

A function that names one of them, or one of their functions, runs as a copy of itself that finds these (see
`contad.functions.callees`).
"""

import cmath
import functools
import math
import operator
from collections.abc import Iterable
from typing import Any

from contad.rules.scalar_rule import rule, rules
from contad.variables.array import Array
from contad.variables.complex_pair import ComplexPair, is_complex, join, split
from contad.variables.number import Carrier, Number, as_float, map_numbers, observe, peek, standing_for
from contad.variables.open_types import Function, Real, Rule, Value
from contad.variables.stack import stack


def _as_number(x: Value) -> Value:
    """An array of one element as that element, as in `math`; refused if it has more."""
    if not isinstance(x, Array):
        return x
    if x.size != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars; call the function of np instead")
    return x.reshape(())[()]


def _carries(*args: Value) -> bool:
    return any(isinstance(x, (Carrier, ComplexPair)) for x in args)


def _with_errors(of_floats: Function, found: Rule) -> Function:
    """A function of `math` with the derivative of a rule; if its value is not finite, `math` may raise."""

    @functools.wraps(of_floats)
    def apply(*args: Value) -> Real:
        if not _carries(*args):
            return of_floats(*args)
        args = tuple(map(_as_number, args))
        z = found(*args)
        if not math.isfinite(peek(z)):
            of_floats(*map(peek, args))
        return as_float(z) if isinstance(z, Number) else z

    return apply


def _of_primals(of_floats: Function) -> Function:
    """A function whose result carries no derivative."""

    @functools.wraps(of_floats)
    def apply(*args: Value, **options: Value) -> Any:
        return observe(of_floats, *map(_as_number, args), **options)

    return apply


_log, _hypot = rule("log"), rule("hypot")


def log(x: Value, *base: Value) -> Real:
    """math.log(x) and math.log(x, base)."""
    if not _carries(x, *base):
        return math.log(x, *base)
    return _log_of(x) / _log_of(base[0]) if base else _log_of(x)


_log_of = _with_errors(math.log, _log)
_hypot_of = _with_errors(math.hypot, _hypot)


def hypot(*coordinates: Value) -> Real:
    """math.hypot of any number of coordinates."""
    if not _carries(*coordinates):
        return math.hypot(*coordinates)
    return functools.reduce(_hypot_of, coordinates) if len(coordinates) > 1 else abs(_as_number(coordinates[0]))


def dist(p: Iterable[Value], q: Iterable[Value]) -> Real:
    """math.dist: the Euclidean distance of two points."""
    p, q = tuple(p), tuple(q)
    if not _carries(*p, *q):
        return math.dist(p, q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return hypot(*map(operator.sub, p, q))


def fsum(terms: Iterable[Value]) -> Real:
    """math.fsum: the sum of the numbers, whose value is rounded once."""
    terms = tuple(map(_as_number, terms))
    if not _carries(*terms):
        return math.fsum(terms)
    return _with_value(sum(terms), math.fsum(map(peek, terms)))


def _with_value(z: Value, exact: float) -> Real:
    """A number equal to `exact` up to rounding, with this value; in a recorded program as computed."""
    if stack().tracer is None and math.isfinite(exact) and exact != peek(z):
        z = z + (exact - peek(z))
    return z


def prod(factors: Iterable[Value], *, start: Value = 1) -> Real:
    """math.prod: the product of the numbers."""
    return functools.reduce(operator.mul, factors, start)


def sumprod(p: Iterable[Value], q: Iterable[Value]) -> Real:
    """math.sumprod: the sum of the products of numbers."""
    p, q = tuple(p), tuple(q)
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    return fsum(map(operator.mul, p, q))


def fmod(x: Value, y: Value) -> Real:
    """math.fmod: x - n y, in which n is x / y without its fraction."""
    return _remainder(math.fmod, x, y)


def remainder(x: Value, y: Value) -> Real:
    """math.remainder: x - n y, in which n is the whole number nearest to x / y."""
    return _remainder(math.remainder, x, y)


def _remainder(of_floats: Function, x: Value, y: Value) -> Real:
    if not _carries(x, y):
        return of_floats(x, y)
    x, y = _as_number(x), _as_number(y)
    exact = of_floats(peek(x), peek(y))
    if not math.isfinite(exact) or math.isinf(peek(y)):
        return as_float(x * 1.0) if math.isfinite(exact) else exact
    n = observe(lambda x, y: float(round((x - of_floats(x, y)) / y)), x, y)
    return as_float(_with_value(x - n * y, exact))


def ldexp(x: Value, i: int) -> Real:
    """math.ldexp: x 2^i."""
    return as_float(_as_number(x) * math.ldexp(1.0, i)) if isinstance(x, Carrier) else math.ldexp(x, i)


def frexp(x: Value) -> tuple[Real, int]:
    """math.frexp: x as m 2^e with m between 1/2 and 1."""
    if not isinstance(x, Carrier):
        return math.frexp(x)
    _, e = observe(math.frexp, _as_number(x))
    return ldexp(x, -e), e


def modf(x: Value) -> tuple[Real, float]:
    """math.modf: the fraction of x and the whole number before it, which has the derivative zero."""
    if not isinstance(x, Carrier):
        return math.modf(x)
    _, whole = observe(math.modf, _as_number(x))
    return as_float(_as_number(x) - whole), whole


OF_MATH: dict[str, Function] = {  # name in math -> replacement for variables
    found.math: _with_errors(getattr(math, found.math), found) for found in rules() if found.math
}
OF_MATH |= {
    f.__name__: f
    for f in (log, hypot, dist, fsum, prod, sumprod, fmod, remainder, ldexp, frexp, modf)
    if hasattr(math, f.__name__)
}
OF_MATH |= {name: _of_primals(getattr(math, name)) for name in ("isnan", "isinf", "isfinite", "isclose")}
if hasattr(math, "fma"):
    OF_MATH["fma"] = lambda x, y, z: as_float(x * y + z) if _carries(x, y, z) else getattr(math, "fma")(x, y, z)  # noqa: B009


# ---- cmath and complex -----------------------------------------------------------------------------------------------
def as_complex(x: Value = 0.0, y: Value = 0.0) -> Any:
    """complex(x, y): x + iy, in which both may be complex themselves, as a Python number."""
    if not _carries(x, y):
        return complex(x, y)
    (a, b), (c, d) = split(_complex_operand(x)), split(_complex_operand(y))
    real, imag = a - d if is_complex(y) else a, b + c if is_complex(x) else c
    return join(standing_for(real, 0.0), standing_for(imag, 0.0))


def _complex_operand(x: Value) -> Value:
    """A number, or the one element of an array."""
    return x.reshape(())[()] if getattr(x, "shape", ()) and x.size == 1 else _as_number(x)


def _of_complex(of_numbers: Function, found: Rule) -> Function:
    """A function of `cmath` with the derivative of a rule; if its value is not finite, `cmath` may raise."""

    @functools.wraps(of_numbers)
    def apply(z: Value) -> Any:
        if not _carries(z):
            return of_numbers(z)
        w = as_complex(*split(found.at_complex(_complex_operand(z))))
        plain = map_numbers(peek, w)
        if not cmath.isfinite(plain):
            of_numbers(map_numbers(peek, z))
        return w

    return apply


def _phase(z: Value) -> Real:
    """cmath.phase(z)."""
    if not _carries(z):
        return cmath.phase(z)
    x, y = split(_complex_operand(z))
    return standing_for(rule("arctan2")(y, x), 0.0)


def _polar(z: Value) -> tuple[Real, Real]:
    """cmath.polar(z): |z| and the phase."""
    return (abs(_complex_operand(z)), _phase(z)) if _carries(z) else cmath.polar(z)


def _rect(r: Value, phi: Value) -> Any:
    """cmath.rect(r, phi): r (cos phi + i sin phi)."""
    if not _carries(r, phi):
        return cmath.rect(r, phi)
    return as_complex(r * rule("cos")(phi), r * rule("sin")(phi))


def _complex_log(z: Value, *base: Value) -> Any:
    """cmath.log(z) and cmath.log(z, base)."""
    return _log_of_complex(z) / _log_of_complex(base[0]) if base else _log_of_complex(z)


_log_of_complex = _of_complex(cmath.log, _log)
OF_CMATH: dict[str, Function] = {  # name in cmath -> replacement for variables
    name: _of_complex(getattr(cmath, name), rule(name.replace("a", "arc", 1) if name[0] == "a" else name))
    for name in ("exp", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh",
                 "acosh", "atanh")
}  # fmt: skip
OF_CMATH |= {"log": _complex_log, "phase": _phase, "polar": _polar, "rect": _rect}
OF_CMATH |= {name: _of_primals(getattr(cmath, name)) for name in ("isnan", "isinf", "isfinite", "isclose")}
