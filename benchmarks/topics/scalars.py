"""What differentiating scalar Python code costs, on every engine, with and without Python's garbage collector.

The recurrences stand where one step neither shrinks nor grows a derivative (its slope is 1), so that adjoints stay
alive through all steps: a sweep over dead adjoints would look faster than it is.
"""

import gc
import math
import random
import tracemalloc
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

import contad
from benchmarks.comparison.measure import BY_HAND, arguments
from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.shaped import Version, on_engine
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Counted, Timed, Topic, choose_sizes
from contad.engines import engine, engine_names
from contad.variables.stack import ChainStack, opened

Slope = Callable[[float, float], float]


# ---- programs --------------------------------------------------------------------------------------------------------
def make_program(name: str, count: int, sizes: dict[str, dict[str, int]], inputs: Any, f: Any, by_hand: Any) -> Program:
    """A program with every engine and forward mode; `count` operations a step. Its last argument is constant."""
    argnums = tuple(range(len(inputs(2)) - 1))
    directions = tuple(1.0 + 0.5 * k for k in argnums)

    def forward(*args: Any) -> Run:
        *point, last = args
        return lambda: contad.jvp(lambda *point: f(*point, last), tuple(point), directions)

    def expect_forward(*args: Any) -> Any:
        value, gradient = by_hand(*args)
        return value, sum(a * b for a, b in zip(gradient, directions, strict=True))

    return Program(
        name=name, about=f"{count} operations a step", sizes=sizes, inputs=inputs, argnums=argnums, primal=f,
        by_hand=by_hand, contad=choose_ways(f, argnums) | {"forward": forward},
        gives={"contad forward": expect_forward},
        count=lambda n: count * n, tolerance=1e-9,  # by hand the rounding of 1e5 steps adds up in another order
    )  # fmt: skip


def choose_ways(f: Any, argnums: tuple[int, ...]) -> dict[str, Version]:
    """Every engine, with the garbage collector and without."""
    found = {}
    for name in engine_names():
        found[name] = on_engine(f, argnums, name)
        found[f"{name}, gc off"] = switch_collector_off(found[name])
    return found


def switch_collector_off(version: Version) -> Version:
    """The version with the collector off during a run."""

    def quiet(*args: Any) -> Run:
        run = version(*args)

        def call() -> Any:
            gc.disable()
            try:
                return run()
            finally:
                gc.enable()

        return call

    return quiet


def choose_steps(n: int) -> dict[str, dict[str, int]]:
    """The sizes of a recurrence."""
    return {"full": {"n": n}, QUICK: {"n": n // 100}}


def make_linear_recurrence(steps: int = 100_000) -> Program:
    """s = s x + c, two operations a step."""
    c = 0.01

    def f(x, steps):
        s = x
        for _ in range(steps):
            s = s * x + c
        return s

    def by_hand(x, steps):
        s = x
        states = []
        for _ in range(steps):
            states.append(s)
            s = s * x + c
        s_bar, x_bar = 1.0, 0.0
        for state in reversed(states):
            x_bar += s_bar * state
            s_bar *= x
        return s, (x_bar + s_bar,)

    return make_program("s*x + c", 2, choose_steps(steps), lambda n: (1.0 - 1.0 / n, n), f, by_hand)


def make_recurrence_through(
    name: str, function: Any, value: Any, slope: Slope, u: float, steps: int = 100_000
) -> Program:
    """s = g(s x + c), three operations a step, about the state g(u) that one step maps to itself with slope 1.

    `function` is g on any kind of number; `value(u)` and `slope(z, u)` are g and dg/du by hand.
    """
    x_0 = 1.0 / slope(value(u), u)
    c = u - x_0 * value(u)

    def f(x, steps):
        s = x
        for _ in range(steps):
            s = function(s * x + c)
        return s

    def by_hand(x, steps):
        s = x
        states = [s]
        inner = []
        for _ in range(steps):
            u = s * x + c
            s = value(u)
            inner.append(u)
            states.append(s)
        s_bar, x_bar = 1.0, 0.0
        for k in range(steps - 1, -1, -1):
            u_bar = s_bar * slope(states[k + 1], inner[k])
            x_bar += u_bar * states[k]
            s_bar = u_bar * x
        return s, (x_bar + s_bar,)

    return make_program(f"{name}(s*x + c)", 3, choose_steps(steps), lambda n: (x_0, n), f, by_hand)


def observe(n: int, seed: int = 7) -> tuple[Any, ...]:
    """Four coefficients, and n rows of four covariates and a label 1 or -1."""
    draw = random.Random(seed)
    table = []
    for _ in range(n):
        a = tuple(draw.gauss(0.0, 1.0) for _ in range(4))
        table.append((*a, 1.0 if draw.random() < 0.5 + 0.3 * math.tanh(a[0] - a[2]) else -1.0))
    return 0.3, -0.2, 0.5, 0.1, table


def minus_log_likelihood(w_1, w_2, w_3, w_4, table):
    """Of logistic regression, one number at a time: 4 products, 3 sums, label, sign, exp, log1p and a sum for a row."""
    total = 0.0
    for a_1, a_2, a_3, a_4, label in table:
        margin = label * (a_1 * w_1 + a_2 * w_2 + a_3 * w_3 + a_4 * w_4)
        total = total + np.log1p(np.exp(-margin))
    return total


def minus_log_likelihood_by_hand(w_1, w_2, w_3, w_4, table):
    total = d_1 = d_2 = d_3 = d_4 = 0.0
    for a_1, a_2, a_3, a_4, label in table:
        e = math.exp(-label * (a_1 * w_1 + a_2 * w_2 + a_3 * w_3 + a_4 * w_4))
        total += math.log1p(e)
        d = -label * e / (1.0 + e)
        d_1 += d * a_1
        d_2 += d * a_2
        d_3 += d * a_3
        d_4 += d * a_4
    return total, (d_1, d_2, d_3, d_4)


def list_programs(choice: Choice = EVERYTHING) -> list[Program]:
    """What is timed; the special function, far slower than the rest, gets a tenth of the steps."""
    from scipy.special import digamma, gammaln

    exp = math.exp, lambda z, u: z
    tanh = math.tanh, lambda z, u: math.cosh(u) ** -2
    log_gamma = lambda u: float(gammaln(u)), lambda z, u: float(digamma(u))
    return [
        make_linear_recurrence(),
        make_recurrence_through("np.exp", np.exp, *exp, 2.0),
        make_recurrence_through("contad.ops.exp", contad.ops.exp, *exp, 2.0),
        make_recurrence_through("contad.ops.tanh", contad.ops.tanh, *tanh, 1.0),
        make_recurrence_through("contad.gammaln", contad.gammaln, *log_gamma, 6.0, 10_000),
        make_program(
            "logistic regression", 12, {"full": {"n": 500}, QUICK: {"n": 20}}, observe,
            minus_log_likelihood, minus_log_likelihood_by_hand,
        ),
    ]  # fmt: skip


# ---- calls -----------------------------------------------------------------------------------------------------------
def square(x: float) -> float:
    """One operation, to see what a call costs."""
    return x * x


def bind_transform(transform: Any, **options: Any) -> Version:
    """A version of `square` by a transform."""

    def version(x: float) -> Run:
        g = transform(square, **options)
        return lambda: g(x)

    return version


def list_calls(choice: Choice = EVERYTHING) -> list[Program]:
    """One call of each transform on a function of a single operation."""
    contad_ways = {
        f"{transform}, {name}": bind_transform(getattr(contad, transform), engine=name)
        for name in engine_names()
        for transform in ("grad", "value_and_grad")
    } | {"derivative": bind_transform(contad.derivative)}
    slopes = [f"contad {way}" for way in contad_ways if not way.startswith("value")]
    return [
        Program(
            name="x * x", about="one operation", sizes={"full": {}, QUICK: {}}, inputs=lambda: (3.0,), argnums=(0,),
            primal=square, by_hand=lambda x: (x * x, 2.0 * x), contad=contad_ways,
            gives=dict.fromkeys(slopes, lambda x: 2.0 * x),
        )
    ]  # fmt: skip


# ---- parts of a gradient, and its storage ----------------------------------------------------------------------------
def record(name: str, program: Program, size: str, use: Callable[[ChainStack, Sequence[Any], Any], Any]) -> Any:
    """use(stack, arguments, result) on a recording of the program, while it is open."""
    *point, last = arguments(program, size)
    with opened(engine(name)) as s:
        xs = [s.variable(x) for x in point]
        start = perf_counter()
        y = program.primal(*xs, last)
        return use(s, xs, (y, perf_counter() - start))


def time_parts(choice: Choice = EVERYTHING) -> dict[str, dict[str, float]]:
    """Seconds per operation to record a program, and to sweep it, the minimum of each."""

    def sweep(s: ChainStack, xs: Sequence[Any], result: Any) -> tuple[float, float]:
        start = perf_counter()
        s.gradient(result[0], xs)
        return result[1], perf_counter() - start

    table: dict[str, dict[str, float]] = {}
    for program in list_programs():
        (size,) = choose_sizes(program, choice.quick)
        row = table[program.name] = {}
        for label in (name for name in program.contad if name != "forward"):
            name, _, off = label.partition(", ")
            gc.collect()
            (gc.disable if off else gc.enable)()
            try:
                times = [record(name, program, size, sweep) for _ in range(3 if choice.quick else 6)][1:]
            finally:
                gc.enable()
            operations = program.count(**program.sizes[size])
            row[f"{label}: record"], row[f"{label}: sweep"] = (min(t) / operations for t in zip(*times, strict=True))
    return table


def count_storage(choice: Choice = EVERYTHING) -> dict[str, dict[str, float]]:
    """Records per operation of each program, and the bytes of one record and of one closure."""

    def count(s: Any, xs: Sequence[Any], result: Any) -> int:
        return s.top - 1 - len(xs)

    table = {}
    for program in list_programs():
        (size,) = choose_sizes(program, choice.quick)
        count_of_size = program.count(**program.sizes[size])
        table[f"records per operation: {program.name}"] = record("records", program, size, count) / count_of_size
    widths = record("records", make_linear_recurrence(10_000), "full", measure_cells)
    table |= {f"bytes per record: {name}": width for name, width in widths.items()}
    table["bytes per record, adjoint included"] = sum(widths.values())
    table["bytes per closure, as allocated"] = measure_closure(make_linear_recurrence(1_000))
    return {name: {"": number} for name, number in table.items()}


def measure_cells(s: Any, xs: Sequence[Any], result: Any) -> dict[str, int]:
    """Bytes of one row, of every array that holds a row per cell."""
    s.gradient(result[0], xs)
    found = {name: getattr(s.buffers, name) for name in s.buffers.__slots__}
    arrays = {name: a for name, a in found.items() if isinstance(a, np.ndarray) and a.ndim}
    return {name: a.nbytes // len(a) for name, a in arrays.items() if len(a) >= s.top}


def measure_closure(program: Program) -> float:
    """What Python allocates for one operation and keeps until the sweep."""
    (x, steps) = arguments(program, "full")
    tracemalloc.start()
    try:
        with opened(engine("closures")) as s:
            x = s.variable(x)
            before = tracemalloc.get_traced_memory()[0]
            y = program.primal(x, steps)
            kept = tracemalloc.get_traced_memory()[0] - before
            s.gradient(y, [x])
    finally:
        tracemalloc.stop()
    return kept / program.count(n=steps)


TOPIC = Topic(
    "Scalar code",
    {
        "Value and gradient, ns per operation": Timed(
            f"The whole call, clean-up included; {BY_HAND} is plain Python.", list_programs, "ns"
        ),
        "Record and sweep, ns per operation": Counted("Apart, without the rest of a call.", time_parts, "ns"),
        "One call on x * x, us": Timed("", list_calls),
        "Storage": Counted("", count_storage),
    },
)
