"""The chain stack: who may use a variable where, nested levels, recovered memory, callbacks, and exceptions."""

import threading

import numpy as np
import pytest

import contad
from contad.engines import engine, engine_names
from contad.errors import (
    ForeignVariableError,
    LostDerivativeError,
    NestingError,
    OtherThreadError,
    StaleVariableError,
)
from contad.variables.stack import THREAD, opened, stack
from tests.judges.refusals import refused


@pytest.fixture(params=engine_names())
def level(request):
    """An open level of each engine."""
    with opened(engine(request.param)) as s:
        yield s


@pytest.fixture(autouse=True)
def recovered():
    """Leaves no variables of a test on the base stack, and checks that the test left no level open."""
    yield
    assert len(THREAD.open) <= 1
    with contad.recover_memory():
        pass


def leaked():
    kept = []
    contad.grad(lambda x: kept.append(x) or x * x)(1.5)
    return kept[0]


USES = {
    "constant": lambda v: v * 2.0, "reflected": lambda v: 2.0 - v, "itself": lambda v: v * v,
    "unary operator": lambda v: -v, "function": lambda v: contad.ops.exp(v), "ufunc": lambda v: np.hypot(v, 1.0),
    "special function": lambda v: contad.gammaln(v), "other variable": lambda v: contad.var(1.0) * v,
    "inside grad": lambda v: contad.grad(lambda t: t * v)(1.0),
    "as an argument of grad": lambda v: contad.grad(lambda t: t * t)(v),
    "inside jvp": lambda v: contad.derivative(lambda t: t * v)(1.0), "adjoint": lambda v: v.adj,
    "gradient": lambda v: contad.gradient(v, [v]),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_a_stale_variable_is_a_named_error(use):
    v = leaked()
    with pytest.raises(StaleVariableError, match="its gradient call has ended"):
        USES[use](v)


@pytest.mark.parametrize("use", USES)
def test_a_variable_of_another_thread_is_a_named_error(use):
    v = contad.var(1.5)
    caught = []

    def run():
        try:
            USES[use](v)
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert isinstance(caught[0], OtherThreadError), caught
    assert "another thread" in str(caught[0])
    assert USES["itself"](v).value == 2.25  # and nothing happened to its own stack


def test_a_stale_dual_is_a_named_error():
    kept = []
    contad.derivative(lambda x: kept.append(x) or x * x)(1.5)
    with pytest.raises(StaleVariableError, match="its jvp call has ended"):
        kept[0] * 2.0


def test_a_variable_returned_from_an_ended_level_is_a_named_error():
    with pytest.raises(StaleVariableError):
        contad.grad(lambda x: leaked())(1.0)


def test_gradient_refuses_variables_of_another_stack():
    x = contad.var(2.0)
    with contad.nested():
        y = contad.var(3.0)
        with pytest.raises(ForeignVariableError, match="position 1 belongs to another stack"):
            contad.gradient(x * x, [x, y])
        with pytest.raises(ForeignVariableError, match="expected variables, got float at position 0"):
            contad.gradient(x * x, [1.0])


def test_outer_variables_are_constants_of_a_nested_level():
    x = contad.var(2.0)
    with contad.nested():
        y = contad.var(3.0)
        (dy,) = contad.gradient(x * y * y, [y])
        assert contad.value_of(dy) == 12.0
        (dx,) = contad.gradient(dy, [x])  # the derivative of an inner gradient with respect to an outer variable
    assert dx == 6.0
    with pytest.raises(StaleVariableError, match="nested level has been recovered"):
        y * 1.0
    assert contad.gradient(x * x, [x]) == [4.0]


def test_recover_memory_makes_variables_stale_and_empties_the_stack():
    before = contad.var(1.0)
    with contad.recover_memory() as s:
        x = contad.var(3.0)
        assert contad.gradient(x * x, [x]) == [6.0]
    for v in (before, x):
        with pytest.raises(StaleVariableError, match="its memory has been recovered"):
            v + 1.0
    assert stack() is not s and stack().top == 1


def test_recover_memory_called_as_in_stan_acts_at_once():
    x = contad.var(2.0)
    contad.recover_memory()
    with pytest.raises(StaleVariableError, match="its memory has been recovered"):
        x * 1.0
    assert stack().top == 1


def test_continuations_must_be_callable():
    for push in (lambda: contad.reverse_pass_callback(3), lambda: contad.make_callback_var(1.0, 3)):
        with pytest.raises(TypeError, match="f must be callable, got int"):
            push()


def test_recover_memory_refuses_inside_an_open_level():
    with contad.nested(), pytest.raises(NestingError, match="recover outside of it"), contad.recover_memory():
        pass
    with pytest.raises(NestingError):
        contad.grad(lambda x: contad.recover_memory().__enter__() and x)(1.0)


def test_adjoints_are_read_after_a_sweep_and_set_to_zero(level):
    x, y = level.variable(10.3), level.variable(1.1)
    z = x * y * 2 + 7.0
    assert contad.gradient(z, [x, y]) == pytest.approx([2.2, 20.6])
    assert (x.adj, y.adj, z.adj) == pytest.approx((2.2, 20.6, 1.0))
    contad.set_zero_adjoints()
    assert (x.adj, y.adj, z.adj) == (0.0, 0.0, 0.0)
    assert contad.gradient(z, [x, y]) == pytest.approx([2.2, 20.6])  # a second sweep does not add to the first


def test_a_sweep_covers_what_the_result_depends_on(level):
    x = level.variable(3.0)
    y = x * x
    after = level.variable(5.0)
    contad.ops.exp(y) * after
    assert contad.gradient(y, [x, after]) == [6.0, 0.0] and contad.gradient(7.0, [x]) == [0.0]
    assert contad.gradient(x, [x]) == [1.0]


def test_reverse_pass_callback_reads_and_accumulates(level):
    x, w = level.variable(3.0), level.variable(2.0)
    z = level.variable(9.0 * 2.0)

    def continuation(adj):
        adj.add(x, adj[z] * 2.0 * 3.0 * 2.0)
        adj.add(w, adj[z] * 9.0)
        adj.add(w, 0)

    contad.reverse_pass_callback(continuation)
    assert contad.gradient(z * z + x, [x, w]) == pytest.approx([2 * 18.0 * 12.0 + 1.0, 2 * 18.0 * 9.0])


def test_callbacks_newer_than_the_result_do_not_run(level):
    x = level.variable(3.0)
    y = x * x
    contad.reverse_pass_callback(lambda adj: 1 / 0)
    assert contad.gradient(y, [x]) == [6.0]


def test_make_callback_var(level):
    x = level.variable(3.0)
    z = contad.make_callback_var(27.0, lambda z, adj: adj.add(x, adj[z] * 27.0))
    assert contad.gradient(z, [x]) == [27.0] and contad.gradient(z * z, [x]) == [2 * 27.0 * 27.0]


def test_callbacks_work_on_outer_numbers(level):
    """A callback inside a nested level sees adjoints of the outer level, and its derivative is kept."""
    x = level.variable(3.0)

    def inner(t):
        z = contad.make_callback_var(contad.value_of(t) * 5.0, lambda z, adj: adj.add(t, adj[z] * 5.0))
        return z * x

    slope = contad.grad(inner, engine=level.engine)(x)  # 5 x
    assert contad.gradient(slope * x, [x]) == [30.0]


def test_callback_errors_are_named(level):
    x = level.variable(3.0)
    z = level.variable(9.0)
    with contad.nested():
        foreign = contad.var(1.0)
        for wrong in (lambda adj: adj[foreign], lambda adj: adj.add(2.0, 1.0)):
            z2 = z * 1.0
            level.push_callback(wrong, 0.0)
            y = z2 + z
            with pytest.raises(ForeignVariableError, match="variable of the stack being swept"):
                level.gradient(y, [x])


def test_a_sweep_inside_a_sweep_of_the_same_stack_is_refused(level):
    x = level.variable(3.0)
    contad.reverse_pass_callback(lambda adj: contad.gradient(x * x, [x]))
    y = x * 2.0
    with refused(NestingError, match="being swept"):
        contad.gradient(y, [x])


def test_a_callback_may_differentiate_on_its_own_level(level):
    x, z = level.variable(3.0), level.variable(9.0)
    contad.reverse_pass_callback(lambda adj: adj.add(x, adj[z] * contad.grad(lambda t: t * t)(3.0)))
    assert contad.gradient(z * 1.0, [x]) == [6.0]


def test_an_exception_in_the_function_leaves_the_stack_as_it_was(level):
    x = level.variable(3.0)
    top = level.top

    def fails(t):
        t * t
        raise KeyError("mine")

    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            contad.grad(fails, engine=level.engine)(1.0)
        with pytest.raises(KeyError):
            contad.derivative(fails)(1.0)
        with pytest.raises(KeyError):
            contad.vjp(fails, 1.0)
    assert stack() is level and level.top == top and contad.gradient(x * x, [x]) == [6.0]


def test_an_exception_in_mid_sweep_leaves_the_stack_usable(level):
    x = level.variable(3.0)
    y = x * x
    contad.reverse_pass_callback(lambda adj: 1 / 0)
    z = y * x
    with pytest.raises(ZeroDivisionError):
        contad.gradient(z, [x])
    assert contad.gradient(y, [x]) == [6.0]


def test_variables_are_immutable(level):
    x = level.variable(3.0)
    for name in ("value", "index", "adj"):
        with pytest.raises(AttributeError):
            setattr(x, name, 1.0)


def test_engines_meet_in_nested_levels():
    """An inner level of one engine inside an outer level of the other."""
    for outer, inner in (("records", "closures"), ("closures", "records")):
        f = contad.grad(lambda x, e=inner: x * contad.grad(lambda y: x * y * y, engine=e)(x), engine=outer)
        assert f(3.0) == 6.0 * 9.0  # x * 2 x^2


def test_buffers_go_back_to_the_pool_and_nothing_grows():
    g = contad.grad(lambda x: contad.grad(lambda y: y * y * x)(x))
    g(1.0)
    sizes = {name: [len(p), *(len(b.values) for b in p if hasattr(b, "values"))] for name, p in THREAD.pools.items()}
    for _ in range(200):
        g(1.0)
    after = {name: [len(p), *(len(b.values) for b in p if hasattr(b, "values"))] for name, p in THREAD.pools.items()}
    assert after == sizes


# ---- levels that do not close in order -------------------------------------------------------------------------------
def suspended():
    """A generator that holds a level open while others open and close."""
    with contad.nested():
        v = contad.var(2.0)
        yield v
        yield contad.gradient(v * v, [v])


def test_a_generator_may_hold_a_level_open_across_others():
    kept = []

    def f(x):
        kept.append(suspended())
        next(kept[0])
        return x * x

    base = stack()
    assert contad.grad(f)(3.0) == 6.0  # closes while the generator's level is still open
    with contad.nested() as outer:
        assert next(kept[0]) == [4.0]
        kept[0].close()  # closes while a younger level is open
        assert stack() is outer
    assert THREAD.open == [base]


def test_a_generator_finalized_on_another_thread_leaves_both_threads_alone():
    generator = suspended()
    base = stack()
    next(generator)
    depths = []

    def run():
        stack()
        generator.close()
        depths.append(len(THREAD.open))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert depths == [1] and stack() is base and THREAD.open == [base]


@pytest.mark.parametrize(
    "transform", [contad.grad, contad.derivative, contad.jacobian, lambda f: lambda x: contad.vjp(f, x)]
)
def test_a_result_of_a_level_that_was_opened_inside_is_no_constant(transform):
    kept = []

    def f(x):
        kept.append(suspended())
        return x * next(kept[0])

    with pytest.raises(NestingError, match="returned a variable of a level opened inside it"):
        transform(f)(3.0)
    kept[0].close()
    with pytest.raises(StaleVariableError):
        transform(lambda x: leaked())(1.0)


def test_gradient_of_a_dual_is_refused_unless_it_is_a_constant():
    x = contad.var(2.0)
    with pytest.raises(ForeignVariableError, match="y is a dual"):
        contad.derivative(lambda t: contad.gradient(t * x, [x])[0])(3.0)

    def inner(t):
        with contad.nested():
            return contad.gradient(t * t, [contad.var(1.0)])[0] + t

    assert contad.derivative(inner)(3.0) == 1.0
    with pytest.raises(TypeError, match=r"write \[x\]"):
        contad.gradient(x * x, x)


def test_memory_may_be_recovered_inside_recovered_memory():
    with contad.recover_memory(), contad.recover_memory():
        contad.var(1.0)
    assert contad.grad(lambda x: x * x)(3.0) == 6.0


def test_a_failed_sweep_leaves_no_adjoints_to_read(level):
    x = level.variable(3.0)
    y = x * x
    contad.gradient(y, [x])
    contad.reverse_pass_callback(lambda adj: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        contad.gradient(y * x, [x])
    assert (x.adj, y.adj) == (0.0, 0.0)


def test_callbacks_and_variables_newer_than_they_are(level):
    x = level.variable(3.0)
    newer, seen = [], []
    contad.reverse_pass_callback(lambda adj: seen.append([adj[v] for v in newer]))
    y = x * x
    newer += [y, y * 2.0]
    contad.gradient(y, [x])
    assert seen == [[1.0, 0.0]]
    contad.reverse_pass_callback(lambda adj: adj.add(newer[-1], 1.0))
    newer.append(y * 5.0)
    with refused(LostDerivativeError, match="not older than this callback"):
        contad.gradient(newer[-1], [x])


def test_a_callback_adds_outer_numbers_on_a_level_without_any(level):
    """The recording holds floats only; the callback alone brings in the variable of the outer level."""
    x = level.variable(3.0)

    def inner(t):
        u = t * t
        return contad.ops.sin(contad.make_callback_var(2.0, lambda z, adj: adj.add(u, adj[z] * x)))

    slope = contad.grad(inner, engine=level.engine)(1.0)  # cos(2) x 2
    assert contad.gradient(slope, [x])[0] == pytest.approx(2.0 * np.cos(2.0))


@pytest.mark.parametrize("engine", ["matrix", "records", "closures"])
def test_a_nested_level_of_a_named_engine(engine):
    with contad.nested(engine) as s:
        assert s.engine == engine
        x = contad.var(3.0)
        assert contad.gradient(x * x, [x]) == [6.0]
        with contad.nested() as inner:
            assert inner.engine == engine
    with pytest.raises(contad.UnsupportedError, match="one of closures, records, matrix"), contad.nested("tap"):
        pass
