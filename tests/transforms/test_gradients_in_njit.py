"""`contad.function_gradients` in Numba functions: the user's rule on every way, and what is no known function named."""

import re

import numba
import numpy as np
import pytest

import contad
from contad import function_gradients, grad, hessian, hvp, jvp, record
from contad.errors import RuleError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore:.*First-class function type")  # Numba's, at any tuple of functions

X, A = np.array([0.5, -0.7]), np.array([[1.0, 2.0], [0.3, 0.4], [0.1, -0.2]])


# ---- rules, of which those of derivatives are wrong by a factor, so that nothing else gives their numbers ------------
@numba.njit
def product(x, y):
    return np.sin(x) * y


@numba.njit
def by_x(z, d, x, y):
    return 3.0 * d * np.cos(x) * y


@numba.njit
def by_y(z, d, x, y):
    return d * np.sin(x)


@numba.njit
def applied(x, a):
    return a @ x


@numba.njit
def x_bar(z, d, x, a):
    return 2.0 * (a.T @ d)


@numba.njit
def x_dot(z, d, x, a):
    return 2.0 * (a @ d)


@numba.njit
def a_dot(z, d, x, a):
    return d @ x


@numba.njit
def a_bar(z, d, x, a):
    return np.outer(d, x)


GRADS = (by_x, by_y)


@numba.njit
def of_numbers(x, y):
    return x * function_gradients((x * x, y), product, (by_x, by_y))


@numba.njit
def of_arrays(x, a):
    z = contad.function_gradients((x * x, a), applied, rev=(x_bar, a_bar), fwd=(x_dot, a_dot))
    return np.sum(z * z)


@numba.njit
def with_zero(x, y):
    return x * function_gradients((x * x, y), product, rev=(None, by_y), fwd=(None, by_y))


@numba.njit
def of_a_global_tuple(x, y):
    return x * function_gradients((y, x), product, GRADS)


@numba.njit
def within(z, d, x, y):
    return d * of_numbers(x, y)


@numba.njit
def in_one_another(x, y):
    return function_gradients((x, y), of_numbers, (within, by_y))


@numba.njit
def scaled(z, d, x):
    return 4.0 * d * np.cos(x)


def make(scale):
    @numba.njit
    def scaled(z, d, x):
        return scale * d * np.cos(x)

    @numba.njit
    def f(x, y):
        return y * function_gradients((x * y,), np.sin, (scaled,))

    return f


NUMBERS = 0.5, 2.0
FUNCTIONS = {
    "numbers": (of_numbers, NUMBERS), "arrays": (of_arrays, (X, A)), "zero": (with_zero, NUMBERS),
    "a global tuple": (of_a_global_tuple, NUMBERS), "in one another": (in_one_another, NUMBERS),
    "of a closure": (make(5.0), NUMBERS), "of another one": (make(7.0), NUMBERS),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_rule_is_used_as_python_uses_it(name):
    f, args = FUNCTIONS[name]
    plain = f.py_func
    expected = grad(plain, (0, 1))(*args)
    np.testing.assert_allclose(f(*args), plain(*args), rtol=1e-14)
    for found in (
        grad(f, (0, 1), engine="generated")(*args),
        grad(f, (0, 1), engine="tape")(*args),
        grad(lambda x, y: f(x, y), (0, 1))(*args),
        grad(record(lambda x, y: f(x, y), *args), (0, 1))(*args),
    ):
        for part, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(part, right, rtol=1e-13)
    np.testing.assert_allclose(jvp(f, args, args)[1], jvp(plain, args, args)[1], rtol=1e-13)
    np.testing.assert_allclose(hvp(f)(*args, args[0]), hvp(plain)(*args, args[0]), rtol=1e-13)


def test_hessians_and_the_python_copy():
    np.testing.assert_allclose(hessian(of_arrays)(X, A), hessian(of_arrays.py_func)(X, A), rtol=1e-13)

    def third(f):
        return grad(lambda x: hvp(lambda x: f(x, 2.0))(x, 1.0))(0.5)  # of the copy

    np.testing.assert_allclose(third(of_numbers), third(of_numbers.py_func), rtol=1e-13)
    assert grad(of_numbers)(0.5, 2.0) == pytest.approx(np.sin(0.25) * 2.0 + 0.5 * 3.0 * np.cos(0.25) * 2.0 * 2.0 * 0.5)


@numba.njit
def of_lambdas(x):
    return x * function_gradients((x,), lambda x: np.sin(x), (lambda z, d, x: 3.0 * d * z,))


def test_lambdas_that_capture_nothing_run_on_the_tape():
    assert grad(of_lambdas)(0.5) == pytest.approx(grad(of_lambdas.py_func)(0.5), rel=1e-14)
    with pytest.raises(UnsupportedError, match="a function made inside .*; name functions that numba.njit made"):
        grad(of_lambdas, engine="generated")(0.5)


# ---- what is refused -------------------------------------------------------------------------------------------------
@numba.njit("float64(float64, float64, float64, float64)")
def declared_x(z, d, x, y):
    return d * y


@numba.njit("float64(float64, float64, float64, float64)")
def declared_y(z, d, x, y):
    return d * x


@numba.njit
def of_a_list(x):
    return function_gradients((x,), np.sin, [scaled])


@numba.njit
def of_declared(x):
    return function_gradients((x, x), product, (declared_x, declared_y))


@numba.njit
def of_no_tuple(x):
    return function_gradients(x, product, (by_x,))


@numba.njit
def of_too_few(x):
    return function_gradients((x, x), product, (by_x,))


@numba.njit
def of_wrong_arity(x):
    return function_gradients((x,), np.sin, (by_x,))


@numba.njit
def of_both(x):
    return function_gradients((x, x), product, (by_x, by_y), rev=(by_x, by_y))


@numba.njit
def forward_only(x):
    return function_gradients((x, x), product, fwd=(by_x, by_y))


@numba.njit
def of_capturing(x):
    return function_gradients((x,), np.sin, (lambda z, d, u: d * x,))


def of_python(z, d, x):
    return d * x


@numba.njit
def of_plain_python(x):
    return function_gradients((x,), np.sin, (of_python,))


NAMED = "function_gradients: product: "
REFUSED = {
    "by_name": (of_a_list, UnsupportedError, "function was expected, got list.*; name functions that numba.njit made"),
    "declared": (of_declared, UnsupportedError, "function was expected, got FunctionType.*; .* without signatures"),
    "args": (of_no_tuple, UnsupportedError, r"function_gradients: args must be a tuple, got float64; write \(x,\)"),
    "number": (of_too_few, RuleError, f"{NAMED}grads must have one function for each of 2 arguments, got 1"),
    "arity": (of_wrong_arity, RuleError, r"sin: grads\[0\] must take \(z, seed, argument 0\), got \(z, d, x, y\)"),
    "both": (of_both, RuleError, f"{NAMED}grads serves both modes; give grads alone, or rev and fwd"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_call_is_named(what):
    f, kind, message = REFUSED[what]
    with pytest.raises(kind, match=message):
        f(0.5)
    with pytest.raises(UnsupportedError) as told:
        grad(f, engine="tape")(0.5)
    assert "np.zeros" not in str(told.value)


def test_a_missing_mode_is_named_as_in_python():
    assert forward_only(0.5) == product(0.5, 0.5)
    assert jvp(forward_only, (0.5,), (1.0,)) == jvp(forward_only.py_func, (0.5,), (1.0,))
    for engine in ("generated", "tape", None):
        with pytest.raises(UnsupportedError, match=f"{NAMED}no reverse mode; give rev= with one function for each"):
            grad(forward_only, engine=engine)(0.5)


@pytest.mark.parametrize(
    ("f", "remedy"), [(of_capturing, "make the inner function outside"), (of_plain_python, "decorate of_python")]
)
def test_a_function_that_numba_does_not_know_is_told_what_to_do(f, remedy):
    with pytest.raises(UnsupportedError, match=re.escape(remedy)):
        grad(lambda x: f(x))(0.5)
