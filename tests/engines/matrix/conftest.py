"""What the tests of the engine `matrix` share."""

import pytest

from contad.engines.matrix.matrix_stack import MatrixStack
from contad.variables.stack import THREAD, opened


@pytest.fixture
def level():
    with opened(MatrixStack) as s:
        yield s


@pytest.fixture(autouse=True)
def no_level_is_left_open():
    yield
    assert len(THREAD.open) <= 1
    assert not THREAD.forward
