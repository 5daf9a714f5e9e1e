"""Results that fused loops alone read: ends are copied beside them, and their memory serves again."""

import numpy as np
import pytest

from contad.programs import result_places
from contad.programs.fused_members import SHAPE, align
from contad.programs.result_places import MovedResult, ResultPlaces
from tests.programs.comparison import plan_of
from tests.programs.simulations import heat, run_random, simulation

RNG = np.random.default_rng(62)
pytestmark = pytest.mark.usefixtures("memory_of_others")


def count_copied(plan):
    """Operands that are copied to scratch memory."""
    operands = [o for fused in plan.fused_loops for o in fused.operands.values()]
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
    plan = plan_of(simulation(step, STEPS), RNG.normal(size=N), 0.1)
    # the sum at the end reads the state, and of the first step's operands all are the inputs
    assert count_copied(plan) == 0
    ends = sum(part.part.high - part.part.low for fused in plan.fused_loops[1:-1] for part in fused.fills)
    assert ends == (STEPS - 1) * (6 if step is wide else 2)  # of slices of both sides; two share ends


def repeated(plan):
    """Members that are computed anew for derivatives."""
    return [sum(m.is_needed for m in fused.members) for fused in plan.fused_loops if not fused.is_kept]


def test_values_that_derivatives_read_are_kept_and_not_their_operands():
    n = 3000  # no fused loop is one block
    plan = plan_of(simulation(heat, STEPS), RNG.normal(size=n), 0.1)
    # the bend of the state of each step but the first, whose state is the input; the last state, which is squared
    kept = [[m.rule.name for m in fused.members if m.is_stored] for fused in plan.fused_loops]
    assert kept == [["add"], *[["add", "add"]] * (STEPS - 1), []]
    assert plan.cells == 1 + (n + 1) + (STEPS - 1) * (n - 2) + 1
    # the bend of the first step is computed anew: there nobody has made the state
    assert sum(map(bool, repeated(plan))) == 1


def test_results_that_derivatives_do_not_read_share_memory():
    def plans(step, n):
        return [plan_of(simulation(step, steps), RNG.normal(size=n), 0.1) for steps in (6, 12)]

    few, many = plans(known_rate, 3000)
    assert many.cells == few.cells and abs(many.scratch - few.scratch) <= 16 + SHAPE
    few, many = plans(nonlinear, 3000)
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

    plan_of(f, RNG.normal(size=N), 0.1)


def test_lines_of_the_cache():
    plan = plan_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)
    whole = plan.cells + plan.scratch
    assert whole == align(whole)  # adjoints begin with a line


@pytest.mark.parametrize("seed", range(60))
def test_random_simulations(seed, monkeypatch):
    run_random(seed, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60, 1000))
def test_many_random_simulations(seed, monkeypatch):
    run_random(seed, monkeypatch)


# ---- planted bugs ----------------------------------------------------------------------------------------------------
def test_ends_that_nobody_copies_are_seen(monkeypatch):
    def settle(places):
        for operand, result, start in places._joined:
            operand.joined_at = result.place + start

    monkeypatch.setattr(ResultPlaces, "settle", settle)
    with pytest.raises(AssertionError):
        plan_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)


def test_ends_in_the_wrong_place_are_seen(monkeypatch):
    fill = result_places.Fill
    monkeypatch.setattr(result_places, "Fill", lambda place, part: fill(place + 1, part))
    with pytest.raises(AssertionError):
        plan_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)


def test_memory_that_is_given_away_too_early_is_seen(monkeypatch):
    choose = ResultPlaces.choose

    def too_early(places):
        choose(places)
        for result in places.found:
            result.last = max(result.fused, result.last - 1)

    monkeypatch.setattr(ResultPlaces, "choose", too_early)
    with pytest.raises(AssertionError):
        plan_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)


def test_memory_of_what_derivatives_read_is_seen(monkeypatch):
    monkeypatch.setattr(MovedResult, "is_needed", lambda result: False)
    with pytest.raises(AssertionError):
        plan_of(simulation(nonlinear, STEPS), RNG.normal(size=N), 0.1)
