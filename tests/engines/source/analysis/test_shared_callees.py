"""Callees that are functions of their own: a program grows linearly with what it calls, and every case agrees."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.analysis import shared_callees
from contad.engines.source.build import derivative_of
from contad.engines.source.reading import frontend
from contad.engines.source.writing import derivative_text
from contad.engines.source.writing.called_reverse import find_used
from contad.errors import UnsupportedError
from tests.engines.source.agreement import agree, request
from tests.engines.source.programs.harness import function_of, given_to
from tests.engines.source.programs.shared_callees import CALLED, SHARED_CALLEES
from tests.judges.written import define as run

LOWEST = """
@njit
def level_0(x, y):
    if x > 3.0:
        return x * y
    if y > 2.0:
        return math.sin(x) + y
    return math.exp(-x * x) * y + math.sin(y * x)
"""
LEVEL = """
@njit
def level_{n}(x, y):
    if x > 2.0:
        return level_{m}(x * 0.5, y) * y
    a = level_{m}(x, y * 0.5)
    if a > 5.0:
        return a * x
    b = level_{m}(a, x)
    return a * b + level_{m}(b * 0.1, a) * 0.5 + y
"""


def levels(most):
    """Functions each of which calls the one before at four places, and returns early."""
    names = {"njit": njit, "math": math}
    for n in range(most + 1):
        text = LOWEST if n == 0 else LEVEL.format(n=n, m=n - 1)
        run(text, f"<level {n}>", names)
    return [names[f"level_{n}"] for n in range(most + 1)]


LEVELS = levels(9)


@pytest.fixture
def calling(monkeypatch):
    """All callees that can be are functions of their own."""
    monkeypatch.setattr(frontend, "INLINED", 0)
    monkeypatch.setattr(shared_callees, "SMALL", -1)


def written(f, *args, argnums=(0,)):
    """The derivative, and its number of lines."""
    found = derivative_of(request(f, *args, argnums=argnums))
    return found, len(found.source().splitlines())


# ---- size ------------------------------------------------------------------------------------------------------------
def test_the_source_grows_linearly_with_the_number_of_levels():
    sizes = [written(LEVELS[n], 0.7, 0.4, argnums=(0, 1))[1] for n in (5, 7, 9)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] < 250
    found, _ = written(LEVELS[7], 0.7, 0.4, argnums=(0, 1))
    assert [called.function.name for called in find_used(found)] == [f"level_{n}" for n in range(7)]


@pytest.mark.long
def test_seven_levels_are_compiled_and_right():
    f = LEVELS[7]
    assert contad.engine_name(contad.grad(f), args=(0.7, 0.4)) == "generated"
    agree(LEVELS[3], 0.7, 0.4, argnums=(0, 1))
    value, gradient = contad.value_and_grad(f, (0, 1), engine="generated")(0.7, 0.4)
    recorded_value, recorded = contad.value_and_grad(f, (0, 1), engine="records")(0.7, 0.4)
    np.testing.assert_allclose(value, recorded_value, rtol=1e-12)
    np.testing.assert_allclose(gradient, recorded, rtol=1e-9)
    assert "level_3 is called" in contad.explain(f, 0.7, 0.4)


def test_a_short_program_has_its_callees_in_place():
    found, _ = written(LEVELS[1], 0.7, 0.4)
    assert find_used(found) == []


def test_beyond_the_budget_of_lines_the_tape_takes_over(monkeypatch):
    monkeypatch.setattr(derivative_text, "MOST_LINES", 100)

    @njit
    def f(x, y):
        return LEVEL_5(x, y) * y

    assert contad.engine_name(contad.grad(f), args=(0.7, 0.4)) == "tape"
    assert "100 is the most" in contad.explain(f, 0.7, 0.4)
    with pytest.raises(UnsupportedError, match="lines of source long"):
        contad.grad(f, engine="generated")(0.7, 0.4)


LEVEL_5 = LEVELS[5]


@njit
def writes(v, x):
    v[0] += math.sin(x) * math.sin(x * 0.5)
    v[1] += math.sin(x * 0.3) * math.sin(x * 0.2)


@njit
def writes_often(v, x):
    for k in range(2):
        writes(v, x)
        writes(v, x * 0.5)
        writes(v, x * k)
        writes(v, x + k)


@njit
def explodes(x):
    v = np.zeros(2)
    writes_often(v, x)
    writes_often(v, x * 0.5)
    writes_often(v, x * 2.0)
    writes_often(v, x * 3.0)
    return v[0] * v[1]


def test_loops_count_as_many_lines(monkeypatch):
    text = contad.source(explodes, 0.3)
    loops = text.count("for ")
    monkeypatch.setattr(derivative_text, "MOST_LINES", len(text.splitlines()) + 100 * loops)
    contad.source(explodes, 0.3)
    monkeypatch.setattr(derivative_text, "MOST_LINES", len(text.splitlines()) + 100 * loops - 1)
    with pytest.raises(UnsupportedError, match="a loop counted as 100"):
        contad.source(explodes, 0.3)


def test_functions_in_place_that_explode_are_refused(monkeypatch):
    monkeypatch.setattr(frontend, "MOST", 200)
    with pytest.raises(UnsupportedError, match="a function of more than 200 operations"):
        contad.source(explodes, 0.3)


# ---- Kepler's equation -----------------------------------------------------------------------------------------------
@njit
def kepler(anomaly, mean, ecc):
    return anomaly - ecc * math.sin(anomaly) - mean


@njit
def newton(start, mean, ecc, tolerance, most):
    p0 = start
    for _ in range(most):
        p = p0 - kepler(p0, mean, ecc) / (1.0 - ecc * math.cos(p0))
        if abs(p - p0) < tolerance:
            return p
        p0 = p
    return math.nan


@njit
def eccentric(mean, ecc):
    start = mean - ecc if -math.pi < mean < 0.0 or mean > math.pi else mean + ecc
    return newton(start, mean, ecc, 1e-13, 100)


@njit
def true_anomaly(anomaly, ecc):
    return 2.0 * math.atan(math.sqrt((1.0 + ecc) / (1.0 - ecc)) * math.tan(anomaly / 2.0))


@njit
def hyperbolic(mean, ecc):
    p0 = math.asinh(mean / ecc)
    while True:
        p = p0 - (ecc * math.sinh(p0) - p0 - mean) / (ecc * math.cosh(p0) - 1.0)
        if abs(p - p0) < 1e-13:
            break
        p0 = p
    return p


@njit
def propagated(mean, ecc, dt, k, a):
    if ecc < 1.0:
        moved = mean + math.sqrt(k / a**3) * dt
        moved = (moved + math.pi) % (2.0 * math.pi) - math.pi
        return true_anomaly(eccentric(moved, ecc), ecc)
    anomaly = hyperbolic(mean + math.sqrt(k / abs(a) ** 3) * dt, ecc)
    return 2.0 * math.atan(math.sqrt((ecc + 1.0) / (ecc - 1.0)) * math.tanh(anomaly / 2.0))


@njit
def three_orbits(p):
    s = propagated(p[0], p[1], 10.0, p[2], p[3])
    s += propagated(s, p[1] * 0.5, 20.0, p[2], p[3])
    return s + propagated(p[0], 1.0 + p[1], 20.0, p[2], p[3] * 1.1)


def test_solvers_of_keplers_equation_are_called():
    p = np.array([0.3, 0.4, 1.2, 5.0])
    found, lines = written(three_orbits, p)
    assert {called.function.name for called in find_used(found)} >= {"propagated", "newton"}
    assert lines < 500
    agree(three_orbits, p, compiled=True)


@pytest.mark.parametrize("name", ["array is changed", "kinds of number", "functions", "global arrays"])
def test_callees_are_compiled(name, calling):
    agree(function_of(SHARED_CALLEES, CALLED[name]), *given_to(SHARED_CALLEES), argnums=(0, 1), compiled=True)


# ---- errors, and zeros -----------------------------------------------------------------------------------------------
@njit
def checked(x):
    if x < 0.0:
        raise ValueError("negative")
    return 1.0 / x


@njit
def of_checked(x, y):
    checked(y)
    return checked(x) * y


@pytest.mark.parametrize(
    ("args", "error"), [((-1.0, 1.0), ValueError), ((1.0, -1.0), ValueError), ((0.0, 1.0), ZeroDivisionError)]
)
def test_a_callee_raises_what_it_raises(args, error, calling):
    gradient = contad.value_and_grad(of_checked, engine="generated")
    with pytest.raises(error):
        gradient(*args)
    assert gradient(2.0, 3.0) == (1.5, -0.75)


@njit
def overflowing(x, y):
    return math.exp(x) * math.exp(x) * y


@njit
def masked(x, y):
    z = overflowing(x, y)
    return z if y > 1.0 else y * y


def test_an_adjoint_of_zero_meets_no_infinite_partial_in_a_callee(calling):
    assert contad.value_and_grad(masked, (0, 1), engine="generated")(1000.0, 0.5) == (0.25, (0.0, 1.0))


# ---- fastmath --------------------------------------------------------------------------------------------------------
@njit(fastmath=True)
def fast(x):
    s = 0.0
    for i in range(5):
        s += math.sin(x * i)
    return s


@njit
def strict(x):
    return fast(x) * x


def test_a_callee_with_other_fastmath_is_compiled_under_its_own():
    found, _ = written(strict, 0.7)
    assert [called.function.name for called in find_used(found)] == ["fast"]
    text = found_source(strict, 0.7)
    assert text.count("fastmath=True") == 2
    assert text.count("fastmath=False") == 1
    agree(strict, 0.7, compiled=True)


def found_source(f, *args):
    return derivative_of(request(f, *args)).source("fastmath=False")
