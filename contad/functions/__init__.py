"""The user's function: how it is called, what it reads, and a copy of a Numba function that runs on variables."""
