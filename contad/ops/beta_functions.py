"""The beta function and its logarithm."""

import math

from contad.ops._scipy import special
from contad.ops.arithmetic import absolute
from contad.ops.gamma_functions import _distance, digamma, polygamma_difference, trigamma
from contad.ops.logic import select
from contad.ops.trigonometric import cos, sin
from contad.rule import scalar_rule

MAX_LOG = 709.782712893384  # the logarithm of the largest float
LANCZOS_G = 6.024680040776729583740234375
# Gamma(x) = e^g ((x + g - 1/2) / e)^(x - 1/2) P(x) / Q(x), scaled by e^-g
LANCZOS = (
    (56906521.913471565, 0.0),
    (103794043.11634454, 39916800.0),
    (86363131.28813859, 120543840.0),
    (43338889.32467614, 150917976.0),
    (14605578.087685067, 105258076.0),
    (3481712.154980646, 45995730.0),
    (601859.6171681099, 13339535.0),
    (75999.29304014542, 2637558.0),
    (6955.9996025153765, 357423.0),
    (449.9445569063168, 32670.0),
    (19.519927882476175, 1925.0),
    (0.5098416655656677, 66.0),
    (0.006061842346248907, 1.0),
)


@scalar_rule(ufunc="scipy.special.beta", points=[(1.7, 3.3), (0.6, 0.3), (-1.4, 2.2)])
def beta(a, b):
    """Beta function.

        z = Gamma(a) Gamma(b) / Gamma(a + b),     dz/da = z (psi(a) - psi(a + b)),     dz/db = z (psi(b) - psi(a + b))

    Domain:  a, b other than 0, -1, ...; z = 0 and the partials are finite where only a + b is one of these.
    Ref:     DLMF 5.12.1.

    >>> beta(1000.0, 1.0)
    0.001
    """
    if 0.0 < a < math.inf and 0.0 < b < math.inf:
        return _beta(a, b)
    if not _regular(a, b):
        return float(special().beta(a, b))
    above, below, rest, x, y, inverse = _reflected(a, b)
    z = _beta(x, y)
    factor = above / below / rest
    if z > 1e-290:
        return factor / z if inverse else factor * z
    log_z = betaln.function(a, b)
    return math.copysign(math.exp(log_z) if log_z < MAX_LOG else math.inf, factor)


@beta.partials
def beta_partials(z, a, b):
    # psi(b) - psi(a + b) underflows where z is large, for |a| << |b|: there it is -a trigamma(b)
    p = -z * polygamma_difference(0.0, a, b)
    q = -z * polygamma_difference(0.0, b, a)
    r = select(absolute(b) < 1e-150 * absolute(a), -(z * b) * trigamma(a), p)
    s = select(absolute(a) < 1e-150 * absolute(b), -(z * a) * trigamma(b), q)
    # where a + b is a pole, z = 0 times an infinite psi: there Gamma(a + b) is reflected, 1 / Gamma(c) being
    # sin(pi c) Gamma(1 - c) / pi, and with it Gamma(a) Gamma(b) Gamma(1 - c) = pi beta(a, 1 - c) / sin(pi b)
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


@scalar_rule(ufunc="scipy.special.betaln", points=[(1.7, 3.3), (0.6, 0.3), (-1.4, 2.2)])
def betaln(a, b):
    """log |beta(a, b)|; `lbeta` in Stan.

        z = log |beta(a, b)|,     dz/da = psi(a) - psi(a + b),     dz/db = psi(b) - psi(a + b)

    Domain:  a, b other than 0, -1, ...; z = -inf where only a + b is one of these.
    Ref:     DLMF 5.12.1.

    >>> betaln(1e10, 1.0)
    -23.025850929940457
    """
    if 0.0 < a < math.inf and 0.0 < b < math.inf:
        return _betaln(a, b)
    if not _regular(a, b):
        return float(special().betaln(a, b))
    above, below, rest, x, y, inverse = _reflected(a, b)
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


# ---- positive arguments ----------------------------------------------------------------------------------------------
def _beta(a, b):
    """The beta function by Lanczos' approximation, whose large powers are divided before they are taken."""
    a, b = max(a, b), min(a, b)
    c = a + b
    if c < 1e-17 or b < 1e-100:
        return c / a / b
    if a == 1.0:
        return 1.0 / b
    if b == 1.0:
        return 1.0 / a
    top, low, sum_ = a + LANCZOS_G - 0.5, b + LANCZOS_G - 0.5, c + LANCZOS_G - 0.5
    z = _lanczos(a) * (_lanczos(b) / _lanczos(c))
    difference = a - 0.5 - b
    z *= math.exp(difference * math.log1p(-b / sum_))
    z *= math.pow(top / sum_ * (low / sum_), b)
    return z * math.sqrt(math.e / low)


def _betaln(a, b):
    a, b = max(a, b), min(a, b)
    c = a + b
    if c < 1e-17 or b < 1e-100:
        return math.log(c / a) - math.log(b)
    top, low, sum_ = a + LANCZOS_G - 0.5, b + LANCZOS_G - 0.5, c + LANCZOS_G - 0.5
    z = math.log(_lanczos(a) * (_lanczos(b) / _lanczos(c)) * math.sqrt(math.e / low))
    difference = a - 0.5 - b
    return z + difference * math.log1p(-b / sum_) + b * (math.log(top / sum_) + math.log(low / sum_))


def _lanczos(x):
    """P(x) / Q(x) for x > 0, in powers of 1 / x for large x."""
    above = below = 0.0
    if x <= 1.0:
        for p, q in reversed(LANCZOS):
            above = above * x + p
            below = below * x + q
    else:
        x = 1.0 / x
        for p, q in LANCZOS:
            above = above * x + p
            below = below * x + q
    return above / below


# ---- other arguments -------------------------------------------------------------------------------------------------
def _regular(a, b):
    """Whether a and b are finite and neither is a pole."""
    return abs(a) + abs(b) < math.inf and (a > 0.0 or a != math.floor(a)) and (b > 0.0 or b != math.floor(b))


def _reflected(a, b):
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
