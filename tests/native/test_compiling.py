"""The disk cache of generated code: private, atomic, indifferent to damage, and hit by a second process."""

import os
import stat
import subprocess
import sys

import pytest

from contad.native import compiling, modules

COUNT = """
from numba.core import event
compiles = []
class Listen(event.Listener):
    def on_start(self, e): compiles.append(e)
    def on_end(self, e): pass
with event.install_listener("numba:compile", Listen()):
    run()
print(len(compiles))
"""
SWEEP = """
import contad
from contad.engines.stream.patience import PATIENCE
PATIENCE.loading = PATIENCE.compiling = 0.0
def run():
    assert contad.grad(lambda x: contad.exp(x) * x)(0.0) == 1.0
"""
SMALL = """
from contad.native.compiling import NJIT_OPTIONS, load_cached
head = "from contad.native.machine_code import njit"
source = f"{head}\\n@njit('float64(float64)', **{NJIT_OPTIONS})\\ndef f(x):\\n    return 2.0 * x\\n"
def run():
    assert load_cached("small", lambda: source, []).f(3.0) == 6.0
"""


def compilations(cache, program):
    """How many functions Numba compiles when the program runs in a process of its own with this cache."""
    environment = dict(os.environ, CONTAD_CACHE_DIR=str(cache))
    environment.pop("NUMBA_CACHE_DIR", None)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program + COUNT],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return int(result.stdout)


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


def test_the_module_depends_on_its_sources(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    rule_file = tmp_path / "rules.txt"
    made = []

    def source():
        made.append(1)
        return f"answer = {rule_file.read_text()}\n"

    for text, answer, count in (("1", 1, 1), ("1", 1, 1), ("2", 2, 2)):
        rule_file.write_text(text)
        assert compiling.load_cached("example", source, [str(rule_file)]).answer == answer
        assert len(made) == count


def test_an_error_in_generated_source_is_not_hidden(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    with pytest.raises(ZeroDivisionError):
        compiling.load_cached("broken", lambda: "1 / 0\n", [])


def test_sources_that_change_under_a_process_are_not_taken_for_its_own(monkeypatch):
    """An old process that compiles after an upgrade would leave old machine code under the new version's name."""
    path, now = compiling.__file__, os.stat(compiling.__file__).st_mtime
    before = compiling.digest_of([path, "text"]), modules.library_digest.__wrapped__()
    monkeypatch.setattr(compiling, "_BEGAN", now - 1.0)
    changed = compiling.digest_of([path, "text"]), modules.library_digest.__wrapped__()
    assert changed[0] != before[0] and changed[1] != before[1]
    assert compiling.digest_of([path, "text"]) == changed[0]
    monkeypatch.setattr(compiling, "_MARK", b"of another process")
    assert compiling.digest_of([path, "text"]) not in (before[0], changed[0])
    monkeypatch.setattr(compiling.time, "time", lambda: now - 0.5)  # a clock that went back
    assert compiling.digest_of([path, "text"]) == before[0]
