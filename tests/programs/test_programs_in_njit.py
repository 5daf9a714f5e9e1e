"""Recorded programs called from compiled code: as globals, captured variables and arguments."""

import subprocess
import sys
import textwrap
import warnings

import numba
import numpy as np
import pytest

import contad
from contad.programs.programs_in_njit import type_of_programs

W, A = np.array([0.2, -0.7, 1.1]), np.array([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]])


def of_numbers(x, y):
    return contad.ops.exp(-x) * y + x * y


def of_arrays(w, a, scale):
    return np.sum(np.tanh(a @ w) ** 2) * scale + w[0]


NUMBERS = ARRAYS = POSITIVE = PYTHON = TREE = None


@pytest.fixture(scope="module", autouse=True)
def programs():
    """Records the programs of this file; not when it is imported, for the interpreter may have to be compiled."""
    globals().update(
        NUMBERS=contad.record(of_numbers, 0.5, 2.0),
        ARRAYS=contad.record(of_arrays, W, A, 0.7),
        POSITIVE=contad.record(lambda x: x * x if x > 0 else -x, 1.0, retrace=True),
        PYTHON=contad.record(lambda x: contad.gammaln(x), 1.0),
        TREE=contad.record(lambda p: p[0] * p[1], [1.0, 2.0]),
    )


@numba.njit
def by_global(x, y):
    return NUMBERS(x, y), NUMBERS.gradient(x, y), NUMBERS.value_and_grad(x, y), NUMBERS.jvp((x, y), (1.0, 2.0))


@numba.njit
def of_program(program, x, y):
    return program(x, y), program.gradient(x, y)


@numba.njit
def with_arrays(w, a, scale):
    value, (by_w, by_a, by_scale) = ARRAYS.value_and_grad(w, a, scale)
    return value, by_w, by_a, by_scale, ARRAYS.jvp((w, a, scale), (w, a, 1.5))[1]


def test_a_global():
    value, gradient, pair, slopes = by_global(0.3, 3.0)
    assert (value, gradient) == pair == (NUMBERS(0.3, 3.0), NUMBERS.gradient(0.3, 3.0))
    assert slopes == NUMBERS.jvp((0.3, 3.0), (1.0, 2.0))
    assert by_global(1, 2)[0] == NUMBERS(1.0, 2.0)


def test_an_argument_and_a_captured_variable_are_compiled_once():
    other = contad.record(lambda x, y: x * y, 1.0, 2.0)
    assert of_program(NUMBERS, 0.3, 3.0) == (NUMBERS(0.3, 3.0), NUMBERS.gradient(0.3, 3.0))
    assert of_program(other, 0.3, 3.0) == (other(0.3, 3.0), (3.0, 0.3))
    assert len(of_program.signatures) == 1

    @numba.njit
    def captured(x):
        return other.gradient(x, 2.0)

    assert captured(7.0) == (2.0, 7.0)


def test_arrays():
    w, a = W * 1.3, np.asfortranarray(A + 0.1)
    value, by_w, by_a, by_scale, slope = with_arrays(w, a, 0.9)
    expected, gradients = contad.value_and_grad(of_arrays, (0, 1, 2))(w, a, 0.9)
    assert value == pytest.approx(expected, rel=1e-13)
    for got, want in zip((by_w, by_a, by_scale), gradients, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert slope == pytest.approx(contad.jvp(of_arrays, (w, a, 0.9), (w, a, 1.5))[1], rel=1e-12)


def test_an_array_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="must have the shape it was recorded with"):
        with_arrays(W, A.T.copy(), 0.9)


def test_another_way_is_an_error_until_it_is_recorded():
    @numba.njit
    def f(x):
        return POSITIVE(x)

    assert f(3.0) == 9.0
    with pytest.raises(contad.GuardError, match="takes another way"):
        f(-2.0)
    POSITIVE(-2.0)
    assert f(-2.0) == 2.0 and f(3.0) == 9.0


def test_rules_that_python_runs_are_refused():
    @numba.njit
    def f(x):
        return PYTHON(x)

    assert PYTHON.python_rules == ("gammaln",)
    with pytest.raises(contad.UnsupportedError, match="program.python_rules"):
        f(1.0)


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: NUMBERS(x), r"expected 2 argument\(s\), got 1"),
    (lambda x: NUMBERS(W, x), r"argument 0 must be a number, got"),
    (lambda x: ARRAYS(x, A, x), "argument 0 must be a float64 array with 1 axes, got float64"),
    (lambda x: TREE((x, x)), "argument 0 of the program is a structure"),
    (lambda x: NUMBERS.jvp(x, x), "jvp takes a tuple of primals"),
])  # fmt: skip
def test_wrong_types_are_refused_when_compiled(call, message):
    with pytest.raises(numba.TypingError, match=message):
        numba.njit(call)(1.5)


def test_threads():
    @numba.njit(parallel=True)
    def total(xs):
        found = np.empty_like(xs)
        for k in numba.prange(len(xs)):
            value, (by_x, by_y) = NUMBERS.value_and_grad(xs[k], 2.0)
            found[k] = value + by_x + by_y
        return found

    xs = np.linspace(0.1, 2.0, 2000)
    assert total(xs).tolist() == [sum(np.ravel(NUMBERS.gradient(x, 2.0))) + NUMBERS(x, 2.0) for x in xs.tolist()] or (
        np.allclose(total(xs), [NUMBERS(x, 2.0) + sum(NUMBERS.gradient(x, 2.0)) for x in xs.tolist()], rtol=1e-15)
    )


def test_a_program_in_compiled_code_outlives_its_name():
    program = contad.record(lambda x: x * 3.0, 1.0)

    def make():
        kept = contad.record(lambda x: x * x * 2.0, 1.0)
        return numba.njit(lambda x: kept.gradient(x))

    f = make()
    assert f(3.0) == 12.0
    del program
    many = [contad.record(lambda x, k=k: x * k, 1.0) for k in range(100)]
    assert f(5.0) == 20.0 and many[7](2.0) == 14.0


@numba.njit
def of_list(programs, x):
    total = 0.0
    for program in programs:
        total += program(x)
    return total


def test_containers_of_compiled_code_keep_programs_alive():
    programs = numba.typed.List()
    for k in range(5):
        programs.append(contad.record(lambda x, k=k: x * (k + 1.0), 1.0))
    many = [contad.record(lambda x, k=k: x - k, 1.0) for k in range(100)]
    assert of_list(programs, 2.0) == 30.0 and many[3](2.0) == -1.0


def test_programs_that_were_arguments_are_given_back():
    program = contad.record(of_numbers, 0.5, 2.0)
    before = sys.getrefcount(program)
    for _ in range(10):
        of_program(program, 0.3, 3.0)
    assert sys.getrefcount(program) == before


def test_code_with_a_constant_program_is_not_cached(tmp_path):
    """Its address is one of this process; with the program as an argument the code is cached."""
    path = tmp_path / "user.py"
    path.write_text(
        textwrap.dedent("""
        import warnings, numba, contad
        program = contad.record(lambda x: x * x * 1.5, 1.0)

        @numba.njit(cache=True)
        def constant(x):
            return program.gradient(x)

        @numba.njit(cache=True)
        def argument(p, x):
            return p.gradient(x)

        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            print(constant(3.0), argument(program, 3.0), sum(argument.stats.cache_hits.values()),
                  sum(constant.stats.cache_hits.values()), len(found))
        """)
    )
    runs = [
        subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert runs == [["9.0", "9.0", "0", "0", "1"], ["9.0", "9.0", "1", "0", "1"]]


def test_one_type_for_programs_of_one_layout():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numba.typeof(NUMBERS) is type_of_programs((-1, -1), False)
