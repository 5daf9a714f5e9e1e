"""Prices, plans and processes: lattices, life cycles, queues, epidemics and plants."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real


@njit
def american_put(spot, strike, rate, volatility, steps):
    """A lattice of ups and downs, with exercise at every node."""
    dt = 1.0 / steps
    up = math.exp(volatility * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    discount = math.exp(-rate * dt)
    value = np.empty(steps + 1)
    for i in range(steps + 1):
        value[i] = max(strike - spot * up ** (2 * i - steps), 0.0)
    for t in range(steps - 1, -1, -1):
        for i in range(t + 1):
            wait = discount * (p * value[i + 1] + (1.0 - p) * value[i])
            value[i] = max(wait, strike - spot * up ** (2 * i - t))
    return value[0]


@njit
def heston_paths(theta, spot, strike, draws, others):
    """An option by paths of price and variance, with draws that are held fixed."""
    kappa, mean, vol, rho, start = theta
    paths, steps = draws.shape
    dt = 1.0 / steps
    total = 0.0
    for k in range(paths):
        x, v = math.log(spot), start
        for t in range(steps):
            root = math.sqrt(max(v, 1e-8) * dt)
            z = draws[k, t]
            x += -0.5 * v * dt + root * z
            v += kappa * (mean - v) * dt + vol * root * (rho * z + math.sqrt(1.0 - rho * rho) * others[k, t])
        total += math.log1p(math.exp(20.0 * (math.exp(x) - strike))) / 20.0
    return total / paths


@njit
def barrier_grid(volatility, rate, nodes, steps):
    """A knock-out option by implicit steps: the tridiagonal system at each."""
    n = nodes
    v, c, d = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        v[i] = max((i + 1.0) / n * 2.0 - 1.0, 0.0)
    for _ in range(steps):
        for i in range(n):
            s2 = 0.5 * volatility * volatility * (i + 1.0) ** 2 / steps
            drift = 0.5 * rate * (i + 1.0) / steps
            a, b, up = drift - s2, 1.0 + 2.0 * s2 + rate / steps, -drift - s2
            if i == 0:
                c[i], d[i] = up / b, v[i] / b
            else:
                w = b - a * c[i - 1]
                c[i], d[i] = up / w, (v[i] - a * d[i - 1]) / w
        v[n - 1] = d[n - 1]
        for i in range(n - 2, -1, -1):
            v[i] = d[i] - c[i] * v[i + 1]
    return v[n // 2]


@njit
def between(x, grid, values):
    """Linear interpolation, and extrapolation at the ends."""
    k = min(max(np.searchsorted(grid, x) - 1, 0), grid.size - 2)
    w = (x - grid[k]) / (grid[k + 1] - grid[k])
    return values[k] + w * (values[k + 1] - values[k])


@njit
def life_cycle(theta, grid, income, ages):
    """Savings by backward induction: the value of each wealth from a search over what is consumed."""
    beta, gamma, interest = theta
    value = np.zeros(grid.size)
    for i in range(grid.size):
        value[i] = (grid[i] + 1.0) ** (1.0 - gamma) / (1.0 - gamma)
    for _ in range(ages):
        new = np.zeros(grid.size)
        for i in range(grid.size):
            best = -1e300
            for share in range(1, 10):
                consumed = 0.1 * share * (grid[i] + 0.5)
                wealth = (1.0 + interest) * (grid[i] + 0.5 - consumed)
                follows = 0.0
                for k in range(income.size):
                    follows += between(wealth + income[k], grid, value) / income.size
                best = max(best, consumed ** (1.0 - gamma) / (1.0 - gamma) + beta * follows)
            new[i] = best
        value = new
    return value[grid.size // 2]


@njit
def endogenous_grid(theta, saved, income, ages):
    """Carroll's method: consumption from the Euler equation at grids that move."""
    beta, gamma, interest = theta
    wealth, consumed = saved.copy(), saved.copy()
    for _ in range(ages):
        new_wealth, new_consumed = np.empty(saved.size), np.empty(saved.size)
        for i in range(saved.size):
            marginal = 0.0
            for k in range(income.size):
                c = max(between((1.0 + interest) * saved[i] + income[k], wealth, consumed), 1e-3)
                marginal += c**-gamma / income.size
            new_consumed[i] = (beta * (1.0 + interest) * marginal) ** (-1.0 / gamma)
            new_wealth[i] = saved[i] + new_consumed[i]
        wealth, consumed = new_wealth, new_consumed
    return np.sum(consumed)


@njit
def dynamic_choice(theta, moves, counts):
    """Bus engines: the value of keeping or replacing by fixed-point steps, and the likelihood of what was done."""
    cost, replacement = theta
    n = counts.shape[0]
    value = np.zeros(n)
    for _ in range(60):
        new = np.zeros(n)
        for s in range(n):
            keep, change = -cost * s / n, -replacement
            for m in range(moves.size):
                keep += 0.9 * moves[m] * value[min(s + m, n - 1)]
                change += 0.9 * moves[m] * value[m]
            high = max(keep, change)
            new[s] = high + math.log(math.exp(keep - high) + math.exp(change - high))
        value = new
    loglik = 0.0
    for s in range(n):
        keep, change = -cost * s / n, -replacement
        for m in range(moves.size):
            keep += 0.9 * moves[m] * value[min(s + m, n - 1)]
            change += 0.9 * moves[m] * value[m]
        loglik -= counts[s, 0] * math.log1p(math.exp(change - keep)) + counts[s, 1] * math.log1p(
            math.exp(keep - change)
        )
    return loglik


@njit
def epidemic(theta, contacts, start, cases):
    """Groups that infect each other, by daily steps, and how far the cases are off."""
    groups = start.size
    infectious, susceptible = start.copy(), 1.0 - start
    loss = 0.0
    for day in range(cases.size):
        new = 0.0
        force = np.zeros(groups)
        for i in range(groups):
            for j in range(groups):
                force[i] += contacts[i, j] * infectious[j]
        for i in range(groups):
            infected = susceptible[i] * (1.0 - math.exp(-theta[0] * force[i]))
            susceptible[i] -= infected
            infectious[i] += infected - theta[1] * infectious[i]
            new += infected
        loss += (math.log(new + 1e-6) - cases[day]) ** 2
    return loss


@njit
def stocks_of_fish(theta, catches, index):
    """A surplus production model whose biomass is held above a little by a smooth bend."""
    r, k, q = math.exp(theta[0]), math.exp(theta[1]), math.exp(theta[2])
    b, total = k, 0.0
    for t in range(catches.size):
        total += (math.log(index[t]) - math.log(q * b)) ** 2
        b = b + r * b * (1.0 - b / k) - catches[t]
        b = 0.01 * k * math.exp(b / (0.01 * k) - 1.0) if b < 0.01 * k else b
    return total


@njit
def photosynthesis(theta, light, heat, carbon):
    """Leaves after Farquhar: the lesser of two rates, smoothed, with a conductance that closes."""
    vmax, jmax, slope = theta
    total = 0.0
    for k in range(light.size):
        bend = math.exp(0.07 * (heat[k] - 25.0))
        inside = 0.7 * carbon[k]
        for _ in range(5):
            by_enzyme = vmax * bend * (inside - 42.0) / (inside + 700.0)
            a = jmax * bend + 0.3 * light[k]
            j = (a - math.sqrt(a * a - 3.6 * 0.3 * light[k] * jmax * bend)) / 1.8
            by_light = j * (inside - 42.0) / (4.0 * inside + 336.0)
            s = by_enzyme + by_light
            rate = (s - math.sqrt(s * s - 3.9 * by_enzyme * by_light)) / 1.95
            inside = carbon[k] - rate / (0.02 + slope * max(rate, 0.0) / carbon[k])
        total += rate
    return total / light.size


@njit
def neuron(p, current, steps):
    """Hodgkin and Huxley's equations by exponential steps of the gates."""
    g_na, g_k, g_l = p
    v, m, h, n = -65.0, 0.05, 0.6, 0.32
    spikes = 0.0
    for _ in range(steps):
        am = 0.1 * (v + 40.0) / (1.0 - math.exp(-0.1 * (v + 40.0))) if abs(v + 40.0) > 1e-6 else 1.0
        bm = 4.0 * math.exp(-(v + 65.0) / 18.0)
        ah, bh = 0.07 * math.exp(-(v + 65.0) / 20.0), 1.0 / (1.0 + math.exp(-0.1 * (v + 35.0)))
        an = 0.01 * (v + 55.0) / (1.0 - math.exp(-0.1 * (v + 55.0))) if abs(v + 55.0) > 1e-6 else 0.1
        bn = 0.125 * math.exp(-(v + 65.0) / 80.0)
        m += (am / (am + bm) - m) * (1.0 - math.exp(-0.02 * (am + bm)))
        h += (ah / (ah + bh) - h) * (1.0 - math.exp(-0.02 * (ah + bh)))
        n += (an / (an + bn) - n) * (1.0 - math.exp(-0.02 * (an + bn)))
        i = g_na * m**3 * h * (v - 50.0) + g_k * n**4 * (v + 77.0) + g_l * (v + 54.4)
        v += 0.02 * (current - i)
        spikes += 1.0 / (1.0 + math.exp(-v))
    return spikes / steps + 0.01 * v


@njit
def robot_arm(angles, lengths, target):
    """Forward kinematics of a chain of joints: the distance of the hand, and what bends too far."""
    x, y, turned, cost = 0.0, 0.0, 0.0, 0.0
    for k in range(angles.size):
        turned += angles[k]
        x += lengths[k] * math.cos(turned)
        y += lengths[k] * math.sin(turned)
        excess = abs(angles[k]) - 1.0
        if excess > 0.0:
            cost += excess * excess
    return (x - target[0]) ** 2 + (y - target[1]) ** 2 + cost


PROGRAMS = [
    Real(
        american_put, "option lattices with early exercise", lambda rng, n: (100.0, 103.0, 0.05, 0.3, n), (0, 1, 2, 3),
        9, 300, "a few operations a node; the sweep divides by the power, and keeps which way was better",
    ),
    Real(
        heston_paths, "options by paths of stochastic volatility",
        lambda rng, n: (
            np.array([1.5, 0.04, 0.3, -0.6, 0.05]), 1.0, 1.05, rng.normal(size=(n, 20)), rng.normal(size=(n, 20)),
        ), (0, 1), 4, 1000,
    ),
    Real(barrier_grid, "options by implicit differences", lambda rng, n: (0.3, 0.03, n, n), (0, 1), 7, 150),
    Real(
        life_cycle, "life-cycle models with interpolation",
        lambda rng, n: (np.array([0.95, 2.5, 0.03]), np.linspace(0.1, 9.7, n), np.array([0.43, 1.04, 1.61]), 5), (0, 2),
        5, 60, "a search per wealth and share: branches and reads, not arithmetic",
    ),
    Real(
        endogenous_grid, "consumption by the method of endogenous grid points",
        lambda rng, n: (np.array([0.95, 2.5, 0.03]), np.linspace(0.11, 9.3, n), np.array([0.53, 1.04, 1.71]), 6),
        (0, 2), 5, 200,
    ),
    Real(
        dynamic_choice, "dynamic discrete choice",
        lambda rng, n: (np.array([2.0, 3.0]), np.array([0.4, 0.5, 0.1]), rng.uniform(1.0, 5.0, (n, 2))), (0, 1), 5, 90,
    ),
    Real(
        epidemic, "epidemics in groups",
        lambda rng, n: (
            np.array([0.4, 0.2]), rng.uniform(0.5, 1.5, (4, 4)), np.full(4, 0.01), rng.normal(-3.0, 1.0, n),
        ), (0, 1), 8, 1000,
    ),
    Real(
        stocks_of_fish, "surplus production of fish",
        lambda rng, n: (np.array([-1.0, 3.0, 0.2]), rng.uniform(0.5, 1.0, n), rng.uniform(5.0, 20.0, n)), (0, 1), 7,
        2000,
    ),
    Real(
        photosynthesis, "leaf photosynthesis with a conductance",
        lambda rng, n: (
            np.array([60.0, 110.0, 9.0]), rng.uniform(300.0, 1500.0, n), rng.uniform(15.0, 30.0, n),
            rng.uniform(380.0, 420.0, n),
        ), (0,), 4, 2000,
    ),
    Real(neuron, "a neuron's channels", lambda rng, n: (np.array([120.0, 36.0, 0.3]), 10.0, n), (0, 1), 30, 5000),
    Real(
        robot_arm, "kinematics of a robot's arm",
        lambda rng, n: (1.3 * rng.normal(size=n), rng.uniform(0.5, 1.0, n), np.array([1.0, 2.0])), (0, 1, 2), 6, 2000,
    ),
]  # fmt: skip
