"""Distributions of whole numbers, with Stan's parameters; the value is -inf at impossible numbers.

Probabilities of large counts are written with divergences, `kl_div`, and with the remainder of Stirling's formula for a
factorial, in which large terms have already cancelled.
"""

import math

import numpy as np

from contad.distributions.formula import formula, unlisted_rule, where
from contad.ops.beta_functions import betaln
from contad.ops.entropies import kl_div, xlog1py, xlogy
from contad.ops.exponential import exp, log, log1p
from contad.ops.gamma_functions import polygamma_difference
from contad.ops.logic import select
from contad.ops.logistic import log1p_exp, log_expit
from contad.ops.rounding import floor
from contad.ops.zeta_functions import zeta
from contad.rules.vectorised import by_element

NOT_POSITIVE = "n < 1.0 or n == _inf or n != floor(n)"
NOT_DRAWN = "n < 0.0 or n > a or n > N or N - n > b or n != floor(n)"
NOT_A_COUNT = "n < 0.0 or n == _inf or n != floor(n)"


# log n! - n log n + n for n = 0, ..., 15
EXCESSES = (
    0.0, 1.0, 1.3068528194400546, 1.4959226032237258, 1.6328763858683832, 1.7403021806115442, 1.828694396641771,
    1.9037903176782212, 1.9690705693065629, 2.0268062840554952, 2.0785616431350586, 2.12545984509181,
    2.168334698205882, 2.207822206123445, 2.244418568125061, 2.2785183673077407,
)  # fmt: skip


def stirling_series(n):
    """log n! - (n + 1/2) log n + n - log(2 pi) / 2, for n from 16 on: DLMF 5.11.1."""
    r = 1.0 / n
    s = r * r
    return (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) * r


def _excess_of_arrays(n):
    few = (n >= 0.0) & (n < 16.0)
    many = np.maximum(n, 16.0)
    far = 0.5 * np.log(6.283185307179586 * many) + stirling_series(many)
    near = np.take(EXCESSES, np.where(few, n, 0.0).astype(np.int64))
    return np.where(n < 0.0, np.nan, np.where(few, near, far))


@unlisted_rule(points=[(3.0,), (40.0,)], array=_excess_of_arrays)
def log_factorial_excess(n):
    """log n! - n log n + n, of whole numbers n."""
    if n < 0.0:
        return math.nan
    if n < 16.0:
        return EXCESSES[int(n)]
    return 0.5 * math.log(6.283185307179586 * n) + stirling_series(n)


@log_factorial_excess.partials
def log_factorial_excess_partials(z, n):
    return 0.0


FEW = 16  # counts up to which a product of quotients is accurate


def _rising_ratio_of_arrays(n, a):
    n, a = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(a, dtype=np.float64))
    few = (n >= 0.0) & (n <= FEW) & (n == np.floor(n)) & (a > 0.0) & (a < 1e15)
    count, base = np.where(few, n, 0.0), np.where(few, a, 1.0)
    product = np.ones(n.shape)
    for k in range(int(np.max(count, initial=0.0))):
        product *= np.where(k < count, (base + k) / (k + 1.0), 1.0)
    found = np.array(np.log(product))
    found[~few] = by_element(log_rising_ratio.function, 2)(n[~few], a[~few])
    return found


@unlisted_rule(points=[(3.0, 2.4), (40.0, 1.3)], array=_rising_ratio_of_arrays)
def log_rising_ratio(n, a):
    """log Gamma(n + a) - log Gamma(a) - log n!, of whole numbers n: the logarithm of a (a + 1) ... (a + n - 1) / n!."""
    if 0.0 <= n <= FEW and n == math.floor(n) and 0.0 < a < 1e15:
        product = 1.0
        k = 0.0
        while k < n:
            product *= (a + k) / (k + 1.0)
            k += 1.0
        return math.log(product)
    return -betaln.function(a, n + 1.0) - math.log(n + a) if n + a > 0.0 else math.nan


@log_rising_ratio.partials
def log_rising_ratio_partials(z, n, a):
    return 0.0, harmonic_sum(n, a)


def _harmonic_sum_of_arrays(n, a):
    n, a = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(a, dtype=np.float64))
    few = (n >= 0.0) & (n <= 4.0 * FEW) & (n == np.floor(n)) & (a > 0.0)
    count, base = np.where(few, n, 0.0), np.where(few, a, 1.0)
    found = np.zeros(n.shape)
    for k in range(int(np.max(count, initial=0.0))):
        found += np.where(k < count, 1.0 / (base + k), 0.0)
    found[~few] = by_element(polygamma_difference.function, 3)(0.0, a[~few], n[~few])
    return found


@unlisted_rule(points=[(3.0, 2.4), (90.0, 1.3)], array=_harmonic_sum_of_arrays)
def harmonic_sum(n, a):
    """psi(n + a) - psi(a), of whole numbers n: the sum of 1 / (a + k), k = 0, ..., n - 1."""
    if 0.0 <= n <= 4.0 * FEW and n == math.floor(n) and a > 0.0:
        total = 0.0
        k = 0.0
        while k < n:
            total += 1.0 / (a + k)
            k += 1.0
        return total
    return polygamma_difference.function(0.0, a, n)


@harmonic_sum.partials
def harmonic_sum_partials(z, n, a):
    return 0.0, polygamma_difference(1.0, a, n)


@unlisted_rule(points=[(3.0, 2.4), (90.0, 1.3), (1e6, 1e-5)])
def log_rising_growth(n, a):
    """log((1 + a) (1 + a / 2) ... (1 + a / n)), of whole numbers n >= 0."""
    if not (0.0 <= n < math.inf and n == math.floor(n) and 0.0 < a < math.inf):
        return math.nan
    total = 0.0
    if n <= 4.0 * FEW:
        k = 1.0
        while k <= n:
            total += math.log1p(a / k)
            k += 1.0
        return total
    if a > 1e-3:
        return -betaln.function(n, a + 1.0) - math.log(n)
    factor = 1.0
    for m in range(1, 7):  # by Taylor's series of log Gamma(n + 1 + a) - log Gamma(1 + a)
        factor *= a / m
        total += factor * polygamma_difference.function(m - 1.0, 1.0, n)
    return total


@log_rising_growth.partials
def log_rising_growth_partials(z, n, a):
    return 0.0, harmonic_sum(n, 1.0 + a)


@formula(whole=["n"], points=[(3.0, 2.4), (0.0, 1.3)])
def divergence(n, m):
    """n log(n / m) - n + m, and m for n = 0."""
    none = n == 0.0
    return select(none, m, kl_div(select(none, 1.0, n), select(none, 1.0, m)))


SHIFTS = (0.0, -1.0, -0.3068528194400547, 0.09861228866810968, 0.38629436111989063)  # log n - 1; any number for n = 0


def _log_divergence_of_arrays(n, alpha):
    with np.errstate(all="ignore"):
        m = np.exp(alpha)
        few = (n >= 0.0) & (n < 5.0) & (np.abs(alpha) < 700.0)
        near = m - n * (alpha - np.take(SHIFTS, np.where(few, n, 0.0).astype(np.int64)))
        rest = np.where(m == np.inf, m, kl_div.array_value(np.where(few, 1.0, n), np.where(few, 1.0, m)))
        return np.where(few, near, rest)


@unlisted_rule(points=[(3.0, 0.4), (9.0, 2.1)], array=_log_divergence_of_arrays)
def log_divergence(n, alpha):
    """n log n - n alpha - n + e^alpha, of whole numbers n: the divergence of n and e^alpha.

    For small n, cancellation is small compared with log_factorial_excess(n).
    """
    m = math.inf if alpha > 709.7 else math.exp(alpha)
    if 0.0 <= n < 5.0 and abs(alpha) < 700.0:
        shift = SHIFTS[3] if n < 4.0 else SHIFTS[4]  # chained selections, which compile without branches
        shift = SHIFTS[2] if n < 3.0 else shift
        shift = SHIFTS[1] if n < 2.0 else shift
        return m - n * (alpha - (SHIFTS[0] if n < 1.0 else shift))
    return m if n == 0.0 or m == math.inf else kl_div.function(n, m)


@log_divergence.partials
def log_divergence_partials(z, n, alpha):
    return 0.0, exp(alpha) - n


LOG_FACTORIALS = tuple(math.log(math.factorial(n)) for n in range(FEW + 1))


@unlisted_rule(points=[(3.0, 7.0)])
def log_few_choices(n, N):
    """log (N over n), of whole numbers 0 <= n <= N <= FEW, exactly 0 if there is one choice."""
    return LOG_FACTORIALS[int(N)] - LOG_FACTORIALS[int(n)] - LOG_FACTORIALS[int(N - n)]


@log_few_choices.partials
def log_few_choices_partials(z, n, N):
    return 0.0, 0.0


def _choices_excess_of_arrays(n, N):
    return _excess_of_arrays(N) - _excess_of_arrays(n) - _excess_of_arrays(N - n)


@unlisted_rule(points=[(3.0, 7.0), (0.0, 4.0), (40.0, 90.0)], array=_choices_excess_of_arrays)
def choices_excess(n, N):
    """log (N over n) without the divergence, its large part."""
    m = N - n
    if n < 16.0 or m < 16.0:
        excess = log_factorial_excess.function
        return excess(N) - excess(n) - excess(m)
    series = stirling_series(N) - stirling_series(n) - stirling_series(m)
    return 0.5 * math.log(N / (6.283185307179586 * n * m)) + series  # with one logarithm


@choices_excess.partials
def choices_excess_partials(z, n, N):
    return 0.0, 0.0


@formula(whole=["n", "N"], points=[(3.0, 7.0), (0.0, 4.0)])
def log_choices(n, N):
    """log (N over n), exactly 0 if there is one choice."""
    total = select(N == 0.0, 1.0, N)
    return choices_excess(n, N) - xlogy(n, n / total) - xlogy(N - n, (N - n) / total)


@formula(where(valid="0.0 <= theta and theta <= 1.0", outside="n != 0.0 and n != 1.0"), ["n"], [(1.0, 0.3), (0.0, 0.4)])
def bernoulli_log_mass(n, theta):
    """log theta for n = 1, log(1 - theta) for n = 0.

    Ref: Johnson, Kemp & Kotz (2005), chapter 3.
    """
    one = n == 1.0
    return select(one, log(select(one, theta, 1.0)), log1p(-select(one, 0.0, theta)))


bernoulli_log_mass.branch(*["np.log(theta) if n == 1.0 else np.log1p(-theta)"] * 2)
bernoulli_log_mass.loop("_log = np.log(theta)", "_rest = np.log1p(-theta)", "_log if n == 1.0 else _rest")


@formula(where(valid="alpha == alpha", outside="n != 0.0 and n != 1.0"), ["n"], [(1.0, 0.3), (0.0, 0.4)])
def bernoulli_logit_log_mass(n, alpha):
    """-log(1 + e^-alpha) for n = 1, -log(1 + e^alpha) for n = 0.

    Ref: McCullagh & Nelder (1989), section 4.3.
    """
    return log_expit(select(n == 1.0, alpha, -alpha))


OUT_OF = "n < 0.0 or n > N or n != floor(n)"


@formula(
    where(valid="0.0 <= theta and theta <= 1.0 and N >= 0.0 and N == floor(N)", outside=OUT_OF), ["n", "N"],
    [(3.0, 7.0, 0.3), (0.0, 4.0, 0.4)],
)  # fmt: skip
def binomial_log_mass(n, N, theta):
    """log (N over n) + n log theta + (N - n) log(1 - theta).

    Ref: Johnson, Kemp & Kotz (2005), chapter 3.
    """
    return choices_excess(n, N) - divergence(n, N * theta) - divergence(N - n, N * (1.0 - theta))


@binomial_log_mass.constant_free
def binomial_log_mass_of_theta(n, N, theta):
    """Without log (N over n)."""
    return xlogy(n, theta) + xlog1py(N - n, -theta)


_OF_THETA = "(n * np.log(theta) if n > 0.0 else 0.0) + ((N - n) * np.log1p(-theta) if n < N else 0.0)"
binomial_log_mass.branch(  # divergences only where large terms cancel
    f"log_few_choices(n, N) + {_OF_THETA} if N <= {float(FEW)} else rule(n, N, theta)", _OF_THETA,
    log_few_choices=log_few_choices,
)  # fmt: skip


@formula(
    where(valid="alpha == alpha and N >= 0.0 and N == floor(N)", outside=OUT_OF), ["n", "N"],
    [(3.0, 7.0, 0.3), (0.0, 4.0, -0.4)],
)  # fmt: skip
def binomial_logit_log_mass(n, N, alpha):
    """log (N over n) + n log expit(alpha) + (N - n) log expit(-alpha).

    Ref: McCullagh & Nelder (1989), section 4.3.
    """
    is_positive = alpha > 0.0
    k = select(is_positive, n - N, n)
    rest = log1p_exp(select(is_positive, -alpha, alpha))  # all terms have one sign
    return log_choices(n, N) + k * select(k == 0.0, 0.0, alpha) - N * rest


binomial_logit_log_mass.branch(
    f"(log_few_choices(n, N) if N <= {float(FEW)} else log_choices(n, N)) + short(n, N, alpha)", "",
    log_few_choices=log_few_choices, log_choices=log_choices,
)  # fmt: skip


@formula(
    where("alpha beta", "N >= 0.0 and N == floor(N)", OUT_OF), ["n", "N"],
    [(3.0, 7.0, 2.3, 1.7), (0.0, 4.0, 0.4, 0.9)],
)  # fmt: skip
def beta_binomial_log_mass(n, N, alpha, beta):
    """log (N over n) + log B(n + alpha, N - n + beta) - log B(alpha, beta).

    Ref: Johnson, Kemp & Kotz (2005), chapter 6.
    """
    return log_rising_ratio(n, alpha) + log_rising_ratio(N - n, beta) - log_rising_ratio(N, alpha + beta)


@beta_binomial_log_mass.constant_free
def beta_binomial_log_mass_of_shapes(n, N, alpha, beta):
    """Without log (N over n), which is subtracted from a negative number, so the terms do not cancel."""
    ratios = log_rising_ratio(n, alpha) + log_rising_ratio(N - n, beta) - log_rising_ratio(N, alpha + beta)
    mass = ratios - log_choices(n, N)  # one name, because a term without parameters would be dropped
    return mass


@formula(where(valid="rate >= 0.0", outside=f"{NOT_A_COUNT} or rate == _inf"), ["n"], [(3.0, 2.4), (0.0, 1.3)])
def poisson_log_mass(n, rate):
    """n log rate - rate - log n!.

    Ref: Johnson, Kemp & Kotz (2005), chapter 4.
    """
    return -divergence(n, rate) - log_factorial_excess(n)


@poisson_log_mass.constant_free
def poisson_log_mass_of_rate(n, rate):
    """Without log n!."""
    return xlogy(n, rate) - rate


@formula(where(valid="alpha == alpha", outside=NOT_A_COUNT), ["n"], [(3.0, 0.4), (0.0, -1.3)])
def poisson_log_log_mass(n, alpha):
    """n alpha - e^alpha - log n!.

    Ref: McCullagh & Nelder (1989), section 6.2.
    """
    return -log_divergence(n, alpha) - log_factorial_excess(n)


@poisson_log_log_mass.constant_free
def poisson_log_log_mass_of_alpha(n, alpha):
    """Without log n!."""
    none = n == 0.0 or alpha > 1e300  # compared with e^alpha
    return select(none, 0.0, n * select(none, 0.0, alpha)) - exp(alpha)


@formula(where("alpha beta", outside=NOT_A_COUNT), ["n"], [(3.0, 2.4, 0.7), (0.0, 1.3, 2.1)])
def neg_binomial_log_mass(n, alpha, beta):
    """log Gamma(n + alpha) - log n! - log Gamma(alpha) - alpha log(1 + 1 / beta) - n log(1 + beta).

    Ref: Johnson, Kemp & Kotz (2005), chapter 5.
    """
    return log_rising_ratio(n, alpha) - alpha * log1p(1.0 / beta) - n * log1p(beta)


@formula(where("n_", "0.0 < p and p <= 1.0", NOT_A_COUNT), ["n"], [(3.0, 2.4, 0.7), (0.0, 1.3, 0.1)])
def negative_binomial_log_mass(n, n_, p):
    """log Gamma(n + r) - log n! - log Gamma(r) + r log p + n log(1 - p), with r = n_.

    Ref: Johnson, Kemp & Kotz (2005), chapter 5.
    """
    none = n == 0.0
    return log_rising_ratio(n, n_) + n_ * log(p) + select(none, 0.0, n * log1p(-select(none, 0.0, p)))


@formula(where("mu phi", outside=NOT_A_COUNT), ["n"], [(3.0, 2.4, 0.7), (0.0, 1.3, 2.1)])
def neg_binomial_2_log_mass(n, mu, phi):
    """log Gamma(n + phi) - log n! - log Gamma(phi) - phi log(1 + mu / phi) - n log(1 + phi / mu).

    Ref: Cameron & Trivedi (2013), section 3.3.
    """
    return log_rising_ratio(n, phi) - phi * log1p(mu / phi) - n * log1p(phi / mu)


@formula(where("phi", "eta == eta", NOT_A_COUNT), ["n"], [(3.0, 0.4, 0.7), (0.0, -1.3, 2.1)])
def neg_binomial_2_log_log_mass(n, eta, phi):
    """log Gamma(n + phi) - log n! - log Gamma(phi) - phi log(1 + e^eta / phi) - n log(1 + phi e^-eta).

    Ref: Cameron & Trivedi (2013), section 3.3.
    """
    t = eta - log(phi)
    above = t > 0.0
    lost = select(above, phi * t, -n * t)
    return log_rising_ratio(n, phi) - lost - (n + phi) * log1p_exp(select(above, -t, t))


@formula(where("r alpha beta", outside=NOT_A_COUNT), ["n"], [(3.0, 2.4, 0.7, 1.3), (0.0, 1.3, 2.1, 0.4)])
def beta_neg_binomial_log_mass(n, r, alpha, beta):
    """log B(n + r, alpha + beta) - log B(r, alpha) + log Gamma(n + beta) - log n! - log Gamma(beta).

    Ref: Johnson, Kemp & Kotz (2005), chapter 6.
    """
    return log_rising_ratio(n, beta) + betaln(n + r, alpha + beta) - betaln(r, alpha)


@formula(where(valid="0.0 < p and p <= 1.0", outside=NOT_POSITIVE), ["n"], [(3.0, 0.4), (1.0, 0.3)])
def geometric_log_mass(n, p):
    """log p + (n - 1) log(1 - p), for n = 1, 2, ...

    Ref: Johnson, Kemp & Kotz (2005), chapter 5.
    """
    first = n == 1.0
    return log(p) + select(first, 0.0, (n - 1.0) * log1p(-select(first, 0.5, p)))


@formula(where(valid="a > 1.0", outside=NOT_POSITIVE), ["n"], [(3.0, 2.4), (1.0, 1.3)])
def zipf_log_mass(n, a):
    """-a log n - log zeta(a), for n = 1, 2, ...

    Ref: Johnson, Kemp & Kotz (2005), chapter 11.
    """
    return -a * log(n) - log1p(zeta(a, 2.0))


@formula(where("alpha", outside=NOT_POSITIVE), ["n"], [(3.0, 2.4), (1.0, 1.3)])
def yule_simon_log_mass(n, alpha):
    """log alpha + log B(n, alpha + 1), for n = 1, 2, ...

    Ref: Simon (1955).
    """
    far = alpha > n
    first = select(far, -log1p(n / select(far, alpha, n)), log(alpha) - log(n) - log1p(select(far, n, alpha) / n))
    return first - log_rising_growth(n - 1.0, alpha)


@formula(
    where(valid="N >= 0.0 and a >= 0.0 and b >= 0.0 and N <= a + b", outside=NOT_DRAWN),
    ["n", "N", "a", "b"], [(2.0, 4.0, 5.0, 6.0)],
)  # fmt: skip
def hypergeometric_log_mass(n, N, a, b):
    """log (a over n) + log (b over N - n) - log (a + b over N).

    A product of binomial masses, over one of both kinds, of any probability; of N / (a + b) no large terms are left.

    Ref: Johnson, Kemp & Kotz (2005), chapter 6.
    """
    total = a + b
    theta = N / select(total == 0.0, 1.0, total)
    rest = (total - N) / select(total == 0.0, 1.0, total)
    excess = choices_excess(n, a) + choices_excess(N - n, b) - choices_excess(N, total)
    lost = divergence(n, a * theta) + divergence(a - n, a * rest) + divergence(N - n, b * theta)
    return excess - lost - divergence(b - (N - n), b * rest)


@unlisted_rule(points=[(2.0, 4.0, 5.0, 6.0)])
def log_hypergeometric_cdf(n, N, a, b):
    """The logarithm of the sum of the masses up to n; if that exceeds 1/2, of 1 minus the sum of the others."""
    return _hypergeometric_log_part(n, N, a, b)


@log_hypergeometric_cdf.partials
def hypergeometric_log_cdf_partials(z, n, N, a, b):
    return 0.0, 0.0, 0.0, 0.0


@unlisted_rule(points=[(2.0, 4.0, 5.0, 6.0)])
def log_hypergeometric_ccdf(n, N, a, b):
    """The logarithm of the sum of the masses from n + 1 on: at most N - n - 1 of the other kind."""
    return _hypergeometric_log_part(N - n - 1.0, N, b, a)


@log_hypergeometric_ccdf.partials
def hypergeometric_log_ccdf_partials(z, n, N, a, b):
    return 0.0, 0.0, 0.0, 0.0


def _hypergeometric_log_part(n, N, a, b):
    if not (N >= 0.0 and a >= 0.0 and b >= 0.0 and a + b >= N):
        return math.nan
    first, last = max(0.0, N - b), min(a, N)
    if n < first or n >= last:
        return -math.inf if n < first else 0.0
    middle = (N + 1.0) * (a + 1.0) / (a + b + 2.0)
    if n < middle:
        return _hypergeometric_tail(n, N, a, b)
    return math.log1p(-math.exp(_hypergeometric_tail(N - n - 1.0, N, b, a)))


def _hypergeometric_tail(n, N, a, b):
    """The logarithm of the sum of the masses up to n, from n downward, where they decrease."""
    total, term, k = 1.0, 1.0, n
    while k > 0.0 and term > 1e-18 * total:
        term *= k * (b - N + k) / ((a - k + 1.0) * (N - k + 1.0))
        total += term
        k -= 1.0
    return hypergeometric_log_mass.function(n, N, a, b) + math.log(total)


@formula(
    where(valid="lower <= upper", outside="n < lower or n > upper or n != floor(n)"), ["n", "lower", "upper"],
    [(3.0, 1.0, 7.0), (-2.0, -4.0, 4.0)],
)  # fmt: skip
def discrete_range_log_mass(n, lower, upper):
    """-log(upper - lower + 1), of whole numbers, by which nothing is differentiated.

    Ref: Johnson, Kemp & Kotz (2005), chapter 6.
    """
    return -log(floor(upper) - floor(lower) + 1.0)
