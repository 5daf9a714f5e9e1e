"""Makes loops over whole arrays parallel, in functions that Numba compiles with parallel=True."""

from contad.engines.source.ir.single_assignment import For, Loop, SourceFunction
from contad.engines.source.ir.walks import around, walk


def share_elements(program: SourceFunction) -> None:
    """Mark the loops of statements on whole arrays, except inside other loops, where arrays are mostly small."""
    for o in walk(program.block):
        if isinstance(o, For) and o.is_of_arrays and not any(isinstance(x, Loop) for x in around(o.block)):
            o.is_parallel = True
