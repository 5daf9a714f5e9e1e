"""The table, the colours of a terminal, and `--source`."""

import re
import subprocess
import sys

import numpy as np
import pytest

from contad.command.terminal import Group, has_colours, table
from tests.judges.sources import ROOT

SOURCE = """
import numpy as np
from numba import njit

y = np.array([1.0, 2.0])

@njit
def density(y, mu=0.5, sd=2.0):
    s = 0.0
    for k in range(len(y)):
        s += ((y[k] - mu) / sd) ** 2
    return s

@njit
def appends(x=2.0):
    found = []
    while len(found) < 3:
        found.append(x * len(found))
    return found[2] * x

def plain(x=1.0):
    return x * x

def layers(p={"w": np.arange(20.0).reshape(4, 5), "b": np.array([0.5, -1.25e-7]), "s": 3.0}):
    return np.sum(p["w"] ** 2) + np.sum(p["b"] ** 2) + p["s"]
"""


def group(name, point, gradient):
    point, gradient = np.array(point, float), np.array(gradient, float)
    names = [f"{name}[{k}]" for k in range(len(point))]
    return Group(name, point.shape, names, point.tolist(), gradient.tolist())


# ---- the table -------------------------------------------------------------------------------------------------------
def test_numbers_are_aligned_at_their_points():
    lines = table([group("x", [1.0, -20.5, 3e-9], [0.25, 1e20, -0.0])])
    assert lines == [
        "  argument   point   gradient", "  x[0]        1         0.25", "  x[1]      -20.5       1e+20",
        "  x[2]        3e-09     0",
    ]  # fmt: skip


def test_a_long_array_shows_its_ends_and_its_largest_derivative():
    gradient = np.arange(100.0)
    gradient[40] = -500.0
    lines = [line.split() for line in table([group("w", np.ones(100), gradient)])]
    assert lines[1] == ["w", *["100", "numbers,", "derivatives", "from", "-500", "to", "99"]]
    assert [words[0] for words in lines[2:]] == ["w[0]", "w[1]", "w[2]", "...", "w[40]", "...", "w[99]"]
    assert [words[1:] for words in lines if words[0] == "..."] == [["37", "more"], ["58", "more"]]


def test_leaves_of_trees_have_names(run):
    status, out, _ = run("layers", source=SOURCE)
    assert status == 0
    assert re.search(r"^  p\['w'\] +4 x 5 numbers, derivatives from 0 to 38$", out, re.MULTILINE)
    assert re.search(r"^    p\['w'\]\[3, 4\] +19 +38$", out, re.MULTILINE)
    assert re.search(r"^  p\['b'\]\[1\] +-1\.25e-07 +-2\.5e-07$", out, re.MULTILINE)
    assert re.search(r"^  p\['s'\] +3 +1$", out, re.MULTILINE)


# ---- colours ---------------------------------------------------------------------------------------------------------
class Terminal:
    def isatty(self):
        return True


def test_colours_are_for_terminals(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert has_colours(Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colours(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colours(Terminal())


def test_a_disagreement_is_red_on_a_terminal(run, monkeypatch):
    monkeypatch.setattr("contad.command.interface.has_colours", lambda: True)
    wrong = "import contad\ndef f(x=1.5): return x * contad.value_of(x)\n"
    assert "\x1b[1;31mDISAGREE: " in run("f", source=wrong)[1] and "\x1b[1;31m" not in run("plain", source=SOURCE)[1]
    assert "\x1b" not in run("plain", "--json", source=SOURCE)[1]


# ---- --source --------------------------------------------------------------------------------------------------------
def test_the_source_is_a_program_that_runs(run, tmp_path):
    status, out, err = run("density", "--source", source=SOURCE)
    assert (status, err) == (0, "")
    found = {}
    exec(out, found)
    value, (mu, sd) = found["run"](np.array([1.0, 2.0]), 0.5, 2.0)
    assert value == pytest.approx((0.25 + 2.25) / 4.0) and mu == pytest.approx(-2.0 * (0.5 + 1.5) / 4.0)
    assert sd == pytest.approx(-2.0 * 2.5 / 8.0) and out.startswith('"""The value and gradient of density;')


def test_wrt_and_at_choose_what_the_source_is_of(run):
    out = run("density", "--source", "--wrt", "sd", source=SOURCE)[1]
    assert "return s, (sd_bar,)" in out and "mu_bar" not in out


def test_a_derivative_on_the_tape_has_no_source(run):
    status, out, err = run("appends", "--source", source=SOURCE)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "model.py:appends: --source: nothing is generated for appends, whose gradient runs on the tape: " in err


def test_prints_of_a_file_are_not_in_the_source(run):
    status, out, err = run("density", "--source", source="print('hello')\n" + SOURCE)
    assert (status, err) == (0, "hello\n") and out.startswith('"""')


def test_without_pygments_the_source_is_plain(run, monkeypatch):
    plain = run("density", "--source", source=SOURCE)[1]
    monkeypatch.setattr("contad.command.interface.has_colours", lambda: True)
    monkeypatch.setitem(sys.modules, "pygments", None)
    assert run("density", "--source", source=SOURCE)[1] == plain


@pytest.mark.screen
def test_on_a_terminal_the_source_has_colours(run, monkeypatch):
    plain = run("density", "--source", source=SOURCE)[1]
    monkeypatch.setattr("contad.command.interface.has_colours", lambda: True)
    coloured = run("density", "--source", source=SOURCE)[1]
    assert coloured.count("\x1b[") > 20 and re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_a_pipe_gets_no_colours(tmp_path):
    (tmp_path / "model.py").write_text("def f(x=1.5): return x * x\n")
    command = [sys.executable, "-m", "contad", str(tmp_path / "model.py:f")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "\x1b" not in done.stdout
