"""The disk cache of generated code: private, atomic, indifferent to damage, and hit by a second process."""

import os
import stat
import subprocess
import sys

import pytest

from contad import compiled

PROGRAM = """
import contad
from numba.core import event
compiles = []
class Listen(event.Listener):
    def on_start(self, e): compiles.append(e)
    def on_end(self, e): pass
with event.install_listener("numba:compile", Listen()):
    assert abs(contad.grad(lambda x: contad.exp(x) * x)(0.0) - 1.0) == 0.0
print(len(compiles))
"""


def run(cache):
    environment = dict(os.environ, CONTAD_CACHE_DIR=str(cache))
    environment.pop("NUMBA_CACHE_DIR", None)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    return int(result.stdout)


def test_a_second_process_compiles_nothing_and_damage_is_repaired(tmp_path):
    cache = tmp_path / "cache"
    assert run(cache) >= 1
    assert stat.S_IMODE(cache.stat().st_mode) & 0o077 == 0
    assert run(cache) == 0
    (index,) = (cache / "__pycache__").glob("*.nbi")
    (code,) = (cache / "__pycache__").glob("*.nbc")
    (source,) = cache.glob("*.py")
    index.write_bytes(index.read_bytes()[:40])
    assert run(cache) >= 1
    (code,) = (cache / "__pycache__").glob("*.nbc")
    code.write_bytes(code.read_bytes()[:100])
    assert run(cache) >= 1
    assert run(cache) == 0
    text = source.read_text()
    source.write_text(text.replace("adjoints[k]", "2.0 * adjoints[k]"))  # altered: the seal does not fit
    assert run(cache) >= 0
    assert source.read_text() == text


def test_a_directory_that_others_can_write_is_not_trusted(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(shared))
    assert compiled.cache_directory() != shared
    shared.chmod(0o700)
    assert compiled.cache_directory() == shared


def test_a_place_that_cannot_be_made_falls_back(tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(blocker / "cache"))
    assert compiled.cache_directory().is_dir()


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
        assert compiled.cached_module("example", source, [str(rule_file)]).answer == answer
        assert len(made) == count


def test_an_error_in_generated_source_is_not_hidden(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    with pytest.raises(ZeroDivisionError):
        compiled.cached_module("broken", lambda: "1 / 0\n", [])
