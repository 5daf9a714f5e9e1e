"""Time and memory of eager gradients, by line."""

import sys
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import contad
from contad.engines import engine, engine_names
from contad.errors import UnsupportedError
from contad.front.user_function import runnable
from contad.profiling import record_watch
from contad.variables.stack import opened, stack
from contad.variables.stack_table import show_stack

X = np.array([0.5, -0.3, 0.8])


def scale(x, k):
    return x * k


def program(x):
    y = np.exp(x)
    total = 0.0
    for _ in range(4):
        total = total + scale(y[0], 2.0)
    weights = np.arange(3.0)
    return total + np.sum(y * weights)


def of_numbers(x):
    total = 0.0
    for k in range(6):
        total = total + scale(contad.ops.sin(x), float(k))
    if total > 5.0:
        total = total**2
    return total


def of_factors(x):
    a = np.eye(3) + np.outer(x, x)
    contad.reverse_pass_callback(lambda adj: None)
    return np.log(np.linalg.det(a)) + np.sum(np.linalg.solve(a, x))


def counts(found, *functions):
    """Records by (function, line after the first)."""
    first = {f.__name__: f.__code__.co_firstlineno for f in functions}
    return {
        (line.function, line.line - first.get(line.function, 0)): line.records for line in found.lines if line.records
    }


# ---- what is counted -------------------------------------------------------------------------------------------------
EXPECTED = {
    ("the arguments, as variables", 0): 1,
    ("program", 1): 1,  # exp
    ("program", 4): 4,  # total + ...
    ("scale", 1): 4,
    ("program", 6): 3,  # y * weights, their sum, total + ...
}


def test_records_by_line():
    found = contad.profile(program)(X)
    assert counts(found, program, scale) == EXPECTED
    calls = {(line.function, line.line - program.__code__.co_firstlineno): line.calls for line in found.lines}
    assert calls["program", 3] == 5 and calls["program", 4] == 4 and calls["program", 5] == 1
    assert [line.calls for line in found.lines if line.function == "scale"] == [4]


@pytest.mark.parametrize("name", engine_names())
def test_records_by_line_of_numbers(name):
    found = contad.profile(of_numbers, engine=name)(0.7)
    assert counts(found, of_numbers, scale) == {
        ("the arguments, as variables", 0): 1, ("of_numbers", 3): 12, ("scale", 1): 6, ("of_numbers", 5): 1,
    }  # fmt: skip
    assert found.engine == name


def test_a_wrong_line_is_noticed(monkeypatch):
    """Planted: a record belongs to the line of the record before it."""
    right = record_watch.StreamWatch.note

    def note(watch, path, record):
        before = watch.paths[-1] if watch.paths else path
        n, size = right(watch, before, record)
        path.records -= n
        before.records += n
        watch.paths[-1] = path
        return n, size

    monkeypatch.setattr(record_watch.StreamWatch, "note", note)
    assert counts(contad.profile(program)(X), program, scale) != EXPECTED


@pytest.mark.parametrize(
    ("f", "name"), [(program, "matrix"), (of_factors, "matrix"), (program, "records"), (program, "closures")]
)
def test_bytes_add_up_to_those_of_the_stack(f, name):
    contad.grad(f, engine=name)(X)  # methods of rules are made on first use
    with opened(engine(name)) as s:
        runnable(f)(s.array_variable(X))
        table = show_stack()
    found = contad.profile(f, engine=name)(X)
    assert found.bytes == table.bytes and found.records == len(table.rows)


def test_bytes_are_those_of_the_line():
    n = 50
    found = contad.profile(lambda x: np.sum(np.outer(x, x)))(np.ones(n))
    arguments, line = found.lines
    assert arguments.bytes == 24 + 16 * n and line.bytes >= 16 * n * n


# ---- the derivative --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", engine_names())
@pytest.mark.parametrize("f", [program, of_numbers])
def test_value_and_gradient_are_the_same_to_the_last_bit(f, name):
    x = X if f is program else 0.7
    found = contad.profile(f, engine=name)(x)
    value, gradient = contad.value_and_grad(f, engine=name)(x)
    assert found.value == value
    np.testing.assert_array_equal(found.gradient, gradient)


def test_options_are_those_of_gradients():
    def f(x, y):
        return x * y + y, {"aux": x + 1.0}

    found = contad.profile(f, (0, 1), has_aux=True)(2.0, y=3.0)
    assert (found.value, found.gradient) == contad.value_and_grad(f, (0, 1), has_aux=True)(2.0, 3.0)


def test_second_derivatives():
    def slope(x):
        return contad.grad(of_numbers)(x) ** 2

    found = contad.profile(slope)(0.7)
    assert found.gradient == contad.grad(slope)(0.7)
    # records of the inner sweep are of the line that asked for it, those of its forward pass of the lines inside
    first = slope.__code__.co_firstlineno
    assert counts(found, of_numbers)["test_second_derivatives.<locals>.slope".rpartition(".")[2], first + 1] > 10
    assert counts(found, of_numbers)["of_numbers", 3] == 12


@pytest.mark.parametrize("f", [of_numbers, program])
def test_profiles_inside_other_derivatives(f):
    """A stack with numbers of an outer level is swept in Python, row by row."""
    x = 0.7 if f is of_numbers else X
    kept = []

    def outer(x):
        found = contad.profile(f)(x)
        kept.append(found)
        return np.sum(found.gradient * 2.0)

    got = contad.grad(outer)(x)
    np.testing.assert_allclose(got, contad.grad(lambda x: np.sum(contad.grad(f)(x) * 2.0))(x), rtol=1e-14)
    assert all(line.reverse >= 0.0 for line in kept[0].lines) and kept[0].reverse > 0.0


def test_nested_levels_inside_are_not_counted():
    def f(x):
        with contad.nested():
            t = contad.var(3.0)
            (slope,) = contad.gradient(t * t * t, [t])
        return slope * x

    found = contad.profile(f)(2.0)
    assert found.records == 2 and found.gradient == 27.0


# ---- time ------------------------------------------------------------------------------------------------------------


def slow_in_reverse(x):
    y = contad.ops.sin(x)
    time.sleep(0.02)
    contad.reverse_pass_callback(lambda adj: time.sleep(0.03))
    return y * 2.0


@pytest.mark.parametrize("name", engine_names())
@pytest.mark.parametrize("warm_up", [True, False])
def test_time_belongs_to_the_line_that_takes_it(name, warm_up):
    found = contad.profile(slow_in_reverse, engine=name, warm_up=warm_up)(0.5)
    first = slow_in_reverse.__code__.co_firstlineno
    times = {line.line - first: line for line in found.lines if line.function == "slow_in_reverse"}
    # of scaled times the shares may be wrong where the machine was busy with something else meanwhile
    least = 0.3 if warm_up else 0.95
    assert times[2].forward > 0.02 * least and times[2].reverse == 0.0 and times[2].records == 0
    assert times[2] is max(found.lines, key=lambda line: line.forward)
    assert times[3].reverse > 0.03 * least and times[3] is max(found.lines, key=lambda line: line.reverse)
    assert found.forward == pytest.approx(sum(line.forward for line in found.lines))
    assert found.reverse > 0.028


def test_the_function_runs_as_often_as_told():
    calls = []

    def f(x):
        calls.append(1)
        time.sleep(0.06)
        return x * x

    contad.profile(f)(2.0)
    assert len(calls) == 1 + 2 + 1
    calls.clear()
    assert contad.profile(f, warm_up=False)(2.0).overhead != contad.profile(f, warm_up=False)(2.0).overhead
    assert len(calls) == 2


# ---- nothing outside -------------------------------------------------------------------------------------------------
def count_calls(f, *args):
    """How many functions of Python's and C's are called."""
    total = 0

    def count(frame, event, arg):
        nonlocal total
        total += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        f(*args)
    finally:
        sys.setprofile(None)
    return total


@pytest.mark.parametrize("name", engine_names())
def test_an_ordinary_gradient_costs_what_it_did(name):
    gradient = contad.grad(of_numbers, engine=name)
    gradient(0.7)
    before = count_calls(gradient, 0.7)
    tracer = sys.gettrace()
    contad.profile(of_numbers, engine=name)(0.7)
    assert sys.gettrace() is tracer and count_calls(gradient, 0.7) == before


def test_an_error_leaves_everything_as_it_was():
    def f(x):
        raise ZeroDivisionError("planted")

    tracer, open_before = sys.gettrace(), stack()
    with pytest.raises(ZeroDivisionError, match="planted"):
        contad.profile(f, warm_up=False)(1.0)
    assert sys.gettrace() is tracer and stack() is open_before


def test_profiles_are_refused_inside_debug_nans():
    with contad.debug_nans(), pytest.raises(UnsupportedError, match="profile outside of it"):
        contad.profile(of_numbers)(0.7)


# ---- what is shown ---------------------------------------------------------------------------------------------------
def test_text_is_a_table_of_lines():
    found = contad.profile(program)(X)
    lines = str(found).splitlines()
    assert lines[0].startswith("program: engine matrix, forward ")
    assert lines[0].endswith(f"{found.records} records, {found.bytes} B")
    assert lines[2].split() == ["line", "calls", "records", "forward", "reverse", "time", "bytes", "memory", "source"]
    assert any(line.endswith("    total = total + scale(y[0], 2.0)") and " 4 " in line for line in lines)
    assert repr(found) == str(found)
    shares = [float(word) for line in lines[3:] for word in line.partition(" %")[0].split()[-1:] if " %" in line]
    assert sum(shares) == pytest.approx(100.0, abs=0.5)


def test_html_is_well_formed_and_escaped():
    def f(x):
        return x * x if x < 3.0 and True & True else x

    f.__name__ = f.__qualname__ = "<b>"
    f.__code__ = f.__code__.replace(co_name="<b>", co_qualname="<b>")
    made = contad.profile(f)(2.0)._repr_html_()
    tree = ET.fromstring(made)
    assert "<b>" in "".join(tree.itertext()) and "x < 3.0 and True & True" in "".join(tree.itertext())
    assert [node.text for node in tree.iter("b")] == [next(tree.iter("b")).text]  # the title alone
    assert "<script" not in made


def test_bars_are_by_call_path():
    made = contad.profile(program)(X)._repr_html_()
    svg = "{http://www.w3.org/2000/svg}"
    time_bars, _ = ET.fromstring(made).iter(svg + "svg")
    rows = {}
    for group in time_bars.iter(svg + "g"):
        rows[group.find(svg + "title").text.partition("\n")[0]] = float(group.find(svg + "rect").get("y"))
    assert rows["program"] == rows["the arguments, as variables"] == 0.0
    assert rows["scale"] == 2 * rows[f"{__file__}:{program.__code__.co_firstlineno + 4}"]


def recursive(x, n):
    return x if n == 0 else recursive(x * 1.01, n - 1)


def test_deep_recursion():
    found = contad.profile(recursive)(1.0, 200)
    assert counts(found, recursive)["recursive", 1] == 200
    ET.fromstring(found._repr_html_())


def test_errors_name_profile():
    def loss(p):
        return np.sum(p**2)

    p = np.array([1.0, 2.0])
    with pytest.raises(TypeError, match=r"^profile: argnums .* got array.*; the arguments of f follow: contad.profile"):
        contad.profile(loss, p)
    with pytest.raises(contad.OutputError, match=r"^profile: loss must return one real number"):
        contad.profile(contad.grad(loss))(p)
    with pytest.raises(TypeError, match=r"^profile: expected a function, got 2\.0"):
        contad.profile(2.0)
    with pytest.raises(contad.OutputError, match=r"^value_and_grad: "):  # whose function is another
        contad.value_and_grad(contad.grad(loss))(p)
