"""Slices of arrays that were written to: fused loops read them where they lie, and no record copies them."""

import numpy as np
import pytest

import contad
from contad.engines.stream.storage import LINEAR
from contad.engines.stream.sweep import operation_code
from contad.ops import multiply
from contad.programs import cell_ranges, fusion, strip_places
from contad.programs.cell_ranges import CellRun, CopiedCells
from contad.programs.codes import ARRAY, FUSED, GATHER
from contad.programs.fused_loops import FusedLoop, Member
from contad.programs.strip_places import STRIP
from tests.programs.comparison import compare

RNG = np.random.default_rng(60)
COPIES = [GATHER, ARRAY + LINEAR]
pytestmark = pytest.mark.usefixtures("memory_of_others")


def layout_of(f, *inputs):
    """The layout of a program that agrees with f."""
    made = contad.record(f, *inputs)
    made.compile_tangents()
    made._compile()
    assert compare(made, f, inputs)["agreed"] == 4
    return made._layouts[0]


def count_copies(layout):
    return int(np.isin(layout.code[:, 0], COPIES).sum())


# ---- runs of cells ---------------------------------------------------------------------------------------------------
def expand(runs):
    return np.concatenate([run.first + run.step * np.arange(run.number) for run in runs])


def random_reach(rng, first, most):
    """(first, step, count) of cells below `first`."""
    step = int(rng.choice([-3, -1, 1, 1, 2]))
    count = int(rng.integers(1, most))
    cell = int(rng.integers(1, first))
    return cell, step, max(1, min(count, (first - 1 - cell) // step + 1 if step > 0 else (cell - 1) // -step + 1))


@pytest.mark.parametrize("seed", range(200))
def test_runs_of_copies_of_copies(seed):
    rng = np.random.default_rng(seed)
    copies, origin, first = CopiedCells(), np.arange(400), 50
    for row in range(8):
        first += int(rng.integers(0, 10))
        sources = [run for _ in range(3) for run in copies.runs(*random_reach(rng, first, 9))]
        copies.add(row, first, sources)
        origin[first : first + len(expand(sources))] = expand(sources)
        first += len(expand(sources))
    for _ in range(20):
        cell, step, count = random_reach(rng, first, 200)
        cells = cell + step * np.arange(count)
        np.testing.assert_array_equal(expand(copies.runs(cell, step, count)), origin[cells])
        np.testing.assert_array_equal(copies.trace_back(cells), origin[cells])
        low, high = cells.min(), cells.max() + 1
        assert bool(copies.rows_of(low, high)) == bool((origin[low:high] != np.arange(low, high)).any())


@pytest.mark.parametrize("seed", range(100))
def test_runs_of_gathers(seed, monkeypatch):
    monkeypatch.setattr(cell_ranges, "LONG", 0)
    rng = np.random.default_rng(seed)
    parts = [
        rng.integers(20, 50) + rng.integers(-3, 4) * np.arange(rng.integers(1, 5)) for _ in range(rng.integers(1, 5))
    ]
    cells = np.concatenate(parts)
    found = cell_ranges.sources_of(GATHER, 2, len(cells), np.concatenate([[0, 0], cells]), np.ones(1))
    np.testing.assert_array_equal(expand(found), cells)


def test_runs_are_long_or_one():
    def count(cells):
        return len(cell_ranges.sources_of(GATHER, 0, len(cells), np.array(cells), np.ones(1)))

    assert count([7]) == 1 and count([3, 5, 7]) == 1 and count([1, *range(30, 90)]) == 2
    assert count([1, 7]) == 0 and count([0, 1, 2]) == 0 and count([-4, 1, 2]) == 0
    assert count(np.random.default_rng(0).permutation(500) + 1) == 0
    assert CopiedCells().runs(5, -2, 3) == [CellRun(5, -2, 3)]


def test_rows_and_matrices_of_copies():
    copies = CopiedCells()
    copies.add(0, 100, [CellRun(50, -2, 20)])
    copies.add(1, 1000, [CellRun(400, 1, 900)])
    shape = 2000, 30, 20, 20, 1, 1001, 30, 1, 119, 0, -1  # a matrix of 30 columns without the last ten, and a row
    made = FusedLoop(0, Member(2, ARRAY + operation_code(multiply, "vv"), 2000, 600, shape), copies)
    (matrix,), (row,) = [operand.parts for operand in made.operands.values()]
    assert (matrix.place, matrix.apart, matrix.step) == (401, 30, 1) and (row.place, row.step) == (12, 2)


# ---- programs --------------------------------------------------------------------------------------------------------
def heat(u, k, steps=4):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += k * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u * u)


@pytest.mark.parametrize("n", [1026, 2 * STRIP // 5 + 3, 3 * STRIP + 1])
def test_steps_in_place_copy_nothing(n):
    layout = layout_of(heat, RNG.normal(size=n), 0.2)
    assert count_copies(layout) == 0
    assert (layout.code[:, 0] == FUSED).sum() == 5 == len(layout.fused_loops)  # a fused loop for each step, and the sum


def write_everywhere(x, y):
    """Steps, strides and orders of reading and writing, some of them over others."""
    u = x.copy()
    u[1::2] = x[1::2][::-1] * y[1::2]
    u[:-3] *= u[3:]
    u[::-1][5:40] = y[100:135]
    v = u[::-1]
    v[2:] += 0.1 * u[2:] * u[:-2]
    w = u[700:300:-1] * u[:400] - u[401:801]
    return np.sum(np.sin(u) * v) + np.sum(w * w) + u[7]


def write_rows(x, y):
    a = x[:1200].reshape(30, 40).copy()
    a[1:-1, 1:-1] += 0.2 * (a[:-2, 1:-1] + a[2:, 1:-1] - 2.0 * a[1:-1, :-2] * y[0])
    a[3] = a[4] * a[5]
    a[:, 7] = y[:30]
    a[:-1] *= a[1:]
    u = x.copy()
    u[0] = y[0]
    rows = y[:1200].reshape(30, 40) * u[90:10:-2] + u[3:33, None]  # a row backwards, and a column
    return np.sum(a * a * rows) + np.sum(a[2:20, 3:30] * np.cos(a[3:21, 2:29])) + np.sum(np.sum(a, axis=1) ** 2)


def read_again(x, y):
    u = x.copy()
    old = u[10:-10].copy()
    before = u[5:-5] * 2.0
    u[10:-10] = u[:-20] * y[20:]
    after = u[5:-5]
    u[100:110] = 3.0
    return np.sum(before * after) + np.sum(old * u[10:-10]) + np.dot(u[:-1], u[1:]) + np.sum(u[:50] * u[0])


def read_by_others(x, y):
    u = x.copy()
    u[1:-1] = y[1:-1] * u[2:]
    z = np.cumsum(u[1:]) - np.cumsum(u[::-1])[:-1]
    a = np.outer(u[:9], u[3:12]) @ u[5:14]
    return np.sum(z * z) + np.sum(a) + (u[2] if u[3] > -9.0 else u[4])


@pytest.mark.parametrize("f", [write_everywhere, write_rows, read_again, read_by_others])
@pytest.mark.parametrize("block", [STRIP, 200, 24])
def test_aliasing_offsets_and_steps(f, block, monkeypatch):
    monkeypatch.setattr(strip_places, "STRIP", block)
    monkeypatch.setattr(fusion, "FEWEST", 100)
    for n in (1219, 1300):
        layout_of(f, 1.0 + 0.1 * RNG.normal(size=n), 1.0 + 0.1 * RNG.normal(size=n))


@pytest.mark.parametrize("seed", range(12))
def test_random_slices(seed, monkeypatch):
    monkeypatch.setattr(fusion, "FEWEST", 64)
    monkeypatch.setattr(strip_places, "STRIP", [64, 300, STRIP][seed % 3])
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 400))
    length = 100
    statements = []
    for _ in range(8):
        picks = []
        for _ in range(3):
            step = int(rng.choice([-2, -1, 1, 1, 1, 2])) if n >= 210 else int(rng.choice([-1, 1]))
            span = abs(step) * (length - 1)
            low = int(rng.integers(0, n - span))
            start = low if step > 0 else low + span
            stop = start + step * length
            picks.append(slice(start, stop if stop >= 0 else None, step))
        statements.append((int(rng.integers(4)), picks))

    def f(x, k):
        u, total = x.copy(), 0.0
        for kind, (a, b, c) in statements:
            if kind == 0:
                u[a] = u[b] + k * u[c]
            elif kind == 1:
                u[a] += k * np.sin(u[b]) * u[c]
            elif kind == 2:
                u[a] = u[b]
            else:
                total = total + np.sum(u[a] * u[b] - u[c])
        return total + np.sum(u * u)

    layout_of(f, rng.normal(size=n), 0.3)


def test_special_numbers_where_they_lie():
    x = RNG.normal(size=3000)
    x[[0, 1500, 2999]] = np.inf, np.nan, -0.0

    def f(x):
        u = x.copy()
        u[1:-1] *= 2.0
        return np.sum(u[1:] * 0.0 + u[:-1] / u[1:])

    made = contad.record(f, RNG.normal(size=3000))
    made._compile()
    with np.errstate(all="ignore"):
        value, gradient = contad.value_and_grad(f)(x)
        got, found = made.value_and_grad(x)
    np.testing.assert_equal(got, value)
    np.testing.assert_equal(np.isnan(found), np.isnan(gradient))
    np.testing.assert_allclose(found, gradient, rtol=1e-12)
