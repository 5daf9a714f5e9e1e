"""What systems offer in different ways: each way is tried here, by what this system has."""

import ctypes
import os
import threading
import time
from pathlib import Path

import pytest

from contad.memory import arena, system
from tests.compile.elsewhere import MEMORY, Kernel32, Kernel32WithoutKeys
from tests.compile.processes import run_python

C_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
RELEASED = []
release = C_FUNCTION(lambda word: RELEASED.append(word) or 0)  # lives as long as the keys, which are never given back


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(ctypes, "WinDLL", Kernel32, raising=False)


def functions(word):
    """get(), put(word) of Python's for a word per thread."""
    get = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(word.get)
    put = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int64)(word.put)
    return lambda: get(word.key), lambda x: put(word.key, x)


@pytest.mark.parametrize("way", system.THREAD_WORDS, ids=lambda f: f.__name__)
def test_each_thread_has_a_word(way, windows):
    get, put = functions(way(ctypes.cast(release, ctypes.c_void_p).value))
    other, _ = functions(way(ctypes.cast(release, ctypes.c_void_p).value))
    found = []
    put(5)

    def work():
        before = get()
        put(2**40 + 7)
        found.append((before, get(), other()))

    RELEASED.clear()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(0, 2**40 + 7, 0)] * 3
    assert get() == 5
    expected = [] if way is system.python_thread_word else [2**40 + 7] * 3
    deadline = time.monotonic() + 5.0
    while expected != RELEASED and time.monotonic() < deadline:  # the system ends a thread after Python has
        time.sleep(0.01)
    assert expected == RELEASED
    put(0)


def test_the_way_is_what_the_system_has(monkeypatch, windows):
    taken = []
    monkeypatch.setattr(
        system, "THREAD_WORDS", [lambda r, f=f: taken.append(f.__name__) or f(r) for f in system.THREAD_WORDS]
    )
    loaded = ctypes.CDLL

    def without_posix(name, *args, **kwargs):
        if name is None:
            raise TypeError("LoadLibrary() argument 1 must be str, not None")  # as on Windows
        return loaded(name, *args, **kwargs)

    system.thread_word(0)
    assert taken == ["posix_thread_word"]
    taken.clear()
    monkeypatch.setattr(system.ctypes, "CDLL", without_posix)
    monkeypatch.setattr(Kernel32, "__init__", lambda self, name: vars(self).update(_PARTS))
    system.thread_word(0)
    assert taken == ["posix_thread_word", "windows_thread_word"]
    taken.clear()
    monkeypatch.delattr(ctypes, "WinDLL")
    system.thread_word(0)
    assert taken == ["posix_thread_word", "windows_thread_word", "python_thread_word"]


_PARTS = vars(Kernel32("kernel32")) if os.name == "posix" else {}


def test_no_keys_are_left(monkeypatch):
    monkeypatch.setattr(ctypes, "WinDLL", Kernel32WithoutKeys, raising=False)
    with pytest.raises(MemoryError, match="thread-specific key"):
        system.windows_thread_word(0)


PROGRAM = """
import sys, threading, time
from tests.compile.elsewhere import become
become(sys.argv[1])
import math
from numba import njit
import contad
from contad.memory.arena import memory_in_use

@njit
def f(x):
    return math.sin(x) * x * x

gradient = contad.grad(f, engine="tape")
found = {}

def work(k):
    x = 0.1 * k
    found[k] = [gradient(x) - (math.cos(x) * x * x + 2.0 * x * math.sin(x)) for _ in range(50)]

work(0)
mine = memory_in_use()
threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
deadline = time.monotonic() + 5.0
while sys.argv[1] != "python" and memory_in_use() != mine and time.monotonic() < deadline:
    time.sleep(0.01)
assert len(found) == 4 and max(abs(e) for errors in found.values() for e in errors) < 1e-14, found
assert mine > 0 and (sys.argv[1] == "python" or memory_in_use() == mine), (mine, memory_in_use())
"""


# the third way differs from the second in nothing that the machine code sees
@pytest.mark.parametrize("way", ["windows", pytest.param("python", marks=pytest.mark.long)])
def test_derivatives_by_another_way(way, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    run_python("-W", "error", program, way, PYTHONPATH=path)


def test_memory_of_the_machine(monkeypatch, windows):
    assert system.windows_memory() == MEMORY
    assert system.machine_memory() == (system.posix_memory() if hasattr(os, "sysconf") else MEMORY)
    if hasattr(os, "sysconf"):
        monkeypatch.setattr(os, "sysconf", lambda name: -1)  # what is not known
        assert system.machine_memory() == MEMORY
        monkeypatch.delattr(os, "sysconf")
    assert system.machine_memory() == MEMORY
    arena.set_memory_limit(None)
    assert arena.memory_limit() == MEMORY // 5 * 4
    monkeypatch.setattr(ctypes, "WinDLL", Kernel32WithoutKeys)
    assert system.machine_memory() is None
    arena.set_memory_limit(None)
    assert arena.memory_limit() > 2**60
    monkeypatch.undo()
    arena.set_memory_limit(None)
