"""Sparsity patterns of derivatives, their colourings, and what is computed by these."""
