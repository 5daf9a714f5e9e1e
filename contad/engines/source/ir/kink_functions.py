"""Kinks in programs of second derivatives: what stands there in the place of a function that is 0, and of its tangent.

    z = f(x),     z_dot = f'(x) x_dot     at a kink     z = u x,     z_dot = u x_dot = f(x_dot)

For the absolute value and the length of two numbers u is the gradient at x_dot, that on the line through the kink: see
`contad.ops.kinks`. Where x_dot is 0, and of a root, there is no u, and all derivatives are nan. The extreme of two
equal numbers is the one with the extreme tangent; its adjoint is divided into halves, as in first derivatives.
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
    """What a function is at its kink, of the operands and of their tangents; and its tangent, of the latter."""

    value: Function
    tangent: Function


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
    """0, whose derivative is nan: for formulas to call."""
    return 0.0


@nowhere.partials
def _nowhere_partials(z, x):  # type: ignore[no-untyped-def]
    return math.nan + x


def _maximum_on_line(x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    return x


def _minimum_on_line(x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    return x


def _maximum_on_line_partials(z, x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    of_x = select(x_dot == y_dot, 0.5, select(x_dot > y_dot, 1.0, 0.0))
    return of_x, 1.0 - of_x, 0.0, 0.0


def _minimum_on_line_partials(z, x, y, x_dot, y_dot):  # type: ignore[no-untyped-def]
    of_x = select(x_dot == y_dot, 0.5, select(x_dot < y_dot, 1.0, 0.0))
    return of_x, 1.0 - of_x, 0.0, 0.0


def _larger_tangent(x_dot, y_dot):  # type: ignore[no-untyped-def]
    return x_dot if x_dot >= y_dot else y_dot


def _smaller_tangent(x_dot, y_dot):  # type: ignore[no-untyped-def]
    return x_dot if x_dot <= y_dot else y_dot


def _larger_or_bound(x_dot, y_dot):  # type: ignore[no-untyped-def]
    return x_dot if x_dot >= y_dot else y_dot


def _smaller_or_bound(x_dot, y_dot):  # type: ignore[no-untyped-def]
    return x_dot if x_dot <= y_dot else y_dot


def _bound_partials(z, x_dot, y_dot):  # type: ignore[no-untyped-def]
    return 0.5, 0.5


def _two_sides_partials(z, x_dot, y_dot):  # type: ignore[no-untyped-def]
    known = select(x_dot == y_dot, math.nan, 0.5)
    return known, known


POLE = Kink(
    _function("0.0", _pole, _pole_partials), _function("np.nan", _pole_of_tangent, _pole_of_tangent_partials)
)
_KINKS = {
    "absolute": Kink(
        _function("0.0", _absolute_on_line, _absolute_on_line_partials),
        _function("abs({0})", _absolute_of_tangent, _absolute_of_tangent_partials),
    ),
    "hypot": Kink(
        _function("0.0", _hypot_on_line, _hypot_on_line_partials),
        _function("math.hypot({0}, {1})", _hypot_of_tangents, _hypot_of_tangents_partials),
    ),
    "sqrt": POLE, "sqrt_at_rest": POLE, "cbrt": POLE, "power_0_5": POLE,
}  # fmt: skip


_LARGER, _SMALLER = "({0} if {0} >= {1} else {1})", "({0} if {0} <= {1} else {1})"
_LARGEST = _function("{0}", _maximum_on_line, _maximum_on_line_partials)
_LEAST = _function("{0}", _minimum_on_line, _minimum_on_line_partials)
# of a number and a bound that does not move, and of two numbers that move
_MAXIMUM = (
    Kink(_LARGEST, _function(_LARGER, _larger_or_bound, _bound_partials)),
    Kink(_LARGEST, _function(_LARGER, _larger_tangent, _two_sides_partials)),
)
_MINIMUM = (
    Kink(_LEAST, _function(_SMALLER, _smaller_or_bound, _bound_partials)),
    Kink(_LEAST, _function(_SMALLER, _smaller_tangent, _two_sides_partials)),
)
_TIES = {"maximum": _MAXIMUM, "fmax": _MAXIMUM, "minimum": _MINIMUM, "fmin": _MINIMUM}


def find_kink(function: Function) -> Kink | None:
    """What a function of the program is where it is 0, a kink."""
    return _KINKS.get(function.name)


def find_tie(function: Function, both_move: bool) -> Kink | None:
    """What an extreme of two numbers is where they are equal."""
    return _TIES[function.name][both_move] if function.name in _TIES else None
