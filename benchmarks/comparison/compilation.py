"""How long a generated derivative takes to compile: `python -m benchmarks.comparison.compilation`, a process for each.

Processor time of the first call, beside that of the gradient by hand. As for every derivative but the first on a
machine, what derivatives share is in contad's cache, and the derivative itself is not.
"""

import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.comparison.measure import BY_HAND, PRIMAL, arguments, prepare, versions
from benchmarks.comparison.memory import run_in_folder_of_its_own
from benchmarks.comparison.program import Program
from benchmarks.comparison.programs import find_programs
from contad.compile.compiling import cache_directory

GENERATED = "contad generated"
COMPILED = 0.05  # seconds that no gradient by hand takes for its first call unless Numba compiles it
WRITTEN_FOR_ONE = ("generated_*", "derivative_*")  # files in the cache


def both_compile(measured: dict[str, Any]) -> bool:
    """Whether a version that contad writes for a Numba function, and the gradient by hand, are both compiled."""
    return "prepare" in measured.get(GENERATED, {}) and measured.get(BY_HAND, {}).get("prepare", 0.0) > COMPILED


def measure_compilation(program: str) -> dict[str, float] | None:
    """What `compile_both` says, in a new process; None where that process fails."""
    done = run_in_folder_of_its_own([sys.executable, "-m", "benchmarks.comparison.compilation", program])
    return json.loads(done.stdout) if done.returncode == 0 else None


def compile_both(program: Program) -> dict[str, float]:
    """Seconds of the first call by hand and of the engine for Numba functions; the function itself is compiled."""
    size = next(iter(program.sizes))
    made = versions(program, [])
    prepare(PRIMAL, made[PRIMAL], arguments(program, size))()
    found = {}
    for name in (BY_HAND, GENERATED):
        args = arguments(program, size)
        start = process_time()
        prepare(name, made[name], args)()
        found[name] = process_time() - start
    return found


def forget_derivatives(directory: Path) -> None:
    """Remove from contad's cache what was written for one function."""
    for pattern in WRITTEN_FOR_ONE:
        for path in (*directory.glob(pattern), *(directory / "__pycache__").glob(pattern)):
            path.unlink()


if __name__ == "__main__":
    forget_derivatives(cache_directory())
    print(json.dumps(compile_both(find_programs()[sys.argv[1]])))
