"""What all tests of generated derivatives share."""

import pytest

from contad.engines.source.reading import buffer_bounds


@pytest.fixture(autouse=True)
def _count_in_python(request, monkeypatch):
    """Numba compiles the run that counts only where derivatives are compiled, too."""
    if not request.node.get_closest_marker("long"):
        monkeypatch.setattr(buffer_bounds, "_load", lambda function, *_: function)
