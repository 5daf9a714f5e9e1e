"""Derivatives of the steps of explicit methods: exact, where the solution is not; beside complex steps."""

import numba
import numpy as np
import pytest
import scipy.integrate

import contad
from contad.errors import UnsupportedError
from contad.scipy.integrate import solve_ivp

V = np.array([1.3, 0.8, -0.5, 0.1, 0.9, 1.7])  # frequency, y0, t0, output times
LOOSE = {"rtol": 1e-2, "atol": 1e-2}


def forced(t, y, w):
    """A forced oscillator that is not linear."""
    return [y[1], -w * w * y[0] + 0.1 * y[0] * y[1] + np.cos(w * t)]


def outputs(v, method="RK45", sensitivity="discrete", **options):
    found = solve_ivp(
        forced, (v[3], 2.0), v[1:3], method, v[4:6], args=(v[0],), sensitivity=sensitivity, **(LOOSE | options)
    )
    return found.y[0] + 0.5 * found.y[1]


def by_replay(v, method, steps):
    """SciPy's own steps again, of complex numbers, by its coefficients."""
    solver = getattr(scipy.integrate, method)
    count, y, found = solver.n_stages, v[1:3], {}
    for offset, h in steps:
        t = v[3] + offset
        k = np.zeros((17, 2), complex)
        for s in range(count):
            k[s] = forced(t + solver.C[s] * h, y + h * (solver.A[s, :s] @ k[:s]), v[0])
        new = y + h * (solver.B @ k[:count])
        k[count] = forced(t + h, new, v[0])
        if method == "DOP853":
            for s, (a, c) in enumerate(zip(solver.A_EXTRA, solver.C_EXTRA, strict=True), start=count + 1):
                k[s] = forced(t + c * h, y + h * (a[:s] @ k[:s]), v[0])
        for at in v[4:6]:
            x = (at - t) / h
            if at not in found and x.real <= 1.0:
                if method == "DOP853":
                    change = new - y
                    f = [change, h * k[0] - change, 2 * change - h * (k[count] + k[0]), *(h * (solver.D @ k[:16]))]
                    value = 0.0
                    for m, term in enumerate(reversed(f)):
                        value = (value + term) * (x if m % 2 == 0 else 1 - x)
                    found[at] = y + value
                else:
                    q = k[: count + 1].T @ solver.P
                    found[at] = y + h * (q @ x ** np.arange(1, q.shape[1] + 1))
        y = new
    return np.array([found[at][0] + 0.5 * found[at][1] for at in v[4:6]])


def steps_of(v, method):
    solver = getattr(scipy.integrate, method)(lambda t, y: forced(t, y, v[0]), v[3], v[1:3], 2.0, **LOOSE)
    found = []
    while solver.status == "running":
        solver.step()
        found.append((solver.t_old - v[3], solver.t - solver.t_old))
    return found


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_derivatives_are_those_of_the_steps(method):
    """In everything, start and output times too."""
    steps = steps_of(V, method)
    rows = []
    for k in range(6):
        v = V.astype(complex)
        v[k] += 1e-30j
        rows.append(by_replay(v, method, steps).imag / 1e-30)
    expected = np.array(rows).T
    np.testing.assert_allclose(outputs(V, method), by_replay(V, method, steps).real, rtol=1e-13)
    np.testing.assert_allclose(contad.jacrev(outputs)(V, method), expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(contad.jacfwd(outputs)(V, method), expected, rtol=1e-11, atol=1e-13)


def test_three_ways_agree():
    tight = {"rtol": 1e-9, "atol": 1e-9}
    expected = contad.jacrev(outputs)(V, **tight)
    for sensitivity in ("forward", "adjoint"):
        np.testing.assert_allclose(contad.jacrev(outputs)(V, "RK45", sensitivity, **tight), expected, atol=2e-7)


def test_second_derivatives():
    """Differences of first ones, along the same steps."""
    steps, direction = steps_of(V, "RK45"), np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3])
    f = lambda v: np.sum(outputs(v))

    def slope(v):
        rows = []
        for k in range(6):
            moved = v.astype(complex)
            moved[k] += 1e-30j
            rows.append(np.sum(by_replay(moved, "RK45", steps)).imag / 1e-30)
        return np.array(rows)

    expected = (slope(V + 1e-5 * direction) - slope(V - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(contad.hvp(f)(V, direction), expected, rtol=1e-6, atol=1e-7)
    by_reverse = contad.grad(lambda v: contad.grad(f)(v) @ direction)(V)
    np.testing.assert_allclose(by_reverse, expected, rtol=1e-6, atol=1e-7)


def test_numba_functions_trees_and_captured_variables():
    @numba.njit
    def compiled(t, y, w, shift):
        return np.array([y[1], -w * w * y[0] + shift[0] * t])

    def f(v, way):
        given = {"args": (v[0], v[1:2])} if way == "njit" else {}
        tree = {"w": v[0], "shift": (v[1],)}
        fun = compiled if way == "njit" else (lambda t, y: [y[1], -tree["w"] ** 2 * y[0] + tree["shift"][0] * t])
        return np.sum(solve_ivp(fun, (0.0, 1.0), v[2:], sensitivity="discrete", **LOOSE, **given).y ** 2)

    v = np.array([1.1, 0.4, 0.7, -0.2])
    np.testing.assert_allclose(contad.grad(f)(v, "njit"), contad.grad(f)(v, "captured"), rtol=1e-12)


def test_the_cost_does_not_grow_with_parameters():
    def count(n):
        calls = [0]

        def fun(t, y, p):
            calls[0] += 1
            return -np.sum(p) / n * y

        f = lambda p: np.sum(solve_ivp(fun, (0.0, 1.0), np.ones(2), args=(p,), sensitivity="discrete").y[:, -1])
        contad.grad(f)(np.ones(n))
        return calls[0]

    assert count(100) == count(2)


def test_no_time_and_other_methods():
    def f(v, method="RK45"):
        return np.sum(
            solve_ivp(lambda t, y: -y * t, (1.0, 2.0), v[:2], method, v[2:], sensitivity="discrete").y
        )  # fmt: skip

    np.testing.assert_allclose(contad.grad(f)(np.array([2.0, 3.0, 1.0])), [1.0, 1.0, -5.0])
    for call in (f, contad.grad(f)):
        with pytest.raises(UnsupportedError, match='sensitivity="discrete" is of the methods RK23, RK45 and DOP853'):
            call(np.array([2.0, 3.0, 1.5]), "BDF")
    assert contad.stack().top <= 1
