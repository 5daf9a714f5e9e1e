"""Generated modules: served by name, checked against the function they were made of, repaired and cleared."""

import importlib
import sys

import numba
import pytest

import contad
from contad.compile import compiling
from contad.errors import StaleCacheError
from contad.numba_functions import modules
from contad.numba_functions.modules import Served

SOURCE = """\
from contad.compile.machine_code import njit

@njit(cache=True)
def twice(x):
    return 2.0 * call(x)
"""
RATE = 0.7


@numba.njit
def scaled(x):
    return RATE * x


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    tmp_path.chmod(0o700)
    return tmp_path


def served(f=scaled, key=("one",)):
    made = Served("twice", f, key)
    if made.text() is None:
        made.write(SOURCE)
    return made


def found(made):
    """The module as Numba finds it when it loads cached code."""
    sys.modules.pop(modules.PACKAGE + made.stem, None)
    try:
        return importlib.import_module(modules.PACKAGE + made.stem)
    finally:
        sys.modules.pop(modules.PACKAGE + made.stem, None)


def test_a_module_is_made_once_for_a_function_and_a_key(cache):
    made = served()
    assert made.text() == SOURCE
    assert Served("twice", scaled, ["one"]).text() == SOURCE
    assert Served("twice", scaled, ["two"]).text() is None
    assert made.load({"call": scaled}).twice(3.0) == pytest.approx(4.2)


def _unnamed(x):
    return RATE * x * x


renamed = numba.njit(_unnamed)


@pytest.mark.parametrize(("f", "name"), [(scaled, "scaled"), (renamed, "_unnamed")])
def test_a_name_is_found_while_its_function_is_as_it_was(f, name, cache, monkeypatch):
    made = served(f)
    assert found(made).__name__ == modules.PACKAGE + made.stem
    monkeypatch.setitem(globals(), "RATE", 0.8)
    assert Served("twice", f, ["one"]).stem != made.stem
    with pytest.raises(StaleCacheError, match=rf"holds the gradient of .*test_modules.{name} as it was"):
        found(made)
    monkeypatch.undo()
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(cache))
    assert found(made)


def test_code_of_another_version_is_stale(cache, monkeypatch):
    made = served()
    monkeypatch.setattr(compiling, "library_digest", lambda: "another")
    assert Served("twice", scaled, ["one"]).stem != made.stem
    with pytest.raises(StaleCacheError, match="contad has changed since"):
        found(made)


def test_a_name_that_is_not_in_the_cache_is_stale(cache):
    with pytest.raises(StaleCacheError, match="no longer in the cache"):
        importlib.import_module(modules.PACKAGE + "twice_0123456789abcdef")


def test_a_function_made_by_another_is_never_taken_for_the_one_in_the_cache(cache):
    def make(a):
        @numba.njit
        def inner(x):
            return a * x

        return inner

    made = served(make(3.0))
    assert made.stem == served(make(3.0)).stem != served(make(4.0)).stem
    with pytest.raises(StaleCacheError, match=r"<locals>.inner"):
        found(made)


def test_a_module_dies_with_its_functions(cache):
    import gc

    made = served(key=("dies",))
    module = made.load({"call": scaled})
    assert module.__name__ in sys.modules
    name = module.__name__
    del module
    gc.collect()
    assert name not in sys.modules


def test_a_name_lives_as_long_as_one_of_the_modules_that_have_it(cache):
    """Functions made in a loop have one content: the name of their modules is no matter of which of them has died."""
    import gc

    def make():
        @numba.njit
        def inner(x):
            return RATE * x

        return inner

    name = modules.PACKAGE + served(make()).stem
    loaded = [served(make()).load({"call": scaled}) for _ in range(3)]
    for k in (0, 1, 0):  # the first, the last, the one that is left
        assert importlib.import_module(name) is sys.modules[name]
        del loaded[k]
        gc.collect()
    assert name not in sys.modules
    with pytest.raises(StaleCacheError, match=r"<locals>.inner"):
        importlib.import_module(name)


def test_modules_of_unstable_functions_are_kept_apart(cache):
    thing = object()

    def uses(x):
        return x if thing is None else 2.0 * x

    made = served(uses)
    assert not made.stable and made.path.parent != cache and made.text() == SOURCE


def compilations():
    """A listener's list of what Numba compiles from now on."""
    from numba.core import event

    class Listen(event.Listener):
        def __init__(self):
            self.names = []

        def on_start(self, e):
            self.names.append(e.data["dispatcher"].__name__)

        def on_end(self, e):
            pass

    return Listen()


def test_damaged_machine_code_is_compiled_again(cache):
    from numba.core import event

    for pattern, length in ((None, 0), ("*.nbi", 40), ("*.nbc", 100), ("*.nbi", 0)):
        if pattern:
            (file,) = (cache / "__pycache__").glob(pattern)
            file.write_bytes(file.read_bytes()[:length])
        listener = compilations()
        with event.install_listener("numba:compile", listener):
            assert served().load({"call": scaled}).twice(3.0) == pytest.approx(4.2)
        assert "twice" in listener.names
    listener = compilations()
    with event.install_listener("numba:compile", listener):
        assert served().load({"call": scaled}).twice(3.0) == pytest.approx(4.2)
    assert listener.names == []


def test_clearing(cache, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("numba")
    (cache / "notes.py").write_text("")
    for place in (None, str(elsewhere)):
        monkeypatch.setattr("numba.core.config.CACHE_DIR", place or "")
        served().load({"call": scaled}).twice(3.0)
    assert [*elsewhere.rglob("*.nbc")] and [*cache.rglob("*.nbc")]
    contad.clear_cache()
    left = [path.name for folder in (cache, elsewhere) for path in folder.rglob("*") if path.is_file()]
    assert left == ["notes.py"]
    assert served().load({"call": scaled}).twice(3.0) == pytest.approx(4.2)
