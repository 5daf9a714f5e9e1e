"""Who asks to be told of compilations is told, whether Numba is imported before that or after."""

import functools
import importlib
import sys
from types import SimpleNamespace

from contad.compile import dispatchers

EVENTS = """
class Listener:
    pass

registered = []

def register(kind, listener):
    registered.append((kind, listener))
"""


def test_it_waits_for_numba(tmp_path, monkeypatch):
    (tmp_path / "events_of_numba.py").write_text(EVENTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(dispatchers, "_EVENTS", "events_of_numba")
    before = list(sys.meta_path)
    told = []
    ask = functools.partial(dispatchers.tell_of_compilations, lambda: told.append(()), lambda *args: told.append(args))
    ask()
    assert len(sys.meta_path) == len(before) + 1
    module = importlib.import_module("events_of_numba")
    assert [kind for kind, _ in module.registered] == ["numba:compile"] and sys.meta_path == before
    assert module.__loader__ is module.__spec__.loader and hasattr(module.__loader__, "get_source")
    ask()  # imported already
    (_, first), (_, second) = module.registered
    first.on_start(None)
    second.on_end(SimpleNamespace(data={"dispatcher": 1, "args": 2}))
    assert told == [(), (1, 2)]
    monkeypatch.delitem(sys.modules, "events_of_numba")
