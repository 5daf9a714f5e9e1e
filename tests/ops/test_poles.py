"""Rules at their poles, in functions that are smooth there: second derivatives are nan, and no other number."""

import math

import numpy as np
import pytest

import contad
from contad.ops import poles
from contad.rules.scalar_rule import ScalarRule, rules
from tests.judges.planted import registered

PLACES = (0.0, 1.0, -1.0, 0.5, 2.0, -1.0 / math.e)
INNER = (lambda x: x * x, lambda x: -x * x)
OUTER = (np.exp, lambda z: np.exp(-z), np.reciprocal, np.arctan, lambda z: contad.expit(-z))


def find_poles():
    """Rules of one argument, and where their slopes are infinite."""
    for rule in rules():
        for x in PLACES if rule.arity == 1 and rule.body is not None else ():
            if math.isinf(rule.partial(0)(rule.evaluate(x), x)):
                yield pytest.param(rule, x, id=f"{rule.name} at {x:.2g}")


def curvature(f):
    """The second derivative at 0 by differences; None where they do not settle."""
    found = [(f(h) - 2.0 * f(0.0) + f(-h)) / (h * h) for h in (3e-3, 1e-3)]
    return found[1] if abs(found[1] - found[0]) < 0.05 * (1.0 + abs(found[1])) else None


def functions_at(rule, place):
    """Functions through a pole that are smooth, and their second derivatives."""
    for inner in INNER:
        for outer in OUTER:
            f = lambda x, inner=inner, outer=outer: outer(rule(place + inner(x)))
            if np.isfinite(f(0.0)) and curvature(f) is not None:
                yield f, curvature(f)


POLES = list(find_poles())


def test_there_are_many():
    assert len(POLES) > 40


@pytest.mark.parametrize(("rule", "place"), POLES)
def test_second_derivatives_are_right_or_nan(rule, place):
    with np.errstate(all="ignore"):
        for f, expected in functions_at(rule, place):
            for found in (contad.hessian(f)(0.0), contad.jvp(contad.grad(f), (0.0,), (1.0,))[1]):
                assert math.isnan(found) or abs(found - expected) < 0.1 * (1.0 + abs(expected))


def test_without_twins_some_are_wrong(monkeypatch):
    monkeypatch.setattr(ScalarRule, "find_pole_twin", lambda rule, args: None)
    with pytest.raises(AssertionError), np.errstate(all="ignore"):
        assert math.isnan(contad.hessian(lambda x: np.exp(contad.logit(x * x)))(0.0))


def test_an_overflow_is_no_pole():
    x = np.array([1000.0, 0.0])
    with np.errstate(all="ignore"):
        assert not poles.is_at_pole(contad.ops.exp2, [2.0 * x])
        assert not poles.is_at_pole(contad.ops.power, [1e200, 2.0])
        assert poles.is_at_pole(contad.ops.log_diff_exp, [x, x]) and poles.is_at_pole(contad.ops.power, [x, -3.0])


def test_a_rule_of_the_users_has_poles_too():
    with registered(), np.errstate(all="ignore"):
        @contad.scalar_rule
        def inverse(x):
            return 1.0 / x if x else math.inf

        @inverse.partials
        def inverse_partials(z, x):
            return -z * z

        assert math.isnan(contad.hessian(lambda x: 1.0 / inverse(x * x))(0.0))
