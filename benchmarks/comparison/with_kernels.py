"""Gradients by hand with contad's elementary functions in vector registers: a second reference for generated code.

A function of the C library in a loop keeps it from vector registers. Here such functions have loops of their own, over
rows of 256 numbers that stay in a cache, and are the kernels that generated code calls.
"""

import math

import numpy as np
from numba import njit

from benchmarks.comparison.written import reassociating
from contad.elementary.exponentials import exp
from contad.elementary.logarithms import log1p

ROW = 256


@reassociating
def log_sum_exp(x):
    largest = np.max(x)
    gradient = np.empty(len(x))
    total = 0.0
    for i in range(len(x)):
        gradient[i] = exp(x[i] - largest)
        total += gradient[i]
    for i in range(len(x)):
        gradient[i] /= total
    return largest + math.log(total), (gradient,)


@reassociating
def logistic(beta, x, y):
    n, k = x.shape
    gradient = -beta
    loglik = 0.0
    for j in range(k):
        loglik -= 0.5 * beta[j] * beta[j]
    eta, e, logarithm = np.empty(ROW), np.empty(ROW), np.empty(ROW)
    for first in range(0, n, ROW):
        m = min(ROW, n - first)
        for i in range(m):
            total = 0.0
            for j in range(k):
                total += x[first + i, j] * beta[j]
            eta[i] = total
        for i in range(m):
            e[i] = exp(eta[i])
        for i in range(m):
            logarithm[i] = log1p(e[i])
        for i in range(m):
            loglik += y[first + i] * eta[i] - logarithm[i]
            rest = y[first + i] - e[i] / (1.0 + e[i])
            for j in range(k):
                gradient[j] += rest * x[first + i, j]
    return loglik, (gradient,)


@njit
def stochastic_volatility(h, mu, phi, sigma, y):
    n = len(h)
    q = 1.0 - phi * phi
    w = 1.0 / (sigma * sigma)
    first = h[0] - mu
    bar = np.empty(n)
    observed = 0.0
    for t in range(n):
        bar[t] = exp(-h[t])
    for t in range(n):
        scaled = y[t] * y[t] * bar[t]
        observed += h[t] + scaled
        bar[t] = 0.5 * (scaled - 1.0)
    squares, of_phi, pulls = q * first * first, w * phi * first * first, 0.0
    for t in range(1, n):
        centred = h[t - 1] - mu
        innovation = h[t] - mu - phi * centred
        squares += innovation * innovation
        of_phi += w * innovation * centred
        pulls += w * innovation
        bar[t] -= w * innovation
    for t in range(1, n):
        bar[t - 1] += phi * (w * (h[t] - mu - phi * (h[t - 1] - mu)))
    bar[0] -= w * q * first
    of_mu = (1.0 - phi) * pulls + w * q * first - 2.0 * mu / (100.0 + mu * mu)
    of_sigma = (w * squares - n) / sigma - 2.0 * sigma / (25.0 + sigma * sigma)
    prior = 0.5 * math.log(q) - math.log(1.0 + mu * mu / 100.0) - math.log(1.0 + sigma * sigma / 25.0)
    value = prior - 0.5 * w * squares - n * math.log(sigma) - 0.5 * observed
    return value, (bar, of_mu, of_phi - phi / q, of_sigma)


@njit
def go_back(alpha, weights, emission, observed):
    """The value of a hidden Markov model and its gradient, by the last alpha and the weights (step, to, from)."""
    n, k = weights.shape[:2]
    largest = np.max(alpha)
    value = largest + math.log(np.sum(np.exp(alpha - largest)))
    bar = np.exp(alpha - value)
    before = np.empty(k)
    into_bar = np.zeros((k, k))
    emission_bar = np.zeros(emission.shape)
    for t in range(n - 1, 0, -1):
        before[:] = 0.0
        for s in range(k):
            emission_bar[s, observed[t]] += bar[s]
            for r in range(k):
                w = bar[s] * weights[t, s, r]
                into_bar[s, r] += w
                before[r] += w
        bar, before = before, bar
    emission_bar[:, observed[0]] += bar
    return value, (bar, into_bar.T.copy(), emission_bar)


@njit
def hmm(initial, transition, emission, observed):
    """As by hand with the C library, whose weights are kept as well."""
    k = len(initial)
    n = len(observed)
    into = transition.T.copy()
    alpha = initial + emission[:, observed[0]]
    following = np.empty(k)
    weights = np.empty((n, k, k))  # step, to, from
    for t in range(1, n):
        for s in range(k):
            largest = -np.inf
            for r in range(k):
                largest = max(largest, alpha[r] + into[s, r])
            total = 0.0
            for r in range(k):
                weights[t, s, r] = exp(alpha[r] + into[s, r] - largest)
            for r in range(k):
                total += weights[t, s, r]
            for r in range(k):
                weights[t, s, r] /= total
            following[s] = largest + math.log(total) + emission[s, observed[t]]
        alpha, following = following, alpha
    return go_back(alpha, weights, emission, observed)
