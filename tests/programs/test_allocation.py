"""The memory of cells: cells that nobody reads take none, and every kind of record finds its cells."""

import numpy as np
import pytest

import contad
from contad.programs import fusion, program
from contad.programs.cell_ranges import PackedCells, Ranges
from contad.programs.codes import FUSED, PRODUCT
from contad.programs.strip_places import STRIP
from tests.programs.comparison import compare

RNG = np.random.default_rng(61)


@pytest.fixture(autouse=True)
def memory_of_others(monkeypatch):
    """Runs get memory that is not zero anywhere: what they read they have written or cleared."""
    monkeypatch.setattr(program, "take", lambda n: np.full(n, np.nan))
    monkeypatch.setattr(fusion, "FEWEST", 100)


def layout_of(f, *inputs):
    """The layout of a program that agrees with f, compiled from its first run on."""
    made = contad.record(f, *inputs)
    made.compile_tangents()
    made._compile()
    assert compare(made, f, inputs)["agreed"] == 4
    (layout,) = made._layouts
    assert FUSED in layout.code[:, 0] and layout.cells < made.traces[0].cells
    return layout


def test_ranges_meet():
    ranges = Ranges([(8, 10), (1, 3), (3, 4), (6, 6), (9, 12), (-5, -4)])
    assert ranges.joined == [(-5, -4), (1, 4), (8, 12)]
    held = {n for low, high in ranges.joined for n in range(low, high)}
    for low in range(-7, 15):
        for high in range(low + 1, 15):
            assert ranges.meet(low, high) == bool(held & set(range(low, high)))


def test_ranges_that_touch_may_stay_apart():
    ranges = Ranges([(8, 10), (1, 3), (3, 4), (6, 6), (9, 12), (2, 3)], join_touching=False)
    assert ranges.joined == [(1, 3), (3, 4), (8, 12)]


def test_places_follow_one_another():
    places = PackedCells([(0, 3), (5, 7), (20, 30), (40, 44)])
    cells = np.array([*range(3), 5, 6, *range(20, 30)])
    assert places.count == 19 and [places.place(cell) for cell in cells.tolist()] == list(range(15))
    np.testing.assert_array_equal(places.places(cells), np.arange(15))
    np.testing.assert_array_equal(places.places(np.array([-3, 21])), [-3, 6])
    assert places.place(40) == 15 and places.place(43) == 18  # what steps save lies behind the cells


def test_only_what_others_read_has_cells():
    n, steps = 2000, 5

    def f(u, k):
        u = u.copy()
        for _ in range(steps):
            u[1:-1] += k * (u[:-2] - np.sin(u[1:-1]) + u[2:])
        return np.sum(u * u)

    # of each step the sines, which take long to compute again; and the result, whose cells have room for ends beside
    layout = layout_of(f, RNG.normal(size=n), 0.1)
    assert layout.cells == 1 + (n + 1) + steps * (n - 2) + 1
    assert steps * n <= layout.scratch <= (steps + 2) * n + 4 * STRIP


def numbers(x, y):
    z = np.exp(x) * y
    t = np.sum(z * x) / len(x) / np.log(2.0 + y[0] ** 2)
    s = np.sin(t) * 2.0 - t if t > -1e6 else t
    return np.sum(np.cos(z) * s) / len(x) + s * x[3] + np.sum(contad.stop_gradient(z[5:50]) * x[5:50]) * t


def shuffled(x, y):
    z = x * y + 1.0
    order = np.random.default_rng(0).permutation(len(x))
    w = z[order] * x
    u = w.copy()
    u[order[:200]] = z[:200] * y[0]
    return np.sum(u * w) + np.sum(np.exp(-z) * u[::-1])


def matrices(x, y):
    z = np.exp(0.1 * x) * y
    a = z[:9].reshape(3, 3) + 5.0 * np.eye(3)
    w = z * np.sum(np.linalg.solve(a, z[20:23]))
    b = np.linalg.solve(a.T, w[:3]) + np.linalg.solve(a, x[:3])
    c = z[:600].reshape(30, 20) @ w[:20]
    d = x[:20] @ (w[:400].reshape(20, 20) @ z[-20:])
    logs = np.log(np.sum(np.exp(w[:300].reshape(30, 10)), axis=1))
    logs = np.sum(logs) + np.linalg.slogdet(a)[1]
    return np.sum(w * z) + np.sum(b) + np.sum(c * c) * d + logs + np.sum(np.cumsum(w)[9:])


def compared(x, y):
    z = np.sin(x) * y + 1.0
    w = np.where(np.arange(len(x)) % 3 > 0, z + 2.0, x)
    few = np.all(z[:9] > w[3:12] - 1e6) and np.all(z[:9] * x[:9] > -1e6)  # which no fused loop takes
    return np.sum(w * z) if few and np.all(w > -1e9) and np.all(z * 2.0 < 1e9 + w) else z[0]


@pytest.mark.parametrize("f", [numbers, shuffled, matrices, compared])
@pytest.mark.parametrize("n", [700, 5001])
def test_records_find_their_cells(f, n):
    layout = layout_of(f, 1.0 + 0.1 * RNG.normal(size=n), 1.0 + 0.1 * RNG.normal(size=n))
    if f is matrices:
        assert PRODUCT in layout.code[:, 0]


@pytest.mark.parametrize("is_summed", [False, True])
def test_what_the_next_loop_begins_with_is_left_to_it(is_summed):
    n, steps = 2000, 4

    def f(u, k):
        u, sums = u.copy(), []
        for _ in range(steps):
            a = 2.0 * u[1:-1]  # fits the chain of the last step, as does what follows
            b = a * a
            if is_summed:
                sums.append(np.sum(a))
            u[1:-1] += k * (u[:-2] - b + u[2:])
        return np.sum(u * u) + sum(sums)

    layout = layout_of(f, RNG.normal(size=n), 0.1)
    # the sum stays where it is, and so does what it reads; then what is multiplied by k is kept in place of the state
    stored = sum(m.is_stored for fused in layout.fused_loops for m in fused.members)
    assert stored == steps + is_summed * 2 * (steps - 1)


def test_adjoints_of_earlier_steps_get_the_memory_of_later_ones():
    def program_of(steps):
        def f(u, k):
            u = u.copy()
            for _ in range(steps):
                u[1:-1] += k * np.sin(u[:-2] - 2.0 * u[1:-1] + u[2:])
            return np.sum(u * u)

        return layout_of(f, RNG.normal(size=2000), 0.1)

    few, many = program_of(3), program_of(9)
    assert many.frontiers == few.frontiers + 6 and many.scratch <= few.scratch + 16
    assert many.zeroed[:, 1].sum() == few.zeroed[:, 1].sum() <= 4
