"""The distribution function of Rice's distribution and its complement, Marcum's Q_1(b, r): integrals of the density."""

import math

from contad.distributions.formula import unlisted_rule
from contad.ops.arithmetic import power
from contad.ops.bessel_functions import i0e, i1e
from contad.ops.exponential import exp, log
from contad.ops.logic import select
from contad.ops.quadrature import NODES, WEIGHTS

REACH = 90.0  # twice the exponent beyond which a term is 0
PANELS = 4


@unlisted_rule(points=[(0.0, 0.7, 1.3), (1.0, 2.6, 2.1), (0.0, 9.0, 50.0), (1.0, 50.0, 3.0)])
def log_rice_part(upper, r, b):
    """log int_0^r u exp(-(u - b)^2 / 2) e^(-b u) I_0(b u) du, or of the integral from r on if `upper` is 1."""
    if not (r >= 0.0 and 0.0 <= b < math.inf):
        return math.nan
    above = r * r > b * b + 1.0  # compute the smaller one
    small = _integrate(above, r, b)
    if above == (upper > 0.5):
        return small
    return math.log1p(-math.exp(small))


@log_rice_part.partials
def log_rice_part_partials(z, upper, r, b):
    even = b == 0.0  # i0e and i1e depend on |x| and have no derivatives there: use the first terms of I_0 and I_1
    near = exp(log(r) - 0.5 * r * r - z)
    factor = exp(log(r) - 0.5 * power(r - b, 2.0) - z)
    x = select(even, 1.0, b * r)
    by_r = select(even, near * (1.0 + (0.25 * r * r - 0.5) * b * b), factor * i0e(x))
    by_b = select(even, 0.5 * near * b * r, factor * i1e(x))
    return 0.0, select(upper > 0.5, -by_r, by_r), select(upper > 0.5, by_b, -by_b)


def _integrate(above, r, b):
    """The logarithm of the integral from r on, or from 0, over the part where the integrand is not negligible."""
    if math.isinf(r) or (r == 0.0 and not above):
        return -math.inf
    e = r - b  # at least 0 for the upper part, because r > b there
    d = e if above else max(-e, 0.0)  # the least distance from b
    if d > 1e150:
        return -math.inf
    length = REACH / (d + math.hypot(d, math.sqrt(REACH)))  # of s = |u - r|, up to the point where terms are negligible
    if not above:
        length = min(length + max(e, 0.0), r)
    total = 0.0
    for panel in range(PANELS):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for sign in (-1.0, 1.0):
                s = length * (2.0 * panel + 1.0 + sign * node) / (2.0 * PANELS)
                u = r + s if above else r - s
                exponent = -s * (d + 0.5 * s) if above or e < 0.0 else -0.5 * (s - e) * (s - e)
                total += weight * (u / r) * math.exp(exponent) * i0e.function(b * u)
    if not total > 0.0:
        return -math.inf
    return math.log(total) + math.log(r) + math.log(length) - math.log(2.0 * PANELS) - 0.5 * d * d
