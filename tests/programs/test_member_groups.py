"""Groups of members: what chains of a program do again and again is one loop, and so is what they add to one range."""

import numpy as np
import pytest

import contad
from contad.programs import chain_plan, chains, member_groups, program_kernels
from contad.programs.chains import ENTRY, MOVING, MOVING_AT
from contad.programs.codes import CHAIN, CODES, GROUPS
from contad.programs.member_groups import OFTEN
from contad.programs.program_kernels import ADJOINTS, TANGENTS, VALUES
from tests.programs.comparison import compare
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


def plan_of(f, *inputs):
    return compiled(f, *inputs)._plans[0]


def simulation(step, steps=STEPS):
    def f(u, k):
        u = u.copy()
        for _ in range(steps):
            step(u, k)
        return np.sum(u * u)

    return f


def heat(u, k):
    u[1:-1] += k * (u[:-2] - 2.0 * u[1:-1] + u[2:])


def burgers(u, k):
    u[1:-1] -= k * u[1:-1] * (u[2:] - u[:-2]) / (1.0 + u[1:-1] ** 2)


def with_sines(u, k):
    u[1:-1] += k * np.sin(u[:-2] + u[2:]) * u[1:-1] - 0.1 * u[1:-1]


def sizes(plan):
    """Of each chain the members that groups have, forward and backward, of how many."""
    return [([n for _, n in c.groups.values()], [n for _, n in c.groups_back.values()], len(c.members)) for c in plan.chains]


def joined(plan):
    """How many parts of operands the chains of a plan add to one range in one loop, by how many there."""
    found = []
    for _, at, _ in plan.code[plan.code[:, 0] == CHAIN].tolist():
        first, count = plan.shapes[at + MOVING_AT], plan.shapes[at + MOVING]
        found.append(max([int(plan.shapes[first + ENTRY * k + 17]) for k in range(count)], default=0))
    return found


def text_of(plan, is_backward):
    """The loop of the middle chain."""
    chain = plan.chains[len(plan.chains) // 2]
    ((number, _),) = (chain.groups_back if is_backward else chain.groups).values()
    return member_groups.group_text(number)


def test_a_step_is_one_loop_each_way():
    plan = plan_of(simulation(heat), RNG.normal(size=N), 0.1)
    assert sizes(plan)[2:-1] == [([5], [5], 5)] * (STEPS - 2)
    forward, backward = text_of(plan, False), text_of(plan, True)
    # the state and what derivatives read of it; and what goes to the neighbours, beside what stays
    assert forward.count("_all[i] = ") == backward.count("_all[i] = ") == 2
    assert forward.count(" = v") and len([line for line in forward.split("\n") if line.endswith("_all[i]")]) == 3
    assert len([line for line in backward.split("\n") if line.endswith("_all[i]")]) == 2
    assert joined(plan)[2:-1] == [3] * (STEPS - 2)


def test_kernels_of_groups_take_the_place_of_those_of_members():
    plan = plan_of(simulation(heat), RNG.normal(size=N), 0.1)
    first_and_last = {0, 1, len(plan.chains) - 1}
    for purpose in (VALUES, ADJOINTS):
        needed = set(plan.kernels(purpose))
        assert sum(kind == GROUPS for kind, _ in needed) == 1
        plan.chains, whole = [c for k, c in enumerate(plan.chains) if k not in first_and_last], plan.chains
        assert {kind for kind, code in plan.kernels(purpose)} - {purpose} <= {GROUPS}
        assert {code for kind, code in plan.kernels(purpose) if kind == GROUPS} == {
            code for kind, code in needed if kind == GROUPS
        }
        plan.chains = whole
    assert GROUPS not in {kind for kind, _ in plan.kernels(TANGENTS)}


def test_what_comes_seldom_has_no_kernel_of_its_own():
    plan = plan_of(simulation(heat, OFTEN - 1), RNG.normal(size=N), 0.1)
    assert not any(chain.groups or chain.groups_back for chain in plan.chains)


@pytest.mark.parametrize("step", [burgers, with_sines])
def test_groups_end_at_costly_members(step):
    found = sizes(plan_of(simulation(step), RNG.normal(size=N), 0.1))
    for forward, backward, count in found[2:-1]:
        assert forward and backward
        assert max(sum(forward), sum(backward)) <= count - (step is with_sines)


@pytest.mark.parametrize("n", [N, 5000])
def test_numbers_are_those_of_members(n, monkeypatch):
    """To the last bit, but where adjoints are added up to one number."""
    u = RNG.normal(size=n)
    made = [compiled(simulation(step), u, 0.1).value_and_grad(u, 0.1) for step in (heat, burgers)]
    monkeypatch.setattr(member_groups, "OFTEN", 1000)
    monkeypatch.setattr(chains, "_join_targets", lambda moving: [(*e, 0) for e in moving])
    for step, (value, (of_u, of_k)) in zip((heat, burgers), made, strict=True):
        value_2, (of_u_2, of_k_2) = compiled(simulation(step), u, 0.1).value_and_grad(u, 0.1)
        assert value == value_2
        np.testing.assert_array_equal(of_u, of_u_2)
        np.testing.assert_allclose(of_k, of_k_2, rtol=1e-12)


def test_members_are_run_one_by_one_where_there_are_too_many_groups(monkeypatch):
    monkeypatch.setattr(member_groups, "_numbers", {f"another {k}": k for k in range(1, CODES)})
    plan = plan_of(simulation(heat), RNG.normal(size=N), 0.1)
    assert not any(chain.groups or chain.groups_back for chain in plan.chains)


def test_programs_wait_for_kernels_of_groups_too(monkeypatch):
    monkeypatch.setattr(member_groups, "_numbers", {})
    monkeypatch.setattr(program_kernels, "ADDRESSES", program_kernels.ADDRESSES.copy())
    program_kernels.ADDRESSES[GROUPS] = 0
    made = contad.record(simulation(heat), RNG.normal(size=N), 0.1)
    assert sorted(code for code in made._missing() if code < 0) == [-2, -1]


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
    monkeypatch.setattr(chain_plan, "FEWEST", 64)
    monkeypatch.setattr(chains, "BLOCK", [64, 300, 3072][seed % 3])
    made = generate(seed, [130, 257, 400][seed % 4 % 3])
    return plan_of(made.function, *made.inputs)


@pytest.mark.parametrize("seed", range(8))
def test_random_simulations(seed, monkeypatch, all_groups):
    run_simulation(seed, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8, 400))
def test_many_random_simulations(seed, monkeypatch, all_groups):
    run_simulation(seed, monkeypatch)


@pytest.mark.parametrize("start", [1])
def test_random_recordings(start, all_groups):
    found, failures = recorded_programs.search(range(start, start + 4))
    assert failures == {} and found["agree"] > 2
    assert member_groups._numbers


@pytest.mark.long
@pytest.mark.parametrize("start", range(5, 400, 4))
def test_many_random_recordings(start, all_groups):
    assert recorded_programs.search(range(start, start + 4))[1] == {}


# ---- planted bugs ----------------------------------------------------------------------------------------------------
