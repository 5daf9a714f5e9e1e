"""Dicts that are filled: values, gradients, second derivatives, and what they raise."""
# ruff: noqa: PLC0206  (loops over keys alone are what is tested)

import numba
import numpy as np
import pytest
from numba import njit, types
from numba.typed import Dict

import contad
from contad.engines.source.build import derivative_of
from contad.engines.source.reading import bounded_buffers
from contad.errors import EngineLimitError, UnsupportedError
from contad.numba_functions.request import Request
from tests.engines.source.agreement import agree, as_python, request
from tests.random_programs.generated_programs import grown

X = np.array([0.6, -1.3, 2.1, 0.4])
PAIR = types.UniTuple(types.int64, 2)


@njit
def counted(x):
    sums = {}
    counts = {}
    n = len(x)
    for i in range(n):
        k = i % 3 * 8 - 8
        if k in sums:
            sums[k] += x[i] * x[0]
        else:
            sums[k] = x[i]
        counts[k] = counts.get(k, 0) + 1
    for k in sums:
        sums[k] = sums[k] * sums[k] / counts[k]
    total = 0.0
    for k, v in sums.items():
        total += v * v * (k + 1)
    for v in sums.values():
        total += np.sin(v)
    return total + len(sums) * sums.get(0, 0.0) + sums.get(5, x[1])


@njit
def of_pairs(x):
    cells = {}
    for i in range(len(x)):
        for j in range(i, len(x)):
            cells[i, j * 1000003] = x[i] * x[j]
            if (j, i * 1000003) in cells and i != j:
                cells[i, j * 1000003] *= 2.0
    total = 0.0
    for (i, j), v in cells.items():
        total += v * v * (j // 1000003 - i)
    for i, j in cells:
        total += cells[i, j] * (i + 1)
    return total


@njit
def doubled(d, k):
    d[k] *= 2.0
    total = 0.0
    for v in d.values():
        total += v * v
    return total


@njit
def filled(x):
    d = {7: x[3]}
    for k, v in enumerate(x):
        if v > 0.5:
            d[k - 2] = v * v
        else:
            d.setdefault(-3, v)
            d[-3] -= v * 0.5
    return d


@njit
def elsewhere(x):
    total = 0.0
    for i in range(3):
        d = filled(x * (i + 1))
        e = d
        e[7] *= x[3]
        total += doubled(d, -3) * x[i]
        for k, v in enumerate(d.values()):
            total += v * k
    return total


@njit
def looked_up(x):
    d = {0: x[0], 3: x[1]}
    p = {"rate": x[2], "shift": x[3]}
    total = 0.0
    for k in range(4):
        if k in d:
            total += d[k] * d[k] * (k + 1)
    for name in ("rate", "shift", "level"):
        if name in p:
            p[name] *= p["rate"] * x[0]
        else:
            p[name] = d.get(k, 0.0)
    return total + p["rate"] * p["shift"] + p["level"] ** 2


FUNCTIONS = [counted, of_pairs, elsewhere, looked_up]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_dicts_are_generated(f):
    assert agree(f, X.copy()) is not None


@njit
def typed(x):
    d = Dict.empty(types.int64, types.float64)
    names = Dict.empty(key_type=types.unicode_type, value_type=types.float64)
    cells = Dict.empty(PAIR, types.int64)
    for i in range(4):
        d[i % 2] = x[i] * x[0]
        cells[i, i // 2] = i
        names["last"] = d[i % 2]
    return d[0] * d[1] + names["last"] * cells[3, 1]


def test_typed_dicts():
    value, (gradient,) = as_python(request(typed, X))(X.copy())
    a, _, c, d = X
    assert value == pytest.approx(a * a * c * d + 3.0 * a * d, rel=1e-13)
    np.testing.assert_allclose(
        gradient, [2.0 * a * c * d + 3.0 * d, 0.0, a * a * d, a * a * c + 3.0 * a], rtol=1e-13
    )


@pytest.mark.parametrize("f", [counted, elsewhere], ids=lambda f: f.__name__)
def test_second_derivatives_and_tangents(f):
    v, h = np.array([0.3, -0.2, 1.0, 0.5]), 1e-5
    first = as_python(request(f, X))
    gradients = [first(X + s * h * v)[1][0] for s in (1, -1)]
    for mode in ("hvp", "jvp"):
        made = derivative_of(Request(f.py_func, f, (numba.typeof(X),), (0,), False, mode))
        names = {}
        exec(made.source(), names)
        names.update(made.constants(), workspace=lambda: (np.full(3, np.nan), 0), grow=grown)
        found = names["run"]((X.copy(),), (v,))[1]
        if mode == "hvp":
            np.testing.assert_allclose(found[0], (gradients[0] - gradients[1]) / (2.0 * h), rtol=1e-6, atol=1e-7)
        else:
            assert found == pytest.approx(first(X.copy())[1][0] @ v, rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("f", [*FUNCTIONS, typed], ids=lambda f: f.__name__)
def test_they_are_right_once_compiled(f):
    value, gradient = contad.value_and_grad(f, engine="generated")(X)
    expected, along = as_python(request(f, X))(X.copy())
    assert value == pytest.approx(expected, rel=1e-13)
    assert value == pytest.approx(f(X), rel=1e-13)
    np.testing.assert_allclose(gradient, along[0], rtol=1e-12)


@njit
def missing(x):
    d = {}
    d[1] = x[0]
    d[2] += x[1]
    return d[1]


@njit
def grows_while_read(x):
    d = {0: x[0], 1: x[1]}
    for k in d:
        if k == 0:
            d[k + 5] = x[2]
    d[0] = x[3]
    return d[0]


@njit
def deleted(x):
    d = {0: x[0], 1: x[1]}
    d.pop(0)
    return d[1]


@njit
def put(d, y):
    d[3] = y


@njit
def filled_by_another(x):
    d = Dict.empty(types.int64, types.float64)
    put(d, x[0])
    return d[3]


@njit
def of_floats(x):
    d = Dict.empty(types.float64, types.float64)
    d[0.5] = x[0]
    return d[0.5]


def test_what_is_not_there_raises():
    with pytest.raises(KeyError):
        as_python(request(missing, X))(X)
    with pytest.raises((RuntimeError, EngineLimitError), match="dict"):
        as_python(request(grows_while_read, X))(X)
    refused = [(deleted, r"d.pop\(0\)' of a dict; assign 0.0"), (filled_by_another, "fill it in"), (of_floats, "int64")]
    for f, text in refused:
        with pytest.raises(UnsupportedError, match=text):
            as_python(request(f, X))


def test_a_planted_fault_is_noticed(monkeypatch):
    """Every key that is new gets the slot of the first one."""
    monkeypatch.setattr(bounded_buffers, "find_slot", _first_slot)
    with pytest.raises((AssertionError, KeyError)):
        test_dicts_are_generated(counted)


def _first_slot(places, columns, key):
    return places[0] - 1, key[0] * 0
