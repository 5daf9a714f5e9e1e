"""Groups of members: what fused loops repeat is one loop, and so is what they add to one range."""

import numpy as np
import pytest

import contad
from contad.programs import fused_loop_source, fusion, member_groups, program_kernels, strip_places
from contad.programs.codes import CODES, FUSED, GROUPS
from contad.programs.fused_loop_source import ENTRY, MOVING, MOVING_AT
from contad.programs.member_groups import OFTEN
from contad.programs.program_kernels import ADJOINTS, TANGENTS, VALUES
from tests.programs.comparison import compare
from tests.programs.simulations import heat, simulation
from tests.random_programs import recorded_programs
from tests.random_programs.in_place_programs import generate

RNG = np.random.default_rng(63)
pytestmark = pytest.mark.usefixtures("memory_of_others")
N, STEPS = 1500, OFTEN + 2  # the first step reads inputs, and has fewer members where the second begins in its loop


def compiled(f, *inputs):
    """A program that agrees with f, compiled from its first run on."""
    made = contad.record(f, *inputs)
    made.compile_tangents()
    made._compile()
    found = compare(made, f, inputs)
    assert found["agreed"] + found["guarded"] == 4
    return made


def layout_of(f, *inputs):
    return compiled(f, *inputs)._layouts[0]


def burgers(u, k):
    u[1:-1] -= k * u[1:-1] * (u[2:] - u[:-2]) / (1.0 + u[1:-1] ** 2)


def with_sines(u, k):
    u[1:-1] += k * np.sin(u[:-2] + u[2:]) * u[1:-1] - 0.1 * u[1:-1]


def sizes(layout):
    """Of each fused loop the members that groups have, forward and backward, of how many."""
    groups = [(c.groups, c.groups_back, len(c.members)) for c in layout.fused_loops]
    return [([n for _, n in ahead.values()], [n for _, n in back.values()], count) for ahead, back, count in groups]


def joined(layout):
    """How many parts of operands the fused loops of a layout add to one range in one loop, by how many there."""
    found = []
    for _, at, _ in layout.code[layout.code[:, 0] == FUSED].tolist():
        first, count = layout.shapes[at + MOVING_AT], layout.shapes[at + MOVING]
        found.append(max([int(layout.shapes[first + ENTRY * k + 17]) for k in range(count)], default=0))
    return found


def text_of(layout, is_backward):
    """The loop of the middle fused loop."""
    fused = layout.fused_loops[len(layout.fused_loops) // 2]
    ((number, _),) = (fused.groups_back if is_backward else fused.groups).values()
    return member_groups.group_text(number)


def test_a_step_is_one_loop_each_way():
    layout = layout_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)
    middle = slice(2, -1)
    assert sizes(layout)[middle] == [([5], [5], 5)] * (STEPS - 2)
    # read are the state and both neighbours; written the state, and what derivatives read of it
    assert reads_and_writes(text_of(layout, False)) == (3, 2)
    # read are adjoints of the state and what derivatives read; written what stays there, and what goes to neighbours
    assert reads_and_writes(text_of(layout, True)) == (2, 2)
    assert joined(layout)[middle] == [3] * (STEPS - 2)
    for purpose in (VALUES, ADJOINTS):  # no member has a kernel of its own
        assert sum(kind == GROUPS for kind, _ in layout.kernels(purpose)) >= STEPS - 2
        alone = [c for k, c in enumerate(layout.fused_loops) if k in (0, 1, len(layout.fused_loops) - 1)]
        members = sum(not m.is_guard and (purpose == VALUES or bool(m.purpose)) for c in alone for m in c.members)
        assert sum(kind != GROUPS for kind, _ in layout.kernels(purpose)) <= members
    assert GROUPS not in {kind for kind, _ in layout.kernels(TANGENTS)}


def reads_and_writes(text):
    lines = text.split("\n")
    return sum(line.endswith("_all[i]") for line in lines), sum("_all[i] = " in line for line in lines)


def test_what_comes_seldom_has_no_kernel_of_its_own():
    layout = layout_of(simulation(heat, OFTEN - 1), RNG.normal(size=N), 0.1)
    assert not any(fused.groups or fused.groups_back for fused in layout.fused_loops)


def test_costly_members_stay_out_of_groups():
    layout = layout_of(simulation(with_sines, STEPS), RNG.normal(size=N), 0.1)
    assert all(forward and backward and sum(forward) < count for forward, backward, count in sizes(layout)[2:-1])
    for fused in layout.fused_loops:
        costly = {k for k, m in enumerate(fused.members) if m.rule and m.rule.name == "sin"}
        assert not costly & (fused.in_groups(False) | fused.in_groups(True))


@pytest.mark.parametrize(("step", "n"), [(heat, 5000), (burgers, N)])
def test_numbers_are_those_of_members(step, n, monkeypatch):
    """To the last bit, but where adjoints are added up to one number."""
    u = RNG.normal(size=n)
    value, (of_u, of_k) = compiled(simulation(step, STEPS), u, 0.1).value_and_grad(u, 0.1)
    monkeypatch.setattr(member_groups, "OFTEN", 1000)
    monkeypatch.setattr(fused_loop_source, "_join_targets", lambda moving: [(*e, 0) for e in moving])
    value_2, (of_u_2, of_k_2) = compiled(simulation(step, STEPS), u, 0.1).value_and_grad(u, 0.1)
    assert value == value_2
    np.testing.assert_array_equal(of_u, of_u_2)
    np.testing.assert_allclose(of_k, of_k_2, rtol=1e-12)


def test_members_are_run_one_by_one_where_there_are_too_many_groups(monkeypatch):
    monkeypatch.setattr(member_groups, "_numbers", {f"another {k}": k for k in range(1, CODES)})
    layout = layout_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)
    assert not any(fused.groups or fused.groups_back for fused in layout.fused_loops)


def test_programs_wait_for_kernels_of_groups_too(monkeypatch):
    monkeypatch.setattr(member_groups, "_numbers", {})
    monkeypatch.setattr(program_kernels, "ADDRESSES", program_kernels.ADDRESSES.copy())
    program_kernels.ADDRESSES[GROUPS] = 0
    made = contad.record(simulation(heat, STEPS), RNG.normal(size=N), 0.1)
    assert sorted(code for purpose, code in made._missing() if purpose == GROUPS) == [1, 2]


# ---- random programs, all of whose groups have kernels ---------------------------------------------------------------
@pytest.fixture
def all_groups(monkeypatch):
    """A process that has compiled none yet, and compiles each."""
    monkeypatch.setattr(member_groups, "OFTEN", 1)
    monkeypatch.setattr(member_groups, "_numbers", {})
    before = program_kernels.ADDRESSES[GROUPS].copy()
    program_kernels.ADDRESSES[GROUPS] = 0
    yield
    program_kernels.ADDRESSES[GROUPS] = before


def run_simulation(seed, monkeypatch):
    monkeypatch.setattr(fusion, "FEWEST", 64)
    monkeypatch.setattr(strip_places, "STRIP", [64, 300, 3072][seed % 3])
    made = generate(seed, [130, 257, 400][seed % 4 % 3])
    return layout_of(made.function, *made.inputs)


@pytest.mark.parametrize("seed", range(4))
def test_random_simulations(seed, monkeypatch, all_groups):
    run_simulation(seed, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4, 400))
def test_many_random_simulations(seed, monkeypatch, all_groups):
    run_simulation(seed, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("start", range(1, 400, 4))
def test_many_random_recordings(start, all_groups):
    assert recorded_programs.search(range(start, start + 4))[1] == {}


# ---- planted bugs ----------------------------------------------------------------------------------------------------
def test_numbers_that_a_group_forgets_are_seen(monkeypatch, all_groups):
    store = member_groups._GroupLoop.store

    def forget(loop, k, at):
        name = store(loop, k, at)
        loop.written.pop(loop.place(k, at), None)
        return name

    monkeypatch.setattr(member_groups._GroupLoop, "store", forget)
    with pytest.raises(AssertionError):
        layout_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)


def test_adjoints_of_others_that_a_group_leaves_out_are_seen(monkeypatch, all_groups):
    monkeypatch.setattr(member_groups, "_read_later", lambda fused, first: set())
    with pytest.raises(AssertionError):
        layout_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)


def test_parts_that_are_left_out_are_seen(monkeypatch):
    join = fused_loop_source._join_targets

    def join_fewer(moving):
        return [(*e[:-1], e[-1] and 2) for e in join(moving)][:-1]

    monkeypatch.setattr(fused_loop_source, "_join_targets", join_fewer)
    with pytest.raises(AssertionError):
        layout_of(simulation(heat, STEPS), RNG.normal(size=N), 0.1)
