"""posteriordb: contad beside other tools on the models of a clone of github.com/stan-dev/posteriordb.

`python -m benchmarks posteriordb --data CLONE`. Each posterior has a process of its own (`benchmarks/stan_models.py`).
Stan Math compiles 35 s for each; `--tools stanli,numpyro,pymc` leaves it out.
"""

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.comparison.topic import Choice, Counted, Topic
from benchmarks.stan_models import CLOSE, CONTAD, STAN, TOOLS, list_posteriors

WRONG = "wrong"


def find_tools() -> list[str]:
    """Those of the other tools that are installed."""
    from importlib.util import find_spec

    return [tool for tool in TOOLS if find_spec({STAN: "httpstan"}.get(tool, tool))]


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
    row: dict[str, Any] = {"us": own["seconds"] * 1e6, "first, s": own["first"], "MB": own["memory"] / 1e6}
    wrong = [] if own["error"] <= CLOSE else [f"{own['error']:.1e}"]
    for tool, figures in found.items():
        if tool != CONTAD and "seconds" in figures:
            row |= {f"{tool}, us": figures["seconds"] * 1e6, f"of {tool}": own["seconds"] / figures["seconds"]}
            row |= {f"{tool}: first, s": figures["first"], f"{tool}: MB": figures["memory"] / 1e6}
        elif "error" in figures and tool != CONTAD:
            wrong.append(f"{tool} {figures['error']:.1e}")
    if wrong:
        row["error"] = f"{WRONG}: {', '.join(wrong)}"
    return row


def summarise(parts: dict[str, Any]) -> list[str]:
    """Geometric means of the ratios, losses, and wrong gradients."""
    rows = {name: row for part in parts.values() for name, row in part["table"].items()}
    lines = [f"{name}: {row['error']}" for name, row in rows.items() if "error" in row]
    for tool in TOOLS:
        ratios = {name: row[f"of {tool}"] for name, row in rows.items() if f"of {tool}" in row}
        if ratios:
            mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
            lost = sorted((name for name in ratios if ratios[name] > 1.0), key=lambda name: -ratios[name])
            lines.append(
                f"{mean:.2f} of {tool}'s time in the geometric mean of {len(ratios)}; slower on {len(lost)}: "
                + ", ".join(f"{name} {ratios[name]:.2f}" for name in lost)
            )
    return lines


ABOUT = (
    "contad, stanli and Stan Math are called from one compiled loop. Python calls what numpyro and PyMC have compiled, "
    "which takes some us of a call. MB are those of a process with the tool, over one with NumPy alone."
)
TOPIC = Topic(
    "posteriordb: a value and gradient of models that others chose",
    {"Posteriors": Counted(ABOUT, compare_posteriors, of_programs=True)},
    summarise,
    fail=WRONG,
)
