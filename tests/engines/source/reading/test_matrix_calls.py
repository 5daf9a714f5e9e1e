"""np.linalg in generated derivatives: loops and branches, masks, and what is kept."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.analysis import finite_partials
from contad.engines.source.planning import store_plan
from contad.engines.source.runtime import row_kernels
from contad.memory.arena import memory_in_use
from tests.engines.matrix_programs import DATA, DRAW, SQUARES, differences, require_close, value_and_grad
from tests.random_programs import generated_programs
from tests.random_programs.searching import is_failure

A = DATA[0]
RUNS = ["text", pytest.param("generated", marks=pytest.mark.long)]  # some twenty seconds of compilation


@njit
def placed(a, b, v, s):
    """Systems in loops that end early, branches, loops in loops, and loops that carry what they solve."""
    z = v * 1.0
    for i in range(4):
        z = np.linalg.solve(a + i * np.eye(4), z) + 0.1 * v
        if z[0] > 100.0:
            break
    if v[0] > 50.0:
        w = np.linalg.inv(a)
        z[0] = 1.0
    else:
        w = np.linalg.solve(a.T, b[:, :1] * v) * s
    i = 0
    while np.linalg.norm(z) > 0.05:
        z = np.linalg.solve(a + 3.0 * np.eye(4), z)
        i += 1
    total = 0.0
    for i in range(3):
        m = s * v[i] * v[i] + (i + 1.0) * np.eye(4)
        total += np.linalg.slogdet(m)[1]
        for j in range(2):
            if v[j] * i < 0.2:
                total += np.sum(np.linalg.inv(m + j * np.eye(4)) * w)
            elif i == 1:
                continue
            else:
                total += np.linalg.solve(m, b[j] @ b.T)[2]
    kept = a.copy()
    x = np.linalg.solve(kept[1:3, 1:3], b[::2, 1])
    kept[1] = v
    x[1] = x[0] * x[0]
    return total + np.sum(z * b[:, 0]) + np.sum(w * w) + np.sum(x) + np.sum(kept * kept)


@pytest.mark.parametrize("engine", RUNS)
def test_systems_in_loops_and_branches(engine):
    value, gradient = value_and_grad(engine, placed, DATA, SQUARES)
    assert value == pytest.approx(placed.py_func(*DATA), rel=1e-13)
    require_close(gradient, differences(placed.py_func, DATA, SQUARES), 1e-6)


@njit
def of_data(x, a, kind):
    """What carries no derivative is computed by NumPy's functions."""
    if kind < 0:
        return x[0] * np.linalg.norm(a)
    scale = np.linalg.slogdet(a)[1] + np.linalg.eigh(a)[0][0]
    return scale * x[0] + np.linalg.slogdet(np.diag(x))[0] * x[1]


@pytest.mark.long
def test_data_are_left_to_numpy():
    x = np.array([-1.3, 0.7])
    value, (bar,) = value_and_grad("generated", of_data, (x, A, 1), (0,))
    assert value == pytest.approx(of_data(x, A, 1), rel=1e-14)
    np.testing.assert_allclose(bar, [np.linalg.slogdet(A)[1] + np.linalg.eigh(A)[0][0], -1.0], rtol=1e-13)
    text = contad.source(of_data, x, A, 1)
    assert "work" not in text
    assert "= np.linalg.eigh(a)" in text


# ---- masks -----------------------------------------------------------------------------------------------------------
@njit
def masked(x, scale):
    """The upper triangle, which Cholesky's factor does not read, may be made of infinite data."""
    n = len(x)
    a = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            a[i, j] = np.tanh(x[i] * x[j] * scale[i, j])
        a[i, i] += 2.0
    return np.linalg.cholesky(a)[n - 1, n - 1] + np.linalg.eigvalsh(a)[0]


@pytest.mark.parametrize("engine", RUNS)
def test_elements_that_are_not_read_have_no_part_in_the_gradient(engine, monkeypatch):
    x, scale = np.array([0.4, 0.7, 0.3]), np.full((3, 3), 0.5)
    (right,) = value_and_grad("matrix", masked.py_func, (x, scale), (0,))[1]
    scale[0, 2] = np.inf
    np.testing.assert_allclose(value_and_grad(engine, masked, (x, scale), (0,))[1][0], right, rtol=1e-9)
    # without what is known of the triangle it is nan
    blind = SimpleNamespace(**vars(finite_partials.ssa) | {"MatrixCall": type("Nothing", (), {})})
    monkeypatch.setattr(finite_partials, "ssa", blind)
    with np.errstate(invalid="ignore"):
        assert np.isnan(value_and_grad("text", masked, (x, scale), (0,))[1][0]).any()


# ---- what is kept ----------------------------------------------------------------------------------------------------
@njit
def steps(a, v, count):
    for _ in range(count):
        v = np.linalg.solve(a, v)
    return v[0]


def test_each_iteration_keeps_the_factors_and_the_solution_and_no_more_than_is_allowed():
    n, count = 6, 200
    a, v = np.eye(n) + 0.01 * DRAW.standard_normal((n, n)), DRAW.standard_normal(n)
    derivative = contad.grad(steps, argnums=(0, 1), engine="generated")
    gradient = derivative(a, v, count)
    require_close(gradient, differences(steps, (a, v, count), (0, 1)), 1e-6)
    text = contad.source(steps, a, v, count, argnums=(0, 1))
    assert text.count("forward_solve(") == text.count("reverse_solve(") == 1
    contad.recover_memory()  # what earlier gradients have left would do for many more iterations
    derivative(a, v, count)
    contad.set_memory_limit(memory_in_use() + 8 * count * (n * n + 2 * n))
    try:
        with pytest.raises(MemoryError, match="set_memory_limit"):
            derivative(a, v, 100 * count)
        for found, before in zip(derivative(a, v, count), gradient, strict=True):
            np.testing.assert_array_equal(found, before)
    finally:
        contad.set_memory_limit(None)


# ---- planted faults --------------------------------------------------------------------------------------------------
def turned_inverse(z_bar, z, a_bar):
    a_bar -= z @ z_bar @ z


FAULTS = {  # with the seed of a program that finds it
    "an operand is lost": (94, row_kernels.reverse_solve, lambda *args: None),
    "an inverse is not transposed": (409, row_kernels.reverse_inv, turned_inverse),
    "pushes are forgotten": (9, None, None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found_by_random_programs(fault, monkeypatch):
    seed, reverse, kernel = FAULTS[fault]
    assert not is_failure(generated_programs.check(seed))
    if reverse is None:
        monkeypatch.setattr(store_plan.StorePlan, "calls_push", lambda self, operation: False)
    else:  # what source calls has another kernel of the row
        monkeypatch.setitem(reverse.__wrapped__.__globals__, "adjoint_kernel", kernel)
    assert is_failure(generated_programs.check(seed))
