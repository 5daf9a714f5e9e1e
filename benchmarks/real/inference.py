"""Filters, likelihoods, alignments and trees."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real


@njit
def soft_warping(x, y, gamma):
    """The soft minimum over all alignments of two series."""
    n, m = x.size, y.size
    cost = np.full((n + 1, m + 1), 1e10)
    cost[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            a, b, c = cost[i, j], cost[i, j + 1], cost[i + 1, j]
            least = min(a, b, c)
            total = math.exp((least - a) / gamma) + math.exp((least - b) / gamma) + math.exp((least - c) / gamma)
            cost[i + 1, j + 1] = (x[i] - y[j]) ** 2 + least - gamma * math.log(total)
    return cost[n, m]


@njit
def local_level(theta, y):
    """A Kalman filter of level and slope, its covariance by four numbers."""
    q, r = math.exp(theta[0]), math.exp(theta[1])
    level, slope = y[0], theta[2]
    p11, p12, p22 = 1.0, 0.0, 1.0
    loglik = 0.0
    for t in range(1, y.size):
        level += slope
        p11 += 2.0 * p12 + p22 + q
        p12 += p22
        p22 += 0.1 * q
        innovation, s = y[t] - level, p11 + r
        loglik -= 0.5 * (math.log(2.0 * math.pi * s) + innovation * innovation / s)
        k1, k2 = p11 / s, p12 / s
        level += k1 * innovation
        slope += k2 * innovation
        p22 -= k2 * p12
        p12 -= k2 * p11
        p11 -= k1 * p11
    return loglik


@njit
def matrix_filter(transition, noise, y):
    """A Kalman filter with matrices of NumPy's."""
    d = transition.shape[0]
    state, cov = np.zeros(d), np.eye(d)
    h = np.ones(d)
    loglik = 0.0
    for t in range(y.size):
        state = transition @ state
        cov = transition @ cov @ transition.T + np.diag(noise)
        gain = cov @ h
        s = h @ gain + 1.0
        e = y[t] - h @ state
        loglik -= 0.5 * (np.log(s) + e * e / s)
        state = state + gain * (e / s)
        cov = cov - np.outer(gain, gain) / s
    return loglik


@njit
def particle_filter(theta, y, draws, uniforms):
    """Particles moved by draws that are given, weighed, and summed by systematic resampling of their places."""
    n = draws.shape[1]
    x = np.zeros(n)
    w = np.zeros(n)
    moved = np.zeros(n)
    total = 0.0
    for t in range(y.size):
        biggest = -1e300
        for i in range(n):
            x[i] = theta[0] * x[i] + math.exp(theta[1]) * draws[t, i]
            w[i] = -0.5 * (y[t] - x[i]) ** 2 / math.exp(theta[2])
            biggest = max(biggest, w[i])
        s = 0.0
        for i in range(n):
            w[i] = math.exp(w[i] - biggest)
            s += w[i]
        total += biggest + math.log(s / n) - 0.5 * theta[2]
        k, reached = 0, w[0] / s
        for i in range(n):
            while reached < (i + uniforms[t]) / n and k < n - 1:
                k += 1
                reached += w[k] / s
            moved[i] = x[k]
        for i in range(n):
            x[i] = moved[i]
    return total


@njit
def forward_algorithm(log_transition, means, y):
    """A hidden Markov model in logarithms."""
    k = means.size
    alpha = np.zeros(k)
    new = np.zeros(k)
    for t in range(y.size):
        for j in range(k):
            biggest = -1e300
            for i in range(k):
                biggest = max(biggest, alpha[i] + log_transition[i, j])
            s = 0.0
            for i in range(k):
                s += math.exp(alpha[i] + log_transition[i, j] - biggest)
            new[j] = biggest + math.log(s) - 0.5 * (y[t] - means[j]) ** 2
        alpha[:] = new
    return np.log(np.sum(np.exp(alpha - np.max(alpha)))) + np.max(alpha)


@njit
def tree_likelihood(lengths, rate, parents, leaves):
    """Felsenstein's pruning: four letters, a tree whose nodes come before their parents."""
    n, sites = parents.size, leaves.shape[1]
    loglik = 0.0
    partial = np.ones((n + 1, 4))
    for site in range(sites):
        for node in range(n + 1):
            for a in range(4):
                partial[node, a] = 1.0
            if node < leaves.shape[0]:
                for a in range(4):
                    partial[node, a] = 1.0 if leaves[node, site] == a else 0.0
        for node in range(n):
            stay = 0.25 + 0.75 * math.exp(-4.0 / 3.0 * rate * lengths[node])
            move = (1.0 - stay) / 3.0
            total = 0.0
            for a in range(4):
                total += partial[node, a]
            for a in range(4):
                partial[parents[node], a] *= move * total + (stay - move) * partial[node, a]
        root = 0.0
        for a in range(4):
            root += 0.25 * partial[n, a]
        loglik += math.log(root)
    return loglik


@njit
def coalescent(times, growth):
    """Waiting times of lineages in a population that grows."""
    n = times.size
    total, last = 0.0, 0.0
    for k in range(n):
        pairs = 0.5 * (n + 1 - k) * (n - k)
        now = last + math.exp(times[k])
        total += math.log(pairs) + growth * now
        total -= pairs * (math.exp(growth * now) - math.exp(growth * last)) / growth
        last = now
    return total


@njit
def garch(theta, returns):
    """Volatility that follows squared returns, with heavy tails."""
    omega, alpha, beta, nu = math.exp(theta[0]), theta[1], theta[2], 4.0 + math.exp(theta[3])
    h = omega / (1.0 - alpha - beta)
    constant = math.lgamma(0.5 * (nu + 1.0)) - math.lgamma(0.5 * nu) - 0.5 * math.log(math.pi * (nu - 2.0))
    total = 0.0
    for r in returns:
        total += constant - 0.5 * math.log(h) - 0.5 * (nu + 1.0) * math.log1p(r * r / (h * (nu - 2.0)))
        h = omega + alpha * r * r + beta * h
    return total


@njit
def hawkes(mu, alpha, beta, times):
    """Events that excite further events, by the recursion of their intensities."""
    a, total = 0.0, -mu * times[-1]
    for k in range(times.size):
        if k > 0:
            a = math.exp(-beta * (times[k] - times[k - 1])) * (1.0 + a)
        total += math.log(mu + alpha * a)
        total -= alpha / beta * (1.0 - math.exp(-beta * (times[-1] - times[k])))
    return total


@njit
def cox(beta, x, order, died):
    """A partial likelihood: the set at risk grows from the latest time on."""
    at_risk, total = 0.0, 0.0
    for k in range(order.size - 1, -1, -1):
        i = order[k]
        eta = 0.0
        for j in range(beta.size):
            eta += x[i, j] * beta[j]
        at_risk += math.exp(eta)
        if died[i]:
            total += eta - math.log(at_risk)
    return total


@njit
def mixed_effects(beta, log_sigma, u, x, y, group):
    """A Poisson regression with an intercept for each group."""
    total = 0.0
    for i in range(y.size):
        eta = math.exp(log_sigma) * u[group[i]]
        for j in range(beta.size):
            eta += x[i, j] * beta[j]
        total += y[i] * eta - math.exp(eta)
    for k in range(u.size):
        total -= 0.5 * u[k] * u[k]
    return total


@njit
def factorization_machine(weights, factors, features, y):
    """Pairs of features by the square of their sum less the sum of their squares."""
    loss = 0.0
    for i in range(y.size):
        score = 0.0
        for j in range(features.shape[1]):
            score += weights[features[i, j]]
        for k in range(factors.shape[1]):
            s, q = 0.0, 0.0
            for j in range(features.shape[1]):
                v = factors[features[i, j], k]
                s += v
                q += v * v
            score += 0.5 * (s * s - q)
        loss += math.log1p(math.exp(-y[i] * score))
    return loss / y.size


@njit
def embedding(positions, heads, tails, weights):
    """Edges attract, and each head repels the next few points: the layout of a neighbour graph."""
    loss = 0.0
    n = positions.shape[0]
    for e in range(heads.size):
        i, j = heads[e], tails[e]
        d = 0.0
        for k in range(positions.shape[1]):
            d += (positions[i, k] - positions[j, k]) ** 2
        loss += weights[e] * math.log1p(d)
        for s in range(1, 4):
            other = (i + s * 7) % n
            if other != i:
                d = 0.001
                for k in range(positions.shape[1]):
                    d += (positions[i, k] - positions[other, k]) ** 2
                loss -= math.log(d / (1.0 + d))
    return loss


def _tree(n):
    """A ladder of n leaves: parents of all nodes but the root, which come after their children."""
    parents = np.zeros(2 * n - 2, np.int64)
    parents[0] = parents[1] = n
    for k in range(2, n):
        parents[k] = parents[n + k - 2] = n + k - 1
    return parents


PROGRAMS = [
    Real(
        soft_warping, "soft dynamic time warping", lambda rng, n: (rng.normal(size=n), rng.normal(size=n), 0.7),
        (0, 1, 2), 5, 200,
    ),
    Real(
        local_level, "Kalman filters of unobserved components",
        lambda rng, n: (np.array([-1.0, 0.2, 0.05]), np.cumsum(rng.normal(size=n))), (0, 1), 8, 5000,
    ),
    Real(
        matrix_filter, "Kalman filters with matrices",
        lambda rng, n: (0.4 * rng.normal(size=(3, 3)), rng.uniform(0.1, 0.5, 3), rng.normal(size=n)), (0, 1, 2), 4, 500,
        "matrices of three rows: calls and arrays, not arithmetic, take the time of both",
    ),
    Real(
        particle_filter, "particle filters with draws that are held fixed",
        lambda rng, n: (np.array([0.9, -0.3, 0.1]), rng.normal(size=n), rng.normal(size=(n, 50)), rng.uniform(size=n)),
        (0,), 4, 100,
    ),
    Real(
        forward_algorithm, "hidden Markov models in logarithms",
        lambda rng, n: (np.log(rng.dirichlet(np.ones(4), 4)), rng.normal(size=4), rng.normal(size=n)), (0, 1), 5, 1000,
    ),
    Real(
        tree_likelihood, "tree likelihoods by pruning",
        lambda rng, n: (rng.uniform(0.1, 0.5, 2 * n - 2), 0.8, _tree(n), rng.integers(0, 4, (n, 20))), (0, 1), 5, 60,
    ),
    Real(coalescent, "coalescent times", lambda rng, n: (rng.normal(-2.0, 0.3, n), 0.4), (0, 1), 6, 2000),
    Real(
        garch, "volatility with Student's t",
        lambda rng, n: (np.array([-2.0, 0.1, 0.8, 0.5]), rng.normal(size=n)), (0,), 9, 5000,
    ),
    Real(
        hawkes, "self-exciting events", lambda rng, n: (0.5, 0.6, 1.3, np.cumsum(rng.exponential(size=n))),
        (0, 1, 2, 3), 7, 5000,
    ),
    Real(
        cox, "survival with a partial likelihood",
        lambda rng, n: (rng.normal(size=3), rng.normal(size=(n, 3)), rng.permutation(n), rng.uniform(size=n) < 0.6),
        (0,), 8, 5000,
    ),
    Real(
        mixed_effects, "generalised linear mixed models",
        lambda rng, n: (
            0.3 * rng.normal(size=3), -0.5, rng.normal(size=5), rng.normal(size=(n, 3)),
            rng.poisson(2.0, n).astype(float), rng.integers(0, 5, n),
        ), (0, 1, 2), 8, 5000,
    ),
    Real(
        factorization_machine, "factorisation machines of sparse features",
        lambda rng, n: (
            0.1 * rng.normal(size=30), 0.3 * rng.normal(size=(30, 4)), rng.integers(0, 30, (n, 5)),
            rng.choice(np.array([-1.0, 1.0]), n),
        ), (0, 1), 6, 2000,
    ),
    Real(
        embedding, "layouts of neighbour graphs with negative samples",
        lambda rng, n: (
            rng.normal(size=(n, 2)), rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n), rng.uniform(size=3 * n),
        ), (0, 3), 8, 1000,
    ),
]  # fmt: skip
