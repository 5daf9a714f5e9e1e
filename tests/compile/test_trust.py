"""What the cache holds is run: nobody else may have written it."""

import contextlib
import hashlib
import os
import pickle
import re
import stat
import tempfile
import warnings
from pathlib import Path

import numba
import pytest

from contad.compile import compiling, trust
from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import SealedCache
from contad.compile.trust import Folder, code_folder, make_folder, private_folder
from tests.compile.processes import run_python
from tests.judges.sources import SOURCES

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
SOURCE = "def twice(x):\n    return 2.0 * x\n"
NOBODY = 65534


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """What was said of folders is forgotten; machine code lies beside its source."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    trust.warn_of.cache_clear()
    yield
    trust.warn_of.cache_clear()


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


def is_private(path):
    with Folder(path) as folder:
        return folder.is_private()


def is_usable(path, source):
    """Whether a folder is one of machine code whose source is in the other one."""
    try:
        with code_folder(path, source):
            return True
    except PermissionError:
        return False


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
    (source / "file").write_bytes(b"x")
    (source / "file").chmod(0o666)
    assert is_usable(inner, source) and stat.S_IMODE(inner.stat().st_mode) == 0o777
    with private_folder(source) as folder:
        assert folder.is_trusted_owner(12345)
        assert folder.read("file") == b"x"
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(source))
    assert compiling.cache_directory() == source


def test_the_refusal_of_a_cache_is_said_once(tmp_path, monkeypatch):
    tmp_path.chmod(0o770)
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    with pytest.warns(UserWarning, match="chmod go-w"):
        assert compiling.cache_directory() == compiling.temporary_directory()
    assert compiling.cache_directory() == compiling.temporary_directory()
    assert is_private(compiling.temporary_directory())


CLOSED = [(mode, 0o755, 0o755) for mode in (0o775, 0o777, 0o757)]  # another user may have written what is in it
LEFT = [(mode, source, mode) for mode, source in ((0o755, 0o755), (0o775, 0o775), (0o700, 0o755), (0o777, 0o777))]


@pytest.mark.parametrize(("mode", "of_source", "then"), [*CLOSED, *LEFT])
def test_machine_code_is_as_private_as_its_source(tmp_path, mode, of_source, then):
    inner, source = folders(tmp_path, mode, of_source)
    before = names(inner)
    assert is_usable(inner, source)
    assert stat.S_IMODE(inner.stat().st_mode) == then
    assert names(inner) == (before if mode == then else ["b.cpython-311.pyc"])


def test_a_folder_that_cannot_be_closed_is_not_used(tmp_path, monkeypatch):
    inner, source = folders(tmp_path, 0o777, 0o755)

    def refuse(*args, **kwargs):
        raise PermissionError("planted")

    monkeypatch.setattr(os, "chmod", refuse)
    with pytest.warns(UserWarning, match="__pycache__ is not used"):
        assert not is_usable(inner, source)
    monkeypatch.undo()
    inner.chmod(0o1777)  # as /tmp is: others have files in it
    trust.warn_of.cache_clear()
    with pytest.warns(UserWarning, match="__pycache__ is not used"):
        assert not is_usable(inner, source)
    assert stat.S_IMODE(inner.stat().st_mode) == 0o1777


def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    inner, source = folders(tmp_path, 0o755, 0o755)
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    monkeypatch.setattr(trust, "_ROOT", other)
    assert is_usable(inner, source)  # who can write the source
    with pytest.warns(UserWarning, match="__pycache__ is not used"):
        assert not is_usable(inner, None)


@pytest.mark.parametrize(("owner", "trusted"), [(0, True), (1, True), (12345, False)])
def test_files_of_this_user_and_of_root_are_run(tmp_path, owner, trusted):
    """Those of this user and of root."""
    with Folder(tmp_path) as folder:
        assert folder.is_trusted_owner(owner * os.getuid() if owner == 1 else owner) == trusted


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
    cache._write("data", [1, 2])
    assert compiling.read_sealed(file) == "x = 1\n"
    assert cache._read("data") == [1, 2]
    monkeypatch.setattr(Folder, "is_trusted_owner", lambda self, owner: owner != file.stat().st_uid)
    with pytest.warns(UserWarning, match="a file in the cache directory .* is not used"):
        assert compiling.read_sealed(file) is None
    with pytest.warns(UserWarning, match="__pycache__ is not used"), pytest.raises(OSError, match="another user's"):
        cache._read("data")


def test_without_descriptors_of_folders_files_have_paths(tmp_path, monkeypatch):
    """As on Windows."""
    for name in ("supports_dir_fd", "supports_fd"):
        monkeypatch.setattr(os, name, set())
    for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(trust, "_PLAIN", 0)
    file = tmp_path / "module_0123456789abcdef.py"
    assert compiling.write_sealed(file, "x = 1\n") == file
    assert compiling.read_sealed(file) == "x = 1\n"
    with private_folder(tmp_path) as folder:
        assert folder._descriptor is None and folder.is_writable()
        assert folder.names() == [file.name]
        assert folder.status_of(file.name).st_size == file.stat().st_size
        os.utime(file, (0, 0))
        assert folder.read(file.name, is_use=True) and file.stat().st_mtime > 0
        folder.delete(file.name)
        folder.delete(file.name)
    assert not file.exists()
    inner, _ = folders(tmp_path, 0o777, 0o700)
    assert is_usable(inner, None) and names(inner) == ["b.cpython-311.pyc"]


# ---- modes -----------------------------------------------------------------------------------------------------------
FILLED = """
import os
os.umask({umask})
import math
import numpy as np
from numba import njit
import contad

@njit
def f(x):
    return math.exp(x) * x

assert contad.grad(f)(0.0) == 1.0
assert contad.grad(lambda x: np.sum(contad.ops.exp(x) * x))(np.zeros(2)).tolist() == [1.0, 1.0]
"""


@pytest.mark.parametrize(("umask", "numbas"), [(0o002, False), (0o000, True)])
def test_written_files_are_private_whatever_the_umask(tmp_path, umask, numbas):
    """The place too, and what is missing above it."""
    program = tmp_path / "program.py"
    program.write_text(FILLED.format(umask=umask))
    caches = {"CONTAD_CACHE_DIR": None, "NUMBA_CACHE_DIR": tmp_path / "missing" / "numba" if numbas else None}
    run_python("-W", "error", program, XDG_CACHE_HOME=tmp_path / "missing" / ".cache", **caches)
    made = [tmp_path / "missing", *(tmp_path / "missing").rglob("*")]
    assert {path.suffix for path in made} >= {".py", ".nbi", ".nbc", ".compared"}
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in made}
    assert {path: oct(mode) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}


def test_a_missing_folder_is_made_with_those_above(tmp_path):
    mask = os.umask(0)
    try:
        make_folder(tmp_path / "a" / "b" / "c")
        make_folder(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(mask)
    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")] == [0o700] * 3
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_folder(tmp_path / "file" / "a")


def test_a_folder_behind_a_link_to_nothing_cannot_be_made(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "missing" / "folder")
    with pytest.raises(FileNotFoundError):
        make_folder(tmp_path / "link" / "contad")


# ---- attacks ---------------------------------------------------------------------------------------------------------
RUN: list[str] = []  # whose code has been run


def run(what):
    RUN.append(what)


class Payload:
    """What says that it has been run when it is unpickled."""

    def __reduce__(self):
        return run, ("machine code",)


PAYLOAD = "from tests.compile.test_trust import run\nrun('source')\n"


@pytest.fixture
def place():
    """A folder that every user can enter."""
    RUN.clear()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def attack(work):
    """Let another user do something, if this one is root; else this one does it. Whether it was possible."""
    if os.getuid() != 0:
        try:
            work()
        except OSError:
            return False
        return True
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def digest_first(contents):
    return hashlib.sha256(contents).digest() + contents


def forge(path):
    """Contents of a file of the cache that run an attacker's code, with the digest that belongs to them."""
    if path.suffix == ".py":
        return compiling.seal(PAYLOAD).encode()
    return digest_first(pickle.dumps(Payload()))


def asks_numba(source):
    """The lines where Numba itself is asked for a cache, which looks at no owner and no mode."""
    return [line for line in source.splitlines() if re.search(r"\bnumba\.\w+\(.*\bcache['\"]?\s*[:=]", line)]


def test_numba_is_asked_for_no_cache():
    assert {module: lines for module, source in SOURCES.items() if (lines := asks_numba(source))} == {}
    assert asks_numba("@numba.njit(cache=True)")
    assert asks_numba("text = f\"numba.njit({write_options(options | {'cache': True})})\"")


def fill(cache, monkeypatch):
    """A cache with a module and its machine code; what loads both, and the files."""
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(cache))
    head = "from contad.compile.machine_code import njit\n"
    text = f"{head}\n@njit('float64(float64)', **{NJIT_OPTIONS})\ndef f(x):\n    return 2.0 * x\n"

    def load():
        return compiling.load_cached("small", lambda: text, ["text"]).f(3.0)

    assert load() == 6.0
    folders = Path(os.path.realpath(cache)), cache.parent / "numba"
    found = [path for folder in folders for path in folder.rglob("small*")]
    return load, sorted(path for path in found if path.suffix in (".py", ".nbi", ".nbc"))


@pytest.mark.parametrize("mode", [0o664, 0o666, 0o620])
@pytest.mark.parametrize(
    ("suffix", "numbas"), [(".py", False), (".nbi", False), (".nbc", False), (".nbi", True), (".nbc", True)]
)
def test_a_file_that_others_can_write_is_not_loaded(place, monkeypatch, suffix, numbas, mode):
    """Rewritten in place, with the right digest, in folders that others can enter only; in Numba's place, too."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(place / "numba") if numbas else "")
    load, files = fill(place / "cache", monkeypatch)
    (file,) = (path for path in files if path.suffix == suffix)
    assert file.is_relative_to(place / "numba") == numbas
    for folder in (path for path in place.rglob("*") if path.is_dir()):
        folder.chmod(0o755)
    forged = forge(file)
    if os.getuid() == 0:  # which can write whatever the modes
        assert not attack(lambda: file.write_bytes(forged))
        os.chown(file, 0, NOBODY)
    file.chmod(mode)
    assert attack(lambda: file.write_bytes(forged))
    with pytest.warns(UserWarning, match="a file in the cache directory .* is not used"):
        assert load() == 6.0
    assert RUN == []
    assert load() == 6.0 and stat.S_IMODE(file.stat().st_mode) == 0o600  # written anew


def test_the_attack_would_succeed(place, monkeypatch):
    """Where nobody looks at the modes of files."""
    load, files = fill(place / "cache", monkeypatch)
    monkeypatch.setattr(trust, "_OTHERS", 0)
    for file in files:
        file.chmod(0o666)
        file.write_bytes(forge(file))
        RUN.clear()
        with contextlib.suppress(AttributeError):  # the forged module has no function
            load()
        assert RUN
        file.unlink()
        assert load() == 6.0


@pytest.mark.parametrize("make", [os.symlink, os.link, os.mkfifo])
def test_links_and_pipes_are_not_loaded(place, monkeypatch, make):
    load, files = fill(place / "cache", monkeypatch)
    for file in files:
        other = place / file.name
        other.write_bytes(forge(file))
        other.chmod(0o666)
        file.unlink()
        make(file) if make is os.mkfifo else make(other, file)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert load() == 6.0
    assert RUN == []


CALLS = ("open", "stat", "fstat", "lstat", "mkdir", "listdir", "scandir", "access")


def flipped(link, mine, theirs, wanted):
    """Functions of `os` before each of which the link is set: to what an attacker wants at that call."""
    count = 0

    def wrap(call):
        def called(*args, **kwargs):
            nonlocal count
            place = theirs if wanted(count) else mine
            count += 1
            if os.readlink(link) != str(place):
                os.unlink(link)
                os.symlink(place, link)
            return call(*args, **kwargs)

        return called

    return {name: wrap(getattr(os, name)) for name in CALLS}, lambda: count


def patterns(n):
    """Which of n calls see the attacker's folder: some first, some last, one alone, all but one, every other."""
    yield lambda k: k % 2 == 0
    yield lambda k: k % 2 == 1
    for at in range(n + 1):
        yield lambda k, at=at: k >= at
        yield lambda k, at=at: k < at
        yield lambda k, at=at: k == at
        yield lambda k, at=at: k != at


def try_all_flips(place, monkeypatch):
    """Whose code is run where the cache is a link that is flipped at any call of the system's."""
    mine, theirs, link = place / "mine", place / "theirs", place / "link"
    mine.mkdir(mode=0o700)
    link.symlink_to(mine)
    load, files = fill(link, monkeypatch)
    for file in files:
        forged = theirs / file.relative_to(mine)
        forged.parent.mkdir(parents=True, exist_ok=True)
        forged.write_bytes(forge(file))
    for path in (theirs, *theirs.rglob("*")):
        if os.getuid() == 0:
            os.chown(path, NOBODY, NOBODY)
            path.chmod(0o755)
        else:
            path.chmod(0o777)
    tried = 0
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        calls, count = flipped(link, mine, theirs, lambda k: False)
        with monkeypatch.context() as patch:
            for name, call in calls.items():
                patch.setattr(os, name, call)
            assert load() == 6.0
        for wanted in patterns(count()):
            calls, _ = flipped(link, mine, theirs, wanted)
            with monkeypatch.context() as patch, contextlib.suppress(AttributeError):
                for name, call in calls.items():
                    patch.setattr(os, name, call)
                assert load() == 6.0
            if RUN:
                return list(RUN)
            tried += 1
    assert tried > 40
    return []


@pytest.mark.parametrize("numbas", ["", "numba"])
def test_a_link_that_is_flipped_between_check_and_use(place, monkeypatch, numbas):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(place / "link" / numbas) if numbas else "")
    assert try_all_flips(place, monkeypatch) == []


@pytest.mark.parametrize("name", ["is_private", "close_to_others"])
def test_a_link_that_is_flipped_is_found(place, monkeypatch, name):
    """Where a folder is not looked at once it is open."""
    monkeypatch.setattr(Folder, name, lambda *args: True)
    monkeypatch.setattr(Folder, "is_trusted_owner", lambda self, owner: True)
    monkeypatch.setattr(trust, "_OTHERS", 0)
    assert try_all_flips(place, monkeypatch) != []
