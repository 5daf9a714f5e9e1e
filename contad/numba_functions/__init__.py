"""The user's Numba function seen from outside: what it has frozen, whether it writes, and its derivative as a call."""
