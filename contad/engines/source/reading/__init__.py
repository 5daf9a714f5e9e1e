"""The front end: reads the statements, expressions and calls of a Numba function into SSA form."""
