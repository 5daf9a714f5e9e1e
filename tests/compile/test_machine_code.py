"""Machine code on disk: no damaged bit is ever run, nothing warns of what cannot be kept, and the cache stays small."""

import os
import random
import sys
import time
from types import ModuleType

import numba
import pytest
from numba.core.caching import NullCache

from contad.compile import compiling, machine_code
from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import SealedCache, cfunc, njit
from contad.kernels.special_functions import FUNCTIONS
from tests.compile.processes import run_python

SIGNATURE = (numba.float64,)


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A function with a sealed cache in a folder of its own, and its index and data file."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def double(x):
        return 2.0 * x

    dispatcher = njit(**NJIT_OPTIONS)(double)
    assert dispatcher(3.0) == 6.0
    index, data = sorted(tmp_path.rglob("*.nb*"), key=lambda path: path.suffix, reverse=True)
    assert (index.suffix, data.suffix) == (".nbi", ".nbc")
    return dispatcher, double, index, data


def found(dispatcher, function):
    """What a cache finds that has not been used before."""
    return SealedCache(function).load_overload(SIGNATURE, dispatcher.targetctx)


@pytest.mark.parametrize("decorate", [lambda f: njit(**NJIT_OPTIONS)(f), lambda f: njit("f8(f8)", **NJIT_OPTIONS)(f),
                                      lambda f: cfunc("f8(f8)", cache=True)(f).ctypes])  # fmt: skip
def test_a_function_without_a_file_is_compiled_and_not_kept(decorate):
    scope = {}
    exec("def double(x): return 2.0 * x", scope)
    assert decorate(scope["double"])(3.0) == 6.0


def test_a_healthy_file_is_found(cached):
    dispatcher, function, _, _ = cached
    assert found(dispatcher, function) is not None


@pytest.mark.parametrize("flag", machine_code.FLAGS)
def test_code_that_was_compiled_otherwise_is_not_found(cached, monkeypatch, flag):
    dispatcher, function, _, _ = cached
    monkeypatch.setattr(numba.config, flag, "another value")
    assert found(dispatcher, function) is None


def test_processes_that_number_their_files_alike_do_not_take_one_for_the_other(cached):
    """Each has found no index, and written one with its own signature, before the other wrote its code."""
    dispatcher, function, index, data = cached
    mine, wanted = index.read_bytes(), data.read_bytes()
    index.unlink()
    other = njit(**NJIT_OPTIONS)(function)
    assert other(3) == 6  # of int64
    assert data.read_bytes() != wanted
    index.write_bytes(mine)
    assert found(dispatcher, function) is None
    data.write_bytes(wanted)
    assert found(dispatcher, function) is not None


def test_code_of_another_version_under_this_ones_number_is_not_run(cached, monkeypatch):
    dispatcher, function, index, data = cached
    monkeypatch.setattr(machine_code, "library_digest", lambda: "another")
    njit(**NJIT_OPTIONS)(function)(3.0)
    theirs = data.read_bytes()
    monkeypatch.undo()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(index.parent.parent))
    njit(**NJIT_OPTIONS)(function)(3.0)
    assert found(dispatcher, function) is not None
    data.write_bytes(theirs)
    assert found(dispatcher, function) is None


@pytest.fixture
def module(monkeypatch, tmp_path):
    """The file of a module, and a function of it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "one.py"
    path.write_text("def double(x):\n    return 2.0 * x\n")
    scope = {"__name__": "one"}
    monkeypatch.setitem(sys.modules, "one", ModuleType("one"))
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return path, scope["double"]


def change_version(monkeypatch, path):
    """Numba looks at the file of the function alone, but the code has callees of other files in it."""
    monkeypatch.setattr(machine_code, "library_digest", lambda: "other")


def change_file(monkeypatch, path):
    """Its size and time are what they were."""
    status = path.stat()
    path.write_text(path.read_text().replace("2.0", "3.0"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("change", [change_version, change_file])
def test_code_is_that_of_a_version_and_of_a_file(module, monkeypatch, change):
    path, function = module
    if change is change_version:
        monkeypatch.setattr(machine_code, "OWN_FILES", os.path.join(path.parent, ""))
        monkeypatch.setattr(machine_code, "library_digest", lambda: "one")
    dispatcher = njit(**NJIT_OPTIONS)(function)
    assert dispatcher(3.0) == 6.0
    assert found(dispatcher, function) is not None
    change(monkeypatch, path)
    assert found(dispatcher, function) is None


def test_code_that_is_made_after_a_change_of_contad_is_not_kept(module, monkeypatch):
    _, function = module
    monkeypatch.setattr(machine_code, "has_changed", lambda: True)
    dispatcher = njit(**NJIT_OPTIONS)(function)
    assert dispatcher(3.0) == 6.0
    assert found(dispatcher, function) is None


def test_no_file_is_written_of_closures_that_no_process_would_find():
    for function in FUNCTIONS.values():
        assert isinstance(function._cache, NullCache) == bool(function.py_func.__closure__)


@pytest.mark.parametrize("which", ["index", "data"])
def test_no_flipped_bit_is_loaded(cached, which):
    dispatcher, function, *files = cached
    path = files[which == "data"]
    healthy = path.read_bytes()
    rng = random.Random(3)
    for _ in range(100):
        at, bit = rng.randrange(len(healthy)), rng.randrange(8)
        damaged = bytearray(healthy)
        damaged[at] ^= 1 << bit
        path.write_bytes(damaged)
        assert found(dispatcher, function) is None, (at, bit)
    for length in (0, 1, 31, 32, 33, len(healthy) - 1):
        path.write_bytes(healthy[:length])
        assert found(dispatcher, function) is None, length
    path.write_bytes(healthy)
    assert found(dispatcher, function) is not None


def test_damaged_code_is_compiled_and_kept_again(cached):
    _, function, _, data = cached
    healthy = data.read_bytes()
    data.write_bytes(healthy[:40] + bytes(40) + healthy[80:])
    again = njit(**NJIT_OPTIONS)(function)
    assert again(3.0) == 6.0
    assert sum(again.stats.cache_misses.values()) == 1
    last = njit(**NJIT_OPTIONS)(function)
    assert last(3.0) == 6.0
    assert sum(last.stats.cache_hits.values()) == 1


# ---- a whole cache ---------------------------------------------------------------------------------------------------
GRADIENT = """
import math
import numpy as np
from numba import njit
import contad

@njit
def f(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += math.exp(x[i])
    return total

x = np.array([0.0, 0.0])
assert contad.grad(f)(x).tolist() == [1.0, 1.0]
c = contad.cfunc(f, 2)
"""


def run(program, cache, *options):
    run_python(*options, program, CONTAD_CACHE_DIR=cache, NUMBA_CACHE_DIR=None)


def test_a_cache_with_damage_in_every_file_serves(tmp_path):
    program, cache = tmp_path / "model.py", tmp_path / "cache"
    program.write_text(GRADIENT)
    run(program, cache)
    rng = random.Random(5)
    files = [path for path in cache.rglob("*") if path.is_file() and path.stat().st_size]  # marks are empty
    assert {path.suffix for path in files} == {".py", ".nbi", ".nbc"}
    for path in files:
        contents = bytearray(path.read_bytes())
        contents[rng.randrange(len(contents))] ^= 1 << rng.randrange(8)
        path.write_bytes(contents)
    run(program, cache)


LARGE = """
import warnings
import numpy as np
from numba import njit
import contad

warnings.filterwarnings("ignore", ".*each process compiles this derivative anew")
WEIGHTS = np.ones(400_000)

@njit
def f(x):
    total = 0.0
    for i in range(WEIGHTS.shape[0]):
        total += WEIGHTS[i] * x[0]
    return total

@njit
def square(x):
    return x * x

@njit
def twice(g, x):
    return 2.0 * g(x)

for engine in ("generated", "tape"):
    assert contad.grad(f, engine=engine)(np.array([1.0])).tolist() == [400_000.0]
    assert contad.grad(twice, 1, engine=engine)(square, 3.0) == 12.0
assert "each process compiles anew" in contad.explain(f, np.array([1.0]))
assert "each process compiles anew" not in contad.explain(square, 3.0)
c = contad.cfunc(f, 1)
"""


def test_contad_alone_tells_of_code_that_cannot_be_kept(tmp_path):
    program = tmp_path / "model.py"
    program.write_text(LARGE)
    run(program, tmp_path / "cache", "-W", "error")


# ---- its size --------------------------------------------------------------------------------------------------------
def test_the_longest_unused_modules_go(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_MEGABYTES", "0.01")  # 10,485 bytes
    folder = tmp_path / "__pycache__"
    folder.mkdir()
    (tmp_path / "of_the_user.py").write_text("x" * 5000)
    names = [f"derivative_{k:016x}" for k in range(8)]
    now = time.time()
    for k, name in enumerate(names):
        files = [tmp_path / f"{name}.py", folder / f"{name}.run-1.py311.nbi", folder / f"{name}.run-1.py311.1.nbc"]
        for file in files:
            file.write_text("x" * 500)
            os.utime(file, (now - 10_000 + k,) * 2)
    os.utime(files[0], (now - 20_000,) * 2)  # what counts is the last use of any
    os.utime(folder / f"{names[0]}.run-1.py311.1.nbc", (now - 5_000,) * 2)
    os.utime(folder / f"{names[1]}.run-1.py311.1.nbc", (now, now))
    compiling.make_room(tmp_path)
    left = {path.name.partition(".")[0] for path in tmp_path.rglob("*.*")}
    assert left == {"of_the_user", *(names[k] for k in (0, 1, 5, 6, 7))}
    monkeypatch.setenv("CONTAD_CACHE_MEGABYTES", "0")
    compiling.make_room(tmp_path)
    left = {path.name.partition(".")[0] for path in tmp_path.rglob("*.*")}
    assert left == {"of_the_user", names[1]}  # another process may be about to load it
    assert len(list(folder.iterdir())) == 2


def test_a_time_to_come_is_as_far_away_as_one_that_is_past(tmp_path, monkeypatch):
    """A clock that was wrong has left it, or a copy from another machine."""
    monkeypatch.setenv("CONTAD_CACHE_MEGABYTES", "0.01")
    now = time.time()
    ages = {"past": 5_000, "years_to_come": -10**8, "hour_to_come": -3_600, "to_come": -30, "now": 0}
    for name, age in ages.items():
        path = tmp_path / f"{name}_0123456789abcdef.py"
        path.write_text("x" * 3000)
        os.utime(path, (now - age,) * 2)
    compiling.make_room(tmp_path)
    assert {path.name.rpartition("_")[0] for path in tmp_path.iterdir()} == {"to_come", "now"}
    monkeypatch.setenv("CONTAD_CACHE_MEGABYTES", "0")
    compiling.make_room(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2  # which may be about to be loaded


def test_writing_makes_room(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_MEGABYTES", "0.01")
    for k in range(100):
        path = tmp_path / f"derivative_{k:016x}.py"
        compiling.write_sealed(path, "x" * 1000)
        os.utime(path, (1000.0 + k,) * 2)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 50_000
