"""Building blocks of the compiled bodies of `contad.scipy.linalg`, which Python also runs."""

import numpy as np


def toeplitz_of(c, r):
    """The Toeplitz matrix of a column and a row."""
    made = np.zeros((len(c), len(r)))
    for i in range(len(c)):
        for j in range(len(r)):
            made[i, j] = c[i - j] if i >= j else r[j - i]
    return made


def hankel_of(c, r):
    """The Hankel matrix of a column and a row."""
    n = len(c)
    made = np.zeros((n, len(r)))
    for i in range(n):
        for j in range(len(r)):
            made[i, j] = c[i + j] if i + j < n else r[i + j - n + 1]
    return made


def circulant_of(c):
    """The circulant matrix of a column."""
    n = len(c)
    made = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            made[i, j] = c[(i - j) % n]
    return made


def tridiagonal_of(d, e):
    """The symmetric tridiagonal matrix of a diagonal and an off-diagonal."""
    made = np.zeros((len(d), len(d)))
    for i in range(len(d)):
        made[i, i] = d[i]
    for i in range(len(e)):
        made[i, i + 1] = e[i]
        made[i + 1, i] = e[i]
    return made


def polar_of(a):
    """The right polar factors."""
    u, s, vh = np.linalg.svd(a, False)
    return u @ vh, (vh.T * s) @ vh


def augment(a, e):
    """The block matrix whose exponential contains exp(a) and its derivative along e."""
    n = a.shape[0]
    blocks = np.zeros((2 * n, 2 * n))
    blocks[:n, :n] = a
    blocks[n:, n:] = a
    blocks[:n, n:] = e
    return blocks


def take_upper_half(a):
    """The upper two of four blocks."""
    n = a.shape[0] // 2
    return a[:n, :n].copy(), a[:n, n:].copy()
