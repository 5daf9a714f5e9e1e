"""Distributions of whole numbers with SciPy's parameters, made at their first use; -inf at impossible numbers."""

import math
from typing import Any

from contad.distributions.counts import (
    NOT_A_COUNT,
    NOT_POSITIVE,
    hypergeometric_log_mass,
    log_choices,
    log_hypergeometric_ccdf,
    log_hypergeometric_cdf,
)
from contad.distributions.formula import formula, unlisted_rule, where
from contad.distributions.power_sums import log_power_sum
from contad.ops.arithmetic import absolute
from contad.ops.bessel_functions import ive
from contad.ops.elementary import sqrt
from contad.ops.exponential import exp, expm1, log, log1p
from contad.ops.gamma_functions import gammaln
from contad.ops.hyperbolic import tanh
from contad.ops.hypergeometric_functions import hyp0f1
from contad.ops.logic import select
from contad.ops.logistic import log1m_exp

NOT_WHOLE = "n == _inf or n == -_inf or n != floor(n)"
NOT_UP_TO = "n < {} or n > {} or n != floor(n)"


@formula(where("a", outside=NOT_WHOLE), ["n"], [(3.0, 0.8), (-2.0, 1.7)])
def dlaplace_log_mass(n, a):
    """log tanh(a / 2) - a |n|.

    Ref: Inusah & Kozubowski (2006).
    """
    return log(tanh(0.5 * a)) - a * absolute(n)


@formula(where("rate", outside=NOT_A_COUNT), ["n"], [(3.0, 0.8), (0.0, 1.7)])
def planck_log_mass(n, rate):
    """log(1 - e^-rate) - rate n.

    Ref: Johnson, Kemp & Kotz (2005), section 5.2.
    """
    return log1m_exp(-rate) - rate * n


@formula(
    where("rate", "N >= 1.0 and N == floor(N)", NOT_UP_TO.format("0.0", "N - 1.0")), ["n", "N"],
    [(3.0, 0.8, 7.0), (0.0, 1.7, 2.0)],
)  # fmt: skip
def boltzmann_log_mass(n, rate, N):
    """log(1 - e^-rate) - rate n - log(1 - e^(-rate N)).

    Ref: Johnson, Kemp & Kotz (2005), section 5.2.
    """
    return log1m_exp(-rate) - rate * n - log1m_exp(-rate * N)


@formula(where(valid="0.0 < p and p < 1.0", outside=NOT_POSITIVE), ["n"], [(3.0, 0.4), (1.0, 0.9)])
def logser_log_mass(n, p):
    """n log p - log n - log(-log(1 - p)).

    Ref: Johnson, Kemp & Kotz (2005), chapter 7.
    """
    return n * log(p) - log(n) - log(-log1p(-p))


@unlisted_rule(points=[(0.0, 3.0, 0.4), (1.0, 2.0, 0.9), (1.0, 40.0, 0.999)])
def log_logarithm_part(upper, n, p):
    """log of the sum of p^j / j, j = 1, ..., n, or of the sum from n + 1 on if `upper` is 1."""
    if not (0.0 < p < 1.0 and n >= 1.0):
        return math.nan
    whole, long, total, term = -math.log1p(-p), n * (1.0 - p) > 60.0, 0.0, 1.0
    if long or (upper > 0.5 and n * (1.0 - p) > 0.5):  # the others, over p^n
        j = n
        while term > 1e-18 * total:
            j, term = j + 1.0, term * p
            total += term / j
        if upper > 0.5:
            return math.log(total) + n * math.log(p)
        return math.log(whole - total * math.pow(p, n))
    for j in range(1, int(n) + 1):
        term *= p
        total += term / j
    return math.log(whole - total) if upper > 0.5 else math.log(total)


@log_logarithm_part.partials
def log_logarithm_part_partials(z, upper, n, p):
    last = n * log(p)
    return 0.0, 0.0, select(upper > 0.5, exp(last - z), -expm1(last) * exp(-z)) / (1.0 - p)


@formula(
    where(valid="a >= 0.0 and N >= 1.0 and N == floor(N)", outside=NOT_UP_TO.format("1.0", "N")), ["n", "N"],
    [(3.0, 2.4, 7.0), (1.0, 0.3, 90.0)],
)  # fmt: skip
def zipfian_log_mass(n, a, N):
    """-a log n - log(1 + 2^-a + ... + N^-a).

    Ref: Johnson, Kemp & Kotz (2005), section 11.2.20.
    """
    return -a * log(n) - log_power_sum(1.0, N, a)


@formula(where("first second", outside=NOT_WHOLE), ["n"], [(3.0, 2.4, 1.3), (-2.0, 0.3, 90.0)])
def skellam_log_mass(n, first, second):
    """-first - second + n / 2 log(first / second) + log I_n(2 (first second)^(1/2)).

    Ref: Skellam (1946).
    """
    size = absolute(n)
    x = first * second
    near = x < 100.0 * (size + 1.0)
    up = 0.5 * (size + n)
    central = up * log(first) + (size - up) * log(second) - first - second - gammaln(size + 1.0)
    d = sqrt(first) - sqrt(second)
    z = 2.0 * sqrt(select(near, 1.0, first)) * sqrt(select(near, 1.0, second))
    far = 0.5 * n * (log(first) - log(second)) - d * d + log(ive(select(near, 1.0, size), z))
    return select(near, central + log(hyp0f1(size + 1.0, select(near, x, 1.0))), far)


@formula(
    where(valid="0.0 <= n_ and n_ <= M and 0.0 <= r and r <= M - n_", outside=NOT_UP_TO.format("0.0", "n_")),
    ["n", "M", "n_", "r"], [(2.0, 11.0, 4.0, 5.0), (1.0, 90.0, 40.0, 3.0)],
)  # fmt: skip
def nhypergeom_log_mass(n, M, n_, r):
    """log C(n + r - 1, n) + log C(M - r - n, n_ - n) - log C(M, n_).

    Ref: Johnson, Kemp & Kotz (2005), section 6.2.2.
    """
    none = r == 0.0
    last = log((M - n_ - r + 1.0) / (M - n - r + 1.0))
    drawn = hypergeometric_log_mass(select(none, 0.0, r - 1.0), select(none, 0.0, n + r - 1.0), M - n_, n_) + last
    return select(none, select(n == 0.0, 0.0, -math.inf), drawn)


@unlisted_rule(points=[(0.0, 4.0, 11.0, 4.0, 5.0, 1.3), (1.0, 2.0, 11.0, 4.0, 5.0, 0.4)])
def log_fisher_sum(low, high, M, n, N, odds):
    """log of the sum of C(n, j) C(M - n, N - j) odds^j, j = low, ..., high."""
    if not (0.0 < odds < math.inf):
        return math.nan
    first, last = max(low, 0.0, N - M + n), min(high, n, N)
    most, total, j = -math.inf, 0.0, first
    while j <= last:
        term = log_choices.function(j, n) + log_choices.function(N - j, M - n) + j * math.log(odds)
        if term > most:
            total, most = total * math.exp(most - term) + 1.0, term
        else:
            total += math.exp(term - most)
        j += 1.0
    return most + math.log(total) if total > 0.0 else -math.inf


@log_fisher_sum.partials
def log_fisher_sum_partials(z, low, high, M, n, N, odds):
    mean = n * exp(log_fisher_sum(low - 1.0, high - 1.0, M - 1.0, n - 1.0, N - 1.0, odds) - z)
    return 0.0, 0.0, 0.0, 0.0, 0.0, mean


@formula(
    where("odds", "0.0 <= n_ and n_ <= M and 0.0 <= N and N <= M", "n < 0.0 or n < N - M + n_ or n > n_ or n > N or "
          "n != floor(n)"), ["n", "M", "n_", "N"], [(2.0, 11.0, 4.0, 5.0, 1.3), (1.0, 90.0, 40.0, 3.0, 0.4)],
)  # fmt: skip
def fisher_log_mass(n, M, n_, N, odds):
    """log C(n_, n) + log C(M - n_, N - n) + n log odds - log sum_j C(n_, j) C(M - n_, N - j) odds^j.

    Ref: Fog (2008).
    """
    return log_fisher_sum(n, n, M, n_, N, odds) - log_fisher_sum(0.0, N, M, n_, N, odds)


NAMES_OF_COUNTS: dict[str, Any] = {
    f.__name__: f
    for f in (log_logarithm_part, log_power_sum, log_fisher_sum, log_hypergeometric_cdf, log_hypergeometric_ccdf)
}
_FISHER = "log_fisher_sum({}, {}, M, n_, N, odds) - log_fisher_sum(0.0, N, M, n_, N, odds)"
_DRAWN = "r - 1.0, k + r, M - n_, n_"

# by SciPy's name: the shapes, the log mass, its arguments, those that are whole, and the arguments of `distribution`
COUNTS: dict[str, tuple[str, Any, str, str, dict[str, Any]]] = {
    "dlaplace": ("a", dlaplace_log_mass, "k - loc, a", "", {
        "positive": "a", "lines": "k = floor(n)", "low": "n == -_inf",
        "split": ("k < 0.0", "select(k < 0.0, a * (k + 1.0), -a * k) - log1p_exp(a)"),
    }),
    "planck": ("lambda_", planck_log_mass, "k - loc, lambda_", "", {
        "positive": "rate", "upper": "(-rate * (floor(n) + 1.0))",
    }),
    "boltzmann": ("lambda_ N", boltzmann_log_mass, "k - loc, lambda_, N", "N", {
        "positive": "rate", "valid": "N >= 1.0 and N == floor(N)", "lines": "k = floor(n) + 1.0",
        "high": "n >= N - 1.0", "tails": (
            "log1m_exp(-rate * k) - log1m_exp(-rate * N)",
            "log1m_exp(-rate * (N - k)) - rate * k - log1m_exp(-rate * N)",
        ),
    }),
    "logser": ("p", logser_log_mass, "k - loc, p", "", {
        "valid": "0.0 < p and p < 1.0", "lines": "k = floor(n); whole = log(-log1p(-p))", "low": "n < 1.0",
        "tails": ("log_logarithm_part(0.0, k, p) - whole", "log_logarithm_part(1.0, k, p) - whole"),
    }),
    "zipfian": ("a n", zipfian_log_mass, "k - loc, a, n", "n", {
        "valid": "a >= 0.0 and N >= 1.0 and N == floor(N)", "lines": "k = floor(n)", "low": "n < 1.0",
        "high": "n >= N", "tails": (
            "log_power_sum(1.0, k, a) - log_power_sum(1.0, N, a)",
            "log_power_sum(k + 1.0, N, a) - log_power_sum(1.0, N, a)",
        ),
    }),
    "skellam": ("mu1 mu2", skellam_log_mass, "k - loc, mu1, mu2", "", {}),
    "nhypergeom": ("M n r", nhypergeom_log_mass, "k - loc, M, n, r", "M n r", {
        "valid": "0.0 <= n_ and n_ <= M and 0.0 <= r and r <= M - n_", "lines": "k = floor(n)",
        "high": "n >= n_ or r == 0.0",
        "logs": (f"log_hypergeometric_ccdf({_DRAWN})", f"log_hypergeometric_cdf({_DRAWN})"),
        "both": (f"exp(log_hypergeometric_ccdf({_DRAWN}))", f"exp(log_hypergeometric_cdf({_DRAWN}))"),
    }),
    "nchypergeom_fisher": ("M n N odds", fisher_log_mass, "k - loc, M, n, N, odds", "M n N", {
        "positive": "odds", "valid": "0.0 <= n_ and n_ <= M and 0.0 <= N and N <= M", "lines": "k = floor(n)",
        "low": "n < 0.0 or n < N - M + n_", "high": "n >= n_ or n >= N",
        "tails": (_FISHER.format("0.0", "k"), _FISHER.format("k + 1.0", "N")),
    }),
}  # fmt: skip
