"""Distribution functions of counts whose probability is drawn: sums over the support, relative to the largest term.

The derivatives by the parameters are those of each mass, a polynomial in their changes, over the sum: so that they keep
their digits in both tails, and are closed under differentiation.
"""

import math

from contad.distributions.formula import unlisted_rule
from contad.ops.beta_functions import betaln
from contad.ops.rounding import rint

MOST_TERMS = 1000000


# ---- beta binomial ---------------------------------------------------------------------------------------------------
@unlisted_rule(points=[(0.0, 3.0, 7.0, 2.3, 1.7), (2.0, 4.0, 4.0, 0.4, 0.9)])
def beta_binomial_log_sum(low, high, N, a, b):
    """log of the sum of beta binomial masses at k = low, ..., high."""
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

    A mass is C(N, k) (a)_k (b)_(N - k) / (a + b)_N, of which (a)_k changes by a polynomial in the change of a.
    """
    if not (0.0 < a < math.inf and 0.0 < b < math.inf and 0.0 <= low <= high <= N < MOST_TERMS):
        return math.nan
    first = _polynomial(n)
    for i in range(int(low)):
        _multiply(first, a + i)
    second = _polynomial(m)
    for i in range(int(N - low)):
        _multiply(second, b + i)
    both = _polynomial(n + m)  # of 1 / (a + b)_N, in the sum of both changes
    for i in range(int(N)):
        _divide(both, a + b + i)
    # terms relative to the first one, whose size is kept apart
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
        term *= (N - k) / (k + 1.0) * ((a + k) / (b + N - k - 1.0))
        _multiply(first, a + k)
        _divide(second, b + N - k - 1.0)
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
