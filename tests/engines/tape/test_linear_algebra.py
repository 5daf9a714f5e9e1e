"""Linear algebra on the tape: contad.scipy.linalg against SciPy and the eager engine; records, memory and errors."""

import functools

import numpy as np
import pytest
import scipy.linalg
from numba import njit

import contad
from contad.compile.words import word
from contad.engines.tape import build
from contad.memory.arena import USED, arena, memory_in_use
from contad.scipy import linalg
from contad.scipy.linalg import cho_factor, solve_triangular
from tests.engines.tape.requests import request, state, value_and_grad

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


@njit
def solved(a, b):
    """An element of the solution, and how many cells the system takes."""
    first = word(arena(), USED)
    z = np.linalg.solve(a, b)
    return z[1, 0], word(arena(), USED) - first


def test_a_system_takes_records_for_its_elements_only_and_no_more_memory_than_allowed():
    n, k = 60, 3
    a, b = np.eye(n) * 2.0 + 0.01 * DRAW.standard_normal((n, n)), DRAW.standard_normal((n, k))
    (_, cells), _ = value_and_grad(solved, a, b, has_aux=True)
    assert cells <= n * n + 2 * n * k + (n * n + n) // 3 + 4
    before = state()
    contad.set_memory_limit(memory_in_use() + 10_000)
    try:
        large = np.eye(400) * 2.0
        with pytest.raises(MemoryError, match="set_memory_limit"):
            value_and_grad(solved, large, large, has_aux=True)
        assert state() == before
    finally:
        contad.set_memory_limit(None)
