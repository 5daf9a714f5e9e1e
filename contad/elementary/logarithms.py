"""log, log2, log10, log1p, and the logarithms of 1 + e^x, of 1 - e^x and of the logistic function.

x = 2^k m with m in [sqrt(1/2), sqrt 2), and log m = 2 artanh(s) with s = (m - 1) / (m + 1), approximated by a minimax
polynomial in s^2.
"""

import math
from typing import Any

from contad.elementary.bits import absolute, choose, fma, from_bits, kernel, polynomial, shift_right, to_bits
from contad.elementary.exponentials import (
    LN2,
    LN2_REST,
    LOG2_E,
    ONE,
    ROUND,
    TINY,
    add,
    exp_parts,
    power_of_2,
    scale,
)

_SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
_FRACTION = 0x000FFFFFFFFFFFFF  # the bits of a double beside sign and exponent
_INTEGERS = 0x4330000000000000  # the bits of 2^52
_BIAS = 4503599627370496.0 + 1023.0
SMALLEST, SCALE_UP = 2.2250738585072014e-308, 18014398509481984.0  # the smallest normal number, and 2^54
LOG2_E_REST = 2.0355273740931033e-17
_LOG10_E, _LOG10_E_REST = 0.4342944819032518, 1.098319650216765e-17
_LOG10_2, _LOG10_2_REST = 0.3010299956639812, -2.8037281277851704e-18

# (2 artanh s - 2 s) / s^3 by s^2
_ARTANH = polynomial((
    0.6666666666666731, 0.39999999999436797, 0.28571428738242644, 0.22222198945069646, 0.1818354700974192,
    0.15314454395165317, 0.14792219252730138,
))  # fmt: skip


@kernel
def split(x: Any) -> Any:
    """k and m of a positive normal number."""
    t = to_bits(x) + (ONE - _SQRT_HALF)
    k = from_bits(shift_right(t, 52) | _INTEGERS) - _BIAS
    return k, from_bits((t & _FRACTION) + _SQRT_HALF)


@kernel
def split_any(x: Any) -> Any:
    """Likewise, for any positive number."""
    small = x < SMALLEST
    k, m = split(choose(small, x * SCALE_UP, x))
    return k + choose(small, -54.0, 0.0), m


@kernel
def log_of(f: Any, k: Any, rest: Any) -> Any:
    """log(2^k (1 + f)) + rest."""
    s = f / (2.0 + f)
    z = s * s
    h = 0.5 * f * f
    return fma(k, LN2, f - (h - fma(s, h + z * _ARTANH(z), fma(k, LN2_REST, rest))))


@kernel
def log_parts(f: Any) -> Any:
    """log(1 + f) and its rounding error."""
    s = f / (2.0 + f)
    z = s * s
    h = 0.5 * f * f
    y = f - h
    return y, ((f - y) - h) - fma(0.5 * f, f, -h) + s * (h + z * _ARTANH(z))


@kernel
def multiply(x: Any, x_rest: Any, y: Any, y_rest: Any) -> Any:
    """A product of two numbers with their rounding errors, and its own rounding error."""
    z = x * y
    return z, fma(x, y, -z) + fma(x_rest, y, x * y_rest)


@kernel
def at_the_ends(x: Any, y: Any) -> Any:
    """A logarithm at 0, at infinity and outside its domain."""
    y = choose(x > 0.0, y, choose(x == 0.0, -math.inf, math.nan))
    return choose(x == math.inf, x, y)


@kernel
def log(x: Any) -> Any:
    """The natural logarithm."""
    k, m = split_any(x)
    return at_the_ends(x, log_of(m - 1.0, k, 0.0))


@kernel
def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    k, m = split_any(x)
    h, rest = log_parts(m - 1.0)
    v, v_rest = multiply(h, rest, LOG2_E, LOG2_E_REST)
    y, y_rest = add(k, v)
    return at_the_ends(x, y + (y_rest + v_rest))


@kernel
def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    k, m = split_any(x)
    h, rest = log_parts(m - 1.0)
    v, v_rest = multiply(h, rest, _LOG10_E, _LOG10_E_REST)
    u = k * _LOG10_2
    u_rest = fma(k, _LOG10_2, -u) + k * _LOG10_2_REST
    y, y_rest = add(u, v)
    return at_the_ends(x, y + (y_rest + (u_rest + v_rest)))


@kernel
def log1p(x: Any) -> Any:
    """log(1 + x)."""
    big = x > 1e20
    t = choose(big, x * 2.0**-120, x)
    one = choose(big, 0.0, 1.0)
    k, _ = split(one + t)
    s = from_bits(ONE - (to_bits(k + ROUND) << 52))  # 2^-k
    a = fma(s, one, -1.0)
    f = fma(s, t, a)
    lost = fma(s, t, a - f)
    y = log_of(f, k + choose(big, 120.0, 0.0), fma(-f, lost, lost))
    y = choose(x > -1.0, y, choose(x == -1.0, -math.inf, math.nan))
    y = choose(x == math.inf, x, y)
    return choose(absolute(x) < TINY, x, y)


@kernel
def _exp_below(x: Any) -> Any:
    """e^x = 2^k (1 + p + rest) for x <= 0: k, p, rest; s = 2^k, not below 2^-100; s (1 + p) and its rounding error."""
    k, p, rest = exp_parts(choose(x < -746.0, -746.0, x), 0.0)
    s = power_of_2(choose(k < -100.0, -100.0, k))
    e = 1.0 + p
    return k, p, rest, s, s * e, s * ((p - (e - 1.0)) + rest)


@kernel
def log1p_exp_below(x: Any) -> Any:
    """log(1 + e^x) for x <= 0, and its rounding error."""
    k, p, rest, s, t, t_rest = _exp_below(x)
    up = t > 0.4142135623730951  # there 1 + t is near 2: log 2 + log(1 + f)
    f = choose(up, fma(0.5, t, -0.5), t)
    f_rest = choose(up, fma(0.5, t, -(f + 0.5)) + 0.5 * t_rest, t_rest)
    s = f / (2.0 + f)
    z = s * s
    h = 0.5 * f * f
    c = h - fma(s, h + z * _ARTANH(z), f_rest * fma(f, f, 1.0 - f))
    u = f - c
    base = choose(up, LN2, 0.0)
    y, y_rest = add(base, u)
    y_rest += ((f - u) - c) + choose(up, LN2_REST, 0.0)
    tiny = k < -60.0
    return choose(tiny, scale(1.0 + (p + rest), k), y), choose(tiny, 0.0, y_rest)


@kernel
def log1p_exp(x: Any) -> Any:
    """log(1 + e^x), without overflow."""
    y, y_rest = log1p_exp_below(-absolute(x))
    z, z_rest = add(choose(x > 0.0, x, 0.0), y)
    return choose(x == math.inf, x, z + (z_rest + y_rest))


@kernel
def log_expit(x: Any) -> Any:
    """log(1 / (1 + e^-x)), which is -log(1 + e^-x)."""
    y, y_rest = log1p_exp_below(-absolute(x))
    z, z_rest = add(choose(x > 0.0, 0.0, -x), y)
    return choose(x == -math.inf, x, -(z + (z_rest + y_rest)))


@kernel
def log1m_exp(x: Any) -> Any:
    """log(1 - e^x) for x <= 0: of 1 + f with f = -e^x, or of the difference 2^k (1 + f)."""
    k, p, rest, s, t, t_rest = _exp_below(x)
    near = x > -1.2  # of 0
    w, w_rest = add(1.0 - s, -(s * p))  # 1 - s is exact there
    shift, m = split_any(choose(near, w, 1.0))
    scaling = choose(shift < -1000.0, 0.0, power_of_2(choose(shift < -1000.0, 0.0, -shift)))
    f = choose(near, m - 1.0, -t)
    f_rest = choose(near, (w_rest - s * rest) * scaling, -t_rest)
    y = log_of(f, shift, f_rest / (1.0 + f))
    y = choose(k < -60.0, -scale(1.0 + (p + rest), k), y)
    return choose(x < 0.0, y, choose(x == 0.0, -math.inf, math.nan))
