"""Models of posteriordb of what happens in time: series, hidden states, equations of motion, processes."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real
from contad import stan


# ---- series ----------------------------------------------------------------------------------------------------------
@njit
def arma11(mu, phi, theta, sigma, y):
    """The error of a step enters the next one."""
    n = y.size
    nu, err = np.empty(n), np.empty(n)
    nu[0] = mu + phi * mu
    err[0] = y[0] - nu[0]
    for t in range(1, n):
        nu[t] = mu + phi * y[t - 1] + theta * err[t - 1]
        err[t] = y[t] - nu[t]
    total = stan.normal_lpdf(mu, 0.0, 10.0) + stan.normal_lpdf(phi, 0.0, 2.0) + stan.normal_lpdf(theta, 0.0, 2.0)
    return total + stan.cauchy_lpdf(sigma, 0.0, 2.5) + stan.normal_lpdf(err, 0.0, sigma)


@njit
def ar_by_loops(alpha, beta, sigma, y):
    """Autoregression of any number of steps, as loops."""
    k = beta.size
    total = stan.normal_lpdf(alpha, 0.0, 10.0) + stan.normal_lpdf(beta, 0.0, 10.0) + stan.cauchy_lpdf(sigma, 0.0, 2.5)
    for t in range(k, y.size):
        mean = alpha
        for j in range(k):
            mean += beta[j] * y[t - j - 1]
        total += stan.normal_lpdf(y[t], mean, sigma)
    return total


@njit
def trend(k, m, delta, t, caps, changes, linear):
    """A growth rate that changes at some times, so that the trend has no jumps."""
    s = changes.size
    gamma = np.zeros(s)
    rate, offset = k, m
    for j in range(s):
        if linear:
            gamma[j] = -changes[j] * delta[j]
        else:
            after = rate + delta[j]
            gamma[j] = (changes[j] - offset) * (1.0 - rate / after)
            offset += gamma[j]
            rate = after
    found = np.empty(t.size)
    for i in range(t.size):
        slope, start = k, m
        for j in range(s):
            if t[i] >= changes[j]:
                slope += delta[j]
                start += gamma[j]
        found[i] = slope * t[i] + start if linear else caps[i] / (1.0 + math.exp(-slope * (t[i] - start)))
    return found


@njit
def prophet(k, m, delta, sigma, beta, t, caps, changes, x, y, linear):
    """Downloads by trend and season."""
    prior = stan.normal_lpdf(k, 0.0, 5.0) + stan.normal_lpdf(m, 0.0, 5.0)
    prior += stan.double_exponential_lpdf(delta, 0.0, 0.05)
    prior += stan.normal_lpdf(sigma, 0.0, 0.5) + stan.normal_lpdf(beta, 0.0, 10.0)
    return prior + stan.normal_lpdf(y, trend(k, m, delta, t, caps, changes, linear) + x @ beta, sigma)


# ---- hidden states ---------------------------------------------------------------------------------------------------
@njit
def hmm_example(theta1, theta2, mu, y):
    """Two states: the forward algorithm with sums over the states before."""
    k, n = 2, y.size
    theta = np.empty((k, k))
    theta[0], theta[1] = theta1, theta2
    total = stan.normal_lpdf(mu[0], 3.0, 1.0) + stan.normal_lpdf(mu[1], 10.0, 1.0)
    acc = np.empty(k)
    gamma = np.empty((n, k))
    for j in range(k):
        gamma[0, j] = stan.normal_lpdf(y[0], mu[j], 1.0)
    for t in range(1, n):
        for j in range(k):
            for i in range(k):
                acc[i] = gamma[t - 1, i] + math.log(theta[i, j]) + stan.normal_lpdf(y[t], mu[j], 1.0)
            gamma[t, j] = stan.log_sum_exp(acc)
    return total + stan.log_sum_exp(gamma[n - 1])


@njit
def hmm_gaussian(start, transition, mu, sigma, y):
    """The same with a start and deviations, transposed as its author has it."""
    k, n = start.size, y.size
    log_alpha = np.zeros((n, k))
    acc = np.zeros(k)
    for j in range(k):
        log_alpha[0, j] = math.log(start[j]) + stan.normal_lpdf(y[0], mu[j], sigma[j])
    for t in range(1, n):
        for j in range(k):
            for i in range(k):
                acc[i] = log_alpha[t - 1, i] + math.log(transition[i, j]) + stan.normal_lpdf(y[t], mu[j], sigma[j])
            log_alpha[t, j] = stan.log_sum_exp(acc)
    return stan.log_sum_exp(log_alpha[-1])


@njit
def iohmm(pi, w, b, sigma, u, x):
    """Inputs choose the state and say what comes out of it."""
    n, k = u.shape[0], w.shape[0]
    log_a, log_b = np.empty((n, k)), np.empty((n, k))
    log_alpha = np.empty((n, k))
    acc = np.empty(k)
    for t in range(n):
        log_a[t] = stan.log_softmax(w @ u[t])
        for j in range(k):
            log_b[t, j] = stan.normal_lpdf(x[t], np.dot(u[t], b[j]), sigma[j])
    log_alpha[0] = np.log(pi) + log_b[0]
    for t in range(1, n):
        for j in range(k):
            for i in range(k):
                acc[i] = log_alpha[t - 1, i] + log_a[t, i] + log_b[t, j]
            log_alpha[t, j] = stan.log_sum_exp(acc)
    prior = 0.0
    for j in range(k):
        prior += stan.normal_lpdf(w[j], 0.0, 5.0) + stan.normal_lpdf(b[j], 0.0, 5.0)
    return prior + stan.log_sum_exp(log_alpha[n - 1])


@njit
def hmm_drive(theta, phi, lam, u, v):
    """Two observations a step, with distributions whose scales differ between states."""
    k, n = 2, u.size
    total = stan.normal_lpdf(phi, 0.0, 1.0) + stan.normal_lpdf(lam, 0.0, 1.0)
    before, now, acc = np.zeros(k), np.zeros(k), np.zeros(k)
    for j in range(k):
        before[j] = stan.exponential_lpdf(u[0], phi[j]) + stan.exponential_lpdf(v[0], lam[j])
    for t in range(1, n):
        for j in range(k):
            for i in range(k):
                acc[i] = before[i] + math.log(theta[i, j]) + stan.exponential_lpdf(u[t], phi[j])
                acc[i] += stan.exponential_lpdf(v[t], lam[j])
            now[j] = stan.log_sum_exp(acc)
        before, now = now, before
    return total + stan.log_sum_exp(before)


# ---- equations of motion ---------------------------------------------------------------------------------------------
@njit
def prey_and_predator(z, theta):
    u, v = z
    return np.array([(theta[0] - theta[1] * v) * u, (-theta[2] + theta[3] * u) * v])


@njit
def lotka_volterra(theta, start, sigma, times, y):
    """Hares and lynxes: Runge and Kutta's steps between observations, with logarithms of normal errors."""
    prior = stan.normal_lpdf(theta[0], 1.0, 0.5) + stan.normal_lpdf(theta[2], 1.0, 0.5)
    prior += stan.normal_lpdf(theta[1], 0.05, 0.05) + stan.normal_lpdf(theta[3], 0.05, 0.05)
    prior += stan.lognormal_lpdf(sigma, -1.0, 1.0) + stan.lognormal_lpdf(start, math.log(10.0), 1.0)
    z = start.copy()
    for t in range(times.size - 1):
        dt = (times[t + 1] - times[t]) / 5
        for _ in range(5):
            k1 = prey_and_predator(z, theta)
            k2 = prey_and_predator(z + 0.5 * dt * k1, theta)
            k3 = prey_and_predator(z + 0.5 * dt * k2, theta)
            k4 = prey_and_predator(z + dt * k3, theta)
            z = z + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        for k in range(2):
            prior += stan.lognormal_lpdf(y[t, k], math.log(z[k]), sigma[k])
    return prior


@njit
def sir(beta, gamma, xi, delta, stoi, bacteria):
    """Cholera through water: what is ill, and what is in the water, by steps of Euler's method."""
    s, i, r, b = 0.99, 0.01, 0.0, 0.0
    total = stan.cauchy_lpdf(beta, 0.0, 2.5) + stan.cauchy_lpdf(gamma, 0.0, 1.0) + stan.cauchy_lpdf(xi, 0.0, 25.0)
    total += stan.cauchy_lpdf(delta, 0.0, 1.0)
    for day in range(stoi.size):
        before = s
        for _ in range(8):
            infected = beta * b / (b + 1.0) * s
            ds, di, dr, db = -infected, infected - gamma * i, gamma * i, xi * i - delta * b
            s, i, r, b = s + 0.125 * ds, i + 0.125 * di, r + 0.125 * dr, b + 0.125 * db
        total += stan.poisson_lpmf(stoi[day], 1000.0 * (before - s) + 1e-6)
        total += stan.lognormal_lpdf(bacteria[day], math.log(b), 0.15)
    return total


@njit
def soil_incubation(k1, k2, alpha21, alpha12, gamma, sigma, times, evolved):
    """Carbon of two pools, with feedback: what has left them."""
    total = stan.normal_lpdf(gamma, 5.0, 0.5) + stan.normal_lpdf(k1, 0.0, 1.0) + stan.normal_lpdf(k2, 0.0, 1.0)
    total += stan.cauchy_lpdf(sigma, 0.0, 1.0)
    c1, c2 = gamma, 7.7 - gamma
    now = 0.0
    for k in range(times.size):
        while now < times[k] - 1e-9:
            step = min(0.25, times[k] - now)
            m1 = c1 + 0.5 * step * (-k1 * c1 + alpha12 * k2 * c2)
            m2 = c2 + 0.5 * step * (-k2 * c2 + alpha21 * k1 * c1)
            c1, c2 = c1 + step * (-k1 * m1 + alpha12 * k2 * m2), c2 + step * (-k2 * m2 + alpha21 * k1 * m1)
            now += step
        total += stan.normal_lpdf(evolved[k], 7.7 - (c1 + c2), sigma)
    return total


@njit
def elimination(k_a, k_m, v_m, sigma, dose, times, concentration):
    """One compartment: first-order absorption, and an elimination that saturates."""
    total = stan.cauchy_lpdf(k_a, 0.0, 1.0) + stan.cauchy_lpdf(k_m, 0.0, 1.0) + stan.cauchy_lpdf(v_m, 0.0, 1.0)
    total += stan.cauchy_lpdf(sigma, 0.0, 1.0)
    c, t = 0.0, 0.0
    for n in range(times.size):
        steps = math.ceil((times[n] - t) / 0.2)
        h = (times[n] - t) / steps
        for _ in range(steps):
            slope = dose * math.exp(-k_a * t) * k_a / 0.2 - v_m / 0.2 * c / (k_m + c)
            middle = c + 0.5 * h * slope
            slope = dose * math.exp(-k_a * (t + 0.5 * h)) * k_a / 0.2 - v_m / 0.2 * middle / (k_m + middle)
            c += h * slope
            t += h
        total += stan.lognormal_lpdf(concentration[n], math.log(c), sigma)
    return total


@njit
def covid19(mu, alpha, kappa, phi, seeds, ifr_noise, interventions, serial, infected_to_death, deaths, starts):
    """Infections renewed by those before; measures lower how many each infects; deaths follow in time."""
    countries, days = deaths.shape
    total = stan.normal_lpdf(kappa, 0.0, 0.5) + stan.normal_lpdf(phi, 0.0, 5.0) + stan.gamma_lpdf(alpha, 0.1667, 1.0)
    expected = np.zeros((countries, days))
    infections = np.zeros((countries, days))
    for m in range(countries):
        total += stan.normal_lpdf(mu[m], 3.28, kappa) + stan.exponential_lpdf(seeds[m], 0.03)
        total += stan.normal_lpdf(ifr_noise[m], 1.0, 0.1)
        cumulated = 0.0
        for t in range(days):
            if t < 6:
                infections[m, t] = seeds[m]
            else:
                convolved = 0.0
                for s in range(t):
                    convolved += infections[m, s] * serial[t - s]
                effect = 0.0
                for k in range(alpha.size):
                    effect += alpha[k] * interventions[m, t, k]
                infections[m, t] = (1.0 - cumulated / 1e5) * mu[m] * math.exp(-effect) * convolved
            cumulated += infections[m, t]
        expected[m, 0] = 1e-3
        for t in range(1, days):
            for s in range(t):
                expected[m, t] += infections[m, s] * infected_to_death[t - s] * ifr_noise[m]
        for t in range(starts[m], days):
            total += stan.neg_binomial_2_lpmf(deaths[m, t], expected[m, t], phi)
    return total


# ---- processes -------------------------------------------------------------------------------------------------------
@njit
def gp_regr(rho, alpha, sigma, x, y):
    """A Gaussian process with noise."""
    prior = stan.gamma_lpdf(rho, 25.0, 4.0) + stan.normal_lpdf(alpha, 0.0, 2.0) + stan.normal_lpdf(sigma, 0.0, 1.0)
    covariance = stan.add_diag(stan.gp_exp_quad_cov(x, alpha, rho), sigma)
    factor = stan.cholesky_decompose(covariance)
    return prior + stan.multi_normal_cholesky_lpdf(y, np.zeros(x.size), factor)


@njit
def gp_by_loops(length, scale, noise, z, x, y):
    """A process of several states about a common one: covariances by loops, effects by a factor."""
    n = x.size
    covariance = np.empty((n, n))
    for i in range(n):
        covariance[i, i] = scale * scale + 1e-4
        for j in range(i):
            covariance[i, j] = scale * scale * math.exp(-0.5 * ((x[i] - x[j]) / length) ** 2)
            covariance[j, i] = covariance[i, j]
    factor = np.linalg.cholesky(covariance)
    total = stan.inv_gamma_lpdf(length, 5.0, 5.0) + stan.normal_lpdf(scale, 0.0, 1.0)
    for s in range(z.shape[0]):
        total += stan.std_normal_lpdf(z[s]) + stan.normal_lpdf(y[s], factor @ z[s], noise)
    return total


@njit
def kronecker_gp(length1, length2, alpha, x1, x2, y):
    """A process over a grid: the eigenvalues of both parts in place of a large factor."""
    k1, k2 = stan.gp_exp_quad_cov(x1, 1.0, length1), stan.gp_exp_quad_cov(x2, 1.0, length2)
    d1, q1 = np.linalg.eigh(stan.add_diag(k1, 1e-3))
    d2, q2 = np.linalg.eigh(stan.add_diag(k2, 1e-3))
    rotated = q1.T @ y @ q2
    total = 0.0
    for i in range(d1.size):
        for j in range(d2.size):
            s = alpha * d1[i] * d2[j] + 0.1
            total -= 0.5 * (math.log(s) + rotated[i, j] ** 2 / s)
    return total


@njit
def accel_splines(intercept, b, zs, sds, intercept_sigma, zs_sigma, sds_sigma, xs, x, zx, y):
    """Splines for the mean and for the noise."""
    mean = intercept + xs * b + x @ (zs * sds)
    sigma = intercept_sigma + zx @ (zs_sigma * sds_sigma)
    total = stan.student_t_lpdf(intercept, 3.0, -13.0, 36.0) + stan.normal_lpdf(zs, 0.0, 1.0)
    total += stan.student_t_lpdf(sds, 3.0, 0.0, 36.0) + stan.student_t_lpdf(intercept_sigma, 3.0, 0.0, 10.0)
    total += stan.normal_lpdf(zs_sigma, 0.0, 1.0) + stan.student_t_lpdf(sds_sigma, 3.0, 0.0, 36.0)
    for n in range(y.size):
        sigma[n] = math.exp(sigma[n])
    return total + stan.normal_lpdf(y, mean, sigma)


# ---- arguments -------------------------------------------------------------------------------------------------------
def _rows(rng, *shape):
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1])


def _make_downloads(rng, n):
    t, changes = np.linspace(0.0, 1.0, n), np.array([0.2, 0.45, 0.7])
    params = 1.1, 0.2, 0.2 * rng.normal(size=3), 0.4, rng.normal(size=4)
    return *params, t, np.full(n, 3.0), changes, rng.normal(size=(n, 4)), rng.normal(size=n), False


def _make_countries(rng, n):
    days = np.arange(n)
    serial, to_death = np.exp(-0.2 * days) / 5.0, 0.01 * np.exp(-0.5 * ((days - 10.0) / 5.0) ** 2)
    params = rng.uniform(2.5, 3.5, 2), rng.uniform(0.1, 0.4, 3), 0.4, 4.0, rng.uniform(20.0, 40.0, 2)
    data = _flags(rng, 2, n, 3), serial, to_death, rng.poisson(2.0, (2, n)).astype(float), np.array([2, 3])
    return *params, rng.uniform(0.8, 1.2, 2), *data


def _flags(rng, *shape):
    return rng.integers(0, 2, shape).astype(float)


def _make_curves(rng, n):
    params = -10.0, 0.4, rng.normal(size=6), 1.3, 0.3, 0.2 * rng.normal(size=4), 0.7
    return *params, rng.normal(size=n), rng.normal(size=(n, 6)), rng.normal(size=(n, 4)), rng.normal(size=n)


PROGRAMS = [
    Real(
        arma11, "posteriordb: a series with moving averages", lambda rng, n: (0.1, 0.6, 0.3, 0.8, rng.normal(size=n)),
        (0, 1, 2, 3), 9, 200,
    ),
    Real(
        ar_by_loops, "posteriordb: autoregression by loops",
        lambda rng, n: (0.1, 0.3 * rng.normal(size=5), 0.7, rng.normal(size=n)), (0, 1, 2), 12, 200,
    ),
    Real(prophet, "posteriordb: trend and seasons of downloads", _make_downloads, (0, 1, 2, 3, 4), 9, 700),
    Real(
        hmm_example, "posteriordb: two hidden states",
        lambda rng, n: (*_rows(rng, 2, 2), np.array([3.1, 9.4]), rng.normal(6.0, 3.0, n)), (0, 1, 2), 6, 100,
    ),
    Real(
        hmm_gaussian, "posteriordb: several hidden states",
        lambda rng, n: (
            _rows(rng, 3), _rows(rng, 3, 3), rng.normal(size=3), rng.uniform(0.5, 1.5, 3), rng.normal(size=n),
        ), (0, 1, 2, 3), 5, 400,
    ),
    Real(
        iohmm, "posteriordb: hidden states that inputs choose",
        lambda rng, n: (
            _rows(rng, 3), rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.uniform(0.5, 1.5, 3),
            rng.normal(size=(n, 4)), rng.normal(size=n),
        ), (0, 1, 2, 3), 5, 300,
    ),
    Real(
        hmm_drive, "posteriordb: drives in basketball, by hidden states",
        lambda rng, n: (
            _rows(rng, 2, 2), rng.uniform(0.5, 1.5, 2), rng.uniform(0.5, 1.5, 2), rng.exponential(size=n),
            rng.exponential(size=n),
        ), (0, 1, 2), 6, 400,
    ),
    Real(
        lotka_volterra, "posteriordb: hares and lynxes",
        lambda rng, n: (
            np.array([0.55, 0.028, 0.84, 0.026]), np.array([33.0, 6.1]), np.array([0.25, 0.3]), np.arange(n + 1.0),
            rng.uniform(5.0, 60.0, (n, 2)),
        ), (0, 1, 2), 3, 20,
    ),
    Real(
        sir, "posteriordb: cholera through water",
        lambda rng, n: (0.9, 0.2, 8.0, 0.3, rng.poisson(20.0, n).astype(float), rng.uniform(0.05, 0.5, n)),
        (0, 1, 2, 3), 4, 20,
    ),
    Real(
        soil_incubation, "posteriordb: carbon of soil",
        lambda rng, n: (0.2, 0.05, 0.3, 0.1, 5.0, 0.4, np.cumsum(rng.uniform(0.3, 1.1, n)), rng.uniform(0.5, 3.0, n)),
        (0, 1, 2, 3, 4, 5), 4, 25,
    ),
    Real(
        elimination, "posteriordb: a compartment that saturates",
        lambda rng, n: (0.9, 0.3, 0.4, 0.2, 1.5, np.cumsum(rng.uniform(0.3, 1.1, n)), rng.uniform(0.5, 3.0, n)),
        (0, 1, 2, 3), 4, 20,
    ),
    Real(covid19, "posteriordb: infections, measures and deaths", _make_countries, (0, 1, 2, 3, 4, 5), 12, 100),
    Real(
        gp_regr, "posteriordb: a Gaussian process with noise",
        lambda rng, n: (6.1, 1.3, 0.4, np.linspace(-10.0, 10.0, n), rng.normal(size=n)), (0, 1, 2), 6, 11,
    ),
    Real(
        gp_by_loops, "posteriordb: processes that share a covariance",
        lambda rng, n: (1.2, 0.8, 0.3, rng.normal(size=(3, n)), np.linspace(0.0, 5.0, n), rng.normal(size=(3, n))),
        (0, 1, 2, 3), 5, 15,
    ),
    Real(
        kronecker_gp, "posteriordb: a process over a grid",
        lambda rng, n: (
            0.7, 1.3, 0.9, np.linspace(0.0, 2.0, n), np.linspace(0.0, 3.0, n + 1), rng.normal(size=(n, n + 1)),
        ), (0, 1, 2), 4, 30,
        "eigenvalues of smooth kernels are equal to the last digit, so that derivatives are taken one by one",
    ),
    Real(accel_splines, "posteriordb: splines for mean and noise", _make_curves, (0, 1, 2, 3, 4, 5, 6), 8, 130),
]  # fmt: skip
