"""The first passage of Brownian motion with drift through the upper of two ends: Stan's Wiener distribution.

    f(u, w) = sum_k (w + 2 k) / sqrt(2 pi u^3) exp(-(w + 2 k)^2 / (2 u)) = pi sum_j j sin(j pi w) exp(-j^2 pi^2 u / 2)

is the density without drift, between 0 and 1, at the end 0 from w. It solves the heat equation, df/du = 1/2 d^2f/dw^2,
so all derivatives can be written as derivatives in w.
"""

import math

from contad.distributions.formula import formula, unlisted_rule
from contad.ops.exponential import log
from contad.ops.rounding import rint


@unlisted_rule(points=[(0.4, 0.3), (1.3, 0.6)])
def log_first_passage(u, w):
    """log f(u, w)."""
    if not (0.0 < u < math.inf and 0.0 < w < 1.0):
        return math.nan
    return _passage(0, u, w)[0]


@log_first_passage.partials
def log_first_passage_partials(z, u, w):
    return 0.5 * first_passage_ratio(2.0, u, w), first_passage_ratio(1.0, u, w)


@unlisted_rule(points=[(1.0, 0.4, 0.3), (2.0, 1.3, 0.6)])
def first_passage_ratio(n, u, w):
    """The n-th derivative of f in w, over f; n at most 20."""
    if not (0.0 < u < math.inf and 0.0 < w < 1.0 and 0.5 < n < 20.5):
        return math.nan
    return _passage(round(n), u, w)[1]


@first_passage_ratio.partials
def first_passage_ratio_partials(z, n, u, w):
    m = rint(n)
    return (
        0.0,
        0.5 * (first_passage_ratio(m + 2.0, u, w) - z * first_passage_ratio(2.0, u, w)),
        first_passage_ratio(m + 1.0, u, w) - z * first_passage_ratio(1.0, u, w),
    )


def _passage(n, u, w):
    """(log f, the n-th derivative over f), by the series that has fewer terms."""
    total, found = 0.0, 0.0
    if u < 0.7:
        root = math.sqrt(u)
        for k in range(12):
            shift = -((k + 1) // 2) if k % 2 else k // 2  # 0, -1, 1, -2, ...
            x = w + 2.0 * shift
            weight = math.exp(max(-2.0 * shift * (w + shift) / u, -800.0))  # relative to the first term
            # derivatives of x exp(-x^2 / (2 u)) are Hermite polynomials of x / sqrt(u)
            below, here = 1.0, x / root
            for i in range(1, n + 1):
                below, here = here, x / root * here - i * below
            sign = -1.0 if n % 2 else 1.0
            total += weight * x / root
            found += weight * sign * here
        logarithm = -0.5 * w * w / u - 0.9189385332046727 - math.log(u) + math.log(total)
        return logarithm, found / total * math.pow(root, -float(n))
    for j in range(1, 12):
        weight = j * math.exp(-0.5 * (j * j - 1.0) * 9.869604401089358 * u)
        angle = j * math.pi * w
        total += weight * math.sin(angle)
        wave = math.cos(angle) if n % 2 else math.sin(angle)
        if n % 4 >= 2:
            wave = -wave
        found += weight * math.pow(j * math.pi, n) * wave
    return 1.1447298858494002 - 0.5 * 9.869604401089358 * u + math.log(total), found / total


@formula(
    [("not alpha > 0.0", math.nan), ("not (0.0 < beta and beta < 1.0)", math.nan), ("y <= tau", -math.inf)],
    points=[(0.7, 1.4, 0.1, 0.3, 0.5, 0.4), (2.1, 0.8, 0.3, 0.6, -1.2, 0.0)],
)
def wiener_log_density(y, alpha, tau, beta, delta, var_delta):
    """log f(t / alpha^2, 1 - beta) - 2 log alpha - log(q) / 2 + (v d^2 + 2 d delta - delta^2 t) / (2 q).

    d = alpha (1 - beta), t = y - tau, v = var_delta^2, q = 1 + v t: the drift is normal with mean delta and standard
    deviation var_delta.
    """
    t = y - tau
    v = var_delta * var_delta
    q = 1.0 + v * t
    left = 1.0 - beta
    distance = alpha * left
    exponent = (v * distance * distance + 2.0 * distance * delta - delta * delta * t) / (2.0 * q)
    return log_first_passage(t / (alpha * alpha), left) - 2.0 * log(alpha) - 0.5 * log(q) + exponent
