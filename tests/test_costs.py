"""What derivatives cost, in counts: steps of the reverse sweep, stored numbers, bytes, allocations, as a loop grows.

Counts of single operations stand with their engines: `tests/engines/test_records.py`, `test_matrix_counts.py` and
`tape/test_tape.py` there have the records and bytes of each, and that nothing grows from call to call;
`source/test_workspace.py` has the rooms that loops ask for.
"""

import math
import threading

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python as _nrt, rtsys

import contad
from contad.engines import engine, engine_names
from contad.engines.source import build, source
from contad.engines.tape import build as build_tape
from contad.functions.python_copy import python_twin
from contad.memory.arena import FIRST_CAPACITY, FIRST_NUMBERS, RECORD_BYTES, memory_in_use
from contad.variables.stack import opened
from tests.engines.tape.requests import request

N = 100


@njit
def total(x, n):
    s = 0.0
    for k in range(n):
        s += x[k] * x[k]
    return s


@njit
def product(x, n):
    s = 1.0
    for k in range(n):
        s *= x[k]
    return s


@njit
def recurrence(x, n):
    s = x
    for _ in range(n):
        s = math.sin(s) * x + 0.5
    return s


@njit
def grid(x, n):
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += math.exp(x * i - j) * s
    return s


@njit
def in_place(x, n):
    u = x.copy()
    for k in range(1, n):
        u[k] = u[k] * u[k - 1]
    return u[n - 1]


# for n: the first argument, what the loops of the function run through (a copy is a loop), and the numbers that a
# reverse sweep cannot do without
PROGRAMS = {
    "a sum of squares": (total, lambda n: np.full(n, 0.7), lambda n: n, lambda n: 0),
    "a product": (product, lambda n: np.full(n, 0.99), lambda n: n, lambda n: n),
    "a recurrence": (recurrence, lambda n: 0.7, lambda n: n, lambda n: 2 * n),
    "a loop in a loop": (grid, lambda n: 0.02, lambda n: n + n * n, lambda n: 2 * n * n),
    "an array in place": (in_place, lambda n: np.full(n, 0.99), lambda n: 2 * n, lambda n: 2 * n),
}
named = pytest.mark.parametrize("name", PROGRAMS)


# ---- the engine generated --------------------------------------------------------------------------------------------
def counted(f, x, n):
    """How often the bodies of the loops of a gradient run, and for how many stored numbers it asks."""
    iterations, room = 0, 0

    def counting(*limits):
        nonlocal iterations
        for k in range(*limits):
            iterations += 1
            yield k

    def noticed(work, numbers):
        nonlocal room
        room = max(room, numbers)
        return grow(work, numbers)

    names = {"range": counting}
    exec(source(request(f, x, n)), names)
    grow = names.get("grow")
    names["grow"] = noticed
    value, _ = names["run"](x, n)
    assert value == pytest.approx(f.py_func(x, n))
    return iterations, room


@named
@pytest.mark.parametrize("n", [10, 30])
def test_a_gradient_runs_each_loop_forward_and_backward_once_and_stores_what_it_needs(name, n):
    f, x, once, needed = PROGRAMS[name]
    iterations, room = counted(f, x(n), n)
    assert iterations <= 2 * once(n)
    assert room <= needed(n)


def allocations(run, *args):
    """How many arrays a call makes; all but its result are freed by its end."""
    before = rtsys.get_allocation_stats()
    result = run(*args)
    made = rtsys.get_allocation_stats()
    del result
    after = rtsys.get_allocation_stats()
    assert after.free - before.free == after.alloc - before.alloc
    return made.alloc - before.alloc


@named
def test_the_number_of_allocations_is_that_of_a_small_call(name):
    """The workspace is the thread's, and grows once."""
    f, x, _, _ = PROGRAMS[name]
    run = build(request(f, x(N), N))
    run(x(N), N)
    _nrt.memsys_enable_stats()
    try:
        small, large = (allocations(run, x(n), n) for n in (3, 10 * N))
    finally:
        _nrt.memsys_disable_stats()
    assert small == large


@named
def test_the_workspace_grows_once(name):
    f, x, _, needed = PROGRAMS[name]
    run = build(request(f, x(N), N))
    held = held_on_a_new_thread(lambda: run(x(10 * N), 10 * N))
    assert held[0] <= 8 * max(2 * needed(10 * N), FIRST_NUMBERS)
    assert held == held[:1] * 3


def held_on_a_new_thread(run):
    """The bytes that a thread's arena takes after each of three calls."""
    held = []

    def calls():
        before = memory_in_use()
        for _ in range(3):
            run()
            held.append(memory_in_use() - before)

    thread = threading.Thread(target=calls)
    thread.start()
    thread.join()
    assert len(held) == 3
    return held


# ---- engines that record ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", engine_names())
def test_records_grow_with_operations(name):
    def cells(n):
        with opened(engine(name)) as s:
            python_twin(recurrence)(s.variable(0.7), n)
            return s.top

    assert cells(2 * N) - cells(N) == cells(3 * N) - cells(2 * N) == 3 * N


@pytest.mark.parametrize("name", engine_names())
def test_a_sweep_runs_each_continuation_once_in_reverse(name):
    ran = []
    with opened(engine(name)) as s:
        z = x = s.variable(0.7)
        for k in range(N):

            def chain(z, adj, before=z, k=k):
                ran.append(k)
                adj.add(before, adj[z] * 1.01)

            z = contad.make_callback_var(1.01 * z.value, chain) + z * z * 0.0
        assert contad.gradient(z, [x]) == pytest.approx([1.01**N])
    assert ran == list(range(N - 1, -1, -1))


def test_the_tape_takes_32_bytes_an_operation_and_keeps_them():
    run = build_tape(request(recurrence, 0.7, N))
    n = 10 * FIRST_CAPACITY
    held = held_on_a_new_thread(lambda: run(0.7, n))
    least = (RECORD_BYTES + 8) * 3 * n
    assert least <= held[0] <= 2 * least  # capacities double
    assert held == held[:1] * 3


def test_a_recorded_program_has_a_row_for_each_operation():
    def rows_and_bytes(n):
        (trace,) = contad.record(python_twin(recurrence), 0.7, n, argnums=(0,)).traces
        return np.array([len(trace.code), trace.code.nbytes + trace.constants.nbytes + trace.shapes.nbytes])

    rows, memory = rows_and_bytes(2 * N) - rows_and_bytes(N)
    assert rows == 3 * N
    assert memory <= 24 * rows
