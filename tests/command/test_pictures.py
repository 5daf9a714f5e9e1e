"""`--plot`: profiles with tangents, sparsity patterns, as characters and, with the extra screen, as files."""

import json
import re

import numpy as np
import pytest

from contad.command import main
from contad.command.coordinate_profiles import Curve, Profile, write_curve
from contad.command.pictures import picture_request

SOURCE = """
import contad
import numpy as np
from numba import njit

def parabola(x=3.0, y=2.0):
    return x**2 + y

def logarithm(x=0.5):
    return contad.ops.log(x) if x > 0.3 else 1 / 0

def chain(x=np.arange(6.0)):
    return np.sum((x[1:] - x[:-1]) ** 4)

def saddle(p={"a": 0.0, "b": 0.0}, *, c=1.0):
    return p["a"] * p["b"] * c

def pair(x=np.array([1.0, 2.0, 3.0]), s=2.0):
    return {"first": x[:2] * s, "last": x[2] ** 2}

def several(n=2, x=1.0):
    return np.array([x, x])

def many(x=np.ones(80)):
    return np.sum(x**2)

@njit
def compiled(x=1.5, y=2.0):
    return np.array([x * x, y, x])

def huge(x=np.ones(30_000)):
    return np.sum(x)

@contad.custom_vjp
def square(x):
    return x * x

square.defvjp(lambda x: (x * x, x), lambda x, z_bar: (2.0 * x * z_bar,))

def on_its_own(x=1.5):
    return square(x) + x
"""


@pytest.fixture
def drawn(run):
    """The report and the picture as text."""

    def draw(target, *words):
        status, out, err = run(target, "--plot", *words, "text", source=SOURCE)
        assert (status, err) == (0, "")
        return out

    return draw


def rows_of(out):
    """The rows of a pattern as text, by name."""
    return dict(re.findall(r"^  (\S+(?: \S+)?) +([x.]+)$", out, re.MULTILINE))


# ---- profiles --------------------------------------------------------------------------------------------------------
def test_a_tangent_touches_the_curve_at_the_point(drawn):
    out = drawn("parabola")
    assert "plot          function and tangent along 2 coordinates\n\n* function, . tangent, O point\n" in out
    x, y = out.partition("O point\n\n")[2].split("\n\n")
    assert x.startswith("  x, slope 6\n")
    grid = [line.partition("|")[2].ljust(61) for line in x.splitlines() if "|" in line]
    assert sum(row.count("O") for row in grid) == 1 and [row[30] for row in grid].count("O") == 1
    lowest = {mark: max(k for k, row in enumerate(grid) if mark in row) for mark in "*."}
    assert lowest["."] >= lowest["*"]  # a parabola lies above its tangent
    assert re.search(r"^ *1\.5 +3 +4\.5$", x, re.MULTILINE)
    assert "." not in "".join(
        line.partition("|")[2] for line in y.splitlines() if "|" in line
    )  # the line is its tangent


def test_a_wrong_derivative_is_seen():
    numbers = np.linspace(0.0, 2.0, 21)
    right = write_curve(Curve("x", numbers, numbers**2, 1.0, 1.0, 2.0))
    wrong = write_curve(Curve("x", numbers, numbers**2, 1.0, 1.0, -2.0))
    touching = [text.splitlines()[6].count(".") for text in (right, wrong)]
    assert right != wrong and touching[0] != touching[1]


def test_outside_its_domain_a_curve_has_a_gap(drawn):
    out = drawn("logarithm")
    grid = [line.partition("|")[2].ljust(61) for line in out.splitlines() if "|" in line]
    columns = ["".join(column) for column in zip(*grid, strict=True)]
    assert not any("*" in column for column in columns[:5])
    assert all("*" in column or "O" in column for column in columns[8:])


def test_the_largest_derivatives_are_drawn(drawn):
    assert "along the 12 of 80 coordinates with the largest derivatives" in drawn("many")
    curves = [Curve(f"x{k}", np.linspace(-1, 1, 9), k * np.linspace(-1, 1, 9), 0.0, 0.0, float(k)) for k in range(9)]
    text = Profile(curves, 20).write()
    assert "the 6 of 20 coordinates with the largest derivatives" in text
    assert re.findall(r"^  (x\d), slope", text, re.MULTILINE) == [f"x{k}" for k in range(3, 9)]


def test_a_constant_function_and_a_point_at_zero_can_be_drawn(run):
    source = "def f(x=0.0): return 5.0 + 0.0 * x\n"
    status, out, err = run("f", "--plot", "text", source=source)
    assert (status, err) == (0, "") and re.search(r"^ *-1 +0 +1$", out, re.MULTILINE)


# ---- sparsity --------------------------------------------------------------------------------------------------------
def test_a_chain_has_a_band(drawn):
    out = drawn("chain", "sparsity")
    assert "plot          Hessian 6 x 6: 16 of 36 entries may be other than zero (44.4%)" in out
    assert list(rows_of(out).values()) == ["xx....", "xxx...", ".xxx..", "..xxx.", "...xxx", "....xx"]
    assert "gradient" in out  # below the report


def test_zero_at_the_point_is_not_zero(drawn):
    assert rows_of(drawn("saddle", "sparsity")) == {"p['a']": ".xx", "p['b']": "x.x", "c": "xx."}


def test_a_function_of_several_results_has_a_jacobian(drawn):
    out = drawn("pair", "sparsity")
    assert out.splitlines()[2] == "plot          Jacobian 3 x 4: 5 of 12 entries may be other than zero (41.7%)"
    assert rows_of(out) == {"result['first'][0]": "x..x", "result['first'][1]": ".x.x", "result['last']": "..x."}
    assert rows_of(drawn("compiled", "sparsity")) == {"result[0]": "x.", "result[1]": ".x", "result[2]": "x."}


def test_a_large_pattern_is_drawn_by_blocks(drawn):
    out = drawn("many", "sparsity")
    assert "one character is a block of 2 x 2" in out
    grid = re.findall(r"^ +x? *([x.]{40})$", out, re.MULTILINE)
    assert grid == ["." * k + "x" + "." * (39 - k) for k in range(40)]


def test_a_very_large_pattern_is_never_made_whole(drawn, monkeypatch):
    monkeypatch.setattr("contad.command.examination.DIFFERENCES_SECONDS", 0.01)
    out = drawn("huge", "sparsity")
    assert "Hessian 30000 x 30000: 0 of 900000000 entries may be other than zero (0.0%)" in out
    assert "one character is a block of 469 x 469" in out


def test_functions_without_a_pattern_are_refused_by_line(run):
    status, out, err = run("on_its_own", "--plot", "sparsity", source=SOURCE)
    assert (status, out, err.count("\n")) == (2, "", 1) and "model.py:on_its_own: " in err and "custom_vjp" in err


# ---- where it goes ---------------------------------------------------------------------------------------------------
def test_without_matplotlib_a_picture_is_text(run, monkeypatch):
    monkeypatch.setattr("contad.command.pictures.has_matplotlib", lambda: False)
    status, out, err = run("parabola", "--plot", source=SOURCE)
    assert (status, err) == (0, "contad: drawn as text, since Matplotlib is missing: pip install contad[screen]\n")
    assert "* function, . tangent, O point" in out
    status, out, err = run("parabola", "--plot", "a.png", source=SOURCE)
    assert (status, out) == (2, "")
    assert err == "contad: --plot a.png: needs Matplotlib, pip install contad[screen]; --plot text does not\n"


def test_a_function_after_plot_is_no_picture(run, tmp_path, monkeypatch, capsys):
    run("parabola", source=SOURCE)
    monkeypatch.chdir(tmp_path)
    assert main(["--plot", "text", "model.py:parabola"]) == 0
    assert "* function, . tangent, O point" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "kind", "where"), [
    ([], "profile", None), (["sparsity"], "sparsity", None), (["a/b.PDF"], "profile", "a/b.PDF"),
    (["window", "sparsity"], "sparsity", "window"),
])  # fmt: skip
def test_requests(words, kind, where):
    assert picture_request(words) == (kind, where)


@pytest.mark.screen
@pytest.mark.parametrize(("target", "kind"), [("parabola", "profile"), ("chain", "sparsity"), ("pair", "sparsity")])
def test_files_are_written(run, tmp_path, monkeypatch, target, kind):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(target, "--plot", kind, "--json", source=SOURCE)
    assert (status, err) == (0, "")
    name = json.loads(out)["plot"]
    assert name == f"model-{target}-{kind}.png" and (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    for suffix, start in (("svg", b"<?xml"), ("pdf", b"%PDF")):
        assert run(target, "--plot", kind, f"a.{suffix}", source=SOURCE)[0] == 0
        assert (tmp_path / f"a.{suffix}").read_bytes().startswith(start)
    status, out, err = run(target, "--plot", kind, "nowhere/a.png", source=SOURCE)
    assert (status, out, err) == (2, "", "contad: --plot: nowhere/a.png: No such file or directory\n")


@pytest.mark.screen
def test_a_figure_shows_curve_tangent_and_point():
    from matplotlib.figure import Figure

    numbers = np.linspace(0.0, 2.0, 21)
    figure = Figure()
    Profile([Curve("rate", numbers, numbers**2, 1.0, 1.0, 2.0)], 1).draw(figure, "model.py:f")
    (axes,) = figure.axes
    curve, tangent, point = (line.get_xydata() for line in axes.lines)
    np.testing.assert_array_equal(curve, np.column_stack([numbers, numbers**2]))
    np.testing.assert_allclose(tangent, np.column_stack([numbers, 2.0 * numbers - 1.0]))
    assert point.tolist() == [[1.0, 1.0]] and axes.get_xlabel() == "rate   (slope 2)"
    assert figure.get_suptitle() == "model.py:f along 1 coordinate"


@pytest.mark.screen
def test_a_window_needs_a_display(run, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    status, _, err = run("parabola", "--plot", "window", source=SOURCE)
    assert (status, err.count("\n")) == (2, 1)
    assert "--plot window: there is no display to open a window on" in err


@pytest.mark.screen
def test_every_example_of_help_runs(help_commands, capsys):
    for command in help_commands:
        assert main(command.split()[3:]) == 0, capsys.readouterr().err
