"""How much memory a gradient takes: each version in a process of its own, `python -m benchmarks.comparison.memory`.

The process first prepares and calls the version at the smallest size, so that libraries, compilers and first pools
are there. What counts is the high-water mark of resident memory in one call at the size asked for, over resident memory
before that size was prepared, its inputs being there. So it contains what preparation keeps: tapes, workspaces, copies
of the inputs, machine code; but not what a compiler takes while it works.
"""

import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.comparison.measure import arguments, prepare, versions
from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.programs import find_programs
from benchmarks.comparison.tools import TOOLS, describe_error
from benchmarks.resident import PEAK, read_resident, reset_peak, trim

ROOT = Path(__file__).parents[2]


def measure_memory(program: str, version: str, size: str, repeats: int = 0) -> dict[str, Any] | None:
    """What `account` says of one version, in a new process; None where that process fails.

    A program that is none of the comparison is named "module:NAME".
    """
    command = [sys.executable, "-m", "benchmarks.comparison.memory", program, version, size, str(repeats)]
    done = run_in_folder_of_its_own(command)
    return json.loads(done.stdout) if done.returncode == 0 else None


def run_in_folder_of_its_own(command: list[str], environment: Mapping[str, str] = os.environ) -> Any:
    """The completed process: CasADi writes what it compiles to where it is."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(environment) | {"PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def account(program: Program, name: str, size: str, repeats: int = 0) -> dict[str, Any]:
    """Bytes of one version, in this process.

    `memory` is the peak over what was there before preparation, `peak` that over what was there before the call.
    With `repeats`, `traced` is what Python's and NumPy's allocators hand out of it, and `growth` what so many more
    calls at the smallest size leave. A version that refuses has `raised` with its reason.
    """
    version = versions(program, [name.partition(" ")[0]] if name.partition(" ")[0] in TOOLS else [])[name]
    try:
        small = prepare(name, version, arguments(program, next(iter(program.sizes))))
        small()
        args = arguments(program, size)
        before = trim()
        run = prepare(name, version, args)
        ready = trim()
        reset_peak()
        run()
        top = read_resident(PEAK)
    except Exception as error:
        return {"raised": describe_error(error)}
    found = {"memory": top - before, "peak": top - ready}
    return found | {"traced": _trace(run), "growth": _grow(small, repeats)} if repeats else found


def _trace(run: Run) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _grow(run: Run, repeats: int) -> int:
    for _ in range(repeats // 10 + 1):
        run()
    before = read_resident()
    for _ in range(repeats):
        run()
    return read_resident() - before


if __name__ == "__main__":
    name, version, size, repeats = sys.argv[1:]
    module, _, attribute = name.partition(":")
    program = getattr(import_module(module), attribute) if attribute else find_programs()[name]
    print(json.dumps(account(program, version, size, int(repeats))))
