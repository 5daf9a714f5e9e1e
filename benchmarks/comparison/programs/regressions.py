"""Regression with normal and with Bernoulli observations, in loops over them, and on arrays."""

import math
from typing import Any

import numpy as np
from numba import njit

from benchmarks.comparison import with_kernels
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import Version, in_registers, on_bound, on_compiled, on_eager
from benchmarks.comparison.written import IDIOMS, SMALL, on_reassociating, reassociating, with_every_tool

HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
SIZES = {"small": {"n": 10, "k": 10}, "medium": {"n": 500, "k": 20}, "large": {"n": 50_000, "k": 20}}
LINEAR, LOGISTIC = (0, 1), (0,)  # which arguments are differentiated


def linear_inputs(n: int, k: int) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Coefficients, scale, design matrix and observations."""
    draw = np.random.default_rng(6)
    x, true = draw.normal(size=(n, k)), draw.normal(size=k)
    return true + 0.1 * draw.normal(size=k), 1.2, x, x @ true + draw.normal(size=n)


def logistic_inputs(n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients, design matrix and labels 0 or 1."""
    draw = np.random.default_rng(7)
    x, true = draw.normal(size=(n, k)), draw.normal(size=k) / np.sqrt(k)
    y = np.where(draw.uniform(size=n) < 1.0 / (1.0 + np.exp(-x @ true)), 1.0, 0.0)
    return true + 0.1 * draw.normal(size=k), x, y


# ---- with loops, and by hand -----------------------------------------------------------------------------------------
@njit
def linear_loops(beta, sigma, x, y):
    n, k = x.shape
    squares = 0.0
    for i in range(n):
        residual = y[i]
        for j in range(k):
            residual -= x[i, j] * beta[j]
        squares += residual * residual
    return -0.5 * squares / (sigma * sigma) - n * (math.log(sigma) + HALF_LOG_2_PI)


@reassociating
def linear_by_hand(beta, sigma, x, y):
    """One pass over x: each row is used for its residual and for the gradient while it is in the cache."""
    n, k = x.shape
    gradient = np.zeros(k)
    squares = 0.0
    for i in range(n):
        residual = y[i]
        for j in range(k):
            residual -= x[i, j] * beta[j]
        squares += residual * residual
        for j in range(k):
            gradient[j] += residual * x[i, j]
    precision = 1.0 / (sigma * sigma)
    for j in range(k):
        gradient[j] *= precision
    value = -0.5 * squares * precision - n * (math.log(sigma) + HALF_LOG_2_PI)
    return value, (gradient, (squares * precision - n) / sigma)


@njit
def logistic_loops(beta, x, y):
    n, k = x.shape
    loglik = 0.0
    for j in range(k):
        loglik -= 0.5 * beta[j] * beta[j]
    for i in range(n):
        eta = 0.0
        for j in range(k):
            eta += x[i, j] * beta[j]
        loglik += y[i] * eta - math.log1p(math.exp(eta))
    return loglik


def logistic_by_hand(beta, x, y):
    """In loops, and from where NumPy's SIMD functions are worth their calls with NumPy."""
    return logistic_on_arrays_by_hand(beta, x, y) if len(y) > 300 else logistic_in_loops_by_hand(beta, x, y)


@reassociating
def logistic_in_loops_by_hand(beta, x, y):
    n, k = x.shape
    gradient = -beta
    loglik = 0.0
    for j in range(k):
        loglik -= 0.5 * beta[j] * beta[j]
    for i in range(n):
        eta = 0.0
        for j in range(k):
            eta += x[i, j] * beta[j]
        e = math.exp(eta)
        loglik += y[i] * eta - math.log1p(e)
        rest = y[i] - e / (1.0 + e)
        for j in range(k):
            gradient[j] += rest * x[i, j]
    return loglik, (gradient,)


def logistic_on_arrays_by_hand(beta, x, y):
    eta = x @ beta
    e = np.exp(eta)
    value = y @ eta - np.sum(np.log1p(e)) - 0.5 * (beta @ beta)
    return value, ((y - e / (1.0 + e)) @ x - beta,)


# ---- on arrays -------------------------------------------------------------------------------------------------------
def linear(np):
    def f(beta, sigma, x, y):
        residual = y - x @ beta
        return -0.5 * np.sum(residual * residual) / (sigma * sigma) - y.shape[0] * (np.log(sigma) + HALF_LOG_2_PI)

    return f


def logistic(np):
    def f(beta, x, y):
        eta = x @ beta
        return np.sum(y * eta - np.log1p(np.exp(eta))) - 0.5 * np.sum(beta * beta)

    return f


def linear_in_casadi(casadi):
    def f(beta, sigma, x, y):
        squares = casadi.sumsqr(y - x @ beta)
        return -0.5 * squares / (sigma * sigma) - y.shape[0] * (casadi.log(sigma) + HALF_LOG_2_PI)

    return f


def logistic_in_casadi(casadi):
    def f(beta, x, y):
        eta = x @ beta
        return casadi.sum1(y * eta - casadi.log1p(casadi.exp(eta))) - 0.5 * casadi.sumsqr(beta)

    return f


# ---- on numbers ------------------------------------------------------------------------------------------------------
def linear_on_numbers(math):
    def f(beta, sigma, x, y):
        squares = 0.0
        for row, observed in zip(x, y, strict=True):
            residual = observed
            for b, v in zip(beta, row, strict=True):
                residual = residual - b * v
            squares = squares + residual * residual
        return -0.5 * squares / (sigma * sigma) - len(y) * (math.log(sigma) + HALF_LOG_2_PI)

    return f


def logistic_on_numbers(math):
    def f(beta, x, y):
        loglik = 0.0
        for b in beta:
            loglik = loglik - 0.5 * b * b
        for row, label in zip(x, y, strict=True):
            eta = 0.0
            for b, v in zip(beta, row, strict=True):
                eta = eta + b * v
            loglik = loglik + label * eta - math.log1p(math.exp(eta))
        return loglik

    return f


# ---- programs --------------------------------------------------------------------------------------------------------
def make_program(name: str, remarks: str, primal: Any, ways: dict[str, Version]) -> Program:
    """One of the four; by hand and the other tools are the same for loops and arrays."""
    is_linear = name.startswith("linear")
    argnums = LINEAR if is_linear else LOGISTIC
    numbers, casadi = (linear_on_numbers, linear_in_casadi) if is_linear else (logistic_on_numbers, logistic_in_casadi)
    return Program(
        name=name, about=ABOUT[is_linear], sizes=SIZES, inputs=linear_inputs if is_linear else logistic_inputs,
        argnums=argnums, primal=primal, by_hand=linear_by_hand if is_linear else logistic_by_hand, contad=ways,
        with_kernels=None if is_linear else with_kernels.logistic,
        peers=with_every_tool(argnums, arrays=linear if is_linear else logistic, numbers=numbers, casadi=casadi),
        idioms=IDIOMS,
        remarks=f"{remarks} {SMALL}",
    )  # fmt: skip


ABOUT = (
    "the Bernoulli log density of y given logit X beta, with a standard normal prior of beta",
    "the normal log density of y given X beta, by beta and sigma",
)
linear_on_arrays, logistic_on_arrays = linear(np), logistic(np)
LINEAR_ON_ARRAYS, LOGISTIC_ON_ARRAYS = njit(linear_on_arrays), njit(logistic_on_arrays)
PROGRAMS = (
    make_program(
        "linear_arrays",
        "Large: by hand X is read once; two passes of BLAS over it are most of the time of each tool; jax fuses what "
        "is between them.",
        linear_on_arrays,
        on_compiled(LINEAR_ON_ARRAYS, LINEAR) | on_bound(LINEAR_ON_ARRAYS, LINEAR) | on_eager(linear_on_arrays, LINEAR),
    ),
    make_program(
        "linear_loops",
        "Large: a row's dot product is added in the order of the function, 20 additions that wait for each other; jax "
        "and BLAS add several at once.",
        linear_loops, on_compiled(linear_loops, LINEAR) | on_reassociating(linear_loops, LINEAR),
    ),
    make_program(
        "logistic_arrays",
        "Medium and large: `matrix` and `record` use NumPy's exp and log1p, which are as fast as jax's, but pass over "
        "them once for each operation; the generated loops compute both in vector registers.",
        logistic_on_arrays, on_compiled(LOGISTIC_ON_ARRAYS, LOGISTIC) | in_registers(LOGISTIC_ON_ARRAYS, LOGISTIC)
        | on_bound(LOGISTIC_ON_ARRAYS, LOGISTIC) | on_eager(logistic_on_arrays, LOGISTIC),
    ),
    make_program(
        "logistic_loops",
        "Medium and large: by hand exp and log1p of the C library are called for each observation, which is most of "
        "the time at the large size; the generated loops compute both in vector registers, as jax does.",
        logistic_loops, on_compiled(logistic_loops, LOGISTIC) | in_registers(logistic_loops, LOGISTIC)
        | on_reassociating(logistic_loops, LOGISTIC),
    ),
)  # fmt: skip
