"""One posterior of posteriordb: contad's value and gradient beside those of other tools, as a process.

`python -m benchmarks.stan_models CLONE POSTERIOR TOOL ...` prints JSON. The program is translated from Stan as
`python -m contad stan` does it. contad, stanli and Stan Math are called through BridgeStan's C signature from one
compiled loop. numpyro and PyMC have models of their own, and Python calls what they have compiled.
"""

import copy
import ctypes
import importlib.util
import inspect
import json
import math
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.resident import PEAK, read_resident, reset_peak, trim
from benchmarks.timing import take_turns

Repeat = Callable[[np.ndarray, np.ndarray, int], int]  # (u, gradient, calls): writes the gradient, and counts failures
SIGNATURE = (
    ctypes.c_int, ctypes.c_void_p, ctypes.c_bool, ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
    ctypes.c_void_p,
)  # fmt: skip
CONTAD, STAN = "contad", "Stan Math"
MODULES = {"numpyro": "benchmarks.numpyro_models", "pymc": "benchmarks.pymc_models"}  # with models of other tools
CLOSE = 1e-9  # the largest relative difference of gradients that is none
TIGHT = ("1e-12", "1e-12", "1e8")  # relative and absolute tolerance, and the most steps
PLACES = {  # by index: numbers around which points are drawn, where there is no gradient around 0
    "kronecker_gp": {1: 3.0},  # bw1: eigenvalues of smoother kernels are equal in float64, and their vectors arbitrary
    "sir": {0: -0.7, 1: -1.5, 2: 2.0, 3: -1.0},  # elsewhere the epidemic ends soon, and its increments have no digits
}
DRIVER = """\
#include <sstream>
#include <stan/io/json/json_data.hpp>
#include <stan/model/model_base.hpp>
#include "model.hpp"

extern "C" void* make_model(const char* data) {
  std::istringstream text(data);
  stan::json::json_data context(text);
  return &new_model(context, 1, nullptr);
}

extern "C" int compute_gradient(const void* model, bool, bool, const double* u, double* value, double* slope, char**) {
  auto& density = *static_cast<const stan::model::model_base*>(model);
  Eigen::Matrix<stan::math::var, Eigen::Dynamic, 1> x(density.num_params_r());
  int failed = 0;
  try {
    for (int i = 0; i < x.size(); ++i) x(i) = u[i];
    stan::math::var z = density.log_prob_propto_jacobian(x, nullptr);
    *value = z.val();
    z.grad();
    for (int i = 0; i < x.size(); ++i) slope[i] = x(i).adj();
  } catch (...) {
    failed = 1;
  }
  stan::math::recover_memory();
  return failed;
}
"""
OPTIONS = [
    "-O3",
    "-std=c++14",
    "-fPIC",
    "-shared",
    "-w",
    "-D_REENTRANT",
    "-D_GLIBCXX_USE_CXX11_ABI=0",
    "-DBOOST_DISABLE_ASSERTS",
    "-DBOOST_PHOENIX_NO_VARIADIC_EXPRESSION",
]  # those of httpstan


class Posterior:
    """A program and its data in a clone of posteriordb."""

    def __init__(self, clone: Path, name: str) -> None:
        folder = next(path for path in (clone / "posterior_database", clone) if (path / "models").exists())
        about = json.loads((folder / "posteriors" / f"{name}.json").read_text())
        self.program = folder / "models" / "stan" / f"{about['model_name']}.stan"
        with zipfile.ZipFile(folder / "data" / "data" / f"{about['data_name']}.json.zip") as archive:
            self.data = json.loads(archive.read(archive.namelist()[0]))

    def tighten(self, folder: Path) -> "Posterior":
        """The posterior with tight tolerances of solvers, at which gradients of all tools agree; itself without any."""
        text = self.program.read_text()
        found = tighten_solvers(text)
        if found == text:
            return self
        tight = copy.copy(self)
        folder.mkdir()
        tight.program = folder / self.program.name
        tight.program.write_text(found)
        return tight


def tighten_solvers(text: str) -> str:
    """A Stan program whose calls of integrate_ode have the tolerances `TIGHT`; these follow seven arguments."""
    parts, end = [], 0
    for found in re.finditer(r"\bintegrate_ode_\w+\(", text):
        depth, commas, k = 1, list[int](), found.end()
        while depth:
            depth += (text[k] in "([{") - (text[k] in ")]}")
            commas += [k] * (depth == 1 and text[k] == ",")
            k += 1
        parts += [text[end : [*commas, k - 1][6]], *(f", {x}" for x in TIGHT), ")"]
        end = k
    return "".join([*parts, text[end:]])


def list_posteriors(clone: Path) -> Iterator[str]:
    """The names of those whose data are there, in order."""
    folder = next(path for path in (clone / "posterior_database", clone) if (path / "models").exists())
    for path in sorted((folder / "posteriors").glob("*.json")):
        if (folder / "data" / "data" / f"{json.loads(path.read_text())['data_name']}.json.zip").exists():
            yield path.stem


# ---- the tools: each gives a loop of calls ---------------------------------------------------------------------------
def prepare_contad(posterior: Posterior, folder: str) -> Repeat:
    from contad.stan.translation.translated_file import translate

    path = Path(folder, "translated_model.py")
    path.write_text(translate(posterior.program))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = inspect.signature(module.model).parameters
    model = module.model(**{name: posterior.data[name] for name in names})
    return repeat_calls(model.cfunc("bridgestan").ctypes, 0)


def prepare_stan(posterior: Posterior, folder: str) -> Repeat:
    import httpstan

    package = Path(httpstan.__file__).parent
    library = f"{folder}/model.so"
    if not Path(library).exists():
        Path(folder, "driver.cpp").write_text(DRIVER)
        made = [f"--name=model_{posterior.program.stem}", f"--o={folder}/model.hpp", str(posterior.program)]
        subprocess.run([package / "stanc", *made], check=True)
        libraries = ["-lsundials_cvodes", "-lsundials_idas", "-lsundials_nvecserial", "-ltbb"]
        places = [f"-I{package / 'include'}", f"-L{package / 'lib'}", f"-Wl,-rpath,{package / 'lib'}"]
        subprocess.run(["g++", *OPTIONS, f"{folder}/driver.cpp", "-o", library, *places, *libraries], check=True)
    loaded = ctypes.CDLL(library)
    loaded.make_model.restype = ctypes.c_void_p
    return repeat_calls(loaded.compute_gradient, loaded.make_model(json.dumps(posterior.data).encode()))


def prepare_stanli(posterior: Posterior, folder: str) -> Repeat:
    import stanli

    loaded = ctypes.CDLL(str(next((Path(stanli.__file__).parent / "_bin").glob("libstanli.*"))))
    loaded.bs_model_construct.restype = ctypes.c_void_p
    loaded.bs_model_construct.argtypes = ctypes.c_char_p, ctypes.c_uint, ctypes.c_void_p
    text = stanli.stan_to_mir(posterior.program.read_text())
    given = posterior.data | {"__stanli": {"build_id": stanli.build_id(), "mir": text, "name": posterior.program.stem}}
    model = loaded.bs_model_construct(json.dumps(given).encode(), 1, None)
    return repeat_calls(loaded.bs_log_density_gradient, model)


def prepare_peer(tool: str, posterior: Posterior, folder: str) -> Repeat:
    """The gradient of a model that `MODULES` has."""
    found: Repeat = import_module(MODULES[tool]).compile_gradient(posterior.program.stem, posterior.data)
    return found


TOOLS: dict[str, Callable[[Posterior, str], Repeat]] = {
    CONTAD: prepare_contad, "stanli": prepare_stanli, STAN: prepare_stan,
    **{tool: partial(prepare_peer, tool) for tool in MODULES},
}  # fmt: skip


def has_model(tool: str, posterior: Posterior) -> bool:
    """Whether a tool can take a posterior at all."""
    return tool not in MODULES or posterior.program.stem in import_module(MODULES[tool]).MODELS


def repeat_calls(function: Any, model: int) -> Repeat:
    """Calls of a C function with BridgeStan's signature. A loop of several is compiled."""
    function.restype, function.argtypes = SIGNATURE[0], SIGNATURE[1:]
    value = np.zeros(1)
    held: list[Any] = []

    def repeat(u: np.ndarray, slope: np.ndarray, calls: int) -> int:
        if calls == 1:
            failed: int = function(model, True, True, u.ctypes.data, value.ctypes.data, slope.ctypes.data, None)
            return failed
        if not held:
            held.append(compile_loop(function, model))
        counted: int = held[0](u, value, slope, calls)
        return counted

    return repeat


def compile_loop(function: Any, model: int) -> Any:
    """The loop in machine code."""
    import numba  # here, because it would count as memory of the other tools

    @numba.njit
    def loop(u: np.ndarray, value: np.ndarray, slope: np.ndarray, calls: int) -> int:
        failed = 0
        for _ in range(calls):
            failed += function(model, True, True, u.ctypes, value.ctypes, slope.ctypes, 0)
        return failed

    return loop


# ---- a posterior -----------------------------------------------------------------------------------------------------
def measure(clone: Path, name: str, tools: list[str], points: int = 2) -> dict[str, Any]:
    """By tool: seconds of a value and gradient, of the preparation with the first one, the error, and bytes.

    They are measured at the first points where every tool finds a gradient. The error is that beside stanli, if it is
    there: the Stan Math of httpstan has simplices of another version of Stan. If the program solves differential
    equations, it is that at tight tolerances. Models that were written anew for another tool are compared with
    contad's, and are not timed if they are wrong.
    """
    from contad.stan.translation.stanc import TranslationError

    posterior = Posterior(clone, name)
    found: dict[str, dict[str, Any]] = {}
    loops: dict[str, Repeat] = {}
    slopes: dict[str, list[np.ndarray]] = {}
    dimension = count_numbers(posterior)
    center = np.zeros(dimension)
    for k, x in PLACES.get(posterior.program.stem, {}).items():
        center[k] = x
    draws = [center + np.random.default_rng(k).normal(size=dimension) * 0.3 * (1 + k % 2) for k in range(10)]
    slope = np.zeros(dimension)
    with tempfile.TemporaryDirectory() as folder:
        tight = posterior.tighten(Path(folder, "tight"))
        for tool in tools:
            if not has_model(tool, posterior):
                continue
            start = perf_counter()
            try:
                loop = TOOLS[tool](posterior, folder)
            except (TranslationError, subprocess.CalledProcessError, RuntimeError) as error:
                found[tool] = {"refused": str(error) or repr(error)}
                continue
            loop(draws[0], slope, 1)
            found[tool] = {"first": perf_counter() - start}
            loops[tool] = loop
            if tight is not posterior and tool not in MODULES:
                loop = TOOLS[tool](tight, str(tight.program.parent))
            results = [(loop(u, slope, 1), slope.copy()) for u in draws]
            slopes[tool] = [np.full(dimension, np.nan) if code else bar for code, bar in results]
        usable = [k for k in range(len(draws)) if all(np.isfinite(bars[k]).all() for bars in slopes.values())][:points]
        if not usable:
            failing = ", ".join(tool for tool, bars in slopes.items() if not any(np.isfinite(x).all() for x in bars))
            reason = f"no gradient of {failing or 'all at once'} at {len(draws)} points"
            return {"posterior": name, "tools": {CONTAD: {"refused": reason}}}
        for tool, bars in slopes.items():
            beside = CONTAD if tool in MODULES else next((t for t in ("stanli", STAN) if t in slopes), tool)
            found[tool]["error"] = max(
                (compare(bars[k], slopes[beside][k]) for k in usable if beside in slopes), default=0.0
            )
        runs, calls = {}, {}
        for tool, loop in loops.items():
            if tool not in MODULES or found[tool]["error"] <= CLOSE:
                run = partial(loop, draws[usable[0]], slope)
                run(2)  # compiles the loop
                calls[tool] = calls_in(2e-3, run)
                runs[tool] = partial(run, calls[tool])
        for tool, timing in take_turns(runs, 20, 2e-3, 2.0, warm=True).items():
            found[tool]["seconds"] = timing.seconds / calls[tool]
            found[tool]["memory"] = measure_apart(clone, name, tool, folder, dimension)
    return {"posterior": name, "numbers": dimension, "tools": found}


def measure_apart(clone: Path, name: str, tool: str, folder: str, dimension: int) -> int:
    """`measure_memory` in a process of its own; folder has what was compiled."""
    code = "import sys; from benchmarks.stan_models import measure_memory; print(measure_memory(*sys.argv[1:]))"
    command = [sys.executable, "-c", code, str(clone), name, tool, folder, str(dimension)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    return int(done.stdout.splitlines()[-1])


def measure_memory(clone: str, name: str, tool: str, folder: str, dimension: str) -> int:
    """Bytes that this process holds at most in a gradient after the first one, over those without the tool.

    That is the tool with its libraries, the data in its form, machine code and workspaces; not what a compiler takes
    while it works.
    """
    posterior, u = Posterior(Path(clone), name), np.zeros(int(dimension))
    slope = np.zeros(len(u))
    before = trim()
    repeat = TOOLS[tool](posterior, folder)
    repeat(u, slope, 1)
    trim()
    reset_peak()
    repeat(u, slope, 1)
    return read_resident(PEAK) - before


def count_numbers(posterior: Posterior) -> int:
    """How many unconstrained numbers a posterior has."""
    import stanli

    return int(stanli.Model(stan_file=str(posterior.program), data=posterior.data).n_unconstrained)


def calls_in(seconds: float, run: Callable[[int], Any]) -> int:
    """How many calls take so many seconds."""
    start = perf_counter()
    run(1)
    return max(1, math.ceil(seconds / max(perf_counter() - start, 1e-8)))


def compare(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference, relative to the largest number of the second."""
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(a - b), initial=0.0) / max(np.max(np.abs(b), initial=0.0), 1e-300))


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2], sys.argv[3:] or ["contad", "stanli"])))
