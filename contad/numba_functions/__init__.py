"""The user's Numba function seen from outside: its frozen values, whether it writes, and its derivative as a call."""
