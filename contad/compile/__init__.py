"""How contad compiles: the specifics of Numba and LLVM, the cache on disk, linking. This package knows no rule and no
engine."""
