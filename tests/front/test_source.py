"""`contad.source` and `contad.explain`: the generated source as a user gets it, and what they are told about it."""

import linecache
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

import contad
from benchmarks.loops import problems
from contad.errors import UnsupportedError
from tests.front.generated import run_of
from tests.front.kernels import X, Y, of_pair, recurrence, several, square, weighted, weighted_by_hand, with_aux
from tests.judges.samples import sampled

SHORT = np.array([1.5, -0.5, 2.0, np.inf, -np.inf, np.nan])
LONG = np.arange(100.0)
PROBLEMS = problems(0.01)


@numba.njit
def reads_arrays(x, n):
    for i in range(n):
        x[i % 3] = np.sin(x[i % 3]) * SHORT[i % 3] + LONG[i]
    return contad.gammaln(x[0])


# ---- the text --------------------------------------------------------------------------------------------------------
def test_it_runs_as_plain_python():
    run = run_of(contad.source(weighted, X, Y, argnums=(0, 1, 2), scale=3.0))
    value, gradients = run(X, Y, 3.0)
    assert value == pytest.approx(weighted(X, Y, 3.0))
    for got, expected in zip(gradients, weighted_by_hand(X, Y, 3.0), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_global_arrays_rules_and_the_workspace_come_with_it():
    text = contad.source(reads_arrays, X, 5)
    assert "np.array([1.5, -0.5, 2.0, np.inf, -np.inf, np.nan]" in text and f"from {__name__} import LONG" in text
    value, (gradient,) = run_of(text)(X, 5)
    x = X.copy()
    assert value == pytest.approx(reads_arrays(x, 5))
    np.testing.assert_allclose(gradient, contad.grad(reads_arrays, engine="tape")(X, 5), rtol=1e-12)


def test_a_captured_array_that_cannot_be_named_is_told_of():
    def around(data):
        @numba.njit
        def f(x):
            return x * data[2]

        return f

    text = contad.source(around(LONG + 1.0), 2.0)
    assert "is an array of float64, shape (100,), which f reads" in text


def test_it_has_the_users_names_and_lines():
    text = contad.source(weighted, X, Y)
    assert "total +=" in text and "for i in range(" in text
    line = weighted.py_func.__code__.co_firstlineno + 5
    assert f"# line {line}\n" in text
    assert "total += x[i]" in linecache.getline(weighted.py_func.__code__.co_filename, line)


DIGESTS = """
import hashlib
import numpy as np
from contad import source
from benchmarks.comparison.programs.densities import student_compiled
from benchmarks.loops import problems
found = {**problems(0.01), "density": (student_compiled, (np.ones(2), 2.0, np.ones((3, 2)), np.zeros(3)), (0, 1))}
digests = {name: hashlib.sha256(source(f, *args, argnums=k).encode()).hexdigest()
           for name, (f, args, k) in found.items()}
print(digests)
"""


def test_it_is_the_same_in_every_process():
    found = []
    for seed in ("1", "2"):  # of the hashes of text, and so of the order of sets
        environment = dict(os.environ, PYTHONHASHSEED=seed, PYTHONPATH=os.pathsep.join(sys.path))
        other = subprocess.run(
            [sys.executable, "-c", DIGESTS], env=environment, capture_output=True, text=True, check=True, timeout=300
        )
        found.append(eval(other.stdout))
    assert found[0] == found[1] and len(found[0]) > 1


def plain(x, y):
    return x * x * y


def test_a_plain_function_and_a_gradient_are_taken():
    assert run_of(contad.source(plain, 3.0, 2.0, argnums=1))(3.0, 2.0) == (18.0, (9.0,))
    assert contad.source(contad.value_and_grad(plain, (1,)), 3.0, 2.0) == contad.source(plain, 3.0, 2.0, argnums=1)
    assert contad.source(contad.grad(square), 3) == contad.source(square, 3.0)
    (value, _), (gradient,) = run_of(contad.source(contad.grad(with_aux, has_aux=True), X))(X)
    assert value == pytest.approx(np.sum(X**2)) and gradient == pytest.approx(2 * X)
    _, (gradient,) = run_of(contad.source(of_pair, (2, np.array([3, 5]))))((2.0, np.array([3.0, 5.0])))
    assert gradient[0] == 12.0 and gradient[1].tolist() == [4.0, 1.0]


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: contad.source(np.sin, 1.0), UnsupportedError, "f must be a Numba function, .* got ufunc"),
    (lambda: contad.source(3.0, 1.0), TypeError, "source"),
    (lambda: contad.source(contad.grad(square, engine="tape"), 1.0), UnsupportedError, "tape generates no source"),
    (lambda: contad.source(several, X, 2.0), UnsupportedError, r"kernels.py:\d+: several: .* one number"),
    (lambda: contad.source(weighted, X), TypeError, "value_and_grad: weighted: missing a required argument: 'y'"),
    (lambda: contad.source(weighted, X, Y, scal=1.0), TypeError, "unexpected keyword argument 'scal'"),
    (lambda: contad.grad(lambda x: len(contad.source(square, x)) * x)(2.0), UnsupportedError, "ask outside of it"),
])  # fmt: skip
def test_a_function_without_source_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_lambdas_are_read_by_their_place():
    first, second = lambda x, k=2.0: x * (x + k), lambda x: x * x * x
    for f, slope in ((first, 2.0 * 1.5 + 2.0), (second, 3.0 * 1.5**2)):
        text = contad.source(f, 1.5)
        names = {}
        exec(text, names)
        given = (1.5, 2.0) if f is first else (1.5,)
        assert names["run"](*given) == (f(1.5), (slope,))


# ---- what is told ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sampled(PROBLEMS, 3))
def test_generated_answers_the_written_programs(name):
    f, args, argnums = PROBLEMS[name]
    derivative = contad.value_and_grad(f, argnums)
    text = contad.explain(derivative, *args)
    assert text.partition("\n")[0].endswith(": engine generated")
    assert "refuses" not in text and "line " in text
    value, gradient = derivative(*args)
    run = run_of(contad.source(derivative, *args))
    expected_value, expected = run(*args)
    assert value == pytest.approx(expected_value, rel=1e-12)
    for got, by_source in zip(gradient, expected, strict=True):
        np.testing.assert_allclose(got, by_source, rtol=1e-9, atol=1e-11 * np.max(np.abs(by_source)))


def test_stored_and_recomputed_values_are_told():
    line = recurrence.py_func.__code__.co_firstlineno + 3
    text = contad.explain(contad.grad(recurrence, (0, 1)), 0.5, 1.5, 3)
    assert f"  line {line}: the loop stores " in text and "bytes) in each iteration: " in text
    assert "memory does not grow" in contad.explain(weighted, X, Y)


def test_refusals_have_the_present_lines(tmp_path):
    """What the cache holds was found when the function stood elsewhere in its file."""
    body = "    d = {1: x}\n    d[2] = x\n    del d[1]\n    return d[2] * x\n"
    source = f"from numba import njit\n\n\n@njit\ndef f(x):\n{body}"
    found = []
    for k, text in enumerate((source, "\n\n\n" + source)):
        path = tmp_path / f"moved_{k}.py"
        path.write_text(text)
        names = {"__name__": "moved"}
        exec(compile(text, str(path), "exec"), names)
        found.append(contad.explain(names["f"], 2.0))
    assert "generated refuses it: " in found[0] and "moved_0.py:8: f: " in found[0]
    assert "moved_1.py:11: f: " in found[1]


def test_forward_mode_is_told_of():
    text = contad.explain(contad.jvp, weighted, (X, Y), (X, Y))
    assert text.startswith("jvp: weighted") and "engine generated\n  forward mode is source" in text
