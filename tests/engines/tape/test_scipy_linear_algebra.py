"""Functions of contad.scipy.linalg in njit: against SciPy, the eager engine and differences, with SciPy's errors."""

import functools

import numpy as np
import pytest
import scipy.linalg
from numba import njit

import contad
from contad.compile.words import word
from contad.engines.tape import build
from contad.memory.arena import BLOCK, USED, arena
from contad.scipy import linalg
from contad.scipy.linalg import cho_factor, solve_triangular
from tests.engines.tape.requests import jvp, request, value_and_grad

DRAW = np.random.default_rng(83)
SOLVE_TRIANGULAR, CHO_FACTOR, CHO_SOLVE, SOLVE_BANDED, EXPM = range(5)


# ---- two programs of all functions, whose options are arguments ------------------------------------------------------
@njit
def of_triangles(a, b, kind, trans, lower, unit, below, above):
    """A function of them, its options known when it runs; and how many cells there are."""
    z = solve_triangular(a, b, trans, lower, unit) if kind == SOLVE_TRIANGULAR else linalg.cho_solve((a, lower), b)
    return np.sum(z * z * z) + a[0, 0] * b[0, 0], word(arena(), USED)


@njit
def of_the_others(a, b, kind, trans, lower, unit, below, above):
    """The same of those whose kernels compile for longest."""
    if kind == CHO_FACTOR:
        z = cho_factor(a, lower)[0]
    elif kind == SOLVE_BANDED:
        z = linalg.solve_banded((below, above), a, b)
    else:
        z = contad.scipy.linalg.expm(a)
    return np.sum(z * z * z) + a[0, 0] * b[0, 0], word(arena(), USED)


TRIANGLES = (SOLVE_TRIANGULAR, CHO_SOLVE)


def program_of(case):
    return of_triangles if case[2] in TRIANGLES else of_the_others


def always_of_triangles(cases):
    """The cases as parameters; those of the other program, half a minute of compilation, are long."""
    return [pytest.param(case, marks=[] if case[2] in TRIANGLES else [pytest.mark.long]) for case in cases]


def plainly(a, b, kind, trans, lower, unit, below, above, module=linalg):
    """The same in Python."""
    z = {
        SOLVE_TRIANGULAR: lambda: module.solve_triangular(a, b, trans, lower, unit),
        CHO_FACTOR: lambda: module.cho_factor(a, lower)[0],
        CHO_SOLVE: lambda: module.cho_solve((a, lower), b),
        SOLVE_BANDED: lambda: module.solve_banded((below, above), a, b),
        EXPM: lambda: module.expm(a),
    }[kind]()
    return np.sum(z * z * z) + a[0, 0] * b[0, 0]


A, B, V = DRAW.standard_normal((3, 3)) + 2.0 * np.eye(3), DRAW.standard_normal((3, 2)), DRAW.standard_normal(3)
S = A @ A.T + 0.2 * A + np.eye(3)
BAND = DRAW.standard_normal((4, 3)) + 4.0 * (np.arange(4) == 2)[:, None]
FLAGS = [(trans, lower, unit) for trans in (0, 1, 2) for lower in (False, True) for unit in (False, True)]
CASES = [
    *((A, B, SOLVE_TRIANGULAR, *flags, 0, 0) for flags in FLAGS),
    *((x, B, kind, 0, lower, False, 0, 0) for x, kind in ((S, CHO_FACTOR), (A, CHO_SOLVE)) for lower in (False, True)),
    *((BAND[:n], B, SOLVE_BANDED, 0, False, False, *sides) for n, *sides in ((4, 1, 2), (4, 2, 1), (2, 0, 1))),
    (np.roll(BAND, 1, 0)[:3][::-1].copy(), B, SOLVE_BANDED, 0, False, False, 1, 1),
    (np.array([[1.0], [2.0]]), B[:1].copy(), SOLVE_BANDED, 0, False, False, 0, 1),
    *((scale * A, B, EXPM, 0, False, False, 0, 0) for scale in (0.01, 1.0, 5.0)),
    (np.diag(V), B, EXPM, 0, False, False, 0, 0),
]


@functools.cache
def gradient_of(program):
    """(value, gradients) by the tape."""
    return build(request(program, *CASES[0], argnums=(0, 1), has_aux=True))


@functools.cache
def forward(program):
    """(value, tangent) by duals."""
    return build(request(program, *CASES[0], argnums=(0, 1), mode="jvp"))


@pytest.mark.parametrize("case", always_of_triangles(CASES), ids=lambda case: "-".join(map(str, case[2:])))
def test_values_gradients_and_tangents(case):
    program = program_of(case)
    value, _ = program(*case)
    assert value == pytest.approx(plainly(*case, module=scipy.linalg), rel=1e-12)
    (found, _), gradient = gradient_of(program)(*case)
    assert found == value
    right = contad.grad(plainly, argnums=(0, 1))(*case)
    for x_bar, expected in zip(gradient, right, strict=True):
        np.testing.assert_allclose(x_bar, expected, rtol=1e-10, atol=1e-12 * max(1.0, np.abs(expected).max()))
    tangents = tuple(DRAW.standard_normal(x.shape) for x in case[:2])
    (found, _), (slope, _) = forward(program)(case, tangents)
    assert found == value
    assert slope == pytest.approx(sum(np.sum(x * t) for x, t in zip(right, tangents, strict=True)), rel=1e-10)


@njit
def state():
    header = arena()
    return word(header, USED), word(header, BLOCK)


FLAWED = np.array([[1.0, 2.0, 0.3], [2.0, 0.0, 1.0], [0.7, 1.0, 3.0]])
ERRORS = [
    (FLAWED, B, SOLVE_TRIANGULAR, 0, False, False, 0, 0),
    (FLAWED[:2], B, SOLVE_TRIANGULAR, 0, False, False, 0, 0),
    (FLAWED, B[:2], SOLVE_TRIANGULAR, 0, False, False, 0, 0),
    (FLAWED * [np.inf, 1.0, 1.0], B, SOLVE_TRIANGULAR, 0, True, False, 0, 0),
    (FLAWED, B, CHO_FACTOR, 0, False, False, 0, 0),
    (-FLAWED, B, CHO_FACTOR, 0, True, False, 0, 0),
    (FLAWED[:2], B, CHO_FACTOR, 0, True, False, 0, 0),
    (A[:2], B, CHO_SOLVE, 0, True, False, 0, 0),
    (A, B[:2], CHO_SOLVE, 0, True, False, 0, 0),
    (0.0 * BAND, B, SOLVE_BANDED, 0, False, False, 1, 2),
    (BAND, B, SOLVE_BANDED, 0, False, False, 1, 1),
    (BAND, B[:2], SOLVE_BANDED, 0, False, False, 1, 2),
    (A[:2], B, EXPM, 0, False, False, 0, 0),
]


@pytest.mark.parametrize(
    "case", always_of_triangles(ERRORS), ids=lambda case: f"{case[2]} {case[0].shape} {case[1].shape}"
)
def test_errors_are_those_of_scipy_and_leave_the_tape_as_it_was(case):
    program = program_of(case)
    with pytest.raises(ValueError) as expected:
        plainly(*case, module=scipy.linalg)
    with pytest.raises(type(expected.value)) as plain:
        program(*case)
    before = state()
    with pytest.raises(type(expected.value)) as raised:
        gradient_of(program)(*case)
    assert str(raised.value) == str(plain.value) == str(expected.value)
    assert state() == before


@pytest.mark.parametrize("kind", [SOLVE_TRIANGULAR, CHO_SOLVE, pytest.param(EXPM, marks=pytest.mark.long)])
def test_an_operation_takes_records_for_its_elements_only(kind):
    n, k = 40, 3
    a, b = np.eye(n) * 2.0 + 0.01 * DRAW.standard_normal((n, n)), DRAW.standard_normal((n, k))
    case = (a, b, kind, 0, True, False, 0, 0)
    inputs, results = n * n + n * k, n * n if kind == EXPM else n * k
    start = state()[0]
    (_, used), _ = gradient_of(program_of(case))(*case)
    assert used - start <= 2 * inputs + results + 2 + 3 * results + 2  # the arguments, the block, the sum of cubes



# ---- the other ways to call them -------------------------------------------------------------------------------------
DATA, ALL = (A, B, V, S, BAND), (0, 1, 2, 3, 4)


@njit
def systems(a, b, v, s, band):
    """Every function, operands used twice, transposed, constant, with options by name and by position."""
    x = solve_triangular(a, b)
    y = solve_triangular(a.T, x, trans="T", lower=True)
    w = linalg.solve_triangular(a, v, 1, True, unit_diagonal=True)
    only_a = solve_triangular(a * a + s, np.array([1.0, 2.0, -0.3]), 0, True)
    only_b = contad.scipy.linalg.solve_triangular(np.array([[2.0, 0.3], [0.0, 1.1]]), b[1:, ::-1], trans=2)
    total = np.sum(x * x * b) + y[0, 1] * y[2, 0] + w[0] * w[1] * only_a[2] + only_b[0, 0] * only_b[1, 1]
    low, is_low = cho_factor(s, lower=True)
    up = cho_factor(s + 0.1 * a)
    total += np.sum(low * low * low * a) + up[0][0, 2] * up[0][1, 0] * up[0][2, 2]
    z = linalg.cho_solve((low, is_low), b)
    total += np.sum(z * z * x) + np.sum(linalg.cho_solve(up, v) * w) + linalg.cho_solve((a, False), v)[1]
    wide = linalg.solve_banded((1, 2), band, b)
    three = linalg.solve_banded((1, 1), band[1:], v)
    total += np.sum(wide * wide * b) + np.sum(three * three * v) * wide[0, 1]
    above = linalg.solve_banded((0, 1), band[1:3] + 0.0, v)
    total += above[0] * linalg.solve_banded((2, 0), band[1:] * band[0, 0], v)[2]
    e = linalg.expm(a)
    return total + 0.01 * np.sum(e * e * s) + linalg.expm(0.1 * s)[0, 2] * e[1, 0]


@pytest.mark.long  # a minute of compilation
def test_gradients_and_tangents_agree_with_the_eager_engine_and_with_differences():
    value, gradient = value_and_grad(systems, *DATA, argnums=ALL)
    assert value == systems(*DATA)
    expected, right = contad.value_and_grad(systems.py_func, argnums=ALL)(*DATA)
    assert value == pytest.approx(expected, rel=1e-12)
    assert value == pytest.approx(in_scipy(*DATA), rel=1e-12)
    for found, bar in zip(gradient, right, strict=True):
        np.testing.assert_allclose(found, bar, rtol=1e-10, atol=1e-11 * np.abs(bar).max())
    tangents = tuple(DRAW.standard_normal(x.shape) for x in DATA)
    h = 1e-6
    ends = [systems(*(x + step * t for x, t in zip(DATA, tangents, strict=True))) for step in (h, -h)]
    value, tangent = jvp(systems, DATA, tangents, argnums=ALL)
    assert value == systems(*DATA)
    assert tangent == pytest.approx(sum(np.sum(x * t) for x, t in zip(right, tangents, strict=True)), rel=1e-11)
    assert tangent == pytest.approx((ends[0] - ends[1]) / (2.0 * h), rel=1e-6)


def in_scipy(*args):
    """The value of the program with SciPy's own functions."""
    names = {"linalg": scipy.linalg, "contad": type("Contad", (), {"scipy": scipy})}
    names |= {name: getattr(scipy.linalg, name) for name in ("solve_triangular", "cho_factor")}
    function = systems.py_func
    return type(function)(function.__code__, {**function.__globals__, **names})(*args)
