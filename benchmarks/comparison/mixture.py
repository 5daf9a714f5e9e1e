"""The Gaussian mixture of ADBench for Numba: the objective, in two ways, and its gradient by hand."""

import math

import numpy as np
from numba import njit

from benchmarks.loops import mixture


@njit
def constants(n, d, k, m):
    """What normalises the density and the prior, and depends on no parameter."""
    a = 0.5 * (d + m + 1)
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        log_gamma += math.lgamma(a - 0.5 * j)
    return k * log_gamma - 0.5 * n * d * math.log(2.0 * math.pi)


@njit
def loops(alphas, means, icf, x, gamma, m):
    """As ADBench writes it in C."""
    return mixture(alphas, means, icf, x, gamma, m) + constants(x.shape[0], x.shape[1], len(alphas), m)


@njit
def stacked(alphas, means, icf, gamma, m):
    """The matrices Q below each other, Q mean, the logarithms of the heights, and what the prior says of Q."""
    k, d = means.shape
    q = np.zeros((k * d, d))
    offset = np.zeros(k * d)
    heads = np.empty(k)
    prior = 0.0
    for c in range(k):
        heads[c] = alphas[c]
        p = d
        for i in range(d):
            heads[c] += icf[c, i]
            prior -= m * icf[c, i]
            q[c * d + i, i] = math.exp(icf[c, i])
            for j in range(i + 1, d):
                q[c * d + j, i] = icf[c, p]
                p += 1
            for j in range(i, d):
                prior += 0.5 * gamma * gamma * q[c * d + j, i] ** 2
                offset[c * d + j] += q[c * d + j, i] * means[c, i]
    return q, offset, heads, prior


@njit
def primal(alphas, means, icf, x, gamma, m):
    """The matrices Q below each other, so that one product of matrices has all Q x."""
    n, d = x.shape
    k = len(alphas)
    q, offset, heads, prior = stacked(alphas, means, icf, gamma, m)
    scaled = np.dot(x, q.T)
    terms = np.empty(k)
    total = 0.0
    for i in range(n):
        for c in range(k):
            squares = 0.0
            for j in range(c * d, (c + 1) * d):
                squares += (scaled[i, j] - offset[j]) ** 2
            terms[c] = heads[c] - 0.5 * squares
        largest = np.max(terms)
        summed = 0.0
        for c in range(k):
            summed += math.exp(terms[c] - largest)
        total += largest + math.log(summed)
    largest = np.max(alphas)
    log_sum = largest + math.log(np.sum(np.exp(alphas - largest)))
    prior -= k * d * (d + m + 1) * (math.log(gamma) - 0.5 * math.log(2.0))
    return total + prior - n * log_sum + constants(n, d, k, m)


@njit
def by_hand(alphas, means, icf, x, gamma, m):
    """Two products of matrices do most of the work; what is between them is one loop."""
    n, d = x.shape
    k = len(alphas)
    q, offset, heads, prior = stacked(alphas, means, icf, gamma, m)
    prior -= k * d * (d + m + 1) * (math.log(gamma) - 0.5 * math.log(2.0))
    scaled = np.dot(x, q.T)
    weights = np.empty(k)
    of_components = np.zeros(k)
    total = np.zeros(k * d)
    value = 0.0
    for i in range(n):
        row = scaled[i]
        largest = -np.inf
        for c in range(k):
            squares = 0.0
            for j in range(c * d, (c + 1) * d):
                row[j] -= offset[j]
                squares += row[j] * row[j]
            weights[c] = heads[c] - 0.5 * squares
            largest = max(largest, weights[c])
        summed = 0.0
        for c in range(k):
            weights[c] = math.exp(weights[c] - largest)
            summed += weights[c]
        value += largest + math.log(summed)
        for c in range(k):
            w = weights[c] / summed
            of_components[c] += w
            for j in range(c * d, (c + 1) * d):
                row[j] *= -w  # the adjoint of Q (x - mean)
                total[j] += row[j]
    q_bar = np.dot(scaled.T, x)
    largest = np.max(alphas)
    log_sum = largest + math.log(np.sum(np.exp(alphas - largest)))
    alphas_bar = of_components - n * np.exp(alphas - log_sum)
    means_bar = np.zeros((k, d))
    icf_bar = np.empty(icf.shape)
    for c in range(k):
        p = d
        for i in range(d):
            for j in range(i, d):
                r = c * d + j
                means_bar[c, i] -= total[r] * q[r, i]
                bar = q_bar[r, i] - total[r] * means[c, i] + gamma * gamma * q[r, i]
                if i == j:
                    icf_bar[c, i] = bar * q[r, i] + of_components[c] - m
                else:
                    icf_bar[c, p] = bar
                    p += 1
    value += prior - n * log_sum + constants(n, d, k, m)
    return value, (alphas_bar, means_bar, icf_bar)
