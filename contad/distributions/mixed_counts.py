"""Distribution functions of counts with a random probability: sums over the support, relative to the largest term.

A derivative in the parameters is the sum of the derivatives of the masses, divided by the sum of the masses. So it
keeps its digits in both tails, and its own derivatives are made of such quotients again.
"""

import math

from contad.distributions.formula import LOG_2, formula, unlisted_rule
from contad.ops.beta_functions import betaln
from contad.ops.logic import select
from contad.ops.logistic import log1m_exp
from contad.ops.rounding import rint

MOST_TERMS = 1000000


# ---- beta binomial ---------------------------------------------------------------------------------------------------
@unlisted_rule(points=[(0.0, 3.0, 7.0, 2.3, 1.7), (2.0, 4.0, 4.0, 0.4, 0.9)])
def beta_binomial_log_sum(low, high, N, a, b):
    """log of the sum of beta-binomial masses at k = low, ..., high."""
    return _beta_binomial(0, 0, low, high, N, a, b, True)


@beta_binomial_log_sum.partials
def beta_binomial_log_sum_partials(z, low, high, N, a, b):
    return (
        0.0,
        0.0,
        0.0,
        beta_binomial_ratio(1.0, 0.0, low, high, N, a, b),
        beta_binomial_ratio(0.0, 1.0, low, high, N, a, b),
    )


@unlisted_rule(points=[(1.0, 0.0, 0.0, 3.0, 7.0, 2.3, 1.7), (0.0, 1.0, 2.0, 4.0, 4.0, 0.4, 0.9)])
def beta_binomial_ratio(n, m, low, high, N, a, b):
    """The derivative of the sum, of order n in a and m in b, over the sum."""
    return _beta_binomial(round(n), round(m), low, high, N, a, b, False) if n < 8.5 and m < 8.5 else math.nan


@beta_binomial_ratio.partials
def beta_binomial_ratio_partials(z, n, m, low, high, N, a, b):
    i = rint(n)
    j = rint(m)
    return (
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        beta_binomial_ratio(i + 1.0, j, low, high, N, a, b) - z * beta_binomial_ratio(1.0, 0.0, low, high, N, a, b),
        beta_binomial_ratio(i, j + 1.0, low, high, N, a, b) - z * beta_binomial_ratio(0.0, 1.0, low, high, N, a, b),
    )


@formula(whole=["k", "N"], points=[(3.0, 7.0, 2.3, 1.7)])
def beta_binomial_log_cdf(k, N, alpha, beta):
    """The logarithm of the sum up to k; if that exceeds 1/2, of 1 minus the sum of the others."""
    above = beta_binomial_log_sum(k + 1.0, N, N, alpha, beta)
    small = above < -LOG_2
    return select(small, log1m_exp(select(small, above, -1.0)), beta_binomial_log_sum(0.0, k, N, alpha, beta))


@formula(whole=["k", "N"], points=[(3.0, 7.0, 2.3, 1.7)])
def beta_binomial_log_ccdf(k, N, alpha, beta):
    """The logarithm of the sum from k + 1 on; if that exceeds 1/2, of 1 minus the sum of the others."""
    below = beta_binomial_log_sum(0.0, k, N, alpha, beta)
    small = below < -LOG_2
    return select(small, log1m_exp(select(small, below, -1.0)), beta_binomial_log_sum(k + 1.0, N, N, alpha, beta))


def _multiply(series, x):
    """Multiply a polynomial in e by 1 + e / x, in place."""
    for j in range(len(series) - 1, 0, -1):
        series[j] += series[j - 1] / x


def _divide(series, x):
    """Divide a polynomial in e by 1 + e / x, in place."""
    for j in range(1, len(series)):
        series[j] -= series[j - 1] / x


def _polynomial(order):
    series = [0.0] * (order + 1)
    series[0] = 1.0
    return series


def _beta_binomial(n, m, low, high, N, a, b, value):
    """The logarithm of the sum, or a derivative of the sum over it.

    A mass is C(N, k) (a)_k (b)_(N - k) / (a + b)_N, in which (a)_k changes by a polynomial in the change of a.
    """
    if not (0.0 < a < math.inf and 0.0 < b < math.inf and 0.0 <= low <= high <= N < MOST_TERMS):
        return math.nan
    first = _polynomial(n)
    for i in range(int(low)):
        _multiply(first, a + i)
    second = _polynomial(m)
    for i in range(int(N - low)):
        _multiply(second, b + i)
    both = _polynomial(n + m)  # polynomial of 1 / (a + b)_N in the sum of both changes
    for i in range(int(N)):
        _divide(both, a + b + i)
    # terms relative to the first one, whose size is stored separately
    term, scale, total = 1.0, 0.0, 0.0
    sums = [0.0] * ((n + 1) * (m + 1))
    k = low
    while True:
        total += term
        for i in range(n + 1):
            for j in range(m + 1):
                sums[i * (m + 1) + j] += term * first[i] * second[j]
        if k == high:
            break
        term *= (N - k) / (k + 1.0) * ((a + k) / (b + (N - k - 1.0)))
        _multiply(first, a + k)
        _divide(second, b + (N - k - 1.0))
        k += 1.0
        if total > 1e200:
            for i in range(len(sums)):
                sums[i] *= 1e-200
            total *= 1e-200
            term *= 1e-200
            scale += 460.51701859880916  # log(1e200)
    if value:
        mass = betaln.function(low + a, N - low + b) - betaln.function(a, b)
        return mass - math.log(N + 1.0) - betaln.function(N - low + 1.0, low + 1.0) + scale + math.log(total)
    found = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            # the change (e + f)^r of the denominator has C(r, n - i) e^(n - i) f^(m - j), r = n - i + m - j
            r = n - i + m - j
            choices = 1.0
            for q in range(n - i):
                choices *= (r - q) / (q + 1.0)
            found += sums[i * (m + 1) + j] * both[r] * choices
    for order in (n, m):
        for i in range(order):
            found *= i + 1.0
    return found / total


# ---- beta negative binomial ------------------------------------------------------------------------------------------
@unlisted_rule(points=[(0.0, 3.0, 2.4, 1.3, 4.4, 0.7), (1.0, 2.0, 1.3, 0.4, 3.8, 2.1)])
def beta_neg_binomial_log_sum(upper, n, r, b, s, a):
    """log of the sum of (r)_k (b)_k / ((s)_k k!) over k <= n, or over k > n if `upper` is 1, with s = r + a + b.

    The sum above n is computed term by term up to some K; the rest is the term at K + 1 times (K + s) / a 3F2(1, 1 - r,
    1 - b; K + 2, 1 + a; 1), by Thomae's transformation (DLMF 16.4.11).
    """
    return _beta_neg_binomial(0, 0, 0, 0, upper, n, r, b, s, a)


@beta_neg_binomial_log_sum.partials
def beta_neg_binomial_log_sum_partials(z, upper, n, r, b, s, a):
    return (
        0.0,
        0.0,
        beta_neg_binomial_ratio(1.0, 0.0, 0.0, 0.0, upper, n, r, b, s, a),
        beta_neg_binomial_ratio(0.0, 1.0, 0.0, 0.0, upper, n, r, b, s, a),
        beta_neg_binomial_ratio(0.0, 0.0, 1.0, 0.0, upper, n, r, b, s, a),
        beta_neg_binomial_ratio(0.0, 0.0, 0.0, 1.0, upper, n, r, b, s, a),
    )


@unlisted_rule(
    points=[(1.0, 0.0, 0.0, 0.0, 0.0, 3.0, 2.4, 1.3, 4.4, 0.7), (0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 1.3, 0.4, 3.8, 2.1)]
)
def beta_neg_binomial_ratio(i, j, k, m, upper, n, r, b, s, a):
    """The derivative of the sum, of order i in r, j in b, k in s and m in a, over the sum."""
    if not i + j + k + m < 8.5:
        return math.nan
    return _beta_neg_binomial(round(i), round(j), round(k), round(m), upper, n, r, b, s, a)


@beta_neg_binomial_ratio.partials
def beta_neg_binomial_ratio_partials(z, i, j, k, m, upper, n, r, b, s, a):
    return (
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        beta_neg_binomial_ratio(rint(i) + 1.0, j, k, m, upper, n, r, b, s, a)
        - z * beta_neg_binomial_ratio(1.0, 0.0, 0.0, 0.0, upper, n, r, b, s, a),
        beta_neg_binomial_ratio(i, rint(j) + 1.0, k, m, upper, n, r, b, s, a)
        - z * beta_neg_binomial_ratio(0.0, 1.0, 0.0, 0.0, upper, n, r, b, s, a),
        beta_neg_binomial_ratio(i, j, rint(k) + 1.0, m, upper, n, r, b, s, a)
        - z * beta_neg_binomial_ratio(0.0, 0.0, 1.0, 0.0, upper, n, r, b, s, a),
        beta_neg_binomial_ratio(i, j, k, rint(m) + 1.0, upper, n, r, b, s, a)
        - z * beta_neg_binomial_ratio(0.0, 0.0, 0.0, 1.0, upper, n, r, b, s, a),
    )


@formula(whole=["upper", "k"], points=[(0.0, 3.0, 2.4, 0.7, 1.3)])
def beta_neg_binomial_log_part(upper, k, r, alpha, beta):
    """The logarithm of the sum of the masses up to k, or of those above if `upper` is 1."""
    total = beta_neg_binomial_log_sum(upper, k, r, beta, r + alpha + beta, alpha)
    return betaln(alpha + r, beta) - betaln(alpha, beta) + total


@formula(whole=["wanted", "k"], points=[(1.0, 3.0, 2.4, 0.7, 1.3)])
def beta_neg_binomial_log_above(wanted, k, r, alpha, beta):
    """The logarithm of the sum of the masses above k if it is needed, otherwise of a short sum, because this one may be
    too long."""
    is_wanted = wanted > 0.5
    return beta_neg_binomial_log_part(
        1.0, k, select(is_wanted, r, 1.0), select(is_wanted, alpha, 1.0), select(is_wanted, beta, 1.0)
    )


@formula(whole=["k"], points=[(3.0, 2.4, 0.7, 1.3)])
def beta_neg_binomial_log_cdf(k, r, alpha, beta):
    """The logarithm of the sum up to k; if that exceeds 1/2, of 1 minus the sum of the others."""
    below = beta_neg_binomial_log_part(0.0, k, r, alpha, beta)
    large = below > -LOG_2
    above = beta_neg_binomial_log_above(select(large, 1.0, 0.0), k, r, alpha, beta)
    return select(large, log1m_exp(select(large, above, -1.0)), below)


@formula(whole=["k"], points=[(3.0, 2.4, 0.7, 1.3)])
def beta_neg_binomial_log_ccdf(k, r, alpha, beta):
    """The logarithm of the sum from k + 1 on; if that exceeds 1/2, of 1 minus the sum of the others."""
    below = beta_neg_binomial_log_part(0.0, k, r, alpha, beta)
    small = below < -LOG_2
    above = beta_neg_binomial_log_above(select(small, 0.0, 1.0), k, r, alpha, beta)
    return select(small, log1m_exp(select(small, below, -1.0)), above)


def _beta_neg_binomial(i, j, k, m, upper, n, r, b, s, a):
    """The logarithm of the sum for orders of 0, otherwise the derivative of the sum over the sum."""
    if not (0.0 < r < math.inf and 0.0 < b < math.inf and 0.0 < s < math.inf and 0.0 < a < math.inf and n >= 0.0):
        return math.nan
    last = n
    if upper > 0.5:
        last = max(n + 1.0, 40.0, 2.0 * abs(1.0 - r) * abs(1.0 - b) / (1.0 + a), 2.0 * max(r, b))
    if not last < 0.2 * MOST_TERMS:
        return math.nan
    of_r, of_b, of_s, of_a = _polynomial(i), _polynomial(j), _polynomial(k), _polynomial(m)
    logarithm = 0.0  # logarithm of the size of the terms
    term, total, found = 1.0, 0.0, 0.0
    for at in range(int(last) + 1):
        if upper < 0.5 or at > n:
            total += term
            if m == 0:
                found += term * of_r[i] * of_b[j] * of_s[k]
        term *= (r + at) / (s + at) * ((b + at) / (at + 1.0))
        _multiply(of_r, r + at)
        _multiply(of_b, b + at)
        _divide(of_s, s + at)
        if total == 0.0 or term > 1e200:
            logarithm += math.log(term)
            total, found, term = total / term, found / term, 1.0
    if upper > 0.5:
        count = math.floor(last)  # the term at count + 1
        term *= (count + s) / a
        _multiply(of_s, count + s)
        _divide(of_a, a)
        for q in range(400):
            total += term * of_r[0] * of_b[0]
            found += term * of_r[i] * of_b[j] * of_s[k] * of_a[m]
            if abs(term) <= 1e-18 * abs(total) and q > 3:
                break
            term *= 1.0 / ((count + 2.0 + q) * (1.0 + a + q))
            term *= _multiply_by(of_r, 1.0 - r + q) * _multiply_by(of_b, 1.0 - b + q)
            _divide(of_a, 1.0 + a + q)
    if i + j + k + m == 0:
        return logarithm + math.log(total)
    for order in (i, j, k, m):
        for q in range(order):
            found *= q + 1.0
    return found / total


def _multiply_by(series, x):
    """Multiply a polynomial in e by (x - e) / s, and return s: x if it is large enough, otherwise 1."""
    size = x if abs(x) > 0.1 else 1.0
    for q in range(len(series) - 1, -1, -1):
        series[q] = (x * series[q] - (series[q - 1] if q else 0.0)) / size
    return size
