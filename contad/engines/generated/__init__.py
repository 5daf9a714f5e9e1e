"""The engine `generated`: the reverse pass of an njit function as Python source, compiled by Numba."""

from contad.engines.generated.build import build
from contad.engines.generated.explanation import explain
from contad.engines.generated.listing import source

__all__ = ["build", "explain", "source"]
