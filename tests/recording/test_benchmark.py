"""The benchmark of recorded programs runs, compares before it times, and reports every figure. No time is tested."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import contad
from benchmarks.replay import check, guarded_recurrence, recurrence, report
from benchmarks.scalars import Disagreement

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def figures():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.replay", "--quick", "--json"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_every_figure_is_there(figures):
    assert [w["name"] for w in figures["scalars"]] == ["logistic regression 20 x 4", "s*x + c", "s*x + c, guarded"]
    assert len(figures["arrays"]) == 5
    for w in figures["scalars"]:
        assert all(w[c] > 0.0 for c in ("value", "gradient", "slope", "by hand", "plain", "recording"))
    for w in figures["arrays"]:
        assert all(w[c] > 0.0 for c in ("value", "gradient", "by hand", "plain"))
    assert "benchmarks/replay.py:" in figures["guard"]


def test_the_report_shows_every_figure(figures):
    text = report(figures)
    for w in (*figures["scalars"], *figures["arrays"]):
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {w['name']} ")]
        assert all(f"{w[c]:.1f}" in line for c in ("value", "gradient", "by hand", "plain"))
    assert figures["guard"] in text and "figures mean nothing" in text


def test_a_wrong_gradient_is_noticed():
    model = recurrence(10)
    other = recurrence(11)
    with pytest.raises(Disagreement, match=r"s\*x \+ c"):
        check(model, contad.record(other.f, *other.point))


def test_operations_are_counted():
    """A record for every operation, and one for every guard."""
    for model, guards in ((recurrence(10), 0), (guarded_recurrence(10), 10)):
        (trace,) = contad.record(model.f, *model.point).traces
        assert len(trace.code) == model.operations and len(trace.places) == guards
