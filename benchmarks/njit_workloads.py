"""Seven Numba programs as users write them, each with its gradient written by hand."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit


class Program(NamedTuple):
    """A Numba function, its (value, gradients) by hand, a point, and how many operations it has there."""

    name: str
    f: Any
    by_hand: Callable[..., tuple[float, tuple[Any, ...]]]
    point: tuple[Any, ...]
    argnums: tuple[int, ...]


# ---- Rosenbrock's function -------------------------------------------------------------------------------------------
@njit
def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        climb = x[i + 1] - x[i] ** 2
        total += 100.0 * climb**2 + (1.0 - x[i]) ** 2
    return total


@njit
def rosenbrock_by_hand(x):
    gradient = np.zeros(len(x))
    total = 0.0
    for i in range(len(x) - 1):
        climb = x[i + 1] - x[i] * x[i]
        rest = 1.0 - x[i]
        total += 100.0 * climb * climb + rest * rest
        gradient[i] += -400.0 * climb * x[i] - 2.0 * rest
        gradient[i + 1] += 200.0 * climb
    return total, (gradient,)


# ---- logistic regression, in loops and with arrays -------------------------------------------------------------------
@njit
def logistic_loops(beta, features, labels):
    n, k = features.shape
    loglik = 0.0
    for j in range(k):
        loglik -= 0.5 * beta[j] * beta[j]
    for i in range(n):
        eta = 0.0
        for j in range(k):
            eta += features[i, j] * beta[j]
        if eta > 0.0:
            loglik += labels[i] * eta - eta - math.log1p(math.exp(-eta))
        else:
            loglik += labels[i] * eta - math.log1p(math.exp(eta))
    return loglik


@njit
def logistic_arrays(beta, features, labels):
    eta = features @ beta
    soft = np.log1p(np.exp(-np.abs(eta))) + np.maximum(eta, 0.0)
    return np.sum(labels * eta - soft) - 0.5 * np.sum(beta * beta)


@njit
def logistic_by_hand(beta, features, labels):
    eta = features @ beta
    loglik = -0.5 * np.sum(beta * beta)
    rest = np.empty(len(eta))
    for i in range(len(eta)):
        small = math.exp(-abs(eta[i]))
        loglik += labels[i] * eta[i] - math.log1p(small) - max(eta[i], 0.0)
        rest[i] = labels[i] - (1.0 if eta[i] > 0.0 else small) / (1.0 + small)
    return loglik, (features.T @ rest - beta,)


# ---- a recurrence with a branch --------------------------------------------------------------------------------------
@njit
def recurrence(x, a, b, n):
    for _ in range(n):
        if x > 0.0:  # noqa: SIM108  (as users write it)
            x = math.sin(x) * a + b / (1.0 + x * x)
        else:
            x = math.cos(x) * b - a * x
    return x


@njit
def recurrence_by_hand(x, a, b, n):
    before = np.empty(n)
    for k in range(n):
        before[k] = x
        if x > 0.0:  # noqa: SIM108  (as users write it)
            x = math.sin(x) * a + b / (1.0 + x * x)
        else:
            x = math.cos(x) * b - a * x
    result = x
    x_bar, a_bar, b_bar = 1.0, 0.0, 0.0
    for k in range(n - 1, -1, -1):
        x = before[k]
        if x > 0.0:
            r = 1.0 / (1.0 + x * x)
            a_bar += x_bar * math.sin(x)
            b_bar += x_bar * r
            x_bar *= a * math.cos(x) - 2.0 * b * x * r * r
        else:
            a_bar -= x_bar * x
            b_bar += x_bar * math.cos(x)
            x_bar *= -b * math.sin(x) - a
    return result, (x_bar, a_bar, b_bar)


# ---- the heat equation in place --------------------------------------------------------------------------------------
@njit
def heat(start, rate, steps):
    n = len(start)
    u = start.copy()
    new = np.empty(n)
    for _ in range(steps):
        for i in range(1, n - 1):
            new[i] = u[i] + rate * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, n - 1):
            u[i] = new[i]
    energy = 0.0
    for i in range(n):
        energy += u[i] * u[i]
    return energy


@njit
def heat_by_hand(start, rate, steps):
    n = len(start)
    u = np.empty((steps + 1, n))
    u[0] = start
    for t in range(steps):
        u[t + 1] = u[t]
        for i in range(1, n - 1):
            u[t + 1, i] += rate * (u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])
    energy = np.sum(u[steps] ** 2)
    bar = 2.0 * u[steps]
    rate_bar = 0.0
    for t in range(steps - 1, -1, -1):
        before = bar.copy()
        for i in range(1, n - 1):
            rate_bar += bar[i] * (u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])
            before[i - 1] += rate * bar[i]
            before[i] -= 2.0 * rate * bar[i]
            before[i + 1] += rate * bar[i]
        bar = before
    return energy, (bar, rate_bar)


# ---- Newton's method with an early return ----------------------------------------------------------------------------
@njit
def root(a, b):
    x = a
    count = 0
    while count < 50:
        f = x * x * x + b * math.sin(x) - a
        if abs(f) < 1e-13:
            return b * x
        x = x - f / (3.0 * x * x + b * math.cos(x))
        count += 1
    return x


@njit
def roots(a, b):
    total = 0.0
    for i in range(len(a)):
        total += root(a[i], b[i])
    return total


@njit
def roots_by_hand(a, b):
    """The reverse of the steps that were taken; not of the equation, which the last step solves only nearly."""
    total = 0.0
    a_bar, b_bar = np.zeros(len(a)), np.zeros(len(a))
    iterates = np.empty(50)
    for i in range(len(a)):
        x = a[i]
        count = 0
        found = False
        while count < 50:
            f = x * x * x + b[i] * math.sin(x) - a[i]
            if abs(f) < 1e-13:
                found = True
                break
            iterates[count] = x
            x -= f / (3.0 * x * x + b[i] * math.cos(x))
            count += 1
        total += b[i] * x if found else x
        x_bar = b[i] if found else 1.0
        b_bar[i] = x if found else 0.0
        for k in range(count - 1, -1, -1):
            x = iterates[k]
            f = x * x * x + b[i] * math.sin(x) - a[i]
            slope = 3.0 * x * x + b[i] * math.cos(x)
            a_bar[i] += x_bar / slope
            b_bar[i] -= x_bar * (math.sin(x) / slope - f * math.cos(x) / (slope * slope))
            x_bar *= f * (6.0 * x - b[i] * math.sin(x)) / (slope * slope)
        a_bar[i] += x_bar
    return total, (a_bar, b_bar)


# ---- a mixture of Gaussians, as in ADBench ---------------------------------------------------------------------------
@njit
def mixture(alphas, means, factors, points, gamma, m):
    n, d = points.shape
    k_components = len(alphas)
    diagonals = np.exp(factors[:, :d])
    sums = np.zeros(k_components)
    for k in range(k_components):
        for j in range(d):
            sums[k] += factors[k, j]
    centred = np.empty(d)
    scaled = np.empty(d)
    terms = np.empty(k_components)
    loglik = 0.0
    for i in range(n):
        for k in range(k_components):
            for j in range(d):
                centred[j] = points[i, j] - means[k, j]
                scaled[j] = diagonals[k, j] * centred[j]
            p = d
            for column in range(d):
                for row in range(column + 1, d):
                    scaled[row] += factors[k, p] * centred[column]
                    p += 1
            square = 0.0
            for j in range(d):
                square += scaled[j] * scaled[j]
            terms[k] = alphas[k] + sums[k] - 0.5 * square
        loglik += log_sum_exp(terms)
    penalty = 0.0
    for k in range(k_components):
        frobenius = 0.0
        for j in range(d):
            frobenius += diagonals[k, j] ** 2
        for j in range(d, factors.shape[1]):
            frobenius += factors[k, j] ** 2
        penalty += 0.5 * gamma * gamma * frobenius - m * sums[k]
    return loglik - n * log_sum_exp(alphas) + penalty


@njit
def log_sum_exp(x):
    largest = x[0]
    for k in range(1, len(x)):
        largest = max(largest, x[k])
    total = 0.0
    for k in range(len(x)):
        total += math.exp(x[k] - largest)
    return largest + math.log(total)


@njit
def mixture_by_hand(alphas, means, factors, points, gamma, m):
    n, d = points.shape
    k_components = len(alphas)
    size = factors.shape[1]
    diagonals = np.exp(factors[:, :d])
    alphas_bar = np.zeros(k_components)
    means_bar = np.zeros((k_components, d))
    factors_bar = np.zeros((k_components, size))
    diagonals_bar = np.zeros((k_components, d))
    centred = np.empty((k_components, d))
    scaled = np.empty((k_components, d))
    terms = np.empty(k_components)
    centred_bar = np.empty(d)
    sums = np.zeros(k_components)
    for k in range(k_components):
        for j in range(d):
            sums[k] += factors[k, j]
    loglik = 0.0
    for i in range(n):
        for k in range(k_components):
            for j in range(d):
                centred[k, j] = points[i, j] - means[k, j]
                scaled[k, j] = diagonals[k, j] * centred[k, j]
            p = d
            for column in range(d):
                for row in range(column + 1, d):
                    scaled[k, row] += factors[k, p] * centred[k, column]
                    p += 1
            square = 0.0
            for j in range(d):
                square += scaled[k, j] * scaled[k, j]
            terms[k] = alphas[k] + sums[k] - 0.5 * square
        largest = terms[0]
        for k in range(1, k_components):
            largest = max(largest, terms[k])
        total = 0.0
        for k in range(k_components):
            terms[k] = math.exp(terms[k] - largest)
            total += terms[k]
        loglik += largest + math.log(total)
        for k in range(k_components):
            weight = terms[k] / total
            alphas_bar[k] += weight
            for j in range(d):
                diagonals_bar[k, j] -= weight * scaled[k, j] * centred[k, j]
                centred_bar[j] = -weight * scaled[k, j] * diagonals[k, j]
            p = d
            for column in range(d):
                for row in range(column + 1, d):
                    factors_bar[k, p] -= weight * scaled[k, row] * centred[k, column]
                    centred_bar[column] -= weight * scaled[k, row] * factors[k, p]
                    p += 1
            for j in range(d):
                means_bar[k, j] -= centred_bar[j]
    penalty = 0.0
    for k in range(k_components):
        frobenius = 0.0
        for j in range(d):
            frobenius += diagonals[k, j] * diagonals[k, j]
            bar = diagonals_bar[k, j] + gamma * gamma * diagonals[k, j]
            factors_bar[k, j] += bar * diagonals[k, j] + alphas_bar[k] - m
        for j in range(d, size):
            frobenius += factors[k, j] * factors[k, j]
            factors_bar[k, j] += gamma * gamma * factors[k, j]
        penalty += 0.5 * gamma * gamma * frobenius - m * sums[k]
    total = log_sum_exp(alphas)
    for k in range(k_components):
        alphas_bar[k] -= n * math.exp(alphas[k] - total)
    return loglik - n * total + penalty, (alphas_bar, means_bar, factors_bar)


def programs(scale: float = 1.0) -> list[Program]:
    """The seven programs at random points; `scale` 1 is the size of the benchmark, 0.01 that of the tests."""
    draw = np.random.default_rng(11)

    def many(n: int) -> int:
        return max(8, int(n * scale))

    features = draw.standard_normal((many(1000), 6))
    beta = 0.3 * draw.standard_normal(6)
    labels = (draw.random(len(features)) < 1.0 / (1.0 + np.exp(-features @ beta))) * 1.0
    d, k = 4, 5
    size = d * (d + 1) // 2
    mixture_point = (
        draw.standard_normal(k), draw.random((k, d)), 0.5 * draw.standard_normal((k, size)),
        draw.standard_normal((many(500), d)), 1.3, 2,
    )  # fmt: skip
    # both branches are taken, and the derivative lives: at other points it underflows or is that of chaos
    recurrence_point = (0.7, 0.9245, -0.4, 100_000) if scale == 1.0 else (0.7, 0.95, -0.4, 60)
    return [
        Program("rosenbrock", rosenbrock, rosenbrock_by_hand, (draw.standard_normal(many(1000)),), (0,)),
        Program("logistic, loops", logistic_loops, logistic_by_hand, (beta, features, labels), (0,)),
        Program("logistic, arrays", logistic_arrays, logistic_by_hand, (beta, features, labels), (0,)),
        Program("recurrence", recurrence, recurrence_by_hand, recurrence_point, (0, 1, 2)),
        Program("heat", heat, heat_by_hand, (draw.standard_normal(many(500)), 0.2, many(200)), (0, 1)),
        Program("roots", roots, roots_by_hand, (draw.random(many(1000)) * 3.0 + 0.5, draw.random(many(1000))), (0, 1)),
        Program("mixture", mixture, mixture_by_hand, mixture_point, (0, 1, 2)),
    ]
