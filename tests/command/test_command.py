"""`python -m contad`: what it prints, its exit status, and that every error is one line that names its cause."""

import json
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import contad
from contad.command import main
from contad.command.examination import duration_of_call
from contad.example import logistic_regression

ROOT = Path(__file__).parents[2]

def as_json(result):
    status, out, err = result
    assert (status, err) == (0, "")
    return json.loads(out)


# ---- values, gradients, options --------------------------------------------------------------------------------------
def test_report_names_everything(run):
    status, out, err = run("log_likelihood")
    assert (status, err) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines()[1:] if " " in line.strip())
    assert float(lines["value"]) == pytest.approx(3 * math.log(0.5) - 3.5)
    assert lines["argument"].split() == ["point", "gradient"]
    assert [float(x) for x in lines["rate"].split()] == [0.5, pytest.approx(3 / 0.5 - 7.0)]
    assert lines["constant"] == "times (list of 3)" and lines["engine"] == contad.engine_name(len)
    assert "largest relative disagreement" in lines["differences"]
    for word in ("function", "gradient", "ratio", "first gradient"):
        assert word in lines["time"]


def test_at_moves_the_point(run):
    found = as_json(run("log_likelihood", "--at", "rate=0.25", "--at", "times=[3, 4]", "--wrt", "rate", "--json"))
    assert found["value"] == pytest.approx(2 * math.log(0.25) - 1.75)
    assert found["gradient"] == {"rate": pytest.approx(2 / 0.25 - 7.0)}
    assert found["point"] == {"rate": 0.25}


MOVED = """
import numpy as np

def of_array(drift=np.array([1, 2]), n=3):
    return np.sum(drift * drift) * n

def of_tree(p={"a": 2.0, "b": (1.5, np.array([[4.0, 5.0]]))}):
    return p["a"] * p["b"][0] + np.sum(p["b"][1] ** 2)

def of_data(x):
    return np.sum(x * x)

x = np.array([1.0, 2.0])
"""


def test_at_moves_one_number_by_the_name_of_the_report(run):
    found = as_json(run("of_array", "--at", "drift[1]=0.5", "--wrt", "drift", "--json", source=MOVED))
    assert found["gradient"] == {"drift": [6.0, 3.0]} and found["point"] == {"drift": [1.0, 0.5]}
    moves = ("--at", "p['b'][1][0,1] = -1", "--at", 'p["a"]=3', "--at", "p['b'][0]=.5")
    found = as_json(run("of_tree", *moves, "--json", source=MOVED))
    assert found["point"] == {"p": {"a": 3.0, "b": [0.5, [[4.0, -1.0]]]}}
    assert found["gradient"] == {"p": {"a": 0.5, "b": [3.0, [[8.0, -2.0]]]}}
    found = as_json(run("of_data", "--at", "x[0]=7", "--at", "x=[3, 4]", "--json", source=MOVED))
    assert found["point"] == {"x": [7.0, 4.0]}  # whatever the order, one number is of the whole that is given


@pytest.mark.parametrize(("target", "at", "message"), [
    ("of_array", "drift[2]=1", "model.py:of_array: --at: no number drift[2]; there are drift[0], drift[1]"),
    ("of_tree", "p[0]=1", "model.py:of_tree: --at: no number p[0]; there are p['a'], ..., p['b'][1][0, 1]"),
    ("of_array", "speed[0]=1", "model.py:of_array: --at: no parameter 'speed'; there are drift, n"),
    ("of_array", "drift[0]=[1]", "--at drift[0]=[1]: expected one number for drift[0], got '[1]'"),
    ("of_array", "drift[0=1", "--at drift[0=1: expected NAME=VALUE, or for one number of it 'NAME[0]=VALUE'"),
    ("of_array", "drift[0]=1" + 20 * "0", "model.py:of_array: --at: expected a number of 64 bits for drift[0]"),
])  # fmt: skip
def test_a_number_to_move_that_is_not_there_is_one_line(run, target, at, message):
    status, out, err = run(target, "--at", at, source=MOVED)
    assert (status, out) == (2, "") and err.startswith(f"contad: {message}") and err.count("\n") == 1


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
def test_engine(run, engine):
    found = as_json(run("log_likelihood", "--engine", engine, "--json", "--check"))
    assert found["engine"] == engine and found["gradient"] == {"rate": pytest.approx(-1.0)}


def test_containers_are_differentiated_number_by_number(run):
    found = as_json(run("containers", "--json"))
    assert found["gradient"] == {"p": {"a": 1.5, "b": [2.0, [24.0]]}, "n": 16.0}
    assert found["differences"]["components"] == found["differences"]["checked"] == 4
    status, out, _ = run("containers")
    assert status == 0
    for name in ("p['a']", "p['b'][0]", "p['b'][1][0]", "n"):
        assert f"\n  {name} " in out


def test_arrays_and_parameters_passed_by_name(run):
    assert as_json(run("quadratic", "--json"))["gradient"] == {"scale": 30.0}
    found = as_json(run("quadratic", "--json", "--wrt", "scale,table", "--at", "table=[[1, 1], [2, 0]]"))
    assert found["gradient"] == {"scale": 6.0, "table": [[4.0, 4.0], [8.0, 0.0]]}
    assert found["constants"] == ["start"]


def test_gradients_belong_to_their_names_in_any_order(run):
    found = as_json(run("loop", "--wrt", "x", "--json"))
    assert found["gradient"] == {"x": 8 * 2.0**7}
    for order in ("start,times", "times,start"):
        source = "times = [1.0, 2.0]\ndef f(times, start=3.0): return times[0] * times[1] ** 2 * start\n"
        assert as_json(run("f", "--wrt", order, "--json", source=source))["gradient"] == {
            "times": [12.0, 12.0],
            "start": 4.0,
        }


def test_wrt_accumulates(run):
    expected = as_json(run("quadratic", "--wrt", "scale,start,table", "--json"))["gradient"]
    assert as_json(run("quadratic", "--wrt", "scale", "--wrt", "start, table", "--json"))["gradient"] == expected
    assert list(expected) == ["scale", "start", "table"]


def test_floats_of_the_file_are_the_point_if_nothing_else_is(run):
    assert as_json(run("cubic", "--json"))["gradient"] == {"start": 27.0}
    assert as_json(run("squares", "--json"))["gradient"] == {"table": [[2.0, 4.0], [6.0, 8.0]]}


def test_agreement_at_a_zero_gradient(run):
    found = as_json(run("shifted", "--json", "--check"))
    assert found["gradient"] == {"x": 0.0}


@pytest.mark.parametrize("frequency", [1e2, 1e3, 1e4, 3e4, 1e5, 1e6])
def test_agreement_where_a_function_varies_fast(run, frequency):
    source = f"import numpy as np\ndef f(x=1.0): return 1e3 + np.sin({frequency} * x)\n"
    found = as_json(run("f", "--json", "--check", source=source))
    assert found["gradient"] == {"x": pytest.approx(frequency * math.cos(frequency))}


def test_agreement_of_a_small_component_beside_a_large_value(run):
    source = "import contad\ndef f(x=1.5, y=0.5): return 1e6 * x + (x + {} * contad.stop_gradient(y)) * y\n"
    assert run("f", "--check", source=source.format(0.0))[0] == 0
    status, out, _ = run("f", "--check", source=source.format(1e-4))
    assert status == 1 and "at y" in out


def test_many_components_are_cut_in_text_only(run):
    source = "def f(x=tuple(float(k) for k in range(100))): return sum(v * v for v in x)\n"
    assert "... and 76 more" in run("f", source=source)[1]
    assert as_json(run("f", "--json", source=source))["gradient"]["x"] == [2.0 * k for k in range(100)]


def test_json_is_alone_on_standard_output(run):
    status, out, err = run("talkative", "--json")
    assert status == 0 and json.loads(out)["gradient"] == {"x": 2.0} and err == "hello\n"


def test_json_is_of_plain_numbers_whatever_numpy_gives(run):
    source = """
import numpy as np
def a(x=np.array([0.1, 0.3])): return np.sum(np.exp(x))
def single(x=np.array([1.5, 2.5])): return np.float32(4.0) * np.sum(x)
"""
    found = as_json(run("a", "--json", source=source))
    assert found["differences"]["agrees"] is True
    assert found["gradient"]["x"] == pytest.approx(np.exp([0.1, 0.3]).tolist())
    assert as_json(run("single", "--json", source=source))["gradient"] == {"x": [4.0, 4.0]}


def test_an_edited_file_is_read_again(run):
    assert as_json(run("f", "--json", source="def f(x=2.0): return x * 3\n"))["gradient"] == {"x": 3.0}
    assert as_json(run("f", "--json", source="def f(x=2.0): return x * 4\n"))["gradient"] == {"x": 4.0}


def test_files_beside_it_can_be_imported(run, tmp_path):
    (tmp_path / "constants_beside.py").write_text("gravity = 9.81\n")
    source = "def f(t=2.0):\n    from constants_beside import gravity\n    return gravity * t\n"
    path = list(sys.path)
    assert as_json(run("f", "--json", source=source))["gradient"] == {"t": 9.81}
    assert sys.path == path and "model" not in sys.modules


def test_times_are_of_the_function_and_its_gradient(run, monkeypatch):
    monkeypatch.setattr("contad.command.examination.TIMING_SECONDS", 0.3)
    source = """
import time, contad
def slow(x=1.0):
    time.sleep(0.01 if not hasattr(x, "value") else 0.05)
    return x * x
"""
    found = as_json(run("slow", "--json", source=source))
    assert 0.01 <= found["seconds"]["function"] < 0.015 and 0.05 <= found["seconds"]["gradient"] < 0.075
    assert found["ratio"] == pytest.approx(found["seconds"]["gradient"] / found["seconds"]["function"])


def test_the_cheapest_of_many_calls_counts():
    calls = iter([0.03] + [0.002] * 100)
    assert 0.002 <= duration_of_call(lambda: time.sleep(next(calls))) < 0.02


# ---- check -----------------------------------------------------------------------------------------------------------
WRONG_RULE = """
import contad

@contad.scalar_rule
def quartic_of_test_command(x):
    return x**4

@quartic_of_test_command.partials
def quartic_partials(z, x):
    return {partial}

def f(y=0.5, x=1.5):
    return y * quartic_of_test_command(x) + y
"""


@pytest.mark.parametrize(("partial", "status"), [("4.0 * x * x * x", 0), ("4.0001 * x * x * x", 1), ("-z", 1)])
def test_check_finds_a_wrong_rule(run, partial, status):
    found, out, err = run("f", "--check", source=WRONG_RULE.format(partial=partial))
    assert (found, err) == (status, "") and ("DISAGREE" in out) == bool(status)
    assert not status or "at x; the tolerance is 1e-06" in out


def test_without_check_a_disagreement_is_only_printed(run):
    status, out, _ = run("f", source=WRONG_RULE.format(partial="3.0 * x * x * x"))
    assert status == 0
    assert "DISAGREE: largest relative disagreement 0.25, at x" in out


def test_tolerance(run):
    source = WRONG_RULE.format(partial="4.0001 * x * x * x")
    assert run("f", "--check", "--tolerance", "1e-3", source=source)[0] == 0
    assert run("f", "--check", "--tolerance", "1e-5", source=source)[0] == 1


def test_check_finds_a_lost_derivative_and_another_value(run):
    source = "import contad\ndef f(x=1.5): return x * contad.value_of(x)\n"
    assert run("f", "--check", source=source)[0] == 1
    source = "def f(x=1.5): return x * x + (0.0 if not hasattr(x, 'value') else 0.125)\n"
    status, out, _ = run("f", "--check", source=source)
    assert status == 1 and "at value" in out


def test_where_no_difference_exists_check_fails(run):
    source = "import contad\ndef f(x=0.0, y=1.0): return y + 2.0 * x if x == 0.0 else 1 / 0\n"
    status, out, _ = run("f", "--check", source=source)
    assert status == 1 and "no reliable difference can be taken at x" in out
    assert as_json(run("f", "--json", source=source))["differences"]["disagreement"] is None


# ---- errors ----------------------------------------------------------------------------------------------------------
ERRORS = """
import math, sys, random
import contad
import numpy as np

data = [1.0, float("nan"), 3.0]
table = np.array([[1.0, 2.0], [np.nan, 4.0]])
word = "hello"
empty = []
number = 3.0

def fine(x=1.0): return x * x
def no_parameters(): return 1.0
def no_value(x=1.0, *, missing): return x
def nan_in_data(data, x=1.0): return x * sum(data)
def nan_in_array(table, x=1.0): return x
def nan_default(x=math.nan): return x
def nan_in_global(x=1.0): return x * sum(data)
def uses_word(word, x=1.0): return x
def nothing_numeric(word): return 1.0
def uses_empty(empty): return 1.0
def returns_array(x=1.0): return np.array([x, x, x])
def returns_none(x=1.0): x * x
def returns_tuple(x=1.0): return x, x
def returns_bool(x=1.0): return x > 0
def returns_text(x=1.0): return "1.0"
def returns_complex(x=1.0): return x * 1j
def divides(x=0.0):
    return 1.0 / x
def infinite(x=0.0): return np.log(np.float64(x)) if not hasattr(x, "value") else x
def infinite_slope(x=0.0): return contad.ops.sqrt(x)
def loses(x=1.0):
    y = x * x
    return float(y)
def stores(x=1.0):
    a = np.zeros(2, np.float32)
    a[0] = x
    return a[0]
def counts(x=1.0, n=3):
    for _ in range(n): x = x * x
    return x
def exits(x=1.0): sys.exit("enough")
def many_lines(x=1.0): raise ValueError("one\\ntwo\\n" + "long " * 1000)
def varies(x=1.0): return x * random.random()
def recurses(x=1.0): return recurses(x)
"""


def line(text):
    """The line of ERRORS that contains the text."""
    (found,) = (n for n, source in enumerate(ERRORS.splitlines(), 1) if text in source)
    return f"line {found}"


@pytest.mark.parametrize(("target", "arguments", "message"), [
    ("fin", "", "model.py: no function 'fin'; it defines fine, ..."),
    ("number", "", "model.py: 'number' is no function but of type float"),
    ("fine", "--wrt z", "model.py:fine: --wrt: no parameter 'z'; there are x"),
    ("fine", "--wrt x,", "model.py:fine: --wrt: no parameter ''"),
    ("fine", "--wrt x --wrt z", "model.py:fine: --wrt: no parameter 'z'; there are x"),
    ("fine", "--at z=1", "model.py:fine: --at: no parameter 'z'; there are x"),
    ("fine", "--at x", "--at x: expected NAME=VALUE, or for one number of it 'NAME[0]=VALUE'"),
    ("Model.log_likelihood", "", "model.py: 'Model.log_likelihood': methods are not taken; write a function in"),
    ("fine", "--at x=", "--at x=: expected a number"),
    ("fine", "--at x=one", "--at x=one: expected a number, or a list, tuple or dict of numbers, got 'one'"),
    ("fine", "--at x='one'", "--at x='one': expected a number"),
    ("fine", "--at x=None", "--at x=None: expected a number"),
    ("fine", "--at x=1j", "--at x=1j: expected a number"),
    ("fine", "--at x=(", "--at x=(: expected a number"),
    ("fine", "--at x=nan", "model.py:fine: x is nan"),
    ("fine", "--at x=-inf", "model.py:fine: x must be finite, got -inf"),
    ("fine", "--at x=[1,1e999]", "model.py:fine: x[1] must be finite, got inf"),
    ("fine", f"--at x={10**400}", "model.py:fine: x must be finite, got 1000"),
    ("fine", "--at x=True", "model.py:fine: 'x' cannot be differentiated"),
    ("fine", "--at x=[]", "model.py:fine: 'x' cannot be differentiated: there are no numbers in it"),
    (
        "fine", "--engine steam",
        "--engine: expected one of closures, records, matrix, arrays, generated, tape; got 'steam'",
    ),
    ("fine", "--tolerance nan", "--tolerance: expected a positive number, got nan"),
    ("fine", "--tolerance tiny", "argument --tolerance: invalid float value: 'tiny'"),
    ("fine", "--frobnicate", "unrecognized arguments: --frobnicate"),
    ("fine", "--data nowhere.csv", "nowhere.csv: No such file or directory"),
    ("fine", "--data x.txt", "--data: expected a file whose name ends in .json, .csv or .npz, got 'x.txt'"),
    ("fine", "--plot x.txt", "--plot: expected profile or sparsity, then text, window or a file name that ends in"),
    ("fine", "--plot a.png b.png", "--plot: expected one kind of picture and one place for it, got a.png b.png"),
    ("fine", "--plot text --json", "--json prints one object and nothing else: --plot text has no place beside it"),
    ("fine", "--source --check", "--source prints the generated derivative and nothing else: leave out --check"),
    ("fine", "--source", "model.py:fine: --source: fine is a plain function: it runs on variables, nothing is gen"),
    ("returns_text", "--plot sparsity", "model.py:returns_text: the function returns a str; expected real numbers"),
    ("returns_none", "--plot sparsity", "model.py:returns_none: the function returns no numbers; expected real"),
    ("no_parameters", "", "model.py:no_parameters: the function has no parameters"),
    ("no_value", "", "model.py:no_value: parameter 'missing' has no value; give it a default"),
    ("nan_in_data", "", "model.py:nan_in_data: data[1] is nan"),
    ("nan_in_array", "", "model.py:nan_in_array: table[1, 0] is nan"),
    ("nan_default", "", "model.py:nan_default: x is nan"),
    ("nan_in_global", "", "model.py:nan_in_global: data[1] is nan"),
    ("uses_word", "--wrt word", "model.py:uses_word: 'word' cannot be differentiated: expected real numbers"),
    ("nothing_numeric", "", "model.py:nothing_numeric: no parameter has a numeric default"),
    ("uses_empty", "--wrt empty", "model.py:uses_empty: 'empty' cannot be differentiated: there are no numbers"),
    ("returns_array", "", "model.py:returns_array: the function returns an array of shape (3,); expected one real"),
    ("returns_none", "", "model.py:returns_none: the function returns None; return the value to differentiate"),
    ("returns_tuple", "", "model.py:returns_tuple: the function returns a tuple; expected one real number"),
    ("returns_bool", "", "model.py:returns_bool: the function returns a bool"),
    ("returns_text", "", "model.py:returns_text: the function returns a str"),
    ("returns_complex", "", "model.py:returns_complex: the function returns a complex"),
    ("divides", "", f"model.py:divides: {line('return 1.0 / x')}: ZeroDivisionError: "),
    ("infinite", "", "model.py:infinite: the value at the point (x=0) is -inf"),
    ("infinite_slope", "", "model.py:infinite_slope: the derivative with respect to x is inf"),
    ("loses", "", f"model.py:loses: {line('float(y)')}: LostDerivativeError: "),
    ("stores", "", f"model.py:stores: {line('a[0] = x')}: "),
    ("counts", "", "(integers in the file, floats here: n; --wrt chooses other parameters)"),
    ("exits", "", f"model.py:exits: {line('sys.exit(')}: SystemExit: enough"),
    ("many_lines", "", f"model.py:many_lines: {line('ValueError')}: ValueError: one two long long"),
    ("varies", "", "model.py:varies: two calls at one point give different values"),
    ("recurses", "", f"model.py:recurses: {line('return recurses')}: RecursionError: "),
])  # fmt: skip
def test_an_error_is_one_line(run, target, arguments, message):
    status, out, err = run(target, *arguments.split(), source=ERRORS)
    assert (status, out) == (2, "") and err.startswith("contad: ") and err.count("\n") == 1
    assert err.endswith("\n") and len(err) < 500 and message in err


@pytest.mark.parametrize(("source", "message"), [
    ("def f(x=1.0)\n    return x\n", "model.py: line 1: SyntaxError: expected ':'"),
    ("def f(x=1.0):\nreturn x\n", "model.py: line 2: IndentationError: "),
    ("\0", "model.py: "),
    ("import no_such_module_anywhere\n", "model.py: line 1: ModuleNotFoundError: No module named"),
    ("x = 1\ny = x / 0\n", "model.py: line 2: ZeroDivisionError: division by zero"),
    ("raise SystemExit(3)\n", "model.py: line 1: SystemExit: 3"),
    ("", "model.py: no function 'f'"),
])  # fmt: skip
def test_an_error_in_the_file_is_one_line(run, source, message):
    status, out, err = run("f", source=source)
    assert (status, out) == (2, "") and err.startswith(f"contad: {message}") and err.count("\n") == 1


@pytest.mark.parametrize(("arguments", "message"), [
    (["nowhere.py:f"], "nowhere.py: no such file"),
    ([f"{ROOT}:f"], f"{ROOT}: is a directory"),
    (["nowhere.py"], "expected FILE.py:FUNCTION, got 'nowhere.py'"),
    (["nowhere.py:"], "expected FILE.py:FUNCTION, got 'nowhere.py:'"),
    (["--at", "x=1"], "--at and --wrt need a FILE.py:FUNCTION"),
    (["--wrt", "x"], "--at and --wrt need a FILE.py:FUNCTION"),
    (["--source"], "--source needs a FILE.py:FUNCTION"),
    (["--data", "nowhere.csv"], "nowhere.csv: No such file or directory"),
    (
        ["--engine", "steam"],
        "--engine: expected one of closures, records, matrix, arrays, generated, tape; got 'steam'",
    ),
    (["--tolerance", "-1"], "--tolerance: expected a positive number, got -1.0"),
])  # fmt: skip
def test_an_error_in_the_arguments_is_one_line(capsys, arguments, message):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"contad: {message}") and err.count("\n") == 1


@pytest.mark.parametrize(("count", "end"), [(7, "f6"), (8, "f7"), (9, "f7, ..."), (20, "f7, ...")])
def test_a_cut_list_of_functions_says_so(run, count, end):
    source = "".join(f"def f{n}(x=1.0): return x\n" for n in range(count))
    names = ", ".join(f"f{n}" for n in range(min(count, 8) - 1))
    assert run("wanted", source=source)[2] == f"contad: model.py: no function 'wanted'; it defines {names}, {end}\n"


def test_bytes_that_are_no_text_are_one_line(capsys, tmp_path):
    path = tmp_path / "model.py"
    path.write_bytes(b"x = '\xff'\n")
    assert main([f"{path}:f"]) == 2 and capsys.readouterr().err.count("\n") == 1


def test_debug_shows_the_traceback(run):
    status, _, err = run("divides", "--debug", source=ERRORS)
    assert status == 2 and "Traceback" in err and "return 1.0 / x" in err
    assert err.splitlines()[-1].startswith(f"contad: model.py:divides: {line('return 1.0 / x')}: ZeroDivisionError")


def test_an_error_of_our_own_is_one_line_too(run, monkeypatch):
    def fails(*args, **kwargs):
        raise KeyError("surprise")

    monkeypatch.setattr("contad.command.interface.examine", fails)
    assert run("cubic") == (2, "", "contad: unexpected KeyError: 'surprise' (--debug shows where)\n")


def test_help_has_an_example_that_runs(help_commands, monkeypatch, capsys):
    monkeypatch.setattr("contad.command.pictures.has_matplotlib", lambda: False)
    shown = [options for *_, options in (command.partition("model.py:") for command in help_commands)]
    for name in ("--at", "--check", "--data", "--wrt", "--engine", "--tolerance", "--json", "--plot"):
        assert any(name in options for options in shown)
    for command in help_commands:
        if ".svg" not in command:  # needs Matplotlib: tests/command/test_pictures.py
            assert main(command.split()[3:]) == 0, capsys.readouterr().err


# ---- the bundled example ---------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def table():
    return logistic_regression.read_table()


def test_the_data_are_those_of_the_source(table):
    assert len(table.malignant) == 569 and sum(table.malignant) == 212 and len(table.names) == 8
    features = np.array(table.features)
    np.testing.assert_allclose(features.mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(features.std(0), 1.0, rtol=1e-12)


def test_example(capsys, table):
    assert main(["--json", "--check"]) == 0
    found = json.loads(capsys.readouterr().out)
    # the gradient, at a point where no component is small, against differences
    gradient = found["gradient"]["coefficients"]
    assert len(gradient) == 9 and min(map(abs, gradient)) > 1.0 and found["differences"]["checked"] == 9
    assert found["differences"]["disagreement"] <= 1e-6
    # and against the formula
    a = np.column_stack([np.ones(569), table.features])
    y, b = np.array(table.malignant), np.full(9, logistic_regression.CHECKED_AT)
    expected = a.T @ (y - 1 / (1 + np.exp(-a @ b))) - b / logistic_regression.PRIOR_SD**2
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    # the fit, against Newton's method
    for _ in range(30):
        p = 1 / (1 + np.exp(-a @ b))
        precision = (a * (p * (1 - p))[:, None]).T @ a + np.eye(9) / logistic_regression.PRIOR_SD**2
        b = b + np.linalg.solve(precision, a.T @ (y - p) - b / logistic_regression.PRIOR_SD**2)
    fitted = found["fit"]
    assert list(fitted["coefficients"]) == ["intercept", *table.names]
    np.testing.assert_allclose([c["mean"] for c in fitted["coefficients"].values()], b, rtol=1e-5)
    sd = np.sqrt(np.diag(np.linalg.inv(precision)))
    np.testing.assert_allclose([c["sd"] for c in fitted["coefficients"].values()], sd, rtol=1e-5)
    assert (fitted["patients"], fitted["malignant"]) == (569, 212)
    assert fitted["correct"] == int(sum(((a @ b) > 0) == (y == 1)))


def coefficients(text):
    """{name: printed mean} of the table that the example prints."""
    rows = [line.split() for line in text.partition("sd\n")[2].partition("\n\n")[0].splitlines()]
    return {name: mean for name, mean, _ in rows}


def changed(tmp_path, row, column, cell):
    """A copy of the data in which one cell has another value."""
    lines = [line.split(",") for line in logistic_regression.DATA.read_text().splitlines()]
    lines[row][lines[0].index(column)] = cell
    path = tmp_path / "changed.csv"
    path.write_text("\n".join(map(",".join, lines)) + "\n")
    return path


def test_one_changed_cell_changes_every_coefficient(capsys, tmp_path):
    assert main([]) == 0
    before = coefficients(capsys.readouterr().out)
    assert main(["--data", str(changed(tmp_path, 7, "texture", "21.83"))]) == 0  # 20.83 in the source
    after = coefficients(capsys.readouterr().out)
    assert len(before) == 9 and before.keys() == after.keys() and all(before[name] != after[name] for name in before)
    assert all(math.isfinite(float(mean)) for mean in after.values())


@pytest.mark.parametrize(("row", "column", "cell", "message"), [
    (3, "texture", "nan", "row 3, column 'texture': expected a finite number, got 'nan'"),
    (3, "radius", "inf", "row 3, column 'radius': expected a finite number, got 'inf'"),
    (569, "symmetry", "", "row 569, column 'symmetry': expected a finite number, got ''"),
    (1, "concave_points", "n/a", "row 1, column 'concave_points': expected a finite number, got 'n/a'"),
    (2, "diagnosis", "?", "row 2, column 'diagnosis': expected M (malignant) or B (benign), got '?'"),
    (5, "fractal_dimension", "0.1,2", "row 5 has 10 cells, expected 9"),
    (0, "diagnosis", "outcome", "expected a header with one column 'diagnosis' and at least one other"),
    (0, "texture", "radius", "a column's name occurs twice in the header"),
])  # fmt: skip
def test_a_bad_cell_is_named(capsys, tmp_path, row, column, cell, message):
    path = changed(tmp_path, row, column, cell)
    assert main(["--data", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"contad: {path}: {message}") and err.count("\n") == 1


@pytest.mark.parametrize(("text", "message"), [
    ("", "expected a header"),
    ("diagnosis,x\n", "expected at least two rows below the header, got 0"),
    ("diagnosis,x\nM,1\nB\n", "row 2 has 1 cells, expected 2: no 'x'"),
    ("diagnosis,x\nM,1\nB,1\n", "column 'x' has the value 1 in every row"),
])  # fmt: skip
def test_a_bad_table_is_named(capsys, tmp_path, text, message):
    path = tmp_path / "small.csv"
    path.write_text(text)
    assert main(["--data", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"contad: {path}: {message}") and err.count("\n") == 1


# ---- in a process of its own -----------------------------------------------------------------------------------------
def python_m_contad(*arguments, cwd=ROOT):
    command = [sys.executable, "-W", "error", "-m", "contad", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120, check=False)


def test_process_on_the_example_file():
    done = python_m_contad("examples/growth.py:log_likelihood", "--check", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert list(found["gradient"]) == ["rate", "capacity", "start", "noise"]
    assert found["constants"] == ["amounts"] and min(map(abs, found["gradient"].values())) > 0.01


def test_process_without_arguments():
    done = python_m_contad()
    assert (done.returncode, done.stderr) == (0, "") and "569 patients, 212 malignant" in done.stdout
    assert "accuracy      0.9402 (535 of 569)" in done.stdout
    assert coefficients(done.stdout)["radius"].startswith("3.1717")


def test_process_with_an_error(tmp_path):
    (tmp_path / "model.py").write_text("import numpy as np\ndef f(x=-1.0): return np.log(x)\n")
    done = python_m_contad("model.py:f", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "contad: model.py:f: the value at the point (x=-1) is nan\n"


def test_a_reader_that_closes_early_is_no_error():
    command = f"{sys.executable} -m contad --help | true"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.stderr == ""
