"""Nothing is of one system only: what sources may not do, and what the page about portability promises."""

import ast
import ctypes
import re
from pathlib import Path

import pytest

from contad.compile.lapack import find_routine
from contad.compile.machine_code import SealedCache
from tests.judges.sources import nodes_of

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "notes" / "guide" / "portability.md").read_text(encoding="utf-8")
SOURCES = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in sorted((ROOT / "contad").rglob("*.py"))}
OF_POSIX = frozenset(("fcntl", "grp", "posix", "pty", "pwd", "resource", "signal", "syslog", "termios", "tty"))


def texts_without_encoding(source):
    """The lines where a text file is opened without an encoding."""
    calls = [node for node in nodes_of(source) if isinstance(node, ast.Call)]
    found = []
    for call in calls:
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)
        mode = [a.value for a in call.args[1:2] if isinstance(a, ast.Constant)]
        mode += [k.value.value for k in call.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)]
        is_os = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "os"  # a descriptor
        is_path = name in ("read_text", "write_text") and isinstance(call.func, ast.Attribute)
        if is_path or (name in ("open", "fdopen") and not is_os and "b" not in str(mode)):
            if not any(k.arg == "encoding" for k in call.keywords):
                found.append(call.lineno)
    return found


def imports_of_posix(source):
    """The modules that only POSIX has and that are imported where their absence is no case to go on with."""
    guarded = {id(n) for t in nodes_of(source) if isinstance(t, ast.Try) for s in t.body for n in ast.walk(s)}
    nodes = [n for n in nodes_of(source) if id(n) not in guarded]
    names = [alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names]
    names += [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
    return sorted(OF_POSIX.intersection(names))


def matches(pattern):
    """What finds the lines of a source with a pattern."""
    return lambda source: [line for line in source.splitlines() if re.search(pattern, line)]


names_of_systems = matches(r"\bsys\.platform\b|\bos\.name\b|\bplatform\.(system|machine|uname)\b|\bos\.uname\b")
integers_of_systems = matches(r"\bc_u?long\b|\btypes\.u?long_?\b|\bnp\.u?(long|int_)\b|dtype=[\"'][lL][\"']")
libraries = matches(r"CDLL\([^N]|find_library|load_library_permanently|LoadLibrary\(|cdll\.\w")
processes = matches(r"\bos\.(fork|kill|setsid|popen|system)\b|\bsubprocess\b|\bmultiprocessing\b")


def faults(scan):
    """What a scan finds in contad's sources."""
    return {file: found for file, source in SOURCES.items() if (found := scan(source))}


def test_every_text_file_has_an_encoding():
    assert faults(texts_without_encoding) == {}


def test_modules_import_without_posix():
    assert faults(imports_of_posix) == {}


def test_ways_are_chosen_by_what_is_there():
    assert faults(names_of_systems) == {}


def test_no_integer_has_the_size_of_a_system():
    assert faults(integers_of_systems) == {}


def test_no_library_is_looked_for():
    assert faults(libraries) == {}


def test_no_process_is_started():
    asked_for = {"contad/stan/translation/stanc.py", "contad/warming/processes.py"}
    assert set(faults(processes)) == asked_for


@pytest.mark.parametrize(("scan", "wrong", "right"), [
    (texts_without_encoding, "open(p)\np.read_text()\nopen(p, 'w')", "open(p, 'rb')\nos.open(p, 1)"),
    (texts_without_encoding, "p.write_text(x, 'w')", "open(p, encoding='utf-8')\np.open(mode='wb')"),
    (imports_of_posix, "def f():\n    import resource", "try:\n    import resource\nexcept ImportError: pass"),
    (imports_of_posix, "from fcntl import flock", "import os, sys"),
    (names_of_systems, "if sys.platform == 'win32': pass", "if hasattr(os, 'getuid'): pass"),
    (integers_of_systems, "x = ctypes.c_long(0)", "x = ctypes.c_int64(0)"),
    (integers_of_systems, "np.zeros(3, np.int_)", "np.zeros(3, np.int64)"),
    (libraries, "ctypes.CDLL('libm.so.6')", "ctypes.CDLL(None)"),
    (libraries, "ctypes.util.find_library('m')", "ctypes.pythonapi.PyErr_Clear"),
    (processes, "os.fork()", "threading.Thread()"),
])  # fmt: skip
def test_a_fault_is_found(scan, wrong, right):
    assert scan(wrong)
    assert not scan(right)


def test_names_of_files_are_plain(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("def f():\n    return lambda x: x\n", encoding="utf-8")
    names: dict = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    cache = SealedCache(names["f"]())  # of f.<locals>.<lambda>
    assert re.fullmatch(r"[\w.-]+", Path(cache._cache_file._index_path).name)


def test_another_declaration_is_refused(monkeypatch):
    """As of a SciPy whose BLAS takes integers of 64 bits."""
    from scipy.linalg import cython_blas

    new = ctypes.pythonapi.PyCapsule_New
    monkeypatch.setattr(new, "restype", ctypes.py_object)
    monkeypatch.setattr(new, "argtypes", [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p])
    text = b"void (char *, npy_int64 *, npy_int64 *, d *, d *, npy_int64 *, d *, npy_int64 *, d *, d *, npy_int64 *)"
    monkeypatch.setitem(cython_blas.__pyx_capi__, "dgemv", new(1, text, None))
    with pytest.raises(ImportError, match="has another dgemv: .*npy_int64"):
        find_routine.__wrapped__("dgemv")
    monkeypatch.undo()
    assert find_routine.__wrapped__("dgemv") != 0


def rows(page):
    """The places of the page's table, and the cells with their tests."""
    found = re.findall(r"^\| (.*?) \| .* \| (.*?) \|$", page, re.MULTILINE)
    return [(place, tests) for place, tests in found if place not in ("place", "---")]


def test_every_place_names_a_test():
    assert len(rows(PAGE)) > 10
    assert [place for place, tests in rows(PAGE) if not re.search(r"`tests/[\w/]+\.py::\w+`", tests)] == []


def test_a_place_without_test_is_found():
    ((place, tests),) = rows("| place | how | tests |\n| --- | --- | --- |\n| files | by name | none |\n")
    assert (place, tests) == ("files", "none")


def test_places_that_are_named_exist():
    for file, name in re.findall(r"`(contad/[\w/]+\.py)(?:::(\w+))?`", PAGE):
        assert not name or re.search(rf"^def {name}\(", SOURCES[file], re.MULTILINE), (file, name)
