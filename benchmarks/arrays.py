"""What differentiating array code costs: `python -m benchmarks.arrays [--quick] [--json] [--engine NAME ...]`.

For every program: value and gradient by contad, by hand and by the libraries that are installed, beside the function
without derivatives (the control, taken twice). Every gradient is compared with the one by hand before it is timed; a
way that refuses a program is listed with its reason.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import contad
from benchmarks.array_memory import memory
from benchmarks.array_workloads import ArrayWorkload, Chain, chains, element_writes, models
from benchmarks.command import head, machine, parser, show
from benchmarks.comparison.tools import reason, releases
from benchmarks.peers import LIBRARIES, Run, Way, by_hand, peers, recorded, with_contad
from benchmarks.scalars import Disagreement
from benchmarks.timing import collector, interleaved, markdown, noise, seconds_of
from contad.engines import engine as engine_class
from contad.stack import opened

TOLERANCE = 1e-10  # relative to the largest element
CONTROL = "no derivative"
AGAIN = "no derivative, again"
BY_HAND = "by hand"
CALLS = (
    "Value and gradient of a chain of steps, less the same program of one step, per call (an operation, a slice, an "
    "element read or write). Noise: by how much two controls differ."
)
READS = ("x[i] of the argument", "x[i] after contad.to_matvar", "x[i] of an object array of variables")


# ---- checks ----------------------------------------------------------------------------------------------------------
def check(work: ArrayWorkload, way: str, result: Any) -> None:
    """Compare value and gradient of a way with those by hand; raises Disagreement."""
    value, gradient = work.by_hand(*work.point, *work.data)
    got_value, got = result
    _agree(work, f"value by {way}", got_value, value)
    if len(got) != len(gradient):
        raise Disagreement(f"{work.name}: gradient by {way}: expected {len(gradient)} parts, got {len(got)}")
    for k, (a, b) in enumerate(zip(got, gradient, strict=True)):
        _agree(work, f"derivative {k} by {way}", a, b)


def _agree(work: ArrayWorkload, what: str, got: Any, expected: Any) -> None:
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    if got.shape != expected.shape:
        raise Disagreement(f"{work.name}: {what}: expected shape {expected.shape}, got {got.shape}")
    scale = np.max(np.abs(expected))
    error = np.max(np.abs(got - expected))
    if scale == 0.0 or not error <= TOLERANCE * scale:
        raise Disagreement(f"{work.name}: {what}: differs by {error:.3g}, largest element {scale:.3g}")


# ---- times -----------------------------------------------------------------------------------------------------------
class Prepared(NamedTuple):
    """The ways to one gradient that agree with the one by hand, and the control, twice."""

    runs: dict[str, Run]
    first: dict[str, float]  # seconds of the first call
    refused: dict[str, str]  # reasons


def prepare(work: ArrayWorkload, ways: Sequence[Way]) -> Prepared:
    """Call every way once and compare its gradient."""
    f = work.program(np)
    arguments = (*work.point, *work.data)
    runs: dict[str, Run] = {CONTROL: lambda: f(*arguments)}
    first: dict[str, float] = {}
    refused: dict[str, str] = {}
    for way in ways:
        try:
            start = perf_counter()
            run = way.prepare(work)
            result = run()
            first[way.name] = perf_counter() - start
        except Exception as error:
            refused[way.name] = reason(error)
        else:
            check(work, way.name, result)
            runs[way.name] = run
    return Prepared(runs | {AGAIN: runs[CONTROL]}, first, refused)


def measure(work: ArrayWorkload, ways: Sequence[Way], repeats: int, least: float) -> dict[str, Any]:
    """Seconds of one call of each way, of its first call, the reasons of those that refuse, and the noise."""
    prepared = prepare(work, ways)
    seconds = {n: t.seconds for n, t in interleaved(prepared.runs, repeats, least).items()}
    return _figures(work.name, ways, prepared, seconds) | {"noise": noise(seconds[CONTROL], seconds[AGAIN])}


def per_call(chain: Chain, steps: int, ways: Sequence[Way], repeats: int, least: float) -> dict[str, Any]:
    """Seconds per NumPy call of each way: the chain less the same program of one step, timed in the same rounds."""
    whole, empty = prepare(chain.work(steps), ways), prepare(chain.work(1), ways)
    names = [name for name in whole.runs if name in empty.runs]
    runs = {f"{n} {part}": p.runs[n] for n in names for part, p in (("whole", whole), ("empty", empty))}
    times = {n: t.seconds for n, t in interleaved(runs, repeats, least).items()}
    calls = (steps - 1) * chain.calls
    seconds = {n: (times[f"{n} whole"] - times[f"{n} empty"]) / calls for n in names}
    return _figures(chain.step, ways, whole, seconds) | {
        "refused": empty.refused | whole.refused,
        "noise": noise(times[f"{CONTROL} whole"], times[f"{AGAIN} whole"]),
        "calls": chain.calls,
        "steps": steps,
    }


def _figures(name: str, ways: Sequence[Way], prepared: Prepared, seconds: dict[str, float]) -> dict[str, Any]:
    named = [CONTROL, *(way.name for way in ways)]
    return {
        "name": name,
        "ways": named,
        "seconds": {n: seconds[n] for n in named if n in seconds} | {CONTROL: min(seconds[CONTROL], seconds[AGAIN])},
        "first": prepared.first,
        "refused": prepared.refused,
    }


# ---- element by element ----------------------------------------------------------------------------------------------
def element_reads(size: int, engine: str, repeats: int) -> dict[str, Any]:
    """Seconds per element of x[0] + x[1] + ..., for arrays and for object arrays of scalar variables.

    `call` is the whole gradient; `loop` only the reading and adding, which `f` times itself.
    """
    x = np.random.default_rng(17).normal(size=size)
    loops: list[float] = []

    def f(x):
        start = perf_counter()
        total = 0.0
        for i in range(size):
            total = total + x[i]
        loops.append(perf_counter() - start)
        return total

    def after_to_matvar(x):
        return f(contad.to_matvar(x))

    runs: tuple[Run, ...] = (
        lambda: contad.grad(f, engine=engine)(x),
        lambda: contad.grad(after_to_matvar, engine=engine)(x),
        lambda: _through_variables(engine, f, x),
    )
    gradients = dict(zip(READS, runs, strict=True))
    result: dict[str, Any] = {"size": size, "seconds": {}, "refused": {}}
    with collector(on=True):
        for name, run in gradients.items():
            try:
                gradient = run()
            except Exception as error:
                result["refused"][name] = reason(error)
                continue
            if not np.array_equal(gradient, np.ones(size)):
                raise Disagreement(f"reading {size} elements, {name}: the gradient of the sum must be 1 everywhere")
            result["seconds"][name] = {"call": np.inf, "loop": np.inf}
        for _ in range(repeats):
            for name, seconds in result["seconds"].items():
                loops.clear()
                call = seconds_of(gradients[name])
                seconds["call"] = min(seconds["call"], call / size)
                seconds["loop"] = min(seconds["loop"], loops[0] / size)
    return result


def _through_variables(engine: str, f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """The gradient by one scalar variable for each element."""
    with opened(engine_class(engine)) as s:
        variables = np.empty(x.shape, dtype=object)
        variables[:] = [s.variable(v) for v in x.tolist()]
        return np.array(s.gradient(f(variables), list(variables)))


# ---- report ----------------------------------------------------------------------------------------------------------
def run(quick: bool, engines: Sequence[str]) -> dict[str, Any]:
    """All checks and all figures."""
    repeats, least = (2, 0.0) if quick else (9, 0.02)
    ours = [with_contad(name) for name in engines]
    wrapped = [with_contad(name, wrapped=True) for name in engines]
    eager = peers(("autograd", "torch"))
    steps = 20 if quick else 1_000
    writes = [(n, 20 if quick else 10_000) for n in ((10, 100) if quick else (10, 1_000, 100_000))]
    return {
        "machine": machine("numpy", "numba", **releases(LIBRARIES)),
        "quick": quick,
        "repeats": repeats,
        "calls": [per_call(chain, steps, [by_hand(), *ours, *eager], repeats, least) for chain in chains()],
        "writes": [per_call(element_writes(n), k, [by_hand(), *ours], repeats, least) for n, k in writes],
        "models": [
            measure(work, [by_hand(), *ours, *(wrapped if work.data else []), recorded(), *peers()], repeats, least)
            for work in models(quick)
        ],
        "reads": {name: element_reads(200 if quick else 10_000, name, repeats) for name in engines},
        "memory": memory(quick, engines),
    }  # fmt: skip


def report(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    return "\n\n".join(
        [
            "# Array code",
            head(figures, f"One thread; the minimum of {figures['repeats']} rounds in which all ways take turns."),
            "## One NumPy call on arrays of three numbers, us",
            CALLS,
            _calls_table(figures["calls"]),
            "## One element write, us",
            _calls_table(figures["writes"]),
            "## Whole gradients, with the value, us",
            "In brackets the ratio to the function without derivatives, and to the gradient by hand.",
            _models_table(figures["models"]),
            "### The first call, compilation included, ms",
            _first_table(figures["models"]),
            "## Reading elements one by one and adding them, ns per element",
            _reads_table(figures["reads"]),
            "## Memory",
            _memory_table(figures["memory"]),
            *_refusals(figures),
        ]
    )


def _names(works: Sequence[dict[str, Any]]) -> list[str]:
    """All ways, in the order of the work that has most."""
    ordered = sorted(works, key=lambda w: len(w["ways"]), reverse=True)
    return list(dict.fromkeys(name for w in ordered for name in w["ways"]))


def _calls_table(works: Sequence[dict[str, Any]]) -> str:
    names = _names(works)
    rows = []
    for w in works:
        times = [f"{w['seconds'][n] * 1e6:.2f}" if n in w["seconds"] else _absent(w, n) for n in names]
        rows.append((f"`{w['name']}`", str(w["steps"]), str(w["calls"]), f"{w['noise']:.1%}", *times))
    return markdown(("step", "steps", "calls a step", "noise", *names), rows)


def _models_table(works: Sequence[dict[str, Any]]) -> str:
    names = _names(works)
    rows = []
    for w in works:
        seconds = w["seconds"]
        cells = [_with_ratios(seconds[n], seconds) if n in seconds else _absent(w, n) for n in names]
        rows.append((w["name"], f"{w['noise']:.1%}", *cells))
    return markdown(("work", "noise", *names), rows)


def _with_ratios(t: float, seconds: dict[str, float]) -> str:
    return f"{t * 1e6:.1f} ({t / seconds[CONTROL]:.1f}, {t / seconds[BY_HAND]:.1f})"


def _absent(work: dict[str, Any], name: str) -> str:
    return "refused" if name in work["refused"] else "-"


def _first_table(works: Sequence[dict[str, Any]]) -> str:
    names = _names(works)[1:]
    rows = []
    for w in works:
        first = w["first"]
        rows.append((w["name"], *(f"{first[n] * 1e3:.1f}" if n in first else _absent(w, n) for n in names)))
    return markdown(("work", *names), rows)


def _reads_table(reads: dict[str, Any]) -> str:
    rows = []
    for engine, figures in reads.items():
        direct = figures["seconds"].get(READS[0])
        for name, t in figures["seconds"].items():
            ratios = (f"{direct[part] / t[part]:.2f}" if direct else "" for part in ("call", "loop"))
            times = (f"{t['call'] * 1e9:.0f}", f"{t['loop'] * 1e9:.0f}")
            rows.append((f"{engine}, {figures['size']} elements: {name}", *times, *ratios))
        rows += [(f"{engine}: {name}", "refused", "", "", "") for name in figures["refused"]]
    return markdown(("", "whole call", "loop alone", "x[i] of the argument / this, call", "the same, loop"), rows)


def _memory_table(figures: dict[str, Any]) -> str:
    unit = 8 * figures["size"] ** 2
    rows = []
    for name, m in figures["ways"].items():
        if "refused" in m:
            rows.append((name, "refused", "", "", "", ""))
            continue
        grown = f"{m['growth'] / 1024:.0f}"
        traced = f"{m['traced'] / unit:.1f}"
        peak = m["peak"]
        rows.append((name, f"{peak / 1e6:.0f}", f"{peak / unit:.1f}", f"{peak / figures['ideal']:.2f}", traced, grown))
    header = (
        "", "peak growth, MB", "in matrices", "ratio to ideal", "of it Python's allocators, matrices",
        f"growth over {figures['repeats']} repeats, KiB",
    )  # fmt: skip
    text = (
        f"{figures['name']}, the peak of resident memory in a fresh process over that before the call. Ideal: each "
        f"value and each adjoint once, {figures['ideal'] // unit} matrices, {figures['ideal'] / 1e6:.0f} MB. Growth: "
        f"resident memory after repeats of {figures['repeated']}."
    )
    return f"{text}\n\n{markdown(header, rows)}"


def _refusals(figures: dict[str, Any]) -> list[str]:
    """A section on who refused what, if anybody did."""
    refusals = [
        (name, why, f"`{w['name']}`")
        for w in (*figures["calls"], *figures["writes"], *figures["models"])
        for name, why in w["refused"].items()
    ]
    for engine, reads in figures["reads"].items():
        refusals += [(f"contad {engine}", why, name) for name, why in reads["refused"].items()]
    ways = figures["memory"]["ways"].items()
    refusals += [(name, m["refused"], figures["memory"]["name"]) for name, m in ways if "refused" in m]
    works: dict[tuple[str, str], list[str]] = {}
    for name, why, work in refusals:
        works.setdefault((name, why), []).append(work)
    lines = [f"- {name}: {why} ({', '.join(refused)})" for (name, why), refused in works.items()]
    return ["## Refused", "\n".join(lines)] if lines else []


def main() -> None:
    """Run and print."""
    options = parser("arrays", "Time array differentiation.")
    options.add_argument("--engine", nargs="+", default=["matrix"], help="contad's engines to time (default: matrix)")
    asked = options.parse_args()
    show(run(asked.quick, asked.engine), report, asked.json)


if __name__ == "__main__":
    main()
