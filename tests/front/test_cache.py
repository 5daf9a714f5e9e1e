"""The disk: a second process compiles nothing, and never runs the gradient of what a function was."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

MODEL = """
import math
from numba import njit

FACTOR = 2.0

@njit(cache=True)
def inner(x):
    return x * x

@njit(cache=True)
def f(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += FACTOR * inner(x[i]) * math.exp(y)
    return total
"""
CALLER = """
import contad
from numba import njit
from model import f

gradient = contad.grad(f)
on_tape = contad.grad(f, engine="tape")

@njit(cache=True)
def by_global(x):
    return gradient(x, 0.0)[0]

@njit(cache=True)
def written_inside(x):
    return contad.grad(f)(x, 0.0)[1]

def closure(g):
    @njit(cache=True)
    def by_closure(x):
        return g(x, 0.0)[1]
    return by_closure

by_closure = closure(gradient)
"""
RUN = """
import numpy as np
from numba.core import event
names = []
class Listen(event.Listener):
    def on_start(self, e): names.append(e.data["dispatcher"].__name__)
    def on_end(self, e): pass
x = np.array([1.0, 2.0])
with event.install_listener("numba:compile", Listen()):
    import caller
    results = [caller.by_global(x), caller.written_inside(x), caller.by_closure(x), caller.gradient(x, 0.0)[1]]
    results.append(caller.on_tape(x, 0.0)[0])
    results = [float(r) for r in results]
print(results, len(names), names)
"""


@pytest.fixture
def project(tmp_path):
    """A folder with a model and its caller; run() gives the results in a process of its own, and what was compiled."""
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "caller.py").write_text(CALLER)

    class Project:
        folder = tmp_path
        cache = tmp_path / "cache"

        def start(self, program=RUN):
            environment = dict(os.environ, CONTAD_CACHE_DIR=str(self.cache), PYTHONDONTWRITEBYTECODE="1")
            environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
            environment.pop("NUMBA_CACHE_DIR", None)
            command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
            return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def finish(self, process):
            out, err = process.communicate(timeout=300)
            assert process.returncode == 0, err
            results, _, rest = out.partition("] ")
            return json.loads(results + "]"), int(rest.split()[0]), out

        def run(self, program=RUN):
            return self.finish(self.start(program))

        def edit(self, name, old, new):
            source = (tmp_path / name).read_text()
            assert source.count(old) == 1
            (tmp_path / name).write_text(source.replace(old, new))

    return Project()


def test_other_processes_compile_nothing_and_see_every_change(project):
    for process in [project.start(), project.start()]:  # together, with an empty cache
        assert project.finish(process)[0] == pytest.approx([4.0, 8.0, 8.0, 8.0, 4.0])
    results, count, out = project.run()
    assert results == pytest.approx([4.0, 8.0, 8.0, 8.0, 4.0]) and count == 0, out

    # the callers' files are as they were, and hold machine code of the old gradient
    project.edit("model.py", "x * x", "x * x * x")
    results, count, _ = project.run()
    assert results == pytest.approx([6.0, 24.0, 24.0, 24.0, 6.0]) and count > 3
    project.edit("model.py", "FACTOR = 2.0", "FACTOR = 3.0")
    assert project.run()[0] == pytest.approx([9.0, 36.0, 36.0, 36.0, 9.0])

    # damage: some files of machine code end in the middle
    damaged = [*(project.cache / "__pycache__").glob("*.nb[ci]")]
    for path in damaged:
        path.write_bytes(path.read_bytes()[: 100 if path.suffix == ".nbc" else 40])
    for path in project.folder.glob("__pycache__/caller*"):
        path.unlink()
    results, count, _ = project.run()
    assert results == pytest.approx([9.0, 36.0, 36.0, 36.0, 9.0]) and count > 0 and damaged

    # all of contad's files are gone, the callers' machine code is there
    results, count, _ = project.run("import contad; contad.clear_cache()" + RUN)
    assert results == pytest.approx([9.0, 36.0, 36.0, 36.0, 9.0]) and count > 0
