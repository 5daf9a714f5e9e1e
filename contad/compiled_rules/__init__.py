"""The rules as source and as Numba functions: contad's own, and those that users write."""
