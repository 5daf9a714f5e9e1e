"""sin, cos and tan, and atan.

x = n pi/2 + r with |r| <= pi/4. The reduction uses pi/2 in three parts, and the exact errors of their products with n:
at most 1 ulp for |x| up to `FARTHEST`. Beyond that the kernels give nan, and `contad.elementary.elementary_table` calls
the C library.
"""

import math
from typing import Any

from contad.elementary.bits import absolute, choose, fma, from_bits, kernel, polynomial, to_bits, with_sign
from contad.elementary.exponentials import ROUND, divide

FARTHEST = 1e9
_TWO_OVER_PI = 0.6366197723675814
_P1, _P2, _P3 = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33  # pi / 2
_QUARTER, _QUARTER_REST = 0.7853981633974483, 3.061616997868383e-17  # pi / 4
_EIGHTH, _THREE_EIGHTHS = 0.41421356237309503, 2.414213562373095  # tan of pi / 8 and 3 pi / 8

# (sin r - r) / r^3, (cos r - 1 + r^2 / 2) / r^4 and (atan t - t) / t^3, by squares
_SIN = polynomial((
    -0.16666666666666632, 0.008333333333322515, -0.00019841269829863666, 2.7557313705437983e-06,
    -2.505075957075906e-08, 1.5896850838446123e-10,
))  # fmt: skip
_COS = polynomial((
    0.041666666666666616, -0.0013888888888876076, 2.4801587290537994e-05, -2.7557314622615097e-07,
    2.087575637679369e-09, -1.136121166783239e-11,
))  # fmt: skip
_ATAN = polynomial((
    -0.3333333333333333, 0.199999999999998, -0.14285714285659326, 0.11111111105106693, -0.09090908751076028,
    0.07692296304956911, -0.06666423627754203, 0.058789145407817524, -0.05230347846389431, 0.045511080049881907,
    -0.03455808943398753, 0.016271941300250316,
))  # fmt: skip


@kernel
def reduce(x: Any) -> Any:
    """n in the last bits of an integer, r, and the rounding error of r."""
    shifted = fma(x, _TWO_OVER_PI, ROUND)
    n = shifted - ROUND
    r = fma(-n, _P1, x)
    p = n * _P2
    p_rest = fma(n, _P2, -p)
    high = r - p
    back = r - high
    low = ((r - (high + back)) + (back - p)) - fma(n, _P3, p_rest)
    h = high + low
    return to_bits(shifted), h, low - (h - high)


@kernel
def sin_near(r: Any, rest: Any) -> Any:
    """sin for |r| <= pi / 4."""
    z = r * r
    return r + fma(r * z, _SIN(z), rest * fma(-0.5, z, 1.0))


@kernel
def cos_near(r: Any, rest: Any) -> Any:
    """cos for |r| <= pi / 4."""
    z = r * r
    w = 0.5 * z
    c = 1.0 - w
    return c + (((1.0 - c) - w) + fma(z * z, _COS(z), -r * rest))


@kernel
def where_near(x: Any, y: Any) -> Any:
    """y, or nan if x is too large."""
    return choose(absolute(x) <= FARTHEST, y, math.nan)


@kernel
def sin(x: Any) -> Any:
    """The sine."""
    n, r, rest = reduce(x)
    y = choose((n & 1) != 0, cos_near(r, rest), sin_near(r, rest))
    return where_near(x, choose(x == 0.0, x, from_bits(to_bits(y) ^ ((n & 2) << 62))))


@kernel
def cos(x: Any) -> Any:
    """The cosine."""
    n, r, rest = reduce(x)
    y = choose((n & 1) != 0, sin_near(r, rest), cos_near(r, rest))
    return where_near(x, from_bits(to_bits(y) ^ (((n + 1) & 2) << 62)))


@kernel
def tan(x: Any) -> Any:
    """sin over cos, both with their rounding errors."""
    n, r, rest = reduce(x)
    z = r * r
    s_more = fma(r * z, _SIN(z), rest * fma(-0.5, z, 1.0))
    s = r + s_more
    s_rest = s_more - (s - r)
    w = 0.5 * z
    c0 = 1.0 - w
    c_more = ((1.0 - c0) - w) + fma(z * z, _COS(z), -r * rest) - 0.5 * fma(r, r, -z)
    c = c0 + c_more
    c_rest = c_more - (c - c0)
    odd = (n & 1) != 0
    y = divide(choose(odd, -c, s), choose(odd, -c_rest, s_rest), choose(odd, s, c), choose(odd, s_rest, c_rest))
    return where_near(x, choose(x == 0.0, x, y))


@kernel
def arctan(x: Any) -> Any:
    """The arctangent, relative to that of 1 or of infinity if x is nearer to these than to 0."""
    a = absolute(x)
    high, mid = a > _THREE_EIGHTHS, a > _EIGHTH
    num = choose(high, -1.0, choose(mid, a - 1.0, a))
    den = choose(high, a, choose(mid, a + 1.0, 1.0))
    tilted = mid & (a <= _THREE_EIGHTHS)
    num_rest = choose(tilted, a - (num + 1.0), 0.0)
    den_rest = choose(tilted, a - (den - 1.0), 0.0)
    t = num / den
    t_rest = choose(a < math.inf, (fma(-t, den, num) + (num_rest - t * den_rest)) / den, 0.0)
    base = choose(high, 2.0 * _QUARTER, choose(mid, _QUARTER, 0.0))
    base_rest = choose(high, 2.0 * _QUARTER_REST, choose(mid, _QUARTER_REST, 0.0))
    z = t * t
    return with_sign(base + (t + fma(t * z, _ATAN(z), base_rest + t_rest)), x)
