"""What functions have frozen is noted as Numba compiles them, whether it is imported before contad or after."""

import importlib
import sys

import numba
import numpy as np

from contad.native import watch
from contad.native.fingerprint import is_told

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
    monkeypatch.setattr(watch, "_EVENTS", "events_of_numba")
    before = list(sys.meta_path)
    watch.watch_compilations()
    watch.watch_compilations()
    assert len(sys.meta_path) == len(before) + 1
    module = importlib.import_module("events_of_numba")
    assert [kind for kind, _ in module.registered] == ["numba:compile"] and sys.meta_path == before
    assert module.__loader__ is module.__spec__.loader and hasattr(module.__loader__, "get_source")
    watch.watch_compilations()  # imported already
    assert len(module.registered) == 2
    monkeypatch.delitem(sys.modules, "events_of_numba")


def test_notes_are_made_of_what_numba_does_not_keep():
    data = np.array([1.0, 2.0])

    @numba.njit
    def untold(x):
        return data[1] * x

    assert is_told([untold])  # nothing is compiled
    assert untold(2.0) == 4.0 and is_told([untold])
    (overload,) = untold.overloads.values()
    ((_, _, parts),) = overload.environment.consts
    assert parts.keys() == {"untold.data"}
    overload.environment.consts.clear()
    assert not is_told([untold])
