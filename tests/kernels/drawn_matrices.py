"""Matrices that tests of kernels draw, and how they lie in memory."""

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


def laid_out(x):
    """The same array in rows, in columns, as a block of another, with steps between its numbers, and backwards."""
    wide, apart = np.zeros([n + 3 for n in x.shape]), np.zeros([2 * n for n in x.shape])
    block, steps = wide[tuple(slice(2, 2 + n) for n in x.shape)], apart[(slice(None, None, 2),) * x.ndim]
    block[...] = steps[...] = x
    return x, np.asfortranarray(x), block, steps, np.ascontiguousarray(x[::-1])[::-1]
