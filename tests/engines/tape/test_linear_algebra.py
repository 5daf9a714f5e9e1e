"""np.linalg on the tape: whole programs against the eager engine, differences and Numba's own errors."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.compile.words import word
from contad.memory.arena import BLOCK, USED, arena
from tests.engines.matrix_programs import (
    DATA,
    DRAW,
    KALMAN,
    SQUARES,
    V,
    differences,
    filtered,
    likelihood,
    systems,
)
from tests.engines.tape.requests import jvp, value_and_grad


@pytest.mark.long  # two dozen calls in one program, half a minute of compilation
def test_systems_and_determinants_agree_with_the_eager_engine():
    value, gradient = value_and_grad(systems, *DATA, argnums=SQUARES)
    assert value == systems(*DATA)
    expected, right = contad.value_and_grad(systems.py_func, argnums=SQUARES)(*DATA)
    assert value == pytest.approx(expected, rel=1e-12)
    for found, bar in zip(gradient, right, strict=True):
        np.testing.assert_allclose(found, bar, rtol=1e-10, atol=1e-11 * np.abs(bar).max())


@pytest.mark.long
def test_tangents_are_those_of_the_gradient():
    tangents = tuple(np.random.default_rng(5).standard_normal(x.shape) for x in DATA)
    value, tangent = jvp(systems, DATA, tangents, argnums=SQUARES)
    gradient = contad.grad(systems.py_func, argnums=SQUARES)(*DATA)
    assert value == systems(*DATA)
    assert tangent == pytest.approx(sum(np.sum(x * y) for x, y in zip(gradient, tangents, strict=True)), rel=1e-11)


# ---- models ----------------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_likelihood_of_a_gaussian_process():
    x, y = np.sort(DRAW.uniform(0.0, 4.0, 12)), DRAW.standard_normal(12)
    for by_factor in (True, False):
        args = (x, y, 0.8, 0.3, by_factor)
        value, gradient = value_and_grad(likelihood, *args, argnums=SQUARES)
        assert value == pytest.approx(likelihood(*args), rel=1e-14)
        eager = contad.grad(likelihood.py_func, argnums=SQUARES)(*args)
        for found, right, difference in zip(gradient, eager, differences(likelihood, args, SQUARES), strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(found, difference, rtol=1e-5, atol=1e-7)


@pytest.mark.long
def test_a_kalman_filter():
    value, gradient = value_and_grad(filtered, *KALMAN, argnums=SQUARES)
    assert value == pytest.approx(filtered(*KALMAN), rel=1e-13)
    eager = contad.grad(filtered.py_func, argnums=SQUARES)(*KALMAN)
    for found, right, difference in zip(gradient, eager, differences(filtered, KALMAN, SQUARES), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found, difference, rtol=1e-6, atol=1e-8)


# ---- errors, memory, records -----------------------------------------------------------------------------------------
@njit
def chosen(a, b, kind):
    """One function of many, so that all errors are in one program; how many cells a system takes."""
    first = word(arena(), USED)
    total = a[0, 0] * a[0, 0]
    if kind == "inv":
        return total + np.linalg.inv(a)[1, 0], 0
    if kind == "cholesky":
        return total + np.linalg.cholesky(a)[1, 0], 0
    if kind == "slogdet":
        return total + np.linalg.slogdet(a)[1], 0
    if kind == "det":
        return total + np.linalg.det(a), 0
    z = np.linalg.solve(a, b)
    return z[1, 0], word(arena(), USED) - first


@njit
def state():
    header = arena()
    return word(header, USED), word(header, BLOCK)


SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
TALL = np.array([[1.0, 2.0], [0.5, -1.0], [0.3, 0.8]])


@pytest.mark.long  # five functions in one program
@pytest.mark.parametrize(
    ("kind", "a"),
    [
        ("solve", SINGULAR),
        ("inv", SINGULAR),
        ("cholesky", -SINGULAR),
        ("inv", TALL),
        ("cholesky", TALL),
        ("slogdet", TALL),
        ("det", TALL),
        ("solve", TALL[:, :1] * TALL[:, 0]),
        ("det", np.full((2, 2), np.nan)),
        ("solve", np.full((2, 2), np.inf)),
    ],
)
def test_errors_are_those_of_the_function_and_leave_the_tape_as_it_was(kind, a):
    b, before = np.array([[1.0], [0.5]]), state()
    with pytest.raises(np.linalg.LinAlgError) as plain:
        chosen(a, b, kind)
    with pytest.raises(np.linalg.LinAlgError) as raised:
        value_and_grad(chosen, a, b, kind, has_aux=True)
    assert str(raised.value) == str(plain.value)
    assert state() == before
    regular = np.array([[2.0, 0.3], [0.1, 1.4]])
    (_, _), (bar,) = value_and_grad(chosen, regular, b, kind, has_aux=True)
    right = contad.grad(lambda a: chosen_in_python(a, b, kind))(regular)
    np.testing.assert_allclose(bar, right, rtol=1e-12)
    assert state() == before


def chosen_in_python(a, b, kind):
    """The same in NumPy."""
    total = a[0, 0] * a[0, 0]
    if kind == "solve":
        return np.linalg.solve(a, b)[1, 0]
    if kind in ("inv", "cholesky"):
        return total + getattr(np.linalg, kind)(a)[1, 0]
    return total + (np.linalg.det(a) if kind == "det" else np.linalg.slogdet(a)[1])


def test_of_a_singular_matrix_the_determinant_has_a_gradient_and_its_logarithm_has_none():
    """The copies have the layout of the other tests' arrays, for which chosen is compiled."""
    for a in (SINGULAR, np.outer([1.0, 2.0, -0.5, 0.3], V) + np.diag([0.0, 1.0, 2.0, 3.0]) * [[0.0], [1], [1], [0]]):
        _, (bar,) = value_and_grad(chosen, a, a[:, :1].copy(), "det", has_aux=True)
        right = contad.grad(lambda a: chosen_in_python(a, None, "det"))(a)
        np.testing.assert_allclose(bar, right, rtol=1e-9, atol=1e-12)
    (value, _), (bar,) = value_and_grad(chosen, SINGULAR, SINGULAR[:, :1].copy(), "slogdet", has_aux=True)
    assert value == -np.inf
    assert np.isnan(bar).all()


def test_a_system_takes_records_for_its_elements_only_and_no_more_memory_than_allowed():
    n, k = 60, 3
    a, b = np.eye(n) * 2.0 + 0.01 * DRAW.standard_normal((n, n)), DRAW.standard_normal((n, k))
    (_, cells), _ = value_and_grad(chosen, a, b, "solve", has_aux=True)
    assert cells <= n * n + 2 * n * k + (n * n + n) // 3 + 4 + 1  # and the square
    before = state()
    contad.set_memory_limit(contad.memory.arena.memory_in_use() + 10_000)
    try:
        large = np.eye(400) * 2.0
        with pytest.raises(MemoryError, match="set_memory_limit"):
            value_and_grad(chosen, large, large, "solve", has_aux=True)
        assert state() == before
    finally:
        contad.set_memory_limit(None)
