"""Rules along the axes of an array in recorded programs: compiled, for all shapes and numbers, as the rules have it."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.matrix.kernel_shapes import LINES, RUNNING
from contad.rules.array_rule import array_rule_of
from tests.judges.special_numbers import INF, NAN, SPECIAL
from tests.judges.steps_in_python import leave_steps_to_python

RNG = np.random.default_rng(53)
# lines in a row, short and cut into lanes; side by side, of more lanes than a row has; of three axes; of one element
SHAPES = [(1,), (5,), (45,), (3, 4), (2, 40), (300, 2), (3, 4, 5)]


def by_rules(f, x):
    """The value and the gradient by the rules in Python."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        leave_steps_to_python(patch)
        return contad.value_and_grad(f)(x)


def require_close(found, expected, tolerance=1e-11):
    expected = np.asarray(expected)
    scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1e-3)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


def axes_of(shape):
    return [None, *range(-len(shape), len(shape)), *([(0, 1)] if len(shape) > 1 else [])]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", LINES)
def test_programs_have_the_numbers_of_the_rule(name, shape, no_python):
    rule = array_rule_of(name)
    for axis in axes_of(shape):
        if name in ("cumsum", "cumprod") and isinstance(axis, tuple):
            continue
        for keepdims in ({}, {"keepdims": True}) if name not in RUNNING and axis == 0 else ({},):
            weights = np.round(np.cos(np.arange(np.size(rule(np.full(shape, 0.5), axis=axis, **keepdims)))), 1)

            def f(x, axis=axis, keepdims=keepdims, weights=weights):
                return np.sum(np.reshape(rule(x, axis=axis, **keepdims), -1) * weights)

            program = contad.record(f, RNG.normal(size=shape))
            assert program.python_rules == ()
            x = RNG.normal(size=shape)
            along = np.cos(np.arange(x.size) + 1.0).reshape(shape)
            for special in SPECIAL.values():
                at = special(x)
                value, bar = by_rules(f, at)
                found, gradient = program.value_and_grad(at)
                require_close(found, value)
                require_close(gradient, bar)
                with np.errstate(all="ignore"):
                    require_close(program.jvp((at,), (along,))[1], contad.jvp(f, (at,), (along,))[1])


@pytest.mark.parametrize("name", LINES)
def test_transposed_arrays_are_taken_as_they_lie(name, no_python):
    rule, weights = array_rule_of(name), RNG.normal(size=(4, 3))
    for axis in (0, 1, None):
        f = lambda x, axis=axis: np.sum(np.sin(rule(x.T, axis=axis)) * (weights if name == "softmax" else 1.3))  # noqa: E731
        program = contad.record(f, RNG.normal(size=(3, 4)))
        x = RNG.normal(size=(3, 4))
        value, bar = by_rules(f, x)
        require_close(program.value_and_grad(x)[0], value)
        require_close(program.gradient(x), bar)
        require_close(contad.grad(f, engine="matrix")(x), bar)
        require_close(contad.grad(f, engine="closures")(x), bar)


def test_each_call_is_one_record(no_python):
    def likelihood(a, transition, shown):
        for k in range(5):
            a = contad.logsumexp(a[:, None] + transition, axis=0) + shown[:, k % 2]
        return contad.logsumexp(a) + np.prod(a) + np.sum(contad.softmax(a) * np.cumsum(a)) + np.var(a)

    args = RNG.normal(size=3), RNG.normal(size=(3, 3)), RNG.normal(size=(3, 2))
    program = contad.record(likelihood, *args)
    (trace,) = program.traces
    assert program.python_rules == () and not trace.calls
    names = [step.rule.name for step in trace.kernel_records.values()]
    assert names == ["logsumexp"] * 6 + ["prod", "softmax", "cumsum", "var"]
    assert trace.saved == len(names) + 5 * (9 + 3) + 3 + 1  # a word each; of sums their terms, and totals
    others = [x + 0.1 for x in args]
    for found, bar in zip(program.gradient(*others), contad.grad(likelihood, (0, 1, 2))(*others), strict=True):
        require_close(found, bar)


def test_inside_njit_numbers_may_be_infinite():
    program = contad.record(lambda a: np.sum(contad.logsumexp(a, axis=1)) + np.prod(a[0]), RNG.normal(size=(2, 3)))

    @njit
    def run(a):
        return program.value_and_grad(a)

    for a in (RNG.normal(size=(2, 3)), np.full((2, 3), -INF), np.array([[INF, INF, 1.0], [NAN, 0.0, 0.0]])):
        value, gradient = run(a)
        np.testing.assert_equal((value, gradient), program.value_and_grad(a))


def test_terms_far_below_the_largest_are_not_lost(no_python):
    a = np.array([0.0, -40.0, -45.0])
    for x in (a, np.concatenate([a, np.full(30, -50.0)])):  # lines side by side, and cut
        program = contad.record(lambda x: contad.logsumexp(x), x)
        assert program(x) == pytest.approx(np.log1p(np.sum(np.exp(x[1:]))), rel=1e-15)


def test_adjoints_of_zero_mask_what_is_not_finite(no_python):
    x = np.array([[INF, NAN, 0.5], [1.0, 0.3, -0.4]])
    along = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    for rule in map(array_rule_of, LINES):
        of_rows = contad.record(lambda x, rule=rule: np.sum(rule(x, axis=1)[1]), x)
        gradient = of_rows.gradient(x)
        assert gradient[0].tolist() == [0.0, 0.0, 0.0] and np.isfinite(gradient).all()
        assert of_rows.jvp((x,), (along,))[1] == pytest.approx(np.sum(gradient), abs=1e-12)


def test_products_are_not_lost_in_lanes(no_python):
    x = np.where(np.arange(64) % 2 == 0, 1e-100, 1e100)  # of eight lanes each is 0 or infinite
    program = contad.record(np.prod, np.ones(64))
    assert program(x) == pytest.approx(1.0, rel=1e-13)
    require_close(program.gradient(x), 1.0 / x, 1e-12)


def test_weights_and_axes_that_are_apart_are_left_to_python():
    weighted = contad.record(lambda a: contad.logsumexp(a, b=[0.3, 1.2]), np.ones(2))
    apart = contad.record(lambda a: np.sum(np.prod(a, axis=(0, 2))), RNG.normal(size=(2, 3, 2)))
    assert weighted.python_rules == ("logsumexp",) and apart.python_rules == ("prod",)


@pytest.mark.parametrize("name", LINES)
def test_second_derivatives_are_those_of_the_rules(name):
    rule, x = array_rule_of(name), RNG.normal(size=(2, 3)) + 2.0
    f = lambda x: np.sum(np.sin(rule(x, axis=1)))  # noqa: E731
    contad.testing.expect_ad(f, x)
