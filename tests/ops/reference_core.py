"""The core rules as functions of mpmath numbers; DOMAIN says where not to look, EXTRA where else."""

import math
import random

from mpmath import mp

_rounded_quotient = lambda x, y: mp.floor(x / y)


def _exp(x):
    """The exponential; 0 far below the doubles, where mpmath would take long over digits that nobody needs."""
    return mp.exp(x) if x > -100_000 else mp.zero


REFERENCE = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y, "floor_divide": _rounded_quotient,
    "remainder": lambda x, y: x - y * _rounded_quotient(x, y), "power": mp.power, "negative": lambda x: -x,
    "absolute": abs, "sign": mp.sign, "floor": mp.floor, "ceil": mp.ceil,
    "trunc": lambda x: mp.sign(x) * mp.floor(abs(x)), "rint": mp.nint,
    "copysign": lambda x, y: abs(x) * (mp.sign(y) or 1), "square": lambda x: x * x, "reciprocal": lambda x: 1 / x,
    "sqrt": mp.sqrt, "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "hypot": lambda x, y: mp.sqrt(x * x + y * y),
    "maximum": max, "minimum": min, "exp": _exp, "expm1": lambda x: mp.expm1(x) if x > -100_000 else -mp.one,
    "exp2": lambda x: mp.exp(x * mp.ln2), "log": mp.log, "log1p": mp.log1p, "log2": lambda x: mp.log(x) / mp.ln2,
    "log10": lambda x: mp.log(x) / mp.ln10, "logaddexp": lambda x, y: max(x, y) + mp.log1p(_exp(-abs(x - y))),
    "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan,
    "arctan2": mp.atan2, "deg2rad": lambda x: x * mp.pi / 180, "rad2deg": lambda x: x * 180 / mp.pi, "sinh": mp.sinh,
    "cosh": mp.cosh, "tanh": mp.tanh, "arcsinh": mp.asinh, "arccosh": mp.acosh, "arctanh": mp.atanh,
}  # fmt: skip

# Far beyond overflow and underflow mpmath takes long; a quotient of many digits has no floor that a difference could
# follow; a signed zero has no mpmath form.
DOMAIN = {
    "floor_divide": lambda x, y: y != 0.0 and 1e-60 < abs(x / y) < 1e15,
    "remainder": lambda x, y: y != 0.0 and 1e-60 < abs(x / y) < 1e60,
    "copysign": lambda x, y: y != 0.0,
    "arctan2": lambda y, x: y != 0.0 or x > 0.0,
    "power": lambda x, y: x == 0.0 or abs(y * math.log(abs(x))) < 1e5,
}


def _power_points():
    numbers = random.Random(42)
    for _ in range(200):  # x^y from underflow to overflow, for exponents from tiny to huge
        log_x = math.exp(numbers.uniform(-37.0, 6.5)) * numbers.choice((1, -1))
        log_z = numbers.uniform(-740.0, 709.0) if numbers.random() < 0.5 else numbers.uniform(-2.0, 2.0)
        yield math.exp(log_x), log_z / log_x
    for _ in range(60):  # an exponent that y - 1 would swallow
        yield 10.0 ** numbers.uniform(-307, 308), numbers.choice((1, -1)) * 10.0 ** numbers.uniform(-320, 0)
    for y in (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 7.0, 0.5, -0.5, 1.5):
        for x in (0.0, 1e-300, 1e-9, 0.3, 1.0, 1.7, 1e9, 1e100, 1e300):
            yield x, y
            yield -x, y


def _subnormal_pairs():
    numbers = random.Random(43)
    for _ in range(100):
        yield tuple(numbers.choice((1, -1)) * 10.0 ** numbers.uniform(-323.3, -285.0) for _ in range(2))


def _logarithms_that_cancel():
    numbers = random.Random(44)
    for _ in range(60):
        x = -math.exp(numbers.uniform(-12.0, 3.5))
        yield x, math.log(-math.expm1(x))
        yield numbers.uniform(-800.0, 800.0), numbers.uniform(-800.0, 800.0)


EXTRA = {
    "power": _power_points, "hypot": _subnormal_pairs, "arctan2": _subnormal_pairs, "divide": _subnormal_pairs,
    "logaddexp": _logarithms_that_cancel,
}  # fmt: skip
