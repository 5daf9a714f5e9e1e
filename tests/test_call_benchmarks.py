"""The benchmark of calls: what it compares agrees, and it reports every figure. No time is tested."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import calls
from benchmarks.scalars import Disagreement

ROOT = Path(__file__).parents[1]


def test_the_report_shows_every_figure():
    command = [sys.executable, "-m", "benchmarks.calls", "--quick", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert set(figures["calls"]) == set(calls.calls()) and set(figures["first"]) == {"cold", "cached"}
    text = calls.report(figures)
    for what, found in figures["calls"].items():
        assert f"| {what} " in text and f"{1e9 * found['overhead']:.0f}" in text


def test_a_wrong_gradient_is_not_timed(monkeypatch):
    monkeypatch.setattr(calls, "calls", lambda: {"wrong": (lambda: 1.0, lambda: 2.0, 1)})
    with pytest.raises(Disagreement, match="wrong: expected 1.0, got 2.0"):
        calls.measure(1, 1e-4)
