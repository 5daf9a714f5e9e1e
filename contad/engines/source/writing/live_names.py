"""Moved to `contad.engines.source.passes.liveness`."""  # BRIDGE

from contad.engines.source.ir.syntax import names_in
from contad.engines.source.passes.liveness import LiveNames, Names, carried_names, names_assigned, names_read

__all__ = ["LiveNames", "Names", "carried_names", "names_assigned", "names_in", "names_read"]
