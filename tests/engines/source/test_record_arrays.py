"""Arrays of records: made inside, as arguments that are read and written, and second names of what is in them.

Judged by the same functions on an array for each field, by the engine `records`.
"""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.reading import record_arrays
from contad.errors import UnsupportedError
from tests.engines.source.agreement import as_python, request

X = np.array([0.6, -1.3, 2.1, 0.4])
POINT = np.dtype([("x", "f8"), ("n", "i8"), ("w", "f8", (3,))], align=True)
NAMED = np.dtype([("name", "U4"), ("k", "i4"), ("x", "f8"), ("v", "f8")])
DATA = np.array([("a", 3, 1.0, 0.5), ("b", 1, 2.0, 0.6), ("a", 2, 3.0, 0.7), ("c", 0, 4.0, 0.8)], NAMED)


@njit
def change(rows, y):
    rows[1].x = y * y
    rows[0]["x"] -= y
    return rows[1]["x"] * rows[0].x


@njit
def made(x):
    out = np.empty((3, 2), dtype=POINT)
    for i in range(3):
        for j in range(2):
            r = out[i, j]
            r.x = x[i] * x[j]
            r["n"] = i + j
            r.w[:] = x[1:] * x[i]
            r.w[1] += r.x
    row, kept = out[1], out[1].copy()
    part = out[1:, 1]
    out["x"][0, 0] = x[3]
    part["x"][:] = part["x"] * 2.0
    out[2, 0] = out[1, 0]
    total = change(row, x[0])
    for r in row:
        r.x *= x[2]
        total += r.x * r.n + np.sum(r.w * r.w)
    return total * len(out) + np.sum(out["x"] * out.x) + out[2, 0].w[1] * kept[1].x


def made_by_fields(x):
    a, n, w = contad.zeros((3, 2)), np.zeros((3, 2)), contad.zeros((3, 2, 3))
    for i in range(3):
        for j in range(2):
            a[i, j] = x[i] * x[j]
            n[i, j] = i + j
            w[i, j] = x[1:] * x[i]
            w[i, j, 1] += a[i, j]
    kept = a[1, 1]
    a[0, 0] = x[3]
    a[1, 1] *= 2.0
    a[2, 1] *= 2.0
    a[2, 0], w[2, 0], n[2, 0] = a[1, 0], w[1, 0], n[1, 0]
    a[1, 1] = x[0] * x[0]
    a[1, 0] -= x[0]
    total = a[1, 1] * a[1, 0]
    for j in range(2):
        a[1, j] *= x[2]
        total += a[1, j] * n[1, j] + np.sum(w[1, j] * w[1, j])
    return total * 3 + np.sum(a * a) + w[2, 0, 1] * kept


@njit
def given(x, data):
    total = 0.0
    for i in range(len(data)):
        r = data[i]
        r.x = x[r.k] * r.x
        data[i].v += data["x"][i] * x[0]
        if data[i].k > 1:
            total += r.v
    out = np.zeros(len(data), dtype=NAMED_NUMBERS)
    for i in range(len(data)):
        out[i].x = data[3 - i].x
    data["v"][1:3] = x[:2]
    for r, s in zip(data, out):  # noqa: B905
        total += r.x * r.v * s.x
    return total


NAMED_NUMBERS = np.dtype([("x", np.float64)])


def given_by_fields(x, data):
    a, v, k = contad.zeros(4), contad.zeros(4), data["k"]
    total = 0.0
    for i in range(4):
        a[i] = x[k[i]] * data["x"][i]
        v[i] = data["v"][i] + a[i] * x[0]
        if k[i] > 1:
            total += v[i]
    v[1:3] = x[:2]
    return total + np.sum(a * v * a[::-1])


@njit
def read(x, data):
    total = 0.0
    for r in data:
        if r.k > 0:
            total += r.x * x[r.k]
    first = data[0]
    return total * first.v + np.sum(data["x"] * x) * np.sum(data.v[1:] * x[1:])


def read_by_fields(x, data):
    k, a, v = data["k"], data["x"], data["v"]
    total = sum(a[i] * x[k[i]] for i in range(4) if k[i] > 0)
    return total * v[0] + np.sum(a * x) * np.sum(v[1:] * x[1:])


CASES = [(made, made_by_fields, ()), (given, given_by_fields, (DATA,)), (read, read_by_fields, (DATA,))]


@pytest.mark.parametrize(("f", "by_fields", "rest"), CASES, ids=["made", "given", "read"])
def test_records_are_generated(f, by_fields, rest):
    before = [x.copy() for x in rest]
    value, (gradient,) = as_python(request(f, X, *rest))(X.copy(), *rest)
    expected, along = contad.value_and_grad(by_fields)(X, *rest)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, along, rtol=1e-12)
    assert all(np.array_equal(x, y) for x, y in zip(rest, before, strict=True))


@pytest.mark.long
@pytest.mark.parametrize(("f", "by_fields", "rest"), CASES, ids=["made", "given", "read"])
def test_they_are_right_once_compiled(f, by_fields, rest):
    value, gradient = contad.value_and_grad(f, engine="generated")(X, *rest)
    expected, along = contad.value_and_grad(by_fields)(X, *rest)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, along, rtol=1e-12)
    v = np.array([0.3, -0.2, 1.0, 0.5])
    product = contad.hvp(f, engine="generated")(X, *rest, v)
    np.testing.assert_allclose(product, contad.hvp(by_fields)(X, *rest, v), rtol=1e-10)


@njit
def exchanged(x):
    a, b = np.zeros(2, dtype=NAMED_NUMBERS), np.zeros(2, dtype=NAMED_NUMBERS)
    for _ in range(3):
        a[0].x = x[0]
        a, b = b, a
    return a[0].x


SMALL = np.dtype([("x", np.float32), ("y", np.float64)])


@njit
def small(x):
    out = np.zeros(2, dtype=SMALL)
    return out[0].y * x[0]


@njit
def narrow(x, data):
    data[0].k = 2
    return data[0].x * x[0]


def test_what_is_not_followed_is_refused():
    for f, rest, text in (
        (exchanged, (), "the name [ab]"), (narrow, (DATA,), "fewer than 64 bits"),
        (small, (), "the field x of .*, of type float32; declare float64"),
    ):  # fmt: skip
        with pytest.raises(UnsupportedError, match=text):
            as_python(request(f, X, *rest))


def test_a_planted_fault_is_noticed(monkeypatch):
    """A record is a copy, so that what is written into it is lost."""
    original = record_arrays.find_place

    def find_place(reader, records, name, target):
        field, spec = original(reader, records, name, target)
        return reader.arrays.copy_elements(field), spec

    monkeypatch.setattr(record_arrays, "find_place", find_place)
    with pytest.raises(AssertionError):
        test_records_are_generated(*CASES[0])
