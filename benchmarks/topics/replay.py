"""What a recorded program costs, beside the plain gradient, a gradient by hand, and what recording takes."""

from pathlib import Path
from typing import Any

import numba
import numpy as np

import contad
from benchmarks.comparison.measure import Disagreement
from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.shaped import on_eager, on_engine
from benchmarks.comparison.topic import EVERYTHING, QUICK, Choice, Counted, Timed, Topic
from benchmarks.topics import arrays
from benchmarks.topics.scalars import minus_log_likelihood, minus_log_likelihood_by_hand, observe

ROOT = Path(__file__).parents[2]


def make_program(name: str, f: Any, by_hand: Any, recorded_at: Any, inputs: Any, sizes: Any, count: Any) -> Program:
    """A function of numbers, recorded at a point and run at another, where all are compared and timed."""
    argnums = tuple(range(len(inputs(10))))
    directions = tuple(1.0 + 0.5 * k for k in argnums)

    def version(use: Any) -> Any:
        def prepare(*args: Any) -> Run:
            program = contad.record(f, *recorded_at)
            return lambda: use(program, args)

        return prepare

    def expect_slope(*args: Any) -> Any:
        value, gradient = by_hand(*args)
        return value, sum(a * b for a, b in zip(gradient, directions, strict=True))

    def expect_value(*args: Any) -> Any:
        return by_hand(*args)[0]

    return Program(
        name=name, about="recorded at one point, run at another", sizes=sizes, inputs=inputs, argnums=argnums,
        primal=f, by_hand=by_hand,
        contad={
            "value": version(lambda program, args: program(*args)),
            "gradient": version(lambda program, args: program.value_and_grad(*args)),
            "slope": version(lambda program, args: program.jvp(args, directions)),
            "plain": on_engine(f, argnums, "matrix"),
            "recording": lambda *args: lambda: contad.record(f, *recorded_at)(*args),
        },
        gives={"contad value": expect_value, "contad slope": expect_slope, "contad recording": expect_value},
        count=lambda **size: count, tolerance=1e-9,  # long sums are added up in another order by hand
    )  # fmt: skip


def make_logistic_regression(rows: int, sizes: Any) -> Program:
    """Negative log likelihood of observations with 4 covariates, one number at a time: 12 operations a row."""
    *point, table = observe(rows)
    rows_of_numbers = np.array(table)
    compiled = numba.njit(minus_log_likelihood_by_hand)

    @numba.njit
    def by_hand(w_1, w_2, w_3, w_4):
        return compiled(w_1, w_2, w_3, w_4, rows_of_numbers)

    def f(*w):
        return minus_log_likelihood(*w, table)

    return make_program(
        f"logistic regression {rows} x 4", f, by_hand, point, lambda _=0: (0.1, -0.4, 0.9, 0.2), sizes, 12 * rows
    )


def make_recurrence(steps: int, sizes: Any) -> Program:
    """s = s x + c, two operations a step, which wait for each other."""

    def f(x, c):
        s = x
        for _ in range(steps):
            s = s * x + c
        return s

    x = 1.0 - 1.0 / steps
    by_hand = reverse_recurrence(steps, np.inf)
    return make_program("s*x + c", f, by_hand, (x, 0.01), lambda _=0: (x - 0.5 / steps, 0.02), sizes, 2 * steps)


def make_guarded_recurrence(steps: int, sizes: Any) -> Program:
    """s = s x + c, less 1 where it is above 1: a guard for every two or three operations."""

    def f(x, c):
        s = x
        for _ in range(steps):
            s = s * x + c
            if s > 1.0:
                s = s - 1.0
        return s

    s, subtractions = 0.5, 0
    for _ in range(steps):
        s = s * 0.5 + 0.7
        subtractions += s > 1.0
        s -= s > 1.0
    return make_program(
        "s*x + c, guarded", f, reverse_recurrence(steps, 1.0), (0.5, 0.7), lambda _=0: (0.5 - 1e-9, 0.7), sizes,
        3 * steps + subtractions,
    )  # fmt: skip


def reverse_recurrence(steps: int, limit: float) -> Any:
    """Value and gradient by hand of s = s x + c, less 1 where it is above the limit."""

    @numba.njit
    def by_hand(x, c):
        states = np.empty(steps)
        s = x
        for k in range(steps):
            states[k] = s
            s = s * x + c
            if s > limit:
                s = s - 1.0
        s_bar, x_bar, c_bar = 1.0, 0.0, 0.0
        for k in range(steps - 1, -1, -1):
            c_bar += s_bar
            x_bar += s_bar * states[k]
            s_bar *= x
        return s, (x_bar + s_bar, c_bar)

    return by_hand


def list_scalars(choice: Choice = EVERYTHING) -> list[Program]:
    """Small ones for a quick run, and the others."""
    contad.record(lambda x: x, 1.0)  # loads the interpreter
    quick, full = {QUICK: {}}, {"full": {}}
    return [
        make_logistic_regression(20, quick), make_recurrence(100, quick), make_guarded_recurrence(100, quick),
        *(make_logistic_regression(rows, full) for rows in (30, 300, 3_000)),
        make_recurrence(50_000, full), make_guarded_recurrence(50_000, full),
    ]  # fmt: skip


def list_models(choice: Choice = EVERYTHING) -> list[Program]:
    """Array functions with the data frozen in the program: its value, its gradient, and the plain gradient."""

    def evaluate(f: Any, argnums: tuple[int, ...]) -> Any:
        def version(*args: Any) -> Run:
            program = contad.record(f, *args, argnums=argnums)
            point = [args[n] for n in argnums]
            return lambda: program(*point)

        return version

    return [
        p._replace(
            peers={},
            contad={
                "value": evaluate(p.primal, p.argnums), "gradient": on_eager(p.primal, p.argnums)["record"],
                "plain": on_engine(p.primal, p.argnums, "matrix"),
            },
            gives={"contad value": p.primal},
        )
        for p in arrays.list_models()
    ]  # fmt: skip


def fail_guard(choice: Choice) -> dict[str, dict[str, str]]:
    """What a program says where it takes another way."""
    (example,) = (p for p in list_scalars() if p.name == "s*x + c, guarded" and QUICK in p.sizes)
    program = contad.record(example.primal, 0.5, 0.7)
    try:
        program(0.9, 0.7)
    except contad.GuardError as error:
        return {str(error).replace(f"{ROOT}/", ""): {}}
    raise Disagreement("a guard has not failed")


TOPIC = Topic(
    "Recorded programs",
    {
        "Scalar code, ns per operation": Timed(
            "Gradient, by hand (njit) and plain (contad.value_and_grad) are value and gradient together; recording is "
            "followed by a first value.",
            list_scalars, "ns",
        ),
        "Arrays, us per call": Timed("By hand is NumPy.", list_models),
        "A guard that fails": Counted("", fail_guard),
    },
)  # fmt: skip
