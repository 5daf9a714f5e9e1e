"""What differentiating scalar Python code costs: `python -m benchmarks.scalars [--quick] [--json]`.

Times are nanoseconds per operation of the function, for the value and the whole gradient, on every engine; beside them
the function without derivatives (the control, taken twice) and a gradient written by hand. All gradients are compared
before anything is timed.
"""

import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

import contad
from benchmarks.command import head, machine, parser, show
from benchmarks.startup import startup, startup_table
from benchmarks.timing import collector, fastest, markdown, noise
from benchmarks.workloads import Workload, linear_recurrence, scalar_workloads
from contad.engines import engine, engine_names
from contad.stack import ChainStack, opened

TOLERANCE = 1e-9  # relative; a recurrence adds up the rounding of 1e5 steps in another order by hand


class Disagreement(Exception):
    """Two ways to the same gradient gave different numbers."""


# ---- checks ----------------------------------------------------------------------------------------------------------
def check(work: Workload) -> None:
    """Compare every engine, forward mode and the gradient by hand; raises Disagreement."""
    value, by_hand = work.by_hand(*work.point)
    _agree(work, "value", work.f(*work.point), value)
    for name in engine_names():
        got_value, got = contad.value_and_grad(work.f, work.argnums, engine=name)(*work.point)
        _agree(work, f"value on {name}", got_value, value)
        for k, (a, b) in enumerate(zip(got, by_hand, strict=True)):
            _agree(work, f"derivative {k} on {name}", a, b)
    directions = _directions(work)
    _, along = contad.jvp(work.f, work.point, directions)
    _agree(work, "directional derivative", along, sum(a * b for a, b in zip(by_hand, directions, strict=True)))


def _agree(work: Workload, what: str, got: float, expected: float) -> None:
    if not abs(got - expected) <= TOLERANCE * abs(expected) or expected == 0.0:
        raise Disagreement(f"{work.name}: {what}: expected {expected!r}, got {got!r}")


def _directions(work: Workload) -> tuple[float, ...]:
    return tuple(1.0 + 0.5 * k for k in work.argnums)


# ---- times -----------------------------------------------------------------------------------------------------------
def measure(work: Workload, repeats: int) -> dict[str, Any]:
    """Nanoseconds per operation, for every way to the gradient, with and without the garbage collector."""
    per_operation = 1e9 / work.operations

    def control() -> float:
        with collector(on=True):
            return fastest(lambda: work.f(*work.point), repeats) * per_operation

    before = control()
    result: dict[str, Any] = {"name": work.name, "operations": work.operations, "gradient": {}}
    with collector(on=True):
        result["by_hand"] = fastest(lambda: work.by_hand(*work.point), repeats) * per_operation
    for name in engine_names():
        gradient = contad.value_and_grad(work.f, work.argnums, engine=name)
        for on in (True, False):
            with collector(on):
                call = fastest(lambda g=gradient: g(*work.point), repeats) * per_operation
                record, sweep = (seconds * per_operation for seconds in _apart(name, work, repeats))
            result["gradient"][_label(name, on)] = {"call": call, "record": record, "sweep": sweep}
    with collector(on=True):
        directions = _directions(work)
        forward = fastest(lambda: contad.jvp(work.f, work.point, directions), repeats) * per_operation
    after = control()
    return result | {"forward": forward, "control": min(before, after), "noise": noise(before, after)}


def _label(name: str, on: bool) -> str:
    return name if on else f"{name}, gc off"


def _record(name: str, work: Workload, use: Callable[[ChainStack, Sequence[contad.Var], Any], Any]) -> Any:
    """use(stack, arguments, result) on a recording of the work, while it is open."""
    with opened(engine(name)) as s:
        xs = [s.variable(x) for x in work.point]
        return use(s, xs, work.f(*xs))


def _apart(name: str, work: Workload, repeats: int) -> tuple[float, float]:
    """Seconds to record the work and to sweep it, the minimum of each."""
    times = []
    for _ in range(repeats + 1):
        with opened(engine(name)) as s:
            xs = [s.variable(x) for x in work.point]
            start = perf_counter()
            y = work.f(*xs)
            between = perf_counter()
            s.gradient(y, xs)
            times.append((between - start, perf_counter() - between))
    record, sweep = zip(*times[1:], strict=True)
    return min(record), min(sweep)


def square(x: float) -> float:
    """One operation, to see what a call costs."""
    return x * x


def calls(repeats: int, number: int) -> dict[str, float]:
    """Microseconds of one call on a function of a single operation."""
    runs: dict[str, Callable[[float], Any]] = {"no derivative": square}
    for name in engine_names():
        runs[f"grad, {name}"] = contad.grad(square, engine=name)
        runs[f"value_and_grad, {name}"] = contad.value_and_grad(square, engine=name)
    runs["derivative"] = contad.derivative(square)
    with collector(on=True):
        return {name: fastest(lambda run=run: run(3.0), repeats, number) * 1e6 for name, run in runs.items()}


# ---- storage ---------------------------------------------------------------------------------------------------------
def storage(workloads: Iterable[Workload]) -> dict[str, Any]:
    """Records per operation of each work, and the bytes of one record and of one closure."""

    def cells(s: ChainStack, xs: Sequence[contad.Var], y: Any) -> int:
        return s.top - 1 - len(xs)

    return {
        "records_per_operation": {w.name: _record("records", w, cells) / w.operations for w in workloads},
        "bytes_per_record": _record("records", linear_recurrence(10_000), _bytes_per_cell),
        "bytes_per_closure": _bytes_per_closure(linear_recurrence(1_000)),
    }


def _bytes_per_cell(s: Any, xs: Sequence[contad.Var], y: Any) -> dict[str, int]:
    """Bytes of one row, of every array that holds a row per cell."""
    s.gradient(y, xs)
    arrays = {name: getattr(s.buffers, name) for name in s.buffers.__slots__}
    return {name: a.nbytes // len(a) for name, a in arrays.items() if isinstance(a, np.ndarray) and len(a) >= s.top}


def _bytes_per_closure(work: Workload) -> float:
    """What Python allocates for one operation and keeps until the sweep."""
    tracemalloc.start()
    try:
        with opened(engine("closures")) as s:
            x = s.variable(work.point[0])
            before = tracemalloc.get_traced_memory()[0]
            y = work.f(x)
            kept = tracemalloc.get_traced_memory()[0] - before
            s.gradient(y, [x])
    finally:
        tracemalloc.stop()
    return kept / work.operations


# ---- report ----------------------------------------------------------------------------------------------------------
def run(quick: bool) -> dict[str, Any]:
    """All checks, then all figures."""
    workloads = scalar_workloads(steps=1_000 if quick else 100_000, rows=20 if quick else 500)
    for work in workloads:
        check(work)
    repeats = 2 if quick else 5
    return {
        "machine": machine("numpy", "numba"),
        "quick": quick,
        "repeats": repeats,
        "workloads": [measure(work, repeats) for work in workloads],
        "calls": calls(repeats, 200 if quick else 5_000),
        "storage": storage(workloads),
        "startup": startup(1 if quick else 5, quick=quick),
    }  # fmt: skip


def report(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    labels = list(figures["workloads"][0]["gradient"])
    return "\n\n".join(
        [
            "# Scalar code",
            head(figures, f"One thread; the minimum of {figures['repeats']} runs after one that is not counted."),
            "## Value and gradient, ns per operation",
            "The whole call, clean-up included. Noise: by how much two runs of the control (no derivative) differ.",
            _gradient_table(figures["workloads"], labels),
            "## Record + sweep, ns per operation",
            _sweep_table(figures["workloads"], labels),
            "## One call on x * x",
            markdown(("", "us"), [(name, f"{us:.2f}") for name, us in figures["calls"].items()]),
            "## Storage",
            _storage_table(figures["storage"]),
            "## A fresh process",
            startup_table(figures["startup"]),
        ]
    )


def _gradient_table(workloads: Sequence[dict[str, Any]], labels: Sequence[str]) -> str:
    header = ("work", "operations", "no derivative", "noise", "by hand", *labels, "forward")
    rows = []
    for w in workloads:
        engines = [f"{w['gradient'][label]['call']:.0f}" for label in labels]
        control = (f"{w['control']:.1f}", f"{w['noise']:.1%}")
        rows.append((w["name"], str(w["operations"]), *control, f"{w['by_hand']:.1f}", *engines, f"{w['forward']:.0f}"))
    return markdown(header, rows)


def _sweep_table(workloads: Sequence[dict[str, Any]], labels: Sequence[str]) -> str:
    rows = []
    for w in workloads:
        parts = [w["gradient"][label] for label in labels]
        sums = [f"{p['record']:.0f} + {p['sweep']:.0f} = {p['record'] + p['sweep']:.0f}" for p in parts]
        rows.append((w["name"], *sums))
    return markdown(("work", *labels), rows)


def _storage_table(stored: dict[str, Any]) -> str:
    widths = stored["bytes_per_record"]
    rows = [(f"bytes per record: {name}", str(size)) for name, size in widths.items()]
    rows.append(("bytes per record, adjoint included", str(sum(widths.values()))))
    rows.append(("bytes per closure, as allocated", f"{stored['bytes_per_closure']:.0f}"))
    per_operation = stored["records_per_operation"].items()
    rows += [(f"records per operation: {name}", f"{count:.3f}") for name, count in per_operation]
    return markdown(("", ""), rows)


def main() -> None:
    """Run and print."""
    asked = parser("scalars", "Time scalar differentiation.").parse_args()
    show(run(asked.quick), report, asked.json)


if __name__ == "__main__":
    main()
