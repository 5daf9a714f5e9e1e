"""What the engine `generated` finds at run time that it cannot do: the tape answers that call, and the others stay."""

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from numba import njit

import contad
from contad.errors import EngineLimitError


def product(matrix, x):
    """u is replaced by an array of another length in the first of the products."""
    u = x * 1.0
    for _ in range(2):
        u = matrix[0] * u[0] + matrix[1] * u[1] * u[1]
    return np.sum(u * u)


WIDE = np.array([[0.5, 1.5, -0.7], [1.1, 0.3, 0.4]])
SQUARE = np.array([[0.5, 1.5], [1.1, 0.3]])
X = np.array([0.3, 1.2])


def by_differences(matrix, x):
    h = 1e-6
    steps = h * np.eye(2)
    return np.array([(product(matrix, x + s) - product(matrix, x - s)) / (2 * h) for s in steps])


@pytest.mark.parametrize("first", [WIDE, SQUARE], ids=["first call", "later call"])
def test_the_tape_answers_the_call_that_generated_cannot(first):
    gradient = contad.grad(njit(product), 1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for matrix in (first, WIDE, SQUARE, WIDE):
            np.testing.assert_allclose(gradient(matrix, X), by_differences(matrix, X), rtol=1e-7)
    (warning,) = told  # once
    assert "changes its shape" in str(warning.message) and 'engine="tape"' in str(warning.message)
    assert warning.filename == __file__
    assert contad.engine_name(gradient.f, args=(WIDE, X)) == "generated"


@pytest.mark.filterwarnings("ignore:.*the engine tape answers")
def test_every_transform_goes_on():
    f = njit(product)
    value, gradient = contad.value_and_grad(f, 1)(WIDE, X)
    assert value == pytest.approx(product(WIDE, X))
    np.testing.assert_allclose(gradient, by_differences(WIDE, X), rtol=1e-7)
    value, pullback = contad.vjp(f, WIDE, X)
    np.testing.assert_allclose(pullback(2.0)[1], 2.0 * by_differences(WIDE, X), rtol=1e-7)
    np.testing.assert_allclose(contad.grad(lambda x: 2.0 * f(WIDE, x))(X), 2.0 * by_differences(WIDE, X), rtol=1e-7)


@pytest.mark.filterwarnings("ignore:.*the engine tape answers")
def test_an_axis_of_length_one_is_repeated():
    @njit
    def scaled(x, y):
        return np.sum(np.exp(x * y) * x)

    x, y = np.array([0.3, -1.2, 0.7]), np.array([0.4])
    gradient = contad.grad(scaled, (0, 1))
    gradient(x, x)
    by_x, by_y = gradient(x, y)
    np.testing.assert_allclose(by_x, np.exp(x * y) * (1.0 + x * y))
    np.testing.assert_allclose(by_y, [np.sum(np.exp(x * y) * x * x)])


def test_an_error_of_the_user_stays_one():
    @njit
    def scaled(x, y):
        return np.sum(x * y)

    with pytest.raises(ValueError) as raised:
        contad.grad(scaled)(np.ones(3), np.ones(2))
    assert not isinstance(raised.value, EngineLimitError)


def test_an_engine_that_is_asked_for_says_what_it_cannot():
    with pytest.raises(EngineLimitError, match="an array that a loop carries changes its shape"):
        contad.grad(njit(product), 1, engine="generated")(WIDE, X)


def test_compiled_callers_get_a_named_error():
    gradient = contad.grad(njit(product), 1)

    @njit
    def caller(matrix, x):
        return gradient(matrix, x)

    np.testing.assert_allclose(caller(SQUARE, X), by_differences(SQUARE, X), rtol=1e-7)
    with pytest.raises(EngineLimitError, match="an array that a loop carries changes its shape"):
        caller(WIDE, X)


def test_a_function_that_prints_raises_and_does_not_run_twice():
    compiled = njit(product)

    @njit
    def told(matrix, x):
        print("once")
        return compiled(matrix, x)

    with pytest.raises(EngineLimitError, match="an array that a loop carries changes its shape"):
        contad.grad(told, 1)(WIDE, X)


@pytest.mark.long
def test_machine_code_from_the_disk_goes_on_too(tmp_path):
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
        import warnings
        import numpy as np
        from numba import njit
        import contad

        @njit
        def f(matrix, x):
            u = x * 1.0
            for _ in range(2):
                u = matrix[0] * u[0]
            return np.sum(u * u)

        warnings.simplefilter("ignore")
        g = contad.grad(f, 1)
        print(g(np.ones((2, 2)), np.array([0.5, 1.0])), g(np.ones((2, 3)), np.array([0.5, 1.0])))
        """)
    )
    command = [sys.executable, str(tmp_path / "program.py")]
    outputs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert outputs == ["[2. 0.] [3. 0.]\n"] * 2
