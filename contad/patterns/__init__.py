"""Sparsity patterns of derivatives, their colourings, and sparse matrices computed with them."""
