"""The engine `generated`: the reverse pass of an njit function as Python source, compiled by Numba."""

from contad.engines.generated.build import build, explain, source

__all__ = ["build", "explain", "source"]
