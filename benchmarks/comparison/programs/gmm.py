"""The log posterior of a Gaussian mixture with a Wishart prior, as the benchmark ADBench defines it."""

import math
from typing import Any

import numpy as np

import contad
from benchmarks.comparison import shaped
from benchmarks.comparison.mixture import by_hand, constants, loops, primal
from benchmarks.comparison.program import Program, Run, TooSlow
from benchmarks.comparison.written import IDIOMS, IN_C, MAPACCUM

ARGNUMS = (0, 1, 2)


def inputs(d: int, k: int, n: int) -> tuple[Any, ...]:
    """alphas (k), means (k, d), icf (k, d (d + 1) / 2), x (n, d), and gamma and m of the prior."""
    draw = np.random.default_rng(41).normal
    return draw(size=k), draw(size=(k, d)), 0.3 * draw(size=(k, d * (d + 1) // 2)), draw(size=(n, d)), 1.0, 0


# ---- arrays ----------------------------------------------------------------------------------------------------------
def triangle(d: int) -> np.ndarray:
    """Which entry of (0, exp(icf[:d]), icf[d:]) stands at each place of the triangular matrix Q."""
    index = np.zeros((d, d), dtype=int)
    index[np.diag_indices(d)] = 1 + np.arange(d)
    columns, rows = np.triu_indices(d, 1)  # the entries run down the columns
    index[rows, columns] = 1 + d + np.arange(len(rows))
    return index


def over_arrays(np: Any, logsumexp: Any, concatenate: Any) -> Any:
    """The objective in the functions of a library."""

    def f(alphas: Any, means: Any, icf: Any, x: Any, gamma: float, m: int) -> Any:
        (n, d), k = x.shape, alphas.shape[0]
        diagonal, lower = np.exp(icf[:, :d]), icf[:, d:]
        q = concatenate((0.0 * icf[:, :1], diagonal, lower), 1)[:, triangle(d)]
        offset = np.sum(q * means[:, None, :], 2)
        scaled = (x @ q.reshape((k * d, d)).T).reshape((n, k, d)) - offset  # Q (x - mean)
        terms = alphas + np.sum(icf[:, :d], 1) - 0.5 * np.sum(scaled * scaled, 2)
        prior = 0.5 * gamma * gamma * (np.sum(diagonal * diagonal) + np.sum(lower * lower)) - m * np.sum(icf[:, :d])
        prior = prior - k * d * (d + m + 1) * (math.log(gamma) - 0.5 * math.log(2.0))
        return np.sum(logsumexp(terms, 1)) - n * logsumexp(alphas, 0) + prior + constants(n, d, k, m)

    return f


# ---- contad ----------------------------------------------------------------------------------------------------------
def log_sum_exp(a: Any, axis: int) -> Any:
    return contad.logsumexp(a, axis=axis)


# ---- peers -----------------------------------------------------------------------------------------------------------
def autograd(*args: Any) -> Run:
    from autograd.scipy.special import logsumexp

    return shaped.with_autograd(lambda np: over_arrays(np, logsumexp, np.concatenate), ARGNUMS)(*args)


def jax(*args: Any) -> Run:
    from jax.scipy.special import logsumexp

    return shaped.with_jax(lambda np: over_arrays(np, logsumexp, np.concatenate), ARGNUMS, static=(4, 5))(*args)


def torch(*args: Any) -> Run:
    return shaped.with_torch(lambda torch: over_arrays(torch, torch.logsumexp, torch.cat), ARGNUMS)(*args)


def casadi(*args: Any) -> Run:
    """A scalar graph for one point, mapped and summed over all; the largest would compile for minutes."""

    def write(casadi: Any, alphas: Any, means: Any, icf: Any, x: np.ndarray, gamma: float, m: int) -> Any:
        (n, d), k = x.shape, alphas.shape[0]
        symbols = [casadi.SX.sym("parameters", *shape) for shape in (alphas.shape, means.shape, icf.shape, (d, 1))]
        a, mu, q, point = symbols
        terms = []
        for c in range(k):
            centred = point - mu[c, :].T
            scaled = [casadi.exp(q[c, j]) * centred[j] for j in range(d)]
            p = d
            for i in range(d):
                for j in range(i + 1, d):
                    scaled[j] += q[c, p] * centred[i]
                    p += 1
            terms.append(a[c] + casadi.sum2(q[c, :d]) - 0.5 * sum(s * s for s in scaled))
        of_point = casadi.Function("of_point", symbols, [casadi.logsumexp(casadi.vertcat(*terms))])
        mapped = of_point.map(n, [True, True, True, False], [True])
        diagonal, lower = casadi.exp(icf[:, :d]), icf[:, d:]
        prior = 0.5 * gamma * gamma * (casadi.sumsqr(diagonal) + casadi.sumsqr(lower))
        prior -= m * casadi.sum1(casadi.sum2(icf[:, :d])) + k * d * (d + m + 1) * math.log(gamma / math.sqrt(2.0))
        return mapped(alphas, means, icf, casadi.DM(x.T)) - n * casadi.logsumexp(alphas) + prior + constants(n, d, k, m)

    return shaped.with_casadi(write, ARGNUMS, in_c=args[2].size < 2000)(*args)


def xad(*args: Any) -> Run:
    k, d = args[1].shape
    if k * d * (d + 3) * len(args[3]) > 10_000_000:
        raise TooSlow("one gradient records tens of millions of scalar operations, each called from Python")
    return shaped.with_xad(over_numbers, ARGNUMS)(*args)


def over_numbers(alphas: Any, means: Any, icf: Any, x: Any, gamma: float, m: int) -> Any:
    """The objective in xad's functions of numbers."""
    from xad.math import exp, log

    def log_sum(terms: Any) -> Any:
        largest = max(terms)
        return largest + log(sum(exp(t - largest) for t in terms))

    k, d = len(means), len(means[0])
    diagonal = [[exp(v) for v in q[:d]] for q in icf]
    heads = [a + sum(q[:d]) for a, q in zip(alphas, icf, strict=True)]
    total = constants(len(x), d, k, m) - len(x) * log_sum(alphas)
    for point in x:
        terms = []
        for c in range(k):
            centred = [v - mu for v, mu in zip(point, means[c], strict=True)]
            scaled = [v * q for v, q in zip(centred, diagonal[c], strict=True)]
            p = d
            for i in range(d):
                for j in range(i + 1, d):
                    scaled[j] = scaled[j] + icf[c][p] * centred[i]
                    p += 1
            terms.append(heads[c] - 0.5 * sum(s * s for s in scaled))
        total = total + log_sum(terms)
    squares = sum(v * v for row in diagonal for v in row) + sum(v * v for q in icf for v in q[d:])
    prior = 0.5 * gamma * gamma * squares - m * sum(sum(q[:d]) for q in icf)
    return total + prior - k * d * (d + m + 1) * (math.log(gamma) - 0.5 * math.log(2.0))


REMARKS = (
    "The primal has all products Q x in one product of matrices, as every peer has it; `generated, loops` reads the "
    "loops of ADBench's C code. jax is about level with the gradient by hand because XLA's exponentials and loops over "
    "elements are SIMD code, while Numba calls libm for each number. The gradient by hand writes the adjoint of the "
    "product over it, `generated` beside it. `matrix` passes through memory for each operation on the (n, k, d) array, "
    "`record` for the product alone."
)

PROGRAM = Program(
    name="gmm",
    about="log posterior of a Gaussian mixture: sum_i log sum_k exp(a_k + log|Q_k| - |Q_k (x_i - mu_k)|^2 / 2) + prior",
    sizes={
        "small": {"d": 2, "k": 5, "n": 1000}, "medium": {"d": 10, "k": 25, "n": 1000},
        "large": {"d": 20, "k": 50, "n": 1000},
    },
    inputs=inputs,
    argnums=ARGNUMS,
    primal=primal,
    by_hand=by_hand,
    contad={
        **shaped.on_compiled(primal, ARGNUMS), "generated, loops": shaped.on_engine(loops, ARGNUMS, "generated"),
        **shaped.in_registers(loops, ARGNUMS),
        **shaped.on_eager(over_arrays(np, log_sum_exp, np.concatenate), ARGNUMS),
    },
    peers={"autograd": autograd, "jax": jax, "torch": torch, "casadi": casadi, "xad": xad},
    idioms=IDIOMS | {
        "jax": IDIOMS["jax"] + "; jax.scipy.special.logsumexp",
        "casadi": f"SX for a point, map(n, reduce_in, reduce_out) for the sum over points ({MAPACCUM}); {IN_C}, but "
        "for the largest",
    },
    remarks=REMARKS,
)  # fmt: skip
