"""SciPy's distribution functions and their inverses, written with incomplete gamma and beta functions.

Counts are truncated to whole numbers, as in SciPy, and carry no derivative. Counts that SciPy takes as C integers give
nan from 2^31 on. Outside the domain the value and its derivatives are nan, through a factor that is 1 inside and nan
outside. The remarks on the accuracy of `betainc` and `gammainc` apply here too.
"""

import math

import numpy as np

from contad.ops._scipy import special
from contad.ops.arithmetic import absolute
from contad.ops.beta_functions import betaln
from contad.ops.elementary import sqrt
from contad.ops.error_functions import ndtr
from contad.ops.exponential import exp, log, log1p
from contad.ops.incomplete_beta import betainc, betaincc, betainccinv, betaincinv
from contad.ops.incomplete_gamma import gammainc, gammaincc, gammainccinv, gammaincinv
from contad.ops.logic import holds, select, stop_gradient
from contad.ops.rounding import floor, trunc
from contad.rules.numpy_functions import stands_for
from contad.variables.array import numbers_in
from contad.variables.number import observe

INF, NAN = math.inf, math.nan
COUNT_END = 2147483648.0  # the end of C's int
NORMAL = 1e12  # degrees of freedom from which Student's t distribution is the normal one to 12 digits


@stands_for("bdtr")
def bdtr(k, n, p):
    """The probability of at most k successes of n with probability p.

        z = betaincc(k + 1, n - k, p)

    Domain:  0 <= k <= n, 0 <= p <= 1; k is rounded down and n is cut to a whole number.
    Ref:     DLMF 8.17.5.

    >>> round(bdtr(2, 5, 0.3), 12)
    0.83692
    """
    m = floor(k)
    whole = trunc(n)
    full = select(m == whole, 1.0, 0.0)  # every number of successes counts
    valid = select(m < 0.0, NAN, select(whole < m, NAN, select(whole < COUNT_END, 1.0, NAN)))
    z = betaincc(m + 1.0, whole - m + full, p)
    return (full + (1.0 - full) * z) * valid


@stands_for("bdtrc")
def bdtrc(k, n, p):
    """The probability of more than k successes of n with probability p.

        z = betainc(k + 1, n - k, p)

    Domain:  k <= n, 0 <= p <= 1; k is rounded down and n is cut to a whole number; z = 1 for k < 0.
    Ref:     DLMF 8.17.5.

    >>> round(bdtrc(2, 5, 0.3), 12)
    0.16308
    """
    m = floor(k)
    whole = trunc(n)
    below = select(m < 0.0, 1.0, 0.0)  # every number of successes counts
    full = select(m == whole, 1.0, 0.0)
    valid = select(whole < m, NAN, select(whole < COUNT_END, 1.0, NAN))
    z = betainc(select(m < 0.0, 1.0, m + 1.0), select(m < 0.0, 1.0, whole - m + full), p)
    return (below + (1.0 - below) * (1.0 - full) * z) * valid


@stands_for("bdtri")
def bdtri(k, n, y):
    """The probability of a success with which at most k of n have probability y.

        z = p where bdtr(k, n, p) = y

    Domain:  0 <= k < n, 0 < y < 1; k is rounded down and n is cut to a whole number.
    Ref:     DLMF 8.17.5.

    >>> round(bdtri(2, 5, 0.83692), 12)
    0.3
    """
    m = floor(k)
    whole = trunc(n)
    valid = select(m < 0.0, NAN, select(m < whole, select(whole < COUNT_END, 1.0, NAN), NAN))
    return betainccinv(m + 1.0, whole - m, y) * valid


@stands_for("nbdtr")
def nbdtr(k, n, p):
    """The probability of at most k failures before the n-th success.

        z = betainc(n, k + 1, p)

    Domain:  k >= 0, n >= 1, 0 <= p <= 1; k and n are cut to whole numbers.
    Ref:     DLMF 8.17.24.

    >>> round(nbdtr(2, 3, 0.3), 12)
    0.16308
    """
    m = trunc(k)
    whole = trunc(n)
    few = select(m < COUNT_END, select(whole < COUNT_END, 1.0, NAN), NAN)
    return betainc(whole, m + 1.0, p) * select(m < 0.0, NAN, select(whole > 0.0, few, NAN))


@stands_for("nbdtrc")
def nbdtrc(k, n, p):
    """The probability of more than k failures before the n-th success.

        z = betaincc(n, k + 1, p)

    Domain:  k >= 0, n >= 1, 0 <= p <= 1; k and n are cut to whole numbers.
    Ref:     DLMF 8.17.24.

    >>> round(nbdtrc(2, 3, 0.3), 12)
    0.83692
    """
    m = trunc(k)
    whole = trunc(n)
    few = select(m < COUNT_END, select(whole < COUNT_END, 1.0, NAN), NAN)
    return betaincc(whole, m + 1.0, p) * select(m < 0.0, NAN, select(whole > 0.0, few, NAN))


@stands_for("nbdtri")
def nbdtri(k, n, y):
    """The probability of a success with which at most k failures before the n-th have probability y.

        z = p where nbdtr(k, n, p) = y

    Domain:  k >= 0, n >= 1, 0 < y < 1; k and n are cut to whole numbers.
    Ref:     DLMF 8.17.24.

    >>> round(nbdtri(2, 3, 0.16308), 12)
    0.3
    """
    m = trunc(k)
    whole = trunc(n)
    few = select(m < COUNT_END, select(whole < COUNT_END, 1.0, NAN), NAN)
    return betaincinv(whole, m + 1.0, y) * select(m < 0.0, NAN, select(whole > 0.0, few, NAN))


@stands_for("pdtr")
def pdtr(k, m):
    """The probability of at most k events of a Poisson distribution with mean m.

        z = gammaincc(k + 1, m)

    Domain:  k >= 0, m >= 0.
    Ref:     DLMF 8.4.10.

    >>> round(pdtr(2, 1.3), 12)
    0.857112489092
    """
    whole = floor(k)
    return gammaincc(whole + 1.0, m) * select(whole < 0.0, NAN, 1.0)


@stands_for("pdtrc")
def pdtrc(k, m):
    """The probability of more than k events of a Poisson distribution with mean m.

        z = gammainc(k + 1, m)

    Domain:  k >= 0, m >= 0.
    Ref:     DLMF 8.4.10.

    >>> round(pdtrc(2, 1.3), 12)
    0.142887510908
    """
    whole = floor(k)
    return gammainc(whole + 1.0, m) * select(whole < 0.0, NAN, 1.0)


@stands_for("pdtri")
def pdtri(k, y):
    """The mean with which at most k events have probability y.

        z = m where pdtr(k, m) = y

    Domain:  k >= 0, 0 < y < 1; k is cut to a whole number.
    Ref:     DLMF 8.4.10.

    >>> round(pdtri(2, 0.857112489092), 9)
    1.3
    """
    whole = trunc(k)
    valid = select(whole < 0.0, NAN, select(whole < COUNT_END, select(y < 1.0, 1.0, NAN), NAN))
    return gammainccinv(whole + 1.0, y) * valid


@stands_for("chdtr")
def chdtr(v, x):
    """Distribution function of chi square with v degrees of freedom.

        z = gammainc(v / 2, x / 2)

    Domain:  v > 0, x >= 0.
    Ref:     Johnson, Kotz & Balakrishnan (1994), chapter 18.

    >>> round(chdtr(2.0, 2.0), 12)
    0.632120558829
    """
    return gammainc(0.5 * v, 0.5 * x)


@stands_for("chdtrc")
def chdtrc(v, x):
    """Complement of the distribution function of chi square with v degrees of freedom.

        z = gammaincc(v / 2, x / 2)

    Domain:  v > 0, x >= 0.
    Ref:     Johnson, Kotz & Balakrishnan (1994), chapter 18.

    >>> round(chdtrc(2.0, 2.0), 12)
    0.367879441171
    """
    return gammaincc(0.5 * v, 0.5 * x)


@stands_for("chdtri")
def chdtri(v, p):
    """The inverse of chdtrc in x.

        z = x where chdtrc(v, x) = p

    Domain:  v > 0, 0 < p < 1.
    Ref:     Johnson, Kotz & Balakrishnan (1994), chapter 18.

    >>> round(chdtri(2.0, 0.36787944117144233), 12)
    2.0
    """
    return 2.0 * gammainccinv(0.5 * v, p) * select(p < 0.0, NAN, select(p > 1.0, NAN, 1.0))


@stands_for("gdtr")
def gdtr(a, b, x):
    """Distribution function of the gamma distribution with rate a and shape b.

        z = gammainc(b, a x)

    Domain:  a, b > 0, x >= 0.
    Ref:     Johnson, Kotz & Balakrishnan (1994), chapter 17.

    >>> round(gdtr(2.0, 1.0, 0.5), 12)
    0.632120558829
    """
    return gammainc(b, a * x) * select(x < 0.0, NAN, 1.0)


@stands_for("gdtrc")
def gdtrc(a, b, x):
    """Complement of the distribution function of the gamma distribution with rate a and shape b.

        z = gammaincc(b, a x)

    Domain:  a, b > 0, x >= 0.
    Ref:     Johnson, Kotz & Balakrishnan (1994), chapter 17.

    >>> round(gdtrc(2.0, 1.0, 0.5), 12)
    0.367879441171
    """
    return gammaincc(b, a * x) * select(x < 0.0, NAN, 1.0)


@stands_for("gdtrix")
def gdtrix(a, b, p):
    """The inverse of gdtr in x.

        z = x where gdtr(a, b, x) = p

    Domain:  a, b > 0, 0 < p < 1.
    Ref:     Johnson, Kotz & Balakrishnan (1994), chapter 17.

    >>> round(gdtrix(2.0, 1.0, 0.5), 12)
    0.34657359028
    """
    return gammaincinv(b, p) / a * select(a < INF, select(b < INF, 1.0, NAN), NAN)


@stands_for("gdtria")
def gdtria(p, b, x):
    """The inverse of gdtr in a.

        z = a where gdtr(a, b, x) = p

    Domain:  b, x > 0, 0 < p < 1.
    Ref:     Johnson, Kotz & Balakrishnan (1994), chapter 17.

    >>> round(gdtria(0.5, 1.0, 2.0), 12)
    0.34657359028
    """
    return gammaincinv(b, p) / x * select(x == 0.0, NAN, 1.0)


@stands_for("fdtr")
def fdtr(dfn, dfd, x):
    """Distribution function of the F distribution.

        z = betainc(dfn / 2, dfd / 2, dfn x / (dfd + dfn x))

    Domain:  dfn, dfd > 0, x >= 0.
    Ref:     Johnson, Kotz & Balakrishnan (1995), chapter 27.

    >>> round(fdtr(2.0, 4.0, 1.0), 12)
    0.555555555556
    """
    finite = select(dfn < INF, select(dfd < INF, 1.0, NAN), NAN)
    valid = select(dfn > 0.0, select(dfd > 0.0, select(x < 0.0, NAN, finite), NAN), NAN)
    end = select(x == INF, 1.0, 0.0)
    at = select(x == INF, 1.0, x)
    part = dfn * at / (dfd + dfn * at) * (1.0 - end) + end
    return betainc(0.5 * dfn, 0.5 * dfd, part) * valid


@stands_for("fdtrc")
def fdtrc(dfn, dfd, x):
    """Complement of the distribution function of the F distribution.

        z = betainc(dfd / 2, dfn / 2, dfd / (dfd + dfn x))

    Domain:  dfn, dfd > 0, x >= 0.
    Ref:     Johnson, Kotz & Balakrishnan (1995), chapter 27.

    >>> round(fdtrc(2.0, 4.0, 1.0), 12)
    0.444444444444
    """
    finite = select(dfn < INF, select(dfd < INF, 1.0, NAN), NAN)
    valid = select(dfn > 0.0, select(dfd > 0.0, select(x < 0.0, NAN, finite), NAN), NAN)
    return betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x)) * valid


@stands_for("fdtri")
def fdtri(dfn, dfd, p):
    """The inverse of fdtr in x.

        z = x where fdtr(dfn, dfd, x) = p

    Domain:  dfn, dfd > 0, 0 < p < 1.
    Ref:     Johnson, Kotz & Balakrishnan (1995), chapter 27.

    >>> round(fdtri(2.0, 4.0, 0.5555555555555556), 12)
    1.0
    """
    finite = select(dfn < INF, select(dfd < INF, 1.0, NAN), NAN)
    valid = select(dfn > 0.0, select(dfd > 0.0, finite, NAN), NAN)
    odds = betaincinv(0.5 * dfn, 0.5 * dfd, p) / betainccinv(0.5 * dfd, 0.5 * dfn, p)
    return dfd * odds / dfn * valid


# ---- Student's t -----------------------------------------------------------------------------------------------------
def _t_scale(df):
    """The density at 0."""
    return exp(-0.5 * log(df) - betaln(0.5, 0.5 * df))


@stands_for("stdtr")
def stdtr(df, t):
    """Distribution function of Student's t distribution; `student_t_cdf` in Stan, with location 0 and scale 1.

        z = betainc(df / 2, 1/2, df / (df + t^2)) / 2 for t < 0, and one minus that for t > 0

    Near 0 it is 1/2 plus t times a series in t^2 / df, so it is smooth there. Its derivative in df loses digits as df
    grows, because it is a difference of terms that are df times as large.

    Domain:  df > 0, every t; z = 0 at -inf and 1 at inf.
    Ref:     DLMF 8.17, 15.2.1.

    >>> round(stdtr(4.0, 1.0), 12)
    0.813049516850
    """
    is_normal = holds(lambda t, df: np.greater(df, NORMAL), t, df)
    inside = holds(lambda t, df: np.greater(df, 0.0) & ~np.greater(df, NORMAL), t, df)
    normal, valid = ndtr(t), select(df > 0.0, 1.0, NAN)
    t, df = select(is_normal, 0.0, t), select(inside, df, 1.0)
    r = t * t / df
    is_near = holds(lambda x, df: x * (df + 1.0) < 0.0625, r, df)
    is_far = holds(lambda x: np.greater(x, 1.0), r)
    far, middle = select(is_far, r, 2.0), select(is_far, 1.0, select(is_near, 1.0, r))
    tail = 0.5 * select(
        is_far, betainc(0.5 * df, 0.5, 1.0 / (1.0 + far)), betaincc(0.5, 0.5 * df, middle / (1.0 + middle))
    )
    is_distant = holds(lambda x, t: np.greater(x, 1e30) & np.isfinite(t), r, t)  # the first term suffices
    distant = log(select(is_distant, absolute(t), 1.0)) - 0.5 * log(df)
    first = exp(-df * distant - log(0.5 * df) - betaln(0.5 * df, 0.5))
    tail = select(is_distant, 0.5 * first, tail)
    inside = select(is_near, r, 0.0)
    total = term = 1.0
    for k in range(1, 11):
        term = -term * inside * (0.5 * df + (k - 0.5)) / k
        total = total + term / (2.0 * k + 1.0)
    is_left = holds(lambda t: np.less(t, 0.0), t)
    found = select(is_near, 0.5 + select(is_near, t, 0.0) * _t_scale(df) * total, select(is_left, tail, 1.0 - tail))
    return select(is_normal, normal, found) * valid


@stands_for("stdtrit")
def stdtrit(df, p):
    """The inverse of stdtr in t; `student_t_qf` in Stan, with location 0 and scale 1.

        z = t where stdtr(df, t) = p

    SciPy's value, with derivatives from two Newton steps from there, which are right up to third order.

    Domain:  df > 0, 0 < p < 1.
    Ref:     Johnson, Kotz & Balakrishnan (1995), chapter 28.

    >>> round(stdtrit(4.0, 0.9), 12)
    1.533206274059
    """
    z = observe(lambda df, p: special().stdtrit(df, p), df, p)
    if not numbers_in([df, p]):
        return z if np.ndim(z) else float(z)
    is_normal = holds(lambda df, p: np.greater(df, NORMAL), df, p)
    freedom = select(holds(lambda df, p: np.greater(df, 0.0) & ~np.greater(df, NORMAL), df, p), df, 1.0)
    edge = sqrt(0.0 * p)  # 0, with the derivative nan
    for _ in range(2):
        density = _t_scale(freedom) * exp(-0.5 * (freedom + 1.0) * log1p(z * z / freedom))
        density = select(is_normal, exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi), density)
        is_positive = holds(lambda d, z: np.greater(d, 0.0) & np.isfinite(z), density, z)
        step = (stdtr(df, select(is_positive, z, 0.0)) - p) / select(is_positive, density, 1.0)
        z = z - select(is_positive, step - stop_gradient(step), edge)  # the value stays SciPy's
    return z
