"""The benchmark of the tape compares before it times, and reports every figure. No time is tested."""

import pytest

from benchmarks.loops import recurrence
from benchmarks.njit_workloads import programs
from benchmarks.tape import Disagreement, calls, check, gradient, measure, report


def test_the_report_shows_every_figure():
    program = programs(0.01)[3]
    figures = {"programs": [measure(program, 1)], "calls": calls(1), "first": {"cold": 1.25, "cached": 0.5}}
    (work,) = figures["programs"]
    x, a, b, n = program.point
    steps = [recurrence.py_func(x, a, b, k) for k in range(n)]
    assert work["operations"] == sum(6 if x > 0.0 else 4 for x in steps)
    text = report(figures)
    for name in ("control", "by_hand", "tape"):
        assert f"{work[name]:.2f}" in text
    assert "recurrence" in text and "1.25 s cold, 0.50 s cached" in text


def test_a_wrong_gradient_is_noticed():
    program = programs(0.01)[3]
    run = gradient(program)
    check(program, run)
    with pytest.raises(Disagreement, match="recurrence"):
        check(program, lambda *args: (run(*args)[0], (0.1, 0.2, 0.3)))
