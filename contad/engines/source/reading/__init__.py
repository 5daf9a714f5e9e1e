"""A Numba function read as a program: its statements, expressions and calls."""
