"""What a recorded program costs: `python -m benchmarks.replay [--quick] [--json]`.

Scalar models in nanoseconds per operation of the function: the value, value and gradient, and the slope by the
recorded program, called from Python; beside them the plain gradient (`contad.value_and_grad`), a gradient written by
hand and compiled by Numba, and what recording costs. Array models in microseconds per call. All gradients are compared
before anything is timed, and the guards of a program that has some are seen to hold and to fail.
"""

import os
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numba
import numpy as np

import contad
from benchmarks.array_workloads import ArrayWorkload, models
from benchmarks.command import head, machine, parser, show
from benchmarks.scalars import Disagreement
from benchmarks.timing import collector, fastest, markdown

TOLERANCE = 1e-9  # relative; long sums are added up in another order by hand


class Model(NamedTuple):
    """A scalar function, and its value and gradient by hand, compiled."""

    name: str
    f: Callable[..., float]
    point: tuple[float, ...]
    elsewhere: tuple[float, ...]  # where the program is compared and timed
    operations: int
    by_hand: Callable[..., tuple[float, tuple[float, ...]]]


# ---- models ----------------------------------------------------------------------------------------------------------
def logistic_regression(rows: int) -> Model:
    """Negative log likelihood of observations with 4 covariates, one number at a time: 12 operations a row."""
    draw = np.random.default_rng(7)
    table = draw.normal(size=(rows, 4))
    labels = np.where(draw.uniform(size=rows) < 0.5 + 0.3 * np.tanh(table[:, 0] - table[:, 2]), 1.0, -1.0)
    data = [(*a, label) for a, label in zip(table.tolist(), labels.tolist(), strict=True)]

    def f(w_1, w_2, w_3, w_4):
        total = 0.0
        for a_1, a_2, a_3, a_4, label in data:
            margin = label * (a_1 * w_1 + a_2 * w_2 + a_3 * w_3 + a_4 * w_4)
            total = total + np.log1p(np.exp(-margin))
        return total

    @numba.njit
    def by_hand(w_1, w_2, w_3, w_4):
        total = d_1 = d_2 = d_3 = d_4 = 0.0
        for k in range(len(labels)):
            a_1, a_2, a_3, a_4 = table[k]
            e = np.exp(-labels[k] * (a_1 * w_1 + a_2 * w_2 + a_3 * w_3 + a_4 * w_4))
            total += np.log1p(e)
            d = -labels[k] * e / (1.0 + e)
            d_1 += d * a_1
            d_2 += d * a_2
            d_3 += d * a_3
            d_4 += d * a_4
        return total, (d_1, d_2, d_3, d_4)

    point, elsewhere = (0.3, -0.2, 0.5, 0.1), (0.1, -0.4, 0.9, 0.2)
    return Model(f"logistic regression {rows} x 4", f, point, elsewhere, 12 * rows, by_hand)


def recurrence(steps: int) -> Model:
    """s = s x + c, two operations a step, which wait for each other."""

    def f(x, c):
        s = x
        for _ in range(steps):
            s = s * x + c
        return s

    @numba.njit
    def by_hand(x, c):
        states = np.empty(steps)
        s = x
        for k in range(steps):
            states[k] = s
            s = s * x + c
        s_bar, x_bar, c_bar = 1.0, 0.0, 0.0
        for k in range(steps - 1, -1, -1):
            c_bar += s_bar
            x_bar += s_bar * states[k]
            s_bar *= x
        return s, (x_bar + s_bar, c_bar)

    x = 1.0 - 1.0 / steps
    return Model("s*x + c", f, (x, 0.01), (x - 0.5 / steps, 0.02), 2 * steps, by_hand)


def guarded_recurrence(steps: int) -> Model:
    """s = s x + c, less 1 where it is above 1: a guard for every two or three operations."""

    def f(x, c):
        s = x
        for _ in range(steps):
            s = s * x + c
            if s > 1.0:
                s = s - 1.0
        return s

    @numba.njit
    def by_hand(x, c):
        states = np.empty(steps)
        s = x
        for k in range(steps):
            states[k] = s
            s = s * x + c
            if s > 1.0:
                s = s - 1.0
        s_bar, x_bar, c_bar = 1.0, 0.0, 0.0
        for k in range(steps - 1, -1, -1):
            c_bar += s_bar
            x_bar += s_bar * states[k]
            s_bar *= x
        return s, (x_bar + s_bar, c_bar)

    s, subtractions = 0.5, 0
    for _ in range(steps):
        s = s * 0.5 + 0.7
        subtractions += s > 1.0
        s -= s > 1.0
    return Model("s*x + c, guarded", f, (0.5, 0.7), (0.5 - 1e-9, 0.7), 3 * steps + subtractions, by_hand)


# ---- checks and times ------------------------------------------------------------------------------------------------
def check(model: Model, program: Any) -> None:
    """Compare value, gradient and slope away from the example; raises Disagreement."""
    x = model.elsewhere
    value, gradient = model.by_hand(*x)
    got_value, got = program.value_and_grad(*x)
    directions = tuple(1.0 + 0.5 * k for k in range(len(x)))
    along = sum(a * b for a, b in zip(gradient, directions, strict=True))
    pairs = [(value, got_value), (along, program.jvp(x, directions)[1]), (value, model.f(*x))]
    _agree(model.name, [*pairs, *zip(gradient, got, strict=True)])


def _agree(name: str, pairs: Sequence[tuple[Any, Any]]) -> None:
    for a, b in pairs:
        if not np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * np.max(np.abs(a), initial=0.0)):
            raise Disagreement(f"{name}: expected {a!r}, got {b!r}")


def measure(model: Model, repeats: int) -> dict[str, Any]:
    """Nanoseconds per operation."""
    per_operation = 1e9 / model.operations
    start = perf_counter()
    program = contad.record(model.f, *model.point)
    recording = (perf_counter() - start) * per_operation
    check(model, program)
    x = model.elsewhere
    calls = max(1, 20_000 // model.operations)
    gradient = contad.value_and_grad(model.f, tuple(range(len(x))))
    with collector(on=True):
        return {
            "name": model.name, "operations": model.operations,
            "value": fastest(lambda: program(*x), repeats, calls) * per_operation,
            "gradient": fastest(lambda: program.value_and_grad(*x), repeats, calls) * per_operation,
            "slope": fastest(lambda: program.jvp(x, x), repeats, calls) * per_operation,
            "by hand": fastest(lambda: model.by_hand(*x), repeats, calls) * per_operation,
            "plain": fastest(lambda: gradient(*x), max(2, repeats // 5)) * per_operation,
            "recording": recording,
        }  # fmt: skip


def measure_arrays(work: ArrayWorkload, repeats: int) -> dict[str, Any]:
    """Microseconds per call."""
    f = work.program(np)
    program = contad.record(f, *work.point, *work.data, argnums=work.argnums)
    by_hand = work.by_hand(*work.point, *work.data)
    found = program.value_and_grad(*work.point)
    _agree(work.name, [(by_hand[0], found[0]), *zip(by_hand[1], found[1], strict=True)])
    gradient = contad.value_and_grad(f, work.argnums)
    data = tuple(contad.constant(x) if isinstance(x, np.ndarray) else x for x in work.data)
    calls = 20
    with collector(on=True):
        return {
            "name": work.name,
            "value": fastest(lambda: program(*work.point), repeats, calls) * 1e6,
            "gradient": fastest(lambda: program.value_and_grad(*work.point), repeats, calls) * 1e6,
            "by hand": fastest(lambda: work.by_hand(*work.point, *work.data), repeats, calls) * 1e6,
            "plain": fastest(lambda: gradient(*work.point, *data), repeats, calls) * 1e6,
        }  # fmt: skip


def failed_guard() -> str:
    """What a program says where it takes another way."""
    program = contad.record(guarded_recurrence(20).f, 0.5, 0.7)
    try:
        program(0.9, 0.7)
    except contad.GuardError as error:
        return str(error).replace(os.getcwd() + os.sep, "")
    raise Disagreement("a guard has not failed")


# ---- report ----------------------------------------------------------------------------------------------------------
def run(quick: bool) -> dict[str, Any]:
    """All figures."""
    rows, steps = ((20,), 100) if quick else ((30, 300, 3_000), 50_000)
    repeats = 2 if quick else 25
    contad.record(lambda x: x, 1.0)  # loads the interpreter
    scalars = [*map(logistic_regression, rows), recurrence(steps), guarded_recurrence(steps)]
    return {
        "machine": machine("numpy", "numba"),
        "quick": quick, "repeats": repeats,
        "scalars": [measure(model, repeats) for model in scalars],
        "arrays": [measure_arrays(work, repeats) for work in models(quick)],
        "guard": failed_guard(),
    }  # fmt: skip


def report(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    columns = ("value", "gradient", "slope", "by hand", "plain", "recording")
    scalars = [(w["name"], str(w["operations"]), *(f"{w[c]:.1f}" for c in columns)) for w in figures["scalars"]]
    of_arrays = ("value", "gradient", "by hand", "plain")
    arrays = [(w["name"], *(f"{w[c]:.1f}" for c in of_arrays)) for w in figures["arrays"]]
    return "\n\n".join(
        [
            "# Recorded programs",
            head(figures, f"One thread; the minimum of {figures['repeats']} runs after one that is not counted."),
            "## Scalar code, ns per operation",
            "Gradient, by hand (njit) and plain (contad.value_and_grad) are value and gradient together.",
            markdown(("work", "operations", *columns), scalars),
            "## Arrays, us per call",
            "By hand is NumPy.",
            markdown(("work", *of_arrays), arrays),
            "## A guard that fails",
            figures["guard"],
        ]
    )


def main() -> None:
    """Run and print."""
    asked = parser("replay", "Time recorded programs.").parse_args()
    show(run(asked.quick), report, asked.json)


if __name__ == "__main__":
    main()
