"""Errors of contad that a test means to catch where variables are: the call around it is not to raise them again."""

from contextlib import contextmanager

import pytest

from contad.variables.stack import attempt


@contextmanager
def refused(errors, match=None):
    """`pytest.raises`, after which no level remembers the error."""
    with attempt(), pytest.raises(errors, match=match) as found:
        yield found
