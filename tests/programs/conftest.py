"""What tests of recorded programs share."""

import numpy as np
import pytest

from contad.programs import program
from contad.programs.python_calls import ArrayCall


@pytest.fixture
def memory_of_others(monkeypatch):
    """Runs get memory that is not zero anywhere: what they read they have written or cleared."""
    monkeypatch.setattr(program, "take", lambda n: np.full(n, np.nan))


@pytest.fixture
def no_python(monkeypatch):
    """Python may not evaluate a rule in a program."""

    def refuse(call, *args):
        raise AssertionError(f"Python runs {call.rule.name}")

    for name in ("look", "pull", "push"):
        monkeypatch.setattr(ArrayCall, name, refuse)
