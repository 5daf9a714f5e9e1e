"""Log densities by name: Stan's functions beside what other libraries offer, and beside gradients by hand.

contad's are called as a user calls them, in Numba functions and on arrays. Those of the other tools are written with
their own special functions, as their distributions are, without their checks of arguments; beside them stand
jax.scipy.stats ("jax stats") and torch.distributions ("torch distributions"), where these have the distribution.
"""

import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special
from numba import njit

import contad.scipy.linalg
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import on_compiled, on_engine, with_autograd, with_jax, with_torch
from benchmarks.comparison.written import IDIOMS
from contad import stan
from contad.stan import poisson_log_glm_lpmf, student_t_lpdf

HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
SIZES = {"small": {"n": 100}, "medium": {"n": 5_000}, "large": {"n": 100_000}}
NU = 4.0


def with_libraries(write, argnums):
    """The peers with special functions on arrays."""
    return {
        "autograd": with_autograd(write, argnums),
        "jax": with_jax(write, argnums),
        "torch": with_torch(write, argnums),
    }


def with_distributions(argnums, of_jax=None, of_torch=None):
    """Densities of the libraries' own: functions of (the module of arrays, that of distributions, *arguments)."""
    found: dict[str, Any] = {}
    if of_jax is not None:

        def over_jax(np):
            import jax.scipy.stats

            return lambda *args: of_jax(np, jax.scipy.stats, *args)

        found["jax stats"] = with_jax(over_jax, argnums)
    if of_torch is not None:

        def over_torch(np):
            return lambda *args: of_torch(np, np.distributions, *args)

        found["torch distributions"] = with_torch(over_torch, argnums)
    return found


def gammaln_of(np: Any) -> Any:
    """log Gamma of the library whose module of arrays this is."""
    if np.__name__ == "torch":
        return np.lgamma
    if np.__name__ == "jax.numpy":
        import jax.scipy.special

        return jax.scipy.special.gammaln
    import autograd.scipy.special

    return autograd.scipy.special.gammaln


# ---- a Poisson regression --------------------------------------------------------------------------------------------
def counts(n):
    draw = np.random.default_rng(3)
    x, beta = draw.normal(size=(n, 20)), 0.2 * draw.normal(size=20)
    return beta + 0.02 * draw.normal(size=20), x, draw.poisson(np.exp(x @ beta)).astype(float)


def poisson_on_arrays(beta, x, y):
    return poisson_log_glm_lpmf(y, x, 0.0, beta)


@njit
def poisson_compiled(beta, x, y):
    return stan.poisson_log_lpmf(y, x @ beta)


def poisson_by_hand(beta, x, y):
    eta = x @ beta
    m = np.exp(eta)
    return y @ eta - np.sum(m) - np.sum(scipy.special.gammaln(y + 1.0)), ((y - m) @ x,)


def poisson(np):
    gammaln = gammaln_of(np)

    def f(beta, x, y):
        eta = x @ beta
        return np.sum(y * eta - np.exp(eta) - gammaln(y + 1.0))

    return f


POISSON = with_distributions(
    (0,),
    lambda np, stats, beta, x, y: np.sum(stats.poisson.logpmf(y, np.exp(x @ beta))),
    lambda np, made, beta, x, y: np.sum(made.Poisson(np.exp(x @ beta), validate_args=False).log_prob(y)),
)


# ---- negative binomial and beta-binomial counts ----------------------------------------------------------------------
def dispersed(n):
    draw = np.random.default_rng(5)
    x = draw.normal(size=n)
    mean = np.exp(0.7 + 0.4 * x)
    return 0.65, 0.43, 2.1, x, draw.negative_binomial(2.0, 2.0 / (2.0 + mean)).astype(float)


def negative_binomial_on_arrays(a, b, phi, x, y):
    return stan.neg_binomial_2_log_lpmf(y, a + b * x, phi)


negative_binomial_compiled = njit(negative_binomial_on_arrays)


def negative_binomial_by_hand(a, b, phi, x, y):
    eta = a + b * x
    m = np.exp(eta)
    gammaln, digamma = scipy.special.gammaln, scipy.special.digamma
    shift = np.log1p(m / phi)
    total = y + phi
    value = np.sum(gammaln(total) - gammaln(y + 1.0) + y * (eta - math.log(phi)) - total * shift)
    value -= len(y) * gammaln(phi)
    slope = y - total * m / (phi + m)
    of_phi = np.sum(digamma(total) - y / phi - shift + total * m / (phi * (phi + m))) - len(y) * digamma(phi)
    return value, (np.sum(slope), slope @ x, of_phi)


def negative_binomial(np):
    gammaln = gammaln_of(np)

    def f(a, b, phi, x, y):
        eta = a + b * x
        total = y + phi
        shift = np.log1p(np.exp(eta) / phi)
        terms = gammaln(total) - gammaln(y + 1.0) - gammaln(phi) + y * (eta - np.log(phi)) - total * shift
        return np.sum(terms)

    return f


def negative_binomial_of_jax(np, stats, a, b, phi, x, y):
    return np.sum(stats.nbinom.logpmf(y, phi, phi / (phi + np.exp(a + b * x))))


def negative_binomial_of_torch(np, made, a, b, phi, x, y):
    logits = a + b * x - np.log(phi)
    return np.sum(made.NegativeBinomial(phi, logits=logits, validate_args=False).log_prob(y))


NEGATIVE_BINOMIAL = with_distributions((0, 1, 2), negative_binomial_of_jax, negative_binomial_of_torch)


def shares(n):
    draw = np.random.default_rng(6)
    trials = draw.integers(5, 40, n).astype(float)
    return 2.1, 3.2, trials, draw.binomial(trials.astype(int), draw.beta(2.0, 3.0, n)).astype(float)


def beta_binomial_on_arrays(alpha, beta, trials, y):
    return stan.beta_binomial_lpmf(y, trials, alpha, beta)


beta_binomial_compiled = njit(beta_binomial_on_arrays)


def beta_binomial_by_hand(alpha, beta, trials, y):
    gammaln, digamma = scipy.special.gammaln, scipy.special.digamma
    rest, n = trials - y, len(y)
    value = np.sum(gammaln(trials + 1.0) - gammaln(y + 1.0) - gammaln(rest + 1.0))
    value += np.sum(gammaln(y + alpha) + gammaln(rest + beta) - gammaln(trials + alpha + beta))
    value += n * (gammaln(alpha + beta) - gammaln(alpha) - gammaln(beta))
    both = n * digamma(alpha + beta) - np.sum(digamma(trials + alpha + beta))
    of_alpha = np.sum(digamma(y + alpha)) - n * digamma(alpha) + both
    return value, (of_alpha, np.sum(digamma(rest + beta)) - n * digamma(beta) + both)


def beta_binomial(np):
    gammaln = gammaln_of(np)

    def f(alpha, beta, trials, y):
        rest = trials - y
        choices = gammaln(trials + 1.0) - gammaln(y + 1.0) - gammaln(rest + 1.0)
        terms = gammaln(y + alpha) + gammaln(rest + beta) - gammaln(trials + alpha + beta)
        ends = gammaln(alpha + beta) - gammaln(alpha) - gammaln(beta)
        return np.sum(choices + terms) + y.shape[0] * ends

    return f


BETA_BINOMIAL = with_distributions(
    (0, 1), lambda np, stats, alpha, beta, trials, y: np.sum(stats.betabinom.logpmf(y, trials, alpha, beta))
)


# ---- a regression with heavy tails -----------------------------------------------------------------------------------
def outlying(n):
    draw = np.random.default_rng(7)
    x, beta = draw.normal(size=(n, 20)), draw.normal(size=20)
    return beta + 0.1 * draw.normal(size=20), 1.3, x, x @ beta + draw.standard_t(NU, n)


def student_on_arrays(beta, sigma, x, y):
    return student_t_lpdf(y, NU, x @ beta, sigma)


@njit
def student_compiled(beta, sigma, x, y):
    return stan.student_t_lpdf(y, NU, x @ beta, sigma)


T_CONSTANT = math.lgamma(0.5 * (NU + 1.0)) - math.lgamma(0.5 * NU) - 0.5 * math.log(NU * math.pi)


def student_by_hand(beta, sigma, x, y):
    r = (y - x @ beta) / sigma
    squares = r * r
    value = -0.5 * (NU + 1.0) * np.sum(np.log1p(squares / NU)) + len(y) * (T_CONSTANT - math.log(sigma))
    slope = (NU + 1.0) * r / (NU + squares)
    return value, (slope @ x / sigma, (slope @ r - len(y)) / sigma)


def student(np):
    def f(beta, sigma, x, y):
        r = (y - x @ beta) / sigma
        return -0.5 * (NU + 1.0) * np.sum(np.log1p(r * r / NU)) + y.shape[0] * (T_CONSTANT - np.log(sigma))

    return f


STUDENT = with_distributions(
    (0, 1),
    lambda np, stats, beta, sigma, x, y: np.sum(stats.t.logpdf(y, NU, x @ beta, sigma)),
    lambda np, made, beta, sigma, x, y: np.sum(made.StudentT(NU, x @ beta, sigma, validate_args=False).log_prob(y)),
)


# ---- a regression of ordered categories ------------------------------------------------------------------------------
def graded(n):
    draw = np.random.default_rng(10)
    x, beta, cuts = draw.normal(size=(n, 20)), 0.3 * draw.normal(size=20), np.array([-1.5, -0.4, 0.6, 1.7])
    y = 1 + np.searchsorted(cuts, x @ beta + draw.logistic(size=n))
    return beta + 0.05 * draw.normal(size=20), cuts + np.array([0.1, -0.05, 0.02, 0.1]), x, y


def ordered_on_arrays(beta, cuts, x, y):
    return stan.ordered_logistic_glm_lpmf(y, x, beta, cuts)


ordered_compiled = njit(ordered_on_arrays)


def ordered_by_hand(beta, cuts, x, y):
    eta = x @ beta
    low = np.concatenate([[-np.inf], cuts])[y - 1] - eta
    high = np.concatenate([cuts, [np.inf]])[y - 1] - eta
    expit = scipy.special.expit
    above, below = expit(-low), expit(high)
    inner = (y > 1) & (y <= len(cuts))
    gap = np.where(inner, high - low, 1.0)
    value = np.sum(np.log(above) + np.log(below) + np.where(inner, np.log1p(-np.exp(-gap)), 0.0))
    pull = np.where(inner, 1.0 / np.expm1(gap), 0.0)
    of_low, of_high = -expit(low) - pull, expit(-high) + pull
    k = len(cuts)
    of_cuts = np.bincount(y[y <= k] - 1, of_high[y <= k], k) + np.bincount(y[y > 1] - 2, of_low[y > 1], k)
    return value, (-(of_low + of_high) @ x, of_cuts)


def ordered(np):
    def f(beta, cuts, x, y):
        eta = x @ beta
        # the ends beyond all data stand for infinity
        ends = np.concatenate([cuts[:1] * 0.0 - 800.0, cuts, cuts[:1] * 0.0 + 800.0])
        low, high = ends[y - 1] - eta, ends[y] - eta
        sides = np.logaddexp(low, low * 0.0) + np.logaddexp(-high, high * 0.0)
        return np.sum(np.log1p(-np.exp(low - high)) - sides)

    return f


# ---- vectors and matrices --------------------------------------------------------------------------------------------
VECTORS = {"small": {"d": 3, "n": 20}, "medium": {"d": 20, "n": 200}, "large": {"d": 100, "n": 2_000}}


def correlated(d, n):
    draw = np.random.default_rng(8)
    factor = np.tril(0.3 * draw.normal(size=(d, d))) + np.diag(1.0 + draw.uniform(size=d))
    return draw.normal(size=d), factor, draw.normal(size=(n, d)) @ factor.T


def normal_vectors_on_arrays(mu, factor, y):
    return stan.multi_normal_cholesky_lpdf(y, mu, factor)


@njit
def normal_vectors_compiled(mu, factor, y):
    n, d = y.shape
    scaled = contad.scipy.linalg.solve_triangular(factor, (y - mu).T, lower=True)
    return -0.5 * np.sum(scaled * scaled) - n * np.sum(np.log(np.diag(factor))) - n * d * HALF_LOG_2_PI


def normal_vectors_by_hand(mu, factor, y):
    n, d = y.shape
    solve = scipy.linalg.solve_triangular
    scaled = solve(factor, (y - mu).T, lower=True, check_finite=False)
    diagonal = np.diag(factor)
    value = -0.5 * np.sum(scaled * scaled) - n * np.sum(np.log(diagonal)) - n * d * HALF_LOG_2_PI
    back = solve(factor, scaled, lower=True, trans=1, check_finite=False)
    return value, (np.sum(back, axis=1), np.tril(back @ scaled.T) - np.diag(n / diagonal))


def normal_vectors(np):
    def f(mu, factor, y):
        n, d = y.shape
        rows = (y - mu).T
        if np.__name__ == "torch":
            scaled = np.linalg.solve_triangular(factor, rows, upper=False)
        elif np.__name__ == "jax.numpy":
            import jax.scipy.linalg

            scaled = jax.scipy.linalg.solve_triangular(factor, rows, lower=True)
        else:
            import autograd.scipy.linalg

            scaled = autograd.scipy.linalg.solve_triangular(factor, rows, lower=True)
        return -0.5 * np.sum(scaled * scaled) - n * np.sum(np.log(np.diag(factor))) - n * d * HALF_LOG_2_PI

    return f


def normal_vectors_of_torch(np, made, mu, factor, y):
    return np.sum(made.MultivariateNormal(mu, scale_tril=factor, validate_args=False).log_prob(y))


def correlation_factor(d):
    draw = np.random.default_rng(9)
    factor = np.tril(draw.normal(size=(d, d)), -1) + np.diag(1.0 + draw.uniform(size=d))
    return factor / np.sqrt(np.sum(factor * factor, axis=1, keepdims=True)), 1.7


def lkj_on_arrays(factor, eta):
    return stan.lkj_corr_cholesky_lpdf(factor, eta)


@njit
def lkj_compiled(factor, eta):
    d = factor.shape[0]
    total = (d - 1.0) * math.lgamma(eta + 0.5 * (d - 1.0))
    for k in range(1, d):
        total += (d - k - 3.0 + 2.0 * eta) * math.log(factor[k, k])
        total -= 0.5 * k * math.log(math.pi) + math.lgamma(eta + 0.5 * (d - 1.0 - k))
    return total


def lkj_by_hand(factor, eta):
    d = factor.shape[0]
    k = np.arange(1, d)
    diagonal, at = np.diag(factor)[1:], eta + 0.5 * (d - 1.0 - k)
    weights, top = d - k - 3.0 + 2.0 * eta, eta + 0.5 * (d - 1.0)
    logs = np.log(diagonal)
    gammaln, digamma = scipy.special.gammaln, scipy.special.digamma
    value = weights @ logs + (d - 1.0) * gammaln(top) - np.sum(gammaln(at)) - 0.5 * np.sum(k) * math.log(math.pi)
    gradient = np.zeros((d, d))
    gradient[k, k] = weights / diagonal
    return value, (gradient, 2.0 * np.sum(logs) + (d - 1.0) * digamma(top) - np.sum(digamma(at)))


def lkj(np):
    gammaln = gammaln_of(np)

    def f(factor, eta):
        d = factor.shape[0]
        k = np.arange(1, d, dtype=np.float64)
        weights, at = d - k - 3.0 + 2.0 * eta, eta + 0.5 * (d - 1.0 - k)
        constant = (d - 1.0) * gammaln(eta + 0.5 * (d - 1.0)) - 0.25 * d * (d - 1.0) * math.log(math.pi)
        return np.sum(weights * np.log(np.diag(factor)[1:])) + constant - np.sum(gammaln(at))

    return f


def lkj_of_torch(np, made, factor, eta):
    return made.LKJCholesky(factor.shape[0], eta, validate_args=False).log_prob(factor)


# ---- programs --------------------------------------------------------------------------------------------------------
FUSED = (
    "`matrix` has the value and the partials of a density from one compiled pass over the data, which is compiled once "
    "NumPy has evaluated two million elements."
)
STATS = {
    "jax stats": "jax.scipy.stats (docs.jax.dev/en/latest/jax.scipy.html), otherwise as jax",
    "torch distributions": "torch.distributions, log_prob, validate_args=False (docs.pytorch.org/docs/stable/"
    "distributions.html), otherwise as torch",
}


def make_program(name, about, sizes, inputs, argnums, functions, remarks="", own=None):
    """One of them: its compiled function, that of arrays, the gradient by hand and what peers run."""
    compiled, on_arrays, by_hand, write = functions
    return Program(
        name=name, about=about, sizes=sizes, inputs=inputs, argnums=argnums, primal=compiled, by_hand=by_hand,
        contad=on_compiled(compiled, argnums) | {"matrix": on_engine(on_arrays, argnums, "matrix")},
        peers=with_libraries(write, argnums) | (own or {}),
        idioms={k: v for k, v in (IDIOMS | STATS).items() if k in {"autograd", "jax", "torch", *(own or {})}},
        remarks=remarks,
    )  # fmt: skip


PROGRAMS = (
    make_program(
        "poisson_glm", "the Poisson log mass of y of mean exp(X beta), by 20 coefficients beta", SIZES, counts, (0,),
        (poisson_compiled, poisson_on_arrays, poisson_by_hand, poisson),
        FUSED, POISSON,
    ),
    make_program(
        "negative_binomial", "the negative binomial log mass of y of mean exp(a + b x), by a, b and the dispersion",
        SIZES, dispersed, (0, 1, 2),
        (negative_binomial_compiled, negative_binomial_on_arrays, negative_binomial_by_hand, negative_binomial),
        FUSED, NEGATIVE_BINOMIAL,
    ),
    make_program(
        "beta_binomial", "the beta-binomial log mass of y successes, by alpha and beta", SIZES, shares, (0, 1),
        (beta_binomial_compiled, beta_binomial_on_arrays, beta_binomial_by_hand, beta_binomial),
        f"{FUSED} Logarithms of gamma functions and their derivatives are nearly all of the time of each tool. "
        "torch.distributions has no beta-binomial distribution.", BETA_BINOMIAL,
    ),
    make_program(
        "student_t_regression", "Student's t log density of y given X beta, by beta and sigma", SIZES, outlying, (0, 1),
        (student_compiled, student_on_arrays, student_by_hand, student),
        f"{FUSED} The generated loop has logarithms and quotients in vector registers; at 5,000 rows the two passes "
        "over X are a third of the time.", STUDENT,
    ),
    make_program(
        "ordered_logistic", "the ordered logistic log mass of y given X beta, by 20 coefficients beta and 4 cut points",
        SIZES, graded, (0, 1), (ordered_compiled, ordered_on_arrays, ordered_by_hand, ordered),
        "Neither jax.scipy.stats nor torch.distributions has the distribution. The generated loop gathers what each "
        "branch asks of exp and log, and computes it in vector registers; jax computes all branches for every row.",
    ),
    make_program(
        "normal_vectors", "the normal log density of rows y, by their mean and the Cholesky factor of the covariance",
        VECTORS, correlated, (0, 1),
        (normal_vectors_compiled, normal_vectors_on_arrays, normal_vectors_by_hand, normal_vectors),
        "Large: triangular systems are most of the time. torch has them from MKL, which takes 0.5 ms for what takes "
        "OpenBLAS 1.3 ms, whose functions NumPy, SciPy and contad call.",
        own=with_distributions((0, 1), of_torch=normal_vectors_of_torch),
    ),
    make_program(
        "lkj", "the LKJ log density of the Cholesky factor of a correlation matrix, by the factor and the shape",
        {"small": {"d": 3}, "medium": {"d": 20}, "large": {"d": 200}}, correlation_factor, (0, 1),
        (lkj_compiled, lkj_on_arrays, lkj_by_hand, lkj),
        "`matrix` makes some ten calls of NumPy and records, and copies the factor; log B of the constant is evaluated "
        "in Python for each element until that has taken as long as compiling a function.",
        own=with_distributions((0, 1), of_torch=lkj_of_torch),
    ),
)  # fmt: skip
