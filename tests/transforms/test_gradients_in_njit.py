"""`contad.function_gradients` in Numba functions: the user's rule on every way, and what is no known function named."""

import re

import numba
import numpy as np
import pytest

import contad
from contad import function_gradients, grad, hessian, hvp, jvp, record
from contad.errors import RuleError, UnsupportedError
from tests.judges.written import function_of, numba_functions

pytestmark = pytest.mark.filterwarnings("ignore:.*First-class function type")  # Numba's, at any tuple of functions

X, A = np.array([0.5, -0.7]), np.array([[1.0, 2.0], [0.3, 0.4], [0.1, -0.2]])


# ---- rules, of which those of derivatives are wrong by a factor, so that nothing else gives their numbers ------------
SEED, FOUR = "z, d, x, y", "float64(float64, float64, float64, float64)"
KNOWN = {
    "__name__": __name__, "np": np, "contad": contad, "function_gradients": function_gradients,
    "of_python": function_of("d * x", {"__name__": __name__}, "of_python(z, d, x)"),
}  # fmt: skip
F = numba_functions({
    "product(x, y)": "np.sin(x) * y",
    f"by_x({SEED})": "3.0 * d * np.cos(x) * y",
    f"by_y({SEED})": "d * np.sin(x)",
    f"declared_x({SEED})": ("d * y", FOUR),
    f"declared_y({SEED})": ("d * x", FOUR),
    "scaled(z, d, x)": "4.0 * d * np.cos(x)",
    "applied(x, a)": "a @ x",
    "x_bar(z, d, x, a)": "2.0 * (a.T @ d)",
    "x_dot(z, d, x, a)": "2.0 * (a @ d)",
    "a_dot(z, d, x, a)": "d @ x",
    "a_bar(z, d, x, a)": "np.outer(d, x)",
    "of_arrays(x, a)":
        "z = contad.function_gradients((x * x, a), applied, rev=(x_bar, a_bar), fwd=(x_dot, a_dot)); np.sum(z * z)",
    "of_numbers(x, y)": "x * function_gradients((x * x, y), product, (by_x, by_y))",
    "with_zero(x, y)": "x * function_gradients((x * x, y), product, rev=(None, by_y), fwd=(None, by_y))",
    f"within({SEED})": "d * of_numbers(x, y)",
    "in_one_another(x, y)": "function_gradients((x, y), of_numbers, (within, by_y))",
    "of_lambdas(x)": "x * function_gradients((x,), lambda x: np.sin(x), (lambda z, d, x: 3.0 * d * z,))",
    "forward_only(x)": "function_gradients((x, x), product, fwd=(by_x, by_y))",
}, KNOWN)  # fmt: skip
KNOWN |= vars(F) | {"GRADS": (F.by_x, F.by_y)}
F.of_a_global_tuple = numba.njit(
    function_of("x * function_gradients((y, x), product, GRADS)", KNOWN, "of_a_global_tuple(x, y)")
)


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
    "numbers": (F.of_numbers, NUMBERS), "arrays": (F.of_arrays, (X, A)), "zero": (F.with_zero, NUMBERS),
    "a global tuple": (F.of_a_global_tuple, NUMBERS), "in one another": (F.in_one_another, NUMBERS),
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
    np.testing.assert_allclose(hessian(F.of_arrays)(X, A), hessian(F.of_arrays.py_func)(X, A), rtol=1e-13)

    def third(f):
        return grad(lambda x: hvp(lambda x: f(x, 2.0))(x, 1.0))(0.5)  # of the copy

    np.testing.assert_allclose(third(F.of_numbers), third(F.of_numbers.py_func), rtol=1e-13)
    by_hand = np.sin(0.25) * 2.0 + 0.5 * 3.0 * np.cos(0.25) * 2.0 * 2.0 * 0.5
    assert grad(F.of_numbers)(0.5, 2.0) == pytest.approx(by_hand)


def test_lambdas_that_capture_nothing_run_on_the_tape():
    assert grad(F.of_lambdas)(0.5) == pytest.approx(grad(F.of_lambdas.py_func)(0.5), rel=1e-14)
    with pytest.raises(UnsupportedError, match="a function made inside .*; name functions that numba.njit made"):
        grad(F.of_lambdas, engine="generated")(0.5)


# ---- what is refused -------------------------------------------------------------------------------------------------
NAMED = "function_gradients: product: "
REFUSED = {
    "by_name": ("(x,), np.sin, [scaled]", UnsupportedError,
                "function was expected, got list.*; name functions that numba.njit made"),
    "declared": ("(x, x), product, (declared_x, declared_y)", UnsupportedError,
                 "function was expected, got FunctionType.*; .* without signatures"),
    "args": ("x, product, (by_x,)", UnsupportedError,
             r"function_gradients: args must be a tuple, got float64; write \(x,\)"),
    "number": ("(x, x), product, (by_x,)", RuleError,
               f"{NAMED}grads must have one function for each of 2 arguments, got 1"),
    "arity": ("(x,), np.sin, (by_x,)", RuleError,
              r"sin: grads\[0\] must take \(z, seed, argument 0\), got \(z, d, x, y\)"),
    "both": ("(x, x), product, (by_x, by_y), rev=(by_x, by_y)", RuleError,
             f"{NAMED}grads serves both modes; give grads alone, or rev and fwd"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_call_is_named(what):
    given, kind, message = REFUSED[what]
    f = numba_functions({"f(x)": f"function_gradients({given})"}, KNOWN).f
    with pytest.raises(kind, match=message):
        f(0.5)
    with pytest.raises(UnsupportedError) as told:
        grad(f, engine="tape")(0.5)
    assert "np.zeros" not in str(told.value)


def test_a_missing_mode_is_named_as_in_python():
    assert F.forward_only(0.5) == F.product(0.5, 0.5)
    assert jvp(F.forward_only, (0.5,), (1.0,)) == jvp(F.forward_only.py_func, (0.5,), (1.0,))
    for engine in ("generated", "tape", None):
        with pytest.raises(UnsupportedError, match=f"{NAMED}no reverse mode; give rev= with one function for each"):
            grad(F.forward_only, engine=engine)(0.5)


@pytest.mark.parametrize(
    ("grads", "remedy"),
    [("lambda z, d, u: d * x,", "make the inner function outside"), ("of_python,", "decorate of_python")],
)
def test_a_function_that_numba_does_not_know_is_told_what_to_do(grads, remedy):
    f = numba_functions({"f(x)": f"function_gradients((x,), np.sin, ({grads}))"}, KNOWN).f
    with pytest.raises(UnsupportedError, match=re.escape(remedy)):
        grad(lambda x: f(x))(0.5)
