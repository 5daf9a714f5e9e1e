"""`python -m contad` where the terminal's encoding, the reader or the separators of paths are other ones."""

import errno
import io
import runpy
import sys

import pytest

from contad.command import main


class Stream(io.TextIOWrapper):
    """A text stream of this encoding, and what has been written to it."""

    def __init__(self, encoding):
        super().__init__(io.BytesIO(), encoding=encoding)

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


def run(monkeypatch, *arguments):
    """The exit status of `python -m contad ARGUMENTS` in this process."""
    monkeypatch.setattr(sys, "argv", ["contad", *arguments])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("contad", run_name="__main__")
    return stop.value.code


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_name_that_the_encoding_lacks(tmp_path, monkeypatch, encoding):
    file = tmp_path / "model.py"
    file.write_text("def ζ(λ=1.5): return λ * λ\n", encoding="utf-8")
    out, err = Stream(encoding), Stream(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert run(monkeypatch, f"{file}:ζ") == 0
    name = "λ" if encoding == "utf-8" else r"\u03bb"
    assert name in out.text() and run(monkeypatch, f"{file}:λ") == 2 and "contad: " in err.text()
    assert name in err.text()


class ClosedPipe(io.StringIO):
    """A pipe whose reader is gone, as a system tells it."""

    def __init__(self, number, file):
        super().__init__()
        self.number, self.file = number, file

    def flush(self):
        raise OSError(self.number, "planted")

    def fileno(self):
        return self.file.fileno()


@pytest.mark.parametrize("number", [errno.EPIPE, errno.EINVAL])  # the latter is Windows'
def test_a_reader_that_has_gone_is_no_error(tmp_path, monkeypatch, number):
    with open(tmp_path / "out", "w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", ClosedPipe(number, file))
        assert run(monkeypatch, "--help") == 0


class GonePipe(ClosedPipe):
    """The same of a long text, which is written at once."""

    def write(self, text):
        raise OSError(self.number, "planted")


@pytest.mark.parametrize("arguments", [("--json",), ()])
def test_a_reader_that_has_gone_before_the_report_is_no_error(tmp_path, monkeypatch, capsys, arguments):
    model = tmp_path / "model.py"
    model.write_text("def f(x=1.5): return x * x\n", encoding="utf-8")
    with open(tmp_path / "out", "w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", GonePipe(errno.EPIPE, file))
        assert run(monkeypatch, f"{model}:f", *arguments) == 0
    assert capsys.readouterr().err == ""


def test_another_error_of_the_stream_is_one(tmp_path, monkeypatch):
    with open(tmp_path / "out", "w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", ClosedPipe(errno.ENOSPC, file))
        monkeypatch.setattr(sys, "argv", ["contad", "--help"])
        with pytest.raises(OSError, match="planted"):
            runpy.run_module("contad", run_name="__main__")


def test_a_path_in_another_spelling_has_its_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "model.py").write_text("\ndef f(x=1.0):\n    return x / 0\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main([".//model.py:f"]) == 2 and "line 3: ZeroDivisionError" in capsys.readouterr().err
