"""The values that the interpreter and the kernels compute, held against the rules' own, at special numbers too."""

import itertools
import math

import numpy as np
import pytest

import contad
from contad.engines.stream.arithmetic_rules import _is_arithmetic, find_compiled_rules, value_source
from contad.engines.stream.sweep import OPERATIONS
from contad.errors import RuleError, UnsupportedError
from contad.programs.codes import SCALARS
from contad.rules.scalar_rule import rules
from tests.judges.planted import registered
from tests.judges.samples import sampled

CORE = [rule for rule in rules() if rule.core]
SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 2.0, 1e-310, -1e300, 1e300, 700.5, -745.2, math.inf, -math.inf, math.nan,
]  # fmt: skip


def test_every_core_rule_is_an_operation():
    assert {rule for rule, _ in OPERATIONS.values()} == set(CORE)
    assert {rule for rule, _ in SCALARS.values()} == {*CORE, *find_compiled_rules()}


def test_rules_whose_values_are_arithmetic_are_compiled():
    names = {rule.name for rule in find_compiled_rules()}
    assert names >= {"expit", "log_expit", "log1p_exp", "erf", "xlogy"} and not names & {"gamma", "logit", "ndtr"}
    assert names >= {"log_diff_exp", "kl_div"}  # which call others of them
    assert value_source(contad.erf) == "def value_of_erf(x):\n    return math.erf(x)"


def test_the_names_that_a_value_looks_up_tell_whether_it_can_be_copied():
    def can_be_copied(rule):
        try:
            return bool(value_source(rule))
        except (RuleError, UnsupportedError):
            return False

    own = [r for r in rules() if not r.core and r.arity <= 2 and r.function.__module__.startswith("contad.ops.")]
    assert {r.name for r in own if can_be_copied(r)} == {r.name for r in own if _is_arithmetic(r)}
    assert len(own) > 100


def test_a_rule_of_somebody_else_is_run_by_python():
    with registered():

        @contad.scalar_rule
        def tripled(x):
            return 3.0 * x

        @tripled.partials
        def tripled_partials(z, x):
            return 3.0

        program = contad.record(lambda x: tripled(x) * x, 1.5)
        assert program.python_rules == ("tripled",) and program.value_and_grad(2.0) == (12.0, 12.0)


def agree(got, expected, rule, args):
    same = (
        (got == expected) | (np.isnan(got) & np.isnan(expected)) | np.isclose(got, expected, rtol=4e-16 * 8, atol=0.0)
    )
    assert same.all(), f"{rule.name}: at {[np.asarray(a)[~same] for a in args]}: {got[~same]}, not {expected[~same]}"


@pytest.mark.parametrize("rule", [*CORE, *find_compiled_rules()], ids=lambda rule: rule.name)
def test_scalars(rule):
    points = list(itertools.product(SPECIAL, repeat=rule.arity))
    active = [rule] if rule.arity == 1 else [rule, lambda x: rule(x, 2.5), lambda x: rule(0.7, x)]
    for f in active:
        arity = rule.arity if f is rule else 1
        program = contad.record(f, *(1.3, 0.6)[:arity])
        at = points if arity == rule.arity else [(x,) for x in SPECIAL]
        got = np.array([program(*x) for x in at])
        expected = np.array([rule.evaluate(*x) if f is rule else f(*x) for x in at])
        agree(got, expected, rule, np.array(at).T)


@pytest.mark.parametrize("rule", sampled([*CORE, *find_compiled_rules()], 3, name=lambda rule: rule.name))
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_arrays(rule):
    args = [np.array(x) for x in zip(*itertools.product(SPECIAL, repeat=rule.arity), strict=True)]
    program = contad.record(
        lambda k, *xs: np.sum(np.where(np.arange(args[0].size) == 0, rule(*xs), 0.0)) + k, 0.0, *args
    )
    for n in range(len(args[0])):  # the first element is the result; the others are computed beside it
        turned = [np.roll(x, -n) for x in args]
        agree(np.array([program(0.0, *turned)]), rule.array_value(*turned)[:1], rule, [x[:1] for x in turned])


@pytest.mark.parametrize("rule", sampled(find_compiled_rules(), 2, name=lambda rule: rule.name))
def test_derivatives_on_arrays(rule):
    """Of rules that the sweep does not have: in Python, then compiled, with numbers beside arrays, too."""
    columns = tuple([np.resize(np.array(x), 40) for x in zip(*rule.points, strict=True)])
    directions, weights = tuple([np.cos(x) for x in columns]), np.linspace(0.5, 1.5, 40)
    ways = [lambda *xs: np.sum(weights * rule(*xs))]
    if rule.arity == 2:
        number, other = rule.points[0]
        ways += [lambda x, y: np.sum(weights * rule(x, other)), lambda x, y: np.sum(weights * rule(number, y))]
    for f in ways:
        if f is not ways[0]:
            columns = tuple([np.full(40, x) for x in rule.points[0]])
        program = contad.record(f, *columns)
        assert program.python_rules == ()
        value, expected = contad.value_and_grad(f, tuple(range(rule.arity)), engine="closures")(*columns)
        along = sum(np.sum(g * d) for g, d in zip(expected, directions, strict=True))
        for _ in range(2):
            found, gradient = program.value_and_grad(*columns)
            assert found == pytest.approx(value, rel=1e-13)
            for a, b in zip(gradient if rule.arity == 2 else (gradient,), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-300)
            assert program.jvp(columns, directions)[1] == pytest.approx(along, rel=1e-11)
            program._compile()


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100])
def test_sums(n):
    """Whole numbers, whose sums are exact in every order."""
    a = np.arange(3.0 * n).reshape(n, 3) - 5.0
    sums = {
        "all": np.sum, "weighted": lambda a: np.sum(2.0 * a), "of rows": lambda a: np.sum(np.sum(a, 1) ** 2),
        "of columns": lambda a: np.sum(np.sum(a, 0) ** 2), "of a view": lambda a: np.sum(a[::-2, 1]),
        "of a dot product": lambda a: a[:, 0] @ a[:, 2],
    }  # fmt: skip
    for name, f in sums.items():
        value, gradient = contad.record(f, 0.5 * a).value_and_grad(a)
        assert value == f(a), name
        assert np.array_equal(gradient, contad.grad(f, engine="closures")(a)), name
