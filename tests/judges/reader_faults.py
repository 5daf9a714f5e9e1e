"""A fault of the engine `generated` fails the test that meets it.

A call goes on to the tape whatever reading a function ends with, since Numba raises errors of many classes; so a
KeyError of a reader would only show as a refusal. In tests it is raised.
"""

import traceback
from pathlib import Path

from numba.core.errors import NumbaError

from contad.engines import source
from contad.errors import ContadError
from contad.front import choice

HOME = str(Path(source.__file__).parent)
TOLD = ContadError, NumbaError, MemoryError, RecursionError, IndentationError  # the last two: nested too deeply


def is_fault(error):
    """Whether an error of Python's was raised by a line of the engine's own, and not by what it asks of Numba."""
    return not isinstance(error, TOLD) and traceback.extract_tb(error.__traceback__)[-1].filename.startswith(HOME)


def raise_faults():
    """Let refusals be refusals only."""
    told = choice.reason

    def reason(error):
        if is_fault(error):
            raise error
        return told(error)

    choice.reason = reason
