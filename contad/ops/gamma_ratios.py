"""The reciprocal gamma function, quotients of gamma functions, and the multivariate gamma function."""

import math

import numpy as np

from contad.ops._scipy import special
from contad.ops.beta_functions import beta, betaln
from contad.ops.gamma_functions import digamma, gamma, gammaln, polygamma, polygamma_difference
from contad.ops.logic import select
from contad.ops.rounding import rint
from contad.ops.trigonometric import cos, sin
from contad.rules.scalar_rule import scalar_rule
from contad.rules.vectorised import mend

LOG_PI = 1.1447298858494002


# ---- values on arrays: SciPy's where these are accurate --------------------------------------------------------------
def _rgamma(x):
    return np.where(np.abs(x) < 1e-290, x, special().rgamma(x))


def _poch(x, m):
    return mend(special().poch(x, m), (x > 0.0) & (x + m > 0.0) & (m != np.floor(m)), poch.function, x, m)


def _binom(n, k):
    inside = (n > -1.0) & (k > -1.0) & (k < n + 1.0) & (k != np.floor(k))
    return mend(special().binom(n, k), inside, binom.function, n, k)


@scalar_rule(ufunc="scipy.special.rgamma", array=_rgamma, points=[(3.3,), (-1.4,)])
def rgamma(x):
    """One over the gamma function.

        z = 1 / Gamma(x),     dz/dx = -z digamma(x)

    Domain:  every x; z = 0 at 0, -1, ..., where dz/dx = (-1)^n n! at -n.
    Ref:     DLMF 5.2.1, 5.5.3. Below 1/2 the derivative is that of sin(pi x) Gamma(1 - x) / pi.

    >>> rgamma(-2.0)
    0.0
    """
    return x if abs(x) < 1e-290 else float(special().rgamma(x))


@rgamma.partials
def rgamma_partials(z, x):
    below = x < 0.5
    y = select(below, x, 0.0)
    r = math.pi * (y - 2.0 * rint(0.5 * y))
    reflected = gamma(1.0 - y) * (cos(r) - digamma(1.0 - y) * sin(r) / math.pi)
    return select(below, reflected, -z * digamma(select(below, 1.0, x)))


@scalar_rule(ufunc="scipy.special.gammasgn", points=[(3.3,), (-1.4,)])
def gammasgn(x):
    """Sign of the gamma function.

        z = sgn Gamma(x),     dz/dx = 0

    Domain:  x other than 0, -1, ..., where z is SciPy's value.
    Ref:     DLMF 5.2(i).

    >>> gammasgn(-0.5)
    -1.0
    """
    return float(special().gammasgn(x))


@gammasgn.partials
def gammasgn_partials(z, x):
    return 0.0


@scalar_rule(ufunc="scipy.special.poch", array=_poch, points=[(2.3, 1.6), (0.7, -0.4)])
def poch(x, m):
    """Rising factorial, Pochhammer's symbol; `rising_factorial` in Stan.

        z = Gamma(x + m) / Gamma(x),     dz/dx = z (psi(x + m) - psi(x)),     dz/dm = z psi(x + m)

    Domain:  x and x + m other than 0, -1, ...; at these dz/dx and dz/dm are nan or infinite.
    Ref:     DLMF 5.2.4, 5.2.5, 5.12.1; by the beta function, as SciPy loses digits of gamma functions of large numbers.

    >>> poch(2.0, 3.0)
    24.0
    """
    if x > 0.0 and 0.0 < x + m < math.inf and m != math.floor(m):
        return _quotient(x, m) if m > 0.0 else 1.0 / _quotient(x + m, -m)
    return float(special().poch(x, m))


@poch.partials
def poch_partials(z, x, m):
    return z * polygamma_difference(0.0, x, m), z * digamma(x + m)


@scalar_rule(ufunc="scipy.special.binom", array=_binom, points=[(5.3, 2.6), (0.7, 0.4), (6.2, -0.3)])
def binom(n, k):
    """Binomial coefficient of numbers; `choose` in Stan.

        z = Gamma(n + 1) / (Gamma(k + 1) Gamma(n - k + 1)),     dz/dn = z (psi(n + 1) - psi(n - k + 1)),
        dz/dk = z (psi(n - k + 1) - psi(k + 1))

    Domain:  n > -1 and -1 < k < n + 1; elsewhere a partial is right, or nan or infinite at a pole of psi.
    Ref:     DLMF 1.2.6, 5.2, 5.12.1; by the beta function if k is not an integer.

    >>> binom(5.0, 2.0)
    10.0
    """
    if n > -1.0 and -1.0 < k < n + 1.0 and k != math.floor(k) and n < math.inf:
        below = (n + 1.0) * beta.function(n - k + 1.0, k + 1.0)
        if below > 0.0:
            return 1.0 / below
    return float(special().binom(n, k))


@binom.partials
def binom_partials(z, n, k):
    rest = n - k
    return z * polygamma_difference(0.0, rest + 1.0, k), z * polygamma_difference(0.0, k + 1.0, rest - k)


@scalar_rule(points=[(4.3, 3.0), (2.2, 2.0)])
def multigammaln(a, d):
    """Logarithm of the multivariate gamma function of a symmetric d x d matrix; `lmgamma` in Stan.

        z = d (d - 1) / 4 log pi + sum_(k < d) log Gamma(a - k/2),     dz/da = sum_(k < d) psi(a - k/2),     dz/dd = 0

    Domain:  d = 1, 2, ..., rounded to an integer; a > (d - 1) / 2. Elsewhere nan.
    Ref:     DLMF 35.3.4.

    >>> round(multigammaln(3.5, 2.0), 12)
    2.466485725832
    """
    if not 0.5 <= d < 1e6 or not a > 0.5 * (round(d) - 1.0):
        return math.nan
    d = round(d)
    total = 0.25 * d * (d - 1.0) * LOG_PI
    for k in range(d):
        total += gammaln.function(a - 0.5 * k)
    return total


@multigammaln.partials
def multigammaln_partials(z, a, d):
    return multipolygamma(0.0, a, d), 0.0


@scalar_rule(points=[(0.0, 4.3, 3.0), (1.0, 2.2, 2.0)])
def multipolygamma(n, a, d):
    """The derivatives of multigammaln.

        z = sum_(k < d) psi^(n)(a - k/2),     dz/dn = 0,     dz/da = multipolygamma(n + 1, a, d),     dz/dd = 0

    Domain:  n = 0, 1, ..., and d = 1, 2, ..., rounded to integers; a > (d - 1) / 2. Elsewhere nan.

    >>> round(multipolygamma(0.0, 3.5, 2.0), 12)
    2.025940975744
    """
    if not -0.5 <= n < 1e6 or not 0.5 <= d < 1e6 or not a > 0.5 * (round(d) - 1.0):
        return math.nan
    total = 0.0
    for k in range(round(d)):
        total += polygamma.function(n, a - 0.5 * k)
    return total


@multipolygamma.partials
def multipolygamma_partials(z, n, a, d):
    return 0.0, multipolygamma(rint(n) + 1.0, a, d), 0.0


def _quotient(x, m):
    """Gamma(x + m) / Gamma(x) for x, m > 0."""
    if m < 1e-100:
        return x / (x + m)
    if m < 100.0:
        z = beta.function(x, m)
        if z > 0.0:
            return gamma.function(m) / z
    exponent = gammaln.function(m) - betaln.function(x, m)
    return math.exp(exponent) if exponent < 709.78 else math.inf
