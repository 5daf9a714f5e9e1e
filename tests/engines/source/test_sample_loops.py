"""np.cov, np.corrcoef and np.vander in Numba functions, by all arguments that Numba takes."""

import linecache

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import UnsupportedError
from tests.engines.source.plain_text import generate
from tests.judges.samples import sampled

CALLS = [
    "np.cov(m)", "np.cov(m, rowvar=False)", "np.cov(m, bias=True)", "np.cov(m, ddof=2)", "np.cov(m, None)",
    "np.cov(m, n)", "np.cov(m.T, n.T, False)", "np.cov(m, n, True, False, 2)", "np.cov(m, v)",
    "np.cov(v, m, bias=True)", "np.cov(v, w)", "np.cov(m, v, ddof=0)", "np.cov(v, m, True, False, 2)",
    "np.corrcoef(m, rowvar=False)", "np.corrcoef(m, n)",
    "np.corrcoef(m, v)", "np.corrcoef(v, m)", "np.vander(v)", "np.vander(v, 3)", "np.vander(v, increasing=True)",
    "np.vander(v, 3, True)", "np.vander(v, 0)",
]  # fmt: skip
X, DATA = np.array([0.7, 1.31, 2.1, -0.4, 0.9]), np.array([0.5, 2.0, -1.0, 0.25, 3.0])
NUMBERS = np.random.default_rng(3).normal(size=20)


def call_with_samples(call):
    """A sum over what a call gives of matrices m, n and vectors v, w, as a Numba function of their numbers."""
    text = (
        "def f(x):\n    m, n, v, w = x[:12].reshape((3, 4)), x[12:].reshape((2, 4)), x[:4], x[4:8]\n"
        f"    z = {call}\n"
        "    return np.sum(np.outer(np.arange(z.shape[0]) + 1.0, np.arange(z.shape[1]) - 0.3) * z)\n"
    )
    name, known = f"<{call}>", {"np": np}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), known)
    return njit(known["f"])


@pytest.mark.parametrize("call", sampled(CALLS, 6, family=lambda call: call.partition("(")[0]))
def test_the_text_agrees_with_numpy_and_with_the_rules_of_its_functions(call):
    f = call_with_samples(call)
    value, (gradient,) = generate(f, (NUMBERS,), (0,))(NUMBERS)
    expected, derivative = contad.value_and_grad(f.py_func)(NUMBERS)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-14)
    np.testing.assert_allclose(gradient, derivative, rtol=1e-10, atol=1e-13)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["generated", "tape"])
@pytest.mark.parametrize("call", CALLS)
def test_compiled_code_agrees(call, engine):
    f = call_with_samples(call)
    value, gradient = contad.value_and_grad(f, engine=engine)(NUMBERS)
    assert value == pytest.approx(f(NUMBERS), rel=1e-12, abs=1e-14)
    np.testing.assert_allclose(gradient, contad.grad(f.py_func)(NUMBERS), rtol=1e-10, atol=1e-13)


def test_of_a_vector_there_is_an_array_of_no_axes():
    @njit
    def f(x):
        return np.cov(x) * x[0] + np.corrcoef(x) * x[1] + np.cov(x, bias=True) * x[2] + np.cov(x, ddof=2) * x[3]

    value, (gradient,) = generate(f, (X,), (0,))(X)
    expected, derivative = contad.value_and_grad(f.py_func)(X)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, derivative, rtol=1e-12)


@pytest.mark.parametrize(
    ("engine", "said"), [("generated", r"the arguments of 'np.cov\(rows, aweights=d\)'"), ("tape", r"np.cov\(rows, aw")]
)
def test_what_numba_has_not_of_a_covariance_is_refused(engine, said):
    @njit
    def f(x, d):
        rows = np.outer(x, x)
        return np.cov(rows, aweights=d)[0, 1]

    with pytest.raises(UnsupportedError, match=said):
        contad.grad(f, engine=engine)(X, DATA)


@pytest.mark.long
def test_a_single_row_has_no_covariance_as_in_numba():
    @njit
    def f(x):
        return np.cov(x.reshape((1, 5)))[0, 0]

    for called in (f, contad.grad(f, engine="generated")):
        with pytest.raises(RuntimeError, match="single row is unsupported"):
            called(X)


