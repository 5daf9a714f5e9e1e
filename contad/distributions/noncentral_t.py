"""The noncentral t distribution of (Z + delta) / sqrt(V / nu), with normal Z and chi-squared V.

With S = sqrt(V), which has a chi distribution, and y = x / sqrt(nu), the distribution function is the mean of Phi(y S -
delta), and the density is that of S phi(y S - delta). Both are integrals of positive terms, so neither tail cancels.
They are taken over the logarithm of S by the trapezoidal rule, which converges exponentially. The derivatives are
cumulants of S and log S under the integrand, which are closed under differentiation.
"""

import math

from contad.distributions.formula import LOG_2, LOG_PI, LOG_SQRT_TWO_PI, formula, unlisted_rule, where
from contad.ops.arithmetic import absolute
from contad.ops.beta_functions import betaln, stirling_series
from contad.ops.elementary import hypot, sqrt
from contad.ops.error_functions import erfcx, log_ndtr
from contad.ops.exponential import exp, log, log1p
from contad.ops.gamma_functions import polygamma, polygamma_difference
from contad.ops.incomplete_gamma import _excess, log_less_digamma
from contad.ops.logic import select
from contad.ops.logistic import log1m_exp
from contad.ops.rounding import rint

LEAST_SHAPE = 0.01  # below it the integrals are too long
MOST_CENTRE = 1000.0  # above it their steps are too short
NEGLIGIBLE = 1e-19  # of a term compared with the sum


# ---- the moments of a chi number -------------------------------------------------------------------------------------
@unlisted_rule(points=[(0.0, 0.0, 2.3, 0.7), (1.0, 0.0, 1.3, -2.6), (0.0, 1.0, 4.1, 1.2), (1.0, 1.0, 0.7, -0.4)])
def chi_cumulant(n, m, a, w):
    """The derivative, of order n in w and m in a, of log E(exp(w S)), where S has a chi distribution with a degrees of
    freedom."""
    if not (LEAST_SHAPE <= a < math.inf and abs(w) < math.inf and -0.5 <= n <= 8.5 and -0.5 <= m <= 8.5):
        return math.nan
    n, m = round(n), round(m)
    half = math.asinh(0.5 * w / math.sqrt(a))
    mode = math.sqrt(a) * math.exp(half)  # of s^a exp(w s - s^2 / 2)
    step = min(0.1, 0.5 / math.hypot(math.sqrt(a), mode))
    sums = [0.0] * ((n + 1) * (m + 1))
    for direction in (1.0, -1.0):
        k = 0 if direction > 0.0 else 1
        while True:
            t = direction * step * k  # the logarithm of s relative to the mode
            d = math.expm1(t)
            weight = math.exp(w * mode * _excess(t) - 0.5 * mode * mode * _excess(2.0 * t))
            for i in range(n + 1):
                for j in range(m + 1):
                    sums[i * (m + 1) + j] += weight * d**i * t**j
            if weight * (1.0 + abs(d)) ** n * (1.0 + abs(t)) ** m <= NEGLIGIBLE * sums[0]:
                break
            k += 1
    if n + m == 0:
        return a * half + 0.5 * w * mode + _log_chi_peak(a) + math.log(step * sums[0])
    found = mode**n * _joint_cumulant(n, m, sums)
    if n == 0:
        return found + (half if m == 1 else 0.0) - _log_chi_cumulant(m, a)
    return found + mode if n == 1 and m == 0 else found


@chi_cumulant.partials
def chi_cumulant_partials(z, n, m, a, w):
    i = rint(n)
    j = rint(m)
    return 0.0, 0.0, chi_cumulant(i, j + 1.0, a, w), chi_cumulant(i + 1.0, j, a, w)


def _log_chi_peak(a):
    """log of s^a exp(-s^2 / 2) at s = sqrt(a), over its integral in log s."""
    if a < 20.0:
        return 0.5 * a * (math.log(a) - 1.0) - (0.5 * a - 1.0) * LOG_2 - math.lgamma(0.5 * a)
    return 0.5 * (math.log(a) - LOG_PI) - stirling_series(0.5 * a)


def _log_chi_cumulant(m, a):
    """The m-th cumulant of log(S / sqrt(a))."""
    if m == 1:
        return -0.5 * log_less_digamma(0.5 * a, 0.5 * a)
    return polygamma.function(m - 1.0, 0.5 * a) / 2.0**m


def _joint_cumulant(n, m, sums):
    """The cumulant of order n and m, from the sums of the moments up to it, by recurrence.

    With one factor singled out, a moment is the sum over the subsets of the others that share a cumulant with it.
    """
    cumulants = [0.0] * len(sums)
    for i in range(n + 1):
        for j in range(m + 1):
            if i + j == 0:
                continue
            total = sums[i * (m + 1) + j] / sums[0]
            for p in range(i + 1):
                for q in range(j + 1):
                    if p + q == i + j or (p == 0 if i else q == 0):
                        continue
                    ways = _choose(i - 1, p - 1) * _choose(j, q) if i else _choose(j - 1, q - 1)
                    rest = sums[(i - p) * (m + 1) + j - q] / sums[0]
                    total -= ways * cumulants[p * (m + 1) + q] * rest
            cumulants[i * (m + 1) + j] = total
    return cumulants[n * (m + 1) + m]


def _choose(n, k):
    ways = 1.0
    for q in range(k):
        ways *= (n - q) / (q + 1.0)
    return ways


# ---- the density -----------------------------------------------------------------------------------------------------
@formula(points=[(0.7,), (-2.6,), (1e3,)])
def half_log_of_square(y):
    """log(1 + y^2) / 2."""
    near = absolute(y) < 1.0
    s = select(near, y, 0.0)
    return select(near, 0.5 * log1p(s * s), log(hypot(1.0, select(near, 1.0, y))))


@formula(points=[(0.7, 2.3, 0.4), (-2.6, 1.3, 1.2)])
def log_mean_slope(y, nu, delta):
    """log of the mean of S phi(y S - delta)."""
    mean = chi_cumulant(0.0, 0.0, nu + 1.0, delta * (y / hypot(1.0, y)))
    return mean - 0.5 * delta * delta - (nu + 1.0) * half_log_of_square(y) - betaln(0.5, 0.5 * nu)


@formula(points=[(0.7, 2.3, 0.4), (-2.6, 1.3, 1.2)])
def log_mean_normal(y, nu, delta):
    """log of the mean of phi(y S - delta)."""
    mean = chi_cumulant(0.0, 0.0, nu, delta * (y / hypot(1.0, y)))
    return mean - 0.5 * delta * delta - nu * half_log_of_square(y) - LOG_SQRT_TWO_PI


@formula(
    where("nu sigma", "delta == delta", "y == _inf or y == -_inf"),
    points=[(0.7, 3.2, 0.6, -0.3, 1.4), (-3.1, 0.7, -1.2, 0.4, 0.6)],
)
def noncentral_t_log_density(y, nu, delta, mu, sigma):
    """log E(S phi(r S / sqrt(nu) - delta)) - log(nu) / 2 - log sigma, with r = (y - mu) / sigma and S chi-distributed.

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 31.
    """
    return log_mean_slope((y - mu) / sigma / sqrt(nu), nu, delta) - 0.5 * log(nu) - log(sigma)


# ---- the distribution function ---------------------------------------------------------------------------------------
@unlisted_rule(points=[(0.7, 2.3, 0.4), (-2.6, 1.3, 1.2), (0.3, 31.0, -0.7)])
def log_mean_below(y, nu, delta):
    """log of the mean of Phi(y S - delta)."""
    return _mean_below(0, y, nu, delta)


@log_mean_below.partials
def log_mean_below_partials(z, y, nu, delta):
    return (
        exp(log_mean_slope(y, nu, delta) - z),
        cumulant_below(1.0, y, nu, delta),
        -exp(log_mean_normal(y, nu, delta) - z),
    )


@unlisted_rule(points=[(1.0, 0.7, 2.3, 0.4), (2.0, -2.6, 1.3, 1.2)])
def cumulant_below(n, y, nu, delta):
    """The n-th derivative in nu of log_mean_below; n = 1, 2, ..."""
    return _mean_below(round(n), y, nu, delta) if 0.5 <= n <= 8.5 else math.nan


@cumulant_below.partials
def cumulant_below_partials(z, n, y, nu, delta):
    # the n-th derivative in nu of the exponentials in `log_mean_below_partials`, for n = 1 and 2
    order = rint(n)
    value = log_mean_below(y, nu, delta)
    first = cumulant_below(1.0, y, nu, delta)
    w = delta * (y / hypot(1.0, y))
    lost = half_log_of_square(y)
    by_y = exp(log_mean_slope(y, nu, delta) - value)
    by_delta = -exp(log_mean_normal(y, nu, delta) - value)
    growth = 0.5 * polygamma_difference(0.0, 0.5 * nu, 0.5)
    p = chi_cumulant(0.0, 1.0, nu + 1.0, w) - lost + growth - first
    q = chi_cumulant(0.0, 1.0, nu, w) - lost - first
    p_grows = chi_cumulant(0.0, 2.0, nu + 1.0, w) + 0.25 * polygamma_difference(1.0, 0.5 * nu, 0.5) - z
    q_grows = chi_cumulant(0.0, 2.0, nu, w) - z
    known = select(order < 2.5, 1.0, math.nan)
    return (
        0.0,
        known * by_y * select(order == 1.0, p, p_grows + p * p),
        cumulant_below(order + 1.0, y, nu, delta),
        known * by_delta * select(order == 1.0, q, q_grows + q * q),
    )


@formula(points=[(0.7, 2.3, 0.4), (-2.6, 1.3, 1.2)])
def noncentral_t_log_cdf(r, nu, delta):
    """The logarithm of the mean; if that exceeds 1/2, of 1 minus the mean of the complement."""
    y = r / sqrt(nu)
    above = log_mean_below(-y, nu, -delta)
    small = above < -LOG_2
    return select(small, log1m_exp(select(small, above, -1.0)), log_mean_below(y, nu, delta))


def _mean_below(n, y, nu, delta):
    """The logarithm of the mean, or its n-th derivative in nu: a cumulant of log S under the integrand."""
    if not (LEAST_SHAPE <= nu < math.inf and abs(delta) <= MOST_CENTRE and abs(y) < math.inf):
        return math.nan
    at, bend = _mode(y, nu, delta)
    mode = math.sqrt(nu) * math.exp(at)
    z = y * mode - delta
    top = log_ndtr.function(z)
    step = min(0.1, 0.5 / math.sqrt(max(bend, 2.0 * nu)), 0.6 / (1.0 + abs(delta)))
    square = mode * mode
    sums = [0.0] * (n + 1)
    for direction in (1.0, -1.0):
        k = 0 if direction > 0.0 else 1
        while True:
            t = direction * step * k
            d = math.expm1(t)
            # the first-order terms are those of the normal logarithm
            exponent = (nu - square) * t - 0.5 * square * _excess(2.0 * t) + log_ndtr.function(z + y * mode * d) - top
            weight = math.exp(exponent)
            for i in range(n + 1):
                sums[i] += weight * t**i
            if weight * (1.0 + abs(t)) ** n <= NEGLIGIBLE * sums[0]:
                break
            k += 1
    if n == 0:
        return top - 0.5 * nu * _excess(2.0 * at) + _log_chi_peak(nu) + math.log(step * sums[0])
    return _joint_cumulant(0, n, sums) + (at if n == 1 else 0.0) - _log_chi_cumulant(n, nu)


def _mode(y, nu, delta):
    """(log(s / sqrt(nu)) where s^nu exp(-s^2 / 2) Phi(y s - delta) is largest, minus its second derivative there)."""
    root = math.sqrt(nu)
    low, high = -math.inf, math.inf
    at = 0.0
    if y < 0.0:
        at = min(0.0, math.log((1.0 + abs(delta)) / -y) - math.log(root)) if y < -1e-300 else 0.0
    bend = 2.0 * nu
    for _ in range(200):
        s = root * math.exp(at)
        z = y * s - delta
        if z < 0.0:
            ratio = 0.7978845608028654 / erfcx.function(-0.7071067811865476 * z)
        else:
            ratio = 0.3989422804014327 * math.exp(-0.5 * z * z - log_ndtr.function(z))
        pull = y * s * ratio
        lean = ratio * (z + ratio) if z > -1e5 else 1.0
        slope = nu - s * s + pull
        bend = 2.0 * s * s - pull + y * s * (y * s * lean)
        if slope > 0.0:
            low = at
        else:
            high = at
        move = slope / bend if bend > 0.0 else math.copysign(1.0, slope)
        move = max(-2.0, min(2.0, move))
        following = at + move
        if not low < following < high:
            following = 0.5 * (low + high) if low > -math.inf and high < math.inf else at + math.copysign(1.0, slope)
        if abs(following - at) < 1e-3 / math.sqrt(max(bend, nu)):
            return following, bend
        at = following
    return at, bend
