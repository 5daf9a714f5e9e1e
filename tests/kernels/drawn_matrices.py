"""Matrices that tests of kernels draw."""

import numpy as np


class Draw:
    """draw(n, k), and matrices that systems and factors may have; the same ones from the same seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, *shape):
        return self.rng.standard_normal(shape)

    def system(self, n, *columns):
        return self(n, n) + 2.0 * np.eye(n), self(n, *columns)

    def positive(self, n):
        """One of which the lower triangle is read."""
        a = self(n, n)
        return a @ a.T + np.eye(n) + np.triu(self(n, n), 1)
