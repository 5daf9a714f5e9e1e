"""The workspace: reused from call to call, bounded, exact, and never shared by two derivatives at once."""

import collections
import math
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit, typeof
from numba.core import typeinfer

import contad
from contad.compile.words import word
from contad.engines.source import build, source
from contad.errors import UnsupportedError
from contad.functions.python_copy import python_twin
from contad.memory.arena import FIRST_NUMBERS, WORKSPACE, arena, memory_in_use, workspace_bytes
from tests.compile.processes import run_python
from tests.engines.source.agreement import as_python, numbers_stored, request
from tests.judges.planted import known, registered


@njit
def held():
    """Where this thread's workspace is, and its bytes."""
    header = arena()
    return word(header, WORKSPACE), workspace_bytes(header)


@njit
def counted(s, n):
    """Room for all iterations is asked for at once."""
    for i in range(n):
        s = math.sin(s + 0.1 * i)
    return s


HUGE = 2**62 - 201  # has no float


@njit
def unknown(s, n):
    """How many iterations there are is not known before the last."""
    while n > 0:
        s = math.sin(s + 0.1 * n)
        n -= 1
    return s


@njit
def nested(s, n, m):
    for i in range(n):
        for j in range(i, m):
            s = math.sin(s + 0.1 * j)
        s = s * s
    return s


@njit
def rectangle(s, n, m):
    for i in range(n):
        for j in range(m):
            s = math.sin(s + 0.1 * j)
        s = s * s + i
    return s


@njit
def stops(s, n, last):
    for i in range(n):
        if i == last:
            raise ValueError("as asked")
        s = math.sin(s + 0.1 * i)
    return s


@njit
def loop_in_a_branch(s, n, m):
    for i in range(n):
        s = s * 1.01
        if i == 3:
            for j in range(m):
                s = math.sin(s + 0.1 * j)
    return s


@njit
def products(x, points):
    total = 0.0
    for i in range(len(points)):
        p = 1.0
        for j in range(len(x)):
            p *= math.sin(x[j] + points[i])
        total += p
    return total


@njit
def huge_integers(s, n):
    h = 1
    for i in range(n):
        h = HUGE + (h % 1000 * 5 + i) % 200
        if h > HUGE + 97 - i:
            s = math.sin(s) * 1.5
        elif h < HUGE + 10 * i:
            s = math.cos(s * 0.3)
    return s


def expected(function, *args):
    return contad.value_and_grad(python_twin(function), (0,), engine="records")(*args)


def agree(got, function, *args):
    value, gradient = expected(function, *args)
    assert got[0] == pytest.approx(value, rel=1e-13)
    assert got[1] == pytest.approx(gradient, rel=1e-11)


# ---- one per thread, reused ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("function", [counted, unknown])
def test_calls_use_the_same_memory_again(function):
    run = build(request(function, 0.5, 3))
    first = run(0.5, 1000)
    agree(first, function, 0.5, 1000)
    place, used = held(), memory_in_use()
    assert place[1] >= 8000
    for n in range(10_000):
        run(0.5, n % 1000)
    assert (held(), memory_in_use()) == (place, used)
    assert run(0.5, 1000) == first


def test_numbers_survive_growth():
    run = build(request(unknown, 0.5, 3))
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(held).result()[1] == 0
        got = thread.submit(run, 0.5, 20 * FIRST_NUMBERS).result()
        assert thread.submit(held).result()[1] >= 8 * 20 * FIRST_NUMBERS
    agree(got, unknown, 0.5, 20 * FIRST_NUMBERS)


def test_a_thread_takes_its_own_and_gives_it_back():
    run = build(request(counted, 0.5, 3))
    before = memory_in_use()
    barrier = threading.Barrier(4)
    lengths = [50_000 + 1000 * k for k in range(4)]

    def work(n):
        barrier.wait()
        found = [run(0.5, n) for _ in range(20)]
        return found, held()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, lengths))
        assert memory_in_use() - before == sum(size for _, (_, size) in results)
    deadline = time.monotonic() + 30.0
    while memory_in_use() != before and time.monotonic() < deadline:  # the system ends a thread after Python has
        time.sleep(0.001)
    assert memory_in_use() == before
    assert len({place for _, (place, _) in results}) == 4
    for n, (found, (_, size)) in zip(lengths, results, strict=True):
        assert size == 8 * (n + 1)
        assert found == [run(0.5, n)] * 20


def test_after_an_exception_the_next_call_is_right():
    run = build(request(stops, 0.5, 3, -1))
    whole = run(0.5, 1000, -1)
    agree(whole, stops, 0.5, 1000, -1)
    place, used = held(), memory_in_use()
    for last in range(0, 1000, 100):
        with pytest.raises(ValueError, match="as asked"):
            run(0.5, 1000, last)
        assert run(0.5, 1000, -1) == whole
    assert (held(), memory_in_use()) == (place, used)


def test_types_are_inferred_in_one_round(monkeypatch):
    """And a second one finds nothing new; a counter that starts as a literal would take a third."""
    propagate = typeinfer.ConstraintNetwork.propagate
    networks = []  # one for each function that is compiled, in each of its rounds
    monkeypatch.setattr(
        typeinfer.ConstraintNetwork, "propagate", lambda *args: (networks.append(args[0]), propagate(*args))[1]
    )
    names = {}
    exec(source(request(nested, 0.5, 3, 3)), names)
    njit(names["run"]).compile((typeof(0.5), typeof(3), typeof(3)))
    assert max(collections.Counter(map(id, networks)).values()) == 2


# ---- limits ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def little():
    """There is hardly more memory than what is in use."""
    used = -1
    while used != memory_in_use():  # the system has yet to end a thread of another test, which gives back its memory
        used = memory_in_use()
        time.sleep(0.1)
    contad.set_memory_limit(used + 100_000)
    yield
    contad.set_memory_limit(None)


@pytest.mark.parametrize("function", [counted, unknown])
def test_a_limit_raises_and_the_next_call_is_right(function, little):
    run = build(request(function, 0.5, 3))
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(run, 0.5, 2000).result()
        with pytest.raises(MemoryError, match="set_memory_limit"):
            thread.submit(run, 0.5, 100_000).result()
        assert thread.submit(run, 0.5, 2000).result() == first
        # half as much again: there is no room to double, but room enough
        agree(thread.submit(run, 0.5, 8_000).result(), function, 0.5, 8_000)
        contad.set_memory_limit(None)
        agree(thread.submit(run, 0.5, 100_000).result(), function, 0.5, 100_000)


@pytest.mark.parametrize(
    ("f", "much", "few"),
    [*((counted, (n,), (5,)) for n in (2**40, 2**61, 2**62, 2**63 - 1)),
     *((rectangle, (2**k, 2**k), (4, 3)) for k in (20, 31, 32, 33))],  # whose product does not overflow
)  # fmt: skip
def test_more_than_any_machine_has_is_a_memory_error(f, much, few):
    run = build(request(f, 0.5, *(3 for _ in few)))
    with pytest.raises(MemoryError, match="set_memory_limit"):
        run(0.5, *much)
    agree(run(0.5, *few), f, 0.5, *few)


@pytest.mark.parametrize("n", [0, -1, -(10**6), -(2**62)])
def test_no_iterations_take_no_room(n):
    run = build(request(nested, 0.5, 3, 3))
    run(0.5, 3, 5)  # the room of the outer loop is there
    before = held()
    assert run(0.5, n, 5) == (0.5, (1.0,))
    assert run(0.5, 3, n)[0] == 0.5**8
    assert held() == before


# ---- what is asked for -----------------------------------------------------------------------------------------------
def test_a_loop_that_does_not_run_gets_no_room():
    args = (0.5, 50, 400)
    asked = request(loop_in_a_branch, *args)
    agree(as_python(asked)(*args), loop_in_a_branch, *args)
    assert 400 <= numbers_stored(asked, args) < 1000
    agree(build(asked)(*args), loop_in_a_branch, *args)


@pytest.mark.parametrize("points", [3, 30])
def test_terms_that_store_share_the_room(points):
    args = np.array([0.3, 0.5, 0.7, 0.2]), np.linspace(0.1, 3.0, points)
    assert numbers_stored(request(products, *args), args) == 8


# ---- what is stored --------------------------------------------------------------------------------------------------


def test_integers_are_stored_exactly():
    asked = request(huge_integers, 0.5, 3)
    assert "put_integer" in source(asked)
    for run in (as_python(asked), build(asked)):
        agree(run(0.5, 12), huge_integers, 0.5, 12)


# ---- one derivative at a time ----------------------------------------------------------------------------------------
slope = contad.grad(counted)


@njit
def by_name(s, n):
    for i in range(n):
        s = math.sin(s) * slope(0.4, i)
    return s


@njit
def written_inside(s, n):
    for i in range(n):
        s = math.sin(s) * contad.grad(counted)(0.4, i)
    return s


with registered():

    @contad.scalar_rule
    def rule_with_a_derivative(x):
        return x * slope(0.4, 3)

    @rule_with_a_derivative.partials
    def rule_with_a_derivative_partials(z, x):
        return z / x


@njit
def by_rule(s, n):
    for _ in range(n):
        s = math.sin(s) * rule_with_a_derivative(s)
    return s


@pytest.mark.parametrize("function", [by_name, written_inside])
def test_a_derivative_inside_another_begins_behind_what_that_one_stores(function):
    agree(build(request(function, 0.5, 30))(0.5, 30), function, 0.5, 30)


def test_no_derivative_runs_inside_a_rule():
    """Both would write at the beginning of the thread's workspace."""
    with known(rule_with_a_derivative), pytest.raises(UnsupportedError):
        build(request(by_rule, 0.5, 3))


# ---- the disk --------------------------------------------------------------------------------------------------------
MODEL = """
import math
import contad
from numba import njit

@njit
def f(s, n):
    for i in range(n):
        s = math.sin(s + 0.1 * i)
    return s

gradient = contad.grad(f, engine="generated")

@njit(cache=True)
def caller(s, n):
    return gradient(s, n)
"""
RUNS = ("print(model.gradient(0.5, 1000))", "print(model.caller(0.5, 1000))")


@pytest.mark.long
def test_other_processes_use_the_machine_code(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    names = {"CONTAD_CACHE_DIR": tmp_path / "cache", "PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": None}
    printed = [
        float(run_python("-W", "error", "-c", f"import model; {run}", folder=tmp_path, **names))
        for run in (*RUNS, *RUNS, RUNS[1])
    ]
    assert printed == pytest.approx([expected(counted, 0.5, 1000)[1][0]] * 5, rel=1e-11)
