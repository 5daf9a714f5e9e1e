"""The engine `generated` writes the reverse sweep of an njit function as Python source, and Numba compiles it."""

from contad.engines.source.build import build, infer_result
from contad.engines.source.description import explain, list_loops, source

__all__ = ["build", "explain", "infer_result", "list_loops", "source"]
