"""The comparison with other tools: programs are well formed and right, wrong versions are noticed, tables are complete.

No time is tested.
"""

import copy
import json
import sys
import time

import numpy as np
import pytest

import contad
from benchmarks import __main__ as command
from benchmarks.comparison import measure, run, tools
from benchmarks.comparison.compilation import COMPILED, GENERATED, both_compile, measure_compilation
from benchmarks.comparison.figures import find_best, find_first, find_ratios, find_seconds, list_wrong, rank_ways
from benchmarks.comparison.measure import AGAIN, BY_HAND, PRIMAL, Disagreement, Effort, check
from benchmarks.comparison.memory import account, measure_memory
from benchmarks.comparison.program import NOTHING, Program
from benchmarks.comparison.programs import find_programs
from benchmarks.comparison.report import report
from benchmarks.timing import take_turns
from contad.compile.dispatchers import is_dispatcher
from contad.functions.python_copy import python_twin
from tests.judges.samples import sampled

PROGRAMS = find_programs()
EFFORT = Effort(2, 0.0, 1.0)
SQUARES = "squares"


# ---- the programs ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_well_formed(name):
    program = PROGRAMS[name]
    assert program.name == name
    assert "\n" not in program.about
    assert list(program.sizes) in (list(command.SIZES), list(command.SIZES[1:]))
    assert len({json.dumps(size) for size in program.sizes.values()}) == len(program.sizes)
    assert {peer.partition(" ")[0] for peer in program.peers} <= set(tools.TOOLS)
    assert set(program.idioms) == set(program.peers), "the advice that each version follows"
    assert all(program.idioms.values())
    again = [measure.arguments(program, "small") for _ in range(2)]
    assert all(np.array_equal(a, b) for a, b in zip(*again, strict=True)), "every version gets the same inputs"


def in_python(f):
    return python_twin(f) if is_dispatcher(f) else f


@pytest.mark.parametrize("name", sampled(PROGRAMS, 4))
def test_the_gradient_by_hand_is_that_of_the_default_engine(name):
    """Both as Python, so that no program is compiled."""
    program = PROGRAMS[name]
    args = measure.arguments(program, "small")
    f, expected = in_python(program.primal), in_python(program.by_hand)(*args)
    if np.ndim(expected[0]) == 0:
        found = contad.value_and_grad(f, program.argnums, engine="matrix")(*args)
    else:
        jacobians = contad.jacobian(f, program.argnums, engine="matrix")(*args)
        found = f(*args), [own_row(j, np.ndim(expected[0])) for j in jacobians]
    check(program, found, expected)


def own_row(jacobian, axis):
    """The blocks on the diagonal: a row of the results depends on its own row of an argument, by hand only that."""
    blocks = np.moveaxis(np.diagonal(jacobian, axis1=0, axis2=axis), -1, 0)
    assert np.count_nonzero(blocks) == np.count_nonzero(jacobian)
    return blocks


# ---- what goes wrong -------------------------------------------------------------------------------------------------
def gradient(x, scale):
    return scale * np.sum(x * x), (2.0 * scale * x,)


def overwriting(x, scale):
    result = gradient(x, scale)
    x[0] = 0.0
    return result


def refusing(x, scale):
    raise NotImplementedError("no loops | in\nthis tool")


WRONG = {  # of the right value and gradient
    "a wrong entry": (lambda v, g: (v, (g + 1e-9 * (g > 2.5),)), "gradient of argument 0: differs by 1e-09"),
    "a wrong value": (lambda v, g: (v + 1e-6, (g,)), "value: differs by 1e-06"),
    "single precision": (lambda v, g: (v, (np.float32(g),)), "gradient of argument 0: differs"),
    "another shape": (lambda v, g: (v, (g[1:],)), r"shape \(4,\), by hand \(5,\)"),
    "two gradients": (lambda v, g: (v, (g, 1.0)), "2 gradients for 1 arguments"),
    "not a number": (lambda v, g: (v, (np.nan * g,)), "differs by nan"),
}


def planted(change):
    """The gradient with a fault."""

    def version(x, scale):
        value, (right,) = gradient(x, scale)
        return change(value, right)

    return version


def squares(by_hand=gradient, primal=lambda x, scale: scale * np.sum(x * x), **others):
    """A program whose versions are functions of its arguments."""
    versions = {name: lambda *args, f=f: lambda: f(*args) for name, f in others.items()}
    return Program(
        name=SQUARES, about="scale times the sum of x_i^2",
        sizes={"small": {"n": 5}, "medium": {"n": 50}, "large": {"n": 500}},
        inputs=lambda n: (np.linspace(0.2, 0.9, n), 1.5), argnums=(0,), primal=primal, by_hand=by_hand,
        contad={"matrix": lambda *args: lambda: contad.value_and_grad(lambda x: 1.5 * np.sum(x * x), (0,))(args[0])},
        peers=versions, idioms=dict.fromkeys(versions, "as it comes: https://tool.org"), remarks="It is a toy.",
    )  # fmt: skip


@pytest.fixture
def installed(monkeypatch):
    """The tools that need no set-up are taken to be installed."""
    monkeypatch.setattr(tools, "find_spec", lambda name: name in ("autograd", "casadi", "xad") or None)
    monkeypatch.setattr(tools, "version", lambda name: "1.2.3")
    for name in ("autograd", "casadi", "xad"):
        monkeypatch.setitem(sys.modules, name, sys)
    monkeypatch.setattr(run, "compile_once", lambda: None)


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=list(WRONG))
def test_wrong_numbers_are_noticed(change, message):
    program = squares()
    args = measure.arguments(program, "small")
    check(program, gradient(*args), gradient(*args))
    with pytest.raises(Disagreement, match=message):
        check(program, planted(change)(*args), gradient(*args))


def test_a_gradient_by_hand_that_is_zero_shows_nothing():
    program = squares()
    zero = (0.5, (np.zeros(5),))
    with pytest.raises(Disagreement, match="largest entry by hand 0"):
        check(program, zero, zero)


def test_columns_are_vectors():
    program = squares()
    value, (wanted,) = gradient(*measure.arguments(program, "small"))
    check(program, (np.array([[value]]), [wanted[:, None]]), (value, (wanted,)))


def test_wrong_and_refused_versions_are_shown_and_not_timed(installed):
    program = squares(autograd=planted(WRONG["a wrong entry"][0]), casadi=overwriting, xad=refusing)
    found = measure.measure(program, "small", tuple(tools.TOOLS), EFFORT)["versions"]
    assert "differs" in found["autograd"]["wrong"]
    assert found["casadi"] == {"wrong": "argument 0 has been written to"}
    assert found["xad"] == {"raised": "NotImplementedError: no loops / in"}
    timed = {name for name, version in found.items() if "seconds" in version}
    assert timed == {PRIMAL, AGAIN, BY_HAND, "contad matrix"}


def test_a_value_by_hand_that_is_not_the_primal_is_wrong():
    found = measure.measure(squares(primal=lambda x, scale: np.sum(x * x)), "small", (), EFFORT)["versions"]
    assert "value: differs" in found[BY_HAND]["wrong"]


def test_without_a_gradient_by_hand_there_is_nothing_to_compare_with():
    with pytest.raises(NotImplementedError):
        measure.measure(squares(by_hand=refusing), "small", (), EFFORT)


# ---- times and memory ------------------------------------------------------------------------------------------------
def test_runs_take_turns_and_slow_ones_leave_early():
    turns = []
    runs = {name: lambda name=name: turns.append(name) for name in "ab"}
    found = take_turns(runs, 5, 0.0)
    assert turns == list("aabb") + list("ab") * 5  # called, then timed once, then in turns
    assert {timing.repeats for timing in found.values()} == {5}
    assert {timing.repeats for timing in take_turns(runs, 5, 0.0, budget=0.0).values()} == {2}
    turns.clear()
    take_turns(runs, 2, 0.0, warm=True)
    assert turns == list("aabb") + list("aabb") * 2


def test_a_disturbed_call_is_not_the_measure_of_others():
    pauses = [0.05]

    def run():
        if called and pauses:
            time.sleep(pauses.pop())
        called.append(True)

    called = []

    (timing,) = take_turns({"a": run}, 5, 1e-3).values()
    assert timing.calls > 1
    assert timing.seconds < 1e-3


def test_memory_is_what_a_call_takes_and_what_preparation_keeps():
    megabytes = 40
    kept = []

    def version(*args):
        kept.append(np.ones(megabytes * 125_000 if len(args[0]) > 5 else 1))
        return lambda: np.ones(megabytes * 125_000 if len(args[0]) > 5 else 1)

    grown = account(squares()._replace(contad={"greedy": version}), "contad greedy", "medium")["memory"]
    assert 1.9 * megabytes < grown / 1e6 < 2.5 * megabytes


@pytest.mark.long
def test_memory_is_taken_in_a_process_of_its_own():
    name = next(iter(PROGRAMS))
    assert measure_memory(name, PRIMAL, "small")["memory"] >= 0
    assert measure_memory(name, "contad by guessing", "small") is None


# ---- the command -----------------------------------------------------------------------------------------------------
MEASURED = []


@pytest.fixture
def figures(installed, monkeypatch):
    """Of a whole run, which is made once."""
    if not MEASURED:
        MEASURED.append(measure_squares(monkeypatch))
    return copy.deepcopy(MEASURED[0])


def measure_squares(monkeypatch):
    monkeypatch.setattr(run, "FULL", EFFORT)
    monkeypatch.setattr(run, "measure_memory", lambda *asked: {"memory": 2_000_000})
    program = squares(autograd=gradient, casadi=planted(WRONG["a wrong value"][0]), xad=refusing)
    monkeypatch.setattr(run, "measure_apart", lambda name, *asked: {"sizes": run.measure_sizes(program, *asked)})
    return run.run({SQUARES: program}, tuple(tools.TOOLS), quick=False)


def test_figures_of_a_program_without_peers_are_written(installed):
    figures = run.run({SQUARES: squares()._replace(idioms=NOTHING)}, (), quick=True)
    assert json.loads(json.dumps(figures))["programs"][0]["idioms"] == {}


def test_the_report_shows_every_figure(figures):
    figures = json.loads(json.dumps(figures))
    text = report(figures)
    for measured in figures["programs"][0]["sizes"].values():
        assert f"n={measured['arguments']['n']}" in text
        for name in (PRIMAL, BY_HAND):
            assert f"{1e6 * find_seconds(measured, name):.3g}" in text
        for ratio in find_ratios(measured, ["autograd"]).values():
            assert f"{ratio:.3g}" in text
        assert f"{measured['noise']:.1%}" in text
    assert "autograd 1.2.3" in text
    assert "casadi: value: differs" in text
    assert "squares, xad: NotImplementedError: no loops / in (small, medium, large)" in text
    assert " 2.0 |" in text  # MB
    assert "https://tool.org" in text


@pytest.mark.long
def test_a_program_is_measured_in_a_process_of_its_own():
    name = "recurrence"  # which the fewest engines run
    found = run.measure_apart(name, ["small"], (), EFFORT)["sizes"]["small"]
    assert found["arguments"] == PROGRAMS[name].sizes["small"]
    assert {PRIMAL, AGAIN, BY_HAND, "contad generated"} <= set(found["versions"])


def test_a_process_that_fails_is_told():
    broken = run.measure_apart("nothing", ["small"], (), EFFORT)
    assert broken["sizes"] == {}
    assert "its process ended with 1" in broken["ended"] and "KeyError: 'nothing'" in broken["ended"]


def test_a_program_that_did_not_end_is_told(figures):
    figures["programs"].append(
        figures["programs"][0] | {"name": "other", "sizes": {}, "ended": "its process ended with -11"}
    )
    assert "other: its process ended with -11" in report(figures)
    assert "other: its process ended with -11" in list_wrong(figures)


def test_places_and_losses(figures):
    measured = figures["programs"][0]["sizes"]["large"]
    measured["versions"]["contad matrix"]["seconds"] = 2e-3
    measured["versions"]["autograd"]["seconds"] = 1e-3
    assert find_first(measured, ["autograd", "xad"]) == "autograd"
    assert "n=500 2 times autograd. It is a toy." in report(figures)
    measured["versions"]["contad other"] = {"seconds": 5e-4, "prepare": 1.0}
    assert list(rank_ways(measured)) == ["other", "matrix"]
    assert find_best(measured) == 5e-4
    assert find_first(measured, ["autograd", "xad"]) == "contad"


def test_the_ratio_of_compilations_is_there_where_both_are_compiled(figures):
    program = figures["programs"][0]
    assert not any(both_compile(measured["versions"]) for measured in program["sizes"].values())  # NumPy's by hand
    program["compilation"] = {BY_HAND: 0.5, GENERATED: 1.875}
    assert " 3.75 |" in report(figures)


@pytest.mark.long
def test_only_derivatives_are_compiled_where_compilation_is_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    first = measure_compilation("total")
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.py")}
    again = measure_compilation("total")
    assert first.keys() == again.keys() == {BY_HAND, GENERATED}
    assert min(again.values()) > COMPILED
    written = {name for name, stamp in kept.items() if (tmp_path / name).stat().st_mtime_ns != stamp}
    assert written and all(name.startswith(("generated_", "derivative_")) for name in written)


def test_more_than_one_thread_is_told(figures):
    figures["programs"][0]["sizes"]["small"]["versions"][PRIMAL]["busy"] = 1.9
    assert "squares, small: primal used 1.90 processors" in report(figures)


def test_tools_that_are_not_installed_are_skipped_and_named(installed):
    assert tools.find_installed() == ["autograd", "casadi", "xad"]
    (line,) = tools.list_skipped(["xad", "jax"])
    assert line == "jax is not installed and is skipped; `pip install -e '.[bench]'` installs it"
    assert line in report(run.run({}, ["jax"], quick=True))


def test_the_command_writes_what_it_is_asked_for_and_fails_on_wrong_numbers(installed, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("benchmarks.comparison.programs.find_programs", lambda: {SQUARES: squares(autograd=gradient)})
    file = tmp_path / "figures.json"
    assert command.main(["--quick", "--sizes", "medium", "--tools", "autograd", "--json", str(file)]) == 0
    printed = capsys.readouterr()
    assert "1/1 squares" in printed.err
    assert "n=50 " in printed.out and "n=500" not in printed.out
    figures = json.loads(file.read_text())
    figures["programs"][0]["sizes"]["medium"]["versions"]["autograd"] = {"wrong": "differs"}
    assert list_wrong(figures) == ["squares, medium: autograd: differs"]
    file.write_text(json.dumps(figures))
    assert command.main(["--read", str(file)]) == 1
    assert "squares, medium: autograd: differs" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--programs", "--tools", "--sizes"])
def test_unknown_names_are_errors_that_tell_the_known_ones(option):
    with pytest.raises(SystemExit, match=r"no \w+ is called nothing; there are "):
        command.main([option, "nothing"])


def test_every_tool_has_a_colour_and_a_marker():
    from benchmarks.comparison.plots import COLOURS, MARKERS

    tools = {way.partition(",")[0] for program in PROGRAMS.values() for way in program.peers}
    assert tools <= COLOURS.keys() == MARKERS.keys()


def test_pictures_are_drawn(figures, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need the extra `bench`")
    from benchmarks.comparison.plots import plot

    written = plot(figures, tmp_path)
    assert [path.name for path in written] == ["ratio.png", "cost.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


# ---- the second reference, and rows that are measured anew -----------------------------------------------------------
# the filter by hand takes seven seconds to compile, which a run of the benchmarks does as well
IN_NUMPY = [pytest.param(n, marks=[pytest.mark.long] * (n == "kalman")) for n, p in PROGRAMS.items() if p.in_numpy]


@pytest.mark.parametrize("name", IN_NUMPY)
def test_by_hand_in_numpy_is_by_hand(name):
    program = PROGRAMS[name]
    args = measure.arguments(program, next(iter(program.sizes)))
    check(program, program.in_numpy(*args), program.by_hand(*args))


@pytest.mark.parametrize("name", [name for name, p in PROGRAMS.items() if p.with_kernels])
@pytest.mark.parametrize("size", ["small", "medium"])
def test_by_hand_with_kernels_is_by_hand(name, size):
    program = PROGRAMS[name]
    args = measure.arguments(program, size)
    check(program, program.with_kernels(*args), program.by_hand(*args))


def test_rows_that_are_measured_anew_stand_among_the_others():
    seconds = {PRIMAL: 2.0, BY_HAND: 2.0, measure.IN_NUMPY: 4.0, measure.WITH_KERNELS: 1.0, "contad matrix": 5.0}
    seconds["contad generated"] = 1.125
    versions = {version: {"seconds": t, "prepare": 1.0} for version, t in seconds.items()}
    sizes = {"small": {"arguments": {"n": 1}, "count": 1, "noise": 0.0, "versions": versions}}
    about = {"date": "then", "command": "all", "machine": {"load": 1}, "skipped": [], "settings": {}, "topics": [1]}
    about |= {"quick": False, "effort": EFFORT._asdict()}
    entry = {"about": "", "remarks": "", "idioms": {}, "sizes": sizes}
    earlier = about | {"programs": [{"name": "one"} | entry, {"name": "two"} | entry]}
    later = about | {"date": "now", "command": "some", "machine": {"load": 2}, "programs": [{"name": "one"} | entry]}
    found = command.put_into(earlier, later | {"topics": []})
    assert [program["name"] for program in found["programs"]] == ["one", "two"]
    assert found["programs"][0]["run"]["date"] == "now"
    assert "run" not in found["programs"][1]
    assert found["topics"] == [1]
    text = report(found)
    assert "Rows of one: now, `some`: load 2" in text
    assert "1.25" in text.partition("by hand in NumPy\n")[2].partition("## ")[0]
    assert "1.12" in text.partition("by hand with kernels\n")[2].partition("## ")[0]
    assert command.put_into(None, later) is later
