"""Models of posteriordb in calls 2 to 100 of a process: plain NumPy code, eager and recorded, beside the same in Numba.

Each way of each model has a process of its own. Those of `LIMITS` follow one like it, which has filled the cache. Times
are those of the processor, so that what else the machine does is not counted.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numba
import numpy as np

import contad
from benchmarks.comparison.topic import Choice, Counted, Topic
from benchmarks.real.posteriors import POSTERIORS, Posterior, load
from contad.stan.transforms import Constraint, Parameters

ROOT = Path(__file__).parents[2]
DATA = "POSTERIORDB"  # the variable with the folder of a clone's `posterior_database`
CALLS = 99  # behind the first one
LIMITS = {"eager": 15.0, "record": 3.0}  # of the time in Numba, in the geometric mean
TABLE = "Value and gradient in calls 2 to 100, us"
ABOUT = f"Set {DATA} to the folder with posteriordb's data. `plain` is the function without a derivative."
TOO_LONG = "more than"


def take_apart(transforms: list[Constraint]) -> tuple[str, dict[str, Any]]:
    """The lines by which a Numba function constrains a vector: values v_0, v_1, ..., and the log-Jacobian."""
    lines, known = ["logs = 0.0"], {}
    start = 0
    for k, t in enumerate(transforms):
        known |= {f"constrain_{k}": t.constrain, f"log_jacobian_{k}": t.log_jacobian}
        part = f"u[{start}:{start + t.size}]"
        lines += [f"v_{k} = constrain_{k}({part})", f"logs = logs + log_jacobian_{k}({part})"]
        start += t.size
    return "\n    ".join(lines), known


def write_for_numba(posterior: Posterior, transforms: list[Constraint], count: int) -> Any:
    """The log density as a Numba function of a vector and the data."""
    lines, known = take_apart(transforms)
    data = ", ".join(f"d_{k}" for k in range(count))
    values = ", ".join(f"v_{k}" for k in range(len(transforms)))
    text = f"def log_density(u, {data}):\n    {lines}\n    return model({values}, {data}) + logs\n"
    names = known | {"model": numba.njit(posterior.function)}
    exec(text, names)
    return numba.njit(names["log_density"])


def prepare(name: str, way: str, folder: Path) -> tuple[Any, np.ndarray]:
    """A function of a vector, its value and gradient but for `plain`; and the vector."""
    posterior = POSTERIORS[name]
    data = posterior.take(load(folder, posterior.data))
    transforms = posterior.parameters(*data)
    parameters = Parameters(tuple(transforms))
    point = 0.3 * np.random.default_rng(1).normal(size=parameters.size)

    def log_density(u: Any) -> Any:
        values, logs = parameters.constrain(u)
        return posterior.function(*values, *data) + logs

    if way == "numba":
        given = tuple(np.ascontiguousarray(x) if isinstance(x, np.ndarray) else float(x) for x in data)
        gradient = contad.value_and_grad(write_for_numba(posterior, transforms, len(given)))
        return lambda u: gradient(u, *given), point
    if way == "record":
        return contad.record(log_density, point).value_and_grad, point
    return log_density if way == "plain" else contad.value_and_grad(log_density), point


def time_calls(name: str, way: str, folder: Path) -> tuple[float, Any]:
    """Seconds of a call, of calls 2 to 100, and what one gives."""
    run, point = prepare(name, way, folder)
    found = run(point)
    start = process_time()
    for _ in range(CALLS):
        run(point)
    seconds = (process_time() - start) / CALLS
    return seconds, [np.asarray(x).tolist() for x in (found if isinstance(found, tuple) else (found,))]


def time_fresh(name: str, way: str, folder: Path) -> tuple[float, Any]:
    """`time_calls` in a process of its own, behind one that has filled the cache where the cache counts."""
    code = "import sys; from benchmarks.topics import posteriors; posteriors.print_times(*sys.argv[1:])"
    for _ in range(1 + (way in LIMITS)):
        done = subprocess.run(
            [sys.executable, "-c", code, name, way, str(folder)],
            cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    found: tuple[float, Any] = json.loads(done.stdout)
    return found


def print_times(name: str, way: str, folder: str) -> None:
    """What `time_fresh` reads."""
    print(json.dumps(time_calls(name, way, Path(folder))))


def measure_models(choice: Choice) -> dict[str, dict[str, Any]]:
    """Microseconds of each way, and their ratios to Numba's; none without the data."""
    folder = os.environ.get(DATA)
    table: dict[str, dict[str, Any]] = {}
    for name in POSTERIORS if folder else ():
        if not choice.chooses(name):
            continue
        found = {way: time_fresh(name, way, Path(str(folder))) for way in ("plain", "numba", *LIMITS)}
        for way in LIMITS:
            for x, y in zip(found[way][1], found["numba"][1], strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-8 * np.max(np.abs(y)), err_msg=f"{name}, {way}")
        seconds = {way: seconds for way, (seconds, _) in found.items()}
        table[name] = {f"{way} us": 1e6 * s for way, s in seconds.items()}
        table[name] |= {f"{way} / numba": seconds[way] / seconds["numba"] for way in LIMITS}
    return table


def remark(parts: dict[str, Any]) -> list[str]:
    """The geometric means of the ratios."""
    rows = parts[TABLE]["table"].values()
    lines = []
    for way, limit in LIMITS.items() if rows else ():
        mean = float(np.exp(np.mean(np.log([row[f"{way} / numba"] for row in rows]))))
        words = f", {TOO_LONG} {limit:.0f}" if mean > limit else ""
        lines.append(f"{way}: {mean:.1f} times Numba in the geometric mean of {len(rows)}{words}")
    return lines


TOPIC = Topic("Models of posteriordb", {TABLE: Counted(ABOUT, measure_models, of_programs=True)}, remark, TOO_LONG)
