"""Bars: drawn after a while, on a terminal that somebody looks at, and nowhere else."""

import io
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from contad import progress_bars
from contad.progress_bars import ProgressBar, has_watcher


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def show_on(stream, monkeypatch):
    """Have bars go to the stream; pytest exchanges sys.stderr itself."""
    monkeypatch.setattr(progress_bars, "sys", SimpleNamespace(stderr=stream))


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    show_on(stream, monkeypatch)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(progress_bars, "INTERVAL", 0.01)
    return stream


def wait_for(stream, text):
    end = time.monotonic() + 10.0
    while text not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    assert text in stream.getvalue()


def test_long_work_has_a_bar_that_disappears(terminal, monkeypatch):
    monkeypatch.setattr(progress_bars, "DELAY", 0.0)
    before = set(threading.enumerate())  # others may have used tqdm
    with ProgressBar("adding", total=4) as bar:
        wait_for(terminal, "adding")
        bar.advance("multiplying")
        wait_for(terminal, "multiplying:  25%")
        assert "1/4" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
    assert not any(thread.name == "contad progress" for thread in threading.enumerate())
    assert "TMonitor" not in [type(thread).__name__ for thread in set(threading.enumerate()) - before]


def test_where_only_the_time_is_known_it_is_shown(terminal, monkeypatch):
    monkeypatch.setattr(progress_bars, "DELAY", 0.0)
    with ProgressBar("compiling"):
        wait_for(terminal, "compiling: 00:0")
    assert "it/s" not in terminal.getvalue()


def test_quick_work_has_no_bar(terminal):
    start = time.monotonic()
    with ProgressBar("adding", total=1) as bar:
        bar.advance()
    assert time.monotonic() - start < progress_bars.DELAY / 2
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("variable", [("CI", "true"), ("CI", "1"), ("TERM", "dumb")])
def test_nobody_looks_at_a_log(terminal, monkeypatch, variable):
    assert has_watcher()
    monkeypatch.setenv(*variable)
    monkeypatch.setattr(progress_bars, "DELAY", 0.0)
    assert not has_watcher()
    with ProgressBar("adding") as bar:
        assert bar._thread is None
        time.sleep(0.05)
    assert terminal.getvalue() == ""


def test_a_file_gets_none(monkeypatch):
    show_on(io.StringIO(), monkeypatch)
    assert not has_watcher()
    show_on(None, monkeypatch)  # as under pythonw
    assert not has_watcher()


def test_without_tqdm_nothing_is_shown(terminal, monkeypatch):
    monkeypatch.setattr(progress_bars, "DELAY", 0.0)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with ProgressBar("adding", total=1) as bar:
        time.sleep(0.05)
        bar.advance()
    assert terminal.getvalue() == ""
