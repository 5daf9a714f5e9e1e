"""Products with Hessians of every scalar rule by the generated text: against the engine `matrix`, and against mpmath.

The rule stands in a function that uses its value and its first argument twice, so that adjoints and tangents meet.
"""

import functools
import warnings

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.tangents.appending import Appender
from contad.rules.scalar_rule import rules
from tests.engines.source.plain_text import generate, numbers
from tests.judges.accuracy import SLOW, UnresolvedError, second
from tests.judges.samples import sampled
from tests.judges.written import define as run
from tests.ops.references import REFERENCE

RULES = {rule.name: rule for rule in rules() if rule.__module__.startswith("contad.ops.")}
STEPS = frozenset(("ceil", "floor", "rint", "trunc", "sign"))  # and what else has no slope is compared with `matrix`
DEAR = frozenset(("betaincinv",))  # among those that would be chosen


@functools.cache
def function_of(name, arity):
    """The function around a rule."""
    names = [f"x_{k}" for k in range(arity)]
    text = f"def around({', '.join(names)}):\n    z = rule({', '.join(names)})\n    return z * z + z * x_0\n"
    return numba.njit(run(text, f"<around {name}>", {"rule": RULES[name]})["around"])


def products(rule, point):
    """The product with a vector by the generated text and by the engine `matrix`."""
    f, argnums = function_of(rule.name, rule.arity), tuple(range(rule.arity))
    point = tuple(map(float, point))
    v = tuple(0.7 - 0.4 * k for k in argnums)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = numbers(generate(f, point, argnums, "hvp")(point, v)[1])
        return found, numbers(contad.hvp(f.py_func, argnums)(*point, v)), v


def by_mpmath(rule, point, v):
    """The same by differences in many digits."""

    def around(*args):
        z = REFERENCE[rule.name](*args)
        return z * z + z * args[0]

    return [float(sum(second(around, point, i, j) * v[j] for j in range(len(v)))) for i in range(len(v))]


def agree(found, right, tolerance):
    return np.all(np.abs(found - right) <= tolerance * max(np.max(np.abs(right)), 1e-3))


@pytest.mark.parametrize("name", sampled(RULES, 12, dear=DEAR))
def test_products_of_every_rule(name):
    rule = RULES[name]
    for point in rule.points[:2]:
        found, right, _ = products(rule, point)
        assert np.all(np.isfinite(right)) and agree(found, right, 1e-10)


BY_MPMATH = [name for name in RULES if name not in SLOW | STEPS and RULES[name].arity < 3]


@pytest.mark.parametrize("name", sampled(BY_MPMATH, 24))
def test_products_against_many_digits(name):
    rule = RULES[name]
    point = tuple(map(float, rule.points[0]))
    found, _, v = products(rule, point)
    if getattr(REFERENCE[name], "orders", ()):
        pytest.skip("the reference takes whole orders")
    try:
        right = by_mpmath(rule, point, v)
    except UnresolvedError:
        pytest.skip("the reference does not resolve it")
    assert agree(found, right, 1e-9)


def test_a_planted_bug_is_noticed(monkeypatch):
    """Of a tangent that is a sum only the first term is written."""
    total = Appender.sum
    monkeypatch.setattr(Appender, "sum", lambda append, terms, hint="": total(append, terms[:1], hint))
    found, right, v = products(RULES["hypot"], (0.7, 1.3))
    assert not agree(found, right, 1e-2)
    assert agree(right, by_mpmath(RULES["hypot"], (0.7, 1.3), v), 1e-12)
