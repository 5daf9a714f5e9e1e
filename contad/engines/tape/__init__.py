"""The engine `tape`: a continuation is a record of stored partials, pushed from inside Numba by a variable type."""

from contad.compile.overloads import join_overloads
from contad.engines.tape.building import build
from contad.engines.tape.explaining import explain

__all__ = ["build", "explain"]

join_overloads()
