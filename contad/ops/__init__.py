"""The rules, by the names that NumPy and SciPy give them."""

from contad.ops.arithmetic import (
    absolute,
    add,
    divide,
    floor_divide,
    multiply,
    negative,
    power,
    remainder,
    subtract,
)
from contad.ops.elementary import cbrt, hypot, maximum, minimum, reciprocal, sqrt, square
from contad.ops.exponential import exp, exp2, expm1, log, log1p, log2, log10, logaddexp
from contad.ops.hyperbolic import arccosh, arcsinh, arctanh, cosh, sinh, tanh
from contad.ops.logic import select, stop_gradient
from contad.ops.rounding import ceil, copysign, floor, rint, sign, trunc
from contad.ops.trigonometric import arccos, arcsin, arctan, arctan2, cos, deg2rad, rad2deg, sin, tan

degrees = rad2deg
radians = deg2rad

__all__ = [
    "absolute",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "hypot",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "rint",
    "select",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stop_gradient",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]
