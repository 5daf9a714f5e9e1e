"""Writes the derivative as source: the forward sweep, the reverse sweep, and the values that one stores for the other."""
