"""A run of the comparison: what is measured, in which order, on what machine."""

import gc
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np

import contad
from benchmarks.comparison.compilation import both_compile, measure_compilation
from benchmarks.comparison.measure import Effort, measure
from benchmarks.comparison.memory import measure_memory, run_in_folder_of_its_own
from benchmarks.comparison.program import Program
from benchmarks.comparison.programs import find_programs
from benchmarks.comparison.tools import TOOLS, find_installed, find_releases, list_skipped
from contad.engines.matrix import summed_formulas
from contad.progress_bars import has_watcher

ROOT = Path(__file__).parents[2]
FULL, QUICK = Effort(40, 2e-3, 2.0), Effort(7, 1e-3, 0.1)


def run(
    chosen: Mapping[str, Program],
    tools: Sequence[str] = tuple(TOOLS),
    sizes: Sequence[str] = (),
    *,
    quick: bool = False,
    keep: Callable[[dict[str, Any]], None] = lambda figures: None,
) -> dict[str, Any]:
    """All figures, as JSON can hold them; `sizes` are all if none is named, and the smallest in a quick run.

    A whole run takes long: `keep` gets the figures so far after each program.
    """
    effort = QUICK if quick else FULL
    figures: dict[str, Any] = describe_run(tools) | {"quick": quick, "effort": effort._asdict(), "programs": []}
    bar = Progress(len(chosen) if quick else 2 * len(chosen))
    for name, program in chosen.items():
        run_at = [s for s in program.sizes if s in sizes] if sizes else list(program.sizes)[: 1 if quick else None]
        about = {"name": name, "about": program.about, "remarks": program.remarks, "idioms": dict(program.idioms)}
        bar.step(name)
        if quick:
            found = about | {"sizes": measure_sizes(program, run_at, tools, effort)}
        else:
            found = about | measure_apart(name, run_at, tools, effort)
            bar.step(f"{name}, memory and compilation")
            _add_memory(name, found["sizes"])
            if any(both_compile(measured["versions"]) for measured in found["sizes"].values()):
                found["compilation"] = measure_compilation(name)
        figures["programs"].append(found)
        keep(figures)
    bar.close()
    return figures


def measure_sizes(program: Program, sizes: Sequence[str], tools: Sequence[str], effort: Effort) -> dict[str, Any]:
    """The figures of every size."""
    for name in find_installed(tools):
        import_module(name)
    compile_once()
    with set_libraries_aside():
        return {size: measure(program, size, tools, effort) for size in sizes}


def measure_apart(name: str, sizes: Sequence[str], tools: Sequence[str], effort: Effort) -> dict[str, Any]:
    """The figures of every size as `sizes`, taken in a new process, which gives back its memory; or how it `ended`."""
    command = [sys.executable, "-m", "benchmarks.comparison.run", json.dumps([name, sizes, tools, effort])]
    done = run_in_folder_of_its_own(command)
    if done.returncode:
        return {"sizes": {}, "ended": f"its process ended with {done.returncode}: {done.stderr.strip()[-300:]}"}
    return {"sizes": json.loads(done.stdout)}


@contextmanager
def set_libraries_aside() -> Iterator[None]:
    """Keep Python's collector from walking what libraries have made at import, while others are timed."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def compile_once() -> None:
    """Let contad compile what does not depend on the function that is differentiated, so far as it is not there."""

    def square(x: Any) -> Any:
        return x * x

    contad.record(square, 1.5).value_and_grad(1.5)
    contad.grad(lambda x: np.sum(square(x)))(np.ones(3))
    for engine in ("tape", "generated"):
        contad.grad(numba.njit(square), engine=engine)(1.5)


def _add_memory(program: str, sizes: dict[str, Any]) -> None:
    for size in list(sizes)[-1:]:
        for name, found in sizes[size]["versions"].items():
            if "prepare" in found:
                found["memory"] = (measure_memory(program, name, size) or {}).get("memory")


def describe_run(tools: Sequence[str]) -> dict[str, Any]:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": "python -m benchmarks " + " ".join(sys.argv[1:]),
        "machine": describe_machine(
            "numpy", "numba", "scipy", **find_releases(tools),
            commit=commit.stdout.strip() or "unknown", processor=find_processor(), load=round(os.getloadavg()[0], 2),
        ),
        "settings": {name: TOOLS[name].settings for name in find_installed(tools)},
        "skipped": list_skipped(tools),
    }  # fmt: skip


def describe_machine(*libraries: str, **others: Any) -> dict[str, Any]:
    """Python, the system, the number of cores, and the releases of libraries."""
    system = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    return system | {"cores": os.cpu_count()} | {name: version(name) for name in libraries} | others


def find_processor() -> str:
    """The name that Linux gives the processor."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


class Progress:
    """How far a run is, on the standard error: a bar on a terminal, by tqdm if installed, else a line for each step.

    It is drawn between steps alone: nothing else runs while something is timed.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.bar: Any = None
        if has_watcher():
            with suppress(ImportError):
                from tqdm import tqdm

                self.bar = type("Bar", (tqdm,), {"monitor_interval": 0})(total=total, leave=False, dynamic_ncols=True)

    def step(self, what: str) -> None:
        """Begin the next of the steps."""
        if self.bar is not None:
            self.bar.n = self.done
            self.bar.set_description(what)
        self.done += 1
        if self.bar is None:
            print(f"{self.done}/{self.total} {what}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """The run has ended."""
        if self.bar is not None:
            self.bar.close()


if __name__ == "__main__":
    summed_formulas.LOADING = summed_formulas.COMPILING = 0.0  # sums of densities are compiled from the first one on
    name, sizes, tools, effort = json.loads(sys.argv[1])
    print(json.dumps(measure_sizes(find_programs()[name], sizes, tools, Effort(*effort))))
