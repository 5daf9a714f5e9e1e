"""What a fresh process pays: importing contad, and its first gradient with an empty and with a filled cache.

Every figure is taken inside a new interpreter, so that starting Python itself is not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.comparison.topic import EVERYTHING, Choice, Counted, Topic

ROOT = Path(__file__).parents[2]
LATER_RULES = 50  # rules registered after contad's own, before the first gradient
LATER = f"the same, {LATER_RULES} rules registered before it"

_FIRST_GRADIENT = """\
import json, sys
from time import perf_counter
import contad
if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])
    import later_rules
start = perf_counter()
gradient = contad.grad(lambda x: contad.ops.exp(x) * x)(0.5)
seconds = perf_counter() - start
assert abs(gradient - 1.5 * contad.ops.exp(0.5)) < 1e-12
print(json.dumps(seconds))
"""

_IMPORTS = """\
import json, sys
from time import perf_counter
for name in sys.argv[1:]:
    start = perf_counter()
    __import__(name)
print(json.dumps(perf_counter() - start))
"""

_RULE = """
@contad.scalar_rule
def later_{k}(x):
    return x * x * {k}.0

@later_{k}.partials
def later_{k}_partials(z, x):
    return 2.0 * x * {k}.0
"""

# the first gradient of a function that is compiled already
_FIRST_OF_COMPILED = """\
import json, sys
from time import perf_counter
import contad
{named}
function(*args)
start = perf_counter()
contad.value_and_grad(function, argnums, engine={engine!r})(*args)
print(json.dumps(perf_counter() - start))
"""


def run_fresh(code: str, *arguments: str, **environment: str) -> float:
    """What a new interpreter prints that runs this code; it finds byte code, as an installed package has it."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT, env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | environment, check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return float(json.loads(done.stdout))


def time_first_gradients(named: str, engine: str | None = None, repeats: int = 1, other: str = "") -> dict[str, float]:
    """Seconds of the first gradient of a process, the function being compiled: with an empty, and with a filled cache.

    `named` is code that gives `function`, `args` and `argnums`. If there is code of another function, it goes first, so
    that what contad compiles for all functions is not counted.
    """
    with tempfile.TemporaryDirectory() as folder:

        def first(named: str) -> float:
            code = _FIRST_OF_COMPILED.format(named=named, engine=engine)
            return run_fresh(code, CONTAD_CACHE_DIR=f"{folder}/contad", NUMBA_CACHE_DIR=f"{folder}/numba")

        if other:
            first(other)
        return {"empty cache": first(named), "filled cache": min(first(named) for _ in range(repeats))}


def _import(names: Iterable[str], repeats: int) -> float:
    """Seconds to import the last of these modules when those before it are there."""
    return min(run_fresh(_IMPORTS, *names) for _ in range(repeats))


def time_imports(choice: Choice = EVERYTHING) -> dict[str, dict[str, float]]:
    """Seconds to import Numba, contad, and contad where Numba is there already."""
    repeats = 1 if choice.quick else 9
    _import(["numba", "contad"], 1)  # byte code written, files in the system's cache
    return {
        "import numba": {"ms": _import(["numba"], repeats)},
        "import contad": {"ms": _import(["contad"], repeats)},
        "import contad, over import numba": {"ms": _import(["numba", "contad"], repeats)},
    }


def time_first_calls(choice: Choice = EVERYTHING) -> dict[str, dict[str, float | None]]:
    """Seconds of the first gradient after `import contad`, and where other rules are registered before it."""
    repeats = 1 if choice.quick else 9
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "rules")
        rules.mkdir()
        source = "import contad\n" + "".join(_RULE.format(k=k) for k in range(1, LATER_RULES + 1))
        (rules / "later_rules.py").write_text(source, encoding="utf-8")

        def first(cache: str, *arguments: str) -> float:
            where = str(Path(folder, cache))
            return run_fresh(_FIRST_GRADIENT, *arguments, CONTAD_CACHE_DIR=where, NUMBA_CACHE_DIR=where + "-numba")

        return {
            "empty cache": {"ms": first("a"), LATER: None if choice.quick else first("b", str(rules))},
            "filled cache": {
                "ms": min(first("a") for _ in range(repeats)),
                LATER: min(first("a", str(rules)) for _ in range(repeats)),
            },
        }


TOPIC = Topic(
    "Start-up",
    {
        "Imports": Counted(
            "Each figure in new processes. contad over Numba may take 100 ms, and should take 60.", time_imports, "ms"
        ),
        "The first gradient after import contad": Counted(
            "Other rules may make no difference, because the compiled sweep does not depend on them.",
            time_first_calls, "ms",
        ),
    },
)  # fmt: skip
