"""Densities of a few elements as loops of Python's floats, beside what NumPy makes of the same formulas."""

import ast
import math
import sys

import numpy as np
import pytest

import contad
from contad import stan
from contad.distributions.faces import Face
from contad.distributions.formula import Formula
from contad.distributions.real_line import normal_log_density
from contad.rules import float_loops
from contad.rules.float_loops import FEW, LoopKey, as_list, float_loop
from contad.rules.scalar_rule import list_unlisted
from contad.scipy import stats
from contad.stan import densities

FORMULAS = {rule.name: rule for rule in list_unlisted() if isinstance(rule, Formula) and rule.points}
FACES = {name: x for name, x in vars(densities).items() if isinstance(x, Face)}
Y = np.array([0.3, -1.2, 0.8, 2.1, -0.4, 1.7, -2.2, 0.5])


def columns_of(rule):
    """The arguments at all points as arrays."""
    return [np.array(column, dtype=np.float64) for column in zip(*rule.points, strict=True)]


# ---- what they give --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_partials_are_those_of_arrays(name):
    rule = FORMULAS[name]
    columns = columns_of(rule)
    active = tuple(range(rule.arity))
    z, slopes = float_loops.evaluate_few(rule, columns, active)
    expected = rule.body.array_partial(rule.arity)(0.0, *columns)
    np.testing.assert_allclose(z, np.broadcast_to(expected, len(z)), rtol=2e-13, atol=1e-300)
    for k, slope in zip(active, slopes, strict=True):
        expected = np.broadcast_to(rule.array_partial(k)(np.array(z), *columns), len(z))
        np.testing.assert_allclose(slope, expected, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("name", FACES)
def test_a_sum_has_the_sums_of_the_slopes(name):
    """Beside numbers: the first argument is an array, the others are those of the first point."""
    face = FACES[name]
    rule = face.formula
    point = rule.points[0]
    arrays = (True, *[False] * (rule.arity - 1))
    total, slopes = float_loop(LoopKey(rule, arrays, (True,) * rule.arity, face.conditions, True))(
        [point[0]] * 3, *map(float, point[1:])
    )
    assert total == pytest.approx(3.0 * rule(*map(float, point)), rel=1e-12)
    for k, slope in enumerate(slopes):
        one = rule.partial(k)(rule(*map(float, point)), *map(float, point))
        expected = [one] * 3 if k == 0 else 3.0 * one
        assert slope == pytest.approx(expected, rel=1e-11, abs=1e-300)


def test_unusual_bodies_are_left_to_others():
    numbers, none = (False,) * 3, ()
    loop = float_loop(LoopKey(normal_log_density, numbers, numbers, ("p_2 > 0.0", "p_0 == p_0"), True))
    assert loop(1.0, 0.5, -2.0) is None and loop(math.nan, 0.5, 2.0) is None
    assert float_loop(LoopKey(normal_log_density, numbers, numbers, none, True))(1.0, 0.5, 0.0) is None  # 1 / 0
    assert math.isnan(normal_log_density(1.0, 0.5, 0.0)) and as_list(np.ones((2, 2))) is None
    assert as_list(np.ones(FEW + 1)) is None and as_list(np.array(["a"])) is None
    assert as_list(np.array([1, 2])) == [1.0, 2.0]


def test_a_wrong_loop_is_noticed(monkeypatch):
    """A planted fault: selections that take the other branch."""
    monkeypatch.setattr(ast, "IfExp", lambda test, x, y, found=ast.IfExp: found(test, y, x))
    float_loop.cache_clear()
    with pytest.raises(AssertionError):
        test_values_and_partials_are_those_of_arrays("normal_log_density")
    float_loop.cache_clear()


def test_rules_that_formulas_call_give_floats():
    """An np.float64 would warn where Python's floats raise, and the loop goes on."""
    for rule in FORMULAS.values():
        for _, expression in rule.body.assignments:
            for node in ast.walk(expression):
                called = rule.body.resolve(node.func) if isinstance(node, ast.Call) else None
                for point in getattr(called, "points", ()):
                    assert called.function(*map(float, point)).__class__ is float, called.name


def test_results_stand_for_what_numpy_gives():
    assert stan.normal_lpdf(1.0, 0, 2.0).__class__ is float
    assert stan.normal_lpdf(np.float64(1.0), 0.0, 2.0).__class__ is np.float64
    assert stan.normal_lpdf(Y, 0.0, 2.0).__class__ is np.float64 and stats.norm.logpdf(Y, 0.0, 2.0).shape == Y.shape


def test_propto_by_place_and_by_name():
    whole, short = stan.normal_lpdf(Y, 0.5, 2.0), stan.normal_lpdf(Y, 0.5, 2.0, propto=True)
    assert whole != short
    assert stan.normal_lpdf(Y, 0.5, 2.0, False) == whole == stan.normal_lpdf(y=Y, mu=0.5, sigma=2.0)
    assert stan.normal_lpdf(Y, 0.5, 2.0, True) == short == stan.normal_lpdf(list(Y), 0.5, 2.0, True)
    assert stan.normal_lpdf(list(Y), 0.5, 2.0) == whole


# ---- what they cost --------------------------------------------------------------------------------------------------
def count_calls(f):
    """Calls of functions, Python's and C's, in f() once all is written."""
    f()
    found = []
    sys.setprofile(lambda frame, event, arg: found.append(event) if event in ("call", "c_call") else None)
    try:
        f()
    finally:
        sys.setprofile(None)
    return len(found)


@pytest.mark.parametrize(("f", "most"), [
    (lambda: stan.normal_lpdf(0.3, 0.1, 1.2), 14), (lambda: stan.normal_lpdf(Y, 0.1, 1.2), 25),
    (lambda: stan.normal_lpdf(Y, Y, np.abs(Y)), 50), (lambda: stan.cauchy_lpdf(0.3, 0.0, 5.0), 22),
    (lambda: stan.poisson_log_lpmf(np.arange(8), Y), 60),
    (lambda: stan.bernoulli_logit_lpmf(np.arange(8) % 2, Y), 60), (lambda: stats.norm.logpdf(Y, 0.1, 1.2), 40),
])  # fmt: skip
def test_a_density_of_eight_numbers_is_few_calls(f, most):
    assert count_calls(f) <= most


def test_a_gradient_records_a_density_without_numpys_dispatch(monkeypatch):
    """One loop and its records: not an operation for each line of the formula."""
    gradient = contad.value_and_grad(stan.normal_lpdf, argnums=(0, 1, 2))
    gradient(Y, 0.1, 1.2)
    partials = []
    monkeypatch.setattr(Formula, "on_arrays", lambda *args: partials.append(args))
    monkeypatch.setattr(Formula, "array_partial", lambda *args: partials.append(args))
    value, (of_y, of_mu, of_sigma) = gradient(Y, 0.1, 1.2)
    assert not partials
    r = (Y - 0.1) / 1.2
    np.testing.assert_allclose(of_y, -r / 1.2, rtol=1e-14)
    assert of_mu == pytest.approx(np.sum(r) / 1.2, rel=1e-13)
    assert of_sigma == pytest.approx(np.sum(r * r - 1.0) / 1.2, rel=1e-13)
    assert value == pytest.approx(stan.normal_lpdf(Y, 0.1, 1.2), rel=1e-15)


def test_a_formula_that_others_call_has_the_values_of_its_cases():
    """Only a sum for the user is left to others where a case holds."""
    outside = float_loops._on_floats(stan.exponential_lpdf.formula)
    assert outside(-1.0, 2.0) == -math.inf
    loop = float_loop(LoopKey(stan.exponential_lpdf.formula, (False, False), (True, True), (), True))
    assert loop(-1.0, 2.0) is None
