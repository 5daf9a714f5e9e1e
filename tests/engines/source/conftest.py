"""What all tests of generated derivatives share."""

import pytest

from contad.engines.source.reading import counted_runs


@pytest.fixture(autouse=True)
def _count_in_python(request, monkeypatch):
    """Numba compiles the run that counts only where derivatives are compiled, too."""
    if not request.node.get_closest_marker("long"):
        monkeypatch.setattr(counted_runs, "_load", lambda function, *_: function)
