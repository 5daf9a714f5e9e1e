"""Kinks in second derivatives: at a kink, where a function is 0, other formulas replace the function and its tangent.

    z = f(x),     z_dot = f'(x) x_dot     at a kink     z = u x,     z_dot = u x_dot = f(x_dot)

For the absolute value and the length of two numbers, u is the gradient at x_dot, on the line through the kink: see
`contad.ops.kinks`. A root has no u, nor has any function where x_dot is 0: then all derivatives are nan. The extreme of
two equal numbers is the one with the extreme tangent, and gets the change of the adjoint along v.
"""

import math
from typing import NamedTuple

from contad.distributions.formula import unlisted_rule
from contad.engines.source.ir.known_functions import Function
from contad.ops.elementary import hypot
from contad.ops.logic import select
from contad.ops.rounding import sign
from contad.rules.scalar_rule import ScalarRule


class Kink(NamedTuple):
    """What replaces a function at its kink, given operands and tangents; and its tangent, given the latter."""

    value: Function
    tangent: Function
    is_pole: bool = False
    at_end: bool = False  # whether it has a pole at 1 or -1


def _function(template, function, body):  # type: ignore[no-untyped-def]
    rule = ScalarRule(function, None, None, False, ())
    rule.partials(body)
    return Function(function.__name__.strip("_"), template, rule, "float")


def _absolute_on_line(x, x_dot):  # type: ignore[no-untyped-def]
    return 0.0


def _absolute_on_line_partials(z, x, x_dot):  # type: ignore[no-untyped-def]
    return select(x_dot == 0.0, math.nan, sign(x_dot)), 0.0


def _absolute_of_tangent(x_dot):  # type: ignore[no-untyped-def]
    return abs(x_dot)


def _absolute_of_tangent_partials(z, x_dot):  # type: ignore[no-untyped-def]
    return select(x_dot == 0.0, math.nan, sign(x_dot))


def _hypot_on_line(x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    return 0.0


def _hypot_on_line_partials(z, x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    length = hypot(x_dot, y_dot)
    return (
        select(length == 0.0, math.nan, x_dot / select(length == 0.0, 1.0, length)),
        select(length == 0.0, math.nan, y_dot / select(length == 0.0, 1.0, length)),
        0.0,
        0.0,
    )


def _hypot_of_tangents(x_dot, y_dot):  # type: ignore[no-untyped-def]
    return math.hypot(x_dot, y_dot)


def _hypot_of_tangents_partials(z, x_dot, y_dot):  # type: ignore[no-untyped-def]
    length = select(z == 0.0, 1.0, z)
    return select(z == 0.0, math.nan, x_dot / length), select(z == 0.0, math.nan, y_dot / length)


def _pole(x):  # type: ignore[no-untyped-def]
    return 0.0


def _pole_partials(z, x):  # type: ignore[no-untyped-def]
    return math.nan + x


def _pole_of_tangent(x_dot):  # type: ignore[no-untyped-def]
    return math.nan


def _pole_of_tangent_partials(z, x_dot):  # type: ignore[no-untyped-def]
    return math.nan + x_dot


@unlisted_rule()
def nowhere(x):  # type: ignore[no-untyped-def]
    """0 with the derivative nan; formulas call it."""
    return 0.0


@nowhere.partials
def _nowhere_partials(z, x):  # type: ignore[no-untyped-def]
    return math.nan + x


@unlisted_rule()
def hold(x):  # type: ignore[no-untyped-def]
    """x without a derivative, as a factor that selects; formulas call it."""
    return x


@hold.partials
def _hold_partials(z, x):  # type: ignore[no-untyped-def]
    return 0.0


def _extreme_on_line(z, x, y, of_x, of_y):  # type: ignore[no-untyped-def]
    return z


def _extreme_on_line_partials(value, z, x, y, of_x, of_y):  # type: ignore[no-untyped-def]
    return 0.0, hold(of_x), hold(of_y), 0.0, 0.0


def _part_of_tangent(x_dot, of_x, known):  # type: ignore[no-untyped-def]
    return x_dot * of_x


def _part_of_tangent_partials(z, x_dot, of_x, known):  # type: ignore[no-untyped-def]
    return hold(known), 0.0, 0.0


POLE = Kink(
    _function("0.0", _pole, _pole_partials), _function("np.nan", _pole_of_tangent, _pole_of_tangent_partials), True
)
_END = POLE._replace(at_end=True)
_KINKS = {
    "absolute": Kink(
        _function("0.0", _absolute_on_line, _absolute_on_line_partials),
        _function("abs(x0)", _absolute_of_tangent, _absolute_of_tangent_partials),
    ),
    "hypot": Kink(
        _function("0.0", _hypot_on_line, _hypot_on_line_partials),
        _function("math.hypot(x0, x1)", _hypot_of_tangents, _hypot_of_tangents_partials),
    ),
    "sqrt": POLE, "sqrt_at_rest": POLE, "cbrt": POLE, "power_0_5": POLE,
    "arcsin": _END, "arccos": _END, "arccosh": _END,
}  # fmt: skip


# at a tie: the part that the first operand has in an extreme along v, a function of both tangents
_LARGER = Function("larger", "larger(x0, x1)", None, "float")
_SMALLER = Function("smaller", "larger(x1, x0)", None, "float")
PARTS = {"maximum": _LARGER, "fmax": _LARGER, "minimum": _SMALLER, "fmin": _SMALLER}
# the factor of an adjoint of the tangent, a function of such a part: nan where v does not leave the tie
KNOWN_PART = Function("known_part", "x0 + masked_product(x0 * (1.0 - x0), np.nan)", None, "float")
# the extreme, a function of itself, the operands and their parts of the adjoint; and a term of its tangent
EXTREME_ON_LINE = _function("x0", _extreme_on_line, _extreme_on_line_partials)
PART_OF_TANGENT = _function("masked_product(x1, x0)", _part_of_tangent, _part_of_tangent_partials)


def find_kink(function: Function) -> Kink | None:
    """What replaces a function at its kink, where it is 0; None if it has no kink."""
    return _KINKS.get(function.name)
