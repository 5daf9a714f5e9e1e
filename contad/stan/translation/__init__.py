"""Stan programs as Python files: a Numba function, the parameters' block, and the data's names."""
