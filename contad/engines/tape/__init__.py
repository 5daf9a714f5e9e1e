"""The engine `tape`: a continuation is a record of stored partials, pushed from inside Numba by a variable type."""

from contad.compile.overloads import join_overloads
from contad.engines.tape.building import build, explain

__all__ = ["build", "explain"]

join_overloads()
