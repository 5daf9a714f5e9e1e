"""What the cache holds is run: nobody else may have written it."""

import os
import stat

import numba
import pytest

from contad.native import compiling, machine_code, trust
from contad.native.machine_code import SealedCache
from contad.native.trust import close_folder, is_private, is_trusted_owner

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
SOURCE = "def twice(x):\n    return 2.0 * x\n"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """What was found of folders is forgotten; machine code lies beside its source."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    close_folder.cache_clear()
    compiling._warn_of.cache_clear()
    yield
    close_folder.cache_clear()
    compiling._warn_of.cache_clear()


def folders(tmp_path, inside, source):
    """The folders of machine code, with two files in it, and of its source, with these modes."""
    inner = tmp_path / "__pycache__"
    inner.mkdir()
    for name in ("a.nbi", "a.1.nbc", "b.cpython-311.pyc"):
        (inner / name).touch()
    inner.chmod(inside)
    tmp_path.chmod(source)
    return inner, tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o775])
def test_a_folder_that_others_can_write_is_not_private(tmp_path, mode):
    tmp_path.chmod(mode)
    assert not is_private(tmp_path)
    tmp_path.chmod(0o755)
    assert is_private(tmp_path)


def test_a_folder_of_another_user_is_not_private(tmp_path, monkeypatch):
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    assert not is_private(tmp_path)


def test_where_files_have_no_owners_all_are_trusted(tmp_path, monkeypatch):
    inner, source = folders(tmp_path, 0o777, 0o777)
    monkeypatch.delattr(os, "getuid")
    assert is_private(source)
    assert close_folder(inner, source)
    assert is_trusted_owner(0, inner)
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(source))
    assert compiling.cache_directory() == source


def test_the_refusal_of_a_cache_is_said_once(tmp_path, monkeypatch):
    tmp_path.chmod(0o770)
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    with pytest.warns(UserWarning, match="chmod go-w"):
        assert compiling.cache_directory() == compiling.temporary_directory()
    assert compiling.cache_directory() == compiling.temporary_directory()
    assert is_private(compiling.temporary_directory())


@pytest.mark.parametrize("mode", [0o775, 0o777, 0o757])
def test_machine_code_is_as_private_as_its_source(tmp_path, mode):
    inner, source = folders(tmp_path, mode, 0o755)
    assert close_folder(inner, source)
    assert stat.S_IMODE(inner.stat().st_mode) == 0o755
    assert names(inner) == ["b.cpython-311.pyc"]  # another user may have written the others


@pytest.mark.parametrize(("mode", "of_source"), [(0o755, 0o755), (0o775, 0o775), (0o700, 0o755), (0o777, 0o777)])
def test_who_can_write_the_source_can_write_machine_code(tmp_path, mode, of_source):
    inner, source = folders(tmp_path, mode, of_source)
    assert close_folder(inner, source)
    assert stat.S_IMODE(inner.stat().st_mode) == mode
    assert len(names(inner)) == 3


def test_a_folder_that_cannot_be_closed_is_not_used(tmp_path, monkeypatch):
    inner, source = folders(tmp_path, 0o777, 0o755)

    def refuse(*args, **kwargs):
        raise PermissionError("planted")

    monkeypatch.setattr(os, "chmod", refuse)
    monkeypatch.setattr(type(inner), "chmod", refuse)
    assert not close_folder(inner, source)
    monkeypatch.undo()
    monkeypatch.setattr(trust, "is_trusted_owner", lambda *args: False)  # it is another user's
    close_folder.cache_clear()
    assert not close_folder(inner, source)


@pytest.mark.parametrize(("owner", "trusted"), [(0, True), (1, True), (12345, False)])
def test_whose_files_are_run(tmp_path, owner, trusted):
    """Those of this user and of root."""
    assert is_trusted_owner(owner * os.getuid() if owner == 1 else owner, tmp_path) == trusted


def sealed(tmp_path):
    """The cache of a function in a module of this folder."""
    path = tmp_path / "module.py"
    path.write_text(SOURCE, encoding="utf-8")
    names: dict = {}
    exec(compile(SOURCE, str(path), "exec"), names)
    return SealedCache(names["twice"])


def test_machine_code_in_an_open_folder_is_closed_first(tmp_path):
    inner, _ = folders(tmp_path, 0o777, 0o700)
    sealed(tmp_path)
    assert not inner.stat().st_mode & 0o022
    assert names(inner) == ["b.cpython-311.pyc"]


def test_a_file_of_another_user_counts_as_missing(tmp_path, monkeypatch):
    file = tmp_path / "module_0123456789abcdef.py"
    compiling.write_sealed(file, "x = 1\n")
    cache = sealed(tmp_path)._cache_file
    cache._write(str(tmp_path / "data"), [1, 2])
    assert compiling.read_sealed(file) == "x = 1\n"
    assert cache._read(str(tmp_path / "data")) == [1, 2]
    for module in (compiling, machine_code):
        monkeypatch.setattr(
            module, "is_trusted_owner", lambda owner, folder: (owner, folder) != (file.stat().st_uid, tmp_path)
        )
    assert compiling.read_sealed(file) is None
    with pytest.raises(OSError, match="another user's"):
        cache._read(str(tmp_path / "data"))
