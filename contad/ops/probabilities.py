"""SciPy's distribution functions and their inverses, written with incomplete gamma and beta functions.

Counts k are cut to whole numbers, as SciPy does, and carry no derivative. What is said of the accuracy of `betainc` and
`gammainc` holds for these too.
"""

import numpy as np

from contad.ops._scipy import special
from contad.ops.beta_functions import betaln
from contad.ops.exponential import exp, log, log1p
from contad.ops.incomplete_beta import betainc, betaincc, betainccinv, betaincinv
from contad.ops.incomplete_gamma import gammainc, gammaincc, gammainccinv, gammaincinv
from contad.ops.logic import holds, select
from contad.ops.rounding import floor
from contad.rules.written_ufuncs import stands_for
from contad.variables.array import numbers_in
from contad.variables.number import observe


@stands_for("bdtr")
def bdtr(k, n, p):
    """The probability of at most k successes of n with probability p: betaincc(k + 1, n - k, p).

    >>> round(bdtr(2, 5, 0.3), 12)
    0.83692
    """
    m = floor(k)
    return betaincc(m + 1.0, n - m, p)


@stands_for("bdtrc")
def bdtrc(k, n, p):
    """The probability of more than k successes of n with probability p: betainc(k + 1, n - k, p).

    >>> round(bdtrc(2, 5, 0.3), 12)
    0.16308
    """
    m = floor(k)
    return betainc(m + 1.0, n - m, p)


@stands_for("bdtri")
def bdtri(k, n, y):
    """The p where bdtr(k, n, p) = y.

    >>> round(bdtri(2, 5, 0.83692), 12)
    0.3
    """
    m = floor(k)
    return betainccinv(m + 1.0, n - m, y)


@stands_for("nbdtr")
def nbdtr(k, n, p):
    """The probability of at most k failures before the n-th success: betainc(n, k + 1, p).

    >>> round(nbdtr(2, 3, 0.3), 12)
    0.16308
    """
    return betainc(n, floor(k) + 1.0, p)


@stands_for("nbdtrc")
def nbdtrc(k, n, p):
    """The probability of more than k failures before the n-th success: betaincc(n, k + 1, p).

    >>> round(nbdtrc(2, 3, 0.3), 12)
    0.83692
    """
    return betaincc(n, floor(k) + 1.0, p)


@stands_for("nbdtri")
def nbdtri(k, n, y):
    """The p where nbdtr(k, n, p) = y.

    >>> round(nbdtri(2, 3, 0.16308), 12)
    0.3
    """
    return betaincinv(n, floor(k) + 1.0, y)


@stands_for("pdtr")
def pdtr(k, m):
    """The probability of at most k events of a Poisson distribution with mean m: gammaincc(k + 1, m).

    >>> round(pdtr(2, 1.3), 12)
    0.857112489092
    """
    return gammaincc(floor(k) + 1.0, m)


@stands_for("pdtrc")
def pdtrc(k, m):
    """The probability of more than k events of a Poisson distribution with mean m: gammainc(k + 1, m).

    >>> round(pdtrc(2, 1.3), 12)
    0.142887510908
    """
    return gammainc(floor(k) + 1.0, m)


@stands_for("pdtri")
def pdtri(k, y):
    """The m where pdtr(k, m) = y.

    >>> round(pdtri(2, 0.857112489092), 9)
    1.3
    """
    return gammainccinv(floor(k) + 1.0, y)


@stands_for("chdtr")
def chdtr(v, x):
    """Distribution function of chi square with v degrees of freedom: gammainc(v / 2, x / 2).

    >>> round(chdtr(2.0, 2.0), 12)
    0.632120558829
    """
    return gammainc(0.5 * v, 0.5 * x)


@stands_for("chdtrc")
def chdtrc(v, x):
    """Complement of the distribution function of chi square: gammaincc(v / 2, x / 2).

    >>> round(chdtrc(2.0, 2.0), 12)
    0.367879441171
    """
    return gammaincc(0.5 * v, 0.5 * x)


@stands_for("chdtri")
def chdtri(v, p):
    """The x where chdtrc(v, x) = p.

    >>> round(chdtri(2.0, 0.36787944117144233), 12)
    2.0
    """
    return 2.0 * gammainccinv(0.5 * v, p)


@stands_for("gdtr")
def gdtr(a, b, x):
    """Distribution function of the gamma distribution with rate a and shape b: gammainc(b, a x).

    >>> round(gdtr(2.0, 1.0, 0.5), 12)
    0.632120558829
    """
    return gammainc(b, a * x)


@stands_for("gdtrc")
def gdtrc(a, b, x):
    """Complement of the distribution function of the gamma distribution: gammaincc(b, a x).

    >>> round(gdtrc(2.0, 1.0, 0.5), 12)
    0.367879441171
    """
    return gammaincc(b, a * x)


@stands_for("gdtrix")
def gdtrix(a, b, p):
    """The x where gdtr(a, b, x) = p.

    >>> round(gdtrix(2.0, 1.0, 0.5), 12)
    0.34657359028
    """
    return gammaincinv(b, p) / a


@stands_for("gdtria")
def gdtria(p, b, x):
    """The a where gdtr(a, b, x) = p.

    >>> round(gdtria(0.5, 1.0, 2.0), 12)
    0.34657359028
    """
    return gammaincinv(b, p) / x


@stands_for("fdtr")
def fdtr(dfn, dfd, x):
    """Distribution function of the F distribution: betainc(dfn / 2, dfd / 2, dfn x / (dfd + dfn x)).

    >>> round(fdtr(2.0, 4.0, 1.0), 12)
    0.555555555556
    """
    return betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x))


@stands_for("fdtrc")
def fdtrc(dfn, dfd, x):
    """Complement of the distribution function of the F distribution: betainc(dfd / 2, dfn / 2, dfd / (dfd + dfn x)).

    >>> round(fdtrc(2.0, 4.0, 1.0), 12)
    0.444444444444
    """
    return betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))


@stands_for("fdtri")
def fdtri(dfn, dfd, p):
    """The x where fdtr(dfn, dfd, x) = p.

    >>> round(fdtri(2.0, 4.0, 0.5555555555555556), 12)
    1.0
    """
    return dfd / dfn * betaincinv(0.5 * dfn, 0.5 * dfd, p) / betainccinv(0.5 * dfd, 0.5 * dfn, p)


# ---- Student's t -----------------------------------------------------------------------------------------------------
def _t_scale(df):
    """The density at 0."""
    return exp(-0.5 * log(df) - betaln(0.5, 0.5 * df))


@stands_for("stdtr")
def stdtr(df, t):
    """Distribution function of Student's t distribution; `student_t_cdf` in Stan, with location 0 and scale 1.

        z = betainc(df / 2, 1/2, df / (df + t^2)) / 2 for t < 0, and one minus that for t > 0

    Near 0 it is 1/2 plus t times a series in t^2 / df, so that it is smooth there. Its derivative in df loses digits
    as df grows, for it is a difference of terms that are df times as large.

    Ref:     DLMF 8.17, 15.2.1.

    >>> round(stdtr(4.0, 1.0), 12)
    0.813049516850
    """
    r = t * t / df
    is_near = holds(lambda x, df: x * (df + 1.0) < 0.0625, r, df)
    beyond = select(is_near, 1.0, r)
    tail = 0.5 * betainc(0.5 * df, 0.5, 1.0 / (1.0 + beyond))
    inside = select(is_near, r, 0.0)
    total = term = 1.0
    for k in range(1, 11):
        term = -term * inside * (0.5 * df + (k - 0.5)) / k
        total = total + term / (2.0 * k + 1.0)
    is_left = holds(lambda t: np.less(t, 0.0), t)
    return select(is_near, 0.5 + select(is_near, t, 0.0) * _t_scale(df) * total, select(is_left, tail, 1.0 - tail))


@stands_for("stdtrit")
def stdtrit(df, p):
    """The t where stdtr(df, t) = p; `student_t_qf` in Stan, with location 0 and scale 1.

    SciPy's value, with the derivatives of two steps of Newton's method from there: those to the third order.

    >>> round(stdtrit(4.0, 0.9), 12)
    1.533206274059
    """
    z = observe(lambda df, p: special().stdtrit(df, p), df, p)
    if not numbers_in([df, p]):
        return z if np.ndim(z) else float(z)
    for _ in range(2):
        density = _t_scale(df) * exp(-0.5 * (df + 1.0) * log1p(z * z / df))
        z = z - (stdtr(df, z) - p) / density
    return z
