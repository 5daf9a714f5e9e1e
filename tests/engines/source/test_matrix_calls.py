"""np.linalg in generated derivatives: whole programs, loops and branches, errors, masks, and what is kept."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.analysis import finite_partials
from contad.engines.source.planning import store_plan
from contad.engines.source.runtime import row_kernels
from contad.memory.arena import memory_in_use
from contad.scipy import linalg
from tests.engines.matrix_programs import (
    DATA,
    DRAW,
    KALMAN,
    SHAPES,
    SQUARES,
    differences,
    factors,
    filtered,
    likelihood,
    powers,
    spectra,
    systems,
)
from tests.random_programs import generated_programs

A, V = DATA[0], DATA[2]


def value_and_grad(f, *args, argnums=SQUARES):
    return contad.value_and_grad(f, argnums=argnums, engine="generated")(*args)


def in_python(f, *args, argnums=SQUARES):
    """(value, grads) by the generated source, run without Numba."""
    module = {}
    exec(contad.source(f, *args, argnums=argnums), module)
    return module["run"](*args)


def like(run, f):
    """f itself, compiled where its derivative is: else it would be compiled to be compared alone."""
    return f.py_func if run is in_python else f


def compute(run, f, *args):
    """The value of f itself."""
    return like(run, f)(*args)


def eager(f, *args, argnums=SQUARES):
    return contad.value_and_grad(f, argnums=argnums, engine="matrix")(*args)


def require_close(found, right, rtol=1e-9):
    for x, y in zip(found, right, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=0.1 * rtol * max(1.0, np.abs(y).max()))


COMPILED = pytest.param(value_and_grad, marks=pytest.mark.long)  # some twenty seconds of compilation


# ---- programs --------------------------------------------------------------------------------------------------------
@pytest.mark.long  # two dozen calls in one program; those below are in it
@pytest.mark.parametrize("run", [value_and_grad, in_python])
def test_systems_and_determinants_agree_with_the_eager_engine(run):
    value, gradient = run(systems, *DATA)
    assert value == pytest.approx(compute(run, systems, *DATA), rel=1e-13)
    expected, right = eager(like(run, systems), *DATA)
    assert value == pytest.approx(expected, rel=1e-12)
    require_close(gradient, right)


LATER = [pytest.param(value_and_grad, f, marks=pytest.mark.long) for f in (spectra, factors, powers)]  # compiled


@pytest.mark.parametrize(("run", "f"), [(in_python, spectra), (in_python, factors), (in_python, powers), *LATER])
def test_decompositions_agree_with_the_eager_engine(run, f):
    value, gradient = run(f, *SHAPES)
    assert value == pytest.approx(compute(run, f, *SHAPES), rel=1e-12)
    expected, right = eager(like(run, f), *SHAPES)
    assert value == pytest.approx(expected, rel=1e-11)
    require_close(gradient, right)


@pytest.mark.long
def test_likelihood_of_a_gaussian_process():
    x, y = np.sort(DRAW.uniform(0.0, 4.0, 12)), DRAW.standard_normal(12)
    for by_factor in (True, False):
        args = (x, y, 0.8, 0.3, by_factor)
        value, gradient = value_and_grad(likelihood, *args)
        assert value == pytest.approx(likelihood(*args), rel=1e-14)
        require_close(gradient, eager(likelihood, *args)[1])
        require_close(gradient, differences(likelihood, args, SQUARES), 1e-5)


@pytest.mark.long
def test_a_kalman_filter_by_default():
    derivative = contad.value_and_grad(filtered, argnums=SQUARES)
    value, gradient = derivative(*KALMAN)
    assert "source made from that of the function" in contad.explain(derivative, *KALMAN)
    assert value == pytest.approx(filtered(*KALMAN), rel=1e-13)
    require_close(gradient, eager(filtered, *KALMAN)[1])
    require_close(gradient, differences(filtered, KALMAN, SQUARES), 1e-6)


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


@pytest.mark.parametrize("run", [COMPILED, in_python])
def test_systems_in_loops_and_branches(run):
    value, gradient = run(placed, *DATA)
    assert value == pytest.approx(compute(run, placed, *DATA), rel=1e-13)
    require_close(gradient, differences(lambda *args: compute(run, placed, *args), DATA, SQUARES), 1e-6)


@njit
def by_scipy(a, b, v, s):
    """contad.scipy.linalg with its options, in a loop too."""
    z = linalg.solve_triangular(a, b, lower=True)
    w = linalg.solve_triangular(a, v, trans=1, unit_diagonal=True)
    u = linalg.solve_triangular(a[1:, 1:], v[1:], trans="T", lower=True)
    y = linalg.cho_solve(linalg.cho_factor(s, lower=True), b)
    factor, lower = linalg.cho_factor(s + 0.1 * a)
    x = linalg.cho_solve((factor, lower), v)
    total = np.sum(z * z * b) + np.sum(w * w * w) + u[0] * u[2] + np.sum(y * y * z) + x[0] * x[1] * x[3]
    for i in range(2):
        v = linalg.solve_banded((1, 1), a[:3] + 3.0 * np.ones((3, 4)) * (i + 1), v)
    return total + np.sum(v * v)


@njit
def by_exponentials(a, b, v, s):
    """The same of linalg.expm, whose kernels take longest to compile."""
    e = linalg.expm(0.3 * a)
    return e[0, 1] * e[2, 3] + np.sum(linalg.expm(0.1 * s) * (b @ b.T)) * v[0]


@pytest.mark.parametrize(
    ("run", "f"),
    [(in_python, by_scipy), pytest.param(value_and_grad, by_scipy, marks=pytest.mark.long)]
    + [pytest.param(run, by_exponentials, marks=pytest.mark.long) for run in (in_python, value_and_grad)],
)
def test_functions_of_scipy_agree_with_the_eager_engine(run, f):
    value, gradient = run(f, *DATA)
    assert value == pytest.approx(compute(run, f, *DATA), rel=1e-13)
    expected, right = eager(like(run, f), *DATA)
    assert value == pytest.approx(expected, rel=1e-12)
    require_close(gradient, right)


@njit
def of_sums(x, m):
    """Sums of exponentials, of rows and columns too; and constants."""
    total = contad.logsumexp(x) * x[0] + np.sum(contad.softmax(x * x) ** 2) + contad.logsumexp(m)
    for i in range(m.shape[0]):
        total += contad.logsumexp(m[i]) * contad.softmax(m[:, i])[1]
    fixed, (a, b) = contad.stop_gradient(x), contad.stop_gradient((x[0], m))
    return total + np.sum(fixed * x) + contad.stop_gradient(x[1]) * x[2] + a * m[0, 1] + np.sum(b * m)


@pytest.mark.parametrize("run", [COMPILED, in_python])
def test_sums_of_exponentials_and_constants_agree_with_the_eager_engine(run):
    x, m = V[:3], A[:3, :3]
    value, gradient = run(of_sums, x, m, argnums=(0, 1))
    assert value == pytest.approx(compute(run, of_sums, x, m), rel=1e-15)
    require_close(gradient, eager(like(run, of_sums), x, m, argnums=(0, 1))[1])


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
    value, (bar,) = value_and_grad(of_data, x, A, 1, argnums=(0,))
    assert value == pytest.approx(of_data(x, A, 1), rel=1e-14)
    np.testing.assert_allclose(bar, [np.linalg.slogdet(A)[1] + np.linalg.eigh(A)[0][0], -1.0], rtol=1e-13)
    text = contad.source(of_data, x, A, 1)
    assert "work" not in text
    assert "= np.linalg.eigh(a)" in text


@njit
def of_norms_at_zero(a, t, v):
    """Every norm that Numba compiles."""
    found = np.linalg.norm(a) + np.linalg.norm(a, 2) + np.linalg.norm(t, -2) + np.linalg.norm(t, 2)
    found += np.linalg.norm(a, 1) + np.linalg.norm(a, np.inf) + np.linalg.norm(a, -1) + np.linalg.norm(a, -np.inf)
    return found + np.linalg.norm(v) + np.linalg.norm(v, 2) + np.linalg.norm(v, 1) + np.linalg.norm(v, 3)


def test_norms_have_subgradient_zero_at_zero():
    value, bars = value_and_grad(of_norms_at_zero, np.zeros((2, 2)), np.zeros((3, 2)), np.zeros(2), argnums=(0, 1, 2))
    assert value == 0.0
    for bar in bars:
        np.testing.assert_array_equal(bar, 0.0)


# ---- errors ----------------------------------------------------------------------------------------------------------
@njit
def of_systems(a, b, kind):
    """One function of many, so that their errors are in one program."""
    total = a[0, 0] * a[0, 0]
    if kind == 0:
        return np.linalg.solve(a, b)[1, 0]
    if kind == 1:
        return total + np.linalg.inv(a)[1, 0]
    return total + np.linalg.cholesky(a)[1, 0]


@njit
def of_determinants(a, b, kind):
    total = a[0, 0] * a[0, 0]
    return total + (np.linalg.det(a) if kind == 0 else np.linalg.slogdet(a)[1])


SINGULAR, TALL = np.array([[1.0, 2.0], [2.0, 4.0]]), np.arange(1.0, 7.0).reshape(3, 2)


OF_SYSTEMS = [(0, SINGULAR), (1, SINGULAR), (2, -SINGULAR), (1, TALL), (0, np.full((2, 2), np.inf))]


@pytest.mark.parametrize(
    ("chosen", "kind", "a"),
    [(of_determinants, 1, TALL), (of_determinants, 0, np.full((2, 2), np.nan))]
    + [pytest.param(of_systems, *case, marks=pytest.mark.long) for case in OF_SYSTEMS],  # half a minute of compilation
)
def test_errors_are_those_of_the_function_and_the_next_call_is_right(chosen, kind, a):
    b = np.array([[1.0], [0.5]])
    with pytest.raises(np.linalg.LinAlgError) as plain:
        chosen(a, b, kind)
    with pytest.raises(np.linalg.LinAlgError) as raised:
        value_and_grad(chosen, a, b, kind, argnums=(0,))
    assert str(raised.value) == str(plain.value)
    regular = np.array([[2.0, 0.3], [0.1, 1.4]])
    value, gradient = value_and_grad(chosen, regular, b, kind, argnums=(0,))
    assert value == chosen(regular, b, kind)
    require_close(gradient, differences(chosen, (regular, b, kind), (0,)), 1e-6)


def test_of_a_singular_matrix_the_determinant_has_a_gradient_and_its_logarithm_has_none():
    b = SINGULAR[:, :1].copy()  # of the layout that the other tests have
    _, (bar,) = value_and_grad(of_determinants, SINGULAR, b, 0, argnums=(0,))
    np.testing.assert_allclose(bar, [[6.0, -2.0], [-2.0, 1.0]], rtol=1e-9)
    value, (bar,) = value_and_grad(of_determinants, SINGULAR, b, 1, argnums=(0,))
    assert value == -np.inf
    assert np.isnan(bar).all()


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


@pytest.mark.parametrize("run", [COMPILED, in_python])
def test_elements_that_are_not_read_have_no_part_in_the_gradient(run, monkeypatch):
    x, scale = np.array([0.4, 0.7, 0.3]), np.full((3, 3), 0.5)
    (right,) = eager(masked.py_func, x, scale, argnums=(0,))[1]
    scale[0, 2] = np.inf
    np.testing.assert_allclose(run(masked, x, scale, argnums=(0,))[1][0], right, rtol=1e-9)
    # without what is known of the triangle it is nan
    monkeypatch.setattr(finite_partials, "MatrixCall", type("Nothing", (), {}))
    with np.errstate(invalid="ignore"):
        assert np.isnan(in_python(masked, x, scale, argnums=(0,))[1][0]).any()


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
def plant_adjoint(monkeypatch, reverse, kernel):
    """Let what source calls have another kernel of the row."""
    monkeypatch.setitem(reverse.__wrapped__.__globals__, "adjoint_kernel", kernel)


def operand_lost(monkeypatch):
    plant_adjoint(monkeypatch, row_kernels.reverse_solve, lambda *args: None)


def inverse_not_transposed(monkeypatch):
    def inv_adjoint(z_bar, z, a_bar):
        a_bar -= z @ z_bar @ z

    plant_adjoint(monkeypatch, row_kernels.reverse_inv, inv_adjoint)


def pushes_forgotten(monkeypatch):
    monkeypatch.setattr(store_plan.StorePlan, "calls_push", lambda self, operation: False)


FAULTS = {operand_lost: 94, inverse_not_transposed: 409, pushes_forgotten: 9}


@pytest.mark.parametrize("plant", FAULTS)
def test_planted_faults_are_found_by_random_programs(plant, monkeypatch):
    seed = FAULTS[plant]
    assert not generated_programs.is_failure(generated_programs.check(seed))
    plant(monkeypatch)
    assert generated_programs.is_failure(generated_programs.check(seed))


@njit
def of_large_arrays(x, n):
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a[i, j] = x[i] * x[j] / n
        a[i, i] += 2.0
    return np.sum(np.linalg.cholesky(a)[:, 0])


def in_numpy(x, n):
    """The same without loops."""
    return np.sum(np.linalg.cholesky(np.outer(x, x) / n + 2.0 * np.eye(n))[:, 0])


def test_large_arrays_lie_in_memory_that_the_thread_keeps():
    """Smaller and larger ones after another see nothing of each other; memory does not grow, and is given back."""
    x = np.cos(np.arange(200.0))
    expected = {n: contad.grad(in_numpy)(x[:n], n) for n in (20, 150)}
    gradient = contad.grad(of_large_arrays, engine="generated")
    assert "lent_zeros(" in contad.source(of_large_arrays, x, 200)
    contad.recover_memory()
    before = memory_in_use()
    for n in (20, 150, 20, 150, 150):
        np.testing.assert_allclose(gradient(x[:n], n), expected[n], rtol=1e-11, atol=1e-14)
    held = memory_in_use()
    assert held - before > 3 * 8 * 150**2
    gradient(x[:150], 150)
    assert memory_in_use() == held
    contad.recover_memory()
    assert memory_in_use() == before
