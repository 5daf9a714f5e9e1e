"""The disk: a second process compiles nothing, and never runs the gradient of what a function was."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

MODEL = """
import math
import numpy as np
from numba import njit

FACTOR = 2.0
WEIGHTS = np.array([1.0])

@njit(cache=True)
def inner(x):
    return x * x

@njit(cache=True)
def f(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += WEIGHTS[0] * FACTOR * inner(x[i]) * math.exp(y)
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
    import contad.front.derivative as front
    choose = front.choose
    front.choose = lambda *args: names.append("an engine is asked") or choose(*args)
    caller.f(x, 0.0)  # what its code has frozen must be known, or values are compared
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
            environment = dict(os.environ, CONTAD_CACHE_DIR=str(self.cache), NUMBA_OPT="1")
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
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
    assert project.run()[0] == pytest.approx([4.0, 8.0, 8.0, 8.0, 4.0])  # with an empty cache
    results, count, out = project.run()
    assert results == pytest.approx([4.0, 8.0, 8.0, 8.0, 4.0]) and count == 0, out

    # the callers' files are as they were, and hold machine code of the old gradient
    project.edit("model.py", "x * x", "x * x * x")
    results, count, _ = project.run()
    assert results == pytest.approx([6.0, 24.0, 24.0, 24.0, 6.0]) and count > 3
    project.edit("model.py", "FACTOR = 2.0", "FACTOR = 3.0")
    assert project.run()[0] == pytest.approx([9.0, 36.0, 36.0, 36.0, 9.0])


@pytest.mark.long  # three processes more; damage without callers is in tests/compile/test_machine_code.py
def test_damaged_or_missing_machine_code_of_callers_is_compiled_again(project):
    assert project.run()[0] == pytest.approx([4.0, 8.0, 8.0, 8.0, 4.0])

    # damage: some files of machine code end in the middle
    damaged = [*(project.cache / "__pycache__").glob("*.nb[ci]")]
    for path in damaged:
        path.write_bytes(path.read_bytes()[: 100 if path.suffix == ".nbc" else 40])
    for path in project.folder.glob("__pycache__/caller*"):
        path.unlink()
    results, count, _ = project.run()
    assert results == pytest.approx([4.0, 8.0, 8.0, 8.0, 4.0]) and count > 0 and damaged

    # all of contad's files are gone, the callers' machine code is there
    results, count, _ = project.run("import contad; contad.clear_cache()" + RUN)
    assert results == pytest.approx([4.0, 8.0, 8.0, 8.0, 4.0]) and count > 0


@pytest.mark.long
def test_processes_that_start_together_with_an_empty_cache(project):
    for process in [project.start(), project.start()]:
        assert project.finish(process)[0] == pytest.approx([4.0, 8.0, 8.0, 8.0, 4.0])


CLASSES = """
import enum
from numba import float64, njit
from numba.experimental import jitclass
import contad

class Kind(enum.IntEnum):
    a = 2

@jitclass([("a", float64)])
class Model:
    def __init__(self, a):
        self.a = a
    def rate(self):
        return 2.0 * self.a

@njit
def by_member(x):
    return Kind.a.value * x * x

@njit
def by_method(x):
    return Model(1.0).rate() * x * x

def doubled(x):
    return 2.0 * x

@contad.scalar_rule
def of_user(x):
    return doubled(x) * x

@of_user.partials
def of_user_partials(z, x):
    return 4.0 * x,

@njit
def by_rule(x):
    return 3.0 * of_user(x)
"""


@pytest.mark.long
def test_members_of_enums_methods_of_jitclasses_and_rules_of_users_are_seen_to_change(project):
    (project.folder / "classes.py").write_text(CLASSES)
    program = """
    import contad, classes
    by_rule = [y for e in ("generated", "tape") for y in contad.value_and_grad(classes.by_rule, engine=e)(3.0)]
    print([contad.grad(classes.by_member)(3.0), contad.grad(classes.by_method)(3.0), *by_rule], 0)
    """
    assert project.run(program)[0] == [12.0, 12.0, 54.0, 36.0, 54.0, 36.0]
    project.edit("classes.py", "a = 2\n", "a = 5\n")
    project.edit("classes.py", "2.0 * self.a", "7.0 * self.a")
    project.edit("classes.py", "return 2.0 * x", "return 5.0 * x")
    assert project.run(program)[0] == [30.0, 42.0, 135.0, 36.0, 135.0, 36.0]
    project.edit("classes.py", "return 4.0 * x,", "return 10.0 * x,")
    assert project.run(program)[0][2:] == [135.0, 90.0, 135.0, 90.0]


def test_a_function_without_a_source_is_another_one_when_it_has_a_source(project):
    """The engine that needs the source refuses; where the file is there later, it does not."""
    text = "from numba import njit\n\n@njit\ndef f(x):\n    return x * x * 3.0\n"
    show = "import contad\nprint([contad.grad(f)(2.0), 0.0 + (contad.engine_name(f, args=(2.0,)) == 'tape')], 0)"
    (project.folder / "written.py").write_text(text)
    assert project.run(f"exec({text!r})\n{show}")[0] == [12.0, 1.0]
    assert project.run(f"from written import f\n{show}")[0] == [12.0, 0.0]
