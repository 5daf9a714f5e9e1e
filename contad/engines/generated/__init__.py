"""The engine `generated`: the reverse pass of an njit function as Python source, compiled by Numba."""

from contad.engines.generated.build import build, source

__all__ = ["build", "source"]
