"""The engine `tape`: a continuation is a record of stored partials, pushed from inside Numba by a variable type."""

from contad.engines.tape.build import build
from contad.engines.tape.explain import explain

__all__ = ["build", "explain"]
