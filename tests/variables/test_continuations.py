"""Continuations of the user's own: what they may read and add, when, and where they are refused."""

import numpy as np
import pytest

import contad
from contad.engines import engine, engine_names
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.errors import NestingError, StaleVariableError, UnsupportedError
from contad.variables.stack import THREAD, opened, stack
from tests.judges.refusals import refused

POINT = np.array([0.3, 0.7, 1.1, -0.4])
WEIGHTS = np.array([2.0, -1.0, 0.5, 3.0])


@pytest.fixture(params=engine_names())
def level(request):
    """An open level of each engine."""
    with opened(engine(request.param)) as s:
        yield s


@pytest.fixture
def arrays():
    """An open level with array variables."""
    with opened(MatrixStack) as s:
        yield s


@pytest.fixture(autouse=True)
def recovered():
    """Leaves no variables of a test on the base stack, and checks that the test left no level open."""
    yield
    assert len(THREAD.open) <= 1 and not THREAD.forward and not stack().sweeping
    contad.recover_memory()


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def squared(x):
    """x * x by a continuation; x is a number or an array."""
    return contad.make_callback_var(
        contad.value_of(x) ** 2, lambda z, adj: adj.add(x, adj[z] * 2.0 * contad.value_of(x))
    )


# ---- what is added ---------------------------------------------------------------------------------------------------
def test_a_variable_of_the_swept_stack_is_not_added(level):
    x, z = level.variable(3.0), level.variable(9.0)
    contad.reverse_pass_callback(lambda adj: adj.add(x, adj[z] * x * 2.0))
    y = z * x
    with refused(TypeError, match=r"adj\.add: v must be a number, got a variable of the stack .*use x\.value"):
        contad.gradient(y, [x])


def by_continuation(x):
    z = contad.var(contad.value_of(x) ** 2)
    contad.reverse_pass_callback(lambda adj: adj.add(x, adj[z] * 2.0 * contad.value_of(x)))
    return z


@pytest.mark.parametrize("engine", engine_names())
def test_the_result_may_be_what_a_continuation_is_for(engine):
    assert contad.value_and_grad(by_continuation, engine=engine)(3.0) == (9.0, 6.0)
    assert contad.grad(lambda x: by_continuation(x * 2.0), engine=engine)(3.0) == 24.0


def test_the_results_may_be_what_continuations_are_for():
    _, pull = contad.vjp(lambda x: (by_continuation(x), x * 5.0, by_continuation(x + 1.0)), 3.0)
    assert pull((1.0, 10.0, 100.0)) == (6.0 + 50.0 + 800.0,)
    close(contad.jacobian(by_continuation)(POINT), np.diag(2 * POINT))


OWN_VARIABLES = {
    "array": lambda x, bar: bar * x, "view": lambda x, bar: x[::-1], "element": lambda x, bar: x[1],
    "object array": lambda x, bar: contad.to_matvar(x), "list of numbers": lambda x, bar: [x[0], 1.0, 2.0, 3.0],
    "array with constants": lambda x, bar: contad.zeros(4),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN_VARIABLES)
def test_an_array_variable_of_the_swept_stack_is_not_added(name, arrays):
    x, z = contad.var(POINT), contad.var(POINT**2)
    contad.reverse_pass_callback(lambda adj: adj.add(x, OWN_VARIABLES[name](x, adj[z])))
    y = np.sum(z * WEIGHTS)
    with refused(TypeError, match=r"use x\.value"):
        contad.gradient(y, [x])


def test_values_are_added_instead(level):
    x, z = level.variable(3.0), level.variable(9.0)
    contad.reverse_pass_callback(lambda adj: adj.add(x, adj[z] * x.value * 2.0))
    assert contad.gradient(z * z, [x]) == [2 * 9.0 * 6.0]


NO_NUMBERS = {
    "complex array": np.array([1j, 2.0, 3.0, 4.0]), "text": "a", "array of text": np.array(["a", "b", "c", "d"]),
    "dates": np.array(["2020"] * 4, "M8[D]"), "list with None": [1.0, None, 2.0, 3.0],
}  # fmt: skip


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_values_added_to_an_array_are_real(name, arrays):
    x, z = contad.var(POINT), contad.var(1.0)
    contad.reverse_pass_callback(lambda adj: adj.add(x, NO_NUMBERS[name]))
    with refused((TypeError, UnsupportedError), match=r"adj\.add: .*v"):
        contad.gradient(z * 2.0, [x])


@pytest.mark.parametrize("v", [1j, "a", None, np.array([1.0, 2.0])])
def test_values_added_to_a_number_are_real(v, level):
    x, z = level.variable(3.0), level.variable(9.0)
    contad.reverse_pass_callback(lambda adj: adj.add(x, v))
    with refused(UnsupportedError, match=r"adj\.add: v must be a real number"):
        contad.gradient(z * 2.0, [x])


@pytest.mark.parametrize("v", [
    np.arange(4), np.arange(4.0, dtype=np.float32), [0, 1, 2, 3], np.arange(4) > 0,
    np.array([0.0, 1, np.float32(2.0), 3.0], dtype=object),
], ids=["int", "float32", "list", "bool", "object"])  # fmt: skip
def test_other_real_arrays_are_added(v, arrays):
    x, z = contad.var(POINT), contad.var(1.0)
    contad.reverse_pass_callback(lambda adj: adj.add(x, v))
    (slope,) = contad.gradient(z * 2.0, [x])
    close(slope, np.array(v, float))


# ---- what is read ----------------------------------------------------------------------------------------------------
def test_the_adjoint_of_constant_elements_reads_zero(arrays):
    v = contad.var(2.0)
    x = contad.zeros(3)
    x[0], x[1] = v, 7.0
    seen = []
    contad.reverse_pass_callback(lambda adj: seen.append(adj[x]))
    y = np.sum(x * np.array([3.0, 5.0, 11.0]))  # passes 5 and 11 on to what collects the adjoints of constants
    assert contad.gradient(y, [v]) == [3.0]
    close(seen, [[3.0, 0.0, 0.0]])
    close(x.adj, [3.0, 0.0, 0.0])


def test_the_adjoint_of_what_is_newer_than_the_sweep_reads_zero(level):
    x, newer, seen = level.variable(3.0), [], []
    contad.reverse_pass_callback(lambda adj: seen.append(adj[newer[0]]))
    y = x * x
    newer.append(level.variable(5.0))
    assert contad.gradient(y, [x]) == [6.0]
    newer[0] = contad.ops.exp(level.variable(1.0)) * x
    assert contad.gradient(y, [x]) == [6.0] and seen == [0.0, 0.0]


def test_the_adjoint_of_an_array_newer_than_the_sweep_reads_zeros(arrays):
    x, newer, seen = contad.var(POINT), [], []
    contad.reverse_pass_callback(lambda adj: seen.append(adj[newer[0]]))
    y = np.sum(x * x)
    newer.append(contad.var(POINT) * 3.0)
    close(contad.gradient(y, [x])[0], 2 * POINT)
    contad.reverse_pass_callback(lambda adj: newer.insert(0, contad.var(WEIGHTS)))  # made during the sweep
    z = y * 1.0
    close(contad.gradient(z, [x])[0], 2 * POINT)
    close(seen, np.zeros((2, 4)))


def test_x_adj_is_refused_while_a_sweep_runs(level):
    x, z = level.variable(3.0), level.variable(9.0)
    contad.reverse_pass_callback(lambda adj: adj.add(x, z.adj * 6.0))
    y = z * 2.0
    with refused(NestingError, match=r"x\.adj: a sweep is running; in a callback, use adj\[x\]"):
        contad.gradient(y, [x])


def test_x_adj_of_an_array_is_refused_while_a_sweep_runs(arrays):
    x, z = contad.var(POINT), contad.var(POINT**2)
    contad.reverse_pass_callback(lambda adj: adj.add(x, z.adj * 2.0))
    y = np.sum(z * WEIGHTS)
    with refused(NestingError, match=r"use adj\[x\]"):
        contad.gradient(y, [x])


# ---- when adj is valid -----------------------------------------------------------------------------------------------
KEPT = {"read": lambda adj, x: adj[x], "add": lambda adj, x: adj.add(x, 100.0)}


@pytest.mark.parametrize("use", KEPT)
def test_adj_is_refused_after_its_sweep(use, level):
    x, kept = level.variable(3.0), []
    contad.reverse_pass_callback(kept.append)
    y = x * x
    assert contad.gradient(y, [x]) == [6.0]
    with refused(StaleVariableError, match="adj is valid only while the callback it was given to runs"):
        KEPT[use](kept[0], x)
    assert contad.gradient(y, [x]) == [6.0]


@pytest.mark.parametrize("use", KEPT)
def test_adj_is_refused_in_another_callback(use, level):
    x, kept = level.variable(3.0), []
    contad.reverse_pass_callback(lambda adj: KEPT[use](kept[0], x))  # runs second
    contad.reverse_pass_callback(kept.append)
    y = x * x
    with refused(StaleVariableError, match="adj is valid only while"):
        contad.gradient(y, [x])


@pytest.mark.parametrize("use", KEPT)
def test_adj_is_refused_in_a_sweep_on_outer_numbers(use, level):
    outer, kept = level.variable(3.0), []

    def inner(x):
        contad.reverse_pass_callback(lambda adj: KEPT[use](kept[0], x))
        contad.reverse_pass_callback(kept.append)
        return x * x * outer

    with refused(StaleVariableError, match="adj is valid only while"):
        contad.grad(inner, engine=level.engine)(2.0)


@pytest.mark.parametrize("v", [100.0, np.full(4, 100.0)])
def test_a_kept_adj_writes_to_no_later_sweep(v):
    kept = []

    def f(x):
        contad.reverse_pass_callback(lambda adj: kept.append((adj, x if np.ndim(v) else x[1])))
        return np.sum(x * x)

    def g(x):
        contad.reverse_pass_callback(lambda adj: attempt())
        return np.sum(x * x)

    def attempt():
        for use in (lambda adj, x: adj[x], lambda adj, x: adj.add(x, v)):
            with refused(StaleVariableError):
                use(*kept[0])

    close(contad.grad(f, engine="matrix")(POINT), 2 * POINT)
    close(contad.grad(g, engine="matrix")(POINT), 2 * POINT)  # in the same buffers
    attempt()


# ---- the memory of a running sweep -----------------------------------------------------------------------------------
def overwrite_pooled_buffers():
    """Gradients in whatever buffers the pool has, larger than those of the tests here."""
    for name in engine_names():
        contad.grad(lambda v: np.sum(np.sin(v * v) * v), engine=name)(np.linspace(0.0, 1.0, 3000))


@pytest.mark.parametrize("recover", [contad.recover_memory, lambda: contad.recover_memory().__enter__()])
def test_memory_is_not_recovered_in_a_callback(recover):
    x = contad.var(np.arange(1.0, 6.0))
    y = np.sum(np.sin(x) * x)
    seen = []

    def continuation(adj):
        with refused(NestingError, match="recover_memory: a sweep of this stack is running; recover after it"):
            recover()
        overwrite_pooled_buffers()
        seen.append(adj[y])

    contad.reverse_pass_callback(continuation)
    wanted = np.cos(x.value) * x.value + np.sin(x.value)
    for _ in range(2):
        close(contad.gradient(y * 1.5, [x])[0], 1.5 * wanted)
    assert seen == [1.5, 1.5]


def test_a_sweep_refused_recovery_leaves_memory_to_be_recovered():
    x = contad.var(3.0)
    contad.reverse_pass_callback(lambda adj: contad.recover_memory())
    with refused(NestingError, match="recover after it"):
        contad.gradient(x * x, [x])
    contad.recover_memory()
    with refused(StaleVariableError, match="its memory has been recovered"):
        x + 1.0
    assert stack().top == 1


@pytest.mark.parametrize("n", [5, 3000])
def test_a_level_left_in_its_own_sweep_keeps_its_buffers(n):
    """The sweep goes on with them, and what runs meanwhile has others."""
    left = contad.nested()
    left.__enter__()
    x = contad.var(np.linspace(0.5, 2.0, n))
    wanted = 1.5 * (np.cos(x.value) * x.value + np.sin(x.value))
    seen = []
    contad.reverse_pass_callback(lambda adj: seen.append(adj[x]))  # runs last, when the whole gradient is there
    y = np.sum(np.sin(x) * x)

    def continuation(adj):
        left.__exit__(None, None, None)
        overwrite_pooled_buffers()
        for engine_name in engine_names():
            contad.grad(lambda v: np.sum(np.sin(v * v) * v), engine=engine_name)(np.linspace(0.0, 1.0, 2 * n))

    contad.reverse_pass_callback(continuation)
    z = y * 1.5
    with pytest.raises(StaleVariableError, match="nested level has been recovered"):
        contad.gradient(z, [x])
    close(seen, [wanted])
    close(contad.grad(lambda v: np.sum(np.sin(v) * v) * 1.5)(np.linspace(0.5, 2.0, n)), wanted)


def test_a_level_of_numbers_left_in_its_own_sweep_keeps_its_buffers():
    for name in engine_names():
        left = opened(engine(name))
        s = left.__enter__()
        x, seen = s.variable(3.0), []
        contad.reverse_pass_callback(lambda adj, x=x, seen=seen: seen.append(adj[x]))
        y = x * x * x

        def continuation(adj, left=left):
            left.__exit__(None, None, None)
            overwrite_pooled_buffers()

        contad.reverse_pass_callback(continuation)
        z = y * 2.0
        with pytest.raises(StaleVariableError):
            contad.gradient(z, [x])
        assert seen == [54.0], name


# ---- what continuations are made of ----------------------------------------------------------------------------------
def test_a_continuation_of_an_empty_array_runs():
    for shape in (0, (3, 0)):
        with opened(MatrixStack):
            x, ran = contad.var(3.0), []
            z = contad.make_callback_var(np.zeros(shape), lambda z, adj, ran=ran: ran.append(adj[z].shape))
            assert z.shape == np.zeros(shape).shape and contad.gradient(x * 2.0 + np.sum(z), [x]) == [2.0]
            assert ran == [z.shape]


def test_a_variable_of_the_same_stack_is_no_value(level):
    x = level.variable(1.5)
    for make in (contad.var, lambda value: contad.make_callback_var(value, lambda z, adj: None)):
        for value in (x, x * 2.0):
            with refused(NestingError, match=r"value must be a constant of this stack.*use x\.value"):
                make(value)
    assert contad.gradient(contad.var(x.value) * x, [x]) == [1.5]


def test_an_array_variable_of_the_same_stack_is_no_value(arrays):
    x = contad.var(POINT)
    for make in (contad.var, lambda value: contad.make_callback_var(value, lambda z, adj: None)):
        for value in (x, x[1:], x * 2.0, contad.to_matvar(x)):
            with refused(NestingError, match=r"use x\.value"):
                make(value)


def test_a_variable_of_an_outer_stack_is_a_value(level):
    x = level.variable(1.5)
    with opened(type(level)) as inner:
        y = contad.var(x)
        z = contad.make_callback_var(y.value * 2.0, lambda z, adj: adj.add(y, adj[z] * 2.0))
        (slope,) = inner.gradient(z * z, [y])  # 8 x
    assert contad.gradient(slope * x, [x]) == [24.0]


def test_the_gradient_of_a_constant_has_the_shapes_of_the_variables(arrays):
    x, s = contad.var(POINT.reshape(2, 2)), contad.var(1.0)
    w = contad.zeros(3)
    for y in (3.0, w[0], np.float64(2.0), np.sum(w)):
        slopes = contad.gradient(y, [x, s, x[0]])
        assert [np.shape(slope) for slope in slopes] == [(2, 2), (), (2,)]
        assert not any(np.any(slope) for slope in slopes)
    assert [slope.shape for slope in contad.gradient(s * 1.0, [x])] == [(2, 2)]


# ---- forward mode ----------------------------------------------------------------------------------------------------
FORWARD = {
    "jvp": lambda f: contad.jvp(lambda x: f(x) * x, (3.0,), (1.0,)),
    "jvp of an array": lambda f: contad.jvp(lambda x: np.sum(f(x) * x), (POINT,), (POINT,)),
    "several tangents": lambda f: contad.jvp(lambda x: np.sum(f(x) * x), (POINT,), (np.eye(4),), several=True),
    "derivative": lambda f: contad.derivative(lambda x: f(x) * x)(3.0),
    "derivative inside grad": lambda f: contad.grad(lambda x: contad.derivative(lambda y: f(y) * y)(x))(3.0),
}


def beside(x):
    """x * x, with a continuation pushed beside it."""
    contad.reverse_pass_callback(lambda adj: None)
    return x * x


@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize("push", [squared, beside])
def test_continuations_are_refused_in_forward_mode(name, push):
    with pytest.raises(UnsupportedError, match=r"(make_callback_var|reverse_pass_callback): forward mode has no cont"):
        FORWARD[name](push)


def test_continuations_run_in_a_gradient_inside_forward_mode():
    for name in engine_names():
        slope = contad.grad(lambda x: squared(x) * x, engine=name)
        assert slope(3.0) == 27.0
        assert contad.derivative(slope)(3.0) == pytest.approx(18.0)  # 6 x
    slopes = contad.grad(lambda x: np.sum(squared(x) * x), engine="matrix")
    close(contad.jvp(slopes, (POINT,), (WEIGHTS,))[1], 6 * POINT * WEIGHTS)


@pytest.mark.parametrize("directions", [np.zeros((0, 4)), np.zeros(0)])
def test_several_tangents_are_one_or_more(directions):
    x = POINT if directions.ndim == 2 else 3.0
    with pytest.raises(TypeError, match="jvp: .*with several=True every tangent must be an array with a leading axis"):
        contad.jvp(lambda x: x * x, (x,), (directions,), several=True)
    with pytest.raises(TypeError, match="several=True"):
        contad.jvp(lambda: 1.0, (), (), several=True)
    value, slopes = contad.jvp(lambda x: x * x, (POINT,), (POINT[None],), several=True)
    close(value, POINT**2)
    close(slopes, 2 * POINT[None] ** 2)


# ---- None ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", engine_names())
def test_no_number_in_an_object_array_of_constants(name):
    constants = np.array([None, 1.0, 2.0, 3.0], dtype=object)
    for f in (
        lambda x: np.sum(x * constants),
        lambda x: np.sum(constants + x),
        lambda x: np.sum(np.hypot(x, constants)),
    ):
        with refused((TypeError, UnsupportedError), match="NoneType"):
            contad.grad(f, engine=name)(POINT)
    with refused((TypeError, UnsupportedError), match="NoneType"):
        contad.jvp(lambda x: np.sum(x * constants), (POINT,), (POINT,))


def assigned_none(x):
    x[0] = None
    return np.sum(x * x)


def assigned_a_list_with_none(x):
    x[:2] = [x[1], None]
    return np.sum(x * x)


def assigned_a_list_of_constants_with_none(x):
    x[:2] = [1.0, None]
    return np.sum(x * x)


@pytest.mark.parametrize(
    "f", [assigned_none, assigned_a_list_with_none, assigned_a_list_of_constants_with_none], ids=lambda f: f.__name__
)
def test_none_is_assigned_in_no_mode(f):
    with refused((TypeError, UnsupportedError), match="NoneType"):
        contad.grad(f, engine="matrix")(POINT)
    with refused((TypeError, UnsupportedError), match="NoneType"):
        contad.jvp(f, (POINT,), (POINT,))


@pytest.mark.parametrize("name", engine_names())
def test_none_is_no_argument(name):
    for transform in (contad.grad, contad.value_and_grad, contad.jacobian):
        with pytest.raises(UnsupportedError, match=f"{transform.__name__}: .*, argument 0: expected .*, got None"):
            transform(lambda x: 1.0, engine=name)(None)
    with pytest.raises(UnsupportedError, match="vjp: .*got None"):
        contad.vjp(lambda x: 1.0, None, engine=name)
    with pytest.raises(UnsupportedError, match="argument 1: .*got None"):
        contad.grad(lambda x, y: x * 1.0, argnums=(0, 1), engine=name)(1.0, None)
