"""Matrices at which linear algebra is differentiated: far from singular, none symmetric that need not be."""

import numpy as np


def a(*shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    return rng.uniform(0.4, 1.6, shape) * rng.choice([-1.0, 1.0], shape)


def square(*shape, seed=0):
    """Matrices that are far from singular, with different singular values."""
    return a(*shape, seed=seed) + np.diag(2.0 + np.arange(shape[-1]))


def symmetric(*shape, seed=0):
    """Positive definite matrices."""
    x = a(*shape, seed=seed)
    return 0.3 * x @ np.swapaxes(x, -1, -2) + np.diag(1.0 + np.arange(shape[-1]))


A, S, TALL, WIDE = square(3, 3), symmetric(3, 3), a(4, 2), a(2, 4)
STACK, STACKED_S = square(2, 3, 3), symmetric(2, 3, 3)


def unsigned(v):
    """Vectors in columns, so that their sign does not matter."""
    return v**2 + v[..., :1, :] * v
