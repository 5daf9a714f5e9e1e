"""The benchmark script runs, compares gradients before it times them, and reports every figure. No time is tested."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.scalars import Disagreement, check, report
from benchmarks.timing import markdown, noise
from benchmarks.workloads import linear_recurrence, logistic_regression, scalar_workloads
from contad.engines import engine_names

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def figures():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scalars", "--quick", "--json"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_every_engine_is_timed_on_every_work(figures):
    labels = {label for name in engine_names() for label in (name, f"{name}, gc off")}
    assert {w["name"] for w in figures["workloads"]} == {
        "s*x + c", "np.exp(s*x + c)", "contad.exp(s*x + c)", "contad.tanh(s*x + c)", "contad.gammaln(s*x + c)",
        "logistic regression 20 x 4",
    }  # fmt: skip
    for w in figures["workloads"]:
        assert set(w) == {"name", "operations", "control", "noise", "by_hand", "forward", "gradient"}
        assert set(w["gradient"]) == labels
        for times in w["gradient"].values():
            assert set(times) == {"call", "record", "sweep"}
            assert min(times.values()) > 0.0


def test_calls_are_timed(figures):
    transforms = {f"{t}, {name}" for t in ("grad", "value_and_grad") for name in engine_names()}
    assert set(figures["calls"]) == transforms | {"no derivative", "derivative"}


def test_one_record_per_operation_of_at_most_40_bytes(figures):
    counts = figures["storage"]["records_per_operation"]
    assert set(counts) == {w["name"] for w in figures["workloads"]}
    assert set(counts.values()) == {1.0}
    widths = figures["storage"]["bytes_per_record"]
    assert widths["adjoints"] == 8
    assert 8 < sum(widths.values()) <= 40
    assert figures["storage"]["bytes_per_closure"] > sum(widths.values())


def test_a_fresh_process_is_timed(figures):
    process = figures["startup"]
    assert set(process["import"]) == {"numba", "contad", "contad_over_numba"}
    assert set(process["first_gradient"]) == {"cold", "warm", "cold_with_later_rules", "warm_with_later_rules"}
    assert process["later_rules"] == 50


def test_the_report_shows_every_figure(figures):
    text = report(figures)
    for w in figures["workloads"]:
        assert text.count(f"| {w['name']} ") == 2
    assert "Quick run" in text
    assert f"{figures['startup']['first_gradient']['cold'] * 1e3:.0f} |" in text


@pytest.mark.parametrize("work", scalar_workloads(50, 3), ids=lambda w: w.name)
def test_a_wrong_gradient_is_refused(work):
    def wrong(*point):
        value, gradient = work.by_hand(*point)
        return value, (gradient[0] * (1.0 + 1e-6), *gradient[1:])

    check(work)
    with pytest.raises(Disagreement, match="derivative 0 on"):
        check(work._replace(by_hand=wrong))


def test_a_wrong_value_is_refused():
    work = linear_recurrence(10)
    with pytest.raises(Disagreement, match="value"):
        check(work._replace(f=lambda x: x * x))


def test_a_vanishing_derivative_is_refused():
    work = linear_recurrence(10)
    constant = work._replace(f=lambda x: x * 0.0 + 2.0, by_hand=lambda x: (2.0, (0.0,)))
    with pytest.raises(Disagreement, match="derivative"):
        check(constant)


def test_logistic_regression_is_the_same_for_the_same_seed():
    a, b, c = (logistic_regression(5, seed) for seed in (7, 7, 8))
    assert a.f(*a.point) == b.f(*b.point) != c.f(*c.point)


def test_noise_is_relative_to_the_smaller():
    assert noise(2.0, 3.0) == noise(3.0, 2.0) == 0.5


def test_tables_are_markdown():
    assert markdown(("a", "b"), [("x", "10")]) == "| a |  b |\n|---|---:|\n| x | 10 |"
