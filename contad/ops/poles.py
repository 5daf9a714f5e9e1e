"""Rules at their poles, where a gradient is itself differentiated: see `contad.ops.kinks`.

At a pole a partial is infinite. If an operand is stationary there, like x x at 0, its tangent of 0 says nothing about
that of the result: later operations may undo the pole, as in exp(log(x x)) and 1 / (1 / (x x)). So the tangents of the
result and of the partial are nan. An adjoint that is 0 and stays 0 masks them, like that of a branch that is not taken.

An overflow such as exp(1000) is not a pole: the partial is infinite on both sides, and a tangent of 0 masks it.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.ops.arithmetic import absolute, divide
from contad.ops.elementary import reciprocal
from contad.ops.exponential import log, log2, log10
from contad.ops.kinks import Tangents, Twin, cross_pole, lose_slope, times
from contad.ops.logic import select
from contad.rules.scalar_rule import ScalarRule
from contad.variables.array import is_plain
from contad.variables.number import Carrier, peek, scale
from contad.variables.open_types import Function, Value

ASIDE = 1e-3  # near a pole a partial is finite, or nan


def find_poles(rule: ScalarRule, k: int, z: Value, args: Sequence[Value]) -> Any:
    """The elements where the partial of operand k is infinite at the operands, but finite or nan on one side."""
    found = np.isinf(rule.array_partial(k)(z, *args))
    if np.any(found):
        # shift equal operands differently
        sides = ([x + step * (1.0 + j) for j, x in enumerate(args)] for step in (-ASIDE, ASIDE))
        below, above = (np.isinf(rule.array_partial(k)(rule.array_value(*side), *side)) for side in sides)
        found = found & ~(below & above)
    return found


def is_at_pole(rule: ScalarRule, args: Sequence[Value]) -> bool:
    """Whether an operand is at a pole, in some element.

    A recorded program needs no guard for it, because its products guard whether each partial is finite.
    """
    if rule in _POLES_AT_0:
        return not np.all(peek(args[-1]))
    active = [k for k, x in enumerate(args) if isinstance(x, Carrier)] or range(rule.arity)
    values = [float(x) if x.__class__ is int else x for x in map(peek, args)]
    if all(x.__class__ is float for x in values):
        z = rule.evaluate(*values)
        if not any(math.isinf(rule.partial(k)(z, *values)) for k in active):
            return False
    arrays = list(map(np.asarray, values))
    z = rule.array_value(*arrays)
    return any(np.any(find_poles(rule, k, z, arrays)) for k in active)


_POLES_AT_0 = frozenset((divide, reciprocal, log, log2, log10))  # for their last operand


class PoleTwin(ScalarRule):
    """Replaces a rule at its poles."""

    def __init__(self, rule: ScalarRule) -> None:
        super().__init__(rule.function, rule.ufuncs, None, False, (), rule.array_value)
        self.name = self.__name__ = rule.name
        self.arity, self.argument_names = rule.arity, rule.argument_names
        self.rule, self.body, self.along = rule, rule.body, self._tangent

    def evaluate(self, *args: Value) -> Value:
        """The value of the rule at plain numbers; for other arguments, the operation."""
        return self.rule.evaluate(*args) if all(x.__class__ is float for x in args) else self.general(args)

    def has_twin(self) -> bool:
        """False: this is a twin itself."""
        return False

    def product(self, k: int) -> Function:
        return cross_pole

    def push_product(self, k: int) -> Function:
        return times

    def _implement(self, args: tuple[Value, ...]) -> None:
        """Do nothing: levels make no methods for a twin."""

    def partial(self, k: int) -> Function:
        return _without_slope(self.rule.partial(k))

    def array_partial(self, k: int, warns: bool = False) -> Function:
        return _without_slope(self.rule.array_partial(k, warns))

    def _tangent(self, values: Sequence[Value], tangents: Tangents) -> Value:
        """The sum of the partials times the tangents; nan if an operand is stationary at a pole, and the value is nan
        or all operands are stationary.
        """
        values = list(map(np.asarray, values))
        z, total = self.rule.array_value(*values), np.zeros(())
        still = (np.equal(t, 0.0) for t in tangents if t is not None)
        unknown = np.isinf(z) | functools.reduce(np.logical_and, still)
        for k, t in enumerate(tangents):
            if t is not None:
                rests = np.equal(t, 0.0) & find_poles(self.rule, k, z, values)
                total = total + np.where(rests & unknown, np.nan, scale(t, self.rule.array_partial(k)(z, *values)))
        return total[()]


def _without_slope(partial: Function) -> Function:
    """The partial; where it is infinite its own derivatives are nan, unless one of them is infinite."""
    plain = lose_slope(partial)

    def partial_at_pole(z: Value, *args: Value) -> Value:
        p = plain(z, *args)
        return p if is_plain(p) else _lose(p)

    return partial_at_pole


def _same(p):
    return p


def _same_partials(z, p):
    return select(absolute(p) < np.inf, 1.0, np.nan)


def _tangent_of_same(values: Sequence[Value], tangents: Tangents) -> Value:
    (p,) = values
    t: Any = tangents[0]
    return np.where(np.isinf(p) & np.isfinite(t), np.nan, t)[()]


_lose = Twin(_same, lambda p, out=None: np.asarray(p), _same_partials, _tangent_of_same)
_lose.has_pole = True


def find_pole_twin(rule: ScalarRule, args: Sequence[Value]) -> PoleTwin | None:
    """The twin of a rule for these operands, if they are at a pole."""
    if not is_at_pole(rule, args):
        return None
    if rule.pole_twin is None or rule.pole_twin.body is not rule.body:
        rule.pole_twin = PoleTwin(rule)
    found: PoleTwin = rule.pole_twin
    return found


ScalarRule.find_pole_twin = find_pole_twin
