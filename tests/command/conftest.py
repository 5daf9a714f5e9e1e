"""What the tests of the command share: a model in a file, and the command run on a function of it."""

import pytest

from contad.command import main
from tests.judges.planted import registered

MODEL = """
import contad
import numpy as np

times = [1.0, 2.0, 4.0]
table = np.array([[1.0, 2.0], [3.0, 4.0]])
start = 3.0

def log_likelihood(times, rate=0.5):
    return sum(contad.ops.log(rate) - rate * t for t in times)

def containers(p={"a": 2.0, "b": (1.5, [4.0])}, n=3):
    return p["a"] * p["b"][0] + n * p["b"][1][0] ** 2

def quadratic(table, start, *, scale=2.0):
    return np.sum(table * table) * scale + start

def cubic(start):
    return start**3

def squares(table):
    return np.sum(table * table)

def loop(x=2.0, n=3):
    for _ in range(n):
        x = x * x
    return x

def shifted(x=3.0):
    return (x - 3.0) ** 2

def talkative(x=1.0):
    print("hello")
    return x * x
"""


@pytest.fixture(autouse=True)
def _brief(monkeypatch):
    """Time each function for an instant only, and forget the rules of the models."""
    monkeypatch.setattr("contad.command.examination.TIMING_SECONDS", 0.01)
    with registered():
        yield


@pytest.fixture
def run(tmp_path, capsys):
    """Write a model and run the command on a function of it: (status, standard output, standard error)."""

    def run_on(target, *arguments, source=MODEL):
        path = tmp_path / "model.py"
        path.write_text(source)
        status = main([f"{path}:{target}", *arguments])
        out, err = capsys.readouterr()
        return status, out, err.replace(f"{tmp_path}/", "")

    return run_on


@pytest.fixture
def help_commands(capsys, tmp_path, monkeypatch):
    """The commands that --help shows, in a folder with the files that it shows."""
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, end in (("model.py", "and times.csv"), ("times.csv", "and then")):
        source = text.partition(f"{name} contains\n")[2].partition(end)[0]
        (tmp_path / name).write_text("\n".join(line[4:] for line in source.splitlines()))
    monkeypatch.chdir(tmp_path)
    commands = text.partition("and then\n")[2].splitlines()
    return [line.strip() for line in commands if line.startswith("    python -m contad")]
