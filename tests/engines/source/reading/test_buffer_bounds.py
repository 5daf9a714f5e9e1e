"""A run beforehand counts how long arrays and lists become: a wrong count is an error, and no wrong number."""

import pytest

from contad.engines.source.reading import buffer_bounds
from contad.errors import EngineLimitError
from tests.engines.source.programs.buffer_bounds import LONGER_ARRAYS
from tests.engines.source.programs.harness import require_right


@pytest.mark.parametrize(("name", "words"), [("nested", "becomes longer"), ("lists", "grows by more")])
def test_a_count_that_is_too_small_raises(name, words, monkeypatch):
    monkeypatch.setattr(buffer_bounds, "_load", lambda function, *_: lambda *given: function(*given) - 1)
    with pytest.raises(EngineLimitError, match=words):
        require_right(LONGER_ARRAYS, name)
