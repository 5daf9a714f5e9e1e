"""How much memory a gradient of array code takes: each way in a fresh process, `python -m benchmarks.array_memory`.

The peak is the kernel's high-water mark of resident memory, which counts what Python's allocators do not see; the mark
is reset before the gradient that is measured, after a small one that compiles and fills pools.
"""

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.array_workloads import matrix_products
from benchmarks.comparison.tools import reason
from benchmarks.peers import Run, Way, by_hand, peers, with_contad
from benchmarks.resident import peak_of, resident

ROOT = Path(__file__).parents[1]
PRODUCTS = 10
ELEMENTWISE = ("closures", "records")  # an operation for each of 10^10 products of numbers: not run at full size


def memory(quick: bool, engines: Sequence[str]) -> dict[str, Any]:
    """Peak and growth of every way, in bytes."""
    size, small, repeats = (60, 20, 5) if quick else (1_000, 200, 100)
    if not quick:
        engines = [name for name in engines if name not in ELEMENTWISE]
    names = [way.name for way in _ways(engines)]
    return {
        "name": matrix_products(size, PRODUCTS).name,
        "size": size,
        "repeated": matrix_products(small, PRODUCTS).name,
        "repeats": repeats,
        "ideal": 2 * (PRODUCTS + 2) * 8 * size * size,  # two arguments and each product, values and adjoints
        "ways": {name: _in_fresh_process(name, engines, size, small, repeats) for name in names},
    }


def _ways(engines: Sequence[str]) -> list[Way]:
    return [by_hand(), *map(with_contad, engines), *peers(("autograd", "torch", "jax.jit"))]


def _in_fresh_process(name: str, engines: Sequence[str], *sizes: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.array_memory", json.dumps([name, engines, *sizes])]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"refused": f"its process ended with {done.returncode}"}


def _measured(way: Way, size: int, small: int, repeats: int) -> dict[str, Any]:
    try:
        repeated = way.prepare(matrix_products(small, PRODUCTS))
        repeated()
        large = way.prepare(matrix_products(size, PRODUCTS))
        peak = peak_of(large)
    except Exception as error:
        return {"refused": reason(error)}
    large()  # pools reach their size before the repeats
    traced = _traced(large)
    for _ in range(repeats // 10):
        repeated()
    before = resident()
    for _ in range(repeats):
        repeated()
    return {"peak": peak, "traced": traced, "growth": resident() - before}


def _traced(run: Run) -> int:
    """Bytes at the peak of run() of what Python's and NumPy's allocators hand out."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    name, engines, size, small, repeats = json.loads(sys.argv[1])
    [way] = [way for way in _ways(engines) if way.name == name]
    print(json.dumps(_measured(way, size, small, repeats)))
