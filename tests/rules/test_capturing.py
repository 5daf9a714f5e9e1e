"""Users' rules whose functions read data that change: every derivative is right, or raises by name."""

import pickle

import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.engines.stream import record_stream, sweep
from contad.errors import ChangedDataError, UnsupportedError
from contad.functions.captured import Captured
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
        return RATE * contad.ops.cos(x)

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


def test_a_rule_may_change_its_own_captured_values():
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


# ---- data that identities tell are the same ------------------------------------------------------------------------
def plain(c=2.0, *, d=1.0):
    return c * d


def other(c=3.0, *, d=2.0):
    return c + d


GLOBAL, WEIGHT, ROUTINE, HELPER = 2.0, contad.constant([2.0]), np.abs, plain


def assign(name, x):
    globals()[name] = x


def doubled():
    return 2.0


def tripled():
    return 3.0


def make_cell():
    number = 2.0

    def give():
        return number

    def put(x):
        nonlocal number
        number = x

    return give, put


def make_rule():
    @contad.array_rule
    def inner_factor(a):
        return 2.0 * a

    return inner_factor


def replace_function(rule):
    def inner_factor(a):
        return 3.0 * a

    rule.function = inner_factor


cell, put = make_cell()

# the factor, what changes it, and how it is put back
CHANGES = {
    "a global number": (lambda: GLOBAL, lambda: assign("GLOBAL", 3.0), lambda: assign("GLOBAL", 2.0)),
    "a global text": (lambda: len(str(GLOBAL)), lambda: assign("GLOBAL", 3.125), lambda: assign("GLOBAL", 2.0)),
    "an immutable array": (
        lambda: WEIGHT[0], lambda: assign("WEIGHT", contad.constant([3.0])),
        lambda: assign("WEIGHT", contad.constant([2.0])),
    ),
    "a global function": (lambda: HELPER(), lambda: assign("HELPER", other), lambda: assign("HELPER", plain)),
    "a function's code": (
        lambda: doubled() + GLOBAL - 2.0, lambda: setattr(doubled, "__code__", tripled.__code__),
        lambda: setattr(doubled, "__code__", (lambda: 2.0).__code__),
    ),
    "a default": (
        lambda: plain(), lambda: setattr(plain, "__defaults__", (3.0,)), lambda: setattr(plain, "__defaults__", (2.0,)),
    ),
    "a default by name": (
        lambda: plain(), lambda: setattr(plain, "__kwdefaults__", {"d": 3.0}),
        lambda: setattr(plain, "__kwdefaults__", {"d": 1.0}),
    ),
    "a default by name in place": (
        lambda: plain(), lambda: plain.__kwdefaults__.update(d=3.0), lambda: plain.__kwdefaults__.update(d=1.0),
    ),
    "a captured name": (lambda: cell(), lambda: put(3.0), lambda: put(2.0)),
    "a routine of a library": (
        lambda: 2.0 + ROUTINE(-0.5), lambda: assign("ROUTINE", np.sin), lambda: assign("ROUTINE", np.abs),
    ),
}  # fmt: skip


def scaled_by(factor):
    @contad.array_rule(linear=("a",))
    def scaled_by_data(a):
        return a * factor()

    @scaled_by_data.vjp("a")
    def scaled_by_data_vjp(z, z_bar, a):
        return scaled_by_data(z_bar)

    return scaled_by_data


@pytest.fixture
def walks(monkeypatch):
    """The names of the rules whose functions are looked through."""
    found = []
    make = Captured.__init__

    def note(self, name, *more):
        found.append(name)
        make(self, name, *more)

    monkeypatch.setattr(Captured, "__init__", note)
    return found


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("engine", engine_names())
def test_functions_are_looked_through_again_only_where_something_is_another_object(what, engine, walks):
    factor, change, restore = CHANGES[what]
    with registered():
        rule = scaled_by(factor)
        gradient = contad.grad(lambda x: np.sum(rule(x)), engine=engine)
        try:
            for _ in range(3):
                np.testing.assert_array_equal(gradient(X), factor() * ONES)
            assert walks == ["scaled_by_data"]
            change()
            changed = factor()
            assert changed != 2.0
            for _ in range(3):
                np.testing.assert_array_equal(gradient(X), changed * ONES)
            assert len(walks) == 2
            restore()

            def within(x):
                z = np.sum(rule(x))
                change()
                return z

            with pytest.raises(ChangedDataError, match="which is captured, has changed"):
                contad.grad(within, engine=engine)(X)
        finally:
            restore()
        np.testing.assert_array_equal(gradient(X), factor() * ONES)


def test_a_rule_that_another_one_calls_is_looked_at_by_its_functions(walks):
    with registered():
        inner = make_rule()
        rule = scaled_by(lambda: float(inner(1.0)) + GLOBAL - 2.0)
        gradient = contad.grad(lambda x: np.sum(rule(x)))
        for _ in range(2):
            np.testing.assert_array_equal(gradient(X), 2.0 * ONES)
        assert len(walks) == 1
        replace_function(inner)
        for _ in range(2):
            np.testing.assert_array_equal(gradient(X), 3.0 * ONES)
        assert len(walks) == 2


def test_arrays_that_may_be_written_to_are_looked_at_in_every_gradient(walks, change):
    with registered():
        rule = tabled()
        gradient = contad.grad(lambda x: np.sum(rule(x)))
        for k in range(2):
            change(float(k))
            np.testing.assert_array_equal(gradient(X), np.cos(X) * table)
    assert len(walks) == 2


def test_a_rule_changes_captured_values_on_its_own_level_only(walks):
    """GLOBAL is the rule's own where it has changed it, and nobody else's affair."""
    with registered():

        @contad.array_rule(linear=("a",))
        def counted(a):
            if a[0] > 1.0:
                assign("GLOBAL", 5.0)
            return a * GLOBAL

        @counted.vjp("a")
        def counted_vjp(z, z_bar, a):
            return z_bar * GLOBAL

        two = GLOBAL
        try:
            for _ in range(2):
                assign("GLOBAL", two)
                np.testing.assert_array_equal(contad.grad(lambda x: np.sum(counted(x)))(X + 1.0), 5.0 * ONES)
            assert len(walks) == 1

            def within(x):
                z = np.sum(counted(x))  # which changes nothing this time
                assign("GLOBAL", 3.0)
                return z

            assign("GLOBAL", two)
            with pytest.raises(ChangedDataError, match="GLOBAL, which is captured, has changed"):
                contad.grad(within)(X)
            assert len(walks) == 1
        finally:
            assign("GLOBAL", two)


def test_recordings_with_captured_data_are_read_and_swept_by_one_compiled_call(monkeypatch):
    direct, calls = sweep.compile_sweeps(), []
    counted = direct._make([
        lambda *args, name=name, function=function: calls.append(name) or function(*args)
        for name, function in direct._asdict().items()
    ])  # fmt: skip
    monkeypatch.setattr(record_stream, "compile_sweeps", lambda: counted)
    monkeypatch.setattr(record_stream.PATIENCE, "is_over", True)
    with registered():
        rule = scaled_by(lambda: GLOBAL)
        gradient = contad.grad(lambda x: np.sum(rule(x)), engine="matrix")
        gradient(X)  # gets the kernel of the sum
        calls.clear()
        np.testing.assert_array_equal(gradient(X), 2.0 * ONES)
        assert calls == ["read_and_sweep", "sweep"]  # which goes on behind the rule

        def within(x):
            z = np.sum(rule(x))
            assign("GLOBAL", 3.0)
            return z

        try:
            with pytest.raises(ChangedDataError, match="GLOBAL, which is captured, has changed"):
                contad.grad(within, engine="matrix")(X)
        finally:
            assign("GLOBAL", 2.0)
