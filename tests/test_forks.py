"""Forks: a child never waits for a thread that it does not have, whatever that did when its parent forked."""

import ast
import functools
import importlib
import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from contextlib import contextmanager

import pytest

from contad import forks
from tests.judges.sources import SOURCES, parse

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
LOCKS = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier", "Queue", "SimpleQueue"}
# what needs no child: a file, and why
HELD_BY_NOBODY = {
    "contad.variables.level": "a lock for each thread, which no other closes",
    "contad.python_objects.laid_arrays": "an example of its class, which is never closed",
    "contad.python_objects.number_operators": "an example of its class, which is never closed",
    "contad.python_objects.python_objects": "an example of its class, closed for a moment",
}
WITH_LOCKS = (
    "contad.engines.matrix.kernel_records", "contad.engines.stream.kernels", "contad.compile.machine_code",
    "contad.programs.member_groups", "contad.programs.program_kernels", "contad.stan.functionals.messages",
    "contad.transforms.debugging",
)  # fmt: skip


# ---- every lock is known ---------------------------------------------------------------------------------------------
def unknown_locks(source):
    """The lines that make a lock or an event of `threading` of which children of a fork are not told."""
    tree = parse(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    told = {id(x) for node in calls if ast.unparse(node.func).endswith("renew_in_children") for x in node.args}
    names = [(node, ast.unparse(node.func).rpartition(".")[2]) for node in calls]
    return [node.lineno for node, name in names if name in LOCKS and id(node) not in told]


def test_every_lock_is_one_that_children_find_open():
    found = {module: unknown_locks(source) for module, source in SOURCES.items()}
    assert {module for module, lines in found.items() if lines} == HELD_BY_NOBODY.keys()


@pytest.mark.parametrize("text", ["_lock = threading.Lock()", "x = RLock()", "e = Event()"])
def test_a_lock_that_children_are_not_told_of_is_found(text):
    assert unknown_locks(text)
    assert not unknown_locks("lock = make_lock()\nended = renew_in_children(threading.Event())")


def test_every_lock_of_a_module_is_registered():
    kinds = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Event)
    modules = [importlib.import_module(name) for name in WITH_LOCKS]
    found = [(m.__name__, name, x) for m in modules for name, x in vars(m).items() if isinstance(x, kinds)]
    assert [name for name, _, lock in found if lock not in forks._renewed] == []
    assert len(found) >= 5


@needs_fork
def test_a_child_finds_modules_whole_that_another_thread_was_importing(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(1.0)\nx = 3.0\n")
    thread = threading.Thread(target=importlib.import_module, args=["slow_to_import"])
    thread.start()
    while "slow_to_import" not in sys.modules:
        time.sleep(0.001)
    assert in_child(lambda: importlib.import_module("slow_to_import").x, 10.0)
    thread.join()


# ---- what a child finds ----------------------------------------------------------------------------------------------
def in_child(function, seconds=20.0):
    """Whether a function returns in a child within so many seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks where there are threads
        child = os.fork()
    if not child:
        code = 1
        try:
            function()
            code = 0
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


@contextmanager
def held_elsewhere(*locks):
    """Inside, another thread holds the locks."""
    ready, ended = threading.Event(), threading.Event()

    def hold():
        for lock in locks:
            lock.acquire()
        ready.set()
        ended.wait()
        for lock in locks:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Example:
    """A class with a property that is computed once."""

    @functools.cached_property
    def number(self):
        return 3.0


@needs_fork
def test_locks_that_another_thread_holds_are_open_in_a_child():
    for name in WITH_LOCKS:
        importlib.import_module(name)
    locks = [x for x in forks._renewed if x not in forks._held and hasattr(x, "acquire")]
    assert len(locks) >= 6

    def close():
        for lock in locks:
            assert lock.acquire(timeout=5.0)
            lock.release()

    with held_elsewhere(*locks):
        assert in_child(close)
        assert not any(lock.acquire(blocking=False) for lock in locks)  # the parent's are as they were
    with held_elsewhere(planted := threading.RLock()):  # of one that is not registered the judge tells
        assert not in_child(lambda: planted.acquire(timeout=0.1) or 1 / 0)


@needs_fork
def test_a_lock_that_the_thread_holds_itself_stays_closed():
    lock = forks.make_lock()

    def leave():
        lock.release()
        with pytest.raises(RuntimeError):
            lock.release()

    with lock:
        assert in_child(leave)
        assert lock._is_owned()


@needs_fork
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cached properties have no locks since Python 3.12")
def test_cached_properties_are_open_in_a_child(monkeypatch):
    monkeypatch.setattr(forks, "Example", Example, raising=False)  # as a class of contad's
    with held_elsewhere(vars(Example)["number"].lock):
        assert in_child(lambda: Example().number)
    assert Example().number == 3.0


@needs_fork
def test_a_fork_waits_for_a_compiler_at_work(monkeypatch):
    from numba.core.compiler_lock import global_compiler_lock

    importlib.import_module("contad.compile.machine_code")
    lock = global_compiler_lock._lock
    done, begun = [], threading.Event()

    def work():
        with lock:
            begun.set()
            time.sleep(0.3)
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    assert in_child(lambda: (done[0] and lock.acquire(timeout=5.0)) or 1 / 0)
    thread.join()
    assert lock.acquire(blocking=False)  # the fork has let go of it
    lock.release()
    monkeypatch.setattr(forks, "LONGEST", 0.05)
    with held_elsewhere(lock):  # for as long as it likes
        assert in_child(lambda: lock.acquire(timeout=5.0) or 1 / 0)


@needs_fork
def test_functions_for_children_are_called_in_them(monkeypatch):
    called = []
    monkeypatch.setattr(forks, "_calls", [*forks._calls, lambda: called.append(True)])
    assert in_child(lambda: called[0])
    assert called == []


# ---- forks under load ------------------------------------------------------------------------------------------------
PROGRAM = """
    import os, sys, threading, warnings
    import numpy as np
    import contad
    from contad.engines.stream import kernels, sweep
    from tests.test_forks import in_child

    warnings.simplefilter("ignore", DeprecationWarning)
    x = np.linspace(0.1, 1.0, 50)
    codes = sorted(sweep.OPERATIONS)[3:6]

    def f(x):
        return np.sum(np.sin(x) * x + np.exp(-x * x))

    def work():
        for code in codes:
            kernels.KERNELS[code] = 0  # as if it had never been asked for
            kernels.compile_kernel(code)
        with contad.debug_nans():
            assert np.isfinite(contad.grad(f)(x)).all()
        assert contad.record(f, x)(x) == f(x)

    def load():
        while not ended:
            work()

    work()
    ended = []
    thread = threading.Thread(target=load)
    thread.start()
    hung = sum(not in_child(work) for _ in range(int(sys.argv[1])))
    ended.append(True)
    thread.join()
    print(hung)
"""


@needs_fork
@pytest.mark.parametrize("count", [40, pytest.param(300, marks=pytest.mark.long)])
def test_children_of_a_process_whose_threads_work_do_not_hang(tmp_path, count):
    tmp_path.joinpath("run.py").write_text(textwrap.dedent(PROGRAM))
    root = os.path.dirname(os.path.dirname(__file__))
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, tmp_path / "run.py", str(count)], env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0"], done.stderr


DIRECTORY = """\
import os, sys
from contad.compile.compiling import temporary_directory

directory = temporary_directory()
child = os.fork()
if child:
    os.waitpid(child, 0)
    print(directory, directory.is_dir())
sys.exit()
"""


@needs_fork
def test_a_child_that_ends_leaves_the_files_of_its_parent():
    done = subprocess.run([sys.executable, "-c", DIRECTORY], capture_output=True, text=True, check=True)
    directory, is_there = done.stdout.split()
    assert is_there == "True"
    assert not os.path.exists(directory)
