"""The log posterior of the stochastic volatility model of the Stan User's Guide, in its first, centred form."""

import math
from typing import Any

import numpy as np
from numba import njit

from benchmarks.comparison import shaped, with_kernels
from benchmarks.comparison.program import Program, Run, TooSlow
from benchmarks.comparison.written import IDIOMS, IN_C

ARGNUMS = (0, 1, 2, 3)


def inputs(steps: int) -> tuple[Any, ...]:
    """h, mu, phi, sigma, and y."""
    draw = np.random.default_rng(5)
    mu, phi, sigma = -1.02, 0.95, 0.25
    h = np.empty(steps)
    h[0] = mu + sigma / np.sqrt(1.0 - phi * phi) * draw.normal()
    for t in range(1, steps):
        h[t] = mu + phi * (h[t - 1] - mu) + sigma * draw.normal()
    y = np.exp(h / 2.0) * draw.normal(size=steps)
    h += 0.1 * draw.normal(size=steps)
    return h, -0.9, 0.9, 0.3, y


def over_arrays(np):
    """By slices: h[0] ~ normal(mu, sigma / sqrt(1 - phi^2)), h[t] ~ normal(mu + phi (h[t-1] - mu), sigma)."""

    def f(h, mu, phi, sigma, y):
        first = h[0] - mu
        innovation = h[1:] - mu - phi * (h[:-1] - mu)
        q = 1.0 - phi * phi
        prior = 0.5 * np.log(q) - np.log(1.0 + mu * mu / 100.0) - np.log(1.0 + sigma * sigma / 25.0)
        squares = q * first * first + np.sum(innovation * innovation)
        states = -0.5 * squares / (sigma * sigma) - h.shape[0] * np.log(sigma)
        return prior + states - 0.5 * np.sum(h + y * y * np.exp(-h))

    return f


def on_arrays_by_hand(h, mu, phi, sigma, y):
    centred = h - mu
    first = centred[0]
    innovation = centred[1:] - phi * centred[:-1]
    q, w = 1.0 - phi * phi, 1.0 / (sigma * sigma)
    squares = q * first * first + innovation @ innovation
    scaled = y * y * np.exp(-h)
    prior = 0.5 * np.log(q) - np.log(1.0 + mu * mu / 100.0) - np.log(1.0 + sigma * sigma / 25.0)
    value = prior - 0.5 * w * squares - len(h) * np.log(sigma) - 0.5 * np.sum(h + scaled)
    pull = w * innovation
    h_bar = 0.5 * (scaled - 1.0)
    h_bar[1:] -= pull
    h_bar[:-1] += phi * pull
    h_bar[0] -= w * q * first
    mu_bar = (1.0 - phi) * np.sum(pull) + w * q * first - 2.0 * mu / (100.0 + mu * mu)
    phi_bar = pull @ centred[:-1] + w * phi * first * first - phi / q
    sigma_bar = (w * squares - len(h)) / sigma - 2.0 * sigma / (25.0 + sigma * sigma)
    return value, (h_bar, mu_bar, phi_bar, sigma_bar)


@njit
def primal(h, mu, phi, sigma, y):
    n = len(h)
    q = 1.0 - phi * phi
    first = h[0] - mu
    squares = q * first * first
    observed = 0.0
    for t in range(n):
        observed += h[t] + y[t] * y[t] * math.exp(-h[t])
        if t > 0:
            innovation = h[t] - mu - phi * (h[t - 1] - mu)
            squares += innovation * innovation
    prior = 0.5 * math.log(q) - math.log(1.0 + mu * mu / 100.0) - math.log(1.0 + sigma * sigma / 25.0)
    return prior - 0.5 * squares / (sigma * sigma) - n * math.log(sigma) - 0.5 * observed


@njit
def by_hand(h, mu, phi, sigma, y):
    n = len(h)
    q = 1.0 - phi * phi
    w = 1.0 / (sigma * sigma)
    bar = np.empty(n)
    centred = h[0] - mu
    squares = q * centred * centred
    observed = 0.0
    of_mu = w * q * centred
    of_phi = w * phi * centred * centred
    pull = -w * q * centred  # how the prior pulls at h[t], from the side of h[t - 1]
    for t in range(n - 1):
        innovation = h[t + 1] - mu - phi * centred
        squares += innovation * innovation
        push = w * innovation
        of_phi += push * centred
        of_mu += (1.0 - phi) * push
        scaled = y[t] * y[t] * math.exp(-h[t])
        observed += h[t] + scaled
        bar[t] = 0.5 * (scaled - 1.0) + pull + phi * push
        pull = -push
        centred = h[t + 1] - mu
    scaled = y[n - 1] * y[n - 1] * math.exp(-h[n - 1])
    observed += h[n - 1] + scaled
    bar[n - 1] = 0.5 * (scaled - 1.0) + pull
    prior = 0.5 * math.log(q) - math.log(1.0 + mu * mu / 100.0) - math.log(1.0 + sigma * sigma / 25.0)
    value = prior - 0.5 * w * squares - n * math.log(sigma) - 0.5 * observed
    of_sigma = (w * squares - n) / sigma - 2.0 * sigma / (25.0 + sigma * sigma)
    return value, (bar, of_mu - 2.0 * mu / (100.0 + mu * mu), of_phi - phi / q, of_sigma)


# ---- peers -----------------------------------------------------------------------------------------------------------
class _Casadi:
    """The functions that the program asks of NumPy, by CasADi's names."""

    def __init__(self, casadi: Any) -> None:
        self.log, self.exp, self.sum = casadi.log, casadi.exp, casadi.sum1


def casadi(*args: Any) -> Run:
    def write(casadi: Any, *args: Any) -> Any:
        return over_arrays(_Casadi(casadi))(*args)

    return shaped.with_casadi(write, ARGNUMS, in_c=True)(*args)


def xad(*args: Any) -> Run:
    if len(args[0]) > 50_000:
        raise TooSlow("one gradient records millions of scalar operations, each called from Python")
    from xad.math import exp, log

    def f(h: Any, mu: Any, phi: Any, sigma: Any, y: Any) -> Any:
        q = 1.0 - phi * phi
        first = h[0] - mu
        squares = q * first * first
        observed = h[0] + y[0] * y[0] * exp(-h[0])
        for t in range(1, len(h)):
            innovation = h[t] - mu - phi * (h[t - 1] - mu)
            squares = squares + innovation * innovation
            observed = observed + h[t] + y[t] * y[t] * exp(-h[t])
        prior = 0.5 * log(q) - log(1.0 + mu * mu / 100.0) - log(1.0 + sigma * sigma / 25.0)
        return prior - 0.5 * squares / (sigma * sigma) - len(h) * log(sigma) - 0.5 * observed

    return shaped.with_xad(f, ARGNUMS)(*args)


REMARKS = (
    "The generated loops compute exponentials in vector registers, as XLA does; by hand they are the C library's."
)

PROGRAM = Program(
    name="stochastic_volatility",
    about="log p(h, mu, phi, sigma | y): h_t ~ normal(mu + phi (h_t-1 - mu), sigma), y_t ~ normal(0, exp(h_t / 2))",
    sizes={"small": {"steps": 100}, "medium": {"steps": 10_000}, "large": {"steps": 200_000}},
    inputs=inputs,
    argnums=ARGNUMS,
    primal=primal,
    by_hand=by_hand,
    with_kernels=with_kernels.stochastic_volatility,
    contad=shaped.on_compiled(primal, ARGNUMS) | shaped.in_registers(primal, ARGNUMS)
    | shaped.on_bound(primal, ARGNUMS)
    | shaped.on_eager(over_arrays(np), ARGNUMS),
    peers={
        "autograd": shaped.with_autograd(over_arrays, ARGNUMS), "jax": shaped.with_jax(over_arrays, ARGNUMS),
        "torch": shaped.with_torch(over_arrays, ARGNUMS), "casadi": casadi, "xad": xad,
    },
    idioms=IDIOMS | {"casadi": IDIOMS["casadi"] + "; " + IN_C},
    remarks=REMARKS,
)  # fmt: skip
