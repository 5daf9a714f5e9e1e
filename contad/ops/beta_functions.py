"""The beta function and its logarithm."""

import math

from contad.ops._scipy import special
from contad.ops.arithmetic import absolute
from contad.ops.entropies import log1pmx
from contad.ops.gamma_functions import _distance, digamma, gamma, gammaln, polygamma_difference, trigamma
from contad.ops.logic import select
from contad.ops.trigonometric import cos, sin
from contad.rules.scalar_rule import scalar_rule
from contad.rules.vectorised import by_element

MAX_LOG = 709.782712893384  # the logarithm of the largest float
HALF_LOG_TWO_PI = 0.9189385332046728
# B_2k / (2k (2k - 1)) for k = 1 ... 9
STIRLING = (
    0.08333333333333333, -0.002777777777777778, 0.0007936507936507937, -0.0005952380952380953, 0.0008417508417508417,
    -0.0019175269175269176, 0.00641025641025641, -0.029550653594771242, 0.1796443723688307,
)  # fmt: skip


def _beta_of_arrays(a, b):
    return by_element(beta.function, 2)(a, b)


def _betaln_of_arrays(a, b):
    return by_element(betaln.function, 2)(a, b)


@scalar_rule(ufunc="scipy.special.beta", array=_beta_of_arrays, points=[(1.7, 3.3), (0.6, 0.3), (-1.4, 2.2)])
def beta(a, b):
    """Beta function.

        z = Gamma(a) Gamma(b) / Gamma(a + b),     dz/da = z (psi(a) - psi(a + b)),     dz/db = z (psi(b) - psi(a + b))

    Domain:  a, b other than 0, -1, ...; z = 0 and the partials are finite where only a + b is one of these.
    Ref:     DLMF 5.12.1.

    >>> round(beta(1000.0, 1.0), 15)
    0.001
    """
    if not _regular(a, b):
        return float(special().beta(a, b))
    if _direct(a, b):
        return _beta(a, b)
    above, below, rest, x, y, inverse = _reflect(a, b)
    z = _beta(x, y)
    factor = above / below
    if z > 1e-290:
        return (factor / z if inverse else factor * z) / rest
    log_z = betaln.function(a, b)
    return math.copysign(math.exp(log_z) if log_z < MAX_LOG else math.inf, factor / rest)


@beta.partials
def beta_partials(z, a, b):
    # psi(b) - psi(a + b) underflows where z is large, for |a| << |b|; there it equals -a trigamma(b)
    p = -z * polygamma_difference(0.0, a, b)
    q = -z * polygamma_difference(0.0, b, a)
    r = select(absolute(b) < 1e-150 * absolute(a), -(z * b) * trigamma(a), p)
    s = select(absolute(a) < 1e-150 * absolute(b), -(z * a) * trigamma(b), q)
    # where a + b is a pole, z = 0 meets an infinite psi: Gamma(a + b) is reflected there, 1 / Gamma(c) being sin(pi c)
    # Gamma(1 - c) / pi, and with it Gamma(a) Gamma(b) Gamma(1 - c) = pi beta(a, 1 - c) / sin(pi b)
    c = a + b
    pole = z == 0.0 and c <= 0.0
    d = select(pole, 1.0 - c, 1.0)
    scale = beta(a, d) / sin(math.pi * b)
    t = sin(math.pi * c)
    u = math.pi * cos(math.pi * c)
    return (
        select(pole, scale * ((digamma(a) - digamma(d)) * t + u), r),
        select(pole, scale * ((digamma(b) - digamma(d)) * t + u), s),
    )


@scalar_rule(ufunc="scipy.special.betaln", array=_betaln_of_arrays, points=[(1.7, 3.3), (0.6, 0.3), (-1.4, 2.2)])
def betaln(a, b):
    """log |beta(a, b)|; `lbeta` in Stan.

        z = log |beta(a, b)|,     dz/da = psi(a) - psi(a + b),     dz/db = psi(b) - psi(a + b)

    Domain:  a, b other than 0, -1, ...; z = -inf where only a + b is one of these.
    Ref:     DLMF 5.12.1.

    >>> round(betaln(1e10, 1.0), 12)
    -23.02585092994
    """
    if not _regular(a, b):
        return float(special().betaln(a, b))
    if _direct(a, b):
        return _betaln(a, b)
    above, below, rest, x, y, inverse = _reflect(a, b)
    if above == 0.0:
        return -math.inf
    factor = above / below / rest
    if 1e-3 < abs(factor) < 1e3:
        outer = math.log(abs(factor))
    else:
        outer = math.log(abs(above)) - math.log(abs(below)) - math.log(abs(rest))
    return outer - _betaln(x, y) if inverse else outer + _betaln(x, y)


@betaln.partials
def betaln_partials(z, a, b):
    return -polygamma_difference(0.0, a, b), -polygamma_difference(0.0, b, a)


# ---- positive arguments, and a slightly negative one -----------------------------------------------------------------
# Three ranges: gamma functions if both arguments are below 10; Stirling's series for the ratio of two gamma functions
# if one is, and for all three if none is. Bases are divided before large powers are taken.
def _regular(a, b):
    """Whether a and b are finite and neither is a pole."""
    return abs(a) + abs(b) < math.inf and (a > 0.0 or a != math.floor(a)) and (b > 0.0 or b != math.floor(b))


def _direct(a, b):
    """Whether one of the ranges covers a and b: if one is large, the other may be negative."""
    low, c = min(a, b), a + b
    return low > 0.0 or (low > -10.0 and max(a, b) >= 10.0 and c >= 10.0 and -low * math.log(c) < MAX_LOG - 1.0)


def _beta(a, b):
    a, b = max(a, b), min(a, b)
    c = a + b
    if abs(b) < 1e-100:
        return c / a / b
    if b >= 10.0:
        exponent = (a - 0.5) * math.log1p(-b / c) + stirling_series(b) + stirling_series(a, c)
        return math.sqrt(2.0 * math.pi / b) * math.pow(b / c, b) * math.exp(exponent)
    if a >= 10.0:
        exponent = (a - 0.5) * math.log1p(-b / c) + b + stirling_series(a, c)
        return gamma.function(b) * math.pow(c, -b) * math.exp(exponent)
    return gamma.function(a) * (gamma.function(b) / gamma.function(c)) * (1.0 - _lost_by_rounding(a, b))


def _betaln(a, b):
    a, b = max(a, b), min(a, b)
    c = a + b
    if b >= 10.0:
        exponent = (a - 0.5) * math.log1p(-b / c) + stirling_series(b) + stirling_series(a, c)
        return exponent + b * math.log(b / c) + (HALF_LOG_TWO_PI - 0.5 * math.log(b))
    if a >= 10.0:
        exponent = (a - 0.5) * math.log1p(-b / c) + b + stirling_series(a, c)
        return (gammaln.function(b) - b * math.log(c)) + exponent
    return (gammaln.function(a) - gammaln.function(c) - _lost_by_rounding(a, b)) + gammaln.function(b)


def shape_shift(a):
    """The shift for small a, Gamma(a) = Gamma(a + 1) / a, because the derivatives of 1 / a would cancel."""
    return 1.0 if a < 2.0 else 0.0


def log1pmx_of_ratio(u, ratio):
    """log(1 + u) - u, given 1 + u as well, which loses digits of a small u."""
    if 0.1 < ratio < 1e10:
        return log1pmx.function(u)
    return math.log(ratio) - u if ratio > 0.0 else -math.inf


def stirling_series(x, y=math.inf):
    """The sum of Stirling's series for log Gamma at x, less that at y; both at least 10."""
    u, v = 1.0 / x, 1.0 / y
    p, q = u * u, v * v
    total = 0.0
    for b in STIRLING:
        total += b * (u - v)
        u *= p
        v *= q
    return total


def _lost_by_rounding(a, b):
    """log Gamma(a + b) less that of the rounded sum, for a >= b > 0."""
    c = a + b
    error = b - (c - a)
    return error * digamma.function(c) if error else 0.0


# ---- other arguments -------------------------------------------------------------------------------------------------
def _reflect(a, b):
    """(above, below, rest, x, y, inverse): beta(a, b) is above / below / rest, times or over beta(x, y), x, y > 0."""
    a, b = min(a, b), max(a, b)
    c = a + b
    if b < 0.0:
        return _sine(a, b), _sine(a), _sine(b) * (1.0 - c), 1.0 - a, 1.0 - b, True
    if c > 0.0:
        return 1.0, _sine(a), b, 1.0 - a, c, True
    return _sine(a, b), _sine(a), 1.0, b, 1.0 - c, False


def _sine(x, y=0.0):
    """sin(pi (x + y)) / pi, accurate near every integer and at subnormals, where x + y is not rounded."""
    m, r = _distance(x, y)
    s = math.sin(math.pi * r) / math.pi if abs(r) > 1e-9 else r
    return -s if m % 2.0 else s
