"""The topics of the benchmarks: what they compare agrees, wrong numbers are noticed, every figure is reported.

No time is tested.
"""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import contad
from benchmarks import chains, first_calls, loops, loops_by_hand, micro, pages, stacks
from benchmarks.comparison import tools
from benchmarks.comparison.figures import list_rows
from benchmarks.comparison.measure import AGAIN, BY_HAND, PRIMAL, Effort, arguments, measure
from benchmarks.comparison.report import format_number
from benchmarks.comparison.topic import (
    BESIDE,
    ONE,
    QUICK,
    UNITS,
    Choice,
    Timed,
    count_table,
    divide_seconds,
    find_failures,
    find_topics,
    report_topic,
    run_topic,
)  # fmt: skip
from benchmarks.timing import compare_times, format_table
from benchmarks.topics import arrays, calls, compile_time, first_second, generated, orders, replay, scalars, tape
from contad.engines import engine_names
from contad.testing import expect_ad
from tests.judges.samples import choose, sampled, shortened

ROOT = Path(__file__).parents[2]
ONCE = Effort(1, 0.0, 1.0)
CHAINS = chains.CHAINS[::3]  # the others have rules of the same kinds
FIRST = {"empty cache": 1.25, "filled cache": 0.5}  # seconds, in place of those of fresh processes
# others would compile for minutes
NAMES = {
    "tape": ["recurrence", "x * x"], "generated": ["rosenbrock"], "real": ["cox", "hawkes"],
    "first_second": ["numbers"], "passes": ["lse"],
}  # fmt: skip


@functools.cache
def run_quickly(name):
    """The figures of a topic, as they are written to a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_time, "SIZES", (2,))
        patch.setattr(arrays, "CHAINS", CHAINS)
        for module in (tape, generated, calls):  # that fresh processes are timed, a long test shows of `startup`
            patch.setattr(module, "time_first_gradients", lambda *asked, **options: dict(FIRST))
        return json.loads(json.dumps(run_topic(name, choice=Choice(quick=True, names=NAMES.get(name)))))


# what these compile takes longer than all others together
MANY = ("arrays", "eager", "first_second", "hessians", "ode", "orders", "real", "replay", "startup")
TOPICS = [pytest.param(name, marks=[pytest.mark.long] * (name in MANY)) for name in find_topics()]


def find_programs(name):
    """All programs of a topic that are timed in a quick run."""
    choice = Choice(quick=True, names=NAMES.get(name))
    parts = [part for part in find_topics()[name].parts.values() if isinstance(part, Timed)]
    programs = [p for part in parts for p in part.programs(choice)]
    return [p for p in programs if QUICK in p.sizes and choice.chooses(p.name)]


def find_part(name, title):
    (found,) = (part for known, part in run_quickly(name)["parts"].items() if known.startswith(title))
    return found


def find_times(name, title):
    """{program: {version: seconds}} of a quick run."""
    return {
        program["name"]: {n: v["seconds"] for n, v in program["sizes"][QUICK]["versions"].items()}
        for program in find_part(name, title)["programs"]
    }


# ---- every topic -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", TOPICS)
def test_nothing_is_wrong_or_refused(name):
    figures = run_quickly(name)
    assert find_failures(figures) == []
    assert figures["parts"]
    parts = report_topic(figures).partition("\n## ")[2]  # above it stands the command, which may name this test
    assert not re.search(r"wrong\b|refused|raised", parts)
    for part in figures["parts"].values():
        for _, _, measured in list_rows(part) if "programs" in part else ():
            assert all(version["seconds"] > 0.0 for version in measured["versions"].values())


@pytest.mark.parametrize("name", TOPICS)
def test_the_report_shows_every_figure(name):
    figures = run_quickly(name)
    text = report_topic(figures)
    assert "**Quick run: the figures mean nothing.**" in text
    for title, part in figures["parts"].items():
        lines = text.partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
        for program, size, measured in list_rows(part) if "programs" in part else ():
            table = [line for line in lines if line.startswith(f"| {program['name']} ")]
            assert len(table) == 1 + part["first"]
            assert f"{measured['noise']:.1%}" in table[0] or size == ONE
            for version in measured["versions"]:
                if version != AGAIN:
                    seconds = divide_seconds(program, QUICK, version)
                    assert f" {format_number(seconds * UNITS[part['unit']])} " in table[0]
                if version not in (PRIMAL, AGAIN) and part["first"]:
                    assert f"{format_number(1e3 * measured['versions'][version]['prepare'])} " in table[1]
        for row, columns in part.get("table", {}).items():
            (line,) = [line for line in lines if line.startswith(f"| {row} ")]
            for column, x in columns.items():
                assert f" {column} |" in "".join(lines)
                assert (
                    x is None or (x if isinstance(x, str) else f" {format_number(x * UNITS[part['unit']])} |") in line
                )


def distort(result, part):
    """A result with one of its numbers, or arrays of numbers, off by 1e-6 of it; another object for an object."""
    if callable(result):
        return distort
    found = tools.flatten_numbers(result)
    found[part] = found[part] * (1.0 + 1e-6)
    return found[0] if len(found) == 1 else (found[0], tuple(found[1:]))


@pytest.mark.parametrize("share", shortened(5, 1))
@pytest.mark.parametrize("topic", TOPICS)  # their programs are listed when it runs: some compile for that
def test_wrong_numbers_are_noticed(topic, share):
    programs = find_programs(topic)
    chosen = choose([program.name for program in programs], [topic] * len(programs), share)
    for program, is_chosen in zip(programs, chosen, strict=True):
        if is_chosen:
            require_wrong_numbers_noticed(program)


def require_wrong_numbers_noticed(program):
    """In the value, each gradient, and whatever else a version gives."""
    results = {f"contad {k}": (program.by_hand, k) for k in range(1 + len(program.argnums))}
    given = {name: f for name, f in program.gives.items() if name.startswith("contad")}
    if PRIMAL in program.gives:  # a call and its control
        results = {"contad gradient": (program.by_hand, 0)}
    results |= {name: (f, -1) for name, f in given.items() if not callable(f(*arguments(program, QUICK)))}
    planted = {
        name.removeprefix("contad "): lambda *args, f=f, part=part: lambda: distort(f(*args), part)
        for name, (f, part) in results.items()
    }
    found = measure(program._replace(contad=planted, peers={}), QUICK, (), ONCE)["versions"]
    assert results, program.name
    for name in results:
        assert re.match(r".*differs by|another object", found[name]["wrong"]), (program.name, name)
        assert "seconds" not in found[name], (program.name, name)


@pytest.mark.long
def test_the_command_measures_topics_and_writes_their_figures(tmp_path):
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "scalars", "--quick", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (figures,) = json.loads(file.read_text())["topics"]
    assert figures["topic"] == "scalars"
    assert report_topic(figures) in done.stdout


def test_programs_that_are_unknown_are_told():
    with pytest.raises(SystemExit, match="no program of orders is called nothing"):
        run_topic("orders", choice=Choice(quick=True, names=["nothing"]))


def test_a_smaller_program_is_subtracted():
    sizes = {
        ONE: {"count": 1, "versions": {"a": {"seconds": 3.0}}},
        "full": {"count": 5, "versions": {"a": {"seconds": 11.0}}},
    }
    assert divide_seconds({"sizes": sizes}, "full", "a") == 2.0
    assert divide_seconds({"sizes": {"full": sizes["full"]}}, "full", "a") == 2.2


def test_ratios_are_those_to_the_measure_beside():
    times = {PRIMAL: 2.0, BY_HAND: 4.0, "jax gradient": 5.0, "jax Hessian": 10.0, "contad matrix": 2.5}
    found = {what: ratios(times.__getitem__, "jax Hessian") for what, (_, ratios) in BESIDE.items()}
    assert found == {"controls": [5.0, 2.5], "own gradient": [2.0], "matrix": [4.0], "difference": [8.0]}


# ---- operations ------------------------------------------------------------------------------------------------------
def test_operations_are_timed_beside_a_micro_library():
    times = find_times("operations", "Value and gradient")
    assert len(times) == 5
    for seconds in times.values():
        assert {PRIMAL, BY_HAND, "contad matrix", "contad closures", "micro-library", "stack of objects",
                "stack of continuations"} <= set(seconds)  # fmt: skip


@pytest.mark.parametrize("kind", [micro.Value, stacks.Vari, stacks.Indexed])
def test_numbers_of_each_design_give_the_gradient(kind):
    def f(x):
        y = x[0] * x[1] + 2.0
        return np.sin(y) * y + np.sum(np.sin(x) * 0.5) + x[0]

    x = np.array([0.3, 0.4])
    value, (found,) = micro.with_values(lambda np: f, (0,), kind)(x)()
    assert value == pytest.approx(f(x))
    np.testing.assert_allclose(found, contad.grad(f)(x))
    (again,) = micro.with_values(lambda np: lambda v: v[0] * v[1] * v[0], (0,), kind)([3.0, 4.0])()[1]
    assert again == [24.0, 9.0]


# ---- scalars ---------------------------------------------------------------------------------------------------------
def test_every_engine_is_timed_on_every_scalar_program():
    labels = {label for name in engine_names() for label in (name, f"{name}, gc off")}
    times = find_times("scalars", "Value and gradient")
    parts = find_part("scalars", "Record and sweep")["table"]
    assert set(times) == set(parts) == {
        "s*x + c", "np.exp(s*x + c)", "contad.ops.exp(s*x + c)", "contad.ops.tanh(s*x + c)", "contad.gammaln(s*x + c)",
        "logistic regression",
    }  # fmt: skip
    for name, seconds in times.items():
        assert set(seconds) == {PRIMAL, AGAIN, BY_HAND, "contad forward", *(f"contad {label}" for label in labels)}
        assert set(parts[name]) == {f"{label}: {part}" for label in labels for part in ("record", "sweep")}
        assert min(parts[name].values()) > 0.0


def test_transforms_are_timed():
    transforms = {f"contad {t}, {name}" for t in ("grad", "value_and_grad") for name in engine_names()}
    (seconds,) = find_times("scalars", "One call").values()
    assert set(seconds) == transforms | {PRIMAL, AGAIN, BY_HAND, "contad derivative"}


def test_one_record_per_operation_of_at_most_40_bytes():
    table = {name: row[""] for name, row in find_part("scalars", "Storage")["table"].items()}
    counts = {name.partition(": ")[2]: n for name, n in table.items() if name.startswith("records per operation")}
    assert set(counts) == set(find_times("scalars", "Value and gradient"))
    assert set(counts.values()) == {1.0}
    widths = {name.partition(": ")[2]: n for name, n in table.items() if name.startswith("bytes per record: ")}
    assert widths["adjoints"] == 8
    assert 8 < sum(widths.values()) == table["bytes per record, adjoint included"] <= 40
    assert table["bytes per closure, as allocated"] > sum(widths.values())


def test_a_vanishing_derivative_is_refused():
    program = scalars.make_linear_recurrence(100)._replace(
        primal=lambda x, steps: x * 0.0 + 2.0, by_hand=lambda x, steps: (2.0, (0.0,)), gives={},
        contad={"zero": lambda *args: lambda: (2.0, (0.0,))},
    )  # fmt: skip
    found = measure(program, "full", (), ONCE)["versions"]
    assert "gradient of argument 0: differs" in found["contad zero"]["wrong"]


def test_logistic_regression_is_the_same_for_the_same_seed():
    a, b, c = (scalars.minus_log_likelihood(*scalars.observe(5, seed)) for seed in (7, 7, 8))
    assert a == b != c


def test_noise_is_relative_to_the_smaller():
    assert compare_times(2.0, 3.0) == compare_times(3.0, 2.0) == 0.5


def test_tables_are_markdown():
    assert format_table(("a", "b"), [("x", "10")]) == "| a |  b |\n|---|---:|\n| x | 10 |"


# ---- arrays ----------------------------------------------------------------------------------------------------------
ENGINES = Choice(engines=engine_names())
WORKS = {
    p.name: p
    for p in (
        *(chains.make_program(c, 7, engine_names()) for c in (*chains.CHAINS, *map(chains.write_elements, (3, 10)))),
        *arrays.list_models(ENGINES),
        arrays.MATRICES._replace(sizes={"small": {"n": 5}}),
    )
}


def choose_small(program):
    return [size for size in program.sizes if size in (ONE, QUICK, "small")]


@pytest.mark.parametrize("name", sampled(WORKS, 8))
def test_every_engine_agrees_with_the_gradient_by_hand(name):
    """With data wrapped too, recorded, and by the installed tools; nothing writes to its arguments."""
    for size in choose_small(WORKS[name]):
        found = measure(WORKS[name], size, tools.find_installed(), ONCE)["versions"]
        assert {f"contad {engine}" for engine in engine_names()} <= set(found)
        assert not [version for version in found.values() if {"wrong", "raised"} & set(version)]


@pytest.mark.parametrize("name", WORKS)
def test_gradients_by_hand_agree_with_differences(name):
    """An independent reference: central differences along a random direction, which all parts of the point share."""
    program = WORKS[name]
    for size in choose_small(program):
        args, draw, h = arguments(program, size), np.random.default_rng(19), 1e-5
        directions = {k: draw.normal(size=np.shape(args[k])) for k in program.argnums}
        ahead, behind = (
            program.primal(*(x + s * h * directions[k] if k in directions else x for k, x in enumerate(args)))
            for s in (1.0, -1.0)
        )
        value, gradient = program.by_hand(*args)
        along = sum(np.sum(g * d) for g, d in zip(gradient, directions.values(), strict=True))
        assert value == pytest.approx(program.primal(*args), rel=1e-13)
        assert (ahead - behind) / (2.0 * h) == pytest.approx(along, rel=1e-6)


@pytest.mark.long
def test_every_array_program_is_timed_on_the_matrix_engine():
    times = [find_times("arrays", title) for title in ("One NumPy call", "One element write", "Whole gradients")]
    assert [len(part) for part in times] == [len(CHAINS) + 1, 3, 5]
    for part in times:
        assert all({PRIMAL, BY_HAND, "contad matrix"} <= set(seconds) for seconds in part.values())
    assert {"contad matrix, data wrapped", "contad record"} <= set(times[2]["logistic regression"])


@pytest.mark.long
def test_reads_and_memory_are_measured():
    assert [name.partition(": ")[2] for name in find_part("arrays", "Reading")["table"]] == list(arrays.READS)
    memory = find_part("arrays", "Memory")["table"]
    assert {BY_HAND, "contad matrix"} <= set(memory)
    for found in memory.values():
        assert found["peak, MB"] * 1e6 == pytest.approx(found["in matrices"] * 8 * 60**2)
        assert found["in matrices"] == pytest.approx(24 * found["ratio to ideal"])
        assert {"Python's allocators, matrices", "growth, KiB"} < set(found)


def test_reading_elements_is_refused_by_an_unknown_engine():
    table = arrays.read_elements(Choice(quick=True, engines=["unknown"]))
    assert len(table) == len(arrays.READS)
    assert all(set(row) == {"refused"} for row in table.values())


@pytest.mark.long
def test_refusals_are_listed_once_for_each_reason():
    figures = json.loads(json.dumps(run_quickly("arrays")))
    for title in ("One NumPy call on arrays of three numbers, us", "Whole gradients, with the value, us"):
        for program in figures["parts"][title]["programs"]:
            for measured in program["sizes"].values():
                measured["versions"]["contad planted"] = {"raised": "Error: why"}
    lines = [line for line in report_topic(figures).splitlines() if "planted: Error: why" in line]
    assert lines[-5:] == [
        f"- {p['name']}, contad planted: Error: why (quick)" for p in find_part("arrays", "Whole")["programs"]
    ]
    assert len(lines) == 5 + len(CHAINS) + 1


def test_an_exception_without_text_has_a_reason():
    assert tools.describe_error(KeyError()) == "KeyError"


# ---- recorded programs -----------------------------------------------------------------------------------------------
@pytest.mark.long
def test_recorded_programs_are_timed():
    times = find_times("replay", "Scalar code")
    assert list(times) == ["logistic regression 20 x 4", "s*x + c", "s*x + c, guarded"]
    ways = {f"contad {way}" for way in ("value", "gradient", "plain")}
    assert all(ways | {"contad slope", "contad recording"} < set(seconds) for seconds in times.values())
    assert len(find_times("replay", "Arrays")) == 5
    assert all(ways < set(seconds) for seconds in find_times("replay", "Arrays").values())
    (guard,) = find_part("replay", "A guard")["table"]
    assert "benchmarks/topics/replay.py:" in guard


@pytest.mark.long
def test_a_program_of_another_function_is_noticed():
    sizes = {QUICK: {}}
    program = replay.make_recurrence(10, sizes)._replace(contad=replay.make_recurrence(11, sizes).contad)
    found = measure(program, QUICK, (), ONCE)["versions"]
    assert all("differs by" in found[f"contad {way}"]["wrong"] for way in program.contad)


def test_recorded_operations_are_counted():
    """A record for every operation, and one for every guard."""
    for program, guards in ((replay.make_recurrence(10, {}), 0), (replay.make_guarded_recurrence(10, {}), 10)):
        (trace,) = contad.record(program.primal, *program.inputs()).traces
        assert len(trace.code) == program.count() and len(trace.places) == guards


# ---- orders, and eager derivatives -----------------------------------------------------------------------------------
def test_the_hessian_by_hand():
    w, rows_of_data, labels, v = orders.draw_data(30)
    loss = orders.loss_of(np, rows_of_data, labels)
    hessian = orders.hessian_by_hand(w, rows_of_data, labels, v)
    np.testing.assert_allclose(contad.jacrev(contad.grad(loss))(w), hessian, atol=1e-12)
    expect_ad(orders.loss_of(np, rows_of_data[:4, :3], labels[:4]), w[:3])


@pytest.mark.long
def test_both_chains_have_one_gradient():
    found = measure(orders.CHAIN, "small", (), ONCE)["versions"]
    assert all("seconds" in found[f"contad {way}"] for way in ("whole", "in pieces"))
    table = find_part("orders", "Checkpoints")["table"]
    assert all(table[way]["peak, MB"] >= 0.0 for way in ("whole", "in pieces"))


@pytest.mark.long
def test_products_with_compiled_hessians_cost_few_gradients():
    table = find_part("orders", "Products with compiled Hessians")["table"]
    assert set(table) == {*orders.list_compiled(0.02), "Hessian of 30"}
    assert all(0.0 < row["ratio"] < 5.0 for row in table.values())  # 2.5 on a quiet machine


@pytest.mark.long
def test_memory_is_followed_after_every_call():
    assert len(find_part("eager", "Memory")["table"]) == (5 if sys.platform == "linux" else 0)


# ---- compiled engines ------------------------------------------------------------------------------------------------
def test_operations_on_the_tape_are_counted():
    x, a, b, n = tape.draw_points(0.01)["recurrence"]
    steps = [loops.recurrence.py_func(x, a, b, k) for k in range(n)]
    (found, _) = find_programs("tape")
    assert found.count(**found.sizes[QUICK]) == sum(6 if x > 0.0 else 4 for x in steps)


@pytest.mark.parametrize(
    "code", [tape._RECURRENCE, *map(generated._NAMED.format, ("rosenbrock", "recurrence", "heat"))]
)
def test_the_code_of_a_fresh_process_names_a_function_and_its_arguments(code):
    names = {}
    exec(code, names)
    assert np.isfinite(names["function"].py_func(*names["args"]))
    assert all(isinstance(names["args"][k], float | np.ndarray) for k in names["argnums"])


def test_every_program_has_a_gradient_by_hand():
    assert set(loops.problems(0.01)) == {name for name in loops.problems(0.01) if hasattr(loops_by_hand, name)}
    assert set(loops.WHY_SLOWER) | set(loops.WHY_DEAR) <= set(loops.problems(0.01))


@pytest.mark.parametrize("name", loops.WHY_SLOWER)
def test_a_slow_gradient_comes_with_its_reason(name):
    (line,) = generated.explain_ratios(name, 1.21, 2.0)
    assert line.startswith(f"{name}, 1.21 of the gradient by hand: ")
    assert loops.WHY_SLOWER[name] in line
    assert generated.explain_ratios(name, 1.2, 3.0) == []


def test_a_dear_gradient_by_hand_comes_with_its_reason():
    (line,) = generated.explain_ratios("heat", 1.0, 8.0)
    assert loops.WHY_DEAR["heat"] in line


def test_a_missing_reason_is_told(monkeypatch):
    figures = json.loads(json.dumps(run_quickly("generated"))) | {"quick": False}
    (program,) = figures["parts"][generated.TIMES]["programs"]
    versions = program["sizes"][QUICK]["versions"]
    for version, seconds in ((PRIMAL, 1.0), (BY_HAND, 1.0), ("contad generated", 1.3)):
        versions[version]["seconds"] = seconds
    figures["remarks"] = generated.remark(figures["parts"])
    line = f"rosenbrock, 1.30 of the gradient by hand: {generated.MISSING}"
    assert find_failures(figures) == [line]
    assert line in report_topic(figures)
    monkeypatch.setattr(loops, "WHY_SLOWER", {"rosenbrock": "because"})
    assert find_failures(figures | {"remarks": generated.remark(figures["parts"])}) == []


def test_calls_and_first_calls_are_timed():
    times = find_times("calls", "One call")
    assert list(times) == [program.name for program in calls.list_programs()]
    assert {"a number", "an array", "inside njit"} < set(times)
    (first,) = find_part("calls", "The first gradient")["table"].values()
    assert set(first) == {"empty cache", "filled cache"}


@pytest.mark.long
def test_a_fresh_process_is_timed():
    assert len(find_part("startup", "Imports")["table"]) == 3
    first = find_part("startup", "The first gradient")["table"]
    assert set(first) == {"empty cache", "filled cache"}
    assert all(list(row)[1] == "the same, 50 rules registered before it" for row in first.values())


# ---- compile time ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("what", compile_time.write_programs((4,), (3,)))
def test_compiled_gradients_are_right(what):
    ((_, text),) = compile_time.write_programs((4,), (3,))[what]
    f = compile_time.compile_text(text, f"right {what}")
    value, gradient = contad.value_and_grad(f, (0, 1), engine="generated")(*compile_time.POINT)
    assert value == pytest.approx(f(*compile_time.POINT), rel=1e-12)
    x, k = compile_time.POINT
    step = 1e-6
    differences = (f(x + step, k) - f(x - step, k)) / (2 * step), (f(x, k + step) - f(x, k - step)) / (2 * step)
    assert gradient == pytest.approx(differences, rel=1e-6)


def test_levels_call_the_one_below_three_times_on_each_path():
    for level in compile_time.write_nested(7).split("@njit")[2:-1]:
        name, paths = re.match(r"\s*def f_(\d)", level)[1], re.findall("return (.*)", level)
        assert [path.count(f"f_{int(name) - 1}(") for path in paths] == [3, 3]


def test_compile_time_is_counted_for_every_program_and_size():
    table = find_part("compile_time", "Seconds")["table"]
    assert [int(name.rpartition(", ")[2]) for name in table] == [2, 2, 2, 2, 2, 2, 1, 2]
    for row in table.values():
        assert row["ratio"] == row["gradient"] / row["function"]


def test_a_refusal_ends_its_program():
    unsupported = "@njit\ndef f(x, k):\n    s = {1.0, x}\n    return len(s) * k"
    found = list(compile_time.grow("sets", [(1, unsupported), (2, unsupported)]))
    assert [row["size"] for row in found] == [1]
    assert "refused" in found[0]
    figures = run_quickly("compile_time")
    (title,) = figures["parts"]
    planted = figures["parts"][title] | {"table": {"levels, 3": {"function": 0.5, "refused": "it is too long"}}}
    assert re.search(
        r"\| levels, 3 +\| +0.5 \| +it is too long \|", report_topic(figures | {"parts": {title: planted}})
    )


# ---- the first second ------------------------------------------------------------------------------------------------
def test_a_process_with_another_gradient_is_told(monkeypatch):
    def run_fresh(program, way, calls, folder):
        seconds = {"1": 0.25, "10": 0.26}
        return {"import": 0.2, "calls": seconds, "gradient": [1.0 + 1e-6 * (way == "record"), 2.0]}

    monkeypatch.setattr(first_second, "run_fresh", run_fresh)
    first_second.time_way.cache_clear()
    choice = Choice(quick=True, names=["net"])
    try:
        totals, calls = first_second.count_totals(choice), first_second.count_calls(choice)
    finally:
        first_second.time_way.cache_clear()
    assert totals["net: eager, filled cache"] == {"import": 0.2, "1": 0.25, "10": 0.26}
    assert calls["net: eager, filled cache"] == {
        "operations": "11", "the first": pytest.approx(0.05), "2 to 10": pytest.approx(0.01 / 9),
    }  # fmt: skip
    assert first_second.tell_wrong({"The whole process, ms": {"table": totals}}) == [
        "net: record, empty cache: wrong", "net: record, filled cache: wrong",
    ]  # fmt: skip


# ---- pages -----------------------------------------------------------------------------------------------------------
def read_tables(page, title):
    text = page.read_text(encoding="utf-8")
    start, end = pages.find_block(text, title)
    return text[start:end].strip()


@pytest.mark.parametrize("title", pages.TABLES)
def test_pages_have_the_tables_of_the_results(title):
    """`python -m benchmarks first_second --results` writes both."""
    (figures,) = json.loads((ROOT / "benchmarks" / "results" / "first_second.json").read_text())["topics"]
    assert not figures["quick"]
    for page in pages.TABLES[title]:
        assert read_tables(page, title) == count_table(figures["parts"][title])


def test_tables_are_written_into_pages(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: counts -->\nold\n<!-- end of: counts -->\nafter\n")
    monkeypatch.setattr(pages, "TABLES", {"counts": (page,)})
    pages.write_tables({"topics": [{"parts": {"others": {}}}]})
    assert "old" in page.read_text()
    part = {"unit": "", "table": {"row": {"1st": "2"}}}
    pages.write_tables({"topics": [{"parts": {"counts": part}}]})
    assert read_tables(page, "counts") == count_table(part) == "|     | 1st |\n|-----|----:|\n| row |   2 |"
    assert page.read_text().startswith("before\n<!--") and page.read_text().endswith("-->\nafter\n")


def test_small_gradients_are_those_after_warming(monkeypatch):
    """The least of several processes, in each state of the cache."""
    ran, seconds = [], iter([3.0, 2.0, 2.5, 1.0, 0.5, 0.75])

    def run_fresh(program, way, calls, folder, *options):
        ran.append((program, way, calls, *options))
        return {"1": (s := next(seconds)) / 100.0, "100": s * 1e-4, "10000": s * 1e-5}

    monkeypatch.setattr(first_second, "run_fresh", run_fresh)
    monkeypatch.setattr(first_second, "run_module", lambda folder, *arguments: ran.append(arguments))
    assert first_second.count_small_gradients() == {
        "empty cache": {"1st, ms": "20", "100th, us": "200", "10,000th, us": "20"},
        "after `python -m contad warm`": {"1st, ms": "5", "100th, us": "50", "10,000th, us": "5"},
    }  # fmt: skip
    assert ran.index(("contad", "warm")) == 3
    assert ran[0] == ("differences", "eager", 10_000, "--single")


def test_single_calls_are_timed_around_those_that_are_named(monkeypatch):
    monkeypatch.setattr(first_calls, "SINGLE", (1, 30))
    found = first_calls.time_single_calls("differences", "eager", 30)
    assert list(found) == ["1", "30"] and found["1"] > found["30"] > 0.0
