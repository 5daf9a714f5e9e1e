"""The engine `generated`: the programs of the benchmarks, errors, refusals."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from benchmarks import loops, loops_by_hand
from contad.engines.source import build, source
from contad.errors import UnsupportedError
from tests.engines.source.agreement import agree, as_python, flat, request
from tests.random_programs import generated_programs

# ---- the programs of the benchmarks ----------------------------------------------------------------------------------
PROBLEMS = loops.problems(0.01)


@pytest.mark.parametrize("name", PROBLEMS)
def test_programs_agree_with_the_eager_engine(name):
    function, args, argnums = PROBLEMS[name]
    agree(function, *args, argnums=argnums)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if hasattr(loops_by_hand, name)])
def test_programs_agree_with_gradients_by_hand(name):
    function, args, argnums = PROBLEMS[name]
    value, gradient = getattr(loops_by_hand, name).py_func(*args)
    got_value, got = as_python(request(function, *args, argnums=argnums))(*args)
    assert got_value == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(flat(got), flat(gradient), rtol=1e-9, atol=1e-11 * np.max(np.abs(flat(gradient))))


@pytest.mark.parametrize("name", ["rosenbrock", "logistic"])
def test_sums_over_independent_terms_store_nothing(name):
    function, args, argnums = PROBLEMS[name]
    assert "work" not in source(request(function, *args, argnums=argnums))


def test_source_is_deterministic():
    function, args, argnums = PROBLEMS["mixture"]
    asked = request(function, *args, argnums=argnums)
    assert source(asked) == source(asked)


# ---- arguments, errors, results --------------------------------------------------------------------------------------
X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])


@njit
def work_array(x, work):
    for i in range(len(x)):
        work[i] = x[i] * x[i] + work[i]
    return np.sum(work * x)


def test_an_argument_becomes_active_by_what_is_written_into_it():
    work = np.array([1.0, 2.0, -0.5, 0.3, 0.9])
    _, (gradient,) = as_python(request(work_array, X, work))(X, work)
    np.testing.assert_allclose(gradient, 3.0 * X * X + work)
    assert work[0] == 1.0


@njit
def entropy(p):
    s = 0.0
    for i in range(len(p)):
        t = p[i] * np.log(p[i])
        if p[i] > 0.0:
            s -= t
    return s


def test_an_infinite_partial_of_something_unused_is_no_nan():
    p = np.array([0.5, 0.0, 0.25])
    _, (gradient,) = build(request(entropy, p))(p)
    np.testing.assert_allclose(gradient, [-1.0 - math.log(0.5), 0.0, -1.0 - math.log(0.25)])


@njit
def quotient(x, y):
    return x / y


@njit(error_model="numpy")
def quotient_of_numpy(x, y):
    return x / y


def test_division_raises_where_the_function_raises():
    run = build(request(quotient, 1.0, 2.0, argnums=(0, 1)))
    assert run(1.0, 2.0) == (0.5, (0.5, -0.25))
    with pytest.raises(ZeroDivisionError):
        run(1.0, 0.0)
    assert build(request(quotient_of_numpy, 1.0, 2.0))(1.0, 0.0)[0] == math.inf


@njit
def checked(x, limit):
    assert limit > 0.0, "limit must be positive"
    s = 0.0
    for v in x:
        if v > limit:
            raise ValueError("too large")
        s += v * v
    return s


def test_errors_of_the_function_are_raised():
    run = build(request(checked, X, 2.0))
    np.testing.assert_allclose(run(X, 2.0)[1][0], 2.0 * X)
    with pytest.raises(ValueError, match="too large"):
        run(X, 1.0)
    with pytest.raises(AssertionError, match="limit must be positive"):
        run(X, -1.0)


@njit
def with_aux(pair, x):
    a, b = pair
    u = x * a
    return np.sum(u * u) * b, (u, len(x))


def test_tuples_and_aux():
    asked = request(with_aux, (2.0, 3.0), X, argnums=(0, 1), has_aux=True)
    for run in (as_python(asked), build(asked)):
        (value, (u, n)), ((da, db), dx) = run((2.0, 3.0), X)
        total = np.sum(X * X)
        np.testing.assert_allclose([value, da, db], [12.0 * total, 12.0 * total, 4.0 * total])
        np.testing.assert_allclose(dx, 24.0 * X)
        np.testing.assert_allclose(u, 2.0 * X)
        assert n == 5


# ---- refusals --------------------------------------------------------------------------------------------------------
def refused(body):
    """A function with this body, in a file of its own."""
    text = "@njit\ndef f(x, a):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return generated_programs.namespace(text, f"refused {hash(body)}")["f"]


REFUSALS = {
    "d = {0: a}\nd.popitem()\nreturn a": (4, "'d.popitem()' of a dict"),
    "d = []\nreturn a": (3, "an empty list"),
    "try:\n    a = math.factorial(3) * a\nexcept Exception:\n    a = 2.0\nreturn a": (4, "factorial"),
    "return a + x[x]": (3, "the index 'x'"),
    "for i in range(3):\n    u = x * a\nreturn u[0]": (5, "made inside the loop"),
    "yield a": (3, "generator"),
    "y = [a, 2.0]\nreturn y[:][0]": (4, "'y[:]', a part of a list"),
    "return f(x, a)": (3, "recursive function f"),
    "return b": (3, "the name b is not defined"),
    "return open('x')": (3, "the call of 'open'"),
    "a += 1": (1, "returns nothing"),
}


@pytest.mark.parametrize("body", REFUSALS)
def test_refusals_name_file_line_and_construct(body):
    line, construct = REFUSALS[body]
    with pytest.raises(UnsupportedError) as caught:
        source(request(refused(body), X, 1.0))
    message = str(caught.value)
    assert message.startswith(f"<program refused {hash(body)}>:{line}: f: "), message
    assert construct in message
    assert ";" in message  # what to do


# ---- vjp -------------------------------------------------------------------------------------------------------------
@njit
def several(x, a):
    u = x * a
    for i in range(1, len(x)):
        u[i] = u[i - 1] * math.sin(x[i]) + a
    return u, np.sum(u) * a, x


def test_vjp_of_several_results():
    z_bar = (np.arange(1.0, 6.0), 0.5, np.linspace(0.1, 0.9, 5))
    _, pullback = contad.vjp(several, X, 0.7, engine="generated")
    _, expected = contad.vjp(several, X, 0.7, engine="records")
    for got, wanted in zip(pullback(z_bar), expected(z_bar), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
