"""Callees that are functions of their own: a program grows linearly with what it calls, and every case agrees."""

import linecache
import math

import numba
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
        filename = f"<level {n}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        exec(compile(text, filename, "exec"), names)
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
    assert [called.program.name for called in find_used(found)] == [f"level_{n}" for n in range(7)]


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
    with pytest.raises(UnsupportedError, match="a program of more than 200 operations"):
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
    assert {called.program.name for called in find_used(found)} >= {"propagated", "newton"}
    assert lines < 500
    agree(three_orbits, p, compiled=True)


# ---- what is handed over ---------------------------------------------------------------------------------------------
@njit
def row_sum(row, x, k):
    total = 0.0
    for i in range(len(row)):
        if row[i] * x > 2.0:
            return total, k
        total += math.sin(row[i] * x) * row[i - k]
    return total * x, k + len(row)


@njit
def array_is_kept(a, x):
    s = 0.0
    for i in range(a.shape[0]):
        value, k = row_sum(a[i], x, 1)
        s += value * k
    return s


@njit
def array_is_changed(a, x):
    b = a.copy()
    s = 0.0
    for i in range(3):
        value, k = row_sum(b[i], x, 1)
        b[0, :] = b[1] * value
        b[1, 1] = s * k
        s = math.tanh(s + value)
        x = x + b[0, 0]
    return s * x


@njit
def array_of_an_iteration(a, x):
    s = x
    for i in range(3):
        fresh = a[i] * s + 0.1 * i
        s += row_sum(fresh, s, 2)[0] * 0.1
    return s


@njit
def counted(x, n):
    k = 0
    while x < 4.0 and k < n:
        x = x * 1.5 + 0.1 * math.sin(x)
        k += 1
    return x, k, x > 5.0


@njit
def kinds_of_number(a, x):
    y, k, large = counted(x, 7)
    z, j, _ = counted(a[0, 0], k)
    return y * k + z * a[1, j] if large else y * z * j


@njit
def pairs(p, scale=2.0):
    (a, b), c = p
    return (a * b * scale, (c, a))


@njit
def tuples(a, x):
    u, (v, w) = pairs(((x, a[0, 1]), 3.0))
    u2, _ = pairs(((u, v), w), scale=x)
    return u2 * w + v


@njit
def applied(f, x, n):
    for _ in range(n):
        x = f(x) + 0.1
    return x


@njit
def sine(x):
    return math.sin(x) * x


@njit
def cosine(x):
    return math.cos(x) * x


@njit
def functions(a, x):
    return applied(sine, x, 3) * applied(cosine, a[1, 1], 2) + applied(sine, a[0, 2], 4)


WEIGHTS = np.array([0.3, -0.7, 1.1])


@njit
def weighted(x):
    s = 0.0
    for i in range(len(WEIGHTS)):
        s = math.sin(s * x + WEIGHTS[i])
    return s


@njit
def global_arrays(a, x):
    return weighted(x) * weighted(a[0, 0]) + WEIGHTS[1] * x


@njit
def inactive(a, x):
    m = 0.0
    for _ in range(3):
        m += weighted(2.0) * row_sum(WEIGHTS, 0.5, 1)[0]
    return m * x + a[0, 0]


@njit
def unused(a, x):
    weighted(a[0, 0])
    y, z = row_sum(a[0], x, 1)
    if x > 100.0:
        y = weighted(y)
    return z * x + 0.0 * y


@njit
def smallest(a, x):
    best = 10.0
    for i in range(3):
        d = weighted(a[i, 0] * x)
        if d < best:  # noqa: PLR1730  (a running choice)
            best = d
    return best * x


PROGRAMS = [
    array_is_kept, array_is_changed, array_of_an_iteration, kinds_of_number, tuples, functions, global_arrays, inactive,
    unused, smallest,
]  # fmt: skip
A = np.array([[0.3, 0.7, -0.2], [0.9, 0.4, 0.6], [0.1, -0.5, 0.8]])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_callees_agree_with_the_eager_engine(f, calling):
    found, _ = written(f, A, 0.8, argnums=(0, 1))
    assert find_used(found)
    agree(f, A, 0.8, argnums=(0, 1))


@pytest.mark.parametrize("f", [array_is_changed, kinds_of_number, functions, global_arrays], ids=lambda f: f.__name__)
def test_callees_are_compiled(f, calling):
    agree(f, A, 0.8, argnums=(0, 1), compiled=True)


@njit
def fills(v, x):
    for i in range(len(v)):
        v[i] = math.sin(x * i)


@njit
def made(x):
    v = np.empty(3)
    fills(v, x)
    return v


@njit
def of_made(a, x):
    return np.sum(made(x) * a[0]) + made(x * 2.0)[1]


def test_what_writes_or_returns_arrays_is_written_in_place(calling):
    found, _ = written(of_made, A, 0.8, argnums=(0, 1))
    assert find_used(found) == []
    agree(of_made, A, 0.8, argnums=(0, 1))


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
    assert [called.program.name for called in find_used(found)] == ["fast"]
    text = found_source(strict, 0.7)
    assert text.count("fastmath=True") == 2
    assert text.count("fastmath=False") == 1
    agree(strict, 0.7, compiled=True)


def found_source(f, *args):
    return derivative_of(request(f, *args)).source("fastmath=False")


def test_the_source_runs_without_numba(calling):
    names = {}
    exec(contad.source(array_is_changed, A, 0.8, argnums=(0, 1)), names)
    value, (a_bar, x_bar) = names["run"](A, 0.8)
    expected, (a, x) = contad.value_and_grad(array_is_changed, (0, 1), engine="tape")(A, 0.8)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(a_bar, a, rtol=1e-10)
    np.testing.assert_allclose(x_bar, x, rtol=1e-10)
    assert numba.extending.is_jitted(array_is_changed)
