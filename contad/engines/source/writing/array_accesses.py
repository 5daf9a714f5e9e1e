"""Moved to `contad.engines.source.passes.dependence`."""  # BRIDGE

from contad.engines.source.passes.dependence import indices_of, offset_of

__all__ = ["indices_of", "offset_of"]
