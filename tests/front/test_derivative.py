"""Gradients of Numba functions, called from Python."""

import numba
import numpy as np
import pytest

import contad
from contad.compile.dispatchers import is_dispatcher
from contad.engines import CompiledEngine
from contad.errors import OutputError, OverlapError, UnsupportedError
from contad.front.derivative import Derivative
from contad.transforms import gradients
from tests.front import kernels
from tests.front.kernels import (
    Point,
    X,
    Y,
    asserted,
    counted,
    first_squares,
    guarded,
    is_positive,
    of_pair,
    of_point,
    overwrites,
    overwrites_by_hand,
    power,
    quiet_quotient,
    quotient,
    several,
    square,
    weighted,
    weighted_by_hand,
    with_aux,
    writes_only,
)


@pytest.fixture(params=["generated", "tape"])
def asked(request, monkeypatch):
    """Each compiled engine alone, on functions of which nothing has been made."""
    of_functions = [f.__dict__ for f in vars(kernels).values() if is_dispatcher(f)]
    for names in of_functions:
        monkeypatch.setitem(names, "__contad__", (None, {}))
    monkeypatch.setattr("contad.front.derivative.COMPILED", (request.param,))
    return request.param


on_each_engine = pytest.mark.usefixtures("asked")


@pytest.fixture
def no_eager(monkeypatch):
    """Calls that fall back to the eager engine fail."""

    def refuse(*args, **options):
        raise AssertionError("the eager engine was asked")

    monkeypatch.setattr(Derivative, "_run_eager", refuse)
    monkeypatch.setattr(gradients, "enter", refuse)


@pytest.fixture
def refusing(monkeypatch, tmp_path):
    """The compiled engines refuse everything; the list of what they were asked."""
    asked = []

    def build(request):
        asked.append(request)
        raise UnsupportedError("model.py:7: sorted(x) has no derivative; sort before")

    contad.grad(lambda x: np.sum(x * x))(X)  # what the eager engine compiles is loaded from the usual place
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))  # where refusals are remembered
    tmp_path.chmod(0o700)
    monkeypatch.setattr("contad.front.choice.compiled_engine", lambda name: CompiledEngine(build, None))
    return asked


def fresh(f):
    """The same function without the derivatives that have been made of it."""
    return numba.njit(f.py_func)


def same(got, expected):
    assert type(got) is type(expected)
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same(a, b)
    else:
        assert np.asarray(got).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(got, expected, rtol=1e-13)


@on_each_engine
def test_arguments_by_position_by_name_and_by_default(no_eager):
    g_x, g_y, g_scale = weighted_by_hand(X, Y)
    same(contad.grad(weighted)(X, Y), g_x)
    same(contad.grad(weighted)(X, Y, scale=3.0), weighted_by_hand(X, Y, 3.0)[0])
    same(contad.grad(weighted)(y=Y, x=X), g_x)
    same(contad.grad(weighted, 1)(X, Y), g_y)
    same(contad.grad(weighted, 2)(X, Y), float(g_scale))
    same(contad.grad(weighted, (2, 0))(X, Y), (float(g_scale), g_x))
    same(contad.value_and_grad(weighted, (0,))(X, Y), (weighted(X, Y), (g_x,)))


@on_each_engine
def test_integers_and_single_precision_become_float64(no_eager):
    gradient = contad.grad(weighted)
    same(gradient(np.array([1, 2, 3]), Y), weighted_by_hand(X, Y)[0])
    same(gradient(X.astype(np.float32), Y), weighted_by_hand(X, Y)[0])
    same(contad.grad(power)(3, 2), 6.0)
    same(contad.grad(power)(np.float32(1.5), 2), 3.0)
    same(contad.grad(power)(np.float64(1.5), 3), 6.75)


@on_each_engine
def test_names_of_arguments_are_free(no_eager):
    @numba.njit
    def f(run, z, grads, np, float):
        return run * z * np + grads * float

    same(contad.grad(f, (0, 1))(2, 3.0, 5, np=7.0, float=1), (21.0, 14.0))


@on_each_engine
def test_tuples(no_eager):
    same(contad.grad(of_pair)((2.0, np.array([3.0, 5.0]))), (12.0, np.array([4.0, 1.0])))
    same(contad.grad(of_pair)((2, np.array([3, 5]))), (12.0, np.array([4.0, 1.0])))


def test_named_tuples(no_eager):
    same(contad.grad(of_point)(Point(2.0, 3.0)), Point(12.0, 4.0))


@on_each_engine
def test_extra_results(no_eager):
    gradient, (count, total) = contad.grad(with_aux, has_aux=True)(X)
    same(gradient, 2 * X)
    assert count == 3 and total == pytest.approx(np.sum(X**2) + 1.0)
    (value, aux), gradient = contad.value_and_grad(with_aux, has_aux=True)(X)
    assert value == pytest.approx(np.sum(X**2)) and aux == (3, total)
    same(gradient, 2 * X)


@on_each_engine
def test_a_value_is_a_float(no_eager):
    same(contad.value_and_grad(counted, has_aux=True)(X), ((3.0, 3), np.zeros(3)))


@on_each_engine
def test_arguments_are_left_as_they_were_and_results_are_the_callers(no_eager):
    x, y = X.copy(), Y.copy()
    g_x, g_y = contad.grad(overwrites, (0, 1))(x, y)
    same((g_x, g_y), overwrites_by_hand(X, Y))
    same((x, y), (X, Y))
    again, _ = contad.grad(overwrites, (0, 1))(x, y)
    assert not np.shares_memory(g_x, again) and g_x.flags.writeable


@on_each_engine
def test_strided_and_read_only_arrays(no_eager):
    gradient = contad.grad(weighted)
    long = np.repeat(X, 2)
    same(gradient(long[::2], Y[::-1]), weighted_by_hand(X, Y[::-1])[0])
    frozen = X.copy()
    frozen.flags.writeable = False
    same(gradient(frozen, Y), weighted_by_hand(X, Y)[0])


# ---- overlap ---------------------------------------------------------------------------------------------------------
@on_each_engine
@pytest.mark.parametrize(("first", "second"), [
    (slice(0, 3), slice(0, 3)),
    (slice(0, 3), slice(2, 5)),
    (slice(3, 0, -1), slice(0, 3)),
    (slice(0, 6, 2), slice(4, 7)),
])  # fmt: skip
def test_overlapping_arguments_that_are_written_to_are_refused(first, second):
    c = np.arange(1.0, 8.0)
    with pytest.raises(OverlapError, match="grad: overwrites: x and y overlap in memory.*pass copies"):
        contad.grad(overwrites)(c[first], c[second])
    assert c.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    same(contad.grad(overwrites)(c[first], c[second].copy()), overwrites_by_hand(c[first], c[second])[0])


@on_each_engine
def test_neighbours_in_memory_do_not_overlap():
    c = np.arange(1.0, 7.0)
    same(contad.grad(overwrites)(c[:3], c[3:]), overwrites_by_hand(c[:3], c[3:])[0])
    same(contad.grad(overwrites)(c[:0], c[:0]), np.zeros(0))


@on_each_engine
def test_overlapping_arguments_that_are_only_read_are_taken():
    same(contad.grad(weighted)(X, X), weighted_by_hand(X, X)[0])


# ---- errors ----------------------------------------------------------------------------------------------------------
@on_each_engine
def test_errors_of_the_function_are_raised():
    assert contad.grad(guarded)(4.0) == pytest.approx(3.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="x must not be negative"):
            contad.grad(guarded)(-1.0)
    assert contad.grad(guarded)(4.0) == pytest.approx(3.0)


@on_each_engine
@pytest.mark.parametrize(("f", "good", "gradient", "bad"), [
    (quotient, (1.0, 2.0), 1.5, [(1.0, 0.0)]),
    (first_squares, (X, 2), [1.4, -2.4, 0.0], [(X, 4), (X[:0].copy(), 1)]),
    (asserted, (2.0,), 0.5, [(-1.0,), (10.0,)]),
])  # fmt: skip
def test_it_raises_where_the_function_does(f, good, gradient, bad):
    for args in bad:
        with pytest.raises(Exception) as expected:
            f(*args)
        with pytest.raises(expected.type) as raised:
            contad.grad(f)(*args)
        assert raised.value.args == expected.value.args
        assert contad.grad(f)(*good) == pytest.approx(gradient)


@on_each_engine
def test_division_by_zero_follows_the_error_model():
    assert contad.grad(quiet_quotient, (0, 1))(1.0, 0.0) == (np.inf, -np.inf)


@on_each_engine
@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: contad.grad(writes_only)(X), OutputError, "writes_only returned None; return the value to differ"),
    (lambda: contad.grad(several)(X, 2.0), OutputError, "must return one real number"),
    (lambda: contad.grad(is_positive)(1.0), OutputError, "must return one real number, got bool"),
    (lambda: contad.grad(weighted, 3)(X, Y), TypeError, r"argnums \(3,\) out of range for 3 positional"),
    (lambda: contad.grad(weighted)(X), TypeError, "not enough arguments|missing"),
    (lambda: contad.grad(power)(1j, 2), OutputError, "got a complex one|returned a complex number"),
    (lambda: contad.grad(power)(True, 2), UnsupportedError, "got bool"),
    (lambda: contad.grad(power)("2", 2), UnsupportedError, "got str"),
    (lambda: contad.grad(lambda x: x, engine="tape"), UnsupportedError, "'tape' differentiates functions made by"),
])  # fmt: skip
def test_malformed_calls_are_named(call, error, message):
    for _ in range(2):
        with pytest.raises(error, match=message):
            call()


# ---- the eager engine ------------------------------------------------------------------------------------------------
def test_refused_functions_run_on_the_eager_engine(refusing):
    for k in (1, 1):
        f = fresh(weighted)
        same(contad.grad(f)(X, Y), weighted_by_hand(X, Y)[0])
        assert contad.grad(f)(X, y=Y) == pytest.approx(weighted_by_hand(X, Y)[0])
        assert len(refusing) == 2 * k  # remembered on disk
    assert contad.vjp(f, X, Y, 2.0)[1](1.0)[1] == pytest.approx(weighted_by_hand(X, Y)[1])
    assert contad.jvp(f, (X, Y, 2.0), (X, Y, 0.0))[1] == pytest.approx(3 * (weighted(X, Y) - np.exp(0.5)))
    assert contad.explain(f, X, Y) == (
        "grad: weighted(array(float64, 1d, C), array(float64, 1d, C), 2.0): engine matrix, on a Python copy of the "
        "function\n  engine generated refuses it: model.py:7: sorted(x) has no derivative; sort before\n"
        "  engine tape refuses it: model.py:7: sorted(x) has no derivative; sort before"
    )
    with pytest.raises(UnsupportedError, match="grad: weighted: engine tape refuses it: model.py:7: sorted"):
        contad.grad(f, engine="tape")(X, Y)

    @numba.njit
    def caller(x, y):
        return contad.grad(f)(x, y)

    with pytest.raises(UnsupportedError, match="weighted: engine generated refuses it: model.*engine tape refu"):
        caller(X, Y)


def test_arrays_of_objects_run_on_the_eager_engine():
    assert contad.grad(weighted)(X.astype(object), Y) == pytest.approx(weighted_by_hand(X, Y)[0])


def test_any_number_of_arguments_runs_on_the_eager_engine():
    @numba.njit
    def product(x, *factors):
        for k in range(len(factors)):
            x = x * factors[k]
        return x * x

    assert contad.grad(product)(2.0, 3.0, 4.0) == pytest.approx(2 * 2.0 * 144.0)


def test_an_outer_gradient_runs_on_the_eager_engine():
    inner = contad.grad(power)
    assert contad.grad(inner)(2.0, 4) == pytest.approx(48.0)
    assert contad.jvp(contad.grad(guarded), (4.0,), (1.0,))[1] == pytest.approx(0.375)
    assert contad.derivative(contad.grad(inner))(2.0, 4) == pytest.approx(48.0)
    same(contad.jacobian(contad.grad(weighted, 1))(X, Y), np.diag(4.0 * Y))
    same(contad.jacobian(contad.grad(weighted, 1), 1)(X, Y), np.diag(4.0 * X))
    assert contad.grad(lambda x: contad.grad(power)(x, 3) * x)(2.0) == pytest.approx(36.0)


# ---- vjp and jvp -----------------------------------------------------------------------------------------------------
@on_each_engine
def test_vjp(no_eager):
    value, pullback = contad.vjp(several, X, 2.0)
    same(value[0], 2 * X**2)
    assert value[1:] == (pytest.approx(2 * X.sum()), 3)
    x_bar, k_bar = pullback((Y, 0.5, 0.0))
    same(x_bar, 4 * X * Y + 1.0)
    assert k_bar == pytest.approx(np.sum(X**2 * Y) + 0.5 * X.sum())
    with pytest.raises(TypeError, match="vjp: several: the cotangent must have the structure of the result"):
        pullback(Y)
    with pytest.raises(TypeError, match="its result's shape"):
        pullback((Y[:2], 0.5, 0.0))


@numba.njit
def repeated(x, n):
    rows = np.empty((n, x.shape[0]))
    for i in range(n):
        rows[i] = x
    return rows


def test_vjp_names_integers_that_cannot_be_floats():
    with pytest.raises(
        UnsupportedError, match="vjp: repeated: every argument is .* the integers of argument 1; capture"
    ):
        contad.vjp(repeated, X, 2)
    _, pullback = contad.vjp(lambda x: repeated(x, 2), X)
    np.testing.assert_allclose(pullback(np.arange(1.0, 7.0).reshape(2, 3))[0], [5.0, 7.0, 9.0])


def test_jvp_names_integers_that_cannot_be_floats():
    with pytest.raises(UnsupportedError, match=r"jvp: power: every argument is .* argument 1; capture .* contad.jvp\("):
        contad.jvp(power, (2.0, 3), (1.0, 0.0))
    with pytest.raises(UnsupportedError, match="a variable is a real number, no index or count; leave that argument"):
        contad.linearize(power, 2.0, 3)


@on_each_engine
def test_vjp_keeps_the_arguments_it_was_given(no_eager):
    x = X.copy()
    _, pullback = contad.vjp(overwrites, x, Y)
    x[:] = 0.0
    same(pullback(1.0), overwrites_by_hand(X, Y))


def test_jvp(no_eager):
    z, z_dot = contad.jvp(weighted, (X, Y), (Y, np.ones(3)))
    g_x, g_y, _ = weighted_by_hand(X, Y)
    assert z == pytest.approx(weighted(X, Y)) and z_dot == pytest.approx(g_x @ Y + g_y.sum())
    with pytest.raises(ValueError, match="jvp: weighted: a tangent must have its primal's shape"):
        contad.jvp(weighted, (X, Y), (Y, np.ones(2)))


def test_derivative(no_eager):
    _, _, g_scale = weighted_by_hand(X, Y, 3.0)
    for args, names in (((X, Y, 3.0), {}), ((X, Y), {"scale": 3.0}), ((X,), {"y": Y, "scale": 3.0})):
        assert contad.derivative(weighted, 2)(*args, **names) == pytest.approx(g_scale)
    assert contad.derivative(power)(2.0, n=3) == contad.derivative(power)(2, 3) == 12.0
    assert contad.derivative(fresh(square))(3.0) == 6.0


def test_transforms_of_a_pullback_and_of_a_tangent():
    assert contad.grad(lambda x: contad.jvp(guarded, (x,), (1.0,))[1])(4.0) == pytest.approx(0.375)
    assert contad.grad(lambda x: contad.vjp(guarded, x)[1](1.0)[0])(4.0) == pytest.approx(0.375)
    assert contad.grad(lambda x: contad.vjp(guarded, x)[1](x)[0])(4.0) == pytest.approx(4.5)


# ---- which engine ----------------------------------------------------------------------------------------------------
def test_explain_tells_the_engine_and_why():
    text = contad.explain(weighted, X, Y)
    assert text.startswith("grad: weighted(array(float64, 1d, C), array(float64, 1d, C), 2.0): engine generated\n")
    text = contad.explain(contad.grad(weighted, engine="tape"), X, Y)
    assert ": engine tape\n" in text and text.count("argument") == 1
    assert contad.explain(lambda x: x * 2.0, 1.0).partition("\n")[0].endswith("<lambda>: engine matrix, on variables")
    seen = []
    contad.grad(lambda x: seen.append(contad.explain(power, x, 2)) or x)(2.0)
    assert "compiled engines take first derivatives only" in seen[0]


def test_the_engine_is_named():
    assert contad.engine_name(weighted) == contad.engine_name(weighted, args=(X, Y)) == "generated"
    assert contad.engine_name(contad.grad(weighted, (0, 1), engine="tape"), args=(X, Y)) == "tape"
    assert (
        contad.engine_name(weighted, "matrix") == contad.engine_name(weighted, args=(X.astype(object), Y)) == "matrix"
    )


@on_each_engine
def test_a_call_compiles_once_per_types():
    derivative = contad.grad(fresh(power))
    for x in (2.0, 3.0, 2, 3):
        derivative(x, 3)
    assert len(derivative.signatures) == 2


# ---- calls from plain functions --------------------------------------------------------------------------------------
@numba.njit
def square_of(x):
    return x * x


def test_elements_of_arrays_reach_the_compiled_derivative(monkeypatch):
    """NumPy's numbers, as elements are, do not run the Python copy, which is a thousand times as slow."""

    def refuse(*args, **options):
        raise AssertionError("the Python copy")

    monkeypatch.setattr("contad.front.numba_calls.checked_twin", refuse)
    found = contad.grad(lambda p: square_of(p[0]) * p[1] + square_of(np.sum(p)))(np.array([2.5, 0.5]))
    np.testing.assert_allclose(found, [8.5, 12.25], rtol=1e-15)


def test_all_arguments_of_a_starred_name_can_be_differentiated():
    """They are those of the call, as of plain functions; a Python copy answers."""

    @numba.njit
    def product(*a):
        return a[0] * a[1] * a[1]

    @numba.njit
    def scaled(x, *a):
        return x * a[0] * a[1]

    assert contad.grad(product, (0, 1))(3.0, 2.0) == (4.0, 12.0)
    assert contad.grad(product, 1)(3.0, 2.0) == 12.0
    assert contad.grad(scaled, (0, 2))(3.0, 2.0, 5.0) == (10.0, 6.0)
    with pytest.raises(TypeError, match=r"argnums \(2,\) out of range for 2 positional"):
        contad.grad(product, 2)(3.0, 2.0)
    assert "any number of arguments (*args) are not compiled; name them" in contad.explain(product, 3.0, 2.0)
