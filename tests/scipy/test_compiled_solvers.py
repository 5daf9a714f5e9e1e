"""Compiled solvers of differential equations: closed forms, complex steps, SciPy, engines, orders, bad input."""

import itertools

import numba
import numpy as np
import pytest
import scipy.integrate

import contad
from contad.scipy.integrate import compiled_solvers as solvers, dopri5, sdirk4
from contad.scipy.linalg import expm
from tests.scipy.uncompiled import uncompiled

PLAIN = uncompiled(solvers)
TIMES = np.array([0.1, 0.5, 1.0, 1.7])
WEIGHTS = np.array([[0.0, 0.0], [1.0, -0.3], [2.0, 0.7], [1.1, -0.9]])


@numba.njit
def affine(t, y, matrix, shift):
    """A y + b t."""
    found = np.empty(2)
    for i in range(2):
        found[i] = matrix[2 * i] * y[0] + matrix[2 * i + 1] * y[1] + shift[i] * t
    return found


@numba.njit
def affine_by_dopri5(v, times):
    return np.sum(WEIGHTS * dopri5(affine, times, v[6:], (v[:4], v[4:6]), 1e-10, 1e-10))


@numba.njit
def affine_by_sdirk4(v, times):
    return np.sum(WEIGHTS * sdirk4(affine, times, v[6:], (v[:4], v[4:6]), 1e-8, 1e-8))


def affine_by_expm(v, times):
    """By the exponential of the matrix of (y, t, 1)."""
    above = np.concatenate([np.reshape(v[:4], (2, 2)), np.reshape(v[4:6], (2, 1)), np.zeros((2, 1))], axis=1)
    matrix = np.concatenate([above, np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])], axis=0)
    start = contad.array([v[6], v[7], times[0], 1.0])
    return np.sum(WEIGHTS * np.stack([(expm(matrix * (times[k] - times[0])) @ start)[:2] for k in range(4)]))


V = np.array([-0.5, 1.0, -1.2, -0.3, 0.2, -0.4, 1.0, 0.5])  # A, b, y0


@pytest.mark.parametrize(
    ("f", "tolerance"), [(affine_by_dopri5, 1e-8), pytest.param(affine_by_sdirk4, 1e-6, marks=pytest.mark.long)]
)
def test_a_linear_system(f, tolerance):
    """All derivatives, of times too; and back to the start."""
    assert contad.engine_name(contad.grad(f, (0, 1)), args=(V, TIMES)) == "generated"
    for times in (TIMES, TIMES[::-1].copy()):
        expected = contad.grad(affine_by_expm, (0, 1))(V, times)
        for one, other in zip(contad.grad(f, (0, 1))(V, times), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=tolerance)
    by_copy = contad.grad(f, (0, 1), engine="matrix")(V, TIMES)
    for one, other in zip(by_copy, contad.grad(f, (0, 1))(V, TIMES), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def take_steps(w, y, times):
    """The steps of Dormand and Prince from time to time, on complex numbers too."""
    slope = lambda y: np.array([y[1], -w * w * y[0]])
    for h in np.diff(times):
        k1 = slope(y)
        k2 = slope(y + h / 5 * k1)
        k3 = slope(y + h * (3 / 40 * k1 + 9 / 40 * k2))
        k4 = slope(y + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3))
        k5 = slope(y + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4))
        k6 = slope(
            y + h * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5)
        )  # fmt: skip
        y = y + h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
    return y[0]


def test_derivatives_are_those_of_the_steps():
    """Where a step goes from time to time: exact, where the solution is not."""
    times = np.linspace(0.0, 3.0, 16)
    f = lambda w: dopri5(oscillator, times, np.array([1.0, 0.5]), (w,), 1e2, 1e2)[15, 0]
    by_hand = take_steps(2.0 + 1e-30j, np.array([1.0, 0.5]), times)
    assert by_hand.real == pytest.approx(f(2.0), rel=1e-12) and abs(f(2.0) - np.cos(6.0) - 0.25 * np.sin(6.0)) > 1e-6
    assert contad.grad(f)(2.0) == pytest.approx(by_hand.imag / 1e-30, rel=1e-12)


# ---- stiff -----------------------------------------------------------------------------------------------------------
@numba.njit
def robertson(t, y, k):
    first, second, third = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return np.array([-first + third, first - second - third, second])


@numba.njit
def robertson_at_40(x):
    k = np.array([0.04, 3e7, 1e4]) * np.exp(x)
    return sdirk4(robertson, np.array([0.0, 40.0]), np.array([1.0, 0.0, 0.0]), (k,), 1e-8, 1e-12)[1, 0]


@pytest.mark.long
def test_robertson():
    """Beside SciPy's Radau at tight tolerances."""

    def tight(x):
        k = np.array([0.04, 3e7, 1e4]) * np.exp(x)
        options = {"args": (k,), "rtol": 1e-11, "atol": 1e-15}
        return scipy.integrate.solve_ivp(robertson, (0.0, 40.0), np.array([1.0, 0.0, 0.0]), "Radau", **options).y[0, -1]

    assert robertson_at_40(np.zeros(3)) == pytest.approx(tight(np.zeros(3)), rel=1e-8)
    steps = 1e-4 * np.eye(3)
    expected = [(tight(step) - tight(-step)) / 2e-4 for step in steps]
    np.testing.assert_allclose(contad.grad(robertson_at_40)(np.zeros(3)), expected, rtol=1e-5)


def test_coefficients():
    """The conditions of order of the implicit method, and of its estimate."""
    a, c = solvers._SDIRK_A, solvers._SDIRK_C
    np.testing.assert_allclose(a.sum(axis=1), c, atol=1e-15)
    for b, order in ((a[4], 4), (a[4] - solvers._SDIRK_E, 3)):
        third = [(b @ c**2, 1 / 3), (b @ a @ c, 1 / 6)]
        fourth = [(b @ c**3, 1 / 4), (b * c @ a @ c, 1 / 8), (b @ a @ c**2, 1 / 12), (b @ a @ a @ c, 1 / 24)]
        for found, expected in [(b.sum(), 1.0), (b @ c, 1 / 2), *third, *(fourth if order == 4 else [])]:
            assert found == pytest.approx(expected, abs=1e-13)
    assert a[4] @ np.linalg.inv(a) @ np.ones(5) == pytest.approx(1.0)  # 0 at infinity


# ---- orders, and calls from Python -----------------------------------------------------------------------------------
@numba.njit
def oscillator(t, y, w):
    return np.array([y[1], -w * w * y[0]])


@numba.njit
def position(v):
    return dopri5(oscillator, np.array([0.0, 1.5]), v[1:], (v[0],), 1e-10, 1e-10)[1, 0]


@numba.njit
def position_by_sdirk4(v):
    return sdirk4(oscillator, np.array([0.0, 1.5]), v[1:], (v[0],), 1e-9, 1e-9)[1, 0]


def closed(v):
    return v[1] * np.cos(1.5 * v[0]) + v[2] / v[0] * np.sin(1.5 * v[0])


@pytest.mark.long
@pytest.mark.parametrize("f", [position, position_by_sdirk4])
def test_second_and_third_derivatives(f):
    v, direction = np.array([1.3, 0.8, -0.5]), np.array([0.4, -1.0, 0.6])
    np.testing.assert_allclose(contad.jvp(f, (v,), (direction,))[1], contad.grad(closed)(v) @ direction, atol=1e-8)
    np.testing.assert_allclose(contad.hessian(f)(v), contad.hessian(closed)(v), atol=1e-7)
    np.testing.assert_allclose(contad.hvp(f)(v, direction), contad.hessian(closed)(v) @ direction, atol=1e-7)

    def third(f):
        at = contad.derivative(contad.derivative(contad.derivative(lambda s: f(v + s * direction))))
        return at(0.0)

    assert third(f) == pytest.approx(third(closed), abs=1e-6)


def test_plain_functions_call_it():
    v = np.array([1.3, 0.8, -0.5])
    f = lambda v: dopri5(oscillator, np.array([0.0, 1.5]), v[1:], (v[0],), 1e-9, 1e-9)[1, 0]
    assert f(v) == pytest.approx(closed(v), abs=1e-8)
    np.testing.assert_allclose(contad.grad(f)(v), contad.grad(closed)(v), atol=1e-7)


# ---- bad input -------------------------------------------------------------------------------------------------------
@numba.njit
def short(t, y):
    return y[:1].copy()


@numba.njit
def broken(t, y):
    return -y if t < 1.0 else np.full(len(y), np.nan)


@numba.njit
def explosive(t, y):
    return y * y


@numba.njit
def decay(t, y):
    return -y


BAD = [
    ({"rtol": 0.0}, ValueError, "rtol and atol must be positive"),
    ({"atol": -1.0}, ValueError, "rtol and atol must be positive"),
    ({"rtol": np.nan}, ValueError, "rtol and atol must be positive"),
    ({"max_steps": 0}, ValueError, "max_steps must be positive"),
    ({"max_steps": 3}, RuntimeError, r"more than max_steps steps are needed, .* t =', (np.float64\()?[01]\."),
    ({"t": np.array([0.0, 2.0, 1.0])}, ValueError, "t must be finite, and go in one direction"),
    ({"t": np.array([0.0, np.nan])}, ValueError, "t must be finite"),
    ({"y0": np.array([1.0, np.inf])}, ValueError, "y0 must be finite"),
    ({"fun": short}, ValueError, "fun must give as many numbers as y0 has, got', 1"),
    ({"fun": broken}, ValueError, r"fun must give finite numbers, got others at t =', (np.float64\()?(1.0|0.9999)"),
    ({"fun": explosive}, (RuntimeError, ValueError), r"at t =', (np.float64\()?(1.0|0.9999)"),
]


@pytest.mark.parametrize("solver", ["dopri5", "sdirk4"])
def test_bad_input(solver):
    """As Python runs it; what compiled derivatives raise is in the next test."""
    good = {"t": np.array([0.0, 2.0]), "y0": np.ones(2), "args": (), "rtol": 1e-6, "atol": 1e-6, "max_steps": 2000}
    for changed, error, message in BAD:
        given = good | changed
        fun = given.pop("fun", decay).py_func
        with np.errstate(all="ignore"), pytest.raises(error, match=rf"integrate.{solver}: .*{message}"):
            getattr(PLAIN, solver)(fun, *given.values())
    for widths in ((1, -1), (-1, 0), (2, 0), (0, 2)):
        with pytest.raises(ValueError, match="sdirk4: lband and uband must be below the number of unknowns, got', 2"):
            PLAIN.sdirk4(decay.py_func, *good.values(), *widths)


def diffuse(t, y):
    """A row of three, which the one on the left feeds as well as the two on the right."""
    found = -3e3 * (y - np.cos(t))
    found[1:] += 0.3e3 * y[:-1]
    found[:-2] -= 0.5e3 * y[2:] ** 2
    return found


def test_bands():
    """As without one, by fewer evaluations; one that is too narrow is slower, and right."""
    counts, found = [], []
    for widths in ((-1, -1), (1, 2), (1, 1)):
        calls = []
        fun = lambda t, y: calls.append(t) or diffuse(t, y)  # noqa: B023
        found.append(PLAIN.sdirk4(fun, np.array([0.0, 0.1]), np.zeros(7), (), 1e-4, 1e-4, 1000, *widths))
        counts.append(len(calls))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-4)
    assert counts[1] < counts[0]
    y = np.arange(1.0, 8.0)
    band, full = (PLAIN._find_jacobian(diffuse, 0.2, y, diffuse(0.2, y), (), *widths) for widths in ((1, 2), (-1, -1)))
    for i, j in itertools.product(range(7), range(7)):
        assert full[i, j] == (pytest.approx(band[2 + i - j, j], rel=1e-12) if -1 <= j - i <= 2 else 0.0)


@numba.njit
def solve_broken(p, y0, rtol, steps):
    return np.sum(dopri5(broken, np.array([0.0, p]), y0, (), rtol, 1e-6, steps))


@pytest.mark.long
def test_derivatives_raise_what_the_function_raises():
    for args, error, message in (
        ((2.0, np.ones(2), 1e-6, 1000), ValueError, r"dopri5: .*got others at t =', 0.9999"),
        ((0.9, np.ones(2), 0.0, 1000), ValueError, "rtol and atol must be positive"),
        ((0.9, np.ones(2), 1e-6, 1), RuntimeError, r"more than max_steps .* t =', 0.0"),
    ):
        for f in (solve_broken, contad.grad(solve_broken)):
            with pytest.raises(error, match=message):
                f(*args)
    assert contad.stack().top <= 1
    assert contad.grad(solve_broken)(0.9, np.ones(2), 1e-6, 1000) == pytest.approx(-2.0 * np.exp(-0.9), rel=1e-6)
