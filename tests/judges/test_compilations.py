"""The budgets of compilations: what is counted, an excess that fails the run, and files that exist."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.judges.compilations import BUDGETS, COLLECTING, DEFAULT, PROCESS, find_excesses, read_budgets

ROOT = BUDGETS.parents[1]
CONFTEST = """
import pytest
from tests.judges import compilations


def pytest_configure(config):
    compilations.BUDGETS = config.rootpath / "testing.md"
    config.pluginmanager.register(compilations.CompilationCounter(config))
"""
FILE = """
import subprocess, sys
import pytest
from numba import njit

at_import = njit(lambda x: x - 1)(1)

@njit
def inner(x):
    return x + 1

@njit
def outer(x):
    return inner(x) * 2

@pytest.mark.parametrize("x", [1, 1.5, 2.5, 1j])
def test_types(x):
    assert outer(x) == 2 * x + 2

def test_process():
    subprocess.run([sys.executable, "-c", ""], check=True)
"""


def run(folder, budget, *options):
    (folder / "planted").mkdir(exist_ok=True)
    (folder / "planted" / "conftest.py").write_text(CONFTEST)
    (folder / "planted" / "test_planted.py").write_text(FILE)
    (folder / "testing.md").write_text(
        f"| `planted/test_planted.py` | {budget} |\n| {DEFAULT} | 1 |\n| {COLLECTING} | 1 |\n"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options]
    command += ["--import-mode=importlib", "planted"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("workers", ["2", pytest.param("0", marks=pytest.mark.long)])
def test_an_excess_fails_the_run(tmp_path, workers):
    met = 3 + PROCESS  # three types, not what they call; and a process. Two workers may both meet a type.
    done = run(tmp_path, met - 1, "-n", workers)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"its budget is {met - 1}" in done.stdout and "5 passed" in done.stdout
    assert "collecting:" not in done.stdout, done.stdout  # what is compiled at import is within its own
    if workers == "0":
        assert f"planted/test_planted.py: {met} compilations" in done.stdout


def test_excesses_are_found_for_files_without_a_budget_too():
    budgets = {"tests/a.py": 10, DEFAULT: 3, COLLECTING: 0}
    counts = Counter({"tests/a.py": 11, "tests/b.py": 4, "tests/c.py": 3, COLLECTING: 1})
    assert find_excesses(counts, budgets) == [
        "collecting: 1 compilations, its budget is 0",
        "tests/a.py: 11 compilations, its budget is 10",
        "tests/b.py: 4 compilations, its budget is 3",
    ]


def test_every_budget_is_that_of_a_file():
    budgets = read_budgets(BUDGETS.read_text())
    assert {DEFAULT, COLLECTING} <= budgets.keys()
    assert [file for file in budgets if file.endswith(".py") and not Path(ROOT, file).exists()] == []
    assert min(count for file, count in budgets.items() if file.endswith(".py")) > budgets[DEFAULT]
