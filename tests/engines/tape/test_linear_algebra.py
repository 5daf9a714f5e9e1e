"""np.linalg on the tape: whole programs against the eager engine, differences and Numba's own errors."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

import contad
from contad.native.named_code import RUNS_WHEN_LOADED
from contad.native.arena import BLOCK, USED, arena
from contad.native.words import word
from tests.engines.tape.requests import jvp, value_and_grad

DRAW = np.random.default_rng(31)
A = DRAW.standard_normal((4, 4)) + 3.0 * np.eye(4)
B, V = DRAW.standard_normal((4, 3)), DRAW.standard_normal(4)
S = A @ A.T + 0.3 * A
SQUARES, DATA = (0, 1, 2, 3), (A, B, V, S)


@njit
def rotated(a, v):
    """A callee with a system, whose matrix is transposed."""
    return np.linalg.solve(a.T, v)


@njit
def systems(a, b, v, s):
    """Operands used twice, transposed, overwritten, constant, and parts of larger ones."""
    z = np.linalg.solve(a, b)
    twice = np.linalg.solve(a, a * a)
    w = rotated(a, v)
    only_a = np.linalg.solve(a * a + s, np.array([1.0, 2.0, -0.3, 0.7]))
    only_b = np.linalg.solve(np.array([[2.0, 0.3], [-0.7, 1.1]]), b[1:3, ::2])
    inverse = np.linalg.inv(a)
    factor = np.linalg.cholesky(s + 0.1 * a)
    sign, log = np.linalg.slogdet(a.T[1:, :3])
    det = np.linalg.det(s)
    kept = s.copy()
    large = np.linalg.solve(kept, z)
    kept[1] = 3.0 * v[0]  # which the solution does not see
    large[0, 1] = w[3]
    return (
        np.sum(z * z * b)
        + np.sum(twice * s)
        + w[1] * w[2] * v[0]
        + np.sum(only_a * w)
        + only_b[0, 1] * only_b[1, 0]
        + inverse[0, 1] * inverse[2, 3]
        + np.sum(factor * factor * factor * a)
        + sign * log * v[0]
        + 0.001 * det * a[0, 0]
        + np.sum(np.linalg.inv(kept) * large[0, 0])
        + np.sum(large * large)
    )


def test_systems_and_determinants_agree_with_the_eager_engine():
    value, gradient = value_and_grad(systems, *DATA, argnums=SQUARES)
    assert value == systems(*DATA)
    expected, right = contad.value_and_grad(systems.py_func, argnums=SQUARES)(*DATA)
    assert value == pytest.approx(expected, rel=1e-12)
    for found, bar in zip(gradient, right, strict=True):
        np.testing.assert_allclose(found, bar, rtol=1e-10, atol=1e-11 * np.abs(bar).max())


def test_tangents_are_those_of_the_gradient():
    tangents = tuple(np.random.default_rng(5).standard_normal(x.shape) for x in DATA)
    value, tangent = jvp(systems, DATA, tangents, argnums=SQUARES)
    gradient = contad.grad(systems.py_func, argnums=SQUARES)(*DATA)
    assert value == systems(*DATA)
    assert tangent == pytest.approx(sum(np.sum(x * y) for x, y in zip(gradient, tangents, strict=True)), rel=1e-11)


# ---- models ----------------------------------------------------------------------------------------------------------
@njit
def likelihood(x, y, scale, noise, by_factor):
    """The log marginal likelihood of a Gaussian process, by Cholesky's factor or by slogdet."""
    n = len(x)
    k = np.exp(-0.5 * ((x.reshape((n, 1)) - x.reshape((1, n))) / scale) ** 2) + noise * np.eye(n)
    if by_factor:
        factor = np.linalg.cholesky(k)
        half = np.linalg.solve(factor, y)
        log = 0.0
        for i in range(n):
            log += 2.0 * np.log(factor[i, i])
        return -0.5 * (half @ half) - 0.5 * log
    return -0.5 * (y @ np.linalg.solve(k, y)) - 0.5 * np.linalg.slogdet(k)[1]


def differences(f, args, argnums, h=1e-6):
    """The gradient by central differences."""
    found = []
    for k in argnums:
        x = np.asarray(args[k], dtype=float)
        bar = np.empty(x.shape)
        for i in np.ndindex(x.shape):
            ends = []
            for step in (h, -h):
                moved = x.copy()
                moved[i] += step
                ends.append(f(*args[:k], moved if moved.ndim else float(moved), *args[k + 1 :]))
            bar[i] = (ends[0] - ends[1]) / (2.0 * h)
        found.append(bar)
    return found


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


@njit
def filtered(f, q, r, observed):
    """The log-likelihood of a Kalman filter with two states, both observed."""
    mean, p = np.zeros(2), np.eye(2)
    total = 0.0
    for t in range(len(observed)):
        mean = f @ mean
        p = f @ p @ f.T + q @ q.T
        s = p + r * np.eye(2)
        gain = np.linalg.solve(s, p).T
        residual = observed[t] - mean
        total -= 0.5 * (residual @ np.linalg.inv(s) @ residual) + 0.5 * np.log(np.linalg.det(s))
        mean = mean + gain @ residual
        p = p - gain @ p
    return total


KALMAN = (np.array([[0.9, 0.2], [-0.3, 0.7]]), np.array([[0.5, 0.0], [0.2, 0.4]]), 0.6, DRAW.standard_normal((5, 2)))


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
    for a in (SINGULAR, np.outer([1.0, 2.0, -0.5, 0.3], V) + np.diag([0.0, 1.0, 2.0, 3.0]) * [[0.0], [1], [1], [0]]):
        _, (bar,) = value_and_grad(chosen, a, a[:, :1], "det", has_aux=True)
        right = contad.grad(lambda a: chosen_in_python(a, None, "det"))(a)
        np.testing.assert_allclose(bar, right, rtol=1e-9, atol=1e-12)
    (value, _), (bar,) = value_and_grad(chosen, SINGULAR, SINGULAR[:, :1], "slogdet", has_aux=True)
    assert value == -np.inf
    assert np.isnan(bar).all()


def test_a_system_takes_records_for_its_elements_only_and_no_more_memory_than_allowed():
    n, k = 60, 3
    a, b = np.eye(n) * 2.0 + 0.01 * DRAW.standard_normal((n, n)), DRAW.standard_normal((n, k))
    (_, cells), _ = value_and_grad(chosen, a, b, "solve", has_aux=True)
    assert cells <= n * n + 2 * n * k + (n * n + n) // 3 + 4 + 1  # and the square
    before = state()
    contad.set_memory_limit(contad.native.arena.memory_in_use() + 10_000)
    try:
        large = np.eye(400) * 2.0
        with pytest.raises(MemoryError, match="set_memory_limit"):
            value_and_grad(chosen, large, large, "solve", has_aux=True)
        assert state() == before
    finally:
        contad.set_memory_limit(None)


# ---- inside njit, and from the disk ----------------------------------------------------------------------------------
MODEL = """
import contad
import numpy as np
from numba import njit

@njit(cache=True)
def f(a, v):
    return np.linalg.slogdet(a)[1] * v[0]

on_tape = contad.grad(f, engine="tape")

@njit(cache=True)
def inside(a, v):
    return on_tape(a, v)[1, 0] * 2.0
"""
RUN = """
import numpy as np
from numba.core import event
names = []
class Listen(event.Listener):
    def on_start(self, e): names.append(e.data["dispatcher"].__name__)
    def on_end(self, e): pass
with event.install_listener("numba:compile", Listen()):
    import model
    a, v = np.array([[2.0, 0.3], [0.1, 1.4]]), np.array([0.7, -0.2])
    print(float(model.inside(a, v)), float(model.on_tape(a, v)[1, 0] * 2.0), len(names))
"""


@pytest.mark.skipif(not RUNS_WHEN_LOADED, reason="such machine code is not kept where Numba has no hook for it")
def test_a_second_process_calls_kernels_from_the_disk(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "run.py").write_text(RUN)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba"), "CONTAD_CACHE_DIR": str(tmp_path / "contad")}
    found = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "run.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split())
    a, v = np.array([[2.0, 0.3], [0.1, 1.4]]), np.array([0.7, -0.2])
    right = contad.grad(lambda a, v: np.linalg.slogdet(a)[1] * v[0])(a, v)[1, 0] * 2.0
    for inside, outside, _ in found:
        assert float(inside) == pytest.approx(right, rel=1e-12)
        assert float(outside) == pytest.approx(right, rel=1e-12)
    assert int(found[0][2]) > 0
    assert found[1][2] == "0"
