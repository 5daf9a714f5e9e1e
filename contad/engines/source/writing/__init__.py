"""Writes the derivative as source: the forward sweep, the reverse sweep, and the values stored between them."""
