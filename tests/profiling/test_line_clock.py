"""Whose time it is: lines, by call path."""

import functools
import sys
import time

import pytest

from contad.profiling.line_clock import LineClock, cost_of_ignored_call


def inner(x):
    return x + 1


def program(n):
    total = 0
    for k in range(n):
        total = inner(total) if k % 2 else total
    return functools.reduce(lambda a, b: a + b, [total, 1, 2])


def generate(n):
    for k in range(n):
        yield inner(k)


def consume(n):
    return sum(x for x in generate(n))


def collect(n):
    return [
        inner(k)
        for k in range(n)
    ]  # fmt: skip


def hand_on():
    return consume_all(inner(k) for k in range(3))


def consume_all(items):
    total = 0
    for item in items:
        total += item
    return total


def fail(x):
    y = inner(x)
    raise ValueError(y)


def follow(f, *args):
    clock = LineClock()
    with clock:
        f(*args)
    found = {}
    for path in clock.root.walk():
        if path.code is not None:
            key = path.code.co_name, path.line - path.code.co_firstlineno
            found[key] = found.get(key, 0) + path.calls
    return clock, found


def test_lines_are_counted():
    _, found = follow(program, 5)
    assert found == {
        ("program", 1): 1, ("program", 2): 6, ("program", 3): 5, ("program", 4): 1, ("inner", 1): 2, ("<lambda>", 0): 2,
    }  # fmt: skip


def test_paths_lead_from_the_line_that_called():
    clock, _ = follow(program, 5)
    callers = [p for p in clock.root.walk() if any(child.code is inner.__code__ for child in p.children.values())]
    assert [(p.code, p.line - program.__code__.co_firstlineno) for p in callers] == [(program.__code__, 3)]


def test_generators_come_and_go():
    clock, found = follow(consume, 4)
    assert found[("inner", 1)] == 4 and found[("generate", 2)] == 4 and clock.current is clock.root


def test_comprehensions_are_lines_of_their_function():
    clock, found = follow(collect, 4)
    assert found[("inner", 1)] == 4 and {name for name, _ in found} == {"collect", "inner"}
    callers = {p.line for p in clock.root.walk() for child in p.children.values() if child.code is inner.__code__}
    assert callers == {collect.__code__.co_firstlineno + 2}


def test_an_expression_that_another_function_runs_is_not_of_its_lines():
    clock, found = follow(hand_on)
    assert found[("inner", 1)] == 3
    callers = [p for p in clock.root.walk() if any(child.code is inner.__code__ for child in p.children.values())]
    assert [(p.code.co_name, p.line) for p in callers] == [("<genexpr>", hand_on.__code__.co_firstlineno + 1)]


def test_after_an_error_the_tracer_that_was_there_is_there_again():
    def tracer(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with pytest.raises(ValueError, match="4"):
            follow(fail, 3)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def wait():
    time.sleep(0.03)
    x = [k * k for k in range(10)]
    return x


def test_time_belongs_to_the_line_that_takes_it():
    begin = time.perf_counter()
    clock, _ = follow(wait)
    whole = time.perf_counter() - begin
    times = {path.line - wait.__code__.co_firstlineno: path.forward for path in clock.root.walk() if path.code}
    assert times[1] >= 0.03 and times[1] > times[2]
    assert sum(path.forward for path in clock.root.walk()) <= whole


def test_libraries_are_not_followed():
    import statistics

    clock, found = follow(lambda: statistics.mean([1.0, 2.0]))
    assert set(found) == {("<lambda>", 0)} and sum(path.ignored for path in clock.root.walk()) > 0
    assert 0.0 <= cost_of_ignored_call() < 1e-3
