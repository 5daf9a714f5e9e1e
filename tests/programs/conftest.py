"""What tests of recorded programs share."""

import numpy as np
import pytest

from contad.programs import program


@pytest.fixture
def memory_of_others(monkeypatch):
    """Runs get memory that is not zero anywhere: what they read they have written or cleared."""
    monkeypatch.setattr(program, "take", lambda n: np.full(n, np.nan))
