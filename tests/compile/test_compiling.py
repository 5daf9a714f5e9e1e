"""The disk cache of generated code: private, atomic, indifferent to damage, and hit by a second process."""

import functools
import importlib.machinery
import importlib.util
import os
import shutil
import stat
import sys

import pytest

from contad.compile import compiling
from tests.compile.processes import LISTENING, run_python
from tests.judges.sources import PACKAGE

SWEEP = """
import contad
from contad.engines.stream.patience import PATIENCE
PATIENCE.loading = PATIENCE.compiling = 0.0
def run():
    assert contad.grad(lambda x: contad.ops.exp(x) * x)(0.0) == 1.0
"""
SMALL = """
from contad.compile.compiling import NJIT_OPTIONS, load_cached
head = "from contad.compile.machine_code import njit"
source = f"{head}\\n@njit('float64(float64)', **{NJIT_OPTIONS})\\ndef f(x):\\n    return 2.0 * x\\n"
def run():
    assert load_cached("small", lambda: source, []).f(3.0) == 6.0
"""


def compilations(cache, program):
    """How many functions Numba compiles when the program runs in a process of its own with this cache."""
    text = f"{program}{LISTENING}run()\nprint(len(compiled))"
    return int(run_python("-W", "error", "-c", text, CONTAD_CACHE_DIR=cache, NUMBA_CACHE_DIR=None))


def test_a_second_process_compiles_nothing(tmp_path):
    cache = tmp_path / "cache"
    assert compilations(cache, SWEEP) >= 1
    assert stat.S_IMODE(cache.stat().st_mode) & 0o077 == 0
    assert compilations(cache, SWEEP) == 0


@pytest.mark.long
def test_damage_is_repaired(tmp_path):
    cache = tmp_path / "cache"
    assert compilations(cache, SMALL) == 1
    (source,) = cache.glob("*.py")
    text = source.read_text()
    for pattern, length in (("*.nbi", 40), ("*.nbc", 100), ("*.nbi", 0)):
        assert compilations(cache, SMALL) == 0
        (file,) = (cache / "__pycache__").glob(pattern)
        file.write_bytes(file.read_bytes()[:length])
        assert compilations(cache, SMALL) == 1, (pattern, length)
    source.write_text(text.replace("2.0", "3.0"))  # altered: the seal does not fit
    compilations(cache, SMALL)
    assert source.read_text() == text
    source.write_text(text[: len(text) // 2])
    compilations(cache, SMALL)
    assert source.read_text() == text


def test_a_directory_that_others_can_write_is_not_trusted(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(shared))
    with pytest.warns(UserWarning, match=r"the cache directory .*shared is not used"):
        assert compiling.cache_directory() != shared
    shared.chmod(0o700)
    assert compiling.cache_directory() == shared


@pytest.mark.skipif(sys.platform != "linux", reason="the place is the platform's")
@pytest.mark.parametrize(("variable", "place"), [("XDG_CACHE_HOME", "contad"), ("HOME", ".cache/contad")])
def test_the_place_is_that_of_the_users_caches(tmp_path, monkeypatch, variable, place):
    for name in ("CONTAD_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    assert compiling.cache_directory() == tmp_path / place
    assert (tmp_path / place).stat().st_mode & 0o777 == 0o700


def test_a_user_without_a_home_has_a_cache_of_the_process(monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("CONTAD_CACHE_DIR", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", refuse)
    assert compiling.cache_directory() == compiling.temporary_directory()


def test_a_place_that_cannot_be_made_falls_back(tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(blocker / "cache"))
    assert compiling.cache_directory().is_dir()


def test_a_file_that_another_process_reads_is_left(tmp_path, monkeypatch):
    path = tmp_path / "example_0123456789abcdef.py"
    compiling.write_sealed(path, "x = 1\n")

    def refuse(*places, **folders):
        raise PermissionError("the file is in use")  # as on Windows

    monkeypatch.setattr(os, "replace", refuse)
    compiling.write_sealed(path, "x = 1\n")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    path.write_text("damaged", encoding="utf-8")
    with pytest.raises(PermissionError):
        compiling.write_sealed(path, "x = 1\n")


def test_a_long_name_is_a_short_file(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    for name in ("a" * 300, "a" * 299):  # which differ in what they depend on
        assert compiling.load_cached(name, lambda name=name: f"n = {len(name)}\n", [name]).n == len(name)
    assert {len(path.name) for path in tmp_path.glob("*.py")} == {64 + 1 + 16 + 3}


def test_the_module_depends_on_texts_and_on_contad(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    made = []

    def source(text):
        made.append(text)
        return f"answer = {text}\n"

    for text, version, count in (("1", "a", 1), ("1", "a", 1), ("2", "a", 2), ("1", "b", 3), ("1", "a", 3)):
        monkeypatch.setattr(compiling, "library_digest", lambda version=version: version)
        assert compiling.load_cached("example", functools.partial(source, text), [text]).answer == int(text)
        assert len(made) == count
    assert compiling.digest_of(["ab", "c"]) != compiling.digest_of(["a", "bc"])


def test_an_error_in_generated_source_is_not_hidden(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    with pytest.raises(ZeroDivisionError):
        compiling.load_cached("broken", lambda: "1 / 0\n", [])


# ---- versions of contad ----------------------------------------------------------------------------------------------
def copy_package(folder, room=""):
    """A copy of contad's sources, or of those in a room of it."""
    shutil.copytree(PACKAGE / room, folder / "contad" / room, ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "contad"


def digest():
    return compiling.library_digest.__wrapped__()


@pytest.mark.parametrize("room", sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")))
def test_another_byte_in_any_module_is_another_version(tmp_path, monkeypatch, room):
    """Whatever its size and its times."""
    copy = copy_package(tmp_path, room)
    monkeypatch.setattr(compiling, "OWN_FILES", os.path.join(copy, ""))
    monkeypatch.setattr(compiling, "_is_later", lambda status: False)
    before, files = digest(), list(copy.rglob("*.py"))
    for path in files:
        contents, status = path.read_bytes(), path.stat()
        path.write_bytes(contents[:-1] + b" ")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert (digest() == before) == (room in compiling.UNUSED), path
        path.write_bytes(contents)
    assert files
    assert digest() == before
    files[0].rename(files[0].with_name("another.py"))
    assert (digest() == before) == (room in compiling.UNUSED)


def test_where_no_source_can_be_read_no_process_has_the_code_of_another(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "OWN_FILES", os.path.join(tmp_path, "contad.zip", "contad", ""))
    before = digest()
    monkeypatch.setattr(compiling, "_MARK", b"of another process")
    assert digest() != before


@pytest.mark.parametrize("library", ["llvmlite", "numba", "numpy", "scipy"])
def test_another_version_of_a_library_is_another_version(tmp_path, monkeypatch, library):
    """Machine code that follows one NumPy's functions is not that for another's, whose environment shares the cache."""
    before, text = digest(), compiling.digest_of(())
    if library == "numpy":
        monkeypatch.setattr(sys.modules[library], "__version__", "0.0.0")
    else:  # which are not imported for their versions
        find, other = importlib.util.find_spec, tmp_path / "__init__.py"
        for name in ("version.py", "_version.py"):
            (tmp_path / name).write_text('version = "1.18.9"\n')
        spec = importlib.machinery.ModuleSpec(library, None, origin=str(other))
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == library else find(name))
    after = digest()
    assert after != before
    monkeypatch.setattr(compiling, "library_digest", lambda: after)
    assert compiling.digest_of(()) != text
    monkeypatch.undo()
    assert (digest(), compiling.digest_of(())) == (before, text)


EXPONENTIAL = """
import ctypes
import numpy as np
import contad
from contad.engines.stream.sweep import OPERATIONS
from contad.programs.program_kernels import ADDRESSES, VALUES, compile_missing
code = next(code for code, (rule, active) in OPERATIONS.items() if (rule.name, active) == ("exp", "v"))
shape, x, z = np.array([0, 1, 3, 3, 1, 0, 3, 1, 0, 0, 0]), np.zeros(3), np.zeros(3)
compile_missing([(VALUES, code)])
ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(int(ADDRESSES[VALUES, code]))(*[a.ctypes.data for a in (shape, x, x, z)])
print(z)
"""


def test_two_versions_on_one_cache_do_not_share_machine_code(tmp_path):
    """One constant of the exponential function differs, and neither the size nor the time of its file.

    The kernel is that which programs call.
    """
    found = []
    for name in ("one", "other", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        if not (tmp_path / name / "contad").exists():
            path = copy_package(tmp_path / name) / "elementary" / "exponentials.py"
            text, status = path.read_text(), path.stat()
            if name == "other":
                path.write_text(text.replace("scale(1.0 + (high + fma(", "scale(2.0 + (high + fma("))
                assert path.read_text() != text
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        path = os.pathsep.join([str(tmp_path / name), *filter(None, [os.environ.get("PYTHONPATH")])])
        caches = {"CONTAD_CACHE_DIR": tmp_path / "cache", "NUMBA_CACHE_DIR": tmp_path / "numba"}
        found.append(run_python("-c", EXPONENTIAL, folder=tmp_path, PYTHONPATH=path, **caches))
    assert found == ["[1. 1. 1.]\n", "[2. 2. 2.]\n", "[1. 1. 1.]\n"]


PROCESSOR = EXPONENTIAL + """
from numba.core.registry import cpu_target
from contad.compile import compiling
files = [*compiling.cache_directory().glob("values_exp_v_*.image")]
processor = "".join(cpu_target.target_context.codegen().magic_tuple()).replace(" ", "")
print(len(files), compiling.library_digest(), compiling.digest_of(()), processor)
"""


def test_two_processors_on_one_cache_do_not_share_what_is_written_for_one(tmp_path):
    """Generated source calls kernels for vector registers where there are any, and so does the object code of it."""
    found = []
    for settings in ({}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, {"NUMBA_CPU_FEATURES": ""}):
        caches = {"CONTAD_CACHE_DIR": tmp_path, "NUMBA_CACHE_DIR": tmp_path / "numba"}
        printed = run_python("-c", PROCESSOR, folder=tmp_path, **caches, **settings)
        found.append(printed.removeprefix("[1. 1. 1.]\n").split())
    files, libraries, texts, processors = zip(*found, strict=True)
    assert files == ("1", "2", "3")
    assert len({*libraries}) == 1 < len({*processors}) <= len({*texts})  # Numba may not know this one's name


def test_sources_that_change_under_a_process_are_not_taken_for_its_own(monkeypatch):
    """An old process that compiles after an upgrade would leave old machine code under the new version's name."""
    before = digest()
    status = os.stat(compiling.__file__)
    assert not compiling.has_changed()
    for now in (status.st_mtime, status.st_ctime):  # written, or put into its place with the time that it had
        monkeypatch.setattr(compiling, "_BEGAN", now - 1.0)
        compiling._look_for_changes.cache_clear()
        assert compiling.has_changed()
        changed = digest()
        assert changed != before
        assert digest() == changed
        monkeypatch.setattr(compiling, "_MARK", b"of another process")
        assert digest() not in (before, changed)
        monkeypatch.undo()
    monkeypatch.setattr(compiling, "_BEGAN", min(status.st_mtime, status.st_ctime) - 1.0)
    monkeypatch.setattr(compiling.time, "time", lambda: compiling._BEGAN + 0.5)  # a clock that went back
    assert digest() == before
    compiling._look_for_changes.cache_clear()
    assert not compiling.has_changed()


def test_files_made_after_a_change_are_not_kept(tmp_path, monkeypatch):
    """What is imported late may be of the later version, and the rest is of the earlier one."""
    monkeypatch.setattr(compiling, "has_changed", lambda: True)
    place = tmp_path / "module_0123456789abcdef.py"
    assert compiling.write_sealed(place, "x = 1\n").parent == compiling.temporary_directory()
    assert not place.exists()
    monkeypatch.undo()
    assert compiling.write_sealed(place, "x = 1\n") == place
    assert place.exists()
