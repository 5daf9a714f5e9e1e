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
from pathlib import Path
from typing import Any

from benchmarks.comparison.measure import arguments, prepared, versions
from benchmarks.comparison.program import Program
from benchmarks.comparison.programs import programs
from benchmarks.comparison.tools import TOOLS
from benchmarks.resident import PEAK, reset_peak, resident, trimmed

ROOT = Path(__file__).parents[2]


def memory(program: str, version: str, size: str) -> int | None:
    """Bytes of one version, taken in a new process; None where that process fails."""
    command = [sys.executable, "-m", "benchmarks.comparison.memory", program, version, size]
    done = in_a_folder_of_its_own(command)
    return int(json.loads(done.stdout)) if done.returncode == 0 else None


def in_a_folder_of_its_own(command: list[str]) -> Any:
    """The completed process: CasADi writes what it compiles to where it is."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def growth(program: Program, name: str, size: str) -> int:
    """Bytes of one version, in this process."""
    version = versions(program, [name] if name in TOOLS else [])[name]
    prepared(name, version, arguments(program, next(iter(program.sizes))))()
    args = arguments(program, size)
    before = trimmed()
    run = prepared(name, version, args)
    trimmed()
    reset_peak()
    run()
    return resident(PEAK) - before


if __name__ == "__main__":
    name, version, size = sys.argv[1:]
    print(json.dumps(growth(programs()[name], version, size)))
