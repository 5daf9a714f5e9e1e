"""Users' rules whose functions read data that change: every derivative is right, or raises by name."""

import pickle

import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.errors import ChangedDataError, UnsupportedError
from tests.judges.planted import registered

X = np.array([0.3, 0.7])
ONES = np.ones(2)
RATE, table, memo = 2.0, np.array([1.0, 2.0]), {}


def scaled():
    @contad.scalar_rule
    def scaled_by_a_global(x):
        return RATE * np.sin(x)

    @scaled_by_a_global.partials
    def scaled_partials(z, x):
        return RATE * contad.cos(x)

    return scaled_by_a_global


def tabled():
    @contad.array_rule
    def scaled_by_a_table(a):
        return np.sin(a) * table

    @scaled_by_a_table.vjp("a")
    def tabled_vjp_a(z, z_bar, a):
        return z_bar * np.cos(a) * table

    @scaled_by_a_table.jvp
    def tabled_jvp(z, a_dot, a):
        return a_dot * np.cos(a) * table

    return scaled_by_a_table


def behind_another():
    inner = tabled()

    @contad.array_rule(linear=("a",))
    def scaled_by_another_rule(a):
        return a * inner(ONES)

    @scaled_by_another_rule.vjp("a")
    def another_vjp_a(z, z_bar, a):
        return z_bar * inner(ONES)

    return scaled_by_another_rule


RULES = {"a scalar rule": scaled, "an array rule": tabled, "a rule that calls a rule": behind_another}
WAYS = {
    **{f"grad by {name}": lambda f, name=name: contad.grad(f, engine=name)(X) for name in engine_names()},
    "hessian": lambda f: contad.hessian(f)(X),
    "hvp": lambda f: contad.hvp(f)(X, X),
    "jacobian": lambda f: contad.jacobian(lambda x: [f(x), f(2.0 * x), 1.0 * f(x)])(X),
    "grad of grad": lambda f: contad.grad(lambda x: np.sum(contad.grad(f)(x)))(X),
    "linearize": lambda f: contad.linearize(f, X)[1](X),
}


@pytest.fixture
def change():
    """change(k): other data, of number k; 0 are those that rules meet first."""

    def to(k):
        global RATE
        RATE = 2.0 + k
        table[:] = 1.0 + k, 2.0 - k

    yield to
    to(0.0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", RULES)
def test_data_that_change_while_they_are_needed_are_a_named_error(make, way, change):
    with registered():
        rule = RULES[make]()

        def within(x):  # between two uses
            total = 0.0
            for k in (0.0, 1.0):
                change(k)
                total = total + np.sum(rule(x)) ** 2
            return total

        def after(x):  # between the last use and the sweep
            total = np.sum(rule(x)) ** 2
            change(3.0)
            return total

        for f in (within, after):
            change(0.0)
            with pytest.raises(ChangedDataError, match="(RATE|table), which is captured, has changed"):
                WAYS[way](f)


@pytest.mark.parametrize("make", RULES)
def test_data_may_change_between_calls(make, change):
    with registered():
        rule = RULES[make]()

        def f(x):
            return np.sum(rule(x) * x)

        for k in (0.0, 1.5):
            change(k)
            slopes = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
            for name in engine_names():
                np.testing.assert_allclose(contad.grad(f, engine=name)(X), slopes, rtol=1e-6)
            np.testing.assert_allclose(contad.jvp(f, (X,), (X,))[1], slopes @ X, rtol=1e-6)


@pytest.mark.parametrize("make", RULES)
def test_a_program_holds_its_rules_data_against_what_they_were(make, change):
    with registered():
        rule = RULES[make]()
        program = contad.record(lambda x: np.sum(rule(x) * x), X)
        assert program(X) == np.sum(rule(X) * X)
        with pytest.raises(UnsupportedError, match="captures data"):
            pickle.dumps(program)
        change(1.0)
        for use in (program, program.gradient):
            with pytest.raises(ChangedDataError, match="which is captured, has changed"):
                use(X)
        change(0.0)
        assert program(X) == np.sum(rule(X) * X)


def test_what_a_rule_changes_itself_is_its_own():
    with registered():

        @contad.scalar_rule
        def remembered(x):
            return memo.setdefault(x, x * x)

        @remembered.partials
        def remembered_partials(z, x):
            return 2.0 * x

        for name in engine_names():
            found = contad.grad(lambda x: np.sum(remembered(x[0]) * remembered(x[1])), engine=name)(X)
            np.testing.assert_allclose(found, 2.0 * X * X[::-1] ** 2)
