"""The log marginal likelihood of a Gaussian process in loops, for Numba; and its gradient by hand, for few points."""

import math

import numpy as np
from numba import njit

LOG_2PI = math.log(2.0 * math.pi)


@njit
def density(amplitude, length, noise, x, y):
    """Row by row of the lower triangle, with Cholesky's algorithm as it stands in books."""
    n, d = x.shape
    lower = np.zeros((n, n))
    z = np.empty(n)
    value = -0.5 * n * LOG_2PI
    for i in range(n):
        for j in range(i + 1):
            distance = 0.0
            for c in range(d):
                distance += (x[i, c] - x[j, c]) ** 2
            entry = amplitude * amplitude * math.exp(-0.5 * distance / (length * length))
            if i == j:
                entry += noise * noise
            for k in range(j):
                entry -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(entry) if i == j else entry / lower[j, j]
        residual = y[i]
        for k in range(i):
            residual -= lower[i, k] * z[k]
        z[i] = residual / lower[i, i]
        value -= 0.5 * z[i] * z[i] + math.log(lower[i, i])
    return value


@njit
def by_hand(amplitude, length, noise, x, y):
    """By d value = tr((a a' - inverse) dK) / 2, a = inverse y, with the inverse of Cholesky's factor."""
    n, d = x.shape
    kernel = np.empty((n, n))
    distances = np.empty((n, n))
    lower = np.empty((n, n))
    inverted = np.empty((n, n))  # of the factor, column j in row j
    z = np.empty(n)
    value = -0.5 * n * LOG_2PI
    for i in range(n):
        for j in range(i + 1):
            distance = 0.0
            for c in range(d):
                distance += (x[i, c] - x[j, c]) ** 2
            distances[i, j] = distance
            kernel[i, j] = amplitude * amplitude * math.exp(-0.5 * distance / (length * length))
            entry = kernel[i, j]
            if i == j:
                entry += noise * noise
            for k in range(j):
                entry -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(entry) if i == j else entry / lower[j, j]
        residual = y[i]
        for k in range(i):
            residual -= lower[i, k] * z[k]
        z[i] = residual / lower[i, i]
        value -= 0.5 * z[i] * z[i] + math.log(lower[i, i])
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total += lower[i, k] * inverted[j, k]
            inverted[j, i] = -total / lower[i, i]
        inverted[i, i] = 1.0 / lower[i, i]
    solved = np.zeros(n)
    for j in range(n):
        for i in range(j, n):
            solved[j] += inverted[j, i] * z[i]
    of_kernel, of_distances, of_diagonal = 0.0, 0.0, 0.0
    for i in range(n):
        for j in range(i + 1):
            weight = solved[i] * solved[j]
            for k in range(i, n):
                weight -= inverted[i, k] * inverted[j, k]
            if i == j:
                of_diagonal += weight
                of_kernel += weight * kernel[i, i]
            else:  # and above the diagonal
                of_kernel += 2.0 * weight * kernel[i, j]
                of_distances += 2.0 * weight * kernel[i, j] * distances[i, j]
    return value, (of_kernel / amplitude, 0.5 * of_distances / length**3, noise * of_diagonal)
