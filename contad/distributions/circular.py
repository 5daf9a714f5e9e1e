"""The von Mises distribution of angles, with Stan's parameters."""

import math

from contad.distributions.formula import LOG_TWO_PI, formula, unlisted_rule, where
from contad.ops.arithmetic import power
from contad.ops.bessel_functions import i0e
from contad.ops.exponential import exp, log
from contad.ops.logic import select
from contad.ops.quadrature import NODES, WEIGHTS
from contad.ops.rounding import rint
from contad.ops.trigonometric import sin

TWO_PI = 6.283185307179586


@formula(points=[(0.7,), (3.1,)])
def log_scaled_bessel(kappa):
    """log(e^-kappa I_0(kappa)) of kappa >= 0; at 0 by its series, with the slope of the right side."""
    none = kappa == 0.0
    return select(none, kappa * (0.25 * kappa - 1.0), log(i0e(select(none, 1.0, kappa))))


@formula(where(valid="kappa >= 0.0", outside="y == _inf or y == -_inf"), points=[(0.7, -0.3, 1.4), (-3.1, 0.4, 0.6)])
def von_mises_log_density(y, mu, kappa):
    """kappa (cos(y - mu) - 1) - log(2 pi e^-kappa I_0(kappa)).

    Ref: Mardia & Jupp (2000), section 3.5.
    """
    s = sin(0.5 * (y - mu))
    return -2.0 * kappa * s * s - log_scaled_bessel(kappa) - LOG_TWO_PI


@unlisted_rule(points=[(-2.6, 0.7, 1.3), (-3.0, -1.1, 8.0)])
def von_mises_log_mass(low, high, kappa):
    """log int_low^high exp(kappa (cos x - 1)) dx."""
    if not (low < high and high - low < 6.3 and 0.0 <= kappa < math.inf):
        return -math.inf if low == high else math.nan
    return _integrate(0, low, high, kappa)[1]


@von_mises_log_mass.partials
def von_mises_log_mass_partials(z, low, high, kappa):
    s = sin(0.5 * low)
    t = sin(0.5 * high)
    return (
        -exp(-2.0 * kappa * s * s - z),
        exp(-2.0 * kappa * t * t - z),
        von_mises_moment(1.0, low, high, kappa),
    )


@unlisted_rule(points=[(1.0, -2.6, 0.7, 1.3), (2.0, -3.0, -1.1, 8.0)])
def von_mises_moment(n, low, high, kappa):
    """The mean of (cos x - 1)^n over the interval, by the density exp(kappa (cos x - 1)); n = 1, 2, ..., 20."""
    if not (low < high and high - low < 6.3 and 0.0 <= kappa < math.inf and 0.5 < n < 20.5):
        return math.nan
    return _integrate(round(n), low, high, kappa)[0]


@von_mises_moment.partials
def von_mises_moment_partials(z, n, low, high, kappa):
    m = rint(n)
    s = sin(0.5 * low)
    t = sin(0.5 * high)
    mass = von_mises_log_mass(low, high, kappa)
    c = -2.0 * s * s
    d = -2.0 * t * t
    return (
        0.0,
        (z - power(c, m)) * exp(kappa * c - mass),
        (power(d, m) - z) * exp(kappa * d - mass),
        von_mises_moment(m + 1.0, low, high, kappa) - z * von_mises_moment(1.0, low, high, kappa),
    )


def _integrate(n, low, high, kappa):
    """(the mean of (cos x - 1)^n, the logarithm of the mass), on panels that grow with the distance from a peak."""
    turns = math.floor(0.5 + low / TWO_PI) * TWO_PI
    low, high = low - turns, high - turns  # low is in [-pi, pi), so the peaks are at 0 and 2 pi
    least = 1.0
    for x in (low, high):
        least = min(least, math.sin(0.5 * x) ** 2)
    if low <= 0.0 <= high or low <= TWO_PI <= high:
        least = 0.0
    width = 1.0 / math.sqrt(1.0 + kappa)
    mass, total = 0.0, 0.0
    for piece in range(4):  # falls to pi, and rises to the next peak, twice
        start, stop = -math.pi + piece * math.pi, piece * math.pi
        start, stop = max(start, low), min(stop, high)
        if not start < stop:
            continue
        peak = 0.0 if piece < 2 else TWO_PI
        rising = piece % 2 == 0
        near = peak - stop if rising else start - peak
        far = peak - start if rising else stop - peak
        while near < far:
            # a panel over which the exponent changes by at most about 10
            step = min(far - near, width + 4.0 / (kappa * near + 1.0 / width))
            half = 0.5 * step
            for node, weight in zip(NODES, WEIGHTS, strict=True):
                for sign in (-1.0, 1.0):
                    square = math.sin(0.5 * (near + half + half * sign * node)) ** 2
                    term = half * weight * math.exp(-2.0 * kappa * (square - least))
                    mass += term
                    total += term * math.pow(-2.0 * square, n)
            near += step
            if 2.0 * kappa * (math.sin(0.5 * min(near, math.pi)) ** 2 - least) > 60.0:
                break
    return total / mass, math.log(mass) - 2.0 * kappa * least
