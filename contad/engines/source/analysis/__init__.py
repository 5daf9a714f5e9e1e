"""Analyses of a function before it is reversed: what is active, linear, unchanged, or loop-invariant."""
