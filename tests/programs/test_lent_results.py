"""Results that only fused loops read: boundaries are copied beside them, and their memory is reused."""

import numpy as np
import pytest

import contad
from contad.programs import allocation, fusion, strip_places
from contad.programs.allocation import Result, Results
from contad.programs.fused_loops import SHAPE
from contad.programs.slots import align
from tests.programs.comparison import compare
from tests.programs.simulations import heat, simulation
from tests.random_programs.in_place_programs import generate

RNG = np.random.default_rng(62)
pytestmark = pytest.mark.usefixtures("memory_of_others")


def layout_of(f, *inputs):
    """The layout of a program that agrees with f, compiled from its first run on."""
    made = contad.record(f, *inputs)
    made.compile_tangents()
    made._compile()
    found = compare(made, f, inputs)
    assert found["agreed"] + found["guarded"] == 4
    return made._layouts[0]


def count_copied(layout):
    """Operands that are copied to scratch memory."""
    operands = [o for fused in layout.fused_loops for o in fused.operands.values()]
    return sum(o.layout.is_moving and not o.is_read_in_place for o in operands)


def known_rate(u, k):
    u[1:-1] += 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])


def wide(u, k):
    u[2:-2] += k * (u[:-4] - u[1:-3] + u[3:-1] - u[4:])


def nonlinear(u, k):
    u[1:-1] += k * u[1:-1] * (u[:-2] - u[2:])


N, STEPS = 1500, 6


@pytest.mark.parametrize("step", [heat, known_rate, wide, nonlinear])
def test_ends_lie_beside_results(step):
    layout = layout_of(simulation(step, STEPS), RNG.normal(size=N), 0.1)
    # the sum at the end reads the state, and of the first step's operands all are the inputs
    assert count_copied(layout) == 0
    ends = sum(part.part.high - part.part.low for fused in layout.fused_loops[1:-1] for part in fused.fills)
    assert ends == (STEPS - 1) * (6 if step is wide else 2)  # of slices of both sides; two share ends


def repeated(layout):
    """Members that are computed anew for derivatives."""
    return [sum(m.is_needed for m in fused.members) for fused in layout.fused_loops if not fused.is_kept]


def test_what_derivatives_read_is_kept_in_place_of_what_it_is_computed_from():
    n = 3000  # no fused loop is one block
    layout = layout_of(simulation(heat, STEPS), RNG.normal(size=n), 0.1)
    # the bend of the state of each step but the first, whose state is the input; the last state, which is squared
    kept = [[m.rule.name for m in fused.members if m.is_stored] for fused in layout.fused_loops]
    assert kept == [["add"], *[["add", "add"]] * (STEPS - 1), []]
    assert layout.cells == 1 + (n + 1) + (STEPS - 1) * (n - 2) + 1
    # the bend of the first step is computed anew: there nobody has made the state
    assert sum(map(bool, repeated(layout))) == 1


def test_results_that_derivatives_do_not_read_share_memory():
    def layouts(step, n):
        return [layout_of(simulation(step, steps), RNG.normal(size=n), 0.1) for steps in (6, 12)]

    few, many = layouts(known_rate, 3000)
    assert many.cells == few.cells and abs(many.scratch - few.scratch) <= 16 + SHAPE
    few, many = layouts(nonlinear, 3000)
    assert many.cells + many.scratch - few.cells - few.scratch >= 6 * 2998


def test_rooms_hold_one_number_in_each_place():
    def f(u, k):
        u = u.copy()
        old = u.copy()
        for _ in range(4):
            u[1:-1] = k * u[:-2] + u[2:] * old[1:-1]
            a = u * old  # the ends are those of u
            u[0] = k
            u[-1] = old[3]
            b = u * old  # and now others
            u[1:-1] += 0.1 * (a * b)[1:-1]
        return np.sum(u * u)

    layout_of(f, RNG.normal(size=N), 0.1)


def test_lines_of_the_cache():
    layout = layout_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)
    whole = layout.cells + layout.scratch
    assert whole == align(whole)  # adjoints begin with a line


@pytest.mark.parametrize("seed", range(60))
def test_random_simulations(seed, monkeypatch):
    monkeypatch.setattr(fusion, "FEWEST", 64)
    monkeypatch.setattr(strip_places, "STRIP", [64, 300, 3072][seed % 3])
    made = generate(seed, [130, 257, 400][seed % 4 % 3])
    layout_of(made.function, *made.inputs)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60, 1000))
def test_many_random_simulations(seed, monkeypatch):
    test_random_simulations(seed, monkeypatch)


# ---- planted bugs ----------------------------------------------------------------------------------------------------
def test_ends_that_nobody_copies_are_seen(monkeypatch):
    monkeypatch.setattr(Results, "fill", lambda *_: None)
    with pytest.raises(AssertionError):
        layout_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)


def test_ends_in_the_wrong_place_are_seen(monkeypatch):
    fill = allocation.Fill
    monkeypatch.setattr(allocation, "Fill", lambda place, part: fill(place._replace(at=place.at + 1), part))
    with pytest.raises(AssertionError):
        layout_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)


def test_memory_that_is_given_away_too_early_is_seen(monkeypatch):
    live = Result.live.fget

    def too_early(result):
        found = live(result)
        return found if found.last is None else found._replace(last=max(found.first, found.last - 1))

    monkeypatch.setattr(Result, "live", property(too_early))
    with pytest.raises(AssertionError):
        layout_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)


def test_memory_of_what_derivatives_read_is_seen(monkeypatch):
    monkeypatch.setattr(Result, "is_needed", lambda result: False)
    with pytest.raises(AssertionError):
        layout_of(simulation(nonlinear, STEPS), RNG.normal(size=N), 0.1)
