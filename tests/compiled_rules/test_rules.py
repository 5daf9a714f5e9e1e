"""The scalar rules as Numba functions: equal to the rules themselves, at edges too; users' rules; calls inside njit."""

import inspect
import itertools
import math

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

import contad
import contad.distributions.real_line
from contad.compiled_rules.rules import partial_function, value_function
from contad.errors import UnsupportedError
from contad.rules.scalar_rule import ScalarRule
from tests.judges.domains import RULES
from tests.judges.planted import registered
from tests.judges.samples import sampled

EDGES = (0.0, -0.0, 1.0, -2.0, 0.5, math.inf, -math.inf, math.nan, 1e-300, -1e-300, 1e20, -1e20, 5e-324, 171.5, -180.3)
ORDERS = {rule.name for rule in RULES.values() if rule.argument_names[0] == "n" and rule.name != "binom"}


def points(rule):
    draw = np.random.default_rng(4)
    everywhere = list(itertools.product(EDGES, repeat=rule.arity)) if rule.arity < 3 else []
    everywhere += [tuple(x) for x in draw.uniform(-6.0, 6.0, (60, rule.arity))]
    everywhere += [tuple(10.0**x) for x in draw.uniform(-8.0, 8.0, (60, rule.arity))]
    for x in everywhere:
        order = float(round(abs(x[0]) % 6)) if rule.name in ORDERS and math.isfinite(x[0]) else float(x[0])
        yield order, *map(float, x[1:])


def same(x, y):
    return x == y or (x != x and y != y) or math.isclose(x, y, rel_tol=1e-12)


SPECIAL = [name for name, rule in RULES.items() if not rule.core]


@pytest.mark.parametrize("names", [sorted({*RULES} - {*SPECIAL}), *sampled([[name] for name in SPECIAL], 6)])
def test_values_and_partials_equal_those_of_the_rules(names):
    wrong = []
    for rule in map(RULES.get, names):
        value = value_function(rule)
        partials = [partial_function(rule, k) for k in range(rule.arity)]
        for x in points(rule):
            z = rule.evaluate(*x)
            if not same(value(*x), z):
                wrong.append(f"{rule.name}{x}: {value(*x)}, by the rule {z}")
            for k, partial in enumerate(partials):
                expected = rule.partial(k)(z, *x)
                if not same(0.0 if partial is None else partial(z, *x), expected):
                    wrong.append(f"{rule.name}{x}, partial {k}: {partial(z, *x)}, by the rule {expected}")
    assert wrong == []


def test_a_formula_is_written_without_the_others_of_its_file():
    density = value_function(contad.distributions.real_line.normal_log_density)
    module = inspect.getmodule(density.py_func)
    assert {name for name in vars(module) if name.startswith("value_")} == {"value_normal_log_density"}


def test_rules_are_called_inside_njit():
    @njit
    def f(x):
        return contad.gammaln(x) + contad.ops.hypot(x, 2)

    assert f(3.3) == pytest.approx(math.lgamma(3.3) + math.hypot(3.3, 2.0))


OFFSET = 0.25


def _shifted(x, y):
    """Its value calls a function, a rule and a constant."""
    return _product(x, contad.ops.erf.function(y)) + OFFSET


def _product(x, y):
    try:
        return x * y
    except OverflowError:
        return math.inf


def _shifted_partials(z, x, y):
    return contad.erf(y), x * 1.1283791670955126 * contad.ops.exp(-y * y)


def test_a_rule_of_the_user():
    rule = ScalarRule(_shifted, None, None, False, ())  # not registered
    rule.partials(_shifted_partials)
    assert value_function(rule)(1.5, 0.7) == pytest.approx(rule(1.5, 0.7), rel=1e-15)
    for k in range(2):
        expected = rule.partial(k)(0.0, 1.5, 0.7)
        assert partial_function(rule, k)(0.0, 1.5, 0.7) == pytest.approx(expected, rel=1e-15)


TABLE = {"a": 1.0}


def _looks_up(x):
    return x * TABLE["a"]


def test_a_value_that_cannot_be_compiled_is_refused_by_name():
    rule = ScalarRule(_looks_up, None, None, False, ())
    rule.partials(lambda z, x: TABLE)
    with pytest.raises(UnsupportedError, match="_looks_up: TABLE is a dict"):
        value_function(rule)


with registered():  # which the registry does not keep

    @contad.scalar_rule
    def imported(x):
        """exp x, by a value function that imports, which Numba does not compile."""
        import math as library

        return library.exp(x)

    @imported.partials
    def imported_partials(z, x):
        return z

    @contad.scalar_rule
    def opening(x):
        """A value function that Numba has no types for."""
        return float(open(x).read())

    @opening.partials
    def opening_partials(z, x):
        return z


@pytest.mark.parametrize(("rule", "reason"), [(imported, "IMPORT_NAME"), (opening, "Untyped global name")])
def test_numba_says_whose_value_function_it_cannot_compile(rule, reason):
    @njit
    def calling(x):
        return 2.0 * rule(x)

    with pytest.raises(TypingError) as caught:
        calling(1.3)
    said = (
        f"{rule.name}: in a Numba function, Numba has to compile the value function of the rule as well, and cannot: "
    )
    assert said in str(caught.value)
    assert reason in str(caught.value)
    assert f"or call {rule.name} from Python alone" in str(caught.value)


CYCLIC = ("incomplete_logarithms", "relative_quantiles", "inverse_probabilities", "circular", "power_sums")


def test_partials_that_call_each_other_are_found():
    """The partials of two rules name the values of each other, whose modules import nothing of the kind."""
    import contad.distributions.cumulative  # noqa: F401  # registers them
    from contad.rules.scalar_rule import list_unlisted

    found = [rule for rule in list_unlisted() if rule.__module__.rpartition(".")[2] in CYCLIC]
    assert len(found) > 20
    for rule in found:
        assert any(partial_function(rule, k) for k in range(rule.arity))
