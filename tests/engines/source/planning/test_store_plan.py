"""Numbers that generated derivatives need not store, and how many they do; small arrays lie on the stack."""

import numpy as np
import pytest
from numba import njit

import contad
from benchmarks import loops
from contad.engines.source import source
from tests.engines.source.agreement import agree, numbers_stored, request
from tests.engines.source.programs.copies import COPIES, ROWS_OF_TABLES
from tests.engines.source.programs.harness import function_of, given_to
from tests.engines.source.programs.unchanged import FILLED_TRIANGLES

PROBLEMS = loops.problems(0.01)


@pytest.mark.parametrize("n", [5, 10])
def test_a_product_of_matrix_and_state_stores_the_state(n):
    f = function_of(COPIES, COPIES.takes["steps of products"])
    args = np.linspace(0.1, 1.0, n), np.ones((n, n)), 4
    assert numbers_stored(request(f, *args, argnums=(0, 1)), args) == 4 * n * 2  # and what the sines are of


def test_a_row_that_was_left_behind_is_not_stored():
    args = given_to(ROWS_OF_TABLES)
    f = function_of(ROWS_OF_TABLES, ROWS_OF_TABLES.takes["row of a table"])
    assert numbers_stored(request(f, *args, argnums=(0, 1)), args) == 0
    function, args, argnums = PROBLEMS["tridiagonal"]
    assert numbers_stored(request(function, *args, argnums=argnums), args) == len(args[0]) - 1  # 1 / ...


@njit
def exponentials(x, scale):
    y, z = np.empty(len(x)), np.empty(len(x))
    for k in range(len(x)):
        y[k] = np.exp(x[k])
        z[k] = np.exp(x[k] * scale)
    total = 0.0
    for k in range(len(x)):
        total += y[k] * z[k]
        z[k] = 0.0
    return total


def test_a_result_in_an_array_is_not_stored_again_unless_the_array_changes():
    args = np.linspace(-1.0, 1.0, 6), 0.7
    assert numbers_stored(request(exponentials, *args, argnums=(0, 1)), args) == 2 * 6  # of z
    agree(exponentials, *args, argnums=(0, 1))


@pytest.mark.parametrize("name", FILLED_TRIANGLES.takes)
def test_no_number_of_a_triangle_is_stored_for_each_multiplication(name):
    f = function_of(FILLED_TRIANGLES, FILLED_TRIANGLES.takes[name])
    a = np.eye(12) + 0.1

    def count(n):
        args = a[:n, :n].copy(), np.array([1.2, 0.4])
        return numbers_stored(request(f, *args, argnums=(0, 1)), args)

    assert count(12) <= 4.2 * count(6) <= 4.2 * 3.5 * 6 * 7 / 2


def test_each_running_choice_of_a_mixture_reverses_one_iteration():
    function, args, argnums = PROBLEMS["mixture"]
    assert source(request(function, *args, argnums=argnums)).count("if chosen") == 2


def test_a_small_array_that_is_returned_outlives_the_call():
    @njit
    def squares(x):
        a = np.zeros(2)
        a[0], a[1] = x[0] * 0.5, x[1] * x[1]
        return a[0] * a[1], a

    x = np.array([0.3, -1.2, 0.7])
    run = contad.value_and_grad(squares, has_aux=True, engine="generated")
    results = [run(x + k) for k in range(50)]
    for k, ((_, aux), gradient) in enumerate(results):
        a, b = x[:2] + k
        np.testing.assert_allclose(aux, [a * 0.5, b * b])
        np.testing.assert_allclose(gradient, [0.5 * b * b, a * b, 0.0])
