"""What a fresh process pays: importing contad, and its first gradient with a cold and with a warm cache.

Every figure is taken inside a new interpreter, so that starting Python itself is not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.timing import markdown

ROOT = Path(__file__).parents[1]
LATER_RULES = 50  # rules registered after contad's own, before the first gradient

_FIRST_GRADIENT = """\
import json, sys
from time import perf_counter
import contad
if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])
    import later_rules
start = perf_counter()
gradient = contad.grad(lambda x: contad.exp(x) * x)(0.5)
seconds = perf_counter() - start
assert abs(gradient - 1.5 * contad.exp(0.5)) < 1e-12
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


def fresh(code: str, *arguments: str, **environment: str) -> float:
    """What a new interpreter prints that runs this code; it finds byte code, as an installed package has it."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT, env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | environment, check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return float(json.loads(done.stdout))


def _imported(names: Iterable[str], repeats: int) -> float:
    """Seconds to import the last of these modules when those before it are there."""
    return min(fresh(_IMPORTS, *names) for _ in range(repeats))


def imports(repeats: int) -> dict[str, float]:
    """Seconds to import Numba, contad, and contad where Numba is there already."""
    _imported(["numba", "contad"], 1)  # byte code written, files in the system's cache
    return {
        "numba": _imported(["numba"], repeats),
        "contad": _imported(["contad"], repeats),
        "contad_over_numba": _imported(["numba", "contad"], repeats),
    }


def first_gradients(repeats: int, *, cold_with_later_rules: bool) -> dict[str, float | None]:
    """Seconds of the first gradient after `import contad`, with an empty and with a filled cache.

    And again where other rules are registered before it, which must make no difference.
    """
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "rules")
        rules.mkdir()
        source = "import contad\n" + "".join(_RULE.format(k=k) for k in range(1, LATER_RULES + 1))
        (rules / "later_rules.py").write_text(source, encoding="utf-8")

        def first(cache: str, *arguments: str) -> float:
            where = str(Path(folder, cache))
            return fresh(_FIRST_GRADIENT, *arguments, CONTAD_CACHE_DIR=where, NUMBA_CACHE_DIR=where + "-numba")

        return {
            "cold": first("a"),
            "warm": min(first("a") for _ in range(repeats)),
            "warm_with_later_rules": min(first("a", str(rules)) for _ in range(repeats)),
            "cold_with_later_rules": first("b", str(rules)) if cold_with_later_rules else None,
        }


def startup(repeats: int, *, quick: bool) -> dict[str, Any]:
    """All figures of a fresh process."""
    return {
        "import": imports(repeats),
        "first_gradient": first_gradients(repeats, cold_with_later_rules=not quick),
        "later_rules": LATER_RULES,
    }


def startup_table(process: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    imports, first, later = process["import"], process["first_gradient"], process["later_rules"]
    rows = [
        ("import numba", imports["numba"]),
        ("import contad", imports["contad"]),
        ("import contad, over import numba", imports["contad_over_numba"]),
        ("first gradient after import contad, empty cache", first["cold"]),
        (f"the same, {later} rules registered before it", first["cold_with_later_rules"]),
        ("first gradient after import contad, filled cache", first["warm"]),
        (f"the same, {later} rules registered before it", first["warm_with_later_rules"]),
    ]
    return markdown(("", "ms"), [(what, "not run" if s is None else f"{s * 1e3:.0f}") for what, s in rows])
