"""What derivatives cost, in counts: steps of the reverse sweep, stored numbers, bytes, allocations, as a loop grows.

Counts of single operations stand with their engines: `tests/engines/test_records.py`, `test_matrix_counts.py` and
`tape/test_tape.py` there have the records and bytes of each, and that nothing grows from call to call.
"""

import math
import threading

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python as _nrt, rtsys

import contad
from benchmarks.generated import stored
from contad.dispatcher import python_twin
from contad.engines import engine, engine_names
from contad.engines.generated import build, source
from contad.engines.tape import build as build_tape
from contad.native.arena import FIRST_CAPACITY, RECORD_BYTES, memory_in_use
from contad.stack import opened
from tests.engines.tape.requests import request
from tests.generated_programs import grown

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
@named
def test_the_workspace_holds_what_the_sweep_cannot_do_without(name):
    f, x, _, needed = PROGRAMS[name]
    for n in (N, 2 * N):
        assert stored(request(f, x(n), n), (x(n), n)) <= needed(n)


def iterations(f, x, n):
    """How many times the bodies of the loops of a gradient run."""
    count = 0

    def counting(*limits):
        nonlocal count
        for k in range(*limits):
            count += 1
            yield k

    names = {"range": counting}
    exec(source(request(f, x, n)), names)
    names.update(workspace=lambda: np.empty(0), grow=grown)
    value, _ = names["run"](x, n)
    assert value == pytest.approx(f.py_func(x, n))
    return count


@named
def test_a_gradient_runs_each_loop_forward_and_backward_once(name):
    f, x, once, _ = PROGRAMS[name]
    for n in (10, 30):
        assert iterations(f, x(n), n) <= 2 * once(n)


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
    """At most one for the workspace beyond its first size, however long the loop."""
    f, x, _, _ = PROGRAMS[name]
    run = build(request(f, x(N), N))
    run(x(N), N)
    _nrt.memsys_enable_stats()
    try:
        small, larger, again = (allocations(run, x(n), n) for n in (3, 10 * N, 10 * N))
    finally:
        _nrt.memsys_disable_stats()
    assert small <= larger == again <= small + 1


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
    held = []

    def on_a_new_thread():
        before = memory_in_use()
        for _ in range(3):
            run(0.7, n)
            held.append(memory_in_use() - before)

    thread = threading.Thread(target=on_a_new_thread)
    thread.start()
    thread.join()
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
