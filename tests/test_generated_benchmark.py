"""The comparison of generated gradients with those by hand names the reason where one is slow."""

import pytest

from benchmarks import generated, loops, loops_by_hand


def test_every_program_has_a_gradient_by_hand():
    assert set(loops.problems(0.01)) == {name for name in loops.problems(0.01) if hasattr(loops_by_hand, name)}
    assert set(loops.WHY_SLOWER) | set(loops.WHY_DEAR) <= set(loops.problems(0.01))


@pytest.mark.parametrize("name", loops.WHY_SLOWER)
def test_a_slow_gradient_comes_with_its_reason(name):
    (line,) = generated.remarks(name, 1.21, 2.0)
    assert line.startswith(f"{name}, 1.21 of the gradient by hand: ")
    assert loops.WHY_SLOWER[name] in line
    assert generated.remarks(name, 1.2, 3.0) == []


def test_a_dear_gradient_by_hand_comes_with_its_reason():
    (line,) = generated.remarks("heat", 1.0, 8.0)
    assert loops.WHY_DEAR["heat"] in line


def test_a_missing_reason_is_told(monkeypatch, capsys):
    assert generated.MISSING in generated.remarks("rosenbrock", 1.3, 2.0)[0]
    times = 1.0, 1.0, 1.3, 1.0, 0, 1.0, 1.0, 1.0, 1.0, 1.0
    monkeypatch.setattr(generated, "measure", lambda *_: times)
    monkeypatch.setattr("sys.argv", ["generated", "rosenbrock"])
    assert generated.main() == 1
    assert f"rosenbrock, 1.30 of the gradient by hand: {generated.MISSING}" in capsys.readouterr().out
    monkeypatch.setattr(loops, "WHY_SLOWER", {"rosenbrock": "because"})
    assert generated.main() == 0
