"""posteriordb: contad beside Stan Math and stanli on the models of a clone of github.com/stan-dev/posteriordb.

`python -m benchmarks posteriordb --data CLONE`. Each posterior has a process of its own (`benchmarks/stan_models.py`).
Stan Math compiles 35 s for each; `--tools stanli` leaves it out.
"""

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.comparison.topic import Choice, Counted, Topic
from benchmarks.stan_models import STAN, TOOLS, list_posteriors

CONTAD = "contad"
PACKAGES = {"stanli": "stanli", STAN: "httpstan"}
CLOSE = 1e-9  # the largest relative difference of gradients that is none
WRONG = "wrong"


def find_tools() -> list[str]:
    """Those of the other tools that are installed."""
    from importlib.util import find_spec

    return [tool for tool in TOOLS if tool == CONTAD or find_spec(PACKAGES[tool])]


def compare_posteriors(choice: Choice) -> dict[str, dict[str, Any]]:
    """A row for each posterior: microseconds of a value and gradient, ratios, seconds to the first one, the error."""
    if choice.data is None:
        return {}
    tools = [tool for tool in find_tools() if not choice.tools or tool == CONTAD or tool in choice.tools]
    table = {}
    for name in filter(choice.chooses, list_posteriors(choice.data)):
        command = [sys.executable, "-m", "benchmarks.stan_models", str(choice.data), name, *tools]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
        lines = done.stdout.splitlines()
        found = json.loads(lines[-1])["tools"] if lines else {CONTAD: {"refused": done.stderr[-300:]}}
        table[name] = make_row(found)
    return table


def make_row(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of a posterior."""
    own = found[CONTAD]
    if "refused" in own:
        return {"us": f"refused: {own['refused'].strip().splitlines()[-1]}"}
    row: dict[str, Any] = {"us": own["seconds"] * 1e6, "first, s": own["first"]}
    for tool, figures in found.items():
        if tool != CONTAD and "seconds" in figures:
            row |= {f"{tool}, us": figures["seconds"] * 1e6, f"of {tool}": own["seconds"] / figures["seconds"]}
            row[f"{tool}: first, s"] = figures["first"]
    if not own.get("error", 0.0) <= CLOSE:
        row["error"] = f"{WRONG}: {own['error']:.1e}"
    return row


def summarise(parts: dict[str, Any]) -> list[str]:
    """Geometric means of the ratios, losses, and wrong gradients."""
    rows = {name: row for part in parts.values() for name, row in part["table"].items()}
    lines = [f"{name}: {row['error']}" for name, row in rows.items() if "error" in row]
    for tool in PACKAGES:
        ratios = {name: row[f"of {tool}"] for name, row in rows.items() if f"of {tool}" in row}
        if ratios:
            mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
            lost = sorted((name for name in ratios if ratios[name] > 1.0), key=lambda name: -ratios[name])
            lines.append(
                f"{mean:.2f} of {tool}'s time in the geometric mean of {len(ratios)}; slower on {len(lost)}: "
                + ", ".join(f"{name} {ratios[name]:.2f}" for name in lost)
            )
    return lines


TOPIC = Topic(
    "posteriordb: a value and gradient of models that others chose",
    {"Posteriors": Counted("All tools are called from one compiled loop.", compare_posteriors, of_programs=True)},
    summarise,
    fail=WRONG,
)
