"""Arrays to assign to, on every kind of level; object arrays and array variables turned into one another; constants."""

import numpy as np
import pytest

import contad
from contad.engines import engine as engine_class
from contad.engines.forward import forward_level
from contad.engines.matrix.array_var import ArrayVar
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.records import RecordStack
from contad.errors import UnsupportedError
from contad.variables.array import Array
from contad.variables.dual import ArrayDual
from contad.variables.stack import opened, set_base_engine, stack
from tests.judges.refusals import refused

POINT = np.array([0.3, 0.7, 1.1, -0.4])
MAKERS = {
    "zeros": (lambda: contad.zeros((2, 3)), np.zeros((2, 3))),
    "empty": (lambda: contad.empty((2, 3)), np.zeros((2, 3))),
    "full": (lambda: contad.full((2, 3), 2.5), np.full((2, 3), 2.5)),
    "zeros of an integer": (lambda: contad.zeros(3), np.zeros(3)),
    "zeros without axes": (lambda: contad.zeros(()), np.zeros(())),
    "zeros without elements": (lambda: contad.zeros((0, 3)), np.zeros((0, 3))),
    "full of an array": (lambda: contad.full((2, 3), [1.0, 2.0, 3.0]), np.array([[1.0, 2.0, 3.0]] * 2)),
}

grad = contad.grad


@pytest.fixture
def level():
    with opened(MatrixStack) as s:
        yield s


@pytest.fixture(autouse=True)
def empty_base():
    """A base stack of the engine `matrix` with nothing on it, before and after."""
    with contad.recover_memory():
        set_base_engine(MatrixStack)
    try:
        yield
        contad.recover_memory()
    finally:
        set_base_engine(engine_class())


# ---- where arrays belong ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MAKERS)
def test_plain_arrays_where_no_level_is_open(name):
    make, wanted = MAKERS[name]
    a = make()
    assert type(a) is np.ndarray and a.dtype == np.float64 and a.flags.writeable
    assert np.array_equal(a, wanted)


@pytest.mark.parametrize("name", MAKERS)
def test_arrays_of_the_innermost_level(name):
    make, wanted = MAKERS[name]

    def checked(kind, owner):
        a = make()
        assert type(a) is kind and a._owner is owner and np.array_equal(contad.value_of_rec(a), wanted)
        assert a.shape == wanted.shape
        return a

    with opened(MatrixStack) as outer:
        checked(ArrayVar, outer)
        with forward_level() as forward:
            checked(ArrayDual, forward)
            with opened(MatrixStack) as inner:
                checked(ArrayVar, inner)
            checked(ArrayDual, forward)
        with opened(RecordStack):
            objects = make()
            assert isinstance(objects, np.ndarray) and objects.dtype == object
            assert np.array_equal(objects.astype(float), wanted)
        checked(ArrayVar, outer)
    assert type(make()) is np.ndarray


def test_the_base_stack_owns_arrays_once_it_holds_a_variable():
    assert type(contad.zeros(3)) is np.ndarray
    x = contad.var(POINT)
    assert isinstance(x, ArrayVar)
    w = contad.zeros(4)
    assert isinstance(w, ArrayVar) and w._owner is stack()
    w[1:] = x[:-1] * 2.0
    y = np.sum(w * w)
    np.testing.assert_allclose(contad.gradient(y, [x])[0], np.append(8 * POINT[:-1], 0.0))
    contad.recover_memory()
    with pytest.raises(contad.StaleVariableError, match="memory has been recovered"):
        w + 1.0
    assert type(contad.zeros(3)) is np.ndarray


def test_after_an_exception_arrays_are_plain_again():
    def f(x):
        assert isinstance(contad.zeros(2), ArrayVar)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        grad(f, engine="matrix")(POINT)
    assert type(contad.zeros(2)) is np.ndarray


def f(x):
    """One function for floats, duals and the variables of every engine."""
    h = contad.zeros((3, 4))
    h[0] = x
    e = contad.empty(4)
    for k in range(4):
        e[k] = x[k] * x[k - 1]
    h[1] = e * contad.full(4, 1.5)
    h[2] = contad.full(4, x[2])
    a = contad.array([[x[0], 2.0], [x[1] * x[3], 1]])
    return np.sum(h[0] * h[1] * h[2]) + np.sum(a * a * a) + np.sum(e)


def complex_slope(f):
    zeros, full, array = np.zeros, np.full, np.array

    def continued(x):
        h = zeros((3, 4), complex)
        h[0] = x
        e = x * np.roll(x, 1)
        h[1] = e * 1.5
        h[2] = full(4, x[2])
        a = array([[x[0], 2.0], [x[1] * x[3], 1]])
        return np.sum(h[0] * h[1] * h[2]) + np.sum(a**3) + np.sum(e)

    return np.array([np.imag(continued(POINT + 1e-40j * row)) / 1e-40 for row in np.eye(4)])


@pytest.mark.parametrize("engine", ["matrix", "records", "closures"])
def test_one_function_runs_plain_and_differentiated(engine):
    wanted = complex_slope(f)
    value, slope = contad.value_and_grad(f, engine=engine)(POINT)
    np.testing.assert_allclose(value, f(POINT), rtol=1e-13)
    np.testing.assert_allclose(slope, wanted, rtol=1e-12)


def test_one_function_at_higher_orders():
    wanted = complex_slope(f)
    np.testing.assert_allclose([contad.jvp(f, (POINT,), (v,))[1] for v in np.eye(4)], wanted, rtol=1e-12)
    hessian = contad.jacobian(grad(f, engine="records"), engine="records")(POINT)
    for inner, outer in (("matrix", "matrix"), ("matrix", "records"), ("records", "matrix")):
        found = contad.jacobian(grad(f, engine=inner), engine=outer)(POINT)
        np.testing.assert_allclose(found, hessian, rtol=1e-11, atol=1e-13)
    found = [contad.jvp(grad(f, engine="matrix"), (POINT,), (v,))[1] for v in np.eye(4)]
    np.testing.assert_allclose(found, hessian, rtol=1e-11, atol=1e-13)


# ---- variables as values ---------------------------------------------------------------------------------------------
def test_full_of_a_variable(level):
    x = contad.var(POINT)
    a = contad.full((2, 2), x[1])
    (slope,) = contad.gradient(np.sum(a * a), [x])
    np.testing.assert_allclose(slope, [0.0, 8 * POINT[1], 0.0, 0.0])
    b = contad.full((3, 4), x)
    (slope,) = contad.gradient(np.sum(b * b), [x])
    np.testing.assert_allclose(slope, 6 * POINT)


NESTED = {
    "numbers": (lambda x: [1, 2.5], [1.0, 2.5]),
    "variables": (lambda x: [x[0], x[1]], POINT[:2]),
    "mixed": (lambda x: [[x[0], 2], [True, x[1]]], [[POINT[0], 2.0], [1.0, POINT[1]]]),
    "tuples": (lambda x: ((x[0],), (np.float32(2.0),)), [[POINT[0]], [2.0]]),
    "arrays": (lambda x: [x, x[::-1]], [POINT, POINT[::-1]]),
    "array and list": (lambda x: [x[:2], [1.0, 2.0]], [POINT[:2], [1.0, 2.0]]),
    "array and variables": (lambda x: [x[:2], [x[3], 2.0]], [POINT[:2], [POINT[3], 2.0]]),
    "lists of arrays": (lambda x: [[x, x], [x, -x]], [[POINT, POINT], [POINT, -POINT]]),
    "an array": (lambda x: x, POINT),
    "an object array": (lambda x: np.array([x[0], 1.0], dtype=object), [POINT[0], 1.0]),
    "one variable": (lambda x: x[2], POINT[2]),
    "results": (lambda x: [np.sum(x), x[0] * x[1]], [np.sum(POINT), POINT[0] * POINT[1]]),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("kind", ["matrix", "forward", "nested"])
def test_array_of_nested_lists(name, kind):
    build, wanted = NESTED[name]

    def checked(x):
        a = contad.array(build(x))
        if name != "numbers":
            assert isinstance(a, Array)
        assert np.shape(a) == np.shape(wanted)
        np.testing.assert_allclose(contad.value_of_rec(a), wanted)
        before = contad.value_of_rec(x)
        a[...] = a * 2.0  # a fresh array: x keeps its elements
        assert np.array_equal(contad.value_of_rec(x), before)
        return np.sum(a * a)

    scale = 4.0 * np.sum(np.square(wanted))
    if kind == "forward":
        value, _ = contad.jvp(checked, (POINT,), (POINT,))
    elif kind == "matrix":
        value, _ = contad.value_and_grad(checked, engine="matrix")(POINT)
    else:
        inner = contad.value_and_grad(checked, engine="matrix")
        value, _ = contad.value_and_grad(lambda x: inner(x)[0], engine="matrix")(POINT)
    np.testing.assert_allclose(value, scale)


@pytest.mark.parametrize("name", NESTED)
def test_derivatives_of_arrays_of_nested_lists(name):
    build, _ = NESTED[name]

    def weighted(x):
        a = contad.array(build(x))
        return np.sum(a * a * np.arange(1.0, np.size(a) + 1.0).reshape(np.shape(a)))

    slope = grad(weighted, engine="matrix")(POINT)
    for k, direction in enumerate(np.eye(4)):
        np.testing.assert_allclose(contad.jvp(weighted, (POINT,), (direction,))[1], slope[k], rtol=1e-12)
        step = 1e-6 * direction
        difference = (weighted(POINT + step) - weighted(POINT - step)) / 2e-6
        np.testing.assert_allclose(difference, slope[k], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    "bad", [[[1.0, 2.0], [3.0]], "abc", [None], {"a": 1.0}, [[1.0], 2.0], object()]
)
def test_array_refuses_what_is_no_array_of_real_numbers(bad, level):
    with pytest.raises((ValueError, TypeError), match="array: x must"):
        contad.array(bad)
    x = contad.var(POINT)
    with pytest.raises((ValueError, TypeError)):
        contad.array([x[0], bad])


def test_array_copies(level):
    c = np.arange(3.0)
    a = contad.array(c)
    a[0] = 9.0
    assert c[0] == 0.0
    x = contad.var(POINT)
    y = contad.array(x)
    y[0] = 9.0
    assert x.value[0] == POINT[0]


# ---- the two kinds of arrays -----------------------------------------------------------------------------------------
def test_matvar_and_varmat(level):
    x = contad.var(POINT.reshape(2, 2))
    before = level.top
    m = contad.to_matvar(x)
    assert type(m) is np.ndarray and m.dtype == object
    assert [v.index for v in m.flat] == list(range(x.index, x.index + 4))
    v = contad.to_varmat(m.T)
    assert isinstance(v, ArrayVar) and np.array_equal(v.value, POINT.reshape(2, 2).T) and level.top == before
    m[0, 0] = 3.0  # of the object array alone
    assert x.value[0, 0] == POINT[0] and v.value[0, 0] == POINT[0]
    mixed = x * m
    assert isinstance(mixed, ArrayVar)
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    y = np.sum(mixed * weights) + np.sum(v * weights) + np.sum(m)
    (slope,) = contad.gradient(y, [x])
    p = POINT.reshape(2, 2)
    np.testing.assert_allclose(
        slope, 2 * p * weights * [[0, 1], [1, 1]] + [[3, 0], [0, 0]] + weights.T + [[0, 1], [1, 1]]
    )


def test_other_things_come_back_as_they_are(level):
    c = np.arange(3.0)
    objects = np.array([1.0, 2.0], dtype=object)
    x = contad.var(POINT)
    assert contad.to_varmat(c) is c and contad.to_varmat(objects) is objects and contad.to_varmat(x) is x
    assert contad.to_matvar(c) is c and contad.to_matvar(objects) is objects and contad.to_matvar(2.0) == 2.0


def test_duals_have_both_kinds_too():
    def f(x):
        m = contad.to_matvar(x)
        assert m.dtype == object
        v = contad.to_varmat(m[::-1])
        assert isinstance(v, ArrayDual)
        v[0] = x[0] ** 2
        return np.sum(v * np.arange(1.0, 5.0)) + m[1] * m[2]

    slopes = [contad.jvp(f, (POINT,), (row,))[1] for row in np.eye(4)]
    np.testing.assert_allclose(slopes, [2 * POINT[0] + 4.0, 3.0 + POINT[2], 2.0 + POINT[1], 0.0])


def test_object_arrays_as_arguments_stay_object_arrays():
    def f(x):
        assert type(x) is np.ndarray and x.dtype == object
        y = np.multiply(x, 2.0)
        return np.sum(y * y) + x[0] * x[1]

    with opened(MatrixStack):
        slope = grad(f, engine="matrix")(POINT.astype(object))
    np.testing.assert_allclose(slope.astype(float), 8 * POINT + [POINT[1], POINT[0], 0.0, 0.0])


# ---- variables on the stack ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [float, np.float32, int, np.uint8])
def test_var_of_an_array(dtype, level):
    given = np.array([[1, 2], [3, 5]], dtype)
    x = contad.var(given)
    assert isinstance(x, ArrayVar) and x.dtype == np.float64
    x[0, 0] = 7.0
    assert given[0, 0] == 1
    given[1, 1] = 9
    assert x.value[1, 1] == 5.0
    (slope,) = contad.gradient(np.sum(x * x), [x[1]])
    np.testing.assert_allclose(slope, [6.0, 10.0])


@pytest.mark.parametrize("bad", [np.array([True]), np.array([1j]), np.array(["a"])])
def test_var_refuses_arrays_that_are_not_real(bad, level):
    with refused(UnsupportedError, match="var: expected real numbers"):
        contad.var(bad)


def test_var_of_an_array_of_scalar_engines_is_an_object_array():
    with opened(RecordStack):
        x = contad.var(POINT)
        assert type(x) is np.ndarray and [v.value for v in x] == POINT.tolist()


# ---- constants -------------------------------------------------------------------------------------------------------
def test_constant_is_an_owned_copy_that_nobody_can_write_to():
    given = np.arange(6.0).reshape(2, 3).T
    c = contad.constant(given)
    assert c.shape == (3, 2) and np.array_equal(c, given)
    given[0, 0] = 99.0
    assert c[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        c[0, 0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        c.flags.writeable = True
    assert contad.constant(2.0).shape == () and contad.constant([[]]).shape == (1, 0)
    assert contad.constant(np.array([1, 2], np.int8)).dtype == np.float64
    with pytest.raises((ValueError, TypeError), match="constant: x must"):
        contad.constant(["a"])


def test_constants_differentiate_like_arrays():
    c = contad.constant(np.arange(1.0, 17.0).reshape(4, 4))
    f = lambda x, c: np.sum((c @ x) * (x @ c) * c[1] + np.outer(x, x) * c)
    plain = np.arange(1.0, 17.0).reshape(4, 4)
    slope = grad(lambda x: f(x, c), engine="matrix")(POINT)
    np.testing.assert_allclose(slope, grad(lambda x: f(x, plain), engine="records")(POINT), rtol=1e-12)


# ---- arrays like a given one -----------------------------------------------------------------------------------------
def test_arrays_like_a_variable_belong_to_its_level(level):
    x = contad.var(POINT.reshape(2, 2))
    for make, wanted in ((np.zeros_like, 0.0), (np.ones_like, 1.0), (np.empty_like, 0.0)):
        a = make(x)
        assert isinstance(a, ArrayVar) and np.array_equal(a.value, np.full((2, 2), wanted))
        a[0, 0] = x[1, 1]
        (slope,) = contad.gradient(np.sum(a * a), [x])
        np.testing.assert_allclose(slope, [[0.0, 0.0], [0.0, 2 * POINT[3]]])
    assert np.zeros_like(x, dtype=int).dtype == int and type(np.zeros_like(x, dtype=bool)) is np.ndarray
    assert np.zeros_like(x, shape=(5,)).shape == (5,)
    full = np.full_like(x, x[0, 1])
    np.testing.assert_allclose(contad.gradient(np.sum(full), [x])[0], [[0.0, 4.0], [0.0, 0.0]])


def test_arrays_like_an_outer_variable_belong_to_the_outer_level(level):
    x = contad.var(POINT)

    def f(z):
        w = np.zeros_like(x)
        assert w._owner is level
        w[0] = x[1]
        here = np.zeros_like(z)
        here[:] = w
        here[1] = z[0]
        return np.sum(here * here * z)

    slope = grad(f, engine="matrix")(POINT)
    wanted = np.array([POINT[1] ** 2 + 2 * POINT[0] * POINT[1], POINT[0] ** 2, 0.0, 0.0])
    np.testing.assert_allclose(contad.value_of_rec(slope), wanted)
