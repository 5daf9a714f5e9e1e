"""How contad compiles: Numba's and LLVM's specifics, the cache on disk, linking. It knows no rule and no engine."""
