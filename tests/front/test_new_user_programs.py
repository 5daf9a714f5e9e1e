"""Numba functions as they are written without contad in mind, and their gradients by hand or by complex steps."""

import math
from collections import namedtuple

import numba
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import polygamma, psi

import contad

RNG = np.random.default_rng(20)
Garch = namedtuple("Garch", ["mu", "omega", "alpha", "beta"])


def by_complex_step(f, x):
    return np.array([f(x + 1e-30j * e).imag / 1e-30 for e in np.eye(len(x))])


def assert_close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-10)


# ---- predator and prey: Runge and Kutta's steps, rows written into an array, a slice with a stride -------------------
@numba.njit
def field(state, p):
    prey, predator = state
    return np.array([p[0] * prey - p[1] * prey * predator, p[2] * prey * predator - p[3] * predator])


@numba.njit
def simulate(p, start, h, n):
    path = np.empty((n, 2))
    path[0] = start
    for i in range(1, n):
        y = path[i - 1]
        k1 = field(y, p)
        k2 = field(y + 0.5 * h * k1, p)
        k3 = field(y + 0.5 * h * k2, p)
        k4 = field(y + h * k3, p)
        path[i, :] = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return path


@numba.njit
def predator_prey(p, start, data, h=0.1, every=5):
    error = simulate(p, start, h, every * len(data))[::every] - data
    return np.sum(error**2)


def predator_prey_anew(p, start, data, h=0.1, every=5):
    growth, predation, gain, death = p
    y, total = np.array(start, complex), 0.0
    for i in range(every * len(data)):
        if i % every == 0:
            total += np.sum((y - data[i // every]) ** 2)
        stages, weights = [], (0.0, 0.5, 0.5, 1.0)
        for weight in weights:
            a, b = y + weight * h * stages[-1] if stages else y
            stages.append(np.array([growth * a - predation * a * b, gain * a * b - death * b]))
        y = y + h * (stages[0] / 6 + stages[1] / 3 + stages[2] / 3 + stages[3] / 6)
    return total


@pytest.mark.long
def test_predator_and_prey():
    p, start = np.array([1.1, 0.4, 0.1, 0.4]), np.array([10.0, 5.0])
    data = simulate(p, start, 0.1, 20)[::5] + RNG.normal(size=(4, 2))
    p *= 1.1
    value, (by_p, by_start) = contad.value_and_grad(predator_prey, argnums=(0, 1))(p, data=data, start=start)
    assert value == pytest.approx(predator_prey(p, start, data), rel=1e-14)
    assert_close(by_p, by_complex_step(lambda x: predator_prey_anew(x, start, data), p))
    assert_close(by_start, by_complex_step(lambda x: predator_prey_anew(p, x, data), start))


# ---- GARCH(1, 1): a namedtuple of parameters, climbed inside njit ----------------------------------------------------
@numba.njit
def garch(params, returns):
    r = returns - params.mu
    var = np.var(r)
    total = 0.0
    for t in range(len(r)):
        if t > 0:
            var = params.omega + params.alpha * r[t - 1] ** 2 + params.beta * var
        total += -0.5 * (math.log(2 * math.pi) + math.log(var) + r[t] ** 2 / var)
    return total


@numba.njit
def climbed(q, returns, steps):
    for _ in range(steps):
        g = contad.grad(garch)(q, returns)
        q = Garch(q.mu + 1e-4 * g.mu, q.omega + 1e-4 * g.omega, q.alpha + 1e-4 * g.alpha, q.beta + 1e-4 * g.beta)
    return q


def garch_by_hand(q, returns):
    r, gradient = returns - q.mu, np.zeros(4)
    var, slope = np.var(r), np.zeros(4)  # the variance does not see the mean
    for t in range(len(r)):
        if t > 0:
            slope = np.array([-2 * q.alpha * r[t - 1], 1.0, r[t - 1] ** 2, var]) + q.beta * slope
            var = q.omega + q.alpha * r[t - 1] ** 2 + q.beta * var
        gradient += -0.5 * (1 / var - r[t] ** 2 / var**2) * slope
        gradient[0] += r[t] / var
    return Garch(*gradient)


def test_garch():
    q, returns = Garch(0.02, 0.1, 0.1, 0.7), RNG.normal(size=40)
    assert_close(contad.grad(garch)(q, returns), garch_by_hand(q, returns))
    expected = q
    for _ in range(3):
        expected = Garch(*np.array(expected) + 1e-4 * np.array(garch_by_hand(expected, returns)))
    assert_close(climbed(q, returns, 3), expected)

    def unconstrained(z):  # a plain function that calls the Numba function
        return garch(Garch(z[0], np.exp(z[1]), z[2], z[3]), returns)

    z = np.array([0.02, math.log(0.1), 0.1, 0.7])
    assert_close(contad.grad(unconstrained)(z), np.array(garch_by_hand(q, returns)) * [1.0, 0.1, 1.0, 1.0])


# ---- a Kalman filter of a local linear trend: 2 x 2 matrices in loops, missing observations --------------------------
@numba.njit
def kalman(theta, ys):
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    q = np.exp(theta)
    m, P = np.zeros(2), np.eye(2) * 10.0
    total = 0.0
    for y in ys:
        moved, FP, spread = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
        for i in range(2):
            for j in range(2):
                moved[i] += F[i, j] * m[j]
                for k in range(2):
                    FP[i, j] += F[i, k] * P[k, j]
        for i in range(2):
            for j in range(2):
                for k in range(2):
                    spread[i, j] += FP[i, k] * F[j, k]
            spread[i, i] += q[i]
        m, P = moved, spread
        if np.isnan(y):
            continue
        S = P[0, 0] + q[2]
        gain = P[:, 0] / S
        v = y - m[0]
        total -= 0.5 * (np.log(2 * np.pi * S) + v * v / S)
        m = m + gain * v
        P = P - gain.reshape(2, 1) * P[0]
    return total


def kalman_anew(theta, ys):
    """The log density of all observations at once: a Gaussian vector, complex numbers allowed."""
    q, n = np.exp(theta), len(ys)
    cov, F, C = np.eye(2) * 10.0 + 0j, np.array([[1.0, 1.0], [0.0, 1.0]]), np.zeros((n, n), complex)
    for t in range(n):
        cov = F @ cov @ F.T + np.diag(q[:2])
        onward = cov[:, 0]
        for s in range(t, n):
            C[s, t] = C[t, s] = onward[0] + (q[2] if s == t else 0.0)
            onward = F @ onward
    seen = ~np.isnan(ys)
    C, y = C[np.ix_(seen, seen)], ys[seen]
    return -0.5 * (y @ np.linalg.solve(C, y) + np.log(np.linalg.det(C)) + len(y) * np.log(2 * np.pi))


def test_kalman_filter():
    theta, ys = np.array([-1.0, -2.0, -0.5]), RNG.normal(size=9).cumsum()
    ys[4] = np.nan
    value, gradient = contad.value_and_grad(kalman)(theta, ys)
    assert value == pytest.approx(kalman_anew(theta, ys).real, rel=1e-10)
    assert_close(gradient, by_complex_step(lambda x: kalman_anew(x, ys), theta))


# ---- soft dynamic time warping: a recurrence in place on a table with infinities -------------------------------------
@numba.njit
def softmin(a, b, c, gamma):
    low = min(a, b, c)
    return low - gamma * math.log(sum([math.exp(-(x - low) / gamma) for x in (a, b, c)]))


@numba.njit
def warping(x, y, gamma=0.5):
    n, m = x.size, y.size
    R = np.full((n + 1, m + 1), np.inf)
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            R[i, j] = (x[i - 1] - y[j - 1]) ** 2
            R[i, j] += softmin(R[i - 1, j], R[i, j - 1], R[i - 1, j - 1], gamma)
    return R[n, m]


def warping_by_hand(x, y, gamma):
    """Sums over all monotone paths: exp(-cost / gamma) before and after each cell."""
    weights = np.exp(-((x[:, None] - y) ** 2) / gamma)

    def sums(w):
        Z = np.zeros((len(x) + 1, len(y) + 1))
        Z[0, 0] = 1.0
        for i, j in np.ndindex(w.shape):
            Z[i + 1, j + 1] = w[i, j] * (Z[i, j + 1] + Z[i + 1, j] + Z[i, j])
        return Z[1:, 1:]

    forward, backward = sums(weights), sums(weights[::-1, ::-1])[::-1, ::-1]
    occupied = forward * backward / weights / forward[-1, -1]
    slope = 2 * (x[:, None] - y) * occupied
    return slope.sum(axis=1), -slope.sum(axis=0)


@pytest.mark.long
def test_soft_warping():
    x, y = RNG.normal(size=5), RNG.normal(size=6)
    for got, expected in zip(contad.grad(warping, (0, 1))(x, y, gamma=0.7), warping_by_hand(x, y, 0.7), strict=True):
        assert_close(got, expected)


# ---- a root finder inside a likelihood: while, return inside the loop, raise, an early return ------------------------
@numba.njit
def root(k, c, tol=1e-13):
    """x with x + c log x = k."""
    x, count = 1.0, 0
    while True:
        step = (x + c * math.log(x) - k) / (1.0 + c / x)
        x -= step
        count += 1
        if abs(step) < tol:
            return x
        if count > 100:
            raise ValueError("no convergence")


@numba.njit
def root_likelihood(w, ks, observed, sigma):
    if sigma <= 0.0:
        return -np.inf
    total = 0.0
    for i, k in enumerate(ks):
        x = root(k + w[0], w[1])
        total -= 0.5 * ((observed[i] - x) / sigma) ** 2 + math.log(sigma)
    return total


def test_root_finder():
    w, ks, observed, sigma = np.array([0.3, 1.2]), np.array([1.0, 2.0, 3.0]), np.array([1.1, 1.7, 2.0]), 0.5
    by_w, by_sigma = contad.grad(root_likelihood, (0, 3))(w, ks, observed, sigma)
    x = np.array([root(k + w[0], w[1]) for k in ks])
    pull = (observed - x) / sigma**2 / (1 + w[1] / x)
    assert_close(by_w, [np.sum(pull), -np.sum(pull * np.log(x))])
    assert_close(by_sigma, np.sum((observed - x) ** 2) / sigma**3 - 3 / sigma)
    by_w, by_sigma = contad.grad(root_likelihood, (0, 3))(w, ks, observed, -1.0)
    assert (by_w.tolist(), by_sigma) == ([0.0, 0.0], 0.0)


# ---- negative binomial regression: lgamma, counts, SciPy's minimiser, a Hessian --------------------------------------
@numba.njit
def negative_binomial(w, X, y):
    beta, r = w[:-1], math.exp(w[-1])
    total = 0.0
    for i in range(X.shape[0]):
        mu = math.exp(X[i] @ beta)
        total += math.lgamma(y[i] + r) - math.lgamma(r) - math.lgamma(y[i] + 1.0)
        total += r * math.log(r / (r + mu)) + y[i] * math.log(mu / (r + mu))
    return -total


def negative_binomial_by_hand(w, X, y):
    """The gradient and the Hessian."""
    r, mu = math.exp(w[-1]), np.exp(X @ w[:-1])
    by_eta = r * (mu - y) / (r + mu)
    by_r = -np.sum(psi(y + r) - psi(r) + np.log(r / (r + mu)) + 1 - (r + y) / (r + mu))
    by_rr = -np.sum(polygamma(1, y + r) - polygamma(1, r) + 1 / r - 1 / (r + mu) - (mu - y) / (r + mu) ** 2)
    mixed = X.T @ (mu * (mu - y) / (r + mu) ** 2) * r
    by_betas = X.T @ (X * (r * mu * (r + y) / (r + mu) ** 2)[:, None])
    return np.append(X.T @ by_eta, r * by_r), np.block([[by_betas, mixed[:, None]], [mixed, r * r * by_rr + r * by_r]])


def test_negative_binomial_regression():
    w, X = np.array([0.1, 0.2, -0.3, 0.4]), RNG.normal(size=(30, 3))
    y = RNG.negative_binomial(2, 0.4, size=30)
    gradient, matrix = negative_binomial_by_hand(w, X, y)
    assert_close(contad.grad(negative_binomial)(w, X, y), gradient)
    assert_close(contad.hessian(negative_binomial)(w, X, y), matrix)
    assert_close(contad.hvp(negative_binomial)(w, X, y, w), matrix @ w)
    assert_close(contad.hessian(lambda v: negative_binomial(v, X, y))(w), matrix)
    found = minimize(contad.value_and_grad(negative_binomial), w, args=(X, y), jac=True, method="BFGS", tol=1e-8)
    np.testing.assert_allclose(negative_binomial_by_hand(found.x, X, y)[0], 0.0, atol=1e-6)
